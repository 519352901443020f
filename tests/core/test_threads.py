"""Threads: as many as are allowed, the largest jobs first, and the same results for any number."""

import threading
import time

import pytest

from reanon_core.threads import cores, in_threads, thread_limit, threads


def test_the_limit_holds_inside_its_block_alone() -> None:
    assert threads() == cores() >= 1
    with thread_limit(3):
        assert threads() == 3
        with thread_limit(None):
            assert threads() == cores()
        assert threads() == 3
    assert threads() == cores()


@pytest.mark.parametrize("count", [1, 2, 5])
def test_results_come_in_the_order_of_the_jobs(count: int) -> None:
    with thread_limit(count):
        assert in_threads(lambda job: job * job, [3, 1, 2], [3, 1, 2]) == [9, 1, 4]
        assert in_threads(lambda job: job, [], []) == []


def test_no_more_threads_work_than_are_allowed_and_the_largest_job_begins_first() -> None:
    begun: list[int] = []
    working, most = [0], [0]
    lock = threading.Lock()

    def job(size: int) -> None:
        with lock:
            begun.append(size)
            working[0] += 1
            most[0] = max(most[0], working[0])
        time.sleep(0.02)
        with lock:
            working[0] -= 1

    with thread_limit(2):
        in_threads(job, [1, 5, 2, 4, 3], [1, 5, 2, 4, 3])
    assert most[0] == 2
    assert sorted(begun[:2]) == [4, 5]
    assert begun[-1] == 1


def test_an_error_of_a_job_reaches_the_caller() -> None:
    def job(number: int) -> None:
        raise ValueError(f"job {number}")

    with thread_limit(2), pytest.raises(ValueError, match="job 1"):
        in_threads(job, [1, 2], [1, 2])
