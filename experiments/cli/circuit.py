"""``qattn circuit``: simulate, train, analyse, draw, export and compile parametrized quantum circuits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.cli.circuit_input import Sets, SpecPath, load, load_static, say
from experiments.cli.circuit_learning import evolve, kernel, qaoa, train
from experiments.cli.options import JsonOption
from experiments.errors import UserError, blame

if TYPE_CHECKING:
    pass

circuit = typer.Typer(name="circuit", help="Parametrized quantum circuits.", no_args_is_help=True)
for verb in (train, qaoa, kernel, evolve):
    circuit.command()(verb)


@circuit.command()
def simulate(
    spec: SpecPath,
    device: Annotated[str | None, typer.Option(help="fast, or a PennyLane device such as default.qubit.")] = None,
    shots: Annotated[int | None, typer.Option(min=1, help="Sample instead of computing exactly.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed for sampling shots.")] = None,
    dtype: Annotated[str, typer.Option(help="Precision, float32 or float64.")] = "float64",
    overrides: Sets = None,
    as_json: JsonOption = False,
) -> None:
    """Run a circuit and read its measurement.

    Example: `qattn circuit simulate experiments/configs/circuits/ghz.yaml --device default.qubit --json`
    """
    read = load(spec, overrides).spec
    from qattn.circuits.simulate.dynamic import simulate_any

    with blame(spec):
        result = simulate_any(read, device, shots, seed, dtype)
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
    for key in ("energy", "variance", "standard_error", "ground_energy"):
        if result.get(key) is not None:
            print(f"{key}  {result[key]:+.8f}")
    for bits, count in result.get("counts", {}).items():
        print(f"{bits}  {count}")
    for values, share in result.get("outcomes", {}).items():
        print(f"{' '.join(result['bits'])} = {' '.join(values)}  {share:.6f}")
    if "kept" in result:
        print(f"kept by post-selection  {result['kept']:.6f}")
    for index, (re, im) in enumerate(result.get("state", [])):
        print(f"{index:0{result['qubits']}b}  {re:+.6f} {im:+.6f}i")


@circuit.command("list")
def listing(as_json: JsonOption = False) -> None:
    """The ansätze, gates and devices there are.

    Example: `qattn circuit list`
    """
    from experiments.studies.circuits import usable_ansatze
    from qattn.circuits.ir.circuit import CHANNELS
    from qattn.circuits.ir.gates import GATES, VARIADIC
    from qattn.circuits.simulate.pennylane_device import known_devices

    devices, known = ["fast", *known_devices()], usable_ansatze()
    if as_json:
        ansaetze = {
            name: {"source": a.source, "parameters_4_qubits_1_layer": a.n_params(4, 1)} for name, a in known.items()
        }
        gates = [*GATES, *VARIADIC]
        say({"ansaetze": ansaetze, "gates": gates, "channels": list(CHANNELS), "devices": devices}, True)
        return
    for name, a in known.items():
        print(f"{name:26s} {a.n_params(4, 1):4d} parameters (4 qubits, 1 layer)  {a.source}")
    print("gates:", ", ".join((*GATES, *VARIADIC)))
    print("noise channels:", ", ".join(CHANNELS))
    print("devices:", ", ".join(devices))


@circuit.command()
def analyse(
    spec: SpecPath,
    measures: Annotated[
        str,
        typer.Option(
            help="Any of expressibility, entangling, frame, gradients, fisher, entropy, cone, slice, noise,"
            " or all that apply."
        ),
    ] = "expressibility,entangling,frame",
    samples: Annotated[int, typer.Option(min=2, help="Pairs of states, or states.")] = 5000,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1)] = 0,
    wires: Annotated[str, typer.Option(help="Wires of the cut and the light cone, such as 0,1.")] = "0",
    strengths: Annotated[str, typer.Option(help="Depolarising strengths of `noise`.")] = "0,0.001,0.01,0.1",
    overrides: Sets = None,
    as_json: JsonOption = False,
) -> None:
    """Measure what a circuit can reach and how it answers to its parameters.

    Example: `qattn circuit analyse experiments/configs/circuits/strongly_entangling.yaml --measures
    expressibility,entangling`
    """
    read = load_static(spec, overrides)
    from experiments.studies.circuits import MEASURES, analysis, numbers, whole_numbers

    wanted = [m.strip() for m in measures.split(",")]
    for name in wanted:
        if name not in MEASURES and wanted != ["all"]:
            raise UserError(f"--measures: expected {', '.join(MEASURES)} or all, got {name!r}")
    cut = whole_numbers(wires, "--wires")
    with blame(spec):
        result = analysis(read, wanted, samples, seed, cut, numbers(strengths, "--strengths"))
    say(result, as_json)


@circuit.command()
def draw(
    spec: SpecPath,
    out: Annotated[Path | None, typer.Option(help="A picture (.svg, .png, .pdf) instead of text.")] = None,
    overrides: Sets = None,
    as_json: JsonOption = False,
) -> None:
    """Draw a circuit as text or as a picture; wire 0, the most significant bit, on top.

    Example: `qattn circuit draw experiments/configs/circuits/ghz.yaml`
    """
    read = load(spec, overrides).spec
    from qattn.circuits.compile import draw as pictures

    if out is None:
        with blame(spec):
            drawn = pictures.text(read.circuit, measurement=read.measurement)
        say({"text": drawn, "file": None}, True) if as_json else print(drawn)
        return
    if out.suffix not in (".svg", ".png", ".pdf"):
        raise UserError(f"--out: expected a file ending in .svg, .png or .pdf, got {str(out)!r}")
    from experiments.runs.atomic_files import write_with

    with blame(spec):
        figure = pictures.figure(read.circuit, measurement=read.measurement)
    write_with(out, lambda path: figure.savefig(path))
    say({"text": None, "file": str(out)}, True) if as_json else print(out)


@circuit.command()
def export(
    spec: SpecPath,
    to: Annotated[str, typer.Option(help="qasm2, qasm3 or pennylane.")] = "qasm3",
    out: Annotated[Path | None, typer.Option(help="A file instead of the terminal.")] = None,
    overrides: Sets = None,
    as_json: JsonOption = False,
) -> None:
    """Write a circuit, with its parameters as numbers, for other tools.

    Example: `qattn circuit export experiments/configs/circuits/ghz.yaml --to qasm2`
    """
    read = load(spec, overrides).spec
    from experiments.studies.circuits import exported
    from qattn.circuits.compile.export import FORMATS

    if to not in FORMATS:
        raise UserError(f"--to: expected {', '.join(FORMATS)}, got {to!r}")
    with blame(spec):
        text = exported(read, to)
    if out is not None:
        from experiments.runs.atomic_files import write_text

        write_text(out, text)
    if as_json:
        say({"format": to, "text": text, "file": None if out is None else str(out)}, True)
    else:
        print(text if out is None else out)


@circuit.command("import")
def import_(
    source: Annotated[Path, typer.Argument(help="A circuit in OpenQASM 2 or 3.")],
    out: Annotated[Path | None, typer.Option(help="A .yaml or .json file instead of the terminal.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Read an OpenQASM file and write it as a circuit file; what is measured at its end becomes the measurement.

    Example: `qattn circuit import bell.qasm --out bell.yaml`
    """
    from experiments.studies.circuits import circuit_text, imported
    from qattn.circuits.ir.spec_writer import to_dict

    if out is not None and out.suffix not in (".yaml", ".yml", ".json"):
        raise UserError(f"--out: expected a file ending in .yaml or .json, got {str(out)!r}")
    read = imported(source, drawn=True).spec
    data = to_dict(read)
    if read.given is not None and not read.given.all():
        del data["parameters"]  # the file declares them as inputs and knows no values
    text = json.dumps(data) + "\n" if out is not None and out.suffix == ".json" else circuit_text(data)
    if out is not None:
        from experiments.runs.atomic_files import write_text

        write_text(out, text)
    if as_json:
        say({**read.circuit.resources(), "circuit": data, "file": None if out is None else str(out)}, True)
    else:
        print(text if out is None else out, end="" if out is None else "\n")


@circuit.command("compile")
def compiled(
    source: Annotated[Path, typer.Argument(help="A matrix, phases or permutation (.npy), or a run's folder.")],
    prompt: Annotated[str, typer.Option(help="The text a trained model is compiled for.")] = "\n",
    how: Annotated[
        str, typer.Option(help="Method for a matrix from a file: givens, dense, diagonal or permutation.")
    ] = "givens",
    run_seed: Annotated[
        int | None, typer.Option(help="Which seed's model of an experiment; by default the smallest.")
    ] = None,
    shots: Annotated[int | None, typer.Option(min=1, help="Also estimate the next token from shots.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed for sampling shots.")] = 0,
    strengths: Annotated[str | None, typer.Option(help="Depolarising strengths to try, such as 0,0.001,0.01.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write OpenQASM 3 of the elementary circuit.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Turn a matrix, or a trained unitary model and a text, into gates; report counts, depth and a T-count estimate.

    Example: `qattn circuit compile rotation.npy --how givens --out rotation.qasm`
    """
    from experiments.studies.circuit_compile import compile_file, compile_run
    from experiments.studies.circuits import numbers

    levels = numbers(strengths, "--strengths") if strengths else []
    if source.is_dir():
        result = compile_run(source, prompt, run_seed, shots, seed, levels, out)
    else:
        result = compile_file(source, how, out)
    say(result, as_json)


@circuit.command("run-model")
def run_model(
    run: Annotated[Path, typer.Argument(help="An experiment's folder, or one run's: models of kind circuit, unitary.")],
    device: Annotated[str, typer.Option(help="fast, or a PennyLane device: default.qubit, lightning.qubit ...")] = (
        "default.qubit"
    ),
    noise: Annotated[
        float, typer.Option(help="Depolarising strength on every wire of every gate, on default.mixed.")
    ] = 0.0,
    shots: Annotated[int | None, typer.Option(help="Estimate each distribution from so many measurements.")] = None,
    positions: Annotated[int, typer.Option(min=1, help="Places of the validation split to run, spread evenly.")] = 50,
    seed: Annotated[int, typer.Option(min=0, max=2**31, help="Seed for sampling shots.")] = 0,
    run_seed: Annotated[int | None, typer.Option(help="Which seed's models; by default the smallest.")] = None,
    prompt: Annotated[
        str | None, typer.Option(help="Write a continuation of this instead, one shot per token.")
    ] = None,
    tokens: Annotated[int, typer.Option(min=1, help="Length of the continuation.")] = 40,
    as_json: JsonOption = False,
) -> None:
    """Run trained models, position by position, as circuits on a device with shots and noise, beside their own loss.

    Example: `qattn circuit run-model runs/ladder --device default.mixed --noise 0.001 --shots 1000 --positions 20`
    """
    from experiments.studies.device_evaluation import run_models, write_text

    if prompt is None:
        say(run_models(run, run_seed, device, shots, noise, positions, seed), as_json)
    else:
        texts = write_text(run, run_seed, prompt, tokens, device, noise, seed)
        say({"prompt": prompt, "device": device, "noise": noise, "continuations": texts}, as_json)
