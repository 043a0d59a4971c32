"""What an entry of the atlas is: measured once, judged and drawn from what was measured, as often as one likes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from experiments.schema.base import Kind, Seed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from experiments.lm.trained_models import Trained
    from experiments.runs.parts import Parts

Found = dict[str, Any]
"""What an entry measured: plain values, lists and tensors by name."""


@dataclass(frozen=True)
class Work:
    """What an entry may use while it measures."""

    parts: Parts
    """Keeps what takes long by name, so that a killed entry resumes."""
    say: Callable[[str], None]
    """Takes one line of progress."""
    models: Callable[[], Mapping[str, Trained]]
    """The language models that the entries share, by name; trained when they are first asked for."""


@dataclass(frozen=True)
class Number:
    """One measured number, beside what it is held against.

    ``low`` and ``high`` are a 95 % interval over what was repeated (seeds, samples); None where nothing is random.
    """

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    reference: float | None = None
    unit: str = ""

    @property
    def lowest(self) -> float:
        """The lower end of the interval; the value where there is none."""
        return self.value if self.low is None else self.low

    @property
    def highest(self) -> float:
        """The upper end of the interval; the value where there is none."""
        return self.value if self.high is None else self.high


def mean_of(name: str, values: Sequence[float], reference: float | None = None, unit: str = "") -> Number:
    """The mean of what was repeated with its 95 % interval (Student); at least one value."""
    from experiments.stats.statistics import t_interval

    interval = t_interval(values)
    assert interval.mean is not None
    return Number(name, interval.mean, interval.low, interval.high, reference, unit)


@dataclass(frozen=True)
class Verdict:
    """``holds``, ``fails`` or ``open`` (not decided at this size), the sentence that says why, and the numbers."""

    verdict: Literal["holds", "fails", "open"]
    sentence: str
    numbers: tuple[Number, ...]


class Entry(Kind):
    """A claim's experiment: its parameters are the keys of the file, its methods say what is done with them."""

    seed: Seed = 0
    """Seed of every random number."""

    @abstractmethod
    def measure(self, work: Work) -> Found:
        """Run the experiment."""

    @abstractmethod
    def judge(self, found: Found) -> Verdict:
        """What follows from what was measured."""

    @abstractmethod
    def draw(self, found: Found) -> tuple[str, Figure]:
        """The figure and its caption."""
