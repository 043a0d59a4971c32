"""``qattn packing project FILE --eps E``: the dimension a random projection needs by theorem, and the one that does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contexts.packing.measure.projection import (
    Kind,
    dimension_by_theorem,
    distortions,
    pairs_of_rows,
    project,
    real_rows,
    squared_distances,
)
from experiments.report.figures import FAINT, PALETTE, canvas
from experiments.runs.atomic_files import write_bytes
from experiments.studies.packing.vectors import Vectors

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def project_file(vectors: Vectors, eps: float, kind: Kind, seed: int, figure: Path | None) -> dict[str, Any]:
    """k by theorem, the least k found at which no looked-at pair is distorted by more than ε, and its distortions.

    ``k_in_fact`` is found by bisection with one seed, between a k that fails and one that does: the next k may fail
    again. None where even the theorem's k fails (it promises all pairs with probability 1/n at least) or is beyond what
    the projection has. Raises ValueError for vectors that all are equal, or are no finite matrix.
    """
    rows = real_rows(vectors.matrix)
    if len(rows) < 2:
        raise ValueError("expected at least two vectors")
    pairs = pairs_of_rows(len(rows), seed)
    before = squared_distances(rows, pairs)
    if not before.any():
        raise ValueError("all vectors are equal: there is no distance to keep")
    theorem = dimension_by_theorem(len(rows), eps)
    most = theorem if kind != "hadamard" else min(theorem, 1 << (rows.shape[1] - 1).bit_length())

    def distorted(k: int) -> np.ndarray:
        return distortions(before, squared_distances(project(rows, k, kind, seed), pairs))

    low, high, kept = 0, most, distorted(most)
    works = bool(np.abs(kept).max() <= eps)
    while works and high - low > 1:
        middle = (low + high) // 2
        here = distorted(middle)
        if np.abs(here).max() <= eps:
            high, kept = middle, here
        else:
            low = middle
    if figure is not None:
        from experiments.report.canvas import png, svg

        drawn = draw(kept, eps, f"{kind}, k = {high}")
        write_bytes(figure, svg(drawn) if figure.suffix == ".svg" else png(drawn))
    return {
        "source": vectors.source, "n": len(rows), "d": rows.shape[1], "eps": eps, "kind": kind, "seed": seed,
        "k_by_theorem": theorem, "k_in_fact": high if works else None, "pairs": len(kept), "k_shown": high,
        "largest_distortion": float(np.abs(kept).max()), "rms_distortion": float(np.sqrt(np.mean(kept**2))),
        "rms_predicted": float(np.sqrt(2 / high)),
    }  # fmt: skip


def draw(kept: np.ndarray, eps: float, title: str) -> Figure:
    """The histogram of |Pu − Pv|²/|u − v|² − 1, with ±ε."""
    figure, (axes,) = canvas(3.2)
    axes.hist(kept, bins=80, color=PALETTE[0], alpha=0.7)
    for edge in (-eps, eps):
        axes.axvline(edge, color=FAINT, lw=1, ls="--")
    axes.set(xlabel="|Pu − Pv|² / |u − v|² − 1", ylabel="pairs", yscale="log")
    axes.set_title(title, size=9, color=FAINT, loc="left")
    return figure


def show_projection(result: dict[str, Any]) -> None:
    """The same for people."""
    print(f"{result['n']:,} vectors of R^{result['d']:,} ({result['source']}), {result['pairs']:,} pairs")
    print(f"k by theorem   {result['k_by_theorem']:,}  (all squared distances within 1 ± {result['eps']:g})")
    if result["k_in_fact"] is None:
        print(f"k in fact      none up to {result['k_shown']:,} with this seed")
    else:
        print(f"k in fact      {result['k_in_fact']:,}  ({result['kind']}, seed {result['seed']})")
    print(f"largest distortion there {result['largest_distortion']:.4f}, rms {result['rms_distortion']:.4f}")
    print(f"a Gaussian projection has an rms of sqrt(2/k) = {result['rms_predicted']:.4f}")
    if result["k_by_theorem"] >= result["d"]:
        print(f"no reduction by the theorem: it asks for at least the {result['d']:,} dimensions that are there")
