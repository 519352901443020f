"""Questions as data: asked of public releases, and answered from the steward's own tables for comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core.estimate.answer import Estimate
from reanon_core.estimate.evidence import Where
from reanon_core.estimate.questions import ReleaseEstimates
from reanon_core.model.errors import InvalidParameter, Problem

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("count", "share", "mean", "quantile", "change")


@dataclass(frozen=True)
class Question:
    """One question: a count, a share, a mean, a quantile, or the change of a share over all releases."""

    text: str
    kind: str
    where: Where = field(default_factory=dict)
    of: Where = field(default_factory=dict)
    """share, change: what the people in `where` may be."""
    column: str = ""
    """mean, quantile: the number."""
    q: float = 0.5

    def __post_init__(self) -> None:
        """Check the kind."""
        if self.kind not in KINDS:
            raise InvalidParameter(Problem("kind", f"be one of {', '.join(KINDS)}", self.kind))


@dataclass(frozen=True)
class Comparison:
    """Private: what a release says, and the truth."""

    question: Question
    estimate: Estimate
    truth: float

    @property
    def holds(self) -> bool:
        """Whether the truth lies in the interval."""
        return self.estimate.covers(self.truth)


def ask(question: Question, releases: Sequence[ReleaseEstimates]) -> Estimate:
    """The answer of the last release, or of the first and the last one together for a change."""
    last = releases[-1]
    if question.kind == "count":
        return last.count(question.where)
    if question.kind == "mean":
        return last.mean(question.column, question.where)
    if question.kind == "quantile":
        return last.quantile(question.column, question.q, question.where)
    after = last.share(question.of, question.where)
    if question.kind == "share":
        return after
    before = releases[0].share(question.of, question.where)
    change = after.value - before.value
    low = change - float(np.hypot(after.value - after.low, before.high - before.value))
    high = change + float(np.hypot(after.high - after.value, before.value - before.low))
    return Estimate(change, low, high, tuple(dict.fromkeys((*before.notes, *after.notes))))


def true_answer(question: Question, frames: "Sequence[pd.DataFrame]") -> float:
    """Private: the same answer from the tables of people."""
    people = frames[-1][_meets(frames[-1], question.where)]
    if question.kind == "count":
        return float(len(people))
    if question.kind == "mean":
        return float(people[question.column].mean())
    if question.kind == "quantile":
        return float(people[question.column].quantile(question.q))
    share = float(_meets(people, question.of).mean())
    if question.kind == "share":
        return share
    earlier = frames[0][_meets(frames[0], question.where)]
    return share - float(_meets(earlier, question.of).mean())


def compare_answers(
    questions: Sequence[Question], releases: Sequence[ReleaseEstimates], frames: "Sequence[pd.DataFrame]"
) -> list[Comparison]:
    """Private: every question, asked of the releases and of the tables behind them."""
    return [Comparison(one, ask(one, releases), true_answer(one, frames)) for one in questions]


def _meets(frame: "pd.DataFrame", where: Where) -> "np.ndarray[Any, np.dtype[np.bool_]]":
    """Which rows meet the conditions; a tuple is a range of numbers, as in the questions."""
    met = np.ones(len(frame), np.bool_)
    for name, asked in where.items():
        column = frame[name]
        if isinstance(asked, tuple):
            low, high = asked
            met &= ((column >= low) if low is not None else True) & ((column <= high) if high is not None else True)
        else:
            met &= column.isin(list(asked) if isinstance(asked, (list, set, frozenset)) else [asked]).to_numpy()
    return met


def usual_questions(release: ReleaseEstimates, people: Mapping[str, float] | None = None) -> list[Question]:
    """Ten questions that fit any release: about its two most frequent values, a number and a category if it has them.

    `people` are counts of sensitive values, if they are known; they are estimated otherwise.
    """
    known = people or {label: release.count({str(release.sensitive): label}).value for label in release.labels}
    frequent = sorted(known, key=lambda label: (-known[label], label))
    sensitive = str(release.sensitive)
    found: list[Question] = [Question(f"how many are {label}?", "count", {sensitive: label}) for label in frequent[:2]]
    if len(frequent) > 2:
        found.append(Question(f"how many are {frequent[-1]}?", "count", {sensitive: frequent[-1]}))
    for name, axis in release.axes.items():
        if len(found) >= 9:
            break
        if axis.labels:
            label = axis.labels[len(axis.labels) // 2]
            found += [
                Question(f"how many have {name} {label}?", "count", {name: label}),
                Question(
                    f"what share of {frequent[0]} has {name} {label}?", "share", {sensitive: frequent[0]}, {name: label}
                ),
            ]
        elif axis.kind == "number":
            found += [
                Question(f"mean {name} of {frequent[0]}?", "mean", {sensitive: frequent[0]}, column=name),
                Question(f"median {name}?", "quantile", column=name),
            ]
    return [*found[:9], Question(f"change of the share of {frequent[0]}?", "change", of={sensitive: frequent[0]})]
