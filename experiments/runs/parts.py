"""Long work made of parts that do not depend on each other: each is kept when it is done, so a killed study resumes.

OUT/MARKER     what was asked of the study as a whole; another one in the same folder is refused
OUT/parts/*    one state file per part that is done
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from experiments.errors import UserError
from experiments.runs import state_file
from experiments.runs.claim import claimed
from experiments.runs.json_files import AGAIN, read_record, write_record
from experiments.runs.state_tree import pack, unpack

FOLDER = "parts"


Make = Callable[[], Any]
"""How a part is made: what it returns is kept, nested dictionaries, lists and tuples of tensors and plain values."""


class Parts:
    """The parts of a study that are done, by name, in the folder ``path``; without a folder nothing is kept."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path

    def file(self, name: str) -> Path:
        """Where a part lies: its name as far as a file may be called so, and a digest that tells all names apart.

        Raises ``ValueError`` where nothing is kept.
        """
        if self.path is None:
            raise ValueError(f"the part {name!r} is in no file: this study keeps nothing")
        readable = re.sub(r"[^A-Za-z0-9=.,-]+", "_", name)[:80].strip("_.")
        return self.path / f"{readable}-{hashlib.sha256(name.encode()).hexdigest()[:8]}.safetensors"

    def done(self, name: str) -> bool:
        """Is the part of this name kept?"""
        return self.path is not None and self.file(name).exists()

    def get(self, name: str, make: Make) -> Any:
        """The part's value: what is kept, or else what ``make`` returns, which is then kept.

        Both ways it comes back the same. Raises :class:`UserError` when the file is damaged or another part's.
        """
        if self.path is None:
            return make()
        path = self.file(name)
        if not path.exists():
            tensors, packed = pack(make())
            state_file.save(path, tensors, {"part": name, "value": packed})
        tensors, data = state_file.load(path, AGAIN, checked=True)
        if data.get("part") != name:
            raise UserError(f"{path}: holds the part {data.get('part')!r}, not {name!r}; {AGAIN}")
        return unpack(data["value"], tensors)

    def each(self, wanted: Mapping[str, Make], done: Callable[[str, Any], None], workers: int = 1) -> None:
        """Every part of ``wanted``, one after another or ``workers`` at a time; ``done`` gets name and value of each.

        Side by side the missing ones are made in other processes, so what makes them and what they are must pickle.
        ``done`` then hears of them in the order they end in. The values are the same, as far as a library rounds alike
        with one thread, which a worker has, and with several. Raises :class:`UserError` where the parts have no folder
        for the workers to leave them in, and as :meth:`get`.
        """
        missing = [name for name in wanted if not self.done(name)] if workers > 1 else []
        for name, make in wanted.items():
            if name not in missing:
                done(name, self.get(name, make))
        if missing:
            if self.path is None:
                raise UserError(
                    f"--workers {workers}: expected --out too, a folder where the workers leave their parts"
                )
            from experiments.runs.dask_backend import Piece, run_all

            pieces = [Piece(self.file(name).with_suffix(""), partial(self.get, name, wanted[name])) for name in missing]
            run_all(
                pieces, lambda *_: None, lambda number, value: done(missing[number], value),
                workers=min(workers, len(missing)), scheduler=None,
            )  # fmt: skip


@contextmanager
def parts_of(out: Path, marker: str, kind: str, settings: Mapping[str, Any], fresh: bool = False) -> Iterator[Parts]:
    """The parts of a study in the folder ``out``, which is held for this command alone.

    ``settings`` are all that changes what a part holds, beside its name, as plain data. Raises :class:`UserError` when
    ``out`` is in use, holds something else, or a study of this ``kind`` with other settings; ``fresh`` starts over.
    """
    asked = json.loads(json.dumps(settings))
    with claimed(out, marker, kind):
        if fresh:
            shutil.rmtree(out / FOLDER, ignore_errors=True)
            (out / marker).unlink(missing_ok=True)
        if (out / marker).exists():
            _same(out, read_record(out / marker, what=f"the record of {kind}", needs={"settings"}), asked, kind)
        write_record(out / marker, {"schema": 1, "kind": kind, "settings": asked})
        yield Parts(out / FOLDER)


def _same(out: Path, record: Mapping[str, Any], asked: Mapping[str, Any], kind: str) -> None:
    held = record["settings"] if isinstance(record["settings"], dict) else {}
    other = [key for key in {**held, **asked} if held.get(key) != asked.get(key)]
    if other:
        first = f"{other[0]} was {json.dumps(held.get(other[0]))}, now {json.dumps(asked.get(other[0]))}"
        more = f", and {len(other) - 1} more" if len(other) > 1 else ""
        raise UserError(
            f"{out} holds {kind} with other settings ({first}{more}); choose another --out, or --fresh to start over "
            "and delete its parts"
        )
