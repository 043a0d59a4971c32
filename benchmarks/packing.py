"""The optimiser against the record tables: ratio of the coherence found to the best known, case by case.

    nice -n 19 python benchmarks/packing.py --seconds 60 --field complex
    python benchmarks/packing.py --summary

Results are kept as they come in docs/results/packing/{field}.csv; a second call resumes where the first stopped. A
case is run again only with a larger budget than before, from another seed, and the better result is kept. Each case
stops early at the record (within its rounding) or at a proved bound. Vectors below a record are kept with certificates.
One process, one thread. Times are CPU seconds.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import sys
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])  # not this folder: its contexts.py would hide the package

import numpy as np  # noqa: E402

from contexts.packing.record_tables import records  # noqa: E402
from contexts.packing.search.certify import certify  # noqa: E402
from contexts.packing.search.solve import solve  # noqa: E402

FOLDER = Path(__file__).parents[1] / "docs" / "results" / "packing"
COLUMNS = (
    "d",
    "n",
    "coherence",
    "record",
    "ratio",
    "bound",
    "bound_name",
    "optimal",
    "how",
    "budget",
    "seconds",
    "runs",
)
LARGEST = {"complex": 7, "real": 8}  # dimensions of the table "d ≤ 7 complex, d ≤ 8 real, n ≤ 40"


def cases(field: str, everything: bool) -> list[tuple[int, int]]:
    """(d, n), spread over the table so that an unfinished run is a fair sample of it."""
    wanted = [(d, n) for d, n in records(field) if everything or (d <= LARGEST[field] and n <= 40)]
    wanted = [(d, n) for d, n in wanted if n <= 400]
    return [wanted[k] for k in np.random.default_rng(0).permutation(len(wanted))]


def read(path: Path) -> dict[tuple[int, int], dict[str, str]]:
    if not path.exists():
        return {}
    with path.open(encoding="utf-8") as lines:
        return {(int(row["d"]), int(row["n"])): row for row in csv.DictReader(lines)}


def write(path: Path, rows: dict[tuple[int, int], dict[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".tmp").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows[key] for key in sorted(rows))
    path.with_suffix(".tmp").replace(path)


def run(field: str, seconds: float, everything: bool, budget: float, above: float) -> None:
    path = FOLDER / f"{field}.csv"
    began = time.process_time()
    for d, n in cases(field, everything):
        rows = read(path)
        old = rows.get((d, n))
        if old and (float(old["ratio"]) <= max(above, 1 + 1e-9) or float(old["budget"]) >= seconds):
            continue
        if time.process_time() - began > budget:
            return
        start = time.process_time()
        runs = int(old["runs"]) + 1 if old else 1
        found = solve(d, n, field, seed=runs - 1, seconds=seconds)
        proof = certify(found.vectors)
        spent = time.process_time() - start
        row = {
            "d": d, "n": n, "coherence": f"{found.coherence:.15f}", "record": f"{proof['record']:.12f}",
            "ratio": f"{found.coherence / proof['record']:.12f}", "bound": f"{proof['bound']:.12f}",
            "bound_name": proof["bound_name"], "optimal": "yes" if proof["optimal"] else "", "how": found.how,
            "budget": f"{seconds:g}", "seconds": f"{spent:.1f}", "runs": runs,
        }  # fmt: skip
        if old and float(old["coherence"]) <= found.coherence:
            row = {**old, "budget": row["budget"], "seconds": f"{spent + float(old['seconds']):.1f}", "runs": runs}
        rows = read(path)  # again: another process may have added to it
        rows[d, n] = {key: str(value) for key, value in row.items()}
        write(path, rows)
        if proof["below_record"]:
            np.save(FOLDER / f"below_record_{field}_{d}x{n}.npy", found.vectors)
            (FOLDER / f"below_record_{field}_{d}x{n}.json").write_text(json.dumps(proof, indent=2) + "\n")
        print(f"{field} ({d},{n}): ratio {row['ratio']} in {spent:.1f} s, {row['how']}", flush=True)


def summary() -> None:
    for field in LARGEST:
        rows = read(FOLDER / f"{field}.csv")
        wanted = cases(field, everything=False)
        done = [rows[key] for key in wanted if key in rows]
        if not done:
            continue
        ratios = [float(row["ratio"]) for row in done]
        print(f"{field}, d <= {LARGEST[field]}, n <= 40: {len(done)} of {len(wanted)} shipped records run")
        print(f"  ratio to the record: median {statistics.median(ratios):.9f}, worst {max(ratios):.6f}")
        for limit in (1e-9, 1e-6, 1e-4, 1e-3, 1e-2):
            print(f"  within {limit:g}: {sum(r <= 1 + limit for r in ratios)}")
        below = [(row["d"], row["n"]) for row in done if float(row["ratio"]) < 1 - 1e-9]
        print(f"  below 1 - 1e-9: {below or 'none'}")
        seconds = [float(row["seconds"]) for row in done]
        print(f"  CPU seconds per case: median {statistics.median(seconds):.1f}, most {max(seconds):.1f}")
        for row in sorted(done, key=lambda r: -float(r["ratio"]))[:10]:
            print(f"    ({row['d']},{row['n']}) {row['ratio']}  {row['how']}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--field", choices=("real", "complex"), default="complex")
    parser.add_argument("--seconds", type=float, default=60, help="CPU seconds per case.")
    parser.add_argument(
        "--budget", type=float, default=float("inf"), help="Total CPU seconds; stop then and resume later."
    )
    parser.add_argument("--above", type=float, default=1, help="of the cases kept, run only those with a larger ratio")
    parser.add_argument("--everything", action="store_true", help="all shipped records up to n = 400")
    parser.add_argument("--summary", action="store_true", help="only print what the kept results say")
    options = parser.parse_args()
    if options.summary:
        summary()
    else:
        run(options.field, options.seconds, options.everything, options.budget, options.above)
