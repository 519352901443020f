"""Parameter lists that are too long for every test run: some cases always run, the others with `make test-all`."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def sampled(cases: Iterable[Any], every_run: Collection[Any]) -> list[Any]:
    """All cases, of which only those of `every_run` are not marked slow. A tuple is a case of several arguments."""
    listed = list(cases)
    assert all(case in listed for case in every_run), every_run
    return [case if case in every_run else _slow(case) for case in listed]


def _slow(case: Any) -> Any:
    arguments = case if isinstance(case, tuple) else (case,)
    return pytest.param(*arguments, marks=pytest.mark.slow)
