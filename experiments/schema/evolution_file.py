"""The file form of a time evolution: a Hamiltonian, a time, and the product formulas to compare."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from experiments.located.yaml_positions import load_located
from experiments.schema.base import Positive, PositiveInt, Strict


class EvolutionKeys(Strict):
    """exp(−iHt) by product formulas beside the exact one."""

    qubits: Annotated[int, Field(ge=1, le=10)]
    """Number of wires, up to 10."""
    hamiltonian: dict[str, Any]
    """Pauli words with coefficients, {chain: ising, J: 1, h: 1}, or {maxcut: [...]}, as in `measure` of a circuit."""
    time: Positive
    """t in units of 1 / the coefficients'."""
    steps: list[PositiveInt] = Field([1, 2, 4, 8, 16, 32], min_length=1)
    """How many steps to try."""
    orders: list[Literal[1, 2, 4]] = Field([1, 2, 4], min_length=1)
    """Orders of the product formula."""
    start: str = ""
    """Bits of the first state; default: all 0."""
    observable: str = ""
    """A Pauli word whose mean is drawn over time; default: Z on wire 0."""


class EvolutionFile(Strict):
    """One evolution."""

    evolve: EvolutionKeys


def load_evolution(path: Path, overrides: Sequence[str] = ()) -> EvolutionKeys:
    """Read and check the file of an evolution. Raises :class:`UserError`, each problem with its place."""
    return load_located(path, EvolutionFile, overrides).value.evolve
