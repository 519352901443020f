"""The errors that pydantic finds, as sentences for a person."""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from reanon_core.model.errors import Problem
from reanon_dagster.series.config import (
    Column,
    CronReleases,
    NamedReleases,
    Private,
    Publish,
    RegularReleases,
    SensitiveColumn,
    SeriesConfig,
)
from reanon_dagster.series.field_types import ProblemError
from reanon_dagster.series.knowledge_config import Adversary, KnowledgeConfig
from reanon_dagster.sources.kinds.catalog import SOURCES

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_MODELS: dict[str, tuple[type[BaseModel], ...]] = {
    "releases": (RegularReleases, CronReleases, NamedReleases),
    "quasi_identifiers": (Column,),
    "sensitive": (SensitiveColumn,),
    "publish": (Publish,),
    "private": (Private,),
    "knowledge": (KnowledgeConfig,),
    "adversary": (Adversary,),
}
_RULES = {
    "missing": "be given",
    "string_type": "be text",
    "string_pattern_mismatch": "begin with a letter or a digit and use letters, digits, '_' and '-' only",
    "decimal_type": "be a number",
    "decimal_parsing": "be a number",
    "finite_number": "be a number",
    "float_type": "be a number",
    "float_parsing": "be a number",
    "int_type": "be a whole number",
    "int_parsing": "be a whole number",
    "int_from_float": "be a whole number",
    "list_type": "be a list, such as [a, b]",
    "tuple_type": "be a list, such as [a, b]",
    "dict_type": "be keys with values, such as {key: value}",
    "model_type": "be keys with values, such as {key: value}",
    "model_attributes_type": "be keys with values, such as {key: value}",
    "invalid_key": "be text",
}
_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
"""How pydantic names a bound that a number breaks, and how we do."""


def problems_of(error: ValidationError, model: type[BaseModel] = SeriesConfig) -> list[Problem]:
    """Each error that pydantic found in a file of this model, as one plain problem."""
    details = list(_details(error))
    inner = {detail["loc"][:-1] for detail in details}
    # pydantic reports a list with invalid entries as too short as well; the entries' own errors say more.
    return [
        _problem(detail, model) for detail in details if not (detail["type"] == "too_short" and detail["loc"] in inner)
    ]


def _details(error: ValidationError) -> "Iterator[ErrorDetails]":
    """The errors that pydantic found, with those of parts that were validated by themselves, such as a source."""
    for detail in error.errors(include_url=False):
        cause = (detail.get("ctx") or {}).get("error")
        if isinstance(cause, ValidationError):
            for inner in _details(cause):
                yield {**inner, "loc": (*detail["loc"], *inner["loc"])}
        else:
            yield detail


def _problem(detail: "ErrorDetails", model: type[BaseModel]) -> Problem:
    # Tags of unions are written in angle brackets, to distinguish them from keys.
    place = tuple(part for part in detail["loc"] if not str(part).startswith("<"))
    cause = (detail.get("ctx") or {}).get("error")
    if isinstance(cause, ProblemError):
        return cause.problem
    if detail["type"] == "extra_forbidden":
        return _unknown_key(place, model)
    value = None if detail["type"] == "missing" else _shown(detail["input"])
    if detail["type"] == "value_error":
        return Problem(_named(place), str(cause), value)
    return Problem(_named(_whole(place)), _rule(place, detail["type"], detail.get("ctx") or {}, detail["msg"]), value)


def _rule(place: tuple[int | str, ...], kind: str, context: Mapping[str, Any], message: str) -> str:
    if kind in {"literal_error", "enum"}:
        return f"be one of {context['expected'].replace(chr(39), '').replace(' or ', ', ')}"
    if "domain" in place:
        return "be two values, such as [0, 120]"
    if kind in {"too_short", "too_long"}:
        return "have at least one entry"
    for bound, said in _BOUNDS.items():
        if bound in context:
            return f"be {said} {context[bound]:g}"
    return _RULES.get(kind) or f"be valid: {message}"


def _unknown_key(place: tuple[int | str, ...], model: type[BaseModel]) -> Problem:
    *above, key = place
    models = _models(str(above[0])) if above else (model,)
    known = sorted({name for one in models for name in one.model_fields})
    begun = [name for name in known if name.startswith(str(key))]
    close = begun or get_close_matches(str(key), known, n=1, cutoff=0.5)
    advice = f"did you mean {close[0]}?" if close else f"known here: {', '.join(known)}"
    return Problem(f"key {_named(place)}", "be one that reanon knows", help=advice)


def _models(key: str) -> Iterable[type[BaseModel]]:
    return SOURCES.values() if key == "source" else _MODELS.get(key, ())


def _whole(place: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """The key to report: the whole domain, not its second entry."""
    return place[: place.index("domain") + 1] if "domain" in place else place


def _named(place: tuple[int | str, ...]) -> str:
    """The key of a value, as a steward looks for it: releases.names, entry 2."""
    name = ""
    for part in place:
        if isinstance(part, int):
            name += f", entry {part + 1}"
        elif part != "[key]":
            name += f".{part}" if name else part
    return name or "series.yaml"


def _shown(value: object) -> str | None:
    """A short value; None for one that is too long or nested for a sentence."""
    if value is None:
        return "empty"
    return str(value) if isinstance(value, str | int | float) and len(str(value)) <= 60 else None
