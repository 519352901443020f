"""All problems at once: what a function reports is collected, and the next one is tried."""

from collections.abc import Callable
from typing import TypeVar

from reanon_core.model.errors import Problem, ReanonError

T = TypeVar("T")


def collect_problems(problems: list[Problem], function: Callable[..., T], *arguments: object) -> T | None:
    """The function's result; None if it raises one of our errors, whose problems are added to the list."""
    try:
        return function(*arguments)
    except ReanonError as error:
        problems.extend(error.problems)
        return None
