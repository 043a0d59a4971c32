"""qattn, classical and contexts import none of each other and nothing of experiments; and the light stays light."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_layers_hold() -> None:
    """import-linter's contracts in pyproject.toml."""
    script = "import sys; from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run([sys.executable, "-c", script, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Contracts: 2 kept, 0 broken" in done.stdout


def test_importing_qattn_brings_only_what_it_needs() -> None:
    heavy = {"pennylane", "matplotlib", "distributed", "cvxpy", "sklearn"}
    script = f"import sys, qattn; found = {heavy} & set(sys.modules); assert not found, found"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
