"""A figure of a paper: numbers for each population, and a picture of them."""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure as Picture
from populations import adult

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "docs" / "results" / "figures"
"""Where the numbers and pictures are that the documents show."""
DIGITS = 6
"""How many significant digits of a number are kept."""
TOLERANCE = 1e-4
"""By which share two numbers may differ: sums of floating-point numbers depend on the machine."""
TIMES = "cpu"
"""Keys that begin with this are times. Another run gives others, so they are not compared."""

Numbers = dict[str, Any]
"""What JSON can hold: dictionaries with strings as keys, lists, strings, numbers and None."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure or table of a paper on one or more populations, from fixed seeds."""

    title: str
    populations: tuple[str, ...]
    """Their names; `adult` is left out where its file is not there."""
    measure: Callable[[str, bool], Numbers]
    """The numbers of one population; the second argument asks for a tiny run, for tests."""
    draw: Callable[[dict[str, Numbers]], Picture]
    """The picture of the numbers, population by population."""

    def present(self) -> tuple[str, ...]:
        """The populations whose data is there."""
        return tuple(name for name in self.populations if name != "adult" or adult.FOLDER.exists())

    def document(self, *, small: bool) -> Numbers:
        """The figure as JSON: its title, and the numbers of each population."""
        return {"title": self.title, **{name: rounded(self.measure(name, small)) for name in self.present()}}


def rounded(value: Any) -> Any:
    """The same numbers with few digits, and no number that JSON does not know."""
    if isinstance(value, dict):
        return {str(key): rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value


def differences(kept: Any, found: Any, at: str = "") -> Iterator[str]:
    """Where two documents differ, as sentences; times are not compared."""
    if isinstance(kept, dict) and isinstance(found, dict):
        for key in sorted({*kept, *found}):
            if not key.startswith(TIMES):
                yield from differences(kept.get(key), found.get(key), f"{at}/{key}")
    elif isinstance(kept, list) and isinstance(found, list) and len(kept) == len(found):
        for number, (one, other) in enumerate(zip(kept, found, strict=True)):
            yield from differences(one, other, f"{at}/{number}")
    elif not _same(kept, found):
        yield f"{at[1:]}: {found!r} instead of {kept!r}"


def _same(kept: Any, found: Any) -> bool:
    if isinstance(kept, float) and isinstance(found, int | float):
        return math.isclose(kept, found, rel_tol=TOLERANCE, abs_tol=TOLERANCE / 100)
    return bool(kept == found)


def written(document: Numbers, path: Path) -> None:
    """Write a document, with a list of numbers on one line."""
    path.write_text(_lines(document) + "\n", encoding="utf-8")


def _lines(value: Any, indent: str = "") -> str:
    if isinstance(value, dict) and value:
        inner = indent + " "
        return (
            "{\n"
            + ",\n".join(f"{inner}{json.dumps(k)}: {_lines(v, inner)}" for k, v in value.items())
            + f"\n{indent}}}"
        )
    return json.dumps(value)
