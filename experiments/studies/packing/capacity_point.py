"""``qattn packing capacity --d D --eps E``: every bound on N_ε(d) at one point, and the largest explicit packing."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

from contexts.packing.bounds.capacity import LOWER, UPPER
from contexts.packing.bounds.check_certificate import proved_bound
from contexts.packing.bounds.delsarte import delsarte
from contexts.packing.constructions.combine import largest_construction
from contexts.packing.validation import check_epsilon, check_size
from experiments.errors import UserError, blame
from experiments.runs.atomic_files import write_json
from experiments.studies.packing.formatting import power_of_ten, whole
from experiments.studies.packing.saved_search import check_writable

LN10 = math.log(10)


def capacity_point(d: int, eps: float, field: str) -> dict[str, Any]:
    """Counts and their log10 by name of the bound, why a bound says nothing, and what is constructed, for JSON.

    ``constructed.gap`` is log10 of the least upper bound over the number of lines constructed, None without a bound.
    Raises :class:`UserError` for an invalid d or ε.
    """
    with blame("--d"):
        check_size("d", d)
    with blame("--eps"):
        check_epsilon(eps)
    result: dict[str, Any] = {"d": d, "eps": eps, "field": field}
    reasons: dict[str, str] = {}
    least = math.inf
    for side, table in (("lower", LOWER), ("upper", UPPER)):
        logs = {name: bound.function(d, eps, field) for name, bound in table.items()}
        result[side] = {name: whole(value, up=side == "lower") for name, value in logs.items()}
        result[f"log10_{side}"] = {name: None if value is None else value / LN10 for name, value in logs.items()}
        for name, value in logs.items():
            if value is None:
                reasons[name] = f"does not apply; it needs: {table[name].applies}"
            elif result[side][name] is None:
                reasons[name] = "beyond 1e308: see log10"
            if side == "upper" and value is not None:
                least = min(least, value)
    result["reasons"] = reasons
    found = largest_construction(d, eps, field)
    result["constructed"] = {
        "n": found.n,
        "coherence": found.coherence,
        "how": found.name,
        "source": found.source,
        "log10_n": math.log10(found.n),
        "gap": None if math.isinf(least) else max(0.0, least / LN10 - math.log10(found.n)),
    }
    return result


def save_certificate(d: int, eps: float, field: str, path: Path) -> None:
    """Write the linear programme's certificate, read it back and check it; raises :class:`UserError` where none is."""
    check_writable(path.parent, f"--certificate {path}")
    proof = delsarte(d, eps, field)
    if proof is None:
        raise UserError(f"--certificate {path}: the linear programme proves nothing at d = {d}, epsilon = {eps:g}")
    write_json(path, proof)
    read = json.loads(path.read_text(encoding="utf-8"))
    if proved_bound(read) != Fraction(proof["bound"]):
        raise UserError(f"{path}: the certificate read back proves another bound; remove it and try again")


def show_point(result: dict[str, Any]) -> None:
    """The same for people."""
    print(f"N_eps(d) in {'R' if result['field'] == 'real' else 'C'}^{result['d']} at eps = {result['eps']:g}")
    for side in ("lower", "upper"):
        print("at least" if side == "lower" else "at most")
        for name, value in result[side].items():
            log10 = result[f"log10_{side}"][name]
            count = f"{value:>14,}" if value is not None and value < 10**10 else f"{'10^':>10}{log10 or 0:.2f}"
            print(f"  {name:24}{result['reasons'][name] if log10 is None else count}")
    found = result["constructed"]
    source = f"; {found['source']}" if found["source"] else ""
    count = f"{found['n']:,}" if found["n"] < 10**15 else power_of_ten(found["log10_n"] * LN10)
    print(f"constructed: {count} lines at {found['coherence']:.6f} ({found['how']}{source})")
    if found["gap"] is not None:
        print(f"             {found['gap']:.2f} orders of magnitude below what is proved impossible to pass")
