"""Vectors from files: ``.npy``, ``.safetensors`` or a trained run's folder, word2vec and GloVe text. Never a pickle."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.errors import UserError
from experiments.studies.packing.saved_search import reason

MODEL = "model.safetensors"


class Vectors(NamedTuple):
    """An (n, d) matrix, and the name of each row where the file gives one."""

    matrix: np.ndarray
    names: list[str] | None
    source: str

    def name(self, row: int) -> str:
        return self.names[row] if self.names else str(row)


def load_vectors(path: str | Path, tensor: str | None = None) -> Vectors:
    """Read a matrix of vectors. ``tensor`` names one of a ``.safetensors`` file (or of a run's folder).

    Raises :class:`UserError` for a missing file, a tensor that is absent or not named among several, a text embedding
    whose lines differ in dimension (with the line), or a file that holds no matrix of numbers.
    """
    path = Path(path)
    if path.is_dir():
        if not (path / MODEL).is_file():
            raise UserError(f"{path}: expected a run's folder with {MODEL} in it, or a file of vectors")
        path = path / MODEL
    if not path.exists():
        raise UserError(f"{path}: no such file; expected .npy, .safetensors, word2vec or GloVe text, or a run's folder")
    if tensor is not None and path.suffix != ".safetensors":
        raise UserError(f"--tensor {tensor}: only .safetensors files and run folders have named tensors")
    if path.suffix == ".npy":
        return _npy(path)
    if path.suffix == ".safetensors":
        return _safetensors(path, tensor)
    if path.suffix in (".npz", ".pt", ".pth", ".bin", ".pkl", ".pickle"):
        raise UserError(f"{path}: cannot read {path.suffix} files; save the matrix with numpy.save as .npy")
    return _text(path)


def load_all(path: str | Path, tensor: str | None = None) -> list[Vectors]:
    """As :func:`load_vectors`, but all there is: of a run both matrices, of an experiment's folder those of its runs.

    In these, ``tensor`` may be "embedding" or "readout", or the name of a tensor of a run.
    """
    path = Path(path)
    runs = [path] if (path / MODEL).is_file() else sorted(file.parent for file in path.glob(f"runs/*/{MODEL}"))
    if not runs or not all(_is_ours(run / MODEL) for run in runs) or tensor not in (None, "embedding", "readout"):
        return [load_vectors(path, tensor)]
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


def _text(path: Path) -> Vectors:
    """word2vec's text (a first line "n d") or GloVe's (none): a token and d numbers a line; tokens may hold spaces."""
    names: list[str] = []
    rows = np.empty((0, 0), np.float32)
    d = announced = None
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                parts = line.rstrip().replace("\t", " ").split(" ")
                if number == 1 and len(parts) == 2 and all(part.isdigit() for part in parts):
                    announced, d = int(parts[0]), int(parts[1])
                    continue
                if not line.strip():
                    continue
                if d is None:
                    d = len(parts) - 1
                if d < 1:
                    raise UserError(f"{path}: line {number}: expected a token and numbers, got {line.strip()[:40]!r}")
                if len(names) == len(rows):  # grown in place: a list of rows would need the memory twice
                    rows.resize((max(1024, 2 * len(rows)), d), refcheck=False)
                rows[len(names)] = _numbers(parts, d, path, number)
                names.append(" ".join(parts[: len(parts) - d]))
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not a text embedding in UTF-8, nor .npy or .safetensors by its name") from error
    if not names:
        raise UserError(f"{path}: holds no vectors")
    if announced is not None and announced != len(names):
        raise UserError(f"{path}: line 1 announces {announced} vectors, the file holds {len(names)}")
    return Vectors(rows[: len(names)], names, str(path))


def _numbers(parts: list[str], d: int, path: Path, number: int) -> np.ndarray:
    if len(parts) < d + 1:
        raise UserError(f"{path}: line {number}: expected {d} numbers as in the lines before, got {len(parts) - 1}")
    try:
        with np.errstate(over="ignore"):  # beyond float32: an infinity, refused below
            values = np.array(parts[len(parts) - d :], dtype=np.float32)
    except ValueError as error:
        culprit = next(part for part in parts[len(parts) - d :] if not _is_number(part))
        raise UserError(f"{path}: line {number}: expected {d} numbers, got {culprit[:20]!r}") from error
    # a longer line is a token with spaces in it, unless what would be the token's tail are numbers too
    if len(parts) > d + 1 and all(_is_number(part) for part in parts[1:]):
        raise UserError(f"{path}: line {number}: expected {d} numbers as in the lines before, got {len(parts) - 1}")
    token = " ".join(parts[: len(parts) - d])[:40]
    if not np.isfinite(values).all():
        raise UserError(f"{path}: line {number}: the vector of {token!r} holds a NaN or an infinity; remove the line")
    if not values.any():
        raise UserError(f"{path}: line {number}: the vector of {token!r} is zero, without direction; remove the line")
    return values


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _matrix(array: Any, source: object) -> np.ndarray:
    from contexts.packing.measure.gram import check_matrix
    from experiments.errors import blame

    with blame(source):
        check_matrix(array)
    return array
