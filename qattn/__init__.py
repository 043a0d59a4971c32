"""Language models that evolve by unitaries alone and are read once by the Born rule; parametrized quantum circuits."""

from qattn.born_machine import BornMachineConfig, BornMachineLM
from qattn.circuit_model import CircuitConfig, CircuitLM
from qattn.instrument import InstrumentConfig, InstrumentLM
from qattn.mean_field import MeanFieldConfig, MeanFieldLM
from qattn.models import UnitaryConfig, UnitaryLM
from qattn.recurrent import RecurrentConfig, UnitaryRecurrentLM

__all__ = [
    "BornMachineConfig", "BornMachineLM", "CircuitConfig", "CircuitLM", "InstrumentConfig", "InstrumentLM",
    "MeanFieldConfig", "MeanFieldLM", "RecurrentConfig", "UnitaryConfig", "UnitaryLM", "UnitaryRecurrentLM",
]  # fmt: skip
