"""QAOA against published ratios, and graphs out of files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.errors import UserError
from experiments.schema import CONFIGS
from experiments.studies.graph_files import read_graph
from qattn.circuits.ir.hamiltonian import read_hamiltonian
from qattn.circuits.qaoa import optimised, qaoa_circuit, stretched

CIRCUITS = CONFIGS / "circuits"


def test_a_ring_is_cut_as_far_as_depth_allows() -> None:
    """(2p + 1)/(2p + 2) of an even ring's edges, up to 2p + 2 of its length (Farhi et al. 2014)."""
    ring = read_hamiltonian({"maxcut": [[k, (k + 1) % 6] for k in range(6)]}, 6, ("h",))
    found = optimised(ring, 2)
    assert [-depth.mean / 6 for depth in found] == pytest.approx([3 / 4, 5 / 6], abs=1e-7)


def test_the_petersen_graph_has_the_published_ratio_at_depth_one(ask, tmp_path: Path) -> None:
    """1/2 + 1/(3√3) of 15 edges (no triangles, degree 3), of which the greatest cut has 12."""
    told = ask("qaoa", CIRCUITS / "qaoa_petersen.yaml", "--set", "layers=1", "--out", tmp_path / "o", "--json").json
    assert told["greatest_cut"] == 12
    assert told["ratios"] == pytest.approx([15 * (0.5 + 1 / (3 * np.sqrt(3))) / 12], abs=1e-7)
    assert told["best_cut"] == 12
    assert told["probability_of_greatest"] > 3 * told["random_guess"]
    assert {p.name for p in (tmp_path / "o").iterdir()} == {"qaoa.svg", "circuit.json", "result.json"}
    again = ask("simulate", tmp_path / "o" / "circuit.json", "--json").json
    assert sum(p for k, p in enumerate(again["probabilities"]) if p == max(again["probabilities"])) > 0


def test_angles_are_stretched_along_their_line() -> None:
    line = np.array([[0.5], [0.2]])
    assert stretched(line) == pytest.approx(np.array([[0.5, 0.5], [0.2, 0.2]]))
    assert stretched(np.array([[1.0, 3.0], [2.0, 2.0]])) == pytest.approx(np.array([[1, 2, 3], [2, 2, 2]]))


def test_graphs_are_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "g.edgelist").write_text("# a square\na b\nb, c, 2.5\n\nc d\nd a\n")
    graph = read_graph(tmp_path / "g.edgelist")
    assert graph.nodes == ("a", "b", "c", "d")
    assert graph.edges == ((0, 1, 1.0), (1, 2, 2.5), (2, 3, 1.0), (3, 0, 1.0))
    import networkx as nx

    weighted = nx.Graph()
    weighted.add_edge("u", "v", weight=2.0)
    nx.write_graphml(weighted, tmp_path / "g.graphml")
    assert read_graph(tmp_path / "g.graphml").edges == ((0, 1, 2.0),)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("empty.txt", "# nothing\n", "the graph has no edges"),
        ("loop.txt", "a a\n", "joins a node to itself"),
        ("weight.txt", "a b heavy\n", "no finite number, got 'heavy'"),
        ("words.txt", "a b\na b c d\n", "line 2: expected an edge"),
        ("broken.graphml", "<graphml", "not a graph in the format"),
    ],
)
def test_graphs_that_are_none_are_refused(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError) as error:
        read_graph(tmp_path / name)
    assert words in str(error.value)


def test_hamiltonians_that_are_not_diagonal_are_refused() -> None:
    with pytest.raises(ValueError, match="sums of I and Z, got the word 'XZ'"):
        qaoa_circuit(read_hamiltonian({"XZ": 1.0}, 2, ("h",)), 1)
