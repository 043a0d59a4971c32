"""``qattn packing recognise``: verbs that take a file of vectors and say what they are."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.cli.options import JsonOption, print_json
from experiments.errors import blame

if TYPE_CHECKING:
    from contexts.packing.measure.recognise import Recognition

VectorsArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help=".npy, .safetensors, a run's folder, word2vec or GloVe text.")
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
