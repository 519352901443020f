"""How often the intervals of estimates hold the truth, over many random questions.

    python tests/experiments/estimate_coverage.py                      # two minutes of CPU
    python tests/experiments/estimate_coverage.py --questions 40 --rows 3000 --out build/figures

Counts with a range or a set of values for up to three columns, chosen at random; a third of the questions ask for
quasi-identifiers alone. The people are those of the synthetic survey (data/survey/SOURCE.md), which was never looked at
while the constants of the estimator were chosen, and of Adult, where it lies beside the project: other draws of people
and questions than those that the constants were chosen with.
"""

import argparse
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "experiments")]

import ends  # noqa: E402
import ten_questions  # noqa: E402

import reanon_core as reanon  # noqa: E402
from reanon_core.catalog import build_technique  # noqa: E402
from reanon_core.estimate.questions import ReleaseEstimates  # noqa: E402
from reanon_core.estimate.ten_questions import Question, true_answer  # noqa: E402

SURVEY_COLUMNS = ("sex", "education", "marital", "region")


def survey(rows: int) -> ends.Population:
    """People of the synthetic survey, in its first year."""
    folder = ROOT / "data" / "survey"
    found = importlib.util.spec_from_file_location("survey_generate", folder / "generate.py")
    assert found is not None
    assert found.loader is not None
    generate = importlib.util.module_from_spec(found)
    found.loader.exec_module(generate)
    (wave,) = generate.waves(1, 7, people=2 * rows)
    labels = {name: np.array(generate.LABELS[name])[wave[name]] for name in (*SURVEY_COLUMNS, "industry")}
    people = pd.DataFrame({"id": wave["person"], "age": wave["age"], **labels})
    trees = {name: ends.lines(folder / "taxonomies" / f"{name}.csv") for name in SURVEY_COLUMNS}
    ages = (generate.YOUNGEST, generate.OLDEST)
    return ends.Population("survey, m = 3", people, "industry", trees, ages, 3)


def random_questions(release: ReleaseEstimates, frame: pd.DataFrame, number: int, seed: int) -> Iterator[Question]:
    """Counts with conditions on up to three columns."""
    rng = np.random.default_rng(seed)
    sensitive = str(release.sensitive)
    labels = sorted(frame[sensitive].astype(str).unique())
    for _ in range(number):
        where: dict[str, object] = {}
        for name in rng.permutation(list(release.axes))[: rng.choice([0, 1, 1, 1, 2, 2, 2, 3])]:
            if release.axes[name].labels:
                present = sorted(frame[name].unique())
                some = rng.permutation(present)[: rng.integers(1, max(2, len(present) // 2 + 1))]
                where[str(name)] = [str(one) for one in some]
            else:
                low = int(rng.integers(frame[name].min(), frame[name].max()))
                where[str(name)] = (low, low + int(rng.choice([4, 9, 19, 29])))
        if not where or rng.random() < 2 / 3:
            where[sensitive] = [str(one) for one in rng.permutation(labels)[: rng.choice([1, 1, 2, 4])]]
        yield Question("how many?", "count", where)


def measured(population: ends.Population, form: str, given: argparse.Namespace) -> dict[str, Any]:
    """The coverage; the median error and half width of questions on quasi-identifiers that 20 people or more meet."""
    technique, to = ten_questions.FORMS[form]
    parameters = {name: value for name, value in technique.items() if name != "name"}
    frames = ten_questions.snapshots(population.people, given.rows, given.seed, leave=form != "sequential")
    series = reanon.Series(
        id="id",
        sensitive=population.sensitive,
        quasi_identifiers=population.columns(None),
        technique=build_technique(str(technique["name"]), parameters),
        form="decoupled" if to else "boxes",
        k=10 if to else None,
        unsafe_seed=given.seed,
    )
    for number, frame in enumerate(frames):
        last = series.publish(frame, name=f"r{number}", accept_drift="an experiment")
    grouped = "group_id" in last.column_names
    told = {"withheld": last.withheld, "technique": ten_questions.stated(technique)}
    if to:
        tables: dict[str, object] = {"rows": last, "values": last.values}
    else:
        tables = {"table": last, "counterfeits": last.counterfeits if grouped else None}
    release = ReleaseEstimates(**tables, manifest=told, orders=ten_questions.value_orders(population))  # type: ignore[arg-type]
    kinds: dict[str, list[bool]] = {"people": [], "values": [], "both": []}
    errors, widths = [], []
    for question in random_questions(release, frames[-1], given.questions, given.seed):
        answer, truth = release.count(question.where), true_answer(question, frames[-1:])
        valued = population.sensitive in question.where
        kind = "people" if not valued else "values" if len(question.where) == 1 else "both"
        kinds[kind].append(answer.covers(truth))
        if truth >= 20 and kind != "values":
            errors.append(abs(answer.value - truth) / truth)
            widths.append((answer.high - answer.low) / 2 / truth)
    held = [one for kind in kinds.values() for one in kind]
    return {
        "population": population.name.partition(",")[0],
        "form": form,
        "covered": round(float(np.mean(held)), 3),
        **{kind: round(float(np.mean(found)), 3) for kind, found in kinds.items()},
        "error": round(float(np.median(errors)), 3),
        "half_width": round(float(np.median(widths)), 3),
    }


def table_line(line: dict[str, Any]) -> str:
    """A line of the table in docs/using-a-release.md."""
    shares = " | ".join(f"{100 * line[name]:.0f}%" for name in ("covered", "people", "both", "error", "half_width"))
    return f"| {line['population']}, {line['form']} | {shares} |"


def main() -> int:
    """Print the table, and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=6_000, help="people in a release")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=101)
    parser.add_argument("--adult", type=Path, default=ends.ADULT, help="the folder of adult.csv; left out if not there")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures", help="folder for estimate-coverage.json")
    given = parser.parse_args()
    found = []
    for population in filter(None, (survey(given.rows), ends.adult(30_000, given.adult))):
        for form in ten_questions.FORMS:
            try:
                found.append(measured(population, form, given))
            except reanon.Unpublishable as reason:
                print(f"{population.name}, {form}: {reason}")
                continue
            print(" ".join(f"{value!s:>12}" for value in found[-1].values()), flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "estimate-coverage.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
