"""From series.yaml to a Series, or to every error in it at once."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from reanon_core.columns import label
from reanon_core.model.errors import InvalidSchema, Problem, kept, require
from reanon_core.model.schema import Missing, QuasiIdentifier, Schema, Sensitive
from reanon_dagster.series.columns import quasi_identifier, read_taxonomy
from reanon_dagster.series.config import Column, ColumnOrNothing, SensitiveColumn, SeriesConfig
from reanon_dagster.series.field_types import Part, Text, Texts, as_list, keyed_by
from reanon_dagster.series.selections import Selection, parsed
from reanon_dagster.series.series import Series, build_technique
from reanon_dagster.series.validation_messages import problems_of
from reanon_dagster.series.yaml_text import read_yaml

if TYPE_CHECKING:
    from reanon_dagster.series.field_types import Parameters
    from reanon_dagster.sources.kinds.source import Source

__all__ = ["Series", "load_schema", "load_series"]

P = TypeVar("P", bound=Part)

_SERIES_ONLY = ("series", "source", "releases", "technique")
"""A file with one of these keys is meant as a whole series file."""


class SchemaConfig(Part):
    """The columns of releases that others made: as much of a series file as an attack needs."""

    id: Text = Field(default="id", description="The column of the people file that tells who a row is about.")
    quasi_identifiers: dict[str, ColumnOrNothing] = Field(
        min_length=1, description="The columns that others may know of a person, each with its settings."
    )
    sensitive: Annotated[SensitiveColumn, keyed_by("column")] = Field(description="The column to protect.")
    other: Texts = Field(default=(), description="Further columns of the releases, as they are.")
    optional: Texts = Field(default=(), description="The columns that single releases may lack.")


def load_series(path: Path, *, lazily: bool = False) -> Series:
    """The series that a file declares; a folder stands for the series.yaml in it.

    `lazily` leaves the technique and the checks unbuilt, which saves loading the compiler.

    Raises: InvalidSchema with every problem at once.
    """
    file = _file(path)
    folder = file.resolve().parent
    raw = read_yaml(file)
    problems: list[Problem] = []
    config, parts = _validated(SeriesConfig, raw, problems)
    source = raw.get("source")
    schema = _schema(raw, source.get("id") if isinstance(source, dict) else None, parts, folder, problems)
    problems += _folder_problems(parts, folder)
    problems += _column_problems(parts, schema)
    if not lazily:
        problems += _varying_column_problems(parts)
        _build_technique(parts, schema, problems)
        selections = kept(problems, parsed, parts["releases"].select if parts.get("releases") else {})
        problems += _telling_selections(selections or {}, parts.get("sensitive"))
        _read_knowledge(parts, schema, folder, problems)
    require(problems, InvalidSchema)
    if config is None or schema is None:
        raise AssertionError("a series without problems has all its parts")
    return Series(folder, config, schema, config.releases.calendar())


def load_schema(path: Path) -> tuple[str, Schema, frozenset[str]]:
    """The id column, the schema that a file declares, and the columns that single releases may lack.

    The file is a series file, or one that only names columns.

    Raises: InvalidSchema with every problem at once.
    """
    file = _file(path)
    raw = read_yaml(file)
    if any(key in raw for key in _SERIES_ONLY):
        series = load_series(file, lazily=True)
        vary = series.config.releases.columns
        return series.config.source.id, series.schema, frozenset(series.schema.columns if vary else ())
    problems: list[Problem] = []
    config, parts = _validated(SchemaConfig, raw, problems)
    schema = _schema(raw, parts.get("id"), parts, file.resolve().parent, problems)
    require(problems, InvalidSchema)
    if config is None or schema is None:
        raise AssertionError("a schema without problems has all its parts")
    return config.id, schema, frozenset(config.optional)


def _file(path: Path) -> Path:
    return path / "series.yaml" if path.is_dir() else path


def _validated(model: type[P], raw: Mapping[str, Any], problems: list[Problem]) -> tuple[P | None, dict[str, Any]]:
    """The whole file as its model, or None; and its parts, those of a wrong file as far as they are right."""
    try:
        config = model.model_validate(raw)
    except ValidationError as error:
        problems += problems_of(error, model)
        return None, _right_parts(model, raw)
    return config, dict(config)


def _right_parts(model: type[Part], raw: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a wrong file that are right by themselves, so that their inner errors are found as well."""
    parts: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if name in raw:
            parts[name] = _right(Annotated[field.annotation, field], raw[name])
        elif not field.is_required():
            parts[name] = field.default
    columns = raw.get("quasi_identifiers")
    if isinstance(columns, dict):
        parts["quasi_identifiers"] = {name: _right(ColumnOrNothing, column) for name, column in columns.items()}
    return parts


def _right(kind: Any, value: object) -> Any:
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return None


def _schema(
    raw: Mapping[str, Any], id_column: object, parts: Mapping[str, Any], folder: Path, problems: list[Problem]
) -> Schema | None:
    """The schema, if every column is right and has one role."""
    declared: dict[str, Column | None] = parts.get("quasi_identifiers") or {}
    built = [kept(problems, quasi_identifier, name, column, folder) for name, column in declared.items() if column]
    right = [column for column in built if column is not None]
    sensitive: SensitiveColumn | None = parts.get("sensitive")
    clashes = list(_role_problems(raw, id_column)) or list(_published_problems(right, parts))
    problems.extend(clashes)
    protected = kept(problems, _sensitive, sensitive, folder) if sensitive else None
    if clashes or protected is None or len(right) < max(1, len(declared)):
        return None
    return Schema(quasi_identifiers=tuple(right), sensitive=protected, other=parts.get("other") or ())


def _sensitive(sensitive: SensitiveColumn, folder: Path) -> Sensitive:
    """The column to protect, with its values if they are declared: as a list, or as the leaves of a tree."""
    if sensitive.taxonomy is None:
        return Sensitive(name=sensitive.column, values=_declared_values(sensitive), closed=sensitive.values is not None)
    if sensitive.values is not None:
        raise InvalidSchema(Problem("sensitive", "have values or a taxonomy, and not both"))
    tree = read_taxonomy(sensitive.column, folder / sensitive.taxonomy, sensitive.taxonomy)
    return Sensitive(name=sensitive.column, values=tree.leaves, closed=True, taxonomy=tree)


def _declared_values(sensitive: SensitiveColumn) -> tuple[str, ...]:
    values = [label(value) for value in sensitive.values or ()]
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice or (sensitive.values is not None and not values):
        raise InvalidSchema(Problem("sensitive.values", "list every value once", ", ".join(twice[:5]) or "empty"))
    return tuple(values)


def _role_problems(raw: Mapping[str, Any], id_column: object) -> Iterator[Problem]:
    """Columns with more than one role, as written: also in parts that are otherwise wrong."""
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
    names = ["group_id"]
    for column in columns:
        names += [f"{column.name}_min", f"{column.name}_max"]
        names += [column.name] * column.hierarchical
        names += [f"{column.name}_missing"] * (column.missing is Missing.SEPARATE)
    if sensitive := parts.get("sensitive"):
        names.append(sensitive.column)
    names += parts.get("other") or ()
    lowered = [name.lower() for name in names]  # DuckDB does not tell upper from lower case
    for name in sorted({name for name in lowered if lowered.count(name) > 1}):
        yield Problem(f"published column {name}", "come from one column only", help="rename a column of the source")


def _telling_selections(selections: Mapping[str, Selection], sensitive: SensitiveColumn | None) -> Iterator[Problem]:
    """Predicates over what is protected: who is in the release and who is not would tell it."""
    for selection in selections.values():
        if sensitive is not None and sensitive.column.lower() in {name.lower() for name in selection.columns}:
            rule = f"not speak of the sensitive column {sensitive.column}: to be in the release, or not, would tell it"
            yield Problem(selection.key, rule, selection.text)


def _folder_problems(parts: Mapping[str, Any], folder: Path) -> Iterator[Problem]:
    """Private things under the public folder, or the other way round."""
    if not (parts.get("publish") and parts.get("private")):
        return
    public = (folder / parts["publish"].to).resolve()
    private = (folder / parts["private"].to).resolve()
    if private.is_relative_to(public) or public.is_relative_to(private):
        yield Problem("private.to", "lie apart from publish.to, neither inside the other", parts["private"].to)
    source: Source | None = parts.get("source")
    for key, path in source.private_paths().items() if source else ():
        if (folder / path).resolve().is_relative_to(public):
            yield Problem(f"source.{key}", "lie outside publish.to, because snapshots are private", path)


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


def _build_technique(parts: Mapping[str, Any], schema: Schema | None, problems: list[Problem]) -> None:
    """Build the technique and the checks once, for their errors."""
    from reanon_core.catalog import build_check

    technique: Parameters | None = parts.get("technique")
    built = kept(problems, build_technique, technique) if technique else None
    if built is not None and schema is not None:
        kept(problems, built.accepts, schema)
    for check in parts.get("checks") or ():
        kept(problems, build_check, check.name, check.params)


def _read_knowledge(parts: Mapping[str, Any], schema: Schema | None, folder: Path, problems: list[Problem]) -> None:
    """Read the files of `knowledge` once, for their errors."""
    from reanon_dagster.series.background_knowledge import background_of

    adversary = parts.get("adversary")
    for key, config in (
        ("knowledge", parts.get("knowledge")),
        ("adversary.knowledge", adversary and adversary.knowledge),
    ):
        if config is not None and schema is not None:
            kept(problems, background_of, config, schema, folder, key)
