"""Where a result was made: versions, machine, memory. Goes into every report, so that a number can be traced."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import sys
from pathlib import Path
from typing import Any

PACKAGES = ("qattn-lab", "torch", "numpy", "scipy", "pennylane", "geotorch", "networkx", "pydantic", "tokenizers")


def describe() -> dict[str, Any]:
    """Versions and machine as plain data; says nothing about the user or the network."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "not installed as a package"
    return {
        "python": platform.python_version(), "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(), "processor": _processor(), "cores": os.cpu_count(), "packages": versions,
    }  # fmt: skip


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def reset_peak_memory() -> None:
    """Start a new peak, where the system can (Linux); elsewhere the peak is the whole process's."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_memory_mib() -> float:
    """Largest resident memory of this process since :func:`reset_peak_memory`, in MiB; on Windows of all its life."""
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    if sys.platform == "win32":
        import psutil

        return psutil.Process().memory_info().peak_wset / 2**20
    import resource  # which Windows does not have

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
