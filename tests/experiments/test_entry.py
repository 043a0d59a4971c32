"""Ctrl-C while the command line starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_ctrl_c_during_an_import_is_one_sentence(tmp_path: Path) -> None:
    """Also where the module that is being imported catches what it can, as scientific libraries do."""
    module = "import signal\ntry:\n    signal.raise_signal(signal.SIGINT)\nexcept BaseException:\n    pass\n"
    (tmp_path / "slow_module.py").write_text(module)
    program = "import experiments.entry as e; e.stop_during_imports(); import slow_module; print('went on')"
    paths = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    ended = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stdout) == (130, "")
    assert ended.stderr == "qattn: stopped; what was finished is kept\n"


def test_ctrl_c_at_any_other_time_is_the_usual_exception() -> None:
    program = (
        "import signal, experiments.entry as e\ne.stop_during_imports()\n"
        "try:\n    signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt:\n    print('caught')"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "caught\n")
