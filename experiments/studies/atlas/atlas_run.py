"""Run entries of the atlas and write their page.

OUT/NAME/         what one entry measured (``parts``), its ``result.json`` and its ``figure.svg``
OUT/models/       the language models that several entries look into
OUT/report.html   a row per entry that is there
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from experiments.errors import blame
from experiments.runs.atomic_files import write_bytes, write_text
from experiments.runs.json_files import read_record, write_record
from experiments.runs.parts import parts_of
from experiments.studies.atlas.atlas_file import Claim, shipped_entries
from experiments.studies.atlas.entry import Found, Work
from experiments.studies.atlas.shared_models import shared_models

RESULT = "result.json"
MODELS = "models"
NEEDS = frozenset({"name", "title", "claim", "sources", "verdict", "sentence", "numbers", "overturned_by", "caption"})


def run_entry(name: str, claim: Claim, out: Path, *, fresh: bool = False, quiet: bool = False) -> dict[str, Any]:
    """Measure, judge and draw one entry in the folder ``out/name``; what is kept there is not measured again.

    Raises :class:`UserError` where the folder holds the entry with other settings (``fresh`` starts over).
    """
    from experiments.report.canvas import svg

    def say(line: str) -> None:
        if not quiet:
            print(f"{name}: {line}", file=sys.stderr, flush=True)

    folder = out / name
    with parts_of(folder, "atlas.json", "an atlas entry", claim.entry.model_dump(mode="json"), fresh) as parts:

        def measure() -> Found:
            start = perf_counter()
            with blame(f"the entry {name}"):
                found = claim.entry.measure(Work(parts, say, partial(shared_models, out / MODELS, say)))
            return {"found": found, "seconds": perf_counter() - start}

        kept = parts.get("found", measure)
        verdict = claim.entry.judge(kept["found"])
        caption, figure = claim.entry.draw(kept["found"])
        write_bytes(folder / "figure.svg", svg(figure))
        record = {
            "name": name,
            "title": claim.title,
            "claim": claim.claim,
            "sources": [str(source) for source in claim.sources],
            "overturned_by": claim.overturned_by,
            "settings": claim.entry.model_dump(mode="json"),
            "verdict": verdict.verdict,
            "sentence": verdict.sentence,
            "numbers": [asdict(number) for number in verdict.numbers],
            "caption": caption,
            "seconds": round(kept["seconds"], 1),
        }
        write_record(folder / RESULT, record)
    return record


def write_page(out: Path) -> Path:
    """``out/report.html`` from the results of all entries that ``out`` holds, the shipped ones first, in their order.

    Raises :class:`UserError` for a result that is damaged.
    """
    from experiments.report.canvas import inline
    from experiments.studies.atlas.atlas_page import html

    order = list(shipped_entries())
    folders = sorted(
        (path.parent for path in out.glob(f"*/{RESULT}")),
        key=lambda folder: (order.index(folder.name) if folder.name in order else len(order), folder.name),
    )
    rows = []
    for folder in folders:
        record = read_record(folder / RESULT, what="the result of an atlas entry", needs=NEEDS)
        drawing = (folder / "figure.svg").read_bytes()
        rows.append(record | {"figure": inline(drawing, folder.name, record["caption"])})
    missing = [name for name in order if name not in {row["name"] for row in rows}]
    return write_text(out / "report.html", html(rows, missing))
