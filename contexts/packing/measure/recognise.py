"""What a set of lines is: by definition (frames, unbiased bases, designs), and by an isometry onto a known one.

A name by definition needs the angles alone. A name from the catalogue is given only with an isometry that takes the
lines onto those of the construction, found by matching inner products of d lines (their triple products with them, as
phases are matched too) and then checked on all lines; where the search ends without one, nothing is claimed.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import mpmath
import numpy as np
from jaxtyping import Inexact, Shaped

from contexts.packing.bounds.rounding import moment
from contexts.packing.constructions.catalogue import catalogue
from contexts.packing.measure.gram import normalise

TOLERANCE = 1e-9  # of inner products of unit vectors
LARGEST = 3000  # lines: their Gram matrix is held
MOST_STEPS = 20_000  # of the search for an isometry
MOST_STRENGTH = 12


@dataclass(frozen=True)
class Angle:
    """A value of |⟨u,v⟩|, how many pairs have it, and its exact form where an integer relation was found."""

    value: float
    pairs: int
    exact: str | None


@dataclass(frozen=True)
class Recognition:
    """What was recognised of n lines of R^d or C^d.

    ``classes`` hold by definition; ``known`` is a construction of the catalogue and ``residual`` the largest distance
    of a line from its image under the isometry found, both None where none was found; ``decided`` is False where the
    search was cut short. ``strength`` is the largest t for which the lines are a projective t-design (up to 12).
    """

    n: int
    d: int
    field: str
    angles: tuple[Angle, ...]
    tight: bool
    strength: int
    classes: tuple[str, ...]
    known: str | None
    residual: float | None
    decided: bool


def recognise(vectors: Shaped[np.ndarray, ...]) -> Recognition:
    """Recognise the lines of an (n, d) matrix, n ≤ 3000. Raises ValueError for more, and as ``gram.normalise``."""
    unit = normalise(vectors)
    n, d = unit.shape
    if n > LARGEST:
        raise ValueError(f"lines are recognised up to {LARGEST}, got {n}")
    field = "complex" if np.iscomplexobj(unit) else "real"
    gram = np.abs(unit @ unit.conj().T)
    np.fill_diagonal(gram, 1)
    angles = tuple(_angles(gram))
    strength = design_strength(gram, d, field)
    known, residual, decided = _known(unit, field, angles)
    classes = tuple(_classes(gram, d, field, angles, strength))
    return Recognition(n, d, field, angles, strength >= 1, strength, classes, known, residual, decided)


def design_strength(moduli: Inexact[np.ndarray, "n n"], d: int, field: str) -> int:
    """The largest t ≤ 12 with mean |⟨u,v⟩|^{2s} over all pairs (equal ones too) equal to c_s for all s ≤ t.

    The mean is never below c_s = E|⟨u,v⟩|^{2s} of random vectors, and equal for projective t-designs alone (Welch 1974;
    Hoggar 1982). Relative tolerance 1e-12: lines moved by δ change the mean by δ². t = 1: a tight frame; 0: none.
    """
    powers = np.ones_like(moduli)
    squares = moduli**2
    for t in range(1, MOST_STRENGTH + 1):
        powers = powers * squares
        if abs(float(powers.mean()) / float(moment(d, t, field)) - 1) > 1e-12:
            return t - 1
    return MOST_STRENGTH


def exact_form(value: float) -> str | None:
    """A rational number, the root of one, or a root of an integer polynomial of degree ≤ 4 equal to ``value`` to 1e-13.

    None where coefficients would be so large that chance would find them too. An equality to these digits, no proof.
    """
    for power, shown in ((1, "{}"), (2, "sqrt({})")):
        found = Fraction(value**power).limit_denominator(20_000)
        if abs(float(found) - value**power) <= 4e-14 * max(1.0, power):
            return shown.format(found)
    with mpmath.workdps(15):
        for degree in (2, 4):
            most = int(10 ** (11 / (degree + 1)))  # most^(degree + 1) candidates against 13 digits
            found = mpmath.findpoly(mpmath.mpf(value), degree, maxcoeff=most, tol=1e-13)
            if found:
                terms = [
                    f"{c:+d}{f' x^{k}' if k else ''}"
                    for k, c in zip(range(len(found) - 1, -1, -1), found, strict=True)
                    if c
                ]
                return "root of " + " ".join(terms)
    return None


def isometry(
    first: Inexact[np.ndarray, "n d"], second: Inexact[np.ndarray, "n d"]
) -> tuple[Inexact[np.ndarray, "d d"], float] | None:
    """A unitary U with the rows of ``first`` @ U on the lines of ``second``, each once, and the largest distance.

    Complex lines may be ``second``'s conjugates too. None where 20,000 steps find none. Rows are unit vectors.
    """
    for target in (second, second.conj()) if np.iscomplexobj(second) else (second,):
        found = _Matching(first, target).run()
        if found is not None:
            return found
    return None


def _angles(gram: np.ndarray) -> list[Angle]:
    """The distinct values among the pairs, largest first; beyond 40 none are told apart."""
    values = np.sort(gram[np.triu_indices(len(gram), 1)])[::-1]
    if not len(values):
        return []
    places = [0, *(np.flatnonzero(-np.diff(values) > 1e-7) + 1).tolist(), len(values)]
    if len(places) > 41:
        return [Angle(float(values[0]), places[1], exact_form(float(values[0])))]
    means = [(float(values[a:b].mean()), b - a) for a, b in itertools.pairwise(places)]
    return [Angle(value, count, "0" if value < TOLERANCE else exact_form(value)) for value, count in means]


def _classes(gram: np.ndarray, d: int, field: str, angles: tuple[Angle, ...], strength: int) -> list[str]:
    n, found = len(gram), []
    letter = "R" if field == "real" else "C"
    if n > 1 and len(angles) == 1 and angles[0].pairs == n * (n - 1) // 2:
        if angles[0].value < TOLERANCE:
            found.append("orthonormal basis" if n == d else "orthonormal lines")
        elif strength >= 1:
            found.append(f"equiangular tight frame ETF({d},{n})")
            if field == "complex" and n == d * d:
                found.append(f"SIC: {n} equiangular lines of {letter}^{d}, the most possible")
            if n == d + 1:
                found.append("regular simplex")
        else:
            found.append("equiangular lines")
    bases = _number_of_bases(gram, d)
    if bases > 1 and len(angles) == 2 and abs(angles[0].value - 1 / math.sqrt(d)) < TOLERANCE:
        most = d + 1 if field == "complex" else d // 2 + 1
        text = f"{bases} mutually unbiased bases of {letter}^{d}"
        kind = " (a Kerdock set)" if field == "real" and d > 4 else ""
        found.append(text + (f", the most possible{kind}" if bases == most else ""))
    if strength >= 2:
        found.append(f"projective {strength}-design")
    return found


def _number_of_bases(gram: np.ndarray, d: int) -> int:
    """n/d if orthogonality divides the lines into n/d bases, else 0."""
    orthogonal = gram < TOLERANCE
    same = orthogonal | np.eye(len(gram), dtype=bool)
    if len(gram) % d or not (same.sum(axis=1) == d).all():
        return 0
    return len(gram) // d if len(np.unique(same, axis=0)) == len(gram) // d else 0


def _known(unit: np.ndarray, field: str, angles: tuple[Angle, ...]) -> tuple[str | None, float | None, bool]:
    n, d = unit.shape
    if not angles or angles[0].value < TOLERANCE or np.linalg.matrix_rank(unit) < d:
        return None, None, True
    decided = True
    for entry in catalogue(d, field):
        if entry.n != n or abs(entry.coherence - angles[0].value) > 1e-8 or not entry.buildable:
            continue
        lines = normalise(entry.build().astype(unit.dtype))
        other = _angles(_moduli(lines))
        if [(a.pairs, round(a.value, 7)) for a in other] != [(a.pairs, round(a.value, 7)) for a in angles]:
            continue
        found = isometry(unit, lines)
        if found is not None:
            return f"{entry.name}{f' ({entry.source})' if entry.source else ''}", found[1], True
        decided = False
    return None, None, decided


def _moduli(unit: np.ndarray) -> np.ndarray:
    gram = np.abs(unit @ unit.conj().T)
    np.fill_diagonal(gram, 1)
    return gram


class _Matching:
    """Depth-first search for images of d lines that determine an isometry, phases chosen by earlier inner products."""

    def __init__(self, first: np.ndarray, second: np.ndarray):
        self.first, self.second = first, second
        self.gram, self.other = first @ first.conj().T, second @ second.conj().T
        self.moduli = np.abs(self.other)
        self.steps = 0
        self.pivots = self._pivots()

    def run(self) -> tuple[np.ndarray, float] | None:
        if self.pivots is None:
            return None
        profile = [np.sort(np.round(np.abs(row), 6)) for row in (self.gram[self.pivots[0]], *self.other)]
        for start in range(len(self.second)):
            if np.allclose(profile[0], profile[start + 1], atol=1e-5):
                found = self._extend([start], np.ones(1, self.second.dtype))
                if found is not None or self.steps > MOST_STEPS:
                    return found
        return None

    def _pivots(self) -> list[int] | None:
        """d independent lines, each but the first not orthogonal to an earlier one; None where lines fall apart."""
        chosen, basis = [0], self.first[:1]
        while len(chosen) < self.first.shape[1]:
            outside = np.linalg.norm(self.first - self.first @ basis.conj().T @ basis, axis=1) > 1e-6
            joined = (np.abs(self.gram[:, chosen]) > 1e-6).sum(axis=1) * outside
            if not joined.any():
                return None
            chosen.append(int(np.argmax(joined)))
            rest = self.first[chosen[-1]] - self.first[chosen[-1]] @ basis.conj().T @ basis
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
        return chosen

    def _extend(self, images: list[int], phases: np.ndarray) -> tuple[np.ndarray, float] | None:
        assert self.pivots is not None
        self.steps += 1
        k = len(images)
        if k == len(self.pivots):
            return self._check(images, phases)
        if self.steps > MOST_STEPS:
            return None
        wanted = self.gram[self.pivots[k], self.pivots[:k]]
        fits = np.abs(self.moduli[:, images] - np.abs(wanted)).max(axis=1) < 1e-7
        fits[images] = False
        anchor = int(np.argmax(np.abs(wanted)))
        for j in np.flatnonzero(fits):
            products = self.other[j, images] * np.conj(phases)
            phase = wanted[anchor] / products[anchor]
            if np.abs(phase * products - wanted).max() < 1e-6:
                found = self._extend([*images, int(j)], np.append(phases, phase / abs(phase)))
                if found is not None or self.steps > MOST_STEPS:
                    return found
        return None

    def _check(self, images: list[int], phases: np.ndarray) -> tuple[np.ndarray, float] | None:
        """The isometry that these images determine, if it takes all lines onto lines."""
        u = np.linalg.solve(self.first[self.pivots], phases[:, None] * self.second[images])
        overlap = np.abs(self.first @ u @ self.second.conj().T)
        place = overlap.argmax(axis=1)
        best = np.clip(overlap[range(len(place)), place], 0, 1)
        if len(np.unique(place)) < len(place) or best.min() < 1 - TOLERANCE:
            return None
        if np.abs(u @ u.conj().T - np.eye(len(u))).max() > 1e-6:
            return None
        moved = self.first @ u
        inner = (moved * self.second[place].conj()).sum(axis=1, keepdims=True)
        return u, float(np.linalg.norm(moved - inner / np.abs(inner) * self.second[place], axis=1).max())
