"""Ten questions, asked of the releases of each compared technique as an analyst would, and the truth. Private."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.estimate.questions import ReleaseEstimates
from reanon_core.estimate.ten_questions import Question, ask, true_answer, usual_questions
from reanon_core.model.arrays import MISSING
from reanon_core.model.coding import decode, decode_sensitive
from reanon_core.model.errors import ReanonError
from reanon_core.tables.release_table import published_tables
from reanon_dagster.documents.column_dictionary import column_dictionary
from reanon_dagster.lab.baseline import exact_entry

if TYPE_CHECKING:
    import pandas as pd

    from reanon_core.model.ledger import Entry
    from reanon_core.model.snapshot import Snapshot


@dataclass(frozen=True)
class Answer:
    """What the releases of one technique answer to one question; no number, and a note, where they cannot."""

    estimate: float | None
    low: float | None
    high: float | None
    note: str = ""


@dataclass(frozen=True)
class AskedQuestion:
    """A question with its true answer; None if the tables have none, such as the mean of no one."""

    question: Question
    truth: float | None


def asked_questions(snapshots: "Sequence[Snapshot]") -> tuple[AskedQuestion, ...]:
    """The questions for these snapshots: the same for every technique, whatever columns a release shows."""
    tables = [replace(one.answer(), columns=None) for one in (snapshots[0], snapshots[-1])]
    last = tables[-1]
    if not last.size:
        return ()
    people = np.bincount(last.sensitive, minlength=len(last.schema.sensitive.values))
    counts = {value: float(people[code]) for code, value in enumerate(last.schema.sensitive.values) if people[code]}
    exact = release_estimates(exact_entry(last, np.random.default_rng(0)), {})
    frames = [people_frame(one) for one in tables]
    found = []
    for question in usual_questions(exact, counts):
        truth = true_answer(question, frames)
        found.append(AskedQuestion(question, float(truth) if np.isfinite(truth) else None))
    return tuple(found)


def answers(
    questions: Sequence[AskedQuestion], entries: "Sequence[Entry]", parameters: Mapping[str, object]
) -> dict[str, Answer]:
    """What the releases answer, by the text of the question; only the first and the last one are asked."""
    try:
        releases = [release_estimates(one, parameters) for one in (entries[0], entries[-1])]
    except ReanonError as error:
        return {one.question.text: Answer(None, None, None, str(error)) for one in questions}
    return {one.question.text: _answer(one.question, releases) for one in questions}


def _answer(question: Question, releases: Sequence[ReleaseEstimates]) -> Answer:
    try:
        found = ask(question, releases)
    except ReanonError as error:
        return Answer(None, None, None, str(error))
    return Answer(float(found.value), float(found.low), float(found.high), "; ".join(found.notes))


def release_estimates(entry: "Entry", parameters: Mapping[str, object]) -> ReleaseEstimates:
    """The release as an analyst reads it: its tables, what the manifest says, and the dictionary."""
    schema = entry.snapshot.schema
    return ReleaseEstimates(
        **published_tables(entry.release, entry.auxiliary, schema),
        manifest={"technique": dict(parameters), "withheld": entry.withheld, "dirty": entry.dirty},
        dictionary={"reanon": {"columns": column_dictionary(schema)}},
    )


def people_frame(snapshot: "Snapshot") -> "pd.DataFrame":
    """The table as pandas has it: a missing value meets no condition and is part of no mean."""
    import pandas as pd

    columns = {}
    for at, column in enumerate(snapshot.schema.quasi_identifiers):
        codes = snapshot.qi[at]
        columns[column.name] = pd.Series(decode(column, codes)).where(codes != MISSING)
    columns[snapshot.schema.sensitive.name] = pd.Series(decode_sensitive(snapshot.schema.sensitive, snapshot.sensitive))
    return pd.DataFrame(columns)
