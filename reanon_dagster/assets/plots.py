"""The history of a series as a picture that Dagster shows at once, beside the numbers of a release."""

import base64
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

LONGEST = 999
"""Dagster draws Markdown in place if it has fewer than 1,000 characters; anything longer needs a click."""
WIDTH, HEIGHT, PANEL = 480, 60, 120
BASE, TOP = 44, 16
COLOURS = ("#4f6d7a", "#c0543c", "#e0a030", "#7a6f9b")


def history_plot(releases: Sequence[str], numbers: Mapping[str, Sequence[float]]) -> str:
    """One row of bars for each number, one bar for each release, as a Markdown image.

    The latest releases are shown, as many as Dagster draws in place.

    Requires: at most four numbers, each with one value for each release.
    """
    for shown in range(len(releases), 0, -1):
        image = _markdown(releases[-shown:], {name: values[-shown:] for name, values in numbers.items()})
        if len(image) <= LONGEST:
            return image
    return ""


def _markdown(releases: Sequence[str], numbers: Mapping[str, Sequence[float]]) -> str:
    panels = [_panel(PANEL * at, COLOURS[at], name, values) for at, (name, values) in enumerate(numbers.items())]
    period = releases[0] if len(releases) == 1 else f"{releases[0]} to {releases[-1]}"
    picture = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-size="10" fill="#888">'
        f'{"".join(panels)}<text y="57">{escape(period)}</text></svg>'
    )
    return f"![history](data:image/svg+xml;base64,{base64.b64encode(picture.encode()).decode()})"


def _panel(left: int, colour: str, name: str, values: Sequence[float]) -> str:
    """A title and the bars; the highest bar has the height of the panel."""
    greatest = max(values, default=0) or 1
    step = (PANEL - 14) / max(len(values), 8)
    bars = "".join(
        f"M{left + round(step * (at + 0.5))} {BASE}v-{max(1, round((BASE - TOP) * value / greatest))}"
        for at, value in enumerate(values)
        if value > 0
    )
    title = f'<text x="{left}" y="10">{escape(name)}</text>'
    return f'{title}<path stroke="{colour}" stroke-width="{max(1, round(step * 0.7))}" d="{bars}"/>' if bars else title
