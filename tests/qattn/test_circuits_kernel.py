"""Kernels of circuits: closed forms, and the verb on a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from experiments.schema import CONFIGS
from qattn.circuits import kernel as kernels
from qattn.circuits.ir.circuit import Circuit, Operation, ParameterRef


def test_angle_encoding_has_the_product_of_cosines_as_its_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Π cos²((xₖ − yₖ)/2), in blocks of any size."""
    monkeypatch.setattr(kernels, "BLOCK", 3)
    circuit = Circuit(2, tuple(Operation("RX", (k,), (ParameterRef(k, "inputs"),)) for k in range(2)))
    points = np.random.default_rng(0).normal(size=(7, 2))
    got = kernels.gram(circuit, torch.zeros(0, dtype=torch.float64), torch.as_tensor(points))
    assert got == pytest.approx(np.prod(np.cos((points[:, None] - points[None]) / 2) ** 2, -1), abs=1e-13)
    part = kernels.gram(
        circuit, torch.zeros(0, dtype=torch.float64), torch.as_tensor(points), torch.as_tensor(points[:2])
    )
    assert part == pytest.approx(got[:, :2], abs=1e-13)


def test_alignment_and_geometric_difference_of_known_kernels() -> None:
    signs = np.array([1.0, 1, -1, -1])
    assert kernels.alignment(np.outer(signs, signs), signs) == pytest.approx(1)
    assert kernels.alignment(np.eye(4), signs) == pytest.approx(0.5)  # 1/√N
    assert kernels.geometric_difference(np.eye(4), np.eye(4)) == pytest.approx(1)
    ones = np.ones((4, 4))  # its only direction has eigenvalue N: g = √N against the identity
    assert kernels.geometric_difference(np.eye(4), ones) == pytest.approx(2)


def test_the_verb_compares_both_kernels(ask, tmp_path: Path) -> None:
    told = ask("kernel", CONFIGS / "circuits" / "classify_iris.yaml", "--out", tmp_path, "--json").json
    assert told["circuit"]["accuracy"] >= 0.8
    assert told["gaussian"]["accuracy"] >= 0.88
    assert np.load(tmp_path / "kernel.npy").diagonal() == pytest.approx(1, abs=1e-12)
    assert (tmp_path / "kernel.svg").exists()
    answer = ask("kernel", CONFIGS / "circuits" / "ghz.yaml")
    assert answer.code == 2
    assert "a kernel needs data" in answer.err
