"""Threads for compiled loops, which run without the interpreter lock. Their number never changes a result."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

J = TypeVar("J")
R = TypeVar("R")

_LIMIT: ContextVar[int | None] = ContextVar("thread_limit", default=None)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads() -> int:
    """How many threads may work at a time: the limit that is set, or all cores."""
    return _LIMIT.get() or cores()


@contextmanager
def thread_limit(count: int | None) -> Iterator[None]:
    """Inside, at most so many threads work at a time; None for as many as there are cores."""
    token = _LIMIT.set(count)
    try:
        yield
    finally:
        _LIMIT.reset(token)


def in_threads(function: Callable[[J], R], jobs: Sequence[J], sizes: Sequence[int]) -> list[R]:
    """What the function returns for each job, in their order; the largest jobs begin first.

    Requires: the jobs do not depend on each other.
    """
    count = min(threads(), len(jobs))
    if count < 2:
        return [function(job) for job in jobs]
    with ThreadPoolExecutor(count) as pool:
        largest_first = sorted(range(len(jobs)), key=lambda number: (-sizes[number], number))
        begun = {number: pool.submit(function, jobs[number]) for number in largest_first}
        return [begun[number].result() for number in range(len(jobs))]
