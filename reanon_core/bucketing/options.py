"""The options that every technique with buckets has, and their ranges."""

from collections.abc import Iterator
from typing import Any, Literal, get_args

from reanon_core.bucketing.assignment import Assignment
from reanon_core.model.errors import InvalidSchema, Problem
from reanon_core.model.schema import Schema

NotEligibleRule = Literal["refuse", "defer", "pad"]
SensitiveChange = Literal["refuse", "episode"]
QiChange = Literal["allow", "refuse"]

CHOICES: dict[str, Any] = {
    "assignment": Assignment,
    "not_eligible": NotEligibleRule,
    "on_sensitive_change": SensitiveChange,
    "on_qi_change": QiChange,
}


def whole(value: object) -> bool:
    """Whether the value is a whole number; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def least_m_problems(m: object) -> Iterator[Problem]:
    """What is wrong with m: one value hides nobody."""
    if not isinstance(m, int) or not whole(m) or m < 2:
        yield Problem("m", "be a whole number of at least 2", str(m))


def choice_problems(technique: object, choices: dict[str, Any]) -> Iterator[Problem]:
    """What is wrong with options that have a list of words."""
    for option, allowed in choices.items():
        given = getattr(technique, option)
        if given not in get_args(allowed):
            yield Problem(option, f"be one of {', '.join(get_args(allowed))}", str(given))


def refuse_other_columns(schema: Schema, technique: str) -> None:
    """Refuse non-identifiers, which would tie a person's rows together across releases.

    Raises: InvalidSchema.
    """
    if schema.other:
        raise InvalidSchema(
            Problem(
                "other",
                f"be empty with {technique}: a value published as it is links a person's rows across releases",
                ", ".join(schema.other),
                "make it a quasi-identifier, or leave it out",
            )
        )
