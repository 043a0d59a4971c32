"""The experiments of the atlas by kind: one class and one row each."""

from __future__ import annotations

from experiments.studies.atlas.entries.algorithmic_information import AlgorithmicInformation
from experiments.studies.atlas.entries.backpropagation import Backpropagation
from experiments.studies.atlas.entries.costs import Costs
from experiments.studies.atlas.entries.hallucination import Hallucination
from experiments.studies.atlas.entries.interference import Interference
from experiments.studies.atlas.entries.internal_observers import InternalObservers
from experiments.studies.atlas.entries.intertwined_contexts import IntertwinedContexts
from experiments.studies.atlas.entries.lag_system import LagSystem
from experiments.studies.atlas.entries.likelihood import Likelihood
from experiments.studies.atlas.entries.lottery_tickets import LotteryTickets
from experiments.studies.atlas.entries.no_cloning import NoCloning
from experiments.studies.atlas.entries.nondeterminism import Nondeterminism
from experiments.studies.atlas.entries.positions import Positions
from experiments.studies.atlas.entries.quasi_dimensions import QuasiDimensions
from experiments.studies.atlas.entries.residual_stream import ResidualStream
from experiments.studies.atlas.entries.robustness import Robustness
from experiments.studies.atlas.entries.rotation import Rotation
from experiments.studies.atlas.entries.scaled_scores import ScaledScores
from experiments.studies.atlas.entries.softmax_as_born import SoftmaxAsBorn
from experiments.studies.atlas.entries.softmax_over_queries import SoftmaxOverQueries
from experiments.studies.atlas.entries.temperature import Temperature
from experiments.studies.atlas.entries.token_autoencoder import TokenAutoencoder
from experiments.studies.atlas.entries.universal_approximation import UniversalApproximation
from experiments.studies.atlas.entry import Entry

ENTRIES: dict[str, type[Entry]] = {
    "algorithmic_information": AlgorithmicInformation,
    "backpropagation": Backpropagation,
    "costs": Costs,
    "interference": Interference,
    "internal_observers": InternalObservers,
    "lottery_tickets": LotteryTickets,
    "nondeterminism": Nondeterminism,
    "positions": Positions,
    "robustness": Robustness,
    "rotation": Rotation,
    "temperature": Temperature,
    "token_autoencoder": TokenAutoencoder,
    "hallucination": Hallucination,
    "intertwined_contexts": IntertwinedContexts,
    "lag_system": LagSystem,
    "likelihood": Likelihood,
    "no_cloning": NoCloning,
    "quasi_dimensions": QuasiDimensions,
    "residual_stream": ResidualStream,
    "scaled_scores": ScaledScores,
    "softmax_as_born": SoftmaxAsBorn,
    "softmax_over_queries": SoftmaxOverQueries,
    "universal_approximation": UniversalApproximation,
}
