"""``qattn packing recognise``, ``project`` and ``table``: what given lines are, and the best packings cell by cell."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from experiments.cli.options import (
    FreshOption,
    JsonOption,
    OutOption,
    ResumeOption,
    WorkersOption,
    check_resume,
    check_workers,
    print_json,
)
from experiments.errors import UserError, blame

if TYPE_CHECKING:
    from contexts.packing.measure.recognise import Recognition

VectorsArgument = Annotated[
    Path,
    typer.Argument(metavar="FILE", help=".npy, .safetensors, a run's folder, word2vec's .bin, word2vec or GloVe text."),
]
TensorOption = Annotated[str | None, typer.Option(help="Which matrix of a .safetensors file.")]


def recognise(file: VectorsArgument, tensor: TensorOption = None, as_json: JsonOption = False) -> None:
    """Say what lines are: frames, designs, unbiased bases, and a known construction if an isometry onto it is found.

    Example: `qattn packing optimize --d 7 --n 28 --out a.npy && qattn packing recognise a.npy`
    """
    from contexts.packing.measure import recognise as recognition
    from experiments.studies.packing.vector_files import load_vectors

    vectors = load_vectors(file, tensor)
    with blame(vectors.source):
        found = recognition.recognise(vectors.matrix)
    if as_json:
        print_json(asdict(found))
    else:
        _show(found)


def _show(found: Recognition) -> None:
    print(f"{found.n:,} lines in {'R' if found.field == 'real' else 'C'}^{found.d}")
    for angle in found.angles[:8]:
        print(f"|cos| = {angle.value:.12f}  {angle.pairs:>8,} pairs  {angle.exact or 'no short exact form'}")
    if len(found.angles) > 8:
        print(f"and {len(found.angles) - 8} more values")
    for name in found.classes:
        print(f"by definition: {name}")
    if found.known is not None:
        print(f"up to an isometry: {found.known}; all lines within {found.residual:.1e}")
    elif not found.decided:
        print("not decided: a construction has the same angles, but no isometry was found")
    elif not found.classes:
        print("not recognised")


def table(
    d: Annotated[str, typer.Option(metavar="RANGE", help="Dimensions: 3 or 3-5.")],
    n: Annotated[str, typer.Option(metavar="RANGE", help="Numbers of lines: 9 or 6-20.")],
    field: Annotated[Literal["real", "complex"], typer.Option(help="Vectors of R^d or C^d.")] = "complex",
    seconds: Annotated[float, typer.Option(help="CPU time per cell at most.")] = 60.0,
    rounds: Annotated[int | None, typer.Option(help="Rounds per cell at most: then the seed alone decides.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random number.")] = 0,
    out: OutOption = None,
    resume: ResumeOption = False,
    fresh: FreshOption = False,
    workers: WorkersOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fill a table with the best packings at hand: vectors, certificates, proved bounds, dates; repeating it continues.

    Example: `qattn packing table --d 3 --n 6-8 --seconds 2 --out runs/packing_table`
    """
    from experiments.studies.packing import packing_table

    check_resume(resume, fresh)
    cells = packing_table.cells(field, _numbers("--d", d), _numbers("--n", n))
    place = out or Path("runs", "packing_table")
    budget: dict[str, Any] = {"seconds": seconds, "rounds": rounds, "seed": seed}
    result = packing_table.run_table(cells, place, fresh=fresh, workers=check_workers(workers), **budget)
    if as_json:
        print_json(result)
    else:
        packing_table.show_table(result)


def _numbers(option: str, text: str) -> range:
    """A range like 3-5, or one number; raises :class:`UserError` for another text."""
    first, _, last = text.partition("-")
    last = last or first
    if not (first.isascii() and first.isdigit() and last.isascii() and last.isdigit()) or int(first) > int(last):
        raise UserError(f"{option} {text}: expected a number or a range like 3-5")
    return range(int(first), int(last) + 1)


def project(
    file: VectorsArgument,
    eps: Annotated[float, typer.Option(help="Squared distances may change by this share, in (0, 1).")],
    tensor: TensorOption = None,
    kind: Annotated[
        Literal["gaussian", "sparse", "hadamard"], typer.Option(help="How the random projection is made.")
    ] = "gaussian",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the projection and of the pairs looked at.")] = 0,
    figure: Annotated[Path | None, typer.Option(help="Draw the histogram of distortions (.svg or .png).")] = None,
    as_json: JsonOption = False,
) -> None:
    """Project vectors at random: the dimension that Johnson and Lindenstrauss's lemma asks for, and the one needed.

    Example: `qattn packing optimize --d 8 --n 40 --out a.npy && qattn packing project a.npy --eps 0.5`
    """
    from experiments.studies.packing.projection_study import project_file, show_projection
    from experiments.studies.packing.vector_files import load_vectors

    if not 0 < eps < 1:
        raise UserError(f"--eps {eps:g}: expected a number between 0 and 1")
    if figure is not None and figure.suffix not in (".svg", ".png"):
        raise UserError(f"--figure {figure}: expected a name that ends in .svg or .png")
    vectors = load_vectors(file, tensor)
    with blame(vectors.source):
        result = project_file(vectors, eps, kind, seed, figure)
    if as_json:
        print_json(result)
    else:
        show_projection(result)
