"""Single configurations of one dimension, and flat vectors on blocks of coordinates: what no formula in q gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from jaxtyping import Float64

from contexts.packing.constructions import characters, configurations, lattices, reflections, sections, sic
from contexts.packing.constructions.construction import Construction
from contexts.packing.constructions.galois import prime_power

LARGEST_SIC = 24

#: (d, name, n, coherence, field, build, source) of configurations that exist in one dimension
CONFIGURATIONS: tuple[tuple[int, str, int, float, str, Callable[[], np.ndarray], str], ...] = (
    (3, "cuboctahedron and cube diagonals", 7, 1 / math.sqrt(3), "real", lambda: _seven(), "Rankin 1955"),
    (4, "D4 and its dual", 12, 1 / 2, "real", lambda: _twenty_four_cell(), "Schläfli 1852"),
    (4, "vertices of the 600-cell", 60, math.cos(math.pi / 5), "real", reflections.six_hundred_cell, "Schläfli 1852"),
    (6, "E6 roots", 36, 1 / 2, "real", lattices.e6, "Korkine & Zolotareff 1873"),
    (7, "E7 roots", 63, 1 / 2, "real", lattices.e7, "Korkine & Zolotareff 1873"),
    (8, "E8 roots", 120, 1 / 2, "real", lattices.e8, "Korkine & Zolotareff 1873"),
    (
        23,
        "equiangular Leech vectors",
        276,
        1 / 5,
        "real",
        lattices.equiangular_276,
        "Lemmens & Seidel 1973",
    ),
    (24, "Leech lattice", 98_280, 1 / 2, "real", lattices.leech, "Leech 1967"),
    *(
        (d, "laminated lattice", n, 1 / 2, "real", partial(sections.laminated, d), "Conway & Sloane 1982")
        for d, n in sections.LAMINATED.items()
    ),
    *(
        (d, "tight 7-design's section", n, 1 / 3, "real", partial(sections.thirds, d), "Delsarte et al. 1977")
        for d, n in sections.THIRDS.items()
    ),
    *(
        (d, "equiangular Leech vectors", n, 1 / 5, "real", partial(sections.fifths, d), "Lemmens & Seidel 1973")
        for d, n in sections.FIFTHS.items()
    ),
    (4, "Witting polytope", 40, 1 / math.sqrt(3), "complex", reflections.witting, "Witting 1887"),
    (5, "reflections of G33", 45, 1 / 2, "complex", reflections.burkhardt, "Burkhardt 1890"),
    (6, "reflections of G34", 126, 1 / 2, "complex", reflections.mitchell, "Mitchell 1914"),
)


def sporadic(d: int) -> Iterator[Construction]:
    """Everything of dimension d, in both fields, that is no member of an infinite family of :mod:`families`."""
    for dimension, name, n, coherence, field, build, source in CONFIGURATIONS:
        if dimension == d:
            yield Construction(name, d, n, coherence, field, True, build, source)
    if 2 <= d <= LARGEST_SIC:
        build = sic.hoggar if d == 8 else partial(sic.sic, d)
        source = "Hoggar 1998" if d == 8 else "Zauner 1999; Renes et al. 2004"
        yield Construction("SIC", d, d * d, 1 / math.sqrt(d + 1), "complex", True, build, source)
    if d >= 5 and prime_power(d) == (d, 1):
        name, build = "Alltop's Gabor frame and basis", partial(characters.alltop, d)
        yield Construction(name, d, d * d + d, 1 / math.sqrt(d), "complex", True, build, "Alltop 1980")
    for field in ("real", "complex"):
        yield from _sparse(d, field)


def equally_spaced(n: int) -> Construction:
    """n lines of R^2 at angles kπ/n: the optimum there, cos(π/n)."""

    def build() -> Float64[np.ndarray, "n 2"]:
        angles = math.pi * np.arange(n) / n
        return np.column_stack([np.cos(angles), np.sin(angles)])

    return Construction(f"{n} equally spaced lines", 2, n, max(0.0, math.cos(math.pi / n)), "real", True, build)


def _sparse(d: int, field: str) -> Iterator[Construction]:
    """Flat vectors on blocks of coordinates; in C^d only where that gives more lines than in R^d."""
    for size in configurations.block_sizes(d):
        each = configurations.lines_per_block(size, field)
        if each and (field == "real" or each > configurations.lines_per_block(size, "real")):
            n = each * configurations.number_of_blocks(d, size)
            name = f"blocks of {size} coordinates" if size > 2 or field == "complex" else f"D{d} roots"
            if n > d + 1:
                build = partial(configurations.sparse, d, size, field)
                yield Construction(name, d, n, 1 / size, field, True, build)


def _seven() -> Float64[np.ndarray, "7 3"]:
    """Three axes and the four diagonals of a cube."""
    cube = np.array([[1, 1, 1], [1, 1, -1], [1, -1, 1], [-1, 1, 1]]) / math.sqrt(3)
    return np.vstack([np.eye(3), cube])


def _twenty_four_cell() -> Float64[np.ndarray, "12 4"]:
    """Twelve lines of R^4: the axes and the diagonals of the hypercube (three unbiased bases)."""
    diagonals = np.array([[1, a, b, c] for a in (1, -1) for b in (1, -1) for c in (1, -1)]) / 2
    return np.vstack([np.eye(4), diagonals])
