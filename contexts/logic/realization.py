"""Orthogonal representations: unit vectors whose orthogonality is that of a hypergraph, found or proved impossible.

Three levels, reported separately: *proper* (exclusive atoms are orthogonal), *injective* (and different atoms have
different rays), *faithful* (and atoms are orthogonal only if exclusive). "Yes" is said when exact rays are proved to
exist beside the vectors found (:mod:`contexts.logic.existence`), "no" with a certificate; neither is "not decided".
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from contexts.hypergraphs.hypergraph import Hypergraph
from contexts.hypergraphs.rays import check_vectors
from contexts.logic import cross_products, existence, ray_pools
from contexts.logic.impossibility import impossible_level
from contexts.logic.least_squares import descend
from contexts.logic.pool_search import search_pool
from contexts.logic.rigidity import flex

LEVELS = ("proper", "injective", "faithful")
DESCENT_LIMIT = 200
"""Atoms past which the numerical search, whose steps solve dense systems, is not tried."""

REFUTATION_LIMIT = 60
"""Atoms past which chains of cross products are not tried."""

STARTS_FIRST = 4
"""Random starts before a proof of impossibility is tried, which takes longer; then the others."""


@dataclass(frozen=True)
class Realization:
    """``levels`` by name: True (proved), False (impossible, see ``certificate``), None (not decided).

    ``vectors`` reach ``level``, the highest found, by ``proof``; ``how`` says by which search, ``flex`` how far they
    can be bent. ``unproved`` counts the vectors found beside which no exact ones could be proved, ``stopped`` says what
    ended the search early ("interrupted" or the time limit).
    """

    levels: dict[str, bool | None]
    level: str | None
    vectors: dict[str, np.ndarray] | None
    how: str
    certificate: dict | None
    proof: existence.Proof | None = None
    flex: int | None = None
    tried: list[str] = field(default_factory=list)
    unproved: int = 0
    stopped: str = ""

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search."""
        return self.stopped == "interrupted"


def realize(
    h: Hypergraph,
    level: str = "injective",
    complex_rays: bool = False,
    seed: int = 0,
    restarts: int = 40,
    fresh: bool = False,
    seconds: float | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> Realization:
    """Find vectors of dimension ``h.dimension`` proved to reach ``level``, or a certificate that there are none.

    In order: certificates; the vectors given (unless ``fresh``); SAT over the ray pools, leaves rebuilt from the
    orthogonal complement; Levenberg–Marquardt on the product of spheres from ``restarts`` random starts; for real rays
    in dimension 3, after the first of these, chains of cross products. Ctrl-C, and the end of the ``seconds``, return
    the best found so far; ``progress`` is told what is being done. Raises ValueError when the dimension is unknown or
    the level is no level.
    """
    if level not in LEVELS:
        raise ValueError(f"the level must be one of {', '.join(LEVELS)}; got {level!r}")
    if h.dimension is None:
        raise ValueError("to realise a hypergraph the dimension must be known; give it")
    if h.dimension < 2:
        raise ValueError(f"a representation needs dimension 2 or more; got {h.dimension}")
    if seed < 0:
        raise ValueError(f"the seed must be 0 or more; got {seed}")
    search = _Search(h, level, complex_rays, np.random.default_rng(seed), seconds, progress)
    try:
        search.run(restarts, fresh)
    except KeyboardInterrupt:
        search.stopped = "interrupted"
    if search.stopped:
        search.tried.append(search.stopped)
    return search.result()


class _Search:
    """Keeps the best vectors seen while the methods are tried in turn."""

    def __init__(
        self,
        h: Hypergraph,
        level: str,
        complex_rays: bool,
        rng: np.random.Generator,
        seconds: float | None,
        progress: Callable[[str], None],
    ) -> None:
        self.h, self.goal, self.complex_rays, self.rng = h, level, complex_rays, rng
        self.progress = progress
        self.seconds, self.began = seconds, time.monotonic()
        self.best: dict[str, np.ndarray] | None = None
        self.proof: existence.Proof | None = None
        self.how = "nothing found"
        self.tried: list[str] = []
        self.unproved = 0
        self.stopped = ""
        self.impossible: str | None = None
        self.certificate: dict | None = None

    def run(self, restarts: int, fresh: bool) -> None:
        self.tell("looking for a certificate that there is no representation")
        if self.exclude(*impossible_level(self.h)):
            return
        if self.h.vectors is not None and not fresh:
            given = {v: x + 0j if self.complex_rays else x for v, x in self.h.vectors.items()}  # real ones bend in C^d
            if self.offer(given, "the vectors given"):
                return
        if self.pools():
            return
        if len(self.h.vertices) > DESCENT_LIMIT:
            self.tried.append(f"least squares is not tried past {DESCENT_LIMIT} atoms")
            return
        first = min(restarts, STARTS_FIRST)
        if self.starts(0, first, restarts) or self.refuted():
            return
        self.starts(first, restarts, restarts)

    def exclude(self, level: str | None, certificate: dict | None) -> bool:
        """Take a proof of impossibility; True when nothing is left to look for."""
        if level is None or self.impossible is not None:
            return False
        self.impossible, self.certificate = level, certificate
        if LEVELS.index(level) <= LEVELS.index(self.goal):
            if level == "proper":
                return True
            self.goal = LEVELS[LEVELS.index(level) - 1]  # the best that can still be shown
        return self.rank() >= LEVELS.index(self.goal)

    def pools(self) -> bool:
        names = (*ray_pools.COMPLEX, *ray_pools.REAL) if self.complex_rays else ray_pools.REAL
        for name in names:
            if self.late():
                return True
            rays = ray_pools.pool(name, self.h.dimension or 0)
            if rays is None:
                continue
            self.tell(f"choosing among the {len(rays)} rays of the pool {name}")
            self.tried.append(f"pool {name} of {len(rays)} rays")
            found = search_pool(self.h, rays, self.goal, self.rng)
            if found is not None and self.offer(found, f"SAT over rays with components {name}"):
                return True
        return False

    def starts(self, first: int, last: int, restarts: int) -> bool:
        for attempt in range(first, last):
            if self.late():
                return True
            self.tell(f"least squares, start {attempt + 1} of {restarts}")
            spread = self.goal != "proper" and attempt % 4 != 3
            found = descend(self.h, self.complex_rays, self.rng, spread, stop=self.late)
            if found is not None and self.offer(found, f"least squares, start {attempt + 1}"):
                return True
        if last == restarts:
            self.tried.append(f"{restarts} starts of least squares")
        return False

    def refuted(self) -> bool:
        """Chains of cross products: for real rays of dimension 3 whose atoms are to be different."""
        if self.h.dimension != 3 or self.complex_rays or self.goal == "proper" or self.late():
            return self.stopped != ""
        if len(self.h.vertices) > REFUTATION_LIMIT:
            return False
        self.tell("looking for a chain of cross products that closes on a contradiction")
        self.tried.append("chains of cross products")
        found = cross_products.refute(self.h.graph, self.late)
        return self.exclude("injective", found) if found is not None else self.stopped != ""

    def late(self) -> bool:
        """Whether the time is over."""
        if self.seconds is not None and time.monotonic() - self.began > self.seconds:
            self.stopped = f"stopped at the time limit of {self.seconds:g} s"
        return bool(self.stopped)

    def tell(self, line: str) -> None:
        self.progress(f"{line}; best so far: {self.proof.level if self.proof else 'nothing'}")

    def rank(self) -> int:
        """Of the highest level proved, −1 for none."""
        return -1 if self.proof is None else LEVELS.index(self.proof.level)

    def offer(self, vectors: dict[str, np.ndarray], how: str) -> bool:
        """Keep these vectors if they are proved to reach more than before; True when they reach the goal."""
        candidate = self.h.replace(vectors=vectors)
        reached = check_vectors(candidate).level
        if reached is not None and LEVELS.index(reached) > self.rank():
            proof = existence.prove(candidate)
            self.unproved += proof is None or proof.level != reached
            if proof is not None and LEVELS.index(proof.level) > self.rank():
                self.best, self.proof, self.how = vectors, proof, how
        return self.rank() >= LEVELS.index(self.goal)

    def result(self) -> Realization:
        top = self.rank()
        bottom = len(LEVELS) if self.impossible is None else LEVELS.index(self.impossible)
        levels = {name: True if k <= top else False if k >= bottom else None for k, name in enumerate(LEVELS)}
        bend = None if self.best is None else flex(self.h.replace(vectors=self.best))
        level = None if self.proof is None else self.proof.level
        return Realization(
            levels,
            level,
            self.best,
            self.how,
            self.certificate,
            self.proof,
            bend,
            self.tried,
            self.unproved,
            self.stopped,
        )
