"""What a steward expects of every snapshot, in the words of Great Expectations, which is not loaded here."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reanon_core.model.errors import InvalidSchema, Problem, collect_problems, require
from reanon_dagster.series.field_types import ProblemError, Text, typed

CRITICAL = "critical"
_SEVERITIES = (CRITICAL, "warning", "info")


class ExpectationConfig(BaseModel):
    """An expectation about every snapshot, as Great Expectations calls it; or a suite file of them."""

    model_config = ConfigDict(extra="allow", frozen=True)

    type: Text | None = Field(
        default=None,
        description="Its type, such as expect_column_values_to_not_be_null. Its arguments stand beside it.",
    )
    suite: Text | None = Field(
        default=None, description="Instead of a type: a suite file (JSON) as Great Expectations writes it."
    )
    severity: Literal["critical", "warning", "info"] = Field(
        default="critical", description="critical refuses a release; warning and info only report the failure."
    )

    @model_validator(mode="after")
    def _is_one_thing(self) -> "ExpectationConfig":
        if (self.type is None) == (self.suite is None) or (self.suite is not None and len(self.model_fields_set) > 1):
            rule = "have a type with its arguments, or a suite and nothing else"
            raise ProblemError(Problem("each entry of expectations", rule, self.type or self.suite))
        return self


@dataclass(frozen=True)
class Expectation:
    """One expectation about a table: its type and arguments, as Great Expectations calls them."""

    where: str
    """Where it is written."""
    type: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    severity: str = CRITICAL
    description: str | None = None
    """What Data Docs say instead of Great Expectations' own sentence."""
    written: Mapping[str, Any] = field(default_factory=dict)
    """The arguments as series.yaml has them, where 007 is text."""


def read_expectations(configs: Sequence[ExpectationConfig], folder: Path) -> tuple[Expectation, ...]:
    """The expectations of a series file and of the suite files that it names.

    Raises: InvalidSchema with every problem at once.
    """
    problems: list[Problem] = []
    found: list[Expectation] = []
    for number, config in enumerate(configs, start=1):
        where = f"expectations, entry {number}"
        if config.suite is not None:
            found += collect_problems(problems, _suite, where, folder, config.suite) or ()
        elif config.type is not None:
            written = dict(config.model_extra or {})
            description = written.pop("description", None)
            arguments = {key: typed(value) for key, value in written.items()}
            found.append(Expectation(where, config.type, arguments, config.severity, description, written))
    require(problems, InvalidSchema)
    return tuple(found)


def _suite(where: str, folder: Path, written: str) -> list[Expectation]:
    what = f"{where}: suite"
    try:
        content = json.loads((folder / written).read_text(encoding="utf-8"))
    except OSError as error:
        advice = "paths start at the series' folder"
        raise InvalidSchema(Problem(what, "be a readable file", written, advice)) from error
    except ValueError as error:
        raise InvalidSchema(Problem(what, "be a JSON file", written)) from error
    listed = content.get("expectations") if isinstance(content, dict) else None
    if not isinstance(listed, list):
        rule = "have a list of expectations, as Great Expectations writes it"
        raise InvalidSchema(Problem(what, rule, written))
    problems = list(_entry_problems(written, listed))
    require(problems, InvalidSchema)
    return [
        Expectation(
            f"{written}, entry {number}",
            one["type"],
            one.get("kwargs") or {},
            one.get("severity") or CRITICAL,
            one.get("description"),
        )
        for number, one in enumerate(listed, start=1)
    ]


def _entry_problems(file: str, listed: Sequence[object]) -> Iterator[Problem]:
    for number, one in enumerate(listed, start=1):
        where = f"{file}, entry {number}"
        if not isinstance(one, dict) or not isinstance(one.get("type"), str):
            yield Problem(where, "have a type")
        elif not isinstance(one.get("kwargs") or {}, dict):
            yield Problem(f"{where}: kwargs", "be keys with values")
        elif (one.get("severity") or CRITICAL) not in _SEVERITIES:
            yield Problem(f"{where}: severity", f"be one of {', '.join(_SEVERITIES)}")
