"""The command line ``qattn``. Verbs live in the modules beside this one, one a family, and import torch inside.

Exit codes: 0 done, 1 the answer is no (or a run failed), 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import errno
import sys

import typer

from experiments.errors import UserError

app = typer.Typer(
    name="qattn",
    help="Attention mixes, quantum attention rotates: train, compare, audit and analyse both.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def main() -> None:
    """Entry point of the console script: turns bad input into one sentence and an exit code."""
    try:
        app()
    except UserError as error:
        fail(str(error), 2)
    except KeyboardInterrupt:
        fail("stopped; what was finished is kept", 130)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            fail(f"the disk is full, writing {error.filename or 'a result'}: free some space and repeat the command", 2)
        if error.filename is None:
            raise
        fail(f"{error.filename}: {error.strerror}", 2)


def fail(sentence: str, code: int) -> None:
    print(f"qattn: {sentence}", file=sys.stderr)
    sys.exit(code)


from experiments.cli import audit, report, sample  # noqa: E402, F401  (each family registers its verbs when imported)
