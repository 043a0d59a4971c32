"""``qattn circuit``: the verbs that train a circuit or compare what it learns and does with something exact."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.circuit_input import Sets, SpecPath, load, say
from experiments.cli.options import FreshOption, JsonOption, OutOption, ResumeOption, check_resume
from experiments.errors import UserError, blame


def train(
    spec: SpecPath,
    out: OutOption = None,
    resume: ResumeOption = False,
    fresh: FreshOption = False,
    check_gradients: Annotated[bool, typer.Option(help="Compare with PennyLane's parameter-shift rule first.")] = False,
    seeds: Annotated[int | None, typer.Option(min=1, help="How many trainings, each from its own seed.")] = None,
    overrides: Sets = None,
    as_json: JsonOption = False,
) -> None:
    """Fit a circuit to what its file's `train` block asks.

    With --out the training's state is kept there, and repeating the command continues, also with more steps.

    Example: `qattn circuit train experiments/configs/circuits/train_ghz.yaml --set train.steps=50`
    """
    check_resume(resume, fresh)
    if out is None and (resume or fresh):
        raise UserError("--resume, --fresh: expected --out with the folder they are about, got none")
    file = load(spec, overrides, drawn=True)
    if file.train is None:
        raise UserError(f"{spec}: nothing to train: add a `train` block, such as train: {{task: state, target: ghz}}")
    from experiments.studies.circuit_training import train as run

    keys = file.train if seeds is None else file.train.model_copy(update={"seeds": seeds})
    with blame(spec):
        read = file.static
    say(run(spec, read, keys, out, fresh, check_gradients, quiet=as_json), as_json)


def qaoa(
    source: Annotated[Path, typer.Argument(help="A study in YAML, or a graph: an edge list, GraphML, GML.")],
    out: OutOption = None,
    overrides: Sets = None,
    as_json: JsonOption = False,
) -> None:
    """Find the greatest cut of a graph by QAOA, depth by depth, and compare it with the exact one.

    Example: `qattn circuit qaoa experiments/configs/circuits/qaoa_petersen.yaml --set layers=2`
    """
    from experiments.schema.qaoa_file import QaoaFile, load_qaoa
    from experiments.studies.circuit_qaoa import study

    if source.suffix in (".yaml", ".yml"):
        file = load_qaoa(source, overrides or ())
    elif overrides:
        raise UserError(f"{source}: --set overrides keys of a YAML file, and this is a graph: name it under `graph`")
    else:
        file = QaoaFile(graph=str(source.absolute()))
    say(study(source, file, out), as_json)


def kernel(
    spec: SpecPath,
    out: OutOption = None,
    overrides: Sets = None,
    as_json: JsonOption = False,
) -> None:
    """Compare the kernel of a circuit's states with the Gaussian one on the data of its `train` block.

    Example: `qattn circuit kernel experiments/configs/circuits/classify_iris.yaml --out runs/kernel`
    """
    file = load(spec, overrides, drawn=True)
    from experiments.studies.circuit_kernel import study

    with blame(spec):
        read = file.static
    say(study(spec, read, file.train, out), as_json)


def evolve(
    source: Annotated[Path, typer.Argument(help="An evolution in YAML: `evolve` with qubits, hamiltonian, time.")],
    out: OutOption = None,
    overrides: Sets = None,
    as_json: JsonOption = False,
) -> None:
    """Compare product formulas of order 1, 2 and 4 with the exact time evolution.

    Example: `qattn circuit evolve experiments/configs/circuits/evolve_ising.yaml --set evolve.time=2.0`
    """
    from experiments.schema.evolution_file import load_evolution
    from experiments.studies.circuit_evolution import study

    say(study(source, load_evolution(source, overrides or ()), out), as_json)
