"""A limit for work that cannot be asked to stop: it ends with an exception once its CPU seconds are spent."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class OutOfTime(Exception):
    """The CPU seconds are spent."""


@contextmanager
def cpu_limit(seconds: float | None) -> Iterator[None]:
    """Raise OutOfTime in the block after so many CPU seconds of this process; None for no limit.

    Only the main thread of a process can be interrupted, so in others there is no limit.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
