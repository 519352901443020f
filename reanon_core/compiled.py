"""The one decorator for compiled inner loops: typed, cached on disk, without the interpreter lock."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar, cast

import numba
from numba.core import event

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile the function with numba at its first call and keep the result on disk."""
    return cast("F", numba.njit(cache=True, nogil=True)(function))


@contextmanager
def compilation_notice(notify: Callable[[], object]) -> Iterator[None]:
    """Call `notify` when the first kernel is compiled inside this block. Reading one from the disk does not count."""
    with event.install_listener("numba:compile", _FirstStart(notify)):
        yield


class _FirstStart(event.Listener):
    """Reports the first start of an event."""

    def __init__(self, notify: Callable[[], object]) -> None:
        self.notified, self.callback = False, notify

    def on_start(self, _: object) -> None:
        """A kernel is about to be compiled."""
        if not self.notified:
            self.notified = True
            self.callback()

    def on_end(self, _: object) -> None:
        """The kernel is compiled: nothing to report."""
