"""Whether a simulation fits in memory, asked before it begins."""

from __future__ import annotations

import os
from pathlib import Path

SMALL = 1 << 26  # bytes that are not asked about: small circuits run thousands of times, and asking takes a while
CGROUP = Path("/sys/fs/cgroup")


def available_memory() -> int:
    """Bytes that can still be had: of the machine or of the container, whichever has less left.

    Where the system does not say what is left (outside Linux), all physical memory counts.
    """
    left = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    numbers = fields(Path("/proc/meminfo"))
    if "MemAvailable:" in numbers:
        left.append(1024 * numbers["MemAvailable:"])
    try:
        limit = (CGROUP / "memory.max").read_text().strip()
        if limit != "max":
            cached = fields(CGROUP / "memory.stat").get("inactive_file", 0)  # given back when it is needed
            left.append(int(limit) - int((CGROUP / "memory.current").read_text()) + cached)
    except (OSError, ValueError):
        pass  # no container, or one of the first version of control groups
    return max(0, min(left))


def fields(path: Path) -> dict[str, int]:
    """The first number behind each name in a file of the kernel; empty where there is none."""
    try:
        rows = [line.split() for line in path.read_text().splitlines()]
    except OSError:
        return {}
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}


def check_bytes(what: str, need: int) -> None:
    """Raise ``ValueError`` when ``need`` bytes for ``what`` are more than there are."""
    if need < SMALL:
        return
    limit = available_memory()
    if need > limit:
        asked = f"{need / 2**30:.3g}" if need < 2**100 else f"2^{need.bit_length() - 31}"
        raise ValueError(f"{what} need {asked} GiB, and {limit / 2**30:.3g} GiB are free")


def check_memory(qubits: int, batch: int = 1, bytes_per_amplitude: int = 16, copies: int = 3) -> None:
    """Raise ``ValueError`` when ``copies`` state vectors of the batch would not fit in the memory that is free."""
    count = batch if batch < 10**9 else f"{float(min(batch, 10**300)):.1g}"
    check_bytes(
        f"{copies} state vectors of {qubits} qubits with batch {count}",
        copies * batch * bytes_per_amplitude * 2**qubits,
    )
