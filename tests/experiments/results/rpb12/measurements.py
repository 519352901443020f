"""What the figures of [RPB12] measure: gains of adversaries with background knowledge, and data quality."""

from collections.abc import Callable
from typing import Any

from experiments.results.figure import Figure, Numbers
from experiments.results.rpb12 import pictures
from experiments.results.rpb12.mondrian_regions import region_penalties
from experiments.results.rpb12.replays import (
    BASELINES,
    NO_J,
    OURS,
    PAPER,
    Population,
    attack_views,
    errors,
    gain_curve,
    js,
    population,
    published,
    utility,
)

from reanon_core.model.background import Background
from reanon_core.model.ledger import Ledger
from reanon_core.model.snapshot import Snapshot
from reanon_core.techniques.mondrian.technique import Mondrian

SEEDS = (101, 102, 103)
"""Settings were chosen on seeds 1 to 3."""
POPULATIONS = ("exams", "adult")
SIZES = (2, 5, 10, 20, 30, 50)
"""The values of k of the curves by group size."""
QUALITY_VIEWS = 8
"""The views that Figure 8 measures: what is lost does not depend on how many there are, as Figure 6 shows."""

OneSeed = Callable[[Population, list[Snapshot], int], Numbers]


def measured(one_seed: OneSeed, name: str, small: bool) -> Numbers:
    """The numbers of all seeds of one population, those of a curve side by side."""
    people = population(name, small=small)
    seeds = SEEDS[:1] if small else SEEDS
    found = [one_seed(people, people.seen(seed), seed) for seed in seeds]
    size = {"views": people.views, "rows": people.rows, "pool": people.pool, "seeds": list(seeds)}
    return size | merged(found)


def merged(found: list[Any]) -> Any:
    """One tree of dictionaries for those of all seeds, whose leaves list what the seeds have there."""
    if isinstance(found[0], dict):
        return {key: merged([one[key] for one in found]) for key in found[0]}
    return found


def curves(ledger: Ledger, kinds: dict[str, Background]) -> Numbers:
    """The adversary's gain by each kind of knowledge."""
    return {kind: gain_curve(ledger, known) for kind, known in kinds.items()}


def knowledge_kinds(people: Population, views: list[Snapshot], seed: int) -> Numbers:
    """Figure 3: existing techniques against kinds of sequential knowledge."""
    kinds = {"DK": people.domain, "SPM": people.mined_corpus(), "IE": people.mined(views)}
    return {name: curves(published(make(), views, seed), kinds) for name, make in BASELINES.items()}


def knowledge_reach(people: Population, views: list[Snapshot], seed: int) -> Numbers:
    """Figure 4: how far back domain knowledge reaches."""
    reaches = {f"{steps}-step": people.steps(steps) for steps in range(1, people.longest_memory + 1)}
    kinds = {"snapshot": people.snapshot_only(), **reaches, "full": people.domain}
    makers = {name: BASELINES[name]() for name in ("l-diversity", "(B,t)-privacy")}
    makers["JS-reduce"] = js(people.domain, **PAPER)
    found = {}
    for name, technique in makers.items():
        ledger = published(technique, views, seed)
        found[name] = curves(ledger, kinds)
        # With one step both ways to combine releases are the same, so that one is left out.
        for kind in ("2-step", "full"):
            found[name][f"{kind}, coherent"] = gain_curve(ledger, kinds[kind], mode="filter")
    return found


def knowledge_pairs(people: Population, views: list[Snapshot], seed: int) -> Numbers:
    """Figure 5: defenders and adversaries with different knowledge."""
    adversaries = {
        "DK": people.domain,
        "SPM": people.mined_corpus(),
        "SPM of a fifth": people.mined_corpus(0.2),
        "IE": people.mined(views),
    }
    defenders = {"DK": people.domain, "IE": people.incremental(), "SPM": people.mined_corpus()}
    found: Numbers = {"rows of a group": {}}
    for name, known in defenders.items():
        ledger = published(js(known, **PAPER), views, seed)
        found[f"defender {name}"] = curves(ledger, adversaries)
        found["rows of a group"][name] = utility(ledger)["group size"]
    return found


def confidence(people: Population, views: list[Snapshot], seed: int) -> Numbers:
    """Figure 6: the adversary's confidence, and the gain of the same releases; both sides know the model."""
    makers = {
        **{name: make() for name, make in BASELINES.items()},
        "JS-reduce, t = .5, j = .6": js(people.domain, **PAPER),
        "control: t = .5, no JS test": js(people.domain, **{**PAPER, "j": NO_J}),
        "JS-reduce, t = .4, j = .5": js(people.domain, **OURS),
        "control: t = .4, no JS test": js(people.domain, **{**OURS, "j": NO_J}),
    }
    found = {}
    for name, technique in makers.items():
        ledger = published(technique, views, seed)
        attacked = attack_views(ledger, people.domain)
        found[name] = {
            "confidence": [round(one.confidence, 4) for one in attacked],
            "gain": [round(one.gain, 4) for one in attacked],
            "gcp": utility(ledger)["gcp"],
        }
    return found


def thresholds(people: Population, views: list[Snapshot], seed: int) -> Numbers:
    """Figure 7: the threshold j at t = .5, with leftovers merged or withheld."""
    found: Numbers = {}
    for leftovers in ("merge", "suppress"):
        for j in (0.2, 0.4, 0.6, 0.8, NO_J):
            ledger = published(js(people.domain, **{**PAPER, "j": j, "leftovers": leftovers}), views, seed)
            label = "no JS test" if j == NO_J else f"j = {j:g}"
            lost = {key: value for key, value in utility(ledger).items() if key in ("gcp", "withheld share")}
            found.setdefault(leftovers, {})[label] = {
                "gain": gain_curve(ledger, people.domain) + [None] * (len(views) - len(ledger.entries)),
                **lost,
            }
    return found


def quality(people: Population, views: list[Snapshot], seed: int) -> Numbers:
    """Figure 8: what the techniques lose, and which of their parts loses it."""
    views, known = views[:QUALITY_VIEWS], people.domain
    compared = {
        **{name: make() for name, make in BASELINES.items()},
        "JS-reduce, t = .5, j = .6": js(known, **PAPER),
        "JS-reduce, t = .4, j = .5": js(known, **OURS),
    }
    # From the first baseline to JS-reduce in single steps.
    steps = {
        "Mondrian, l = 2": Mondrian(k=2, ell=2),
        "Hilbert runs, l = 2": js(known, k=2, t=1.0, j=NO_J),
        "Hilbert runs, k = 10": js(known, k=10, t=1.0, j=NO_J),
        "Hilbert runs, k = 10, t = .5": js(known, **{**PAPER, "j": NO_J}),
        "JS-reduce, t = .5, j = .6": js(known, **PAPER),
        "JS-reduce, k = 2, t = .5, j = .6": js(known, **{**PAPER, "k": 2}),
        "Mondrian, k = 10, t = .5": Mondrian(k=10, t=0.5),
        "Hilbert runs, k = 10, t = .4": js(known, **{**OURS, "j": NO_J}),
        "Mondrian, k = 10, t = .4": Mondrian(k=10, t=0.4),
    }
    by_size = {
        "Mondrian": {str(k): Mondrian(k=k, ell=2) for k in SIZES},
        "Hilbert runs": {str(k): js(known, k=k, t=1.0, j=NO_J) for k in SIZES},
    }

    def lost(technique: Any) -> Numbers:
        return {key: value for key, value in utility(published(technique, views, seed)).items() if key in KEPT_LOSSES}

    return {
        "compared": {name: lost(one) | {"errors": last_errors(one, views, seed)} for name, one in compared.items()},
        "steps": {name: lost(one) for name, one in steps.items()},
        "by size": {family: {k: lost(one) for k, one in members.items()} for family, members in by_size.items()},
        "regions": region_penalties(views[0], ell=2),
    }


KEPT_LOSSES = ("gcp", "gcp over groups", "group size", "greatest withheld share")


def last_errors(technique: Any, views: list[Snapshot], seed: int) -> list[float]:
    """The error of counts on the last view, by selectivity."""
    return list(errors(published(technique, views, seed)).values())


def figure(title: str, one_seed: OneSeed, draw: Callable[[dict[str, Numbers]], Any]) -> Figure:
    """A figure whose numbers are those of several seeds."""

    def measure(name: str, small: bool) -> Numbers:
        return measured(one_seed, name, small)

    return Figure(title=title, populations=POPULATIONS, measure=measure, draw=draw)


FIGURES = {
    "3": figure("Existing techniques against kinds of knowledge", knowledge_kinds, pictures.panels),
    "4": figure("How far back the adversary's knowledge reaches", knowledge_reach, pictures.panels),
    "5": figure("What defender and adversary know", knowledge_pairs, pictures.defenders),
    "6": figure("Adversary confidence", confidence, pictures.confidence),
    "7": figure("The threshold j at t = .5", thresholds, pictures.thresholds),
    "8": figure("Data quality", quality, pictures.quality),
}
