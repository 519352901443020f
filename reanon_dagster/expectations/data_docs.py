"""Data Docs: a page for every judgement of every release, rendered by Great Expectations from aggregates."""

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reanon_core.model.errors import counted
from reanon_core.model.verdict import Verdict
from reanon_dagster.expectations.evaluation import evaluate
from reanon_dagster.expectations.pages import index_page, result_page
from reanon_dagster.series.expectations import CRITICAL, Expectation

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "data_docs"
"""The folder of the Data Docs, inside the private folder of a series."""
SNAPSHOT, RELEASE = "snapshot", "release"
_LIST = "judged.json"


class Suite(NamedTuple):
    """A frame, what is expected of it, and for verdicts what is shown as observed."""

    name: str
    frame: "pd.DataFrame"
    expectations: Sequence[Expectation]
    figures: Sequence[str] = ()


def verdict_suite(verdicts: Sequence[Verdict]) -> Suite:
    """Verdicts as they were given, each in a column of its own: the sentence, the figures, and whether it holds."""
    import pandas as pd

    expected = [
        Expectation(
            RELEASE,
            "expect_column_values_to_be_in_set",
            {"column": verdict.check, "value_set": [True]},
            CRITICAL if verdict.required else "warning",
            verdict.sentence,
        )
        for verdict in verdicts
    ]
    frame = pd.DataFrame({verdict.check: [verdict.holds] for verdict in verdicts})
    return Suite(RELEASE, frame, expected, [_figures(verdict) for verdict in verdicts])


def _figures(verdict: Verdict) -> str:
    first = counted(verdict.violations, "violation", "violations") if verdict.violations else "no violations"
    # Checks count many kinds of violation: zeros would hide the numbers that matter.
    return "; ".join([first, *(f"{name} {number:,.6g}" for name, number in verdict.observed.items() if number)])


def write_data_docs(folder: Path, title: str, release: str, suites: Sequence[Suite]) -> tuple[Path, set[str]]:
    """Judge the suites, write a page for each, and list them with those of earlier judgements.

    Returns the path of the list, and the names of the suites that fail.

    Nothing leaves the machine, and nothing but aggregates reaches the disk; only the owner may read it.
    """
    mask = os.umask(0o077)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        known = folder / _LIST
        listed = json.loads(known.read_text(encoding="utf-8")) if known.exists() else []
        listed[:0] = judged = [_written(folder, release, suite) for suite in suites]
        known.write_text(json.dumps(listed), encoding="utf-8")
        (folder / "index.html").write_text(index_page(title, listed), encoding="utf-8")
    finally:
        os.umask(mask)
    return folder / "index.html", {str(one["suite"]) for one in judged if not one["holds"]}


def _written(folder: Path, release: str, suite: Suite) -> dict[str, object]:
    """Judge a suite, write its page and its results, and return its line of the list."""
    found = evaluate(suite.name, suite.frame, suite.expectations)
    for one, figure in zip(found.results, suite.figures, strict=False):  # of a snapshot, the counts are shown
        one.result = {"observed_value": escape(figure)}
    at = datetime.now(tz=UTC)
    found.meta["run_id"] = {"run_name": release, "run_time": at.isoformat()}
    page = folder / release / suite.name / f"{at:%Y%m%dT%H%M%S%f}.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(result_page(found, f"{suite.name} of {release}, judged {at:%Y-%m-%d %H:%M} UTC"), encoding="utf-8")
    page.with_suffix(".json").write_text(json.dumps(found.to_json_dict(), indent=2), encoding="utf-8")
    where = page.relative_to(folder).as_posix()
    return {"release": release, "suite": suite.name, "at": f"{at:%F %T} UTC", "holds": found.success, "page": where}
