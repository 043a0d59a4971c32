"""The kinds of task that an experiment can name: one class and one row of :data:`TASKS` each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from experiments.plugins import Registry, kind_class
from experiments.schema.base import Clash, Fraction, PositiveInt
from experiments.schema.memory_tasks import PeriodicTask, RandomAccessTask, RenewalTask
from experiments.schema.sequence_tasks import (
    CopyingTask,
    DisambiguationTask,
    DyckTask,
    ModularTask,
    MotzkinTask,
    ParityTask,
    RecallTask,
    TomitaTask,
    WordTask,
)
from experiments.schema.task_base import TaskConfig

if TYPE_CHECKING:
    from experiments.tasks import Task

__all__ = ["TASKS", "TaskConfig", "TextTask", "find_file", "shipped_texts"]

DATA = Path(__file__).parents[1] / "data"


class TextTask(TaskConfig):
    """Predict the next token of a text."""

    note: ClassVar[str] = "next token of a text: shipped (tinyshakespeare, moby_dick) or any UTF-8 file"

    kind: Literal["text"]
    """`text`"""
    path: str = Field(min_length=1)
    """A shipped text (`tinyshakespeare`, `moby_dick`) or a file, beside the YAML file or in the working directory."""
    tokenizer: Literal["char", "byte", "bpe"] = "char"
    """`char`: a token a character; `byte`: a token a byte of UTF-8; `bpe`: byte pairs learned on the training split."""
    vocab: int | None = Field(default=None, ge=257)
    """Size of the vocabulary, only with `bpe` (256 bytes and at least one merge); null is 1024."""
    block: PositiveInt = 64
    """Tokens of context."""
    train_fraction: Fraction = 0.9
    """The first part of the text is trained on."""
    test_fraction: Annotated[float, Field(ge=0, lt=1)] | None = None
    """The last part of the text is the test split, which results are measured on and nothing is chosen by; what lies
    between is the validation split, which searches and choices see. null is half of what `train_fraction` leaves (90,
    5 and 5 percent); 0 is no test split, results are then those of the validation split."""

    def clashes(self) -> Iterator[Clash]:
        if self.test_fraction is not None and self.train_fraction + self.test_fraction >= 1:
            got = f"{self.test_fraction:g} beside train_fraction {self.train_fraction:g}; nothing is left to validate"
            yield "test_fraction", f"less than {1 - self.train_fraction:g}", got, ("train_fraction",)
        if self.vocab is not None and self.tokenizer != "bpe":
            got = f"tokenizer: {self.tokenizer}, whose vocabulary follows from the text; remove vocab or choose bpe"
            yield "vocab", "tokenizer: bpe beside it", got, ("tokenizer",)

    def default_name(self) -> str:
        return Path(self.path).stem

    def problem_with_files(self, folder: Path) -> Clash | None:
        if self.path in shipped_texts():
            return None
        found = find_file(self.path, folder)
        if found is None or not found.is_file():
            got = f"'{self.path}', which is {'no file' if found is None else 'a folder'}"
            return (
                "path",
                f"a shipped text ({', '.join(shipped_texts())}) or a file beside the YAML file or here",
                got,
                (),
            )
        return None if found.stat().st_size else ("path", "a text", f"'{self.path}', which is empty", ())

    def filled(self, folder: Path) -> dict[str, object]:
        values: dict[str, object] = {"vocab": 1024} if self.tokenizer == "bpe" and self.vocab is None else {}
        if self.test_fraction is None:
            values["test_fraction"] = float(f"{(1 - self.train_fraction) / 2:.12g}")
        found = None if self.path in shipped_texts() else find_file(self.path, folder)
        return values if found is None else {**values, "path": str(found.resolve())}

    def files(self) -> list[Path]:
        return [shipped_texts().get(self.path) or Path(self.path)]

    def build(self, name: str) -> Task:
        from experiments.tasks.text import text_task

        return text_task(name, **self.fields())


def shipped_texts() -> dict[str, Path]:
    """The texts that come with the package, by name."""
    return {path.stem: path for path in sorted(DATA.glob("*.txt"))}


def find_file(path: str, folder: Path) -> Path | None:
    """A file named in a YAML file of ``folder``: beside it, else in the working directory, else None."""
    for base in (folder, Path.cwd()):
        candidate = base / Path(path).expanduser()
        if candidate.exists():
            return candidate
    return None


_OWN: dict[str, type[TaskConfig]] = {
    "text": TextTask,
    "parity": ParityTask,
    "modular_arithmetic": ModularTask,
    "word_problem": WordTask,
    "copying": CopyingTask,
    "dyck2": DyckTask,
    "mqar": RecallTask,
    "tomita": TomitaTask,
    "motzkin": MotzkinTask,
    "disambiguation": DisambiguationTask,
    "random_access": RandomAccessTask,
    "periodic": PeriodicTask,
    "renewal": RenewalTask,
}

TASKS = Registry("qattn.tasks", _OWN, kind_class(TaskConfig))
"""Every kind of task by name: our own, and those of installed packages."""
