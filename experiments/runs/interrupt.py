"""Ctrl-C between two steps and never inside one, so that what is saved is whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def held_interrupt() -> Iterator[Callable[[], bool]]:
    """Hold a first Ctrl-C back: the function yielded tells whether it came, and the work then saves and stops.

    A second Ctrl-C interrupts at once. In another thread than the main one nothing is held back, since Python
    delivers signals to the main thread alone.
    """
    pressed = False
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def note(*_: object) -> None:
        nonlocal pressed
        pressed = True
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)
