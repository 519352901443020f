"""What a Python user may pass to a Series, and its schema: every wrong argument is reported at once, as a sentence."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core.columns import Categorical, Date, Numeric
from reanon_core.model.errors import (
    InvalidParameter,
    InvalidSchema,
    InvalidSnapshot,
    Problem,
    collect_problems,
    require,
)
from reanon_core.model.published_columns import clash_problems
from reanon_core.model.schema import Ends, Schema, Sensitive

if TYPE_CHECKING:
    import numpy.typing as npt

    from reanon_core.model.arrays import Bool
    from reanon_core.protocols import Technique
    from reanon_core.tables.ids import People

FORMS = ("boxes", "decoupled")
COLUMN_TYPES = (Numeric, Date, Categorical)
GUESSED = (
    "unsafe_seed gives the pseudonym key and every random choice away: who knows ids and quasi-identifiers finds it by "
    "trying, and recovers the values exactly; leave it out for data about people"
)
FORGETFUL = (
    "memory=False publishes every frame as if it were the first: comparing the releases determines people's values; "
    "use it as a baseline only"
)


def require_series_arguments(given: Mapping[str, object]) -> None:
    """Refuse arguments of `Series(...)` that have the wrong type.

    Raises: InvalidParameter with every problem at once.
    """
    problems = [*_column_problems(given), *_technique_problems(given["technique"], given["checks"])]
    if not isinstance(given["memory"], bool):
        problems.append(Problem("memory", "be True or False", _type(given["memory"])))
    if given["ends"] not in tuple(Ends):
        problems.append(Problem("ends", f"be {' or '.join(Ends)}", repr(given["ends"])))
    problems += _form_problems(given["form"], given["k"])
    if given["seed"] is not None:
        rule = "be left out: whoever guesses it knows the key of the pseudonyms and every random choice"
        problems.append(Problem("seed", rule, help="tests and pages pass unsafe_seed"))
    seed = given["unsafe_seed"]
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool) or seed < 0):
        problems.append(Problem("unsafe_seed", "be None or a whole number of at least 0", str(seed)))
    require(problems, InvalidParameter)


def series_schema(
    id_column: str,
    sensitive: str | Sensitive,
    quasi_identifiers: Mapping[str, Numeric | Date | Categorical],
    other: Sequence[str],
    ends: str,
) -> Schema:
    """The schema of the columns, each with one role and one published name.

    Raises: InvalidSchema with every problem at once.
    """
    problems: list[Problem] = []
    columns = [collect_problems(problems, column.described, name) for name, column in quasi_identifiers.items()]
    require(problems, InvalidSchema)
    protected = Sensitive(name=sensitive) if isinstance(sensitive, str) else sensitive
    if protected.values:  # as in series.yaml, no others may occur: only then does the public know all of them
        protected = replace(protected, values=tuple(protected.values), closed=True)
    schema = Schema(
        quasi_identifiers=tuple(column for column in columns if column is not None),
        sensitive=protected,
        other=tuple(other),
    )
    if id_column in schema.columns:
        problems.append(Problem(f"column {id_column}", "have one role only", "id and another"))
    problems += clash_problems(schema)
    require(problems, InvalidSchema)
    return schema.with_ends(Ends(ends))


def series_cautions(technique: "Technique[Any, Any]", *, memory: bool, seeded: bool) -> Iterator[str]:
    """What such a series gives away."""
    if seeded:
        yield GUESSED
    if not memory:
        yield FORGETFUL
    if technique.caution:
        yield f"{technique.name}: {technique.caution}"


def require_release_arguments(name: object, columns: object) -> None:
    """Refuse a name or a list of columns of a release that has the wrong type.

    Raises: InvalidParameter with every problem at once.
    """
    problems = [] if _is_text(name) else [Problem("name", "be a text that is not empty", repr(name))]
    if columns is not None and not _are_texts(columns):
        problems.append(Problem("columns", "be None or a list of column names", _type(columns)))
    require(problems, InvalidParameter)


def shown_columns(
    columns: Sequence[str] | None, schema: Schema, technique: "Technique[Any, Any]"
) -> tuple[str, ...] | None:
    """The columns that a release shows, in the order of the schema; None if it shows all.

    Raises: InvalidParameter with every problem at once.
    """
    if columns is None:
        return None
    problems = [
        Problem(f"columns: {name}", "be a column of the series", help=f"they are {', '.join(schema.columns)}")
        for name in columns
        if name not in schema.columns
    ]
    if not technique.declaration.columns_vary:
        problems.append(Problem("columns", f"be left out: every release of {technique.name} shows all columns"))
    require(problems, InvalidParameter)
    return tuple(name for name in schema.columns if name in columns)


def selection_mask(selected: "npt.ArrayLike", people: "People") -> "Bool":
    """Whether each person of a frame is selected, in ascending order of person.

    Raises: InvalidSnapshot.
    """
    mask = np.asarray(selected)
    if mask.dtype != np.bool_ or mask.shape != people.order.shape:
        rule = f"say true or false for each of the {len(people.order)} rows of the frame"
        raise InvalidSnapshot(Problem("selected", rule, f"{mask.dtype} of shape {mask.shape}"))
    return mask[people.order]


def _column_problems(given: Mapping[str, object]) -> Iterator[Problem]:
    if not _is_text(given["id"]):
        yield Problem("id", "be the name of the column that identifies a person", _type(given["id"]))
    if not _is_text(given["sensitive"]) and not isinstance(given["sensitive"], Sensitive):
        yield Problem("sensitive", "be the name of one column, or a Sensitive", _type(given["sensitive"]))
    if not _are_texts(given["other"]):
        yield Problem("other", "be a list of column names", _type(given["other"]))
    columns = given["quasi_identifiers"]
    rule = "be a Numeric, a Date or a Categorical"
    if not isinstance(columns, Mapping):
        yield Problem("quasi_identifiers", "be a dict from column names to columns", _type(columns))
        return
    for name, column in columns.items():
        if not _is_text(name):
            yield Problem("quasi_identifiers", "have column names as keys", repr(name))
        if not isinstance(column, COLUMN_TYPES):
            yield Problem(f"quasi_identifiers: {name}", rule, _type(column))


def _technique_problems(technique: object, checks: object) -> Iterator[Problem]:
    if isinstance(technique, type) or not hasattr(technique, "initial_state"):
        yield Problem("technique", "be a technique with its parameters, such as MInvariance(m=2)", _type(technique))
    if not isinstance(checks, Sequence) or isinstance(checks, str):
        yield Problem("checks", "be a list of checks", _type(checks))
        return
    for check in checks:
        if isinstance(check, type) or not hasattr(check, "examine"):
            yield Problem("checks", "hold checks, such as build_check('k-anonymity', {'k': 5})", _type(check))


def _form_problems(form: object, k: object) -> Iterator[Problem]:
    if form not in (None, *FORMS):
        yield Problem("form", f"be {' or '.join(FORMS)}", repr(form))
    if k is not None and (not isinstance(k, int) or isinstance(k, bool)):
        yield Problem("k", "be a whole number of at least 2", repr(k))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _are_texts(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(_is_text(one) for one in value)


def _type(value: object) -> str:
    return value.__name__ if isinstance(value, type) else type(value).__name__
