"""The console script ``qattn``: Ctrl-C while modules are still being imported ends it with one sentence."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

from experiments.errors import STOPPED

IMPORTING = "<frozen importlib._bootstrap>"  # the file name of Python's import machinery in its frames


def main() -> None:
    """Run the command line; see ``experiments.cli``."""
    stop_during_imports()
    from experiments.cli import main as command_line

    command_line()


def stop_during_imports() -> None:
    """Make Ctrl-C end the process at once during an import; otherwise it stays a ``KeyboardInterrupt``.

    An interrupted import leaves half a module behind, and libraries answer that with errors of their own. Where Ctrl-C
    is ignored, as in a background job, it stays ignored.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, stop)


def stop(number: int, frame: FrameType | None) -> None:
    """The handler of Ctrl-C. Raises ``KeyboardInterrupt`` unless an import is under way."""
    above = frame
    while above is not None:
        if above.f_code.co_filename == IMPORTING:
            print(f"qattn: {STOPPED}", file=sys.stderr, flush=True)
            os._exit(130)
        above = above.f_back
    signal.default_int_handler(number, frame)
