"""The experiments of [ST15] Section 6 on the synthetic panel: what sequential releases lose, and what they cost.

    python tests/experiments/sequential.py            # everything, several minutes of CPU
    python tests/experiments/sequential.py --part releases --people 20000

Each part replays snapshots through the sequential technique, adds its numbers to docs/figures/sequential.json and
draws its figure. docs/techniques/sequential.md tells what came out.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

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

FIGURES = ROOT / "docs" / "figures"
RESULTS = FIGURES / "sequential.json"
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


def technique_of(how: str, ell: int, loss: str = "lm") -> Sequential:
    if how == "ring":
        return Sequential(ell=ell, worlds="ring", loss=loss)
    return Sequential(ell=ell, approach=how, loss=loss)


def entropies(snapshot: Snapshot, boxes: tuple[np.ndarray, np.ndarray], shown: list[int]) -> float:
    """The mean entropy of an entry, from the published boxes and the frequencies in the table."""
    total = 0.0
    for attribute in shown:
        codes = snapshot.qi[attribute]
        share = np.bincount(codes, minlength=int(boxes[1][attribute].max()) + 1) / len(codes)
        logs = np.log2(share, out=np.zeros_like(share), where=share > 0)
        mass = np.concatenate([[0.0], np.cumsum(share)])
        told = np.concatenate([[0.0], np.cumsum(share * logs)])
        low, high = boxes[0][attribute], boxes[1][attribute]
        whole, part = mass[high + 1] - mass[low], told[high + 1] - told[low]
        total += float(
            np.where(whole > 0, np.log2(np.maximum(whole, 1e-300)) - part / np.maximum(whole, 1e-300), 0).mean()
        )
    return total / len(shown)


def replayed(technique: Sequential, snapshots: Iterable[Snapshot]) -> tuple[list[float], list[float], list[float]]:
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


def ten(people: int) -> Iterable[Snapshot]:
    return (panel.snapshot(people, panel.columns_of(numbers)) for numbers in panel.RELEASES)


def releases(people: int) -> dict[str, object]:
    """Figure 6: ten releases, ell = 5."""
    found = {how: replayed(technique_of(how, 5), ten(people)) for how in COLOURS}
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
    finish(figure, "sequential-releases")
    return {"people": people, "ell": 5} | {
        how: {"lm": lm, "seconds": seconds} for how, (lm, _, seconds) in found.items()
    }


def diversity(people: int) -> dict[str, object]:
    """Figures 7, 10 and 13: ell from 2 to 10, by both measures."""
    ells = (2, 4, 6, 8, 10)
    hows = ("sequential", "non-sequential")
    entropy_people = people // 2
    table: dict[str, object] = {"people": people, "entropy people": entropy_people, "ell": list(ells)}
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9.6, 3.1), layout="constrained")
    for how in hows:
        lm, seconds, em = [], [], []
        for ell in ells:
            one = replayed(technique_of(how, ell), ten(people))
            lm.append(float(np.mean(one[0])))
            seconds.append(float(np.sum(one[2])))
            em.append(float(np.mean(replayed(technique_of(how, ell, "em"), ten(entropy_people))[1])))
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
    finish(figure, "sequential-ell")
    return table


def sizes(people: int) -> dict[str, object]:
    """Figures 8 and 11: more people, ell = 5."""
    counts = [people // 10, people // 5, 2 * people // 5, people]
    table: dict[str, object] = {"people": counts, "ell": 5}
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.1), layout="constrained")
    for how in ("sequential", "non-sequential"):
        lm, seconds, hardest, worse = [], [], [], []
        for count in counts:
            one = replayed(technique_of(how, 5), ten(count))
            lm.append(float(np.mean(one[0])))
            seconds.append(float(np.sum(one[2])))
            hardest.append(float(np.max(one[2])))
            worse.append(one[0])
        table[how] = {"lm": lm, "seconds": seconds, "hardest release": hardest, "each": worse}
        left.plot(counts, lm, "o-", color=COLOURS[how], label=NAMES[how])
        right.plot(counts, seconds, "o-", color=COLOURS[how], label=NAMES[how])
    left.set_ylabel("mean LM of an entry")
    right.set_ylabel("CPU of ten releases, s")
    for axes in (left, right):
        axes.set_xlabel("people")
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k")
    left.legend(fontsize=8)
    finish(figure, "sequential-size")
    return table


def dynamics(people: int) -> dict[str, object]:
    """Figures 15 to 17: columns that come late, people who come late, and both; ell = 5."""
    counts = [people * share // 100 for share in GROWTH]
    everything = panel.schema().names
    known = [everything[:5], (*everything[:5], everything[6]), (*everything[:5], everything[6]), everything]
    columns = [panel.columns_of(numbers) for numbers in VERTICAL]
    everybody = counts[-1]

    def taken(n: int, shown: tuple[str, ...] | None, told: tuple[str, ...] | None = None) -> Snapshot:
        return panel.snapshot(n, shown, known=told, of=everybody)

    settings = {
        "columns come late": (
            [taken(people, c, k) for c, k in zip(columns, known, strict=True)],
            [taken(people, c) for c in columns],
        ),
        "people come late": ([taken(n, None) for n in counts], [taken(n, None) for n in counts]),
        "both": (
            [taken(n, c, k) for n, c, k in zip(counts, columns, known, strict=True)],
            [taken(n, c) for n, c in zip(counts, columns, strict=True)],
        ),
    }
    table: dict[str, object] = {"people": counts, "ell": 5}
    figure, axes = plt.subplots(1, 3, figsize=(9.0, 3.0), layout="constrained", sharey=False)
    for place, (name, (series, prophets)) in zip(axes, settings.items(), strict=True):
        adaptive = replayed(Sequential(ell=5), series)[0]
        prophetic = [replayed(Sequential(ell=5), [one])[0][0] for one in prophets]
        table[name] = {"adaptive": adaptive, "prophetic": prophetic}
        at = np.arange(4)
        place.bar(at - 0.2, adaptive, 0.4, color=COLOURS["sequential"], label="as it comes")
        place.bar(at + 0.2, prophetic, 0.4, color="#e69f00", label="all known at once")
        place.set_xticks(at, [f"V{one + 1}" for one in at])
        place.set_title(name, fontsize=10)
    axes[0].set_ylabel("mean LM of an entry")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8)
    finish(figure, "sequential-dynamics")
    return table


def finish(figure: plt.Figure, name: str) -> None:
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    FIGURES.mkdir(exist_ok=True)
    figure.savefig(FIGURES / f"{name}.png", dpi=110)
    plt.close(figure)


PARTS: dict[str, tuple[Callable[[int], dict[str, object]], int]] = {
    "releases": (releases, 100_000),
    "diversity": (diversity, 20_000),
    "sizes": (sizes, 500_000),
    "dynamics": (dynamics, 15_000),
}


def rounded(value: object) -> object:
    """Numbers with four digits."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return {key: rounded(one) for key, one in value.items()} if isinstance(value, dict) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, help="one part; default: all")
    parser.add_argument("--people", type=int, help="people, in place of the part's own number")
    given = parser.parse_args()
    for loss in ("lm", "em"):  # load what is compiled before anything is timed
        replayed(technique_of("sequential", 2, loss), [panel.snapshot(200, None)])
    for name in [given.part] if given.part else PARTS:
        run, people = PARTS[name]
        began = time.process_time()
        found = run(given.people or people)
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        RESULTS.write_text(json.dumps(known | {name: rounded(found)}, indent=1) + "\n")
        print(f"{name}: {time.process_time() - began:.0f} s of CPU", flush=True)


if __name__ == "__main__":
    main()
