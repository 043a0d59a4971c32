"""What ``qattn contexts`` prints for people: one function per verb, from its dictionary to lines."""

from __future__ import annotations

from typing import Any


def names(items: list[str], most: int = 12) -> str:
    """The first ``most`` items, and how many there are in all."""
    return (", ".join(items[:most]) or "none") + (f", … ({len(items)} in all)" if len(items) > most else "")


def check_lines(r: dict[str, Any]) -> list[str]:
    """The result of ``qattn contexts check`` as lines of text."""
    lines = [
        f"{r['name'] or 'hypergraph'}: {r['atoms']} atoms, {r['contexts']} contexts of sizes {r['context_sizes']},"
        f" {r['exclusive_pairs']} further exclusive pairs, dimension {r['dimension']}",
        f"intertwining atoms: {names(r['intertwining'])}",
    ]
    if r["partial_contexts"]:
        lines.append(f"partial contexts: {len(r['partial_contexts'])} (fewer atoms than the dimension)")
    if r["assumed"]:
        lines.append(f"assumed: {r['assumed']}")
    if r["in_no_context"]:
        lines.append(f"in no context: {names(r['in_no_context'])}")
    if r["components"] > 1:
        lines.append(f"{r['components']} separate components")
    if r["vectors"] is None:
        lines.append("no vectors")
    else:
        v = r["vectors"]
        if r["problems"]:
            lines.append(f"vectors: {v['field']}, NOT a representation")
        elif r["ok"]:
            lines.append(f"vectors: {v['field']}, {v['level']}, proved: {proof_line(v['proof'])}")
        else:
            near = f"{v['level_within_tolerance']} within {v['tolerance']:g}"
            lines.append(f"vectors: {v['field']}, {near}, but no exact different rays were proved beside them")
        if v["orthogonal_but_not_listed"]:
            listed = [f"{a}⊥{b}" for a, b, _ in v["orthogonal_but_not_listed"]]
            lines.append(f"orthogonal, though in no listed context: {names(listed)}")
    return lines + [f"problem: {p}" for p in r["problems"]]


def states_lines(r: dict[str, Any]) -> list[str]:
    """The result of ``qattn contexts states`` as lines of text."""
    exact = "" if r["complete"] else f" or more ({r['reason']})" if "reason" in r else ""
    size = f" (10^{r['count_log10']:.4f})" if len(r["count"] or "") > 15 and r["count_log10"] else ""
    lines = [] if r["count"] is None else [f"{r['count']}{size}{exact} two-valued states: {r['definition']}"]
    if r["assumed"]:
        lines.append(f"assumed: {r['assumed']}")
    if r["interrupted"]:
        if r["count"] is None and r["exists"] is not None:
            lines.append("a two-valued state exists" if r["exists"] else "no two-valued state exists")
        lines += ["{" + ",".join(s) + "}" for s in r.get("states", [])]
        found = f"; {len(r['states'])} listed" if "states" in r else ""
        return [*lines, f"interrupted while {r['interrupted_while']}{found}"]
    if "marginals_reason" in r:
        lines.append(f"no marginals: {r['marginals_reason']}")
    if "relations_reason" in r:
        lines.append(f"what the states imply: {r['relations_reason']}")
    elif r["exists"]:
        lines.append(f"unital: {yes(r['unital'])}   separating: {yes(r['separating'])}")
        if r["never_true"]:
            lines.append(f"never true: {names(r['never_true'])}")
        lines.append(f"true implies false: {names([f'{a} → ¬{b}' for a, b in r['true_implies_false']])}")
        lines.append(f"true implies true: {names([f'{a} → {b}' for a, b in r['true_implies_true']])}")
    if not r["exists"]:
        subset = [list(c) for c in r["critical_subset"]]
        lines.append(f"critical: {yes(r['critical'])}; a critical subset has {len(subset)} contexts:")
        lines.append("  " + "  ".join("{" + ",".join(c) + "}" for c in subset))
    chromatic = r["strong_chromatic_number"]
    lines.append(f"strong chromatic number: {chromatic if chromatic else r['strong_chromatic_number_reason']}")
    if r.get("negations"):
        lines.append(f"negations: {names([f'{b} = ¬{a}' for a, b in r['negations']])}")
    if r.get("conjunctions"):
        lines.append(f"conjunctions: {names([f'{c} = {a} ∧ {b}' for a, b, c in r['conjunctions']])}")
    lines += ["{" + ",".join(s) + "}" for s in r.get("states", [])]
    if r.get("states_complete") is False:
        lines.append(r["states_reason"])
    return lines


def symmetry_lines(r: dict[str, Any]) -> list[str]:
    """The result of ``qattn contexts symmetry`` as lines of text."""
    lines = [f"automorphism group of order {r['order']}, {len(r['generators'])} generators"]
    lines.append(f"orbits of atoms: {len(r['orbits'])}, of sizes {names([str(len(o)) for o in r['orbits']], 30)}")
    lines += ["  {" + names(orbit) + "}" for orbit in r["orbits"][:30]]
    sizes = names([str(len(o)) for o in r["context_orbits"]], 30)
    return [*lines, f"orbits of contexts: {len(r['context_orbits'])}, of sizes {sizes}"]


def isomorphic_lines(r: dict[str, Any]) -> list[str]:
    """The result of ``qattn contexts isomorphic`` as lines of text."""
    lines = [f"isomorphic: {yes(r['isomorphic'])}"]
    return lines + ([f"  {', '.join(f'{a} → {b}' for a, b in r['map'].items())}"] if r["map"] else [])


def parity_lines(r: dict[str, Any]) -> list[str]:
    """The result of ``qattn contexts parity`` as lines of text."""
    lines = [f"parity proof: {yes(r['exists'])}"]
    if not r["exists"]:
        return [*lines, f"every context has an odd number of these atoms: {names(r['odd_set'], 60)}"]
    which = "a smallest one" if r["smallest"] else "one (not proved the smallest)"
    lines.append(f"{which} has {len(r['proof'])} contexts, and every atom occurs in an even number of them:")
    lines.append("  " + contexts_line(r["proof"]))
    number = str(r["number"]) if r["number"] < 10**15 else f"2^{r['number'].bit_length() - 1}"
    return [*lines, f"{number} parity proofs in all" + (f": {sizes_line(r['sizes'])}" if r["sizes"] else "")]


def critical_lines(r: dict[str, Any]) -> list[str]:
    """The result of ``qattn contexts critical`` as lines of text."""
    if not r["exists"]:
        return ["a two-valued state exists: no subset of the contexts is critical"]
    if r["smallest"] is None:
        lines = [f"a smallest critical subset has {r['at_least']} to {r['at_most']} contexts; one has {r['at_most']}:"]
    else:
        lines = [f"a smallest critical subset has {r['smallest']} contexts; critical subsets found:"]
    lines += ["  " + contexts_line(subset) for subset in r["subsets"][:20]]
    lines += [f"  … ({len(r['subsets'])} in all)"] if len(r["subsets"]) > 20 else []
    if r["sizes"]:
        whole = "all of them" if r["complete"] else f"all with fewer than {r['sizes_complete_below']} contexts"
        lines.append(f"by size: {sizes_line(r['sizes'])} ({whole})")
    return lines + ([r["reason"]] if "reason" in r else [])


def contains_lines(r: dict[str, Any]) -> list[str]:
    """The result of ``qattn contexts contains`` as lines of text."""
    more = "" if r["complete"] else " or more"
    lines = [f"contained: {yes(r['contains'])}", f"{len(r['copies'])}{more} copies"]
    return lines + [f"  {', '.join(f'{a} → {b}' for a, b in copy.items())}" for copy in r["copies"][:20]]


def contexts_line(subset: list[list[str]]) -> str:
    """Contexts as sets of atoms on one line."""
    return "  ".join("{" + ",".join(c) + "}" for c in subset)


def sizes_line(sizes: dict[str, int]) -> str:
    """How many there are of each size."""
    return ", ".join(f"{n} of {size} contexts" for size, n in sizes.items())


def commute_lines(r: dict[str, Any]) -> list[str]:
    """The result of ``qattn contexts commute`` as lines of text."""
    width = max(len(x) for x in r["labels"])
    lines = [
        f"{p['a']:<{width}}  {p['b']:<{width}}  {'yes' if p['commute'] else 'no':<3}  {p['norm'] or 0:.6g}"
        + ("  qubit-wise" if p.get("commute_qubitwise") else "")
        for p in r["pairs"]
    ]
    if r["degenerate"]:
        lines.append(f"not maximal (an eigenvalue repeats): {names(r['degenerate'])}")
    if "pairs_reason" in r:
        lines.append(f"{len(r['labels'])} words of {r['qubits']} qubits; {r['pairs_reason']}")
    if "families" in r:
        sizes = ", ".join(str(len(f["members"])) for f in r["families"])
        lines.append(
            f"families of commuting words: {len(r['families'])}, of sizes {sizes} (greedy; circuits in --json)"
        )
    if (best := r["largest_commuting"]) is not None:
        lines.append(f"largest commuting sets: {len(best)} with {len(best[0])} each, first {', '.join(best[0])}")
    return [*lines, f"all commute: {yes(r['all_commute'])}"]


def bounds_lines(r: dict[str, Any]) -> list[str]:
    """The result of ``qattn contexts bounds`` as lines of text."""
    theta = f"{r['theta']:.7g} ≤ θ ≤ {r['theta_dual']:.7g}" if r["theta"] is not None else f"θ: {r['theta_reason']}"
    certificate = r["certificate"]
    alpha = f"α  = {r['alpha']:.10g}"
    if not r["alpha_exact"]:
        alpha = f"{r['alpha']:.10g} ≤ α ≤ {certificate['alpha_upper']:.10g}"
    lines = [
        f"weights: {r['weights']}",
        f"{alpha}   independent set {{{', '.join(certificate['independent_set'])}}}",
        theta,
        f"α* = {r['alpha_star']:.7g}   clique cover of weight {r['alpha_star_dual']:.7g}",
    ]
    return lines + [f"{answer['says']}   ({answer['definition']})" for answer in r["verdict"].values()]


def realize_lines(r: dict[str, Any]) -> list[str]:
    """The result of ``qattn contexts realize`` as lines of text."""
    lines = [f"{name}: {yes(answer)}" for name, answer in r["levels"].items()]
    lines += ["interrupted: what was found by then"] if r["interrupted"] else []
    if r["certificate"]:
        lines.append(f"certificate: {r['certificate']['rule']}")
    if r["proof"]:
        lines.append(f"proof: {proof_line(r['proof'])}")
    if r["vectors"]:
        lines.append(f"found by {r['how']}; flex {r['flex']} ({r['flex_of']}, beyond rescaling and rotation)")
        lines += [f"  {v}: {' '.join(component(x) for x in ray)}" for v, ray in r["vectors"].items()]
    if "reason" in r:
        lines.append(f"{r['asked']}: {r['reason']}")
    return lines


def proof_line(proof: dict[str, Any]) -> str:
    """How exact rays were proved to exist, how far off they are at most, and how different."""
    where = f"within {proof['radius']:.2g} of the vectors" if proof["radius"] else "the vectors up to rounding"
    return f"{proof['how']}, {where}" + (f"; every sine is at least {proof['sine']:.3g}" if proof["sine"] else "")


def component(x: float | list[float]) -> str:
    """One component of a vector; a pair is a complex number."""
    return f"{x[0]:.6g}{x[1]:+.6g}i" if isinstance(x, list) else f"{x:.6g}"


def fraction_lines(r: dict[str, Any]) -> list[str]:
    """The result of ``qattn contexts fraction`` as lines of text."""
    ends = r.get("intervals") or {}

    def around(key: str) -> str:
        return f" [{ends[key]['low']:.4g}, {ends[key]['high']:.4g}]" if key in ends else ""

    lines = [f"contextual fraction {r['contextual_fraction']:.6g}{around('contextual_fraction')}: {r['definition']}"]
    if "signalling_fraction" not in r:
        return lines
    lines.append(f"signalling fraction {r['signalling_fraction']:.6g}{around('signalling_fraction')}")
    if (d := r["by_default"]) is None and r["measures"] is None:
        return [*lines, f"contextuality by default: {r['by_default_reason']}; {r['measures_reason']}"]
    if d is not None:
        lines.append(f"contextuality by default: {yes(d['contextual'])}, excess {d['excess']:.6g}{around('excess')}")
        lines.append(f"  = s_odd {d['s_odd']:.6g} − {d['rank'] - 2} − inconsistency {d['inconsistency']:.6g}")
    if (m := r["measures"]) is None:
        return [*lines, f"CNT₁, CNT₂, NCNT₂: {r['measures_reason']}"]
    lines += [f"contextuality by default: {yes(m['contextual'])}"] if d is None else []
    beyond = "" if m["ncnt2"] is None else f", NCNT₂ {m['ncnt2']:.6g}"
    return [*lines, f"CNT₁ {m['cnt1']:.6g}, CNT₂ {m['cnt2']:.6g}{beyond}"]


def question_order_lines(r: dict[str, Any]) -> list[str]:
    """The result of ``qattn contexts question-order`` as lines of text."""

    def chance(p: float | None) -> str:
        return "" if p is None else f" (p = {p:.3g})"

    lines = [f"QQ equality: q = {r['q']:.4f}{chance(r['p'])}; a sequence of projections has q = 0"]
    if r["order_p"] is not None:
        lines.append(f"the order changes the answers: p = {r['order_p']:.3g}")
    lines.append("the second order under models fitted to the first, in nats per respondent:")
    return lines + [f"  {name:<28} {loss:.4f}" for name, loss in sorted(r["losses"].items(), key=lambda item: item[1])]


def train_lines(r: dict[str, Any]) -> list[str]:
    """The result of ``qattn contexts train`` as lines of text."""
    lines = [
        f"{r['task']}: {r['train']} training and {r['test']} test examples of {len(r['senses'])} senses ({r['source']})"
    ]
    lines.append(r["flex_says"])
    for name, m in sorted(r["models"].items(), key=lambda item: -item[1]["mean"]):
        spread = f" [{m['low']:.3f}, {m['high']:.3f}]" if m["low"] is not None else ""
        lines.append(f"  {name:<20} {m['mean']:.3f}{spread}")
    lines += [f"left out: {name}: {reason}" for name, reason in r["left_out"].items()]
    return lines + list(r["verdicts"].values())


def compare_lines(r: dict[str, Any]) -> list[str]:
    """The result of ``qattn contexts compare`` as lines of text."""
    examples = sum(row["test"] for row in r["pairs"])
    lines = [f"{len(r['pairs'])} of {len(r['asked']['pairs'])} word pairs, {examples} test examples in all"]
    for name, m in sorted(r["methods"].items(), key=lambda item: -item[1]["mean"]):
        spread = f" [{m['low']:.3f}, {m['high']:.3f}]" if m["low"] is not None else ""
        lines.append(f"  {name:<20} {m['mean']:.3f}{spread}")
    return lines + [test["verdict"] for test in r["tests"]]


def yes(value: bool | None) -> str:
    """The answer to a question that may be open, as a word."""
    return {True: "yes", False: "no", None: "not decided"}[value]
