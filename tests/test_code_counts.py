"""Public code says what it does: docstrings, named axes and errors, counted by package (tests/code_counts.py)."""

from __future__ import annotations

import pytest

from tests.code_counts import PACKAGES, Count, counts

SHAPED = {
    "qattn.core": 0.9, "qattn.lm": 0.9, "qattn.circuits": 1.0, "classical": 0.85, "contexts": 0.35,
    "contexts.packing": 0.38, "experiments": 0.4,
}  # fmt: skip
"""The least share of functions on arrays that name all axes; raise a number when a package has passed it."""
FEW, NONE_MISSING = 5, {"qattn.circuits"}
"""How many may lack a docstring, or their errors in it: what was written yesterday; none where none is missing."""


@pytest.fixture(scope="module")
def found() -> dict[str, Count]:
    return counts()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_function_is_documented_with_its_errors(found: dict[str, Count], package: str) -> None:
    one = found[package]
    assert one.functions > 40
    few = 0 if package in NONE_MISSING else FEW
    assert len(one.undocumented) <= few, one.undocumented
    assert len(one.silent) <= few, one.silent


@pytest.mark.parametrize("package", PACKAGES)
def test_functions_on_arrays_name_their_axes(found: dict[str, Count], package: str) -> None:
    one = found[package]
    assert one.arrays > 40
    assert 1 - len(one.unshaped) / one.arrays >= SHAPED[package], one.unshaped
