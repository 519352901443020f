"""Work that is ended after so many CPU seconds."""

import signal
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from reanon_dagster.lab import comparison
from reanon_dagster.lab.comparison import OutOfTime, cpu_limit


def work(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_work_ends_when_its_time_is_spent_and_the_timer_with_it() -> None:
    before = signal.getsignal(signal.SIGVTALRM)
    began = time.process_time()
    with pytest.raises(OutOfTime), cpu_limit(0.05):
        work(30)
    assert time.process_time() - began < 5
    assert signal.getsignal(signal.SIGVTALRM) is before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_quick_work_and_work_without_a_limit_are_not_ended() -> None:
    with cpu_limit(30):
        work(0.01)
    with cpu_limit(None):
        work(0.01)
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_another_thread_has_no_limit() -> None:
    ended: list[str] = []

    def run() -> None:
        with cpu_limit(0.01):
            work(0.05)
            ended.append("by itself")

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert ended == ["by itself"]


def test_an_attack_that_is_ended_leaves_a_note_in_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    attack = SimpleNamespace(run=lambda _history, _knowledge: work(30))
    monkeypatch.setattr(comparison, "build_attack", lambda _name: attack)
    ledger: Any = SimpleNamespace(history=lambda: None)
    knowledge: Any = None
    cell = comparison._cell("algorithm", ledger, knowledge, 0.05)
    assert (cell.exposed, cell.of) == (None, None)
    assert cell.note.endswith("name it with --attack to wait for it")
