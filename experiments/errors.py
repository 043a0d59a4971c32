"""What a person sees when something is wrong with what they gave: one sentence, exit code 2, no traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

STOPPED = "stopped; what was finished is kept"
"""What Ctrl-C says."""


class UserError(Exception):
    """Bad input. The message is one clear sentence naming the file, the key and the fix."""


@contextmanager
def blame(source: object) -> Iterator[None]:
    """Turn a library's ``ValueError`` about what a person gave into a :class:`UserError` that names ``source``.

    Wrap only the calls that check a person's input, so that a bug of ours still shows its traceback.
    """
    try:
        yield
    except ValueError as error:
        raise UserError(f"{source}: {error}") from error
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "not enough memory" not in str(
            error
        ):  # torch's, of no class of its own
            raise
        told = " ".join(str(error).split()) or "an allocation failed"
        raise UserError(f"{source}: this needs more memory than there is ({told})") from error
