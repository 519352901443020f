"""Numbers with a decimal comma, rewritten with a point; what could be read in two ways is refused."""

import re

_THOUSANDS = re.compile(r"(?<![\d.])\d{1,3}(\.\d{3})+(?![\d.])", re.ASCII)
_POINTED = re.compile(r"\d+(?:\.\d+)+", re.ASCII)
_DECIMAL = re.compile(r"(?<=\d),(?=\d)", re.ASCII)
_ENCLOSED = re.compile(r"([\[(\]{])(.+)([\])\[}])", re.DOTALL)
_SEPARATED = re.compile(r";|,\s|\s,|\.\.|\sto\s|(?<=[\d*])\s?[-–]", re.ASCII)
"""What separates the two ends of an interval, or the members of a set, beside a comma without a space."""

_ONE_WAY = "be readable in one way"


class Ambiguous(ValueError):
    """A number whose point or comma has two readings. Its message is the rule that the text breaks."""


def with_decimal_points(text: str) -> str:
    """The same number, interval or set with decimal points.

    R writes the intervals of cut() with points and one comma without a space, (19.956,31.4], whatever the decimal mark
    of the file.

    Raises: Ambiguous.
    """
    enclosed = _ENCLOSED.fullmatch(text.strip())
    commas = [] if enclosed is None else [found.start() for found in _DECIMAL.finditer(enclosed[2])]
    separated = enclosed is None or _SEPARATED.search(enclosed[2]) is not None
    if enclosed is not None and not separated and len(commas) == 1 and _has_decimal_points(enclosed):
        return text
    if _THOUSANDS.search(text):
        raise Ambiguous(f"{_ONE_WAY}: with decimal commas, a point before three digits may group thousands")
    if enclosed is None or separated:
        return _DECIMAL.sub(".", text)
    if len(commas) == 3:
        inner = f"{enclosed[2][: commas[1]]}; {enclosed[2][commas[1] + 1 :]}"
        return f"{enclosed[1]}{_DECIMAL.sub('.', inner)}{enclosed[3]}"
    if len(commas) > 1 or (commas and enclosed[1] == "{"):
        raise Ambiguous(f"{_ONE_WAY}: write a space or a semicolon between two numbers with decimal commas")
    return text


def _has_decimal_points(interval: re.Match[str]) -> bool:
    """Whether the points of an interval with one comma are decimal points: R wrote it, or no thousands end there."""
    half_open = interval[1] + interval[3] in {"(]", "[)"}
    return half_open or any(not _THOUSANDS.fullmatch(number) for number in _POINTED.findall(interval[2]))
