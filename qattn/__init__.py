"""Language models that evolve by unitaries alone and are read once by the Born rule; parametrized quantum circuits."""

from qattn.lm.born_machine import BornMachineConfig, BornMachineLM
from qattn.lm.circuit import CircuitConfig, CircuitLM
from qattn.lm.instrument import InstrumentConfig, InstrumentLM
from qattn.lm.mean_field import MeanFieldConfig, MeanFieldLM
from qattn.lm.recurrent import RecurrentConfig, UnitaryRecurrentLM
from qattn.lm.unitary import UnitaryConfig, UnitaryLM

__all__ = [
    "BornMachineConfig", "BornMachineLM", "CircuitConfig", "CircuitLM", "InstrumentConfig", "InstrumentLM",
    "MeanFieldConfig", "MeanFieldLM", "RecurrentConfig", "UnitaryConfig", "UnitaryLM", "UnitaryRecurrentLM",
]  # fmt: skip
