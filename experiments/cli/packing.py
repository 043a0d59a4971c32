"""``qattn packing``: how many almost independent directions fit; find packings, measure vectors, draw the capacity."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.cli import packing_vectors
from experiments.cli.options import (
    FreshOption,
    JsonOption,
    OutFileOption,
    OutOption,
    ResumeOption,
    WorkersOption,
    check_resume,
    check_workers,
)
from experiments.errors import UserError, blame

packing = typer.Typer(
    help="Quasi-orthogonal packings: bounds, optimised packings, measured embeddings.", no_args_is_help=True
)


packing.command()(packing_vectors.recognise)
packing.command()(packing_vectors.table)
packing.command()(packing_vectors.project)


class FieldName(StrEnum):
    """The numbers that vectors are made of."""

    real = "real"
    complex = "complex"


@packing.command()
def optimize(
    d: Annotated[int, typer.Option(help="Dimension d of the space.")],
    n: Annotated[int, typer.Option(help="Number of lines (unit vectors up to sign or phase).")],
    field: Annotated[FieldName, typer.Option(help="Real (R^d) or complex (C^d) vectors.")] = FieldName.real,
    seconds: Annotated[float, typer.Option(help="CPU time at most; a record or bound met ends it.")] = 60.0,
    rounds: Annotated[
        int | None, typer.Option(help="Stop after so many rounds: the result then depends on the seed alone.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of every random number (0, or the saved search's).", show_default=False)
    ] = None,
    out: OutFileOption = None,
    resume: ResumeOption = False,
    beat_record: Annotated[bool, typer.Option("--beat-record", help="Do not stop at the shipped record.")] = False,
    constructions: Annotated[bool, typer.Option(help="Look among the explicit constructions first.")] = True,
    as_json: JsonOption = False,
) -> None:
    """Find n lines of small coherence; print it beside the best bound and the record; save vectors and certificate.

    --out is a .npy file (by default in runs/packings), with the certificate and the search's state beside it;
    --resume continues from that state.

    Example: `qattn packing optimize --d 4 --n 13 --field complex`
    """
    from experiments.studies.packing.search_run import SearchRequest, run_search, show_search

    _check_seed(seed)
    out = out or Path("runs", "packings", f"{field.value}_d{d}_n{n}.npy")
    request = SearchRequest(d, n, field.value, out, seconds, rounds, seed, resume, beat_record, constructions)
    result = run_search(request, quiet=as_json)
    if as_json:
        print(json.dumps(result, allow_nan=False))
    else:
        show_search(result)


@packing.command()
def measure(
    file: packing_vectors.VectorsArgument,
    tensor: Annotated[
        str | None,
        typer.Option(help="Which matrix of a .safetensors file; of a run: embedding, readout (both if left out)."),
    ] = None,
    columns: Annotated[
        bool, typer.Option("--columns", help="Measure the columns: decoders are stored as d x n.")
    ] = False,
    skip_zero: Annotated[
        bool, typer.Option("--skip-zero", help="Leave out rows that are zero (padding, dead features); count them.")
    ] = False,
    top: Annotated[int, typer.Option(help="How many nearest pairs to list.")] = 10,
    eps: Annotated[list[float] | None, typer.Option(help="Tolerance for the effective capacity; repeatable.")] = None,
    variants: Annotated[bool, typer.Option(help="Also mean-centred and all-but-the-top.")] = True,
    seed: Annotated[int, typer.Option(help="Seed of the sample of pairs, where they are many.")] = 0,
    figure: Annotated[
        Path | None, typer.Option(help="Draw the distribution of |cos| against the Beta law (.svg or .png).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Exact coherence of given vectors, its distribution and nearest pairs, beside random vectors of the same n and d.

    Example: `qattn packing optimize --d 3 --n 6 --out six.npy && qattn packing measure six.npy`
    """
    from contexts.packing.validation import check_epsilon
    from experiments.studies.packing.embeddings import describe
    from experiments.studies.packing.saved_search import check_writable
    from experiments.studies.packing.vector_files import load_all

    if top < 1:
        raise UserError(f"--top: expected at least 1, got {top}")
    _check_seed(seed)
    for value in eps or ():
        with blame("--eps"):
            check_epsilon(value)
    if figure is not None and figure.suffix not in (".svg", ".png"):
        raise UserError(f"--figure {figure}: expected a name that ends in .svg or .png")
    tables = load_all(file, tensor, skip_zero)
    if columns:
        tables = [table.columns() for table in tables]
    progress = _percent if not as_json and sys.stderr.isatty() else lambda done: None
    if figure is not None:
        if len(tables) > 1:
            raise UserError(f"--figure {figure}: {file} holds {len(tables)} matrices; name one with --tensor")
        check_writable(figure.parent, f"--figure {figure}")

    results = []
    for given in tables:
        with blame(given.source):
            vectors, skipped = given.without_zero_rows() if skip_zero else (given, 0)
            result, samples = describe(vectors, top, tuple(eps or ()), variants, seed, progress)
        results.append(result | {"skipped_zero_rows": skipped})
        if not as_json:
            _measured(results[-1])
        if figure is not None:
            _draw_cosines(figure, samples, result, file.name)
    if as_json:
        print(json.dumps(results[0] if len(results) == 1 else {"matrices": results}, allow_nan=False))


@packing.command()
def capacity(
    config: Annotated[str | None, typer.Option(help="A study from a YAML file: curves, packings, figures.")] = None,
    d: Annotated[int | None, typer.Option(help="Dimension, for one point instead of a study.")] = None,
    eps: Annotated[float | None, typer.Option(help="Tolerated |⟨u,v⟩|, in (0, 1].")] = None,
    field: Annotated[FieldName, typer.Option(help="Real (R^d) or complex (C^d) vectors.")] = FieldName.real,
    vectors: Annotated[list[Path] | None, typer.Option(help="Embeddings to add to a study; repeatable.")] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="File for the linear programme's proof at this point (.json), d up to 64.")
    ] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw constructed against proved for every ε at --d.")] = False,
    overrides: Annotated[list[str] | None, typer.Option("--set", help="Change a key: packing.seconds=1.")] = None,
    out: OutOption = None,
    resume: ResumeOption = False,
    fresh: FreshOption = False,
    workers: WorkersOption = None,
    as_json: JsonOption = False,
) -> None:
    """How many vectors fit: proved bounds from both sides and the largest explicit packing, at a point or as a study.

    Repeating a study's command continues it: points that are done are kept.

    Example: `qattn packing capacity --d 8 --eps 0.5 --field real`, `qattn packing capacity --d 768 --plot`
    """
    if certificate is not None and (plot or config is not None):
        raise UserError(f"--certificate {certificate}: expected --d and --eps of one point beside it")
    if plot:
        _plot(d, out, as_json, excluded=config is not None or eps is not None)
        return
    if config is None:
        if d is None or eps is None:
            got = "neither" if d is eps else "--eps alone" if d is None else "--d alone"
            raise UserError(f"expected --d and --eps for one point, or --config FILE for the study, got {got}")
        from experiments.studies.packing.capacity_point import capacity_point, save_certificate, show_point

        point = capacity_point(d, eps, field.value)
        if certificate is not None:
            save_certificate(d, eps, field.value, certificate)
        if as_json:
            print(json.dumps(point, allow_nan=False))
        else:
            show_point(point)
        return
    if d is not None or eps is not None:
        raise UserError("--config and --d/--eps exclude each other: a study has its own dimensions and tolerances")
    from experiments.schema.packing_file import load_packing
    from experiments.studies.packing.study import run

    check_resume(resume, fresh)
    path = _config_path(config)
    settings = load_packing(path, overrides or ())
    side_by_side = check_workers(workers)
    out = out or Path("runs", path.stem)
    result = run(settings, out, tuple(vectors or ()), fresh=fresh, quiet=as_json, workers=side_by_side)
    if as_json:
        print(json.dumps(result, allow_nan=False))
    else:
        print(f"{result['report']}")


def _percent(done: float) -> None:
    print(f"{100 * done:3.0f} %", end="\r", file=sys.stderr, flush=True)


def _draw_cosines(figure: Path, samples: dict[str, Any], result: dict[str, Any], title: str) -> None:
    from experiments.report.canvas import png, svg
    from experiments.runs.atomic_files import write_bytes
    from experiments.studies.packing.packing_figures import cosines

    drawn = cosines(samples, result["d"], result["field"], title)
    write_bytes(figure, svg(drawn) if figure.suffix == ".svg" else png(drawn))


def _check_seed(seed: int | None) -> None:
    if seed is not None and seed < 0:
        raise UserError(f"--seed: expected a number of at least 0, got {seed}")


def _config_path(config: str) -> Path:
    from experiments.schema import CONFIGS

    shipped = CONFIGS / f"{config}.yaml"
    return shipped if not Path(config).exists() and shipped.exists() else Path(config)


def _plot(d: int | None, out: Path | None, as_json: bool, excluded: bool) -> None:
    from experiments.studies.packing.capacity_plot import plot_capacity, show_plot

    if d is None or excluded:
        raise UserError("--plot: expected --d alone beside it, for all tolerances from 1/d to 1/2 in both fields")
    result = plot_capacity(d, out or Path("runs", "packings"))
    if as_json:
        print(json.dumps(result, allow_nan=False))
    else:
        show_plot(result)


def _measured(result: dict[str, Any]) -> None:
    null = result["null"]
    print(f"{result['n']:,} vectors in {'R' if result['field'] == 'real' else 'C'}^{result['d']} ({result['source']})")
    if result["skipped_zero_rows"]:
        print(f"{result['skipped_zero_rows']:,} rows that are zero are left out")
    if result["n"] < result["d"]:
        print("fewer vectors than dimensions: --columns measures the columns instead")
    print(f"{'':22}{'measured':>12}{'random':>12}")
    for name, value, other in (
        ("coherence", result["coherence"], null["coherence"]),
        ("mean nearest", result["mean_nearest"], null["mean_nearest"]),
        *((f"|cos| at {float(q):.2%}", v, null["quantiles"][q]) for q, v in result["quantiles"].items()),
        ("effective dimension", result["effective_dimension"], null["effective_dimension"]),
    ):
        print(f"{name:22}{value:12.6f}{other:12.6f}")
    print(f"no {result['n']:,} vectors of this dimension have less than {result['bound']:.6f} ({result['bound_name']})")
    for name, variant in result["variants"].items():
        print(name)
        for key, title in (("coherence", "coherence"), ("mean_nearest", "mean nearest"),
                           ("effective_dimension", "effective dimension")):  # fmt: skip
            print(f"  {title:20}{variant[key]:12.6f}{variant['null'][key]:12.6f}")
    for row in result["capacity"]:
        print(
            f"eps = {row['eps']:g}: {row['kept']:,} of the first {row['of']:,} vectors are eps-coherent "
            f"(greedy; of random ones {row['null_kept']:,}); at most {row['upper_text']} could be"
        )
    if result["duplicates"]:
        print(f"{result['duplicates']:,} pairs are the same line (|cos| > 1 - 1e-6)")
    for pair in result["nearest_pairs"]:
        print(f"  {pair['coherence']:.9f}  {pair['names'][0]} | {pair['names'][1]}  {pair['kind']}")
    if result["search_cpu_seconds"] > 1:  # below, the clock says nothing
        print(
            f"{result['cpu_seconds']:.1f} CPU-s in all; over all pairs {result['gflops']:.1f} GFLOP per CPU-second, "
            f"{100 * result['fraction_of_peak']:.0f} % of this machine's bare matrix product"
        )
