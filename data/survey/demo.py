"""`make demo`: eight yearly releases of a synthetic survey in three ways, and what an adversary learns from each.

*boxes* and *decoupled* are reanon's two forms of m-invariance, published through Dagster. *naive* is made in memory:
Mondrian, with m people and m industries in every group, and no memory of earlier releases.
"""

import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

import dagster as dg
import numpy as np

from reanon_core.attacks.location import LOCATED, NEIGHBOUR, PEOPLE, REPLAY
from reanon_core.catalog import build_attack, build_technique
from reanon_core.metrics.query_error import CountingQueryError
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.ledger import Ledger
from reanon_core.replay import replay
from reanon_dagster.commands.output import progress, say, table
from reanon_dagster.definitions import series_definitions
from reanon_dagster.releasing.frozen_settings import continued
from reanon_dagster.releasing.query_error import WORKLOAD_SEED, percentage
from reanon_dagster.releasing.release_order import ready_release
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.series.series import Series
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.connection import opened

HERE = Path(__file__).parent
FORMS = {"boxes": HERE / "series.yaml", "decoupled": HERE.parent / "survey-decoupled" / "series.yaml"}
YEARS = [str(year) for year in range(2003, 2011)]
PLOT = Path("build") / "demo.png"
COLOURS = {"naive": "#c0543c", "boxes": "#4f6d7a", "decoupled": "#e0a030", "replayed": "#7a4f6d"}
METRIC = CountingQueryError(queries=10_000)
Numbers = dict[str, list[float]]
"""The ways, each with one number for each release."""


def main() -> int:
    """Generate what is missing, publish what is due, print the table, draw the plot."""
    if not all((HERE / "snapshots" / f"{year}.csv").exists() for year in YEARS):
        say(f"writing {len(YEARS)} snapshots of 7,000 synthetic people", quiet=False)
        generate = [sys.executable, str(HERE / "generate.py"), "--years", str(len(YEARS))]
        subprocess.run(generate, check=True)  # noqa: S603  our own script
    series = {form: continued(load_series(path)) for form, path in FORMS.items()}
    for form, path in FORMS.items():
        publish(series[form], path)
    with progress("attacking all three", quiet=False):
        ledgers = {form: ledger_of(one) for form, one in series.items()}
        m = int(str(series["boxes"].parameters["m"]))
        ledgers = {"naive": naive(ledgers["boxes"], m), **ledgers}
        k = series["decoupled"].config.publish.k
        exposed, error, places = exposures(ledgers), errors(ledgers), located({form: ledgers[form] for form in FORMS})
        notes = stronger_adversaries({form: ledgers[form] for form in FORMS})
    years = YEARS[: len(error["boxes"])]
    show(ledgers, years, (exposed, error, places), f"Household survey, yearly, m = {m}, k = {k}")
    withheld = sum(record.withheld for one in series.values() for record in read_view(one).records)
    say("exposed: people whose industry is certain once the releases so far are intersected", quiet=False)
    say("off by: the median error of 10,000 random counting queries", quiet=False)
    say("located: people with one place (group and box) left, for a neighbour who knows only them", quiet=False)
    say("replayed: the same, for somebody who knows everyone and computes everyone's box", quiet=False)
    for line in notes:
        say(line, quiet=False)
    say(f"withheld by boxes and decoupled: {withheld:,} people", quiet=False)
    draw(years, (exposed, error, places), PLOT)
    say(
        f"the plot is {PLOT}; the releases are in data/survey/published and data/survey-decoupled/published",
        quiet=False,
    )
    return 0


def publish(series: Series, path: Path) -> None:
    """Publish every release that can run, through the assets, so that `make ui` shows the runs."""
    say(f"{series.name}: publishing through Dagster: judged, published, attacked, measured", quiet=False)
    job = series_definitions(path).resolve_job_def(f"{series.name.replace('-', '_')}_release")
    quiet = {"loggers": {"console": {"config": {"log_level": "ERROR"}}}}
    with dg.DagsterInstance.get() as instance, progress(series.name, quiet=False) as step:
        while (release := ready_release(series, read_view(series).records, date.today())) is not None:  # noqa: DTZ011
            step(release)
            key = series.calendar.partition_key(release)
            job.execute_in_process(partition_key=key, instance=instance, run_config=quiet)
            record = read_view(series).records[-1]
            say(f"published {release}: {record.people:,} people", quiet=False)


def ledger_of(series: Series) -> Ledger:
    """The releases of a series with the truth behind them."""
    with opened(series.private_folder, read_only=True) as connection:
        return store_reader.ledger(connection, series.schema)


def naive(ledger: Ledger, m: int) -> Ledger:
    """The same snapshots, each anonymized by itself."""
    mondrian = build_technique("mondrian", {"k": m, "ell": m})
    return replay(mondrian, [entry.snapshot for entry in ledger.entries], np.random.default_rng(0), memory=False)


def exposures(ledgers: dict[str, Ledger]) -> Numbers:
    """How many people the releases up to each one expose to an intersection."""
    found: Numbers = {}
    for way, ledger in ledgers.items():
        history, presences = ledger.history(), ledger.knowledge().presences
        attack = build_attack("intersection")
        found[way] = [
            attack.run(History(history.schema, history.releases[:n]), Knowledge(presences[:n])).exposed
            for n in range(1, len(presences) + 1)
        ]
    return found


def errors(ledgers: dict[str, Ledger]) -> Numbers:
    """How far off a typical count from each release is, with more queries than `reanon publish` asks."""
    return {
        way: [METRIC.measure(entry, np.random.default_rng(WORKLOAD_SEED)) for entry in ledger.entries]
        for way, ledger in ledgers.items()
    }


def located(ledgers: dict[str, Ledger]) -> Numbers:
    """The share of people with one place left in the releases so far: for a neighbour, and after a replay of boxes."""
    found: Numbers = {}
    attack = build_attack("location")
    for way, ledger in ledgers.items():
        history, presences = ledger.history(), ledger.knowledge(groups_known=False).presences
        for n in range(1, len(presences) + 1):
            told = attack.run(History(history.schema, history.releases[:n]), Knowledge(presences[:n])).extra
            for adversary, column in ((NEIGHBOUR, way), (REPLAY, "replayed")):
                if f"{LOCATED}, {adversary}" in told:
                    found.setdefault(column, []).append(told[f"{LOCATED}, {adversary}"] / max(1.0, told[PEOPLE]))
    return found


def stronger_adversaries(ledgers: dict[str, Ledger]) -> list[str]:
    """Where people may be in the latest release, and what one person who tells their value makes of the others."""
    return [
        f"{name}, {way}: {build_attack(name).run(ledger.history(), ledger.knowledge()).note}"
        for name in ("location", "insider")
        for way, ledger in ledgers.items()
    ]


def show(ledgers: dict[str, Ledger], years: Sequence[str], numbers: tuple[Numbers, ...], title: str) -> None:
    """Print a line for each release."""
    exposed, error, places = numbers
    headings = ["release", "people"]
    columns = [list(years), [f"{entry.snapshot.size:,}" for entry in ledgers["boxes"].entries]]
    shown: list[tuple[str, Numbers, Callable[[float], str]]] = [
        ("exposed", exposed, lambda count: f"{count:,.0f}"),
        ("off by", error, percentage),
        ("located", places, percentage),
    ]
    for heading, measured, written in shown:
        for way, values in measured.items():
            headings.append(way if way == "replayed" else f"{heading}\n{way}")
            columns.append([written(value) for value in values])
    for form in FORMS:
        headings.append(f"counterfeits\n{form}")
        columns.append([f"{entry.auxiliary.total:,}" for entry in ledgers[form].entries])
    table(headings, list(zip(*columns, strict=True)), quiet=False, title=title)


def draw(years: Sequence[str], numbers: tuple[Numbers, ...], path: Path) -> None:
    """The three numbers over the releases, as lines."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.2), dpi=110, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    titles = ("people exposed", "a typical count is off by (%)", "people with one place left (%)")
    for axes, title, measured, scale in zip(figure.subplots(1, 3), titles, numbers, (1, 100, 100), strict=True):
        for way, values in measured.items():
            style = "--" if way == "boxes" else "-"  # where lines cover each other, both are seen
            points = [scale * value for value in values]
            axes.plot(years, points, marker="o", markersize=3, label=way, color=COLOURS[way], linestyle=style, zorder=3)
        axes.set_title(title, fontsize=10)
        axes.set_ylim(bottom=0)
        axes.tick_params(labelsize=8)
        axes.grid(axis="y", color="#dddddd")
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].legend(frameon=False, fontsize=9)
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        canvas.print_png(file)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    sys.exit(main())
