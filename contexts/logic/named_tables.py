"""Empirical tables of the literature by name: thought experiments computed from their states, and published surveys."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

CONTEXT = dict[str, Any]


def load(name: str) -> dict[str, Any]:
    """A named table in the form of :func:`contexts.logic.contextuality.table_from_dict`; ValueError lists the names."""
    if name not in TABLES:
        raise ValueError(f"no table is called {name!r}; known are {', '.join(TABLES)}, or give a .json file")
    return {"contexts": TABLES[name][0]()}


def _by_correlation(correlations: dict[tuple[str, str], float]) -> list[CONTEXT]:
    """Unbiased ±1 outcomes with these expectations of products."""
    return [
        {"measurements": list(pair), "probabilities": [[(1 + e) / 4, (1 - e) / 4], [(1 - e) / 4, (1 + e) / 4]]}
        for pair, e in correlations.items()
    ]


def _pr() -> list[CONTEXT]:
    return _by_correlation({("A", "B"): 1.0, ("A", "b"): 1.0, ("a", "B"): 1.0, ("a", "b"): -1.0})


def _chsh() -> list[CONTEXT]:
    e = 0.5**0.5
    return _by_correlation({("A", "B"): e, ("A", "b"): e, ("a", "B"): e, ("a", "b"): -e})


def _bell() -> list[CONTEXT]:
    return _by_correlation({("A", "B"): 1.0, ("A", "b"): 0.5, ("a", "B"): 0.5, ("a", "b"): -0.5})


def _kcbs() -> list[CONTEXT]:
    """Neighbouring rays of the pentagram are exclusive, and each is found with probability 1/√5."""
    p = 5**-0.5
    return [
        {"measurements": [f"P{k}", f"P{(k + 1) % 5}"], "probabilities": {"0,0": 1 - 2 * p, "0,1": p, "1,0": p}}
        for k in range(5)
    ]


def _hardy() -> list[CONTEXT]:
    """ψ = √a(|01⟩ + |10⟩) + √(1 − 2a)|00⟩ at a = (3 − √5)/2; U is the given basis, D the one of (√a, −√(1 − 2a))."""
    a = (3 - 5**0.5) / 2
    alpha, beta = a**0.5, (1 - 2 * a) ** 0.5
    psi = np.array([[beta, alpha], [alpha, 0]])
    d = np.array([alpha, -beta]) / np.hypot(alpha, beta)
    bases = {"U": np.eye(2), "D": np.array([d, [-d[1], d[0]]])}
    return [
        {"measurements": [f"{x}1", f"{y}2"], "probabilities": ((bases[x] @ psi @ bases[y].T) ** 2).tolist()}
        for x, y in product("UD", repeat=2)
    ]


def _ghz() -> list[CONTEXT]:
    """Products XXX = +1 and XYY = YXY = YYX = −1 of |000⟩ + |111⟩, all else uniform."""
    return [_parity([f"{w}{k}" for k, w in enumerate(word, 1)], word != "XXX") for word in ("XXX", "XYY", "YXY", "YYX")]


def _peres_mermin() -> list[CONTEXT]:
    """Rows and columns of the square in the maximally mixed state: every product is +1 but that of the last column."""
    square = (("XI", "IX", "XX"), ("IZ", "ZI", "ZZ"), ("XZ", "ZX", "YY"))
    lines = [*map(list, square), *map(list, zip(*square, strict=True))]
    return [_parity(line, k == 5) for k, line in enumerate(lines)]


def _parity(measurements: list[str], odd: bool) -> CONTEXT:
    """Outcomes 0 (+1) and 1 (−1), uniform over those with an even or odd number of 1."""
    chosen = [v for v in product("01", repeat=len(measurements)) if v.count("1") % 2 == int(odd)]
    return {"measurements": measurements, "probabilities": {",".join(v): 1 / len(chosen) for v in chosen}}


def _survey(first: str, second: str, one: list[int], two: list[int]) -> list[CONTEXT]:
    """Two yes–no questions in both orders: counts of yes-yes, yes-no, no-yes, no-no in the order they were asked."""
    return [
        {"measurements": [first, second], "counts": [one[:2], one[2:]]},
        {"measurements": [second, first], "counts": [two[:2], two[2:]]},
    ]


SURVEY_SOURCE = (
    "Moore, Public Opinion Quarterly 66, 80 (2002), as tabulated by Wang & Busemeyer, Topics in Cognitive Science 5, "
    "689 (2013); counts are whole numbers that round to the four decimals as we have them, which were checked against "
    "what is quoted elsewhere (yes to both: 49 and 56 percent; q: −0.003) and not against the printed table"
)

TABLES: dict[str, tuple[Callable[[], list[CONTEXT]], str]] = {
    "pr": (_pr, "Popescu & Rohrlich, Found. Phys. 24, 379 (1994)"),
    "chsh": (_chsh, "Clauser, Horne, Shimony & Holt 1969 at Tsirelson's bound"),
    "bell": (_bell, "Abramsky & Brandenburger, New J. Phys. 13, 113036 (2011), Table 1"),
    "kcbs": (_kcbs, "Klyachko, Can, Binicioğlu & Shumovsky, PRL 101, 020403 (2008)"),
    "hardy": (_hardy, "Hardy, PRL 71, 1665 (1993), at the largest probability (5√5 − 11)/2"),
    "ghz": (_ghz, "Greenberger, Horne & Zeilinger 1989; Mermin 1990"),
    "peres_mermin": (_peres_mermin, "Peres 1990; Mermin, PRL 65, 3373 (1990)"),
    "clinton_gore": (
        lambda: _survey("Clinton", "Gore", [219, 20, 79, 129], [243, 86, 11, 92]),
        f"'honest and trustworthy?', Gallup 1997; {SURVEY_SOURCE}",
    ),
}
"""Tables with their sources, by name."""
