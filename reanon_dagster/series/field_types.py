"""Types of values in series.yaml: text, lists of text, parts without unknown keys."""

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Annotated, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from reanon_core.model.errors import Problem


class ProblemError(ValueError):
    """Raised by a validator that already knows the whole problem."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem.sentence())


def _text(value: object) -> object:
    """Numbers and dates as text, for configs that are built in Python."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float | Decimal | date) else value


def as_list(value: object) -> object:
    """Plain text becomes a list of one."""
    return [value] if isinstance(value, str) else value


def keyed_by(key: str) -> BeforeValidator:
    """Plain text becomes a mapping with this one key."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


def typed(value: object) -> object:
    """Text as a number or a boolean where it is one; techniques and checks test the types of their parameters."""
    if isinstance(value, Mapping):
        return {key: typed(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [typed(inner) for inner in value]
    if not isinstance(value, str):
        return value
    if re.fullmatch(r"[-+]?\d+", value, re.ASCII):
        return int(value)
    if re.fullmatch(r"[-+]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][-+]?\d+)?", value, re.ASCII):
        return float(value)
    return {"true": True, "false": False}.get(value, value)


Text: TypeAlias = Annotated[str, BeforeValidator(_text)]
Texts: TypeAlias = Annotated[tuple[Text, ...], BeforeValidator(as_list)]


class Part(BaseModel):
    """A part of series.yaml. Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Parameters(BaseModel):
    """A name and parameters beside it, which the technique or check of that name validates."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: Text = Field(description="Its name.")

    @property
    def params(self) -> dict[str, object]:
        """The parameters beside the name."""
        return {key: typed(value) for key, value in (self.model_extra or {}).items()}
