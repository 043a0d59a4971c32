"""Public code says what it does: docstrings, named axes and errors, counted by package (tests/code_counts.py)."""

from __future__ import annotations

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
