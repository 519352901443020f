"""Questions as data: asked of public releases, and answered from the steward's own tables for comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core.estimate.answers import Estimate
from reanon_core.estimate.axis import Axis
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


def shown_number(kind: str, number: float) -> str:
    """An answer to a question of this kind, in its unit: people, percent, points of percent, or the column's own."""
    if kind == "change":
        return f"{100 * number:+.1f} points"
    if kind == "share":
        return f"{100 * number:.0f}%"
    return f"{number:,.0f}" if kind == "count" else f"{number:,.1f}"


def shown_interval(kind: str, value: float, low: float, high: float) -> str:
    """An answer with its interval, and the unit once."""
    texts = [shown_number(kind, one) for one in (value, low, high)]
    unit = " points" if kind == "change" else ""
    first, second, third = (text.removesuffix(unit) for text in texts)
    return f"{first} ({second} to {third}){unit}"


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
    """Up to ten questions that fit any release: about its two most frequent values, its numbers and its categories.

    `people` are counts of sensitive values, if they are known; they are estimated otherwise.
    """
    known = people or {label: release.count({str(release.sensitive): label}).value for label in release.labels}
    frequent = sorted(known, key=lambda label: (-known[label], label))
    sensitive = str(release.sensitive)
    found: list[Question] = [Question(f"how many are {label}?", "count", {sensitive: label}) for label in frequent[:2]]
    if len(frequent) > 2:
        found.append(Question(f"how many are {frequent[-1]}?", "count", {sensitive: frequent[-1]}))
    for value in frequent[:2]:
        for name, axis in release.axes.items():
            found += _about_a_column(name, axis, sensitive, value, first=value == frequent[0])
    change = Question(f"change of the share of {frequent[0]}?", "change", of={sensitive: frequent[0]})
    return [*found[:9], change]


def _about_a_column(name: str, axis: Axis, sensitive: str, value: str, *, first: bool) -> list[Question]:
    """Questions on a quasi-identifier and a sensitive value; those on everyone come with the first value only."""
    having = {sensitive: value}
    if axis.labels:
        label = axis.labels[len(axis.labels) // 2]
        share = Question(f"what share of {value} has {name} {label}?", "share", having, {name: label})
        return [Question(f"how many have {name} {label}?", "count", {name: label}), share] if first else [share]
    if axis.kind != "number":
        return []
    mean = Question(f"mean {name} of {value}?", "mean", having, column=name)
    return [mean, Question(f"median {name}?", "quantile", column=name)] if first else [mean]
