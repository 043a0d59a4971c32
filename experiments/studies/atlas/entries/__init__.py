"""The experiments of the atlas by kind: one class and one row each."""

from __future__ import annotations

from experiments.studies.atlas.entries.backpropagation import Backpropagation
from experiments.studies.atlas.entries.costs import Costs
from experiments.studies.atlas.entries.positions import Positions
from experiments.studies.atlas.entries.token_autoencoder import TokenAutoencoder
from experiments.studies.atlas.entry import Entry

ENTRIES: dict[str, type[Entry]] = {
    "backpropagation": Backpropagation,
    "costs": Costs,
    "positions": Positions,
    "token_autoencoder": TokenAutoencoder,
}
