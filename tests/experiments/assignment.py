"""What the rules of assignment cost over a long series with `balancing: filled`: counterfeits, buckets, boxes, errors.

    python tests/experiments/assignment.py                          # the full run: about ten minutes of CPU
    python tests/experiments/assignment.py --rows 20000 --update 500 --releases 21 --seeds 7 --out build/figures

Replays T-series of the synthetic census (data/census/SOURCE.md) through m-invariance, once for each rule, and draws
the mean over the seeds with a band from the least to the greatest. docs/techniques/m-invariance.md discusses the
results. The rules were tuned on seeds 7 to 12; the default seeds are different ones.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests")]

from populations.census import snapshots  # noqa: E402

from reanon_core.metrics.query_error import CountingQueryError  # noqa: E402
from reanon_core.model.ledger import Entry  # noqa: E402
from reanon_core.model.release import Release  # noqa: E402
from reanon_core.model.schema import Schema  # noqa: E402
from reanon_core.replay import publications  # noqa: E402
from reanon_core.techniques.m_invariance.technique import MInvariance  # noqa: E402

MEASURES = {
    "counterfeits": "counterfeits in the release",
    "buckets": "buckets that hold people",
    "perimeter": "mean perimeter of the boxes",
    "query-error": "median relative query error",
}
COLOURS = {"paper": "#7f7f7f", "stable": "#0072b2", "deep": "#d55e00"}
EVERY = 10
"""Query errors are measured at the first release and at every tenth after it."""


def perimeter(release: Release, columns: Schema) -> float:
    """The sum of the normalised lengths of a row's box, on average over the rows."""
    spans = np.array([column.domain[1] - column.domain[0] for column in columns.quasi_identifiers if column.domain])
    lengths = ((release.boxes.high - release.boxes.low) / spans[:, None]).sum(axis=0)
    return float(lengths[release.group].mean())


def curves(sensitive: str, how: str, seed: int, given: argparse.Namespace) -> dict[str, list[float]]:
    """Each measure, release by release; NaN where it was not taken."""
    technique = MInvariance(m=given.m, balancing="filled", assignment=how)
    taken: dict[str, list[float]] = {name: [] for name in (*MEASURES, "seconds")}
    begun = time.process_time()
    series = snapshots(
        sensitive, seed, people=given.people, rows=given.rows, update=given.update, releases=given.releases
    )
    for number, (snapshot, publication) in enumerate(publications(technique, series, np.random.default_rng(seed))):
        taken["seconds"].append(time.process_time() - begun)
        roster = publication.state.roster
        here = roster.persons.searchsorted(snapshot.persons)
        taken["buckets"].append(len(np.unique(roster.signature[here])))
        taken["counterfeits"].append(publication.auxiliary.total)
        taken["perimeter"].append(perimeter(publication.release, snapshot.schema))
        error = float("nan")
        if given.queries and number % EVERY == 0:
            entry = Entry(snapshot, publication.release, publication.auxiliary, publication.trace)
            # the same queries for every rule: their luck is not the rule's
            error = CountingQueryError(queries=given.queries).measure(entry, np.random.default_rng([seed, number]))
        taken["query-error"].append(error)
        begun = time.process_time()
    return taken


def draw(measure: str, runs: dict[str, dict[str, np.ndarray]], given: argparse.Namespace, path: Path) -> None:
    """One panel for each sensitive attribute, one line for each rule."""
    figure, panels = plt.subplots(1, len(runs), figsize=(4.6 * len(runs), 3.6), squeeze=False, layout="constrained")
    for panel, (sensitive, by_rule) in zip(panels[0], runs.items(), strict=True):
        for how, values in by_rule.items():  # [seeds, releases]
            at = np.flatnonzero(~np.isnan(values).any(axis=0))
            if not len(at):
                continue
            shown = values[:, at]
            colour, marker = COLOURS.get(how), "o" if len(at) < values.shape[1] else None
            panel.fill_between(at + 1, shown.min(axis=0), shown.max(axis=0), color=colour, alpha=0.18, linewidth=0)
            panel.plot(
                at + 1, shown.mean(axis=0), color=colour, label=how, linewidth=1.6, marker=marker, markersize=3.5
            )
        panel.set_title(f"sensitive: {sensitive}", fontsize=10, loc="left")
        panel.set_xlabel("release")
        panel.set_ylim(bottom=0)
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        panel.grid(color="#dddddd", linewidth=0.6)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0][0].set_ylabel(MEASURES[measure])
    panels[0][0].legend(frameon=False, title="assignment", alignment="left")
    figure.suptitle(
        f"{given.rows:,} rows, {given.update:,} replaced each time, m = {given.m}; mean of {len(given.seeds)} seeds, "
        "band: least to greatest",
        fontsize=9,
        color="#555555",
    )
    figure.savefig(path, dpi=130)
    plt.close(figure)


def summary(sensitive: str, how: str, seeds: list[dict[str, list[float]]]) -> dict[str, object]:
    """A line of the table; every number but the first three is [mean, least, greatest] over the seeds."""

    def over(values: list[float]) -> list[float]:
        return [round(float(f(values)), 4) for f in (np.mean, np.min, np.max)]

    return {
        "sensitive": sensitive,
        "assignment": how,
        "seeds": len(seeds),
        "counterfeits": over([float(np.mean(run["counterfeits"][1:] or [0])) for run in seeds]),
        "counterfeits_last_10": over([float(np.mean(run["counterfeits"][-10:])) for run in seeds]),
        "buckets_first": over([run["buckets"][0] for run in seeds]),
        "buckets_last": over([run["buckets"][-1] for run in seeds]),
        "perimeter_first": over([run["perimeter"][0] for run in seeds]),
        "perimeter": over([float(np.mean(run["perimeter"])) for run in seeds]),
        "perimeter_last": over([run["perimeter"][-1] for run in seeds]),
        "query_error": over([float(np.nanmean(run["query-error"] or [0])) for run in seeds]),
        "cpu_seconds": over([float(np.median(run["seconds"][1:] or [0])) for run in seeds]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the rules of assignment over a T-series.")
    parser.add_argument("--people", type=int, default=600_000)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--update", type=int, default=5_000)
    parser.add_argument("--releases", type=int, default=81)
    parser.add_argument("--m", type=int, default=10)
    parser.add_argument("--queries", type=int, default=1_000, help="0 leaves query errors out")
    parser.add_argument("--seeds", type=int, nargs="+", default=[21, 22, 23])
    parser.add_argument("--sensitive", nargs="+", default=["income", "occupation"], choices=["income", "occupation"])
    parser.add_argument("--assignment", nargs="+", default=list(COLOURS))
    parser.add_argument("--name", default="assignment", help="how the files begin")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    measured: dict[str, dict[str, list[dict[str, list[float]]]]] = {}
    table = []
    print("sensitive   assignment  counterfeits  (last 10)  buckets  perimeter  (last)  query error  CPU s/release")
    for sensitive in given.sensitive:
        for how in given.assignment:
            runs = [curves(sensitive, how, seed, given) for seed in given.seeds]
            measured.setdefault(sensitive, {})[how] = runs
            line = summary(sensitive, how, runs)
            table.append(line)
            print(
                f"{sensitive:11} {how:11} {line['counterfeits'][0]:12.1f} {line['counterfeits_last_10'][0]:10.1f} "
                f"{line['buckets_last'][0]:8.0f} {line['perimeter'][0]:10.3f} {line['perimeter_last'][0]:7.3f} "
                f"{line['query_error'][0]:12.4f} {line['cpu_seconds'][0]:14.3f}",
                flush=True,
            )
    for measure in MEASURES:
        if measure == "query-error" and not given.queries:
            continue
        shown = {s: {how: np.array([r[measure] for r in rs]) for how, rs in by.items()} for s, by in measured.items()}
        draw(measure, shown, given, given.out / f"{given.name}-{measure}.png")
    settings = {key: value for key, value in vars(given).items() if key not in {"out", "name"}}
    written = {"settings": settings, "numbers": "[mean, least, greatest] over the seeds", "table": table}
    (given.out / f"{given.name}.json").write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
