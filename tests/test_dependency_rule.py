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
    assert "Contracts: 4 kept, 0 broken" in done.stdout


def test_importing_qattn_brings_only_what_it_needs() -> None:
    heavy = {"pennylane", "matplotlib", "distributed", "cvxpy", "sklearn"}
    script = f"import sys, qattn; found = {heavy} & set(sys.modules); assert not found, found"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_no_files_import_each_other_in_a_circle() -> None:
    """Of all four packages, late imports inside functions included."""
    import grimp
    import networkx as nx

    graph = grimp.build_graph("qattn", "classical", "contexts", "experiments", cache_dir=None)
    imports = nx.DiGraph((m, i) for m in graph.modules for i in graph.find_modules_directly_imported_by(m))
    circles = [sorted(c) for c in nx.strongly_connected_components(imports) if len(c) > 1]
    assert not circles
