"""From numbers to a page: a template for each kind, pictures inside the file, the same bytes for the same numbers."""

import base64
import io
import re
import warnings
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from reanon_core.estimate.ten_questions import shown_interval, shown_number

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup
    from matplotlib.axes import Axes

SALT = "reanon"
"""Names inside a picture are hashed with this, and not with something random."""
SIZE = (5.4, 3.0)
"""Inches: what is readable on a telephone is large enough on paper."""
INK, RED, AMBER, GREY = "#2f4f5c", "#b03a2e", "#c98a1b", "#8a8a8a"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "h", "p")
"""Shapes tell lines and points apart where colours are not printed."""


def page(template: str, **numbers: object) -> str:
    """The page of a template; every text in it is escaped."""
    return _environment().get_template(template).render(**numbers)


def picture(draw: "Callable[[Axes], None]", *, size: tuple[float, float] = SIZE) -> str:
    """A picture as the address of an image inside the page."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    # Text stays text: the reader's own fonts have the letters of any script, which those of matplotlib may lack.
    settings: Any = {"svg.hashsalt": SALT, "svg.fonttype": "none", "font.size": 10, "axes.spines.top": False}
    with mpl.rc_context({**mpl.rcParamsDefault, **settings, "axes.spines.right": False, "backend": "svg"}):
        figure = Figure(figsize=size, layout="constrained")
        canvas = FigureCanvasSVG(figure)
        draw(figure.subplots())
        written = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph ")
            canvas.print_svg(written, metadata=nothing)  # type: ignore[no-untyped-call]
    encoded = base64.b64encode(written.getvalue().encode()).decode()
    return f"data:image/svg+xml;base64,{encoded}"


@cache
def _environment() -> "Environment":
    from jinja2 import DictLoader, Environment, StrictUndefined

    folder = files("reanon_dagster.report.pages") / "templates"
    texts = {
        one.name: one.read_text(encoding="utf-8") for one in folder.iterdir() if one.name.endswith((".html", ".css"))
    }
    environment = Environment(
        loader=DictLoader(texts), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= _FILTERS
    return environment


def whole(number: Any) -> str:
    """A number of things: 1,234; a dash if there is none."""
    return "–" if number is None else f"{number:,.0f}"


def share(number: Any) -> str:
    """A share with two digits: 55%, 9.1%, 0.64%; a dash if there is none."""
    if number is None:
        return "–"
    percent = 100 * number
    return f"{percent:,.{0 if percent >= 9.95 else 1 if percent >= 0.995 or not percent else 2}f}%"


def figure(number: Any) -> str:
    """A number with four digits; a dash if there is none."""
    return "–" if number is None else f"{number:,.4g}" if abs(number) < 10_000 else f"{number:,.0f}"


def answer(answer: Any, kind: str) -> str:
    """An answer to a question with its interval; a dash if there is none, a cross where the truth is outside."""
    if answer["estimate"] is None:
        return "–"
    text = shown_interval(kind, answer["estimate"], answer["low"], answer["high"])
    return f"{text} ✗" if answer["holds"] is False else text


def truth(number: Any, kind: str) -> str:
    """The true answer to a question; a dash if there is none."""
    return "–" if number is None else shown_number(kind, number)


def marked(text: str) -> "Markup":
    """A sentence with the bold parts and the names in code that Markdown has."""
    from markupsafe import Markup, escape

    told = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", str(escape(text)))
    return Markup(re.sub(r"`(.+?)`", r"<em>\1</em>", told))  # noqa: S704  what is not ours is escaped


_FILTERS: dict[str, Callable[..., str]] = {
    "whole": whole,
    "share": share,
    "figure": figure,
    "answer": answer,
    "truth": truth,
    "marked": marked,
}
