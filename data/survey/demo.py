"""`make demo`: eight yearly releases of a synthetic survey in three ways, and what an adversary learns from each.

*paper* is m-invariance as in the paper and *reanon* what a series gets that says nothing but m, both published through
Dagster. *naive* is made in memory: Mondrian, with m people and m industries in every group, and no memory of earlier
releases.
"""

import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

import dagster as dg
import numpy as np

from reanon_core.adversary_knowledge import with_algorithm
from reanon_core.catalog import SOURCE_ATTACK, build_attack, build_technique
from reanon_core.metrics.query_error import CountingQueryError
from reanon_core.metrics.relations import RelationsKept
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.ledger import Ledger
from reanon_core.replay import replay
from reanon_dagster.commands.output import progress, say
from reanon_dagster.definitions import series_definitions
from reanon_dagster.releasing.query_error import WORKLOAD_SEED, percentage, whole_percent
from reanon_dagster.releasing.release_order import ready_release
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.series.series import Series
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.connection import opened

HERE = Path(__file__).parent
NAIVE, PAPER, REANON = "naive", "paper", "reanon"
PUBLISHED = {PAPER: HERE.parent / "survey-paper" / "series.yaml", REANON: HERE / "series.yaml"}
BESIDE = HERE.parent / "survey-cor-split" / "series.yaml"
"""Three years with another technique, which are published and not compared: Dagster shows their checks."""
YEARS = [str(year) for year in range(2003, 2011)]
PLOT = Path("build") / "demo.png"
COLOURS = {NAIVE: "#c0543c", PAPER: "#4f6d7a", REANON: "#e0a030"}
METRIC = CountingQueryError(queries=10_000)
COLUMNS = 80
Ways = dict[str, list[float]]
"""The three ways, each with one number for each release."""
Numbers = tuple[Ways, Ways, Ways]
"""People exposed, relations kept, and how far off a count is."""
WORDS = (
    "exposed: people whose industry is certain to an adversary with all releases,",
    "  who knows who is in each and has read the program (naive: has not read it)",
    "kept: how much of the relations of quasi-identifiers and industry is seen",
    "off by: the median error of 10,000 random counting queries",
)


def main() -> int:
    """Generate what is missing, publish what is due, print the table, draw the plot."""
    if not all((HERE / "snapshots" / f"{year}.csv").exists() for year in YEARS):
        say(f"writing {len(YEARS)} snapshots of 7,000 synthetic people", quiet=False)
        generate = [sys.executable, str(HERE / "generate.py"), "--years", str(len(YEARS))]
        subprocess.run(generate, check=True)  # noqa: S603  our own script
    series = {way: load_series(path) for way, path in PUBLISHED.items()}
    for way, path in PUBLISHED.items():
        publish(series[way], path)
    publish(load_series(BESIDE), BESIDE)
    with progress("attacking all three", quiet=False) as step:
        own = {way: ledger_of(one) for way, one in series.items()}
        m = int(str(series[REANON].parameters["m"]))
        ledgers = {NAIVE: naive(own[REANON], m), **own}
        step("people exposed")
        exposed = exposures(ledgers, series)
        step("relations and counts")
        numbers = exposed, relations(ledgers), errors(ledgers)
        step("insiders")
        notes = insiders(own)
    show(YEARS[: len(own[REANON].entries)], numbers, f"Household survey, 7,000 people, yearly, m = {m}")
    for line in (*WORDS, *notes, cost(own)):
        say(textwrap.fill(line, COLUMNS, subsequent_indent="  "), quiet=False)
    draw(YEARS[: len(own[REANON].entries)], numbers, PLOT)
    say(f"the plot is {PLOT}; the releases are in data/survey/published", quiet=False)
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


def exposures(ledgers: dict[str, Ledger], series: dict[str, Series]) -> Ways:
    """How many people the releases up to each one expose: to an intersection, or to a reader of the program.

    The attack `algorithm` cannot read reanon's default, of which the theorem says that it exposes no one.
    """
    found: Ways = {}
    for way, ledger in ledgers.items():
        history, presences = ledger.history(), ledger.knowledge().presences
        attack, so_far = build_attack("intersection"), []
        for n in range(1, len(presences) + 1):
            exposed = attack.run(History(history.schema, history.releases[:n]), Knowledge(presences[:n])).exposed
            so_far.append(float(max(exposed, read(Ledger(ledger.entries[:n]), series[way]) if way == PAPER else 0)))
        found[way] = so_far
    return found


def read(ledger: Ledger, series: Series) -> int:
    """How many people these releases expose to a reader of the program."""
    knowledge = with_algorithm(series.technique, ledger, ledger.knowledge(people_only=True))
    return build_attack(SOURCE_ATTACK).run(ledger.history(), knowledge).exposed


def relations(ledgers: dict[str, Ledger]) -> Ways:
    """How much of the relations each release keeps."""
    rng = np.random.default_rng(WORKLOAD_SEED)
    return {way: [RelationsKept().measure(entry, rng) for entry in ledger.entries] for way, ledger in ledgers.items()}


def errors(ledgers: dict[str, Ledger]) -> Ways:
    """How far off a typical count from each release is, with more queries than `reanon publish` asks."""
    return {
        way: [METRIC.measure(entry, np.random.default_rng(WORKLOAD_SEED)) for entry in ledger.entries]
        for way, ledger in ledgers.items()
    }


def insiders(ledgers: dict[str, Ledger]) -> list[str]:
    """What one person who tells their industry makes of the others, if everyone's group is known."""
    return [
        f"insider, {way}: {build_attack('insider').run(ledger.history(), ledger.knowledge()).note}"
        for way, ledger in ledgers.items()
    ]


def cost(ledgers: dict[str, Ledger]) -> str:
    """The counterfeits and withheld people of the latest release."""
    last = {way: ledger.entries[-1] for way, ledger in ledgers.items()}
    each = (f"{way} {one.auxiliary.total:,} and {one.withheld:,}" for way, one in last.items())
    return f"counterfeits and withheld people in the latest release: {', '.join(each)}"


def show(years: Sequence[str], numbers: Numbers, title: str) -> None:
    """Print a line for each release, in 80 columns."""
    written: list[Callable[[float], str]] = [lambda count: f"{count:,.0f}", whole_percent, percentage]
    say(f"\n{title}\n", quiet=False)
    say(f"{'':4}" + "".join(f"{heading:>24}" for heading in ("exposed", "relations kept", "off by")), quiet=False)
    say("year" + "".join(f" {way:>7}" for measured in numbers for way in measured), quiet=False)
    for at, year in enumerate(years):
        ways = ((text, one) for measured, text in zip(numbers, written, strict=True) for one in measured.values())
        cells = [text(one[at]) for text, one in ways]
        say(year + "".join(f" {cell:>7}" for cell in cells), quiet=False)
    say("", quiet=False)


def draw(years: Sequence[str], numbers: Numbers, path: Path) -> None:
    """The three numbers over the releases, as lines."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.2), dpi=110, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    titles = ("people exposed", "relations kept (%)", "a typical count is off by (%)")
    for axes, title, measured, scale in zip(figure.subplots(1, 3), titles, numbers, (1, 100, 100), strict=True):
        for way, values in measured.items():
            points = [scale * value for value in values]
            axes.plot(years, points, marker="o", markersize=3, label=way, color=COLOURS[way], zorder=3)
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
