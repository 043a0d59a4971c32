"""The command line ``qattn``. Verbs live in the modules beside this one, one a family, and import torch inside.

Exit codes: 0 done, 1 the answer is no (or a run failed), 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import errno
import io
import os
import sys

import typer

from experiments.cli.atlas import atlas
from experiments.cli.audit import audit
from experiments.cli.circuit import circuit
from experiments.cli.contexts import verbs as contexts
from experiments.cli.lens import lens
from experiments.cli.listing import list_
from experiments.cli.merge import merge
from experiments.cli.packing import packing
from experiments.cli.report import report
from experiments.cli.run import run
from experiments.cli.sample import sample
from experiments.cli.serve import serve
from experiments.cli.summary import summary
from experiments.errors import STOPPED, UserError

app = typer.Typer(
    name="qattn",
    help="Attention mixes, quantum attention rotates: train, compare, audit and analyse both.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


app.command("run")(run)
app.command("list")(list_)
app.command("summary")(summary)
app.command("report")(report)
app.command("merge")(merge)
app.command("sample")(sample)
app.command("serve")(serve)
app.command("audit")(audit)
app.command("lens")(lens)
app.add_typer(contexts, name="contexts")
app.add_typer(packing, name="packing")
app.add_typer(circuit, name="circuit")
app.add_typer(atlas, name="atlas")

# The base of all usage errors, from the click that this typer uses: its own, or the installed one.
UsageError: type[Exception] = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "UsageError")


@app.callback()
def _several_verbs() -> None:
    """Attention mixes, quantum attention rotates: train, compare, audit and analyse both."""


def main() -> None:
    """Entry point of the console script: turns bad input into one sentence and an exit code."""
    if sys.stdout is None:
        fail("there is no standard output to write to: it was closed before the start", 2)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that is not UTF-8 shows a question mark for what it lacks
            stream.reconfigure(errors="replace")
    try:
        code = app(prog_name="qattn", standalone_mode=False)
        sys.stdout.flush()  # here, where a full disk is still one sentence, and not at the interpreter's end
    except UsageError as error:
        usage(error)
    except UserError as error:
        fail(str(error), 2)
    except KeyboardInterrupt:
        fail(STOPPED, 130)
    except SystemExit:
        if type(sys.stdout).__name__ == "PacifyFlushWrapper":  # typer has met a broken pipe and says 1, which means no
            leave(141)
        raise
    except BrokenPipeError:  # `qattn … | head`: the reader has seen enough, and nothing is wrong
        leave(141)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            fail(f"the disk is full, writing {error.filename or 'a result'}: free some space and repeat the command", 2)
        if error.filename is None and error.errno not in (errno.EBADF, errno.EIO):
            raise
        fail(f"{error.filename or 'writing the output'}: {error.strerror}", 2)
    else:
        if code == 130:  # typer turns Ctrl-C into this code
            fail(STOPPED, 130)
        sys.exit(code or 0)


def usage(error: Exception) -> None:
    """A wrong option or verb, in one sentence with the nearest right one."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.exit(2)  # the help is on the screen by now
    message = " ".join(error.format_message().split()).rstrip(".").replace("Value error, ", "")  # type: ignore[attr-defined]
    where = context.command_path if context else "qattn"
    fail(f"{message[:1].lower()}{message[1:]} ({where} --help shows what there is)", 2)


def fail(sentence: str, code: int) -> None:
    """Print one sentence to the standard error and exit with ``code``."""
    print(f"qattn: {sentence}", file=sys.stderr)
    leave(code)


def leave(code: int) -> None:
    """Exit; what is left of the output is written if it can be."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:  # what could not be written is not tried once more at the interpreter's end
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(code)
