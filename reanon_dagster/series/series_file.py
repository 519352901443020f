"""Finds and reads series.yaml: a Series, or every error at once.

YAML guesses types: 2024-03-01 becomes a date, 010 becomes 8, no becomes false. Here every plain scalar stays
the text that the steward wrote, and the models decide what it means.
"""

import os
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from reanon_core.columns import label
from reanon_core.model.errors import InvalidSchema, Problem, collect_problems, require
from reanon_core.model.published_columns import clash_problems
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_dagster.series.columns import quasi_identifier, read_taxonomy
from reanon_dagster.series.config import (
    Column,
    ColumnOrNothing,
    ExternalSchema,
    Publish,
    SchemaConfig,
    SensitiveColumn,
    SeriesConfig,
)
from reanon_dagster.series.engine_config import Engine
from reanon_dagster.series.expectations import read_expectations
from reanon_dagster.series.field_types import Part, as_list
from reanon_dagster.series.selections import Selection, parse_selections
from reanon_dagster.series.series import Series, build_technique, decoupled_or_not
from reanon_dagster.series.store_key import StoreKey
from reanon_dagster.series.validation_messages import problems_of

if TYPE_CHECKING:
    from reanon_dagster.series.field_types import Parameters
    from reanon_dagster.sources.kinds.source import Source

__all__ = ["Series", "examine_series", "find_series", "load_schema", "load_series", "read_yaml"]

P = TypeVar("P", bound=Part)

_SERIES_ONLY = ("series", "source", "releases", "technique")
"""A file with one of these keys is a whole series file."""


def load_series(path: Path, *, lazily: bool = False, settings: Mapping[str, Any] | None = None) -> Series:
    """The series that a file describes; for a folder, the series.yaml in it. Settings take the place of the file's.

    `lazily` does not build the technique and the checks, so the compiler is not loaded and their errors go unnoticed.

    Raises: InvalidSchema with every problem at once.
    """
    series, problems = examine_series(path, lazily=lazily, settings=settings)
    require(problems, InvalidSchema)
    if series is None:
        raise AssertionError("a series without problems has all its parts")
    return series


def examine_series(
    path: Path, *, lazily: bool = False, settings: Mapping[str, Any] | None = None
) -> tuple[Series | None, list[Problem]]:
    """Every problem of a series file, and the series as far as its snapshots can be read; None if they cannot.

    Raises: InvalidSchema if the file is not YAML.
    """
    file = _file(path)
    folder = file.resolve().parent
    raw = read_yaml(file) if settings is None else settings
    problems: list[Problem] = []
    config, parts = _validated(SeriesConfig, raw, problems)
    source = raw.get("source")
    schema = _schema(raw, source.get("id") if isinstance(source, dict) else None, parts, folder, problems)
    problems += folder_problems(parts, folder)
    problems += _column_problems(parts, schema)
    if not lazily:
        problems += _varying_column_problems(parts)
        _build_technique(parts, schema, file, problems)
        select = parts["releases"].select if parts.get("releases") else {}
        selections = collect_problems(problems, parse_selections, select)
        problems += _revealing_selections(selections or {}, parts.get("sensitive"))
        _read_knowledge(parts, schema, folder, problems)
        collect_problems(problems, read_expectations, parts.get("expectations") or (), folder)
    if config is None or schema is None:
        return None, problems
    return Series(folder, config, schema, config.releases.calendar()), problems


def load_schema(path: Path) -> ExternalSchema:
    """How a file describes the columns of releases.

    The file is a series file, or one that describes columns only.

    Raises: InvalidSchema with every problem at once.
    """
    file = _file(path)
    raw = read_yaml(file)
    if any(key in raw for key in _SERIES_ONLY):
        series = load_series(file, lazily=True)
        vary = series.config.releases.columns
        return ExternalSchema(series.config.source.id, series.schema, frozenset(series.schema.columns if vary else ()))
    problems: list[Problem] = []
    config, parts = _validated(SchemaConfig, raw, problems)
    schema = _schema(raw, parts.get("id"), parts, file.resolve().parent, problems)
    require(problems, InvalidSchema)
    if config is None or schema is None:
        raise AssertionError("a schema without problems has all its parts")
    return ExternalSchema(config.id, schema, frozenset(config.optional), config.decimal)


def _file(path: Path) -> Path:
    return path / "series.yaml" if path.is_dir() else path


def _validated(model: type[P], raw: Mapping[str, Any], problems: list[Problem]) -> tuple[P | None, dict[str, Any]]:
    """The whole file as its model, or None if it is invalid; and its valid parts."""
    try:
        config = model.model_validate(raw)
    except ValidationError as error:
        problems += problems_of(error, model)
        return None, _valid_parts(model, raw)
    return config, dict(config)


def _valid_parts(model: type[Part], raw: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of an invalid file that are valid by themselves, so that their inner errors are found, too."""
    parts: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if name in raw:
            parts[name] = _valid(Annotated[field.annotation, field], raw[name])
        elif not field.is_required():
            parts[name] = field.default
    columns = raw.get("quasi_identifiers")
    if isinstance(columns, dict):
        parts["quasi_identifiers"] = {name: _valid(ColumnOrNothing, column) for name, column in columns.items()}
    return parts


def _valid(kind: Any, value: object) -> Any:
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return None


def _schema(
    raw: Mapping[str, Any], id_column: object, parts: Mapping[str, Any], folder: Path, problems: list[Problem]
) -> Schema | None:
    """The schema, if every column is valid and has one role."""
    configs: dict[str, Column | None] = parts.get("quasi_identifiers") or {}
    columns = [
        collect_problems(problems, quasi_identifier, name, config, folder) for name, config in configs.items() if config
    ]
    valid = [column for column in columns if column is not None]
    sensitive: SensitiveColumn | None = parts.get("sensitive")
    clashes = list(_role_problems(raw, id_column)) or list(_published_problems(valid, parts))
    problems.extend(clashes)
    protected = collect_problems(problems, _sensitive, sensitive, folder) if sensitive else None
    if clashes or protected is None or len(valid) < max(1, len(configs)):
        return None
    schema = Schema(quasi_identifiers=tuple(valid), sensitive=protected, other=parts.get("other") or ())
    publish: Publish | None = parts.get("publish")
    return schema if publish is None else schema.with_ends(publish.ends)


def _sensitive(sensitive: SensitiveColumn, folder: Path) -> Sensitive:
    """The column to protect, with its declared values if any: a list, or the leaves of a taxonomy."""
    if sensitive.taxonomy is None:
        return Sensitive(name=sensitive.column, values=_declared_values(sensitive), closed=sensitive.values is not None)
    if sensitive.values is not None:
        raise InvalidSchema(Problem("sensitive", "have values or a taxonomy, not both"))
    tree = read_taxonomy(sensitive.column, folder / sensitive.taxonomy, sensitive.taxonomy)
    return Sensitive(name=sensitive.column, values=tree.leaves, closed=True, taxonomy=tree)


def _declared_values(sensitive: SensitiveColumn) -> tuple[str, ...]:
    values = [label(value) for value in sensitive.values or ()]
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice or (sensitive.values is not None and not values):
        raise InvalidSchema(Problem("sensitive.values", "list every value once", ", ".join(twice[:5]) or "empty"))
    return tuple(values)


def _role_problems(raw: Mapping[str, Any], id_column: object) -> Iterator[Problem]:
    """Columns with more than one role, also in parts of the file that are otherwise invalid."""
    columns, sensitive = raw.get("quasi_identifiers"), raw.get("sensitive")
    other = as_list(raw.get("other"))
    roles = [
        (id_column, "id"),
        *([(name, "quasi-identifier") for name in columns] if isinstance(columns, dict) else []),
        (sensitive.get("column") if isinstance(sensitive, dict) else sensitive, "sensitive"),
        *([(name, "other") for name in other] if isinstance(other, list) else []),
    ]
    for name in dict.fromkeys(name for name, _ in roles if isinstance(name, str)):
        has = [role for named, role in roles if named == name]
        if len(has) > 1:
            yield Problem(f"column {name}", "have one role only", " and ".join(has))


def _published_problems(columns: list[QuasiIdentifier], parts: Mapping[str, Any]) -> Iterator[Problem]:
    """Columns whose names would clash in the published table."""
    sensitive = parts.get("sensitive")
    if not columns or not sensitive:
        return
    schema = Schema(
        quasi_identifiers=tuple(columns), sensitive=Sensitive(name=sensitive.column), other=parts.get("other") or ()
    )
    yield from clash_problems(schema)


def _revealing_selections(selections: Mapping[str, Selection], sensitive: SensitiveColumn | None) -> Iterator[Problem]:
    """Predicates over the sensitive column: being in the release, or not, would reveal it."""
    for selection in selections.values():
        if sensitive is not None and sensitive.column.lower() in {name.lower() for name in selection.columns}:
            rule = f"not use the sensitive column {sensitive.column}: being in the release, or not, would reveal it"
            yield Problem(selection.key, rule, selection.text)


def folder_problems(parts: Mapping[str, Any], folder: Path) -> Iterator[Problem]:
    """Private data inside the public folder, or the other way round."""
    if not (parts.get("publish") and parts.get("private")):
        return
    public = (folder / parts["publish"].to).resolve()
    private = (folder / parts["private"].to).resolve()
    if private.is_relative_to(public) or public.is_relative_to(private):
        yield Problem("private.to", "lie apart from publish.to, neither inside the other", parts["private"].to)
    yield from _key_problems(parts["publish"].sign, parts["private"].key, folder, public, private)
    yield from _spark_problems(parts.get("engine"), folder, public)
    source: Source | None = parts.get("source")
    for key, path in source.private_paths().items() if source else ():
        if (folder / path).resolve().is_relative_to(public):
            yield Problem(f"source.{key}", "lie outside publish.to, because snapshots are private", path)


def _key_problems(
    sign: str | None, key: StoreKey | None, folder: Path, public: Path, private: Path
) -> Iterator[Problem]:
    """Keys that everyone could read, or that lie beside what they encrypt."""
    if sign is not None and (folder / sign).resolve().is_relative_to(public):
        yield Problem("publish.sign", "lie outside publish.to, because the key is private", sign)
    if key is not None and key.file is not None:
        place = (folder / key.file).resolve()
        if place.is_relative_to(public) or place.is_relative_to(private):
            rule = "lie outside publish.to and private.to, because a key beside its store protects nothing"
            yield Problem("private.key.file", rule, key.file)


def _spark_problems(engine: Engine | None, folder: Path, public: Path) -> Iterator[Problem]:
    """Private files of the engine in the public folder."""
    spark = engine.spark if engine else None
    for key in ("secret", "scratch") if spark else ():
        path = getattr(spark, key)
        if path is not None and (folder / path).resolve().is_relative_to(public):
            yield Problem(f"engine.spark.{key}", "lie outside publish.to, because it is private", path)


def _column_problems(parts: Mapping[str, Any], schema: Schema | None) -> Iterator[Problem]:
    """Columns of single releases that the series does not have."""
    releases = parts.get("releases")
    if schema is None or not releases:
        return
    for release, names in releases.columns.items():
        unknown = [name for name in names if name not in schema.columns]
        if unknown:
            rule = "name quasi-identifiers, the sensitive column or columns listed under other"
            yield Problem(f"releases.columns.{release}", rule, ", ".join(unknown))


def _varying_column_problems(parts: Mapping[str, Any]) -> Iterator[Problem]:
    """Columns of single releases, with a technique whose releases all show the same columns."""
    from reanon_core.catalog import TECHNIQUES

    releases, technique = parts.get("releases"), parts.get("technique")
    if not releases or not releases.columns or not technique or technique.name not in TECHNIQUES:
        return
    if not TECHNIQUES[technique.name].declaration.columns_vary:
        able = [name for name, one in TECHNIQUES.items() if one.declaration.columns_vary]
        rule = f"be left out with {technique.name}, whose releases show every column"
        yield Problem("releases.columns", rule, help=f"releases may differ in their columns with {', '.join(able)}")


def _build_technique(parts: Mapping[str, Any], schema: Schema | None, file: Path, problems: list[Problem]) -> None:
    """Build the technique and the checks once, to find their errors."""
    from reanon_core.catalog import build_check, own_checks

    technique: Parameters | None = parts.get("technique")
    built = collect_problems(problems, build_technique, technique) if technique else None
    publish = parts.get("publish")
    if built is not None and publish is not None:
        built = collect_problems(problems, decoupled_or_not, built, publish)
    if built is not None and schema is not None:
        collect_problems(problems, built.accepts, schema)
    known = set() if built is None else {check.name for check in own_checks(built)}
    for place, check in enumerate(parts.get("checks") or ()):
        found: list[Problem] = []
        collect_problems(found, build_check, check.name, check.params)
        if check.name in known:
            found.append(Problem(f"check {check.name}", "be declared once; the technique or the list has it already"))
        known.add(check.name)
        problems += [replace(one, what=f"{_line_of(file, 'checks', place)}{one.what}") for one in found]


def _line_of(file: Path, key: str, place: int) -> str:
    """Where the file has an entry of a list, to begin a problem with; nothing if the settings are in no file."""
    if not file.is_file():
        return ""
    root = yaml.compose(file.read_text(encoding="utf-8"))
    listed = next(value for name, value in root.value if name.value == key)
    entry = listed.value[place] if isinstance(listed, yaml.SequenceNode) else listed
    return f"{file.name}, line {entry.start_mark.line + 1}: "


def _read_knowledge(parts: Mapping[str, Any], schema: Schema | None, folder: Path, problems: list[Problem]) -> None:
    """Read the files of `knowledge` once, to find their errors."""
    from reanon_dagster.series.background_knowledge import build_background

    adversary = parts.get("adversary")
    for key, config in (
        ("knowledge", parts.get("knowledge")),
        ("adversary.knowledge", adversary and adversary.knowledge),
    ):
        if config is not None and schema is not None:
            collect_problems(problems, build_background, config, schema, folder, key)


VARIABLE = "REANON_SERIES"
FILE = "series.yaml"


def find_series(root: Path | None = None) -> list[Path]:
    """The series files under `root`/data/* and under the folders of REANON_SERIES, each once, sorted."""
    base = root or Path.cwd()
    found = {path.resolve(): path for path in (base / "data").glob(f"*/{FILE}")}
    for listed in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        folder = Path(listed)
        for path in (folder / FILE, *folder.glob(f"*/{FILE}")):
            if path.is_file():
                found.setdefault(path.resolve(), path)
    return [found[key] for key in sorted(found)]


LARGEST = 1 << 20
"""The size of a series file, in bytes: taxonomies and data are files of their own."""
DEEPEST = 40
"""How deep lists and mappings may lie inside each other."""
MOST_NODES = 20_000
"""How many values and keys a file may have once its aliases are written out: a few lines can stand for billions."""
NOTHING = "tag:yaml.org,2002:null"
_KEPT = (NOTHING, "tag:yaml.org,2002:merge")


class _TextLoader(yaml.SafeLoader):
    """A loader that keeps scalars as text, reports repeated keys, and stops at what is too deep or too large."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.problems: list[Problem] = []
        self._depth = 0
        self._sizes: dict[yaml.Node, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """The next value with everything in it; an alias counts as if it were written out."""
        alias, mark = self.check_event(yaml.AliasEvent), self.peek_event().start_mark  # type: ignore[no-untyped-call]
        if self._depth == DEEPEST:
            raise yaml.MarkedYAMLError(problem=f"lists and mappings lie more than {DEEPEST} deep", problem_mark=mark)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        if node is None:
            return None
        if node not in self._sizes:
            if alias:
                raise yaml.MarkedYAMLError(problem="an alias refers to what it is part of", problem_mark=mark)
            self._sizes[node] = 1 + sum(self._sizes[inner] for inner in _inner(node))
        if self._sizes[node] > MOST_NODES:
            raise yaml.MarkedYAMLError(problem=f"there are more than {MOST_NODES:,} values", problem_mark=mark)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002
        """The mapping; plain YAML silently keeps the last of two equal keys."""
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == NOTHING:
                raise yaml.MarkedYAMLError(problem="a key is not text", problem_mark=key.start_mark)
            if key.value in seen:
                what = f"line {key.start_mark.line + 1}: key {key.value}"
                self.problems.append(Problem(what, "occur once"))
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _inner(node: yaml.Node) -> list[yaml.Node]:
    """The values that lie directly in a list, or the keys and values of a mapping."""
    if isinstance(node, yaml.MappingNode):
        return [one for pair in node.value for one in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else []


_TextLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag in _KEPT]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file.

    Raises: InvalidSchema if the file does not exist or contains no mapping.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise InvalidSchema(Problem(path.name, f"have at most {LARGEST:,} bytes", f"{path.stat().st_size:,}"))
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidSchema(Problem(path.name, "be encoded as utf-8")) from error
    except ValueError as error:  # a NUL in the path
        raise InvalidSchema(Problem("series file", "have a path without NUL", str(path))) from error
    except OSError as error:
        problem = Problem("series file", "exist and be readable", str(path), error.strerror)
        raise InvalidSchema(problem) from error
    try:
        loader = _TextLoader(text)
        data = loader.get_single_data()
    except yaml.YAMLError as error:
        raise InvalidSchema(_syntax(path.name, error)) from error
    require(loader.problems, InvalidSchema)
    if not isinstance(data, dict):
        raise InvalidSchema(Problem(path.name, "contain keys with values, such as series: hospital"))
    return data


def _syntax(name: str, error: yaml.YAMLError) -> Problem:
    mark = getattr(error, "problem_mark", None)
    where = f"{name}, line {mark.line + 1}, column {mark.column + 1}" if mark else name
    return Problem(where, "be valid YAML", help=getattr(error, "problem", None))
