"""Small plots for the materialization page."""

import base64
import io
from collections.abc import Sequence

from reanon_dagster.releasing.evidence import ReleaseNumbers


def history_plot(history: Sequence[ReleaseNumbers]) -> str:
    """Rows and counterfeits of all releases so far, as a markdown image."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 2.4), dpi=80, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    names = [one.release for one in history]
    left, right = figure.subplots(1, 2)
    left.bar(names, [one.rows for one in history], color="#4f6d7a")
    left.set_title("published rows", fontsize=9)
    right.bar(names, [one.counterfeits for one in history], color="#c0543c")
    right.set_title("counterfeits among them", fontsize=9)
    for axes in (left, right):
        axes.tick_params(labelsize=7)
        axes.tick_params(axis="x", rotation=60)
        axes.spines[["top", "right"]].set_visible(False)
    image = io.BytesIO()
    canvas.print_png(image)  # type: ignore[no-untyped-call]
    return (
        f"![rows and counterfeits of all releases](data:image/png;base64,{base64.b64encode(image.getvalue()).decode()})"
    )
