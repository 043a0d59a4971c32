"""Odd experiment files: whatever stands in one, ``qattn run FILE --print-config`` says it in sentences.

``python -m tests.fuzz_configuration 2000`` tries so many files in one process and prints what came of them; the suite
tries some (tests/experiments/test_odd_configurations.py).
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import patch

BASE: dict[str, Any] = {
    "name": "odd",
    "task": {"kind": "parity", "lengths": [3, 8], "test_lengths": [8, 12]},
    "models": {
        "a": {"kind": "transformer", "dim": 16, "layers": 1, "heads": 2},
        "b": {"kind": "unitary", "dim": 8, "control": "additive", "rank": "fit"},
        "c": {"kind": "lstm", "dim": 4, "optimizer": {"lr": 0.001, "rates": {"head": 0.01}}},
    },
    "training": {"steps": 20, "batch": 4, "evaluate_every": 10, "optimizer": {"lr": 0.003}, "search": {"steps": 10}},
    "seeds": 2,
    "comparison": {"reference": "a", "match": "parameters", "published": [
        {"model": "a", "metric": "accuracy", "value": 0.5, "source": "nobody"}]},
    "output": {"dir": "out", "sample": {"tokens": 3, "temperature": 0.0}},
    "workers": 1,
    "grid": {"models.b.dim": [8, 16]},
    "quick": {"training.steps": 10},
}  # fmt: skip
ODD: list[Any] = [
    None, True, False, 0, -1, 1, 2, 7, 10**9, 2**63, 2**64, 2**64 - 1, -(2**64), 10**30, 0.5, -0.0, 1e-300, 1e300, "",
    " ", "a", "b", "kind", "NaN", "nan", ".nan", "-.inf", "1e3", "0x1F", "fit", "best classical", "\u0000", "\ud800",
    "é", "日本", "a" * 300, "../../etc", "~", "~/x", "C:\\x", "a/b", "#", "&x", "*x", "!!python/object:os.system", "{}",
    [], {}, [[]], [None], [0, 0], [1, 2, 3], [True], ["a", "a"], {"": 1}, {"a": None}, {"kind": "gpt"}, {"kind": None},
    {"kind": ["lstm"]}, {"a": {"a": {"a": 1}}}, [10**9] * 20, list(range(200)),
]  # fmt: skip
RAW = [
    "", "\n", "---\n", "a: b: c", "a: [1", "\ttask: 1", "- 1\n- 2\n", "seeds: 1000000000\n", "5", "a: &a [*a]\n",
    "a: &a {b: *a}\n", "task: !!python/object/apply:os.system ['true']\n", "<<: 5\n", "? [a]\n: 1\n", "a: 1\na: 2\n",
    "\ufeffname: x\n", "%YAML 9.9\n---\na: 1\n", "a: 'x\n", "a: 1\n---\nb: 2\n", "a: " + "[" * 200 + "]" * 200 + "\n",
    "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
    "d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e]\n",
    "seeds: .inf\n", "seeds: -.nan\n", "seeds: 2001-01-01\n", "seeds: 1_000\n", "seeds: 0o17\n", "models: {a: *b}\n",
]  # fmt: skip


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path in nested mappings and lists."""
    inner = list(data.items()) if isinstance(data, dict) else list(enumerate(data)) if isinstance(data, list) else []
    return [path] * bool(path) + [found for key, value in inner for found in places(value, (*path, key))]


def odd_file(chance: random.Random) -> bytes:
    """The base file of an experiment, damaged."""
    return damaged(chance, BASE)


def damaged(chance: random.Random, base: dict[str, Any]) -> bytes:
    """``base`` as JSON (which is YAML) with up to three things put wrong, or a text that is hardly YAML."""
    if chance.random() < 0.1:
        return chance.choice(RAW).encode("utf-8", errors="surrogatepass")
    data = json.loads(json.dumps(base))
    for _ in range(chance.randint(1, 3)):
        *path, last = chance.choice(places(data) or [("gone",)])
        holder = data
        for key in path:
            holder = holder[key]
        what = chance.random()
        if what < 0.6:
            holder[last] = chance.choice(ODD)
        elif what < 0.8 and isinstance(holder, dict):
            holder[str(chance.choice(ODD))[:20]] = chance.choice(ODD)
        elif isinstance(holder, dict):
            holder.pop(last, None)
        else:
            holder.append(chance.choice(ODD))
    raw = json.dumps(data, ensure_ascii=chance.random() < 0.5).encode("utf-8", errors="surrogatepass")
    if chance.random() < 0.1:
        at = chance.randrange(len(raw))
        raw = raw[:at] + bytes([chance.randrange(256)]) * chance.randint(0, 2) + raw[at + 1 :]
    return raw


def told(folder: Path, raw: bytes, *words: str) -> tuple[int | str, str]:
    """Exit code and standard error of ``qattn run`` on a file; the traceback instead of a code where it crashed."""
    from experiments.cli import main

    file = folder / "odd.yaml"
    file.write_bytes(raw)
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["qattn", "run", str(file), "--print-config", *words]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            return (0 if end.code is None else end.code), err.getvalue()
        except BaseException:  # what a person would see as a traceback
            return traceback.format_exc(), err.getvalue()
    return 0, err.getvalue()


def wrong(code: int | str, err: str) -> str:
    """What is not as it should be: a crash, another exit code, or no sentence; nothing where all is well."""
    if code == 0:
        return ""
    if code != 2:
        return f"exit code or traceback: {code}"
    lines = err.strip().splitlines()
    if not lines or not lines[0].startswith("qattn: "):
        return f"no sentence: {err!r}"
    return f"an unfinished sentence: {err!r}" if any(len(line) > 1500 for line in lines) else ""


def main(tries: int, seed: int = 0) -> int:
    """Try so many files; print the figures and every failure. Returns the number of failures."""
    codes: Counter[str] = Counter()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for index in range(tries):
            raw = odd_file(random.Random(f"{seed} {index}"))
            code, err = told(Path(folder), raw)
            codes[str(code)[:20]] += 1
            problem = wrong(code, err)
            if problem:
                failures += 1
                print(f"-- {seed} {index}: {raw[:600]!r}\n{problem}")
    print(f"{tries} files: exit codes {dict(codes)}, {failures} failures")
    return failures


if __name__ == "__main__":
    sys.exit(bool(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)))
