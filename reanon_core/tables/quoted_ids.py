"""Messages about a table whose columns or cells were mixed up: they quote values, and must not quote an id."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from reanon_core.model.errors import Problem

if TYPE_CHECKING:
    import pyarrow as pa

SHORTEST = 5
"""How long an id is at least that can be told from any other value."""
HIDDEN = "not shown, because there seem to be ids among the values"
NUMBERED = re.compile(r"[^\W\d_].*\d{5}|\d{5}.*[^\W\d_]")
"""What is an id in most tables, and neither a number nor a date: letters, and five digits in a row."""
_QUOTES = re.compile(r"['\"]")
_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""


def without_ids(problems: Sequence[Problem], ids: "pa.ChunkedArray | None") -> list[Problem]:
    """The problems without values that contain an id of the table, or look like one."""
    import pyarrow as pa

    if ids is None:  # then its values may be in any other column
        return [replace(one, value=HIDDEN) if _QUOTES.search(one.value or "") else one for one in problems]
    try:
        texts = ids.cast(pa.string()).unique().to_pylist() if problems else []
    except pa.ArrowException:  # ids of another type are no text that a value could contain
        texts = []
    long = {text for text in texts if text and len(text) >= SHORTEST}
    shapes = {shape for shape in map(_shape, long) if "9" in shape}
    return [
        replace(problem, value=HIDDEN) if problem.value and _quotes_id(problem.value, long, shapes) else problem
        for problem in problems
    ]


def _quotes_id(value: str, ids: set[str], shapes: set[str]) -> bool:
    """Whether one of the values that a problem lists is an id: text in quotes, numbers without.

    The ids of the table are not all that there are: a damaged row may have its id in another column only.
    """
    numbers = re.findall(r"\d+", value.partition(" in ")[0])
    if any(number in ids for number in numbers):
        return True
    quoted = re.findall(_QUOTED, value)
    if any(NUMBERED.search(text) for text in quoted):
        return True
    shaped = [_shape(text) for text in quoted]
    return any(shape in text for text in shaped for shape in shapes) or any(
        id_ in text for text in quoted for id_ in ids
    )


def _shape(text: str) -> str:
    """The text with 9 for each digit and a for each letter."""
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", text))
