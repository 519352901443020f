"""Would weights on columns help? Groups are cut with lengths of some columns counted several times.

    python tests/experiments/column_weights.py            # four minutes of CPU: prints, and writes column-weights.json
    python tests/experiments/column_weights.py --rows 2000 --seeds 1 --out build/figures

The ten questions of ten_questions.py use sex, age, marital status and education, not race. The weights are declared, so
they tell nothing about people. They are not part of reanon: this script puts them in where lengths are made comparable.
docs/using-a-release.md quotes the result.
"""

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "experiments")]

import ends  # noqa: E402
import ten_questions  # noqa: E402

from reanon_core.estimate.questions import ReleaseEstimates  # noqa: E402
from reanon_core.estimate.ten_questions import Comparison, compare_answers  # noqa: E402
from reanon_core.model.arrays import Int64  # noqa: E402
from reanon_core.recoding.attribute_scales import length_scales  # noqa: E402

COLUMNS = ("age", "sex", "race", "marital-status", "education")
WEIGHTS: dict[str, tuple[int, ...]] = {
    "none": (1, 1, 1, 1, 1),
    "all but race, 3": (3, 3, 1, 3, 3),
    "sex 4": (1, 4, 1, 1, 1),
    "age 4": (4, 1, 1, 1, 1),
    "age and sex 4": (4, 4, 1, 1, 1),
}
FIRST_SEED = 21
FORMS = ("m-invariance", "cor-split", "bpg", "mondrian")
PLACES = (
    "reanon_core.techniques.m_invariance.technique",
    "reanon_core.techniques.cor_split.bucket_partition",
    "reanon_core.techniques.bpg.technique",
    "reanon_core.recoding.mondrian",
)
"""The modules that make lengths comparable before they cut."""


def weighted(weights: tuple[int, ...]) -> Callable[[Int64, int], Int64]:
    """The scales of lengths, times the weights."""
    return lambda spans, terms: length_scales(spans, terms * max(weights)) * np.array(weights, np.int64)


def measured(population: ends.Population, form: str, rows: int, seed: int) -> tuple[list[Comparison], float]:
    """The ten questions, and the mean query error."""
    series = ten_questions.series_of(form, population, seed)
    frames = ten_questions.snapshots(population.people, rows, seed, leave=True)
    published = [
        series.publish(frame, name=name, accept_drift="an experiment")
        for name, frame in zip(ten_questions.RELEASES, frames, strict=True)
    ]
    orders = ten_questions.value_orders(population)
    releases = [
        ReleaseEstimates(table=one, counterfeits=one.counterfeits, orders=orders, manifest={"withheld": one.withheld})
        for one in published
    ]
    found = compare_answers(ten_questions.QUESTIONS, releases, frames)
    return found, float(np.mean(list(series.query_error().values())))


def draws(
    population: ends.Population, form: str, rows: int, seeds: int, weights: tuple[int, ...]
) -> dict[str, list[float]]:
    """For each draw of people: the mean and the median error of the answers, how many intervals hold, the query error.

    The change of a share is left out of the errors: its truth is nearly none.
    """
    found: dict[str, list[float]] = {"mean answer": [], "typical answer": [], "held": [], "query error": []}
    with ExitStack() as stack:
        for place in PLACES:
            stack.enter_context(patch(f"{place}.length_scales", weighted(weights)))
        for seed in range(FIRST_SEED, FIRST_SEED + seeds):
            answers, error = measured(population, form, rows, seed)
            told = [one for one in answers if one.question.kind != "change"]
            off = [abs(one.estimate.value - one.truth) / abs(one.truth) for one in told]
            found["mean answer"].append(round(float(np.mean(off)), 4))
            found["typical answer"].append(round(float(np.median(off)), 4))
            found["held"].append(sum(bool(one.holds) for one in answers))
            found["query error"].append(round(error, 4))
    return found


def gain(found: dict[str, list[float]], without: dict[str, list[float]], name: str) -> tuple[float, int]:
    """By how much a number is smaller with the weights, on average, and in how many draws; the same people in both."""
    smaller = np.subtract(without[name], found[name])
    return round(float(smaller.mean()), 4), int(np.count_nonzero(smaller > 0))


def table_line(form: str, name: str, forms: dict[str, dict[str, dict[str, list[float]]]]) -> str:
    """A line of the table in docs/using-a-release.md: two means, and in how many draws each is smaller than without."""
    found, without = forms[form][name], forms[form]["none"]
    cells = []
    for one in ("mean answer", "query error"):
        better = "" if name == "none" else f" ({gain(found, without, one)[1]} of {len(found[one])})"
        cells.append(f"{100 * float(np.mean(found[one])):.1f}%{better}")
    return f"| {form} | {name} | {' | '.join(cells)} |"


def main() -> int:
    """Print every form with every weighting, and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=12_000, help="people in a release")
    parser.add_argument("--seeds", type=int, default=8, help="draws of people")
    parser.add_argument("--adult", type=Path, default=ends.ADULT, help="the folder of adult.csv")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures", help="folder for column-weights.json")
    given = parser.parse_args()
    population = ends.adult(30_000, given.adult)
    if population is None:
        print(f"{given.adult} is not there", file=sys.stderr)
        return 2
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for form in FORMS:
        found[form] = {}
        for name, weights in WEIGHTS.items():
            found[form][name] = draws(population, form, given.rows, given.seeds, weights)
            gains = {one: gain(found[form][name], found[form]["none"], one) for one in found[form][name]}
            means = {one: round(float(np.mean(numbers)), 4) for one, numbers in found[form][name].items()}
            print(f"{form:14} {name:16} {means} smaller by, in draws: {gains}", flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    kept = {"rows": given.rows, "seeds": given.seeds, "columns": COLUMNS, "weights": WEIGHTS, "forms": found}
    (given.out / "column-weights.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
