"""Odd files, odd words and odd terminals over the verbs of ``qattn``: an answer or one sentence, never a traceback.

``python -m tests.fuzz_cli 2000`` tries so many commands in one process and prints what came of them, by verb. Exit
codes may be 0, 1 (the answer is no) and 2 (bad input, with one sentence). Verbs that compute for long on good input
are given bad input alone. Files for ``qattn run`` are those of :mod:`tests.fuzz_configuration`.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from tests.fuzz_configuration import BASE, ODD, RAW, damaged

CIRCUIT: dict[str, Any] = {
    "qubits": 2,
    "gates": [["Hadamard", 0], ["CNOT", 0, 1], ["RX", 1, 0.5], ["RY", 0, 0.25]],
    "measure": "probabilities",
    "train": {"task": "state", "target": "ghz", "lr": 0.1, "steps": 1},
}
GRAPH: dict[str, Any] = {
    "dimension": 3,
    "contexts": [["a", "b", "c"], ["c", "d", "e"]],
    "pairs": [["a", "d"]],
    "vectors": {"a": [1, 0, 0], "b": [0, 1, 0], "c": [0, 0, 1], "d": [0, 1, 0], "e": [1, 0, 0]},
    "name": "odd",
}
TABLE: dict[str, Any] = {
    "contexts": [
        {"measurements": ["A", "B"], "probabilities": {"0,0": 0.5, "1,1": 0.5}},
        {"measurements": ["B", "C"], "counts": {"0,1": 3, "1,0": 5}},
    ]
}
RECORD: dict[str, Any] = {"name": "odd", "schema": 1, "identity": {"a": "0"}, "tasks": {"parity": {}}, "models": ["a"]}
MMP = [
    "123,345,567.",
    "12,3",
    "1+,23.",
    "123,,4.",
    "a: 12,23. 1={0,1},2={1,0},3={0,1}",
    "Bw\n",
    "?\n",
    "0\n1\n",
    "3 1 1 2",
]
WORDS = [str(one) for one in ODD if isinstance(one, str | int | float) and "\0" not in str(one)]
"""What can stand in an argument."""

Case = tuple[list[str], str, bytes]
"""The words of a command, a file's name and its bytes."""


def case(chance: random.Random) -> Case:
    """One command and the file it names (``FILE``)."""
    odd = lambda: chance.choice(WORDS)  # noqa: E731
    kind = chance.randrange(9)
    if kind == 0:
        verb = chance.choice([["simulate"], ["draw"], ["export", "--to", chance.choice(["qasm2", "qasm3", odd()])],
                              ["train", "--seeds", odd()], ["train", "--out", "FOLDER"]])  # fmt: skip
        return ["circuit", verb[0], "FILE", *verb[1:]], "odd.yaml", damaged(chance, CIRCUIT)
    if kind == 1:
        return ["contexts", chance.choice(["check", "states"]), "FILE"], "odd.json", damaged(chance, GRAPH)
    if kind == 2:
        ending, text = chance.choice([".mmp", ".g6", ".txt", ".qasm"]), chance.choice([*MMP, *RAW])
        verb = "batch" if ending == ".g6" else chance.choice(["check", "states"])
        return ["contexts", verb, "FILE"], f"odd{ending}", text.encode("utf-8", errors="surrogatepass")
    if kind == 3:
        return ["contexts", "fraction", "FILE"], "odd.json", damaged(chance, TABLE)
    if kind == 4:
        return (
            ["packing", "measure", "FILE", "--top", "2"],
            chance.choice(["v.npy", "v.txt", "v.safetensors"]),
            array(chance),
        )
    if kind == 5:
        verb = chance.choice([["capacity", "--d", odd(), "--eps", odd()], ["optimize", "--d", odd(), "--n", "x"],
                              ["capacity", "--config", "FILE", "--set", "packing.points=x"]])  # fmt: skip
        return ["packing", *verb], "odd.yaml", damaged(chance, {"packing": {"dimensions": [4], "points": 3}})
    if kind == 6:
        verb = chance.choice([["report"], ["sample"], ["audit"], ["lens"], ["merge", "FOLDER", "--out", "there"]])
        return [verb[0], "FOLDER", *verb[1:]], "experiment.json", damaged(chance, RECORD)
    if kind == 7:
        return ["summary", "FILE", "--max-parameters", odd()], "odd.yaml", damaged(chance, BASE | {"seeds": "x"})
    words = [chance.choice([odd(), "--out", "--json", "--set", "--seeds", "--resume", "--d"]) for _ in range(3)]
    return [chance.choice(["list", "contexts", "packing", "circuit", "atlas", odd()]), *words, "--nothing"], "a", b""


def array(chance: random.Random) -> bytes:
    """Vectors as NumPy keeps them, with a byte changed, a number that is none, or cut."""
    data = io.BytesIO()
    vectors = np.random.default_rng(chance.randrange(100)).standard_normal((5, 3))
    vectors.flat[chance.randrange(15)] = chance.choice([0.0, np.nan, np.inf, 1e300, 1e-300])
    with np.errstate(all="ignore"):
        small = vectors.astype(np.float16)
    np.save(data, chance.choice([vectors, vectors[0], small, vectors[:0], vectors > 0]))
    raw = bytearray(data.getvalue())
    if chance.random() < 0.5:
        raw[chance.randrange(len(raw))] = chance.randrange(256)
    return bytes(raw[: chance.choice([len(raw), len(raw) // 2, 90, 0])])


def told(folder: Path, one: Case, ascii_terminal: bool) -> tuple[int | str, str]:
    """Exit code and standard error of a command; the traceback instead of a code where it crashed."""
    from experiments.cli import main

    words, name, raw = one
    place = Path(tempfile.mkdtemp(dir=folder))
    (place / name).write_bytes(raw)
    words = [{"FILE": name, "FOLDER": "."}.get(word, word) for word in words]
    out, err = (
        io.TextIOWrapper(io.BytesIO(), encoding="ascii" if ascii_terminal else "utf-8", errors="strict") for _ in "12"
    )
    with (
        contextlib.chdir(place),
        patch.object(sys, "argv", ["qattn", *words]),
        patch.dict(os.environ, {"HOME": str(place), "COLUMNS": "80"}),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
            code: int | str = 0
        except SystemExit as end:
            code = 0 if end.code is None else end.code
        except BaseException:  # what a person would see as a traceback
            code = traceback.format_exc()
        err.flush()
    return code, err.buffer.getvalue().decode(errors="replace")  # type: ignore[attr-defined]


def wrong(code: int | str, err: str) -> str:
    """What is not as it should be; nothing where all is well."""
    if code in (0, 1):
        return "a traceback was printed" if "Traceback" in err else ""
    if code != 2:
        return f"exit code or traceback: {code}"
    sentences = [line for line in err.strip().splitlines() if line.startswith("qattn: ")]
    return "" if sentences and "Traceback" not in err else f"no sentence: {err[-500:]!r}"


def main(tries: int, seed: int = 0) -> int:
    """Try so many commands; print the figures and every failure. Returns the number of failures."""
    codes: Counter[str] = Counter()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for index in range(tries):
            chance = random.Random(f"{seed} {index}")
            one = case(chance)
            code, err = told(Path(folder), one, chance.random() < 0.2)
            codes[f"{one[0][0]} {str(code)[:9]}"] += 1
            if problem := wrong(code, err):
                failures += 1
                print(f"-- {seed} {index}: {one[0]} {one[2][:400]!r}\n{problem}", flush=True)
    print(f"{tries} commands, {failures} failures: {json.dumps(dict(sorted(codes.items())))}")
    return failures


if __name__ == "__main__":
    sys.exit(bool(main(*map(int, sys.argv[1:3] or [2000]))))
