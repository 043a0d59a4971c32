"""``qattn circuit qaoa``: the greatest cut of a graph, depth by depth, with the cut and the ratios drawn.

OUT/result.json    ratios by depth, angles, and the best cut
OUT/circuit.json   the circuit of the last depth with its angles
OUT/qaoa.svg       the graph with its best cut, and the approximation ratio against depth
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.errors import UserError, blame
from experiments.report.canvas import svg
from experiments.report.figures import FAINT, INK, PALETTE
from experiments.runs.atomic_files import write_bytes, write_json
from experiments.schema.qaoa_file import QaoaFile
from experiments.studies.graph_files import WeightedGraph, from_edges, read_graph
from qattn.circuits.ir.hamiltonian import Hamiltonian, read_hamiltonian
from qattn.circuits.ir.spec import Spec
from qattn.circuits.ir.spec_writer import to_dict
from qattn.circuits.qaoa import diagonal_of, optimised, qaoa_circuit
from qattn.circuits.simulate.readout import sample

MOST_NODES = 20  # beyond, the exact cut takes too long to compare with


def graph_of(source: Path, file: QaoaFile) -> WeightedGraph:
    """The graph of a study; a file is looked for here and beside the YAML. Raises :class:`UserError` for no graph."""
    if isinstance(file.graph, str):
        near = source.parent / file.graph
        return read_graph(near if near.exists() and not Path(file.graph).exists() else Path(file.graph))
    for k, edge in enumerate(file.graph):
        if len(edge) not in (2, 3) or any(node != int(node) for node in edge[:2]):
            raise UserError(f"{source}: graph[{k}]: expected an edge [a, b] or [a, b, weight], got {edge}")
    edges = [(str(int(a)), str(int(b)), weight[0] if weight else 1.0) for a, b, *weight in file.graph]
    return from_edges(edges, f"{source}: graph")


def cut_hamiltonian(graph: WeightedGraph) -> Hamiltonian:
    """Minus the weight of the cut, as a sum of ZZ. Raises ``ValueError`` where all weights cancel."""
    return read_hamiltonian({"maxcut": [list(edge) for edge in graph.edges]}, len(graph.nodes), ("graph",))


def study(source: Path, file: QaoaFile, out: Path | None) -> dict[str, Any]:
    """Optimise all depths, draw cuts from the last, and compare with the exact greatest cut.

    Raises :class:`UserError` for graphs that are none or too large.
    """
    graph = graph_of(source, file)
    if len(graph.nodes) > MOST_NODES:
        raise UserError(f"{source}: the graph has {len(graph.nodes)} nodes, and at most {MOST_NODES} are simulated")
    with blame(source):
        h = cut_hamiltonian(graph)
        depths = optimised(h, file.layers)
    cuts = -diagonal_of(h)
    greatest = float(cuts.max())
    if greatest <= 0:
        raise UserError(f"{source}: no cut of the graph has a positive weight, so there is no ratio to it")
    last = depths[-1]
    drawn = sample(last.probabilities, file.shots, file.seed)
    best = int(drawn[np.argmax(cuts[drawn])])
    sides = format(best, f"0{len(graph.nodes)}b")
    optimal = np.isclose(cuts, greatest, rtol=1e-12)
    result: dict[str, Any] = {
        "nodes": len(graph.nodes),
        "edges": len(graph.edges),
        "greatest_cut": greatest,
        "ratios": [-depth.mean / greatest for depth in depths],
        "gamma": last.angles[0].tolist(),
        "beta": last.angles[1].tolist(),
        "probability_of_greatest": float(last.probabilities[optimal].sum()),
        "random_guess": float(optimal.mean()),
        "best_cut": float(cuts[best]),
        "sides": dict(zip(graph.nodes, map(int, sides), strict=True)),
        "shots": file.shots,
        "seed": file.seed,
    }
    if out is not None:
        circuit = qaoa_circuit(h, file.layers)
        write_bytes(out / "qaoa.svg", picture(graph, sides, result))
        write_json(out / "circuit.json", to_dict(Spec(circuit, last.angles.ravel())))
        write_json(out / "result.json", result)
        result["out"] = str(out)
    return result


def picture(graph: WeightedGraph, sides: str, result: dict[str, Any]) -> bytes:
    """The graph, its two sides in two colours and cut edges thick, beside the ratio of every depth, as SVG."""
    import networkx as nx
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    drawn = nx.Graph()
    drawn.add_nodes_from(range(len(graph.nodes)))
    drawn.add_edges_from((a, b) for a, b, _ in graph.edges)
    cut = [sides[a] != sides[b] for a, b in drawn.edges]
    nx.draw_networkx(
        drawn,
        nx.circular_layout(drawn) if len(drawn) < 5 else nx.kamada_kawai_layout(drawn),
        ax=left,
        labels=dict(enumerate(graph.nodes)),
        node_color=[PALETTE[int(side)] for side in sides],
        font_color="#ffffff",
        font_size=9,
        width=[2.5 if c else 1.0 for c in cut],
        edge_color=[INK if c else FAINT for c in cut],
        style=["-" if c else ":" for c in cut],
    )
    left.set_title(
        f"best cut of {result['shots']} draws: {result['best_cut']:g} of {result['greatest_cut']:g}", fontsize=10
    )
    left.set_axis_off()
    depths = range(1, len(result["ratios"]) + 1)
    right.plot(depths, result["ratios"], "o-", color=PALETTE[0])
    right.axhline(1, color=FAINT, linewidth=1)
    right.set_xticks(depths)
    right.set_xlabel("layers")
    right.set_ylabel("mean cut / greatest cut")
    right.spines[["top", "right"]].set_visible(False)
    return svg(figure)
