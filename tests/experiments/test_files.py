"""Atomic writing: POSIX ``rename`` replaces a file whole, so a failure at any moment leaves the old one."""

from __future__ import annotations

import json
import os
import stat

import pytest

from experiments.runs.atomic_files import write_bytes, write_json, write_text, write_with


def test_writes_and_replaces(tmp_path):
    path = tmp_path / "deep" / "er" / "a.txt"
    write_text(path, "one\n")
    write_text(path, "größer ⟨ψ|\r\n")
    assert path.read_bytes() == "größer ⟨ψ|\r\n".encode()
    assert os.listdir(path.parent) == ["a.txt"]


def test_bytes_come_back(tmp_path):
    data = bytes(range(256))
    assert write_bytes(tmp_path / "b.bin", data).read_bytes() == data


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), {"deep": [float("-inf")]}])
def test_json_refuses_what_is_no_json_and_keeps_the_old_file(tmp_path, bad):
    path = write_json(tmp_path / "a.json", {"x": 1})
    with pytest.raises(ValueError, match="JSON"):
        write_json(path, bad)
    assert json.loads(path.read_text()) == {"x": 1}


def test_a_failure_in_the_middle_leaves_the_old_file_and_no_litter(tmp_path):
    path = write_text(tmp_path / "model.safetensors", "old")

    def half(temporary):
        assert temporary.suffix == ".safetensors"
        temporary.write_text("half of the n")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_with(path, half)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["model.safetensors"]


def test_permissions_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        path = write_text(tmp_path / "a.txt", "")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_json_keeps_half_characters(tmp_path):
    text = b"\xe2\x88 and \xc3\xa9".decode("utf-8", errors="surrogateescape")
    path = write_json(tmp_path / "a.json", {"text": text})
    assert (
        json.loads(path.read_text(encoding="utf-8"))["text"].encode("utf-8", "surrogateescape")
        == b"\xe2\x88 and \xc3\xa9"
    )
