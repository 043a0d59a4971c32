"""Public code says what it does: docstrings, named axes and errors, counted by package (tests/code_counts.py)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.code_counts import PACKAGES, Count, counts

SHAPED = {
    "qattn.core": 0.95, "qattn.lm": 1.0, "qattn.circuits": 1.0, "classical": 0.95, "contexts": 0.95,
    "contexts.packing": 0.9, "experiments": 0.65,
}  # fmt: skip
"""The least share of functions on arrays that name all axes; raise a number when a package has passed it. What is left
takes arrays of any shape to refuse the wrong ones itself, or functions and dictionaries of them."""


@pytest.fixture(scope="module")
def found() -> dict[str, Count]:
    return counts()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_function_is_documented_with_its_errors(found: dict[str, Count], package: str) -> None:
    one = found[package]
    assert one.functions > 40
    assert not one.undocumented
    assert not one.silent


@pytest.mark.parametrize("package", PACKAGES)
def test_functions_on_arrays_name_their_axes(found: dict[str, Count], package: str) -> None:
    one = found[package]
    assert one.arrays > 40
    assert 1 - len(one.unshaped) / one.arrays >= SHAPED[package], one.unshaped


ROOT = Path(__file__).parents[1]
ROOMS = ("qattn", "classical", "contexts", "experiments")
LINES = {"function": 60, "file": 400}
POSIX = {"fcntl", "grp", "pwd", "resource", "termios"}


@pytest.fixture(scope="module")
def trees() -> dict[str, tuple[int, ast.Module]]:
    """Lines and syntax of every file."""
    paths = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}
    return {name: (text.count("\n"), ast.parse(text)) for name, text in texts.items()}


def test_functions_and_files_are_short(trees: dict[str, tuple[int, ast.Module]]) -> None:
    assert len(trees) > 200
    long = [name for name, (lines, _) in trees.items() if lines > LINES["file"]]
    long += [
        f"{name}:{node.lineno} {node.name}"
        for name, (_, tree) in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno + 1 > LINES["function"]
    ]
    assert not long


def test_nothing_that_windows_lacks_is_imported_with_a_module(trees: dict[str, tuple[int, ast.Module]]) -> None:
    """Inside a function it may be, behind a question for the platform."""
    named = [
        (name, imported)
        for name, (_, tree) in trees.items()
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for imported in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names])
    ]
    assert len(named) > 1000
    assert not [(name, imported) for name, imported in named if imported.split(".")[0] in POSIX]
