"""Ten questions, asked of the published folder of every technique and form, against the truth.

    python tests/experiments/ten_questions.py            # a minute of CPU: prints, and writes ten-questions.json
    python tests/experiments/ten_questions.py --pages    # also writes the tables of the documents from it
    python tests/experiments/ten_questions.py --form mondrian --out build/figures

The people are those of Adult, if it lies beside the project (../shared/data/adult): 12,000 people in each of three
releases, a tenth replaced each time. The answers come from the published folder alone. With `sequential` no one leaves,
because it refuses that. `reanon_core.Series` publishes with a seed that fixes the pseudonyms too: a re-run is the same.
"""

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "experiments")]

import ends  # noqa: E402

import reanon_core as reanon  # noqa: E402
from reanon_core.catalog import build_technique  # noqa: E402
from reanon_core.estimate.ten_questions import (  # noqa: E402
    Comparison,
    Question,
    compare_answers,
    shown_interval,
    shown_number,
)
from reanon_dagster import open_releases  # noqa: E402

RELEASES = ("2024", "2025", "2026")
DEGREES = ["Bachelors", "Masters", "Doctorate", "Prof-school"]
QUESTIONS = (
    Question("How many women work in Craft-repair?", "count", {"sex": "Female", "occupation": "Craft-repair"}),
    Question("How many people are in Exec-managerial?", "count", {"occupation": "Exec-managerial"}),
    Question("How many people are 30 to 39?", "count", {"age": (30, 39)}),
    Question(
        "How many divorced women are 40 to 59?",
        "count",
        {"sex": "Female", "marital-status": "Divorced", "age": (40, 59)},
    ),
    Question("What is the mean age in Prof-specialty?", "mean", {"occupation": "Prof-specialty"}, column="age"),
    Question(
        "What is the median age in Handlers-cleaners?", "quantile", {"occupation": "Handlers-cleaners"}, column="age"
    ),
    Question("Which share of Adm-clerical are women?", "share", {"occupation": "Adm-clerical"}, {"sex": "Female"}),
    Question(
        "Which share of Prof-specialty has a degree?", "share", {"occupation": "Prof-specialty"}, {"education": DEGREES}
    ),
    Question(
        "Which share of single people under 30 is in Sales?",
        "share",
        {"marital-status": "Never-married", "age": (17, 29)},
        {"occupation": "Sales"},
    ),
    Question("By how much did the share of Tech-support change?", "change", of={"occupation": "Tech-support"}),
)
KIND = {one.text: one.kind for one in QUESTIONS}
DECOUPLED = {"form": "decoupled", "k": 10}
FORMS: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "m-invariance": ({"name": "m-invariance", "m": 3}, {}),
    "m-invariance, decoupled": ({"name": "m-invariance", "m": 3}, DECOUPLED),
    "cor-split": ({"name": "cor-split", "m": 3, "n": 2}, {}),
    "cor-split, decoupled": ({"name": "cor-split", "m": 3, "n": 2}, DECOUPLED),
    "bpg": ({"name": "bpg", "k": 10, "ell": 3}, {}),
    "js-reduce": ({"name": "js-reduce", "k": 10, "t": 0.5, "j": 0.5}, {}),
    "sequential": ({"name": "sequential", "ell": 3}, {}),
    "mondrian": ({"name": "mondrian", "k": 10, "ell": 3}, {}),
}
"""The technique and the keys of `publish` of each series."""
PAGES = {name: name.partition(",")[0] for name in FORMS}
"""The page in docs/techniques of each form."""


def snapshots(people: pd.DataFrame, rows: int, seed: int, *, leave: bool) -> list[pd.DataFrame]:
    """The table at each release."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(people))
    here, pool = order[:rows].copy(), list(order[rows:])
    found = []
    for _ in RELEASES:
        found.append(people.iloc[np.sort(here)])
        coming = [pool.pop() for _ in range(rows // 10)]
        leaving = rng.choice(len(here), rows // 10, replace=False)
        here = np.append(np.delete(here, leaving) if leave else here, coming)
    return found


def series_of(form: str, population: ends.Population, seed: int) -> reanon.Series:
    """A series in memory that publishes in this form."""
    technique, to = FORMS[form]
    parameters = {name: value for name, value in technique.items() if name != "name"}
    return reanon.Series(
        id="id",
        sensitive="occupation",
        quasi_identifiers=population.columns(None),
        technique=build_technique(str(technique["name"]), parameters),
        form="decoupled" if to else "boxes",
        k=10 if to else None,
        unsafe_seed=seed,
    )


def stated(technique: Mapping[str, object]) -> dict[str, object]:
    """The technique as a manifest states it, defaults included."""
    parameters = {name: value for name, value in technique.items() if name != "name"}
    built: Any = build_technique(str(technique["name"]), parameters)
    told = {one.name: getattr(built, one.name) for one in fields(built)}
    return {"name": built.name, **{name: value for name, value in told.items() if isinstance(value, str | int | float)}}


def publish(folder: Path, frames: Sequence[pd.DataFrame], form: str, population: ends.Population, seed: int) -> None:
    """Publish the tables, and write what is public of them as `reanon publish` does."""
    technique, to = FORMS[form]
    series = series_of(form, population, seed)
    previous = None
    for release, frame in zip(RELEASES, frames, strict=True):
        published = series.publish(frame, name=release, accept_drift="an experiment")
        (folder / release).mkdir(parents=True)
        tables = {"rows": published, "values": published.values} if to else {"table": published}
        if not to and "group_id" in published.column_names:
            tables["counterfeits"] = published.counterfeits
        for name, content in tables.items():
            pyarrow.parquet.write_table(content.to_arrow(), folder / release / f"{name}.parquet")
        manifest = {"technique": stated(technique), "withheld": published.withheld, "previous_manifest": previous}
        text = json.dumps(manifest)
        (folder / release / "manifest.json").write_text(text, encoding="utf-8")
        previous = hashlib.sha256(text.encode()).hexdigest()


def value_orders(population: ends.Population) -> dict[str, tuple[str, ...]]:
    """The values of each category in the order of its tree."""
    described = (column.described(name) for name, column in population.columns(None).items())
    return {column.name: column.taxonomy.leaves for column in described if column.taxonomy is not None}


def asked(population: ends.Population, form: str, rows: int, seed: int) -> list[Comparison]:
    """The ten questions, asked of one form."""
    frames = snapshots(population.people, rows, seed, leave=form != "sequential")
    orders = value_orders(population)
    with tempfile.TemporaryDirectory() as scratch:
        publish(Path(scratch), frames, form, population, seed)
        releases = list(open_releases(scratch, orders=orders).values())
    return compare_answers(QUESTIONS, releases, frames)


def recorded(found: Sequence[Comparison]) -> list[dict[str, Any]]:
    """Answers as they are kept."""
    return [
        {
            "question": one.question.text,
            "estimate": round(one.estimate.value, 4),
            "low": round(one.estimate.low, 4),
            "high": round(one.estimate.high, 4),
            "truth": round(one.truth, 4),
            "holds": bool(one.holds),
            "notes": list(one.estimate.notes),
        }
        for one in found
    ]


def shown(number: float, question: str) -> str:
    """A number in the unit of its question."""
    return shown_number(KIND[question], number)


def cell(answer: dict[str, Any]) -> str:
    """An answer with its interval; a cross where the truth is outside."""
    text = shown_interval(KIND[answer["question"]], answer["estimate"], answer["low"], answer["high"])
    return f"{text}{'' if answer['holds'] else ' ✗'}"


def table(forms: dict[str, list[dict[str, Any]]], names: Sequence[str]) -> str:
    """The table of some forms, beside the truth."""
    lines = [f"| question | truth | {' | '.join(names)} |", "|---" * (len(names) + 2) + "|"]
    for at, question in enumerate(QUESTIONS):
        truths = list(dict.fromkeys(shown(forms[name][at]["truth"], question.text) for name in names))
        cells = " | ".join(cell(forms[name][at]) for name in names)
        lines.append(f"| {question.text} | {', '.join(truths)} | {cells} |")
    held = [sum(answer["holds"] for answer in forms[name]) for name in names]
    return "\n".join([*lines, f"| *truth in the interval* | | {' | '.join(f'{n} of 10' for n in held)} |"])


def write_pages(kept: dict[str, Any]) -> None:
    """Replace the tables of the documents, which stand between two comments."""
    forms = kept["forms"]
    targets = {ROOT / "docs" / "using-a-release.md": list(forms)}
    for page in sorted(set(PAGES.values())):
        targets[ROOT / "docs" / "techniques" / f"{page}.md"] = [name for name in forms if PAGES[name] == page]
    for path, names in targets.items():
        parts = [names[at : at + 3] for at in range(0, len(names), 3)]
        text = "\n\n".join(table(forms, part) for part in parts)
        old = path.read_text(encoding="utf-8")
        begin, rest = old.split("<!-- ten questions -->\n")
        _, end = rest.split("<!-- end -->", 1)
        path.write_text(f"{begin}<!-- ten questions -->\n{text}\n<!-- end -->{end}", encoding="utf-8")


def main() -> int:
    """Print the table, and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=12_000, help="people in a release")
    parser.add_argument("--seed", type=int, default=11, help="the one whose answers are kept")
    parser.add_argument("--seeds", type=int, nargs="*", default=[12, 13], help="more, of which only the sums are kept")
    parser.add_argument("--form", choices=list(FORMS), action="append", help="all if left out")
    parser.add_argument("--adult", type=Path, default=ends.ADULT, help="the folder of adult.csv")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures", help="folder for ten-questions.json")
    parser.add_argument("--pages", action="store_true", help="write the tables of the documents")
    given = parser.parse_args()
    population = ends.adult(30_000, given.adult)
    if population is None:
        print(f"{given.adult} is not there", file=sys.stderr)
        return 2
    forms = {}
    for form in given.form or FORMS:
        forms[form] = recorded(asked(population, form, given.rows, given.seed))
        print(f"{form}: the truth is in {sum(one['holds'] for one in forms[form])} of 10 intervals", flush=True)
        for one in forms[form]:
            print(f"  {one['question']:58} {shown(one['truth'], one['question']):>12}  {cell(one)}")
    held = {str(given.seed): {form: sum(one["holds"] for one in answers) for form, answers in forms.items()}}
    for seed in given.seeds:
        held[str(seed)] = {
            form: sum(bool(one.holds) for one in asked(population, form, given.rows, seed)) for form in forms
        }
        print(f"seed {seed}: {held[str(seed)]}", flush=True)
    kept = {"rows": given.rows, "seed": given.seed, "held": held, "forms": forms}
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "ten-questions.json").write_text(
        json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    if given.pages:
        write_pages(kept)
    return 0


if __name__ == "__main__":
    sys.exit(main())
