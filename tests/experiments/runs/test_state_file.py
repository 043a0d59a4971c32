"""State files: what comes back is what was written, or one sentence; the state before stands in for a damaged one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch

from experiments.errors import UserError
from experiments.runs import state_file

TENSORS = {
    "weights": torch.arange(12, dtype=torch.float32).reshape(3, 4),
    "rotation": torch.tensor([[1 + 2j, 0], [0, -1j]], dtype=torch.complex64),
    "mask": torch.tensor([True, False]),
    "step": torch.tensor(7),
    "none": torch.zeros(0, 3),
}
DATA = {"counters": {"step": 120, "loss": 0.1 + 0.2}, "text": "⟨ψ|"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    state_file.save(tmp_path / "a.safetensors", TENSORS, DATA)
    return tmp_path / "a.safetensors"


def test_what_was_written_comes_back_and_any_safetensors_reader_opens_it(path: Path) -> None:
    tensors, data = state_file.load(path, checked=True)
    assert data == DATA
    assert tensors.keys() == TENSORS.keys() == safetensors.torch.load_file(path).keys()
    for name, tensor in TENSORS.items():
        assert tensors[name].dtype == tensor.dtype
        assert torch.equal(tensors[name], tensor)


def test_every_flipped_bit_is_found(path: Path) -> None:
    """One bit of each byte of the file, header and padding included."""
    raw = path.read_bytes()
    bits = np.random.default_rng(0).integers(8, size=len(raw))
    for place, bit in enumerate(bits):
        changed = bytearray(raw)
        changed[place] ^= 1 << int(bit)
        path.write_bytes(changed)
        with pytest.raises(UserError, match=r"a\.safetensors: (damaged|not a state)"):
            state_file.load(path, checked=True)


def test_the_damaged_tensor_is_named(path: Path) -> None:
    raw = path.read_bytes()
    place = raw.index(TENSORS["weights"].numpy().tobytes())
    path.write_bytes(raw[:place] + b"\x01" + raw[place + 1 :])
    with pytest.raises(UserError, match=r"damaged \(tensor weights\); delete"):
        state_file.load(path)


def test_cut_and_swapped_files_are_found(path: Path) -> None:
    raw = path.read_bytes()
    generator = np.random.default_rng(1)
    for _ in range(100):
        a, b = sorted(int(k) for k in generator.integers(len(raw), size=2))
        for changed in (raw[:a], raw[:a] + raw[b:], raw[b:] + raw[:b], raw + raw[a:]):
            if changed == raw:
                continue
            path.write_bytes(changed)
            with pytest.raises(UserError):
                state_file.load(path, checked=True)


def test_a_file_without_checksums_is_read_but_not_resumed_from(tmp_path: Path) -> None:
    old = tmp_path / "old.safetensors"
    old.write_bytes(safetensors.torch.save({"w": torch.ones(2)}, {"qattn": '{"job": 1}'}))
    assert state_file.load(old)[1] == {"job": 1}
    with pytest.raises(UserError, match=r"old\.safetensors: was written by qattn 0\.1\.0, which kept no checksums"):
        state_file.load(old, checked=True)


def test_the_state_before_is_used_where_the_newest_is_damaged_or_missing(path: Path) -> None:
    state_file.save_next(path, TENSORS, {"step": 2})
    assert state_file.load_newest(path)[1:] == ({"step": 2}, None)
    raw = path.read_bytes()
    path.write_bytes(raw[:-1] + b"\xff")
    _, data, problem = state_file.load_newest(path)
    assert data == DATA
    assert problem is not None
    assert problem.endswith("the state before it is used")
    path.unlink()
    assert state_file.exists(path)
    assert "is missing" in str(state_file.load_newest(path)[2])
    state_file.previous(path).write_bytes(b"")
    path.write_bytes(raw[:-1])
    with pytest.raises(UserError, match=r"/a\.safetensors"):
        state_file.load_newest(path)
