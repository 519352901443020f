"""docs/series-yaml.md, generated from the models: `python docs/series_reference.py`."""

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Callable, Iterator
from decimal import Decimal
from enum import Enum
from itertools import pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from reanon_core.protocols import Technique
from reanon_dagster.series.config import (
    Column,
    CronReleases,
    MoreCheck,
    NamedReleases,
    Private,
    Publish,
    RegularReleases,
    SensitiveColumn,
    SeriesConfig,
    TechniqueConfig,
)
from reanon_dagster.series.engine_config import Embedded, Engine, Spark
from reanon_dagster.series.expectations import ExpectationConfig
from reanon_dagster.series.knowledge_config import Adversary, KnowledgeConfig
from reanon_dagster.series.store_key import StoreKey
from reanon_dagster.series.template import SERIES_YAML
from reanon_dagster.sources.kinds.catalog import SOURCES

TARGET = Path(__file__).with_name("series-yaml.md")

_SECTIONS: tuple[tuple[str, type[BaseModel]], ...] = (
    ("The file", SeriesConfig),
    *((f"source: {source.title}", source) for source in SOURCES.values()),
    ("releases: a cadence", RegularReleases),
    ("releases: cron", CronReleases),
    ("releases: names", NamedReleases),
    ("quasi_identifiers: each column", Column),
    ("sensitive", SensitiveColumn),
    ("technique", TechniqueConfig),
    ("knowledge", KnowledgeConfig),
    ("adversary", Adversary),
    ("checks: each check", MoreCheck),
    ("expectations: each entry", ExpectationConfig),
    ("publish", Publish),
    ("engine", Engine),
    ("engine: embedded", Embedded),
    ("engine: spark", Spark),
    ("private", Private),
    ("private: key", StoreKey),
)
_NOTES: dict[type[BaseModel], str] = {
    SensitiveColumn: "A plain name is short for `{column: name}`.",
    **{source: source.note for source in SOURCES.values() if source.note},
    CronReleases: "A release is due on the day of its tick. With a day of month and a day of week, either is enough.",
    NamedReleases: "A named release is always due.",
    TechniqueConfig: "Parameters are written beside the name: `{name: m-invariance, m: 2, not_eligible: defer}`.",
    KnowledgeConfig: "[Background knowledge](techniques/js-reduce.md#knowledge) describes the files.",
    ExpectationConfig: "[Expectations](adding-a-series.md#expectations) has examples: "
    "`{type: expect_column_mean_to_be_between, column: age, min_value: 20, max_value: 70}`, or `{suite: suite.json}`.",
    Engine: "A plain `embedded` is short for `{embedded: {}}`. Name one of the two.",
    Spark: "[On a cluster](performance.md#on-a-cluster) says how to set it up.",
    MoreCheck: "A plain name is short for `{name: name}`; parameters follow it: `{name: k-anonymity, k: 5}`.",
}
_HEAD = (
    "Every key of a series file. This page is generated from the models in `reanon_dagster/series/config.py` by "
    "`python docs/series_reference.py`. Unknown keys are errors. Paths are relative to the file's "
    "folder. Values are read as written: `no`, `007` and `2024-03-01` stay text unless a key needs another type."
)
_WORDS = {
    Callable: "module:function",
    str: "text",
    int: "whole number",
    Decimal: "number",
    float: "number",
    bool: "true or false",
}


def markdown() -> str:
    """The whole page."""
    lines = [
        "# series.yaml",
        "",
        textwrap.fill(_HEAD, 120, break_long_words=False, break_on_hyphens=False),
        "",
        "## A full example",
        "",
        "`reanon init DIR` writes this file and two small snapshots.",
        "",
        "```yaml",
        SERIES_YAML.rstrip(),
        "```",
    ]
    for heading, model in _SECTIONS:
        lines += ["", f"## {heading}", "", (model.__doc__ or "").strip(), ""]
        if model in _NOTES:
            lines += [_NOTES[model], ""]
        lines += _table(model)
        if model is TechniqueConfig:
            lines += _techniques()
    return "\n".join(lines) + "\n"


def _techniques() -> Iterator[str]:
    """A section with a table of parameters for each technique."""
    from reanon_core.catalog import TECHNIQUES

    for name, technique in TECHNIQUES.items():
        yield from ("", f"### {name}", "", (technique.__doc__ or "").strip().splitlines()[0], "")
        yield from ("| parameter | type | default | frozen at the first release | meaning |", "|---|---|---|---|---|")
        meanings, types = _meanings(technique), get_type_hints(technique)
        parameters = dataclasses.fields(technique)  # type: ignore[arg-type]  # a technique is a dataclass
        declared = technique.declaration.weakest
        usual = technique(**declared)
        for parameter in (field for field in parameters if field.init):
            required = parameter.default is dataclasses.MISSING
            chosen = parameter.default if parameter.name in declared else getattr(usual, parameter.name)
            default = "required" if required else f"`{chosen}`"
            pairs = sorted(technique.declaration.followers.get(parameter.name, ()))
            may = f"yes, but {', '.join(f'{before} may become {after}' for before, after in pairs)}" if pairs else "yes"
            frozen = may if parameter.name not in technique.changeable else "no"
            cells = (f"`{parameter.name}`", _type(types[parameter.name]), default, frozen, meanings[parameter.name])
            yield f"| {' | '.join(cells)} |"
        if technique.declaration.variants:
            yield _variants(name, technique)


def _variants(name: str, technique: type[Technique[Any, Any]]) -> str:
    """The row for the words that set several parameters at once."""
    from reanon_core.catalog import build_technique
    from reanon_core.techniques.decoupled import default_form

    variants, meanings = technique.declaration.variants, []
    for word, options in variants.items():
        form = default_form(build_technique(name, {**technique.declaration.weakest, "variant": word}))
        meanings.append(
            f"{word} is {', '.join(f'`{key}: {_written(value)}`' for key, value in options.items())}, "
            f"and `form: {form}` under `publish`"
        )
    meaning = f"Sets parameters that are not written beside it: {'; '.join(meanings)}."
    return f"| `variant` | {' or '.join(variants)} | none | as they are | {meaning} |"


def _meanings(technique: type) -> dict[str, str]:
    """The docstring under each field of a dataclass."""
    body = ast.parse(textwrap.dedent(inspect.getsource(technique))).body[0]
    lines = body.body if isinstance(body, ast.ClassDef) else []
    return {
        line.target.id: " ".join(below.value.value.split())
        for line, below in pairwise(lines)
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
    }


def _table(model: type[BaseModel]) -> Iterator[str]:
    yield "| key | type | default | meaning |"
    yield "|---|---|---|---|"
    own = vars(model).get("__annotations__", {})
    for name, field in sorted(model.model_fields.items(), key=lambda item: item[0] not in own):  # inherited keys last
        cells = (f"`{name}`", _type(field.annotation), _default(field), str(field.description))
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default
    return "none" if value is None or value == "" else f"`{_written(value)}`"


def _written(value: object) -> str:
    """A value as written in the file."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, BaseModel):
        return f"{{{', '.join(f'{key}: {_written(inner)}' for key, inner in value)}}}"
    if isinstance(value, tuple):
        return f"[{', '.join(_written(inner) for inner in value)}]"
    return '","' if value == "," else str(value)


def _type(annotation: Any) -> str:
    """A type in the words of series.yaml."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(inner[0])
    if origin is Literal:
        return " or ".join(str(value) for value in inner)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_type(part) for part in inner if part is not NoneType))
    if origin is tuple:
        return f"list of {_type(inner[0])}" if inner[-1] is Ellipsis else f"list of {len(inner)}"
    if origin is None and issubclass(annotation, Enum):
        return " or ".join(str(member.value) for member in annotation)
    return _WORDS.get(origin or annotation, "keys with values")


if __name__ == "__main__":
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(markdown(), encoding="utf-8")
