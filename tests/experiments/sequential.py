"""The experiments of [ST15] Section 6 on the synthetic panel: what sequential releases lose, and what they cost.

    python tests/experiments/sequential.py            # everything, several minutes of CPU
    python tests/experiments/sequential.py --part releases --people 2000 --out build/figures

Each part replays snapshots through the sequential technique, adds its numbers to sequential.json and draws its figure.
docs/techniques/sequential.md discusses the results.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests")]

from populations import panel  # noqa: E402

from reanon_core.metrics.generalization import LossMetric  # noqa: E402
from reanon_core.model.snapshot import Snapshot  # noqa: E402
from reanon_core.replay import publications  # noqa: E402
from reanon_core.techniques.sequential.technique import Sequential  # noqa: E402

COLOURS = {"sequential": "#d55e00", "ring": "#009e73", "non-sequential": "#0072b2", "homogeneous": "#7f7f7f"}
NAMES = {
    "sequential": "sequential, symmetric worlds",
    "ring": "sequential, ring worlds",
    "non-sequential": "non-sequential",
    "homogeneous": "homogeneous",
}
VERTICAL = ((2, 5), (1, 7), (1, 3, 4), (6, 7))
"""Section 6.3: country (7) is known from the second release on, work class (6) from the fourth."""
GROWTH = (100, 150, 180, 200)
"""Section 6.3: the people of the four releases, relative to the first."""


class Result(NamedTuple):
    """The numbers and the figure of one part."""

    numbers: dict[str, object]
    figure: plt.Figure
    name: str


def technique_of(how: str, ell: int, loss: str = "lm") -> Sequential:
    if how == "ring":
        return Sequential(ell=ell, worlds="ring", loss=loss, buckets="mondrian")
    return Sequential(ell=ell, approach=how, loss=loss, buckets="mondrian")


def entropies(snapshot: Snapshot, boxes: tuple[np.ndarray, np.ndarray], shown: list[int]) -> float:
    """The mean entropy of an entry, from the published boxes and the frequencies in the table."""
    total = 0.0
    for attribute in shown:
        codes = snapshot.qi[attribute]
        share = np.bincount(codes, minlength=int(boxes[1][attribute].max()) + 1) / len(codes)
        logs = np.log2(share, out=np.zeros_like(share), where=share > 0)
        mass = np.concatenate([[0.0], np.cumsum(share)])
        information = np.concatenate([[0.0], np.cumsum(share * logs)])
        low, high = boxes[0][attribute], boxes[1][attribute]
        whole, part = mass[high + 1] - mass[low], information[high + 1] - information[low]
        total += float(
            np.where(whole > 0, np.log2(np.maximum(whole, 1e-300)) - part / np.maximum(whole, 1e-300), 0).mean()
        )
    return total / len(shown)


def replay_losses(technique: Sequential, snapshots: Iterable[Snapshot]) -> tuple[list[float], list[float], list[float]]:
    """LM, EM and seconds of CPU of each release."""
    lm, em, seconds = [], [], []
    rng, began = np.random.default_rng(7), time.process_time()
    for snapshot, publication in publications(technique, snapshots, rng):
        seconds.append(time.process_time() - began)
        entry = publication.entry(snapshot)
        names = entry.snapshot.schema.names
        shown = [at for at, name in enumerate(names) if entry.release.shows(name)]
        rows = entry.release.boxes.low[:, entry.release.group], entry.release.boxes.high[:, entry.release.group]
        lm.append(LossMetric().measure(entry, rng))
        em.append(entropies(entry.snapshot, rows, shown))
        began = time.process_time()
    return lm, em, seconds


def ten_releases(people: int) -> Iterable[Snapshot]:
    return (panel.snapshot(people, panel.columns_of(numbers)) for numbers in panel.RELEASES)


def releases(people: int) -> Result:
    """Figure 6: ten releases, ell = 5."""
    found = {how: replay_losses(technique_of(how, 5), ten_releases(people)) for how in COLOURS}
    figure, axes = plt.subplots(figsize=(7.2, 3.2), layout="constrained")
    width = 0.8 / len(found)
    for place, (how, (lm, _, _)) in enumerate(found.items()):
        at = np.arange(len(lm)) + (place - (len(found) - 1) / 2) * width
        axes.bar(at, lm, width, color=COLOURS[how], label=NAMES[how])
    shown = ["".join(map(str, numbers)) for numbers in panel.RELEASES]
    axes.set_xticks(range(len(shown)), shown)
    numbered = "1 age, 2 gender, 3 education, 4 marital, 5 ancestry, 6 work class, 7 birthplace"
    axes.set_xlabel(f"quasi-identifiers: {numbered}", fontsize=8)
    axes.set_ylabel("mean LM of an entry")
    axes.set_title(f"Ten releases of {people:,} people, ell = 5", fontsize=10)
    axes.legend(fontsize=8)
    numbers_of = {how: {"lm": lm, "seconds": seconds} for how, (lm, _, seconds) in found.items()}
    return Result({"people": people, "ell": 5} | numbers_of, figure, "sequential-releases")


def diversity(people: int) -> Result:
    """Figures 7, 10 and 13: ell from 2 to 10, by both measures."""
    ells = (2, 4, 6, 8, 10)
    hows = ("sequential", "non-sequential")
    entropy_people = people // 2
    table: dict[str, object] = {"people": people, "entropy people": entropy_people, "ell": list(ells)}
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9.6, 3.1), layout="constrained")
    for how in hows:
        lm, seconds, em = [], [], []
        for ell in ells:
            one = replay_losses(technique_of(how, ell), ten_releases(people))
            lm.append(float(np.mean(one[0])))
            seconds.append(float(np.sum(one[2])))
            em.append(float(np.mean(replay_losses(technique_of(how, ell, "em"), ten_releases(entropy_people))[1])))
        table[how] = {"lm": lm, "em": em, "seconds": seconds}
        left.plot(ells, lm, "o-", color=COLOURS[how], label=NAMES[how])
        middle.plot(ells, em, "o-", color=COLOURS[how], label=NAMES[how])
        right.plot(ells, seconds, "o-", color=COLOURS[how], label=NAMES[how])
    for axes, title, what in (
        (left, f"{people:,} people", "mean LM of an entry"),
        (middle, f"loss: em, {entropy_people:,} people", "mean entropy of an entry, bits"),
        (right, f"{people:,} people", "CPU of ten releases, s"),
    ):
        axes.set_title(title, fontsize=9)
        axes.set_ylabel(what)
        axes.set_xlabel("ell")
        axes.set_ylim(bottom=0)
    left.legend(fontsize=8)
    return Result(table, figure, "sequential-ell")


def sizes(people: int) -> Result:
    """Figures 8 and 11: more people, ell = 5."""
    counts = [people // 10, people // 5, 2 * people // 5, people]
    table: dict[str, object] = {"people": counts, "ell": 5}
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.1), layout="constrained")
    for how in ("sequential", "non-sequential"):
        lm, seconds, hardest, each = [], [], [], []
        for count in counts:
            one = replay_losses(technique_of(how, 5), ten_releases(count))
            lm.append(float(np.mean(one[0])))
            seconds.append(float(np.sum(one[2])))
            hardest.append(float(np.max(one[2])))
            each.append(one[0])
        table[how] = {"lm": lm, "seconds": seconds, "hardest release": hardest, "each": each}
        left.plot(counts, lm, "o-", color=COLOURS[how], label=NAMES[how])
        right.plot(counts, seconds, "o-", color=COLOURS[how], label=NAMES[how])
    left.set_ylabel("mean LM of an entry")
    right.set_ylabel("CPU of ten releases, s")
    for axes in (left, right):
        axes.set_xlabel("people")
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k")
    left.legend(fontsize=8)
    return Result(table, figure, "sequential-size")


def dynamics(people: int) -> Result:
    """Figures 15 to 17: columns that are added later, people who arrive later, and both; ell = 5."""
    counts = [people * share // 100 for share in GROWTH]
    everything = panel.schema().names
    known = [everything[:5], (*everything[:5], everything[6]), (*everything[:5], everything[6]), everything]
    columns = [panel.columns_of(numbers) for numbers in VERTICAL]
    in_the_end = counts[-1]

    def first(n: int, shown: tuple[str, ...] | None, known: tuple[str, ...] | None = None) -> Snapshot:
        return panel.snapshot(n, shown, known=known, of=in_the_end)

    settings = {
        "columns come late": (
            [first(people, c, k) for c, k in zip(columns, known, strict=True)],
            [first(people, c) for c in columns],
        ),
        "people come late": ([first(n, None) for n in counts], [first(n, None) for n in counts]),
        "both": (
            [first(n, c, k) for n, c, k in zip(counts, columns, known, strict=True)],
            [first(n, c) for n, c in zip(counts, columns, strict=True)],
        ),
    }
    table: dict[str, object] = {"people": counts, "ell": 5}
    figure, axes = plt.subplots(1, 3, figsize=(9.0, 3.0), layout="constrained", sharey=False)
    for place, (name, (series, prophets)) in zip(axes, settings.items(), strict=True):
        adaptive = replay_losses(technique_of("sequential", 5), series)[0]
        prophetic = [replay_losses(technique_of("sequential", 5), [one])[0][0] for one in prophets]
        table[name] = {"adaptive": adaptive, "prophetic": prophetic}
        at = np.arange(4)
        place.bar(at - 0.2, adaptive, 0.4, color=COLOURS["sequential"], label="adaptive")
        place.bar(at + 0.2, prophetic, 0.4, color="#e69f00", label="prophetic")
        place.set_xticks(at, [f"V{one + 1}" for one in at])
        place.set_title(name, fontsize=10)
    axes[0].set_ylabel("mean LM of an entry")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8)
    return Result(table, figure, "sequential-dynamics")


def save(result: Result, folder: Path) -> None:
    """Draw the figure of a part."""
    for axes in result.figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    result.figure.savefig(folder / f"{result.name}.png", dpi=110)
    plt.close(result.figure)


PARTS: dict[str, tuple[Callable[[int], Result], int]] = {
    "releases": (releases, 100_000),
    "diversity": (diversity, 20_000),
    "sizes": (sizes, 500_000),
    "dynamics": (dynamics, 15_000),
}


def rounded(value: object) -> object:
    """The same with numbers of four digits."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return {key: rounded(one) for key, one in value.items()} if isinstance(value, dict) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, help="one part; default: all")
    parser.add_argument("--people", type=int, help="how many people, instead of the part's own number")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    target = given.out / "sequential.json"
    for loss in ("lm", "em"):  # load the kernels before anything is timed
        replay_losses(technique_of("sequential", 2, loss), [panel.snapshot(200, None)])
    for name in [given.part] if given.part else PARTS:
        run, people = PARTS[name]
        began = time.process_time()
        result = run(given.people or people)
        save(result, given.out)
        known = json.loads(target.read_text()) if target.exists() else {}
        target.write_text(json.dumps(known | {name: rounded(result.numbers)}, indent=1) + "\n")
        print(f"{name}: {time.process_time() - began:.0f} s of CPU", flush=True)


if __name__ == "__main__":
    main()
