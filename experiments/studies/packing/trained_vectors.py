"""The embedding and readout matrices of a trained run, as vectors to measure: what each token is, and is told by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from classical.lstm import LSTM
from classical.transformer import Transformer
from experiments.errors import UserError
from experiments.lm import trained_models
from experiments.studies.packing.vectors import Vectors
from qattn.core.measurement import Overlap, Readout, Softmax
from qattn.lm.base import RegisterLM
from qattn.lm.mean_field import MeanFieldLM
from qattn.lm.recurrent import UnitaryRecurrentLM
from qattn.lm.unitary import ControlledLM


def matrices(folder: Path) -> dict[str, Vectors]:
    """By part: the rows of the embedding, one per token, and the vectors that the readout measures, named by tokens.

    The readout of a classical model is its unembedding (left out where tied to the embedding); of a Born readout the
    rows of the isometry, ``rank`` per token (left out where these are the axes themselves). Raises :class:`UserError`
    where the folder holds no run of this program.
    """
    trained = trained_models.load(folder)
    model, tokenizer = trained.model, trained.tokenizer
    tokens = [_shown(tokenizer.decode([k])) for k in range(tokenizer.size)]
    found = {}
    with torch.no_grad():
        for part, matrix in (("embedding", _embedding(model)), ("readout", _readout(model))):
            if matrix is not None:
                names = [tokens[row % len(tokens)] for row in range(len(matrix))]  # row r·vocab + w reads token w
                found[part] = Vectors(matrix.detach().cpu().resolve_conj().numpy(), names, f"{folder}, {part}")
    return found


def chosen(folder: Path, part: str | None) -> list[Vectors]:
    """Both matrices, or the one named. Raises :class:`UserError` where the model has none of that name."""
    found = matrices(folder)
    if part is None and found:
        return list(found.values())
    if part not in found:
        has = " and ".join(found) or "neither of them"
        raise UserError(f"{folder}: this model has no {part or 'embedding or readout'} of its own; it has {has}")
    return [found[part]]


def _shown(token: str) -> str:
    """A token on one line of a table: blanks in quotes, line ends escaped."""
    quoted = repr(token)
    return quoted[1:-1] if token.strip() else quoted


def _embedding(model: Any) -> torch.Tensor | None:
    if isinstance(model, Transformer | LSTM):
        return model.embedding.weight
    controlled = isinstance(model, ControlledLM | MeanFieldLM | UnitaryRecurrentLM) and model.control is not None
    return model.control.embedding if controlled else None


def _readout(model: Any) -> torch.Tensor | None:
    if isinstance(model, Transformer | LSTM):
        return None if model.head is None else model.head.weight
    readout = model.readout if isinstance(model, RegisterLM) else None
    if isinstance(readout, Readout):  # Born: rows of the isometry
        return readout.frame()
    if isinstance(readout, Overlap):  # with the tokens' own states
        return readout.states()
    return readout.weight.mT if isinstance(readout, Softmax) else None
