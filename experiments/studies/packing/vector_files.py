"""Vectors from files: ``.npy``, ``.safetensors``, a run's folder, word2vec's text and binary, GloVe. Never a pickle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.errors import UserError
from experiments.studies.packing.saved_search import reason
from experiments.studies.packing.text_vectors import read_text
from experiments.studies.packing.vectors import Vectors
from experiments.studies.packing.word2vec_binary import read_word2vec_binary

MODEL = "model.safetensors"


def load_vectors(path: str | Path, tensor: str | None = None, allow_zero: bool = False) -> Vectors:
    """Read a matrix of vectors. ``tensor`` names one of a ``.safetensors`` file (or of a run's folder).

    Lines of text that are zero are refused unless ``allow_zero``. Raises :class:`UserError` for a missing file, a
    tensor that is absent or not named among several, a text embedding whose lines differ in dimension (with the line),
    or a file that holds no matrix of numbers.
    """
    path = Path(path)
    if path.is_dir():
        if not (path / MODEL).is_file():
            raise UserError(f"{path}: expected a run's folder with {MODEL} in it, or a file of vectors")
        path = path / MODEL
    if not path.exists():
        raise UserError(
            f"{path}: no such file; expected .npy, .safetensors, .bin, word2vec or GloVe text, or a run's folder"
        )
    if tensor is not None and path.suffix != ".safetensors":
        raise UserError(f"--tensor {tensor}: only .safetensors files and run folders have named tensors")
    if path.suffix == ".npy":
        return _npy(path)
    if path.suffix == ".safetensors":
        return _safetensors(path, tensor)
    if path.suffix == ".bin":
        return read_word2vec_binary(path, allow_zero)
    if path.suffix in (".npz", ".pt", ".pth", ".pkl", ".pickle"):
        raise UserError(f"{path}: cannot read {path.suffix} files; save the matrix with numpy.save as .npy")
    return read_text(path, allow_zero)


def load_all(path: str | Path, tensor: str | None = None, allow_zero: bool = False) -> list[Vectors]:
    """As :func:`load_vectors`, but all there is: of a run both matrices, of an experiment's folder those of its runs.

    In these, ``tensor`` may be "embedding" or "readout", or the name of a tensor of a run.
    """
    path = Path(path)
    runs = [path] if (path / MODEL).is_file() else sorted(file.parent for file in path.glob(f"runs/*/{MODEL}"))
    if not runs or not all(_is_ours(run / MODEL) for run in runs) or tensor not in (None, "embedding", "readout"):
        return [load_vectors(path, tensor, allow_zero)]
    from experiments.studies.packing.trained_vectors import chosen

    return [vectors for run in runs for vectors in chosen(run, tensor)]


def _is_ours(path: Path) -> bool:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            return "qattn" in (file.metadata() or {})
    except SafetensorError:
        return False


def _npy(path: Path) -> Vectors:
    try:
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError, MemoryError) as error:
        raise UserError(f"{path}: not a .npy file of numbers ({reason(error)})") from error
    return Vectors(_matrix(matrix, path), None, str(path))


def _safetensors(path: Path, tensor: str | None) -> Vectors:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
            matrices = [name for name, shape in shapes.items() if len(shape) == 2 and min(shape) > 1]
            if tensor is None and len(matrices) == 1:
                tensor = matrices[0]
            listed = ", ".join(f"{name} {'x'.join(map(str, shapes[name]))}" for name in matrices) or "none"
            if tensor is None:
                raise UserError(f"{path}: name a matrix with --tensor NAME; there are {listed}")
            if tensor not in shapes:
                raise UserError(f"{path}: no tensor '{tensor}'; its matrices are {listed}")
            value = file.get_tensor(tensor)
    except SafetensorError as error:
        raise UserError(f"{path}: not a safetensors file ({error})") from error
    array = (value.float() if value.is_floating_point() else value).numpy()  # bf16 has no numpy type
    return Vectors(_matrix(array, f"{path}, tensor {tensor}"), None, f"{path}:{tensor}")


def _matrix(array: Any, source: object) -> np.ndarray:
    from contexts.packing.measure.gram import check_matrix
    from experiments.errors import blame

    with blame(source):
        check_matrix(array)
    return array
