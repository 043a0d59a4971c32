"""Language models that evolve by unitaries alone and are read once by the Born rule; parametrized quantum circuits."""

from qattn.models import UnitaryConfig, UnitaryLM

__all__ = ["UnitaryConfig", "UnitaryLM"]
