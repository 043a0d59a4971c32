"""``qattn circuit evolve``: product formulas beside the exact time evolution, with their errors drawn.

OUT/result.json     errors and gates by order and number of steps
OUT/evolution.svg   the errors, and an observable over time
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Complex, Float

from experiments.errors import UserError, blame
from experiments.report.canvas import svg
from experiments.report.figures import INK, PALETTE
from experiments.runs.atomic_files import write_bytes, write_json
from experiments.schema.evolution_file import EvolutionKeys
from qattn.circuits.ir.hamiltonian import Hamiltonian, full_word, read_hamiltonian
from qattn.circuits.simulate.energy import energy
from qattn.circuits.simulate.statevector import run
from qattn.circuits.trotter import evolved, trotter_circuit

PLACES = 60  # times at which the observable is drawn


def study(source: Path, file: EvolutionKeys, out: Path | None) -> dict[str, Any]:
    """The distance ‖ψ − ψ_exact‖ of every formula at the end, and its gates. Raises :class:`UserError` for bad keys."""
    with blame(source):
        h = read_hamiltonian(file.hamiltonian, file.qubits, ("evolve", "hamiltonian"))
        word = full_word(file.observable or "Z" + "I" * (file.qubits - 1), file.qubits, ("evolve", "observable"))
    bits = file.start or "0" * file.qubits
    if len(bits) != file.qubits or set(bits) - set("01"):
        raise UserError(
            f"{source}: evolve.start: expected {file.qubits} bits such as {'0' * file.qubits}, got {bits!r}"
        )
    start = np.zeros(2**file.qubits, complex)
    start[int(bits, 2)] = 1
    goal = evolved(h, start, np.array([file.time]))[0]
    rows = [row(h, file.time, steps, order, start, goal) for order in file.orders for steps in file.steps]
    observable = Hamiltonian(file.qubits, (word,), (1.0,))
    result: dict[str, Any] = {
        "time": file.time,
        "observable": word,
        "exact": float(energy(observable, torch.as_tensor(goal))),
        "formulas": rows,
        "slopes": {str(order): slope([r for r in rows if r["order"] == order]) for order in file.orders},
    }
    if out is not None:
        times = np.linspace(0, file.time, PLACES)
        means = energy(observable, torch.as_tensor(evolved(h, start, times))).numpy()
        write_bytes(out / "evolution.svg", picture(rows, times, means, word))
        write_json(out / "result.json", result)
        result["out"] = str(out)
    return result


def row(
    h: Hamiltonian,
    time: float,
    steps: int,
    order: int,
    start: Complex[np.ndarray, " dim"],
    goal: Complex[np.ndarray, " dim"],
) -> dict[str, Any]:
    """One formula: its error and how many gates it takes."""
    circuit = trotter_circuit(h, time, steps, order)
    none = torch.zeros(0, dtype=torch.float64)
    reached = run(circuit, none, states=torch.as_tensor(start)).amplitudes().numpy()
    counts = circuit.resources()
    error = float(np.linalg.norm(reached - goal))
    return {"order": order, "steps": steps, "error": error, "gates": counts["gates"], "depth": counts["depth"]}


def slope(rows: list[dict[str, Any]]) -> float | None:
    """How the error falls between the two largest numbers of steps: its order, until rounding is reached."""
    last = sorted(rows, key=lambda r: r["steps"])[-2:]
    if len(last) < 2 or last[0]["steps"] == last[1]["steps"] or min(r["error"] for r in last) < 1e-11:
        return None
    return float(np.log(last[0]["error"] / last[1]["error"]) / np.log(last[1]["steps"] / last[0]["steps"]))


def picture(
    rows: list[dict[str, Any]], times: Float[np.ndarray, " times"], means: Float[np.ndarray, " times"], word: str
) -> bytes:
    """Errors against steps on logarithmic axes, and the exact mean of the observable over time, as SVG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for k, order in enumerate(sorted({r["order"] for r in rows})):
        mine = sorted((r for r in rows if r["order"] == order), key=lambda r: r["steps"])
        errors = [max(r["error"], 1e-16) for r in mine]
        left.loglog([r["steps"] for r in mine], errors, "o-", color=PALETTE[k], label=f"order {order}")
    counts = sorted({r["steps"] for r in rows})
    left.set_xticks(counts, [str(n) for n in counts])
    left.minorticks_off()
    left.set_xlabel("steps")
    left.set_ylabel("distance from the exact state")
    left.legend(frameon=False, fontsize=9)
    right.plot(times, means, color=INK)
    right.set_xlabel("time")
    right.set_ylabel(f"mean of {word}")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    return svg(figure)
