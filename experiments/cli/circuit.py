"""``qattn circuit``: simulate, train, analyse, draw, export and compile parametrized quantum circuits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from experiments.cli import app
from experiments.errors import UserError, blame

if TYPE_CHECKING:
    from experiments.config.circuit import CircuitFile
    from qattn.circuits.spec import Spec

circuit = typer.Typer(name="circuit", help="Parametrized quantum circuits.", no_args_is_help=True)
app.add_typer(circuit)

SpecPath = Annotated[Path, typer.Argument(help="A circuit in YAML or JSON.")]
AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]
Sets = Annotated[list[str] | None, typer.Option("--set", help="Override a key: --set ansatz.layers=3")]


def load(path: Path, overrides: list[str] | None = None) -> tuple[CircuitFile, Spec]:
    """The file and the circuit it describes; bad input is one sentence."""
    from experiments.config.circuit import load_circuit, plain
    from qattn.circuits.spec import from_dict

    file = load_circuit(path, overrides or ())
    with blame(path):
        return file, from_dict(plain(file))


def say(value: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(value, allow_nan=False))
        return
    for key, item in value.items():
        print(f"{key}: {item}")


@circuit.command()
def simulate(
    spec: SpecPath,
    device: Annotated[str | None, typer.Option(help="fast, or a PennyLane device such as default.qubit.")] = None,
    shots: Annotated[int | None, typer.Option(min=1, help="Sample instead of computing exactly.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the shots.")] = None,
    dtype: Annotated[str, typer.Option(help="float32 or float64.")] = "float64",
    overrides: Sets = None,
    as_json: AsJson = False,
) -> None:
    """Run a circuit and read its measurement.

    Example: `qattn circuit simulate experiments/configs/circuits/ghz.yaml --device default.qubit --json`
    """
    _, read = load(spec, overrides)
    from qattn.circuits.simulate import simulate as run

    with blame(spec):
        result = run(read, device, shots, seed, dtype)
    if as_json:
        print(json.dumps(result, allow_nan=False))
        return
    print(f"{result['qubits']} qubits, {result['gates']} gates, depth {result['depth']}, on {result['device']}")
    if "probabilities" in result:
        width = (len(result["probabilities"]) - 1).bit_length()
        for index, p in enumerate(result["probabilities"]):
            if p > 1e-12:
                print(f"{index:0{width}b}  {p:.6f}")
    for word, mean in zip(result.get("observables", []), result.get("expectations", []), strict=True):
        print(f"{word}  {mean:+.6f}")
    for bits, count in result.get("counts", {}).items():
        print(f"{bits}  {count}")
    for index, (re, im) in enumerate(result.get("state", [])):
        print(f"{index:0{result['qubits']}b}  {re:+.6f} {im:+.6f}i")


def unknown(what: str, got: str, known: list[str]) -> UserError:
    return UserError(f"{what}: expected {', '.join(known)}, got {got!r}")
