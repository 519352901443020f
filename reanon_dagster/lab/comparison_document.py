"""A comparison for a program and for pages: aggregates only, no person."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from reanon_core.estimate.answers import Estimate
from reanon_dagster.lab.comparison import Asked, Outcome
from reanon_dagster.lab.comparison_questions import Answer, AskedQuestion


def comparison_document(found: Mapping[str, Outcome], asked: Asked) -> dict[str, Any]:
    """The cells, the metrics and the seconds of the contract, and the questions with what each technique answers."""
    cells = [
        {"technique": label, "attack": attack, "exposed": cell[0], "of": cell[1], "note": cell[2]}
        for label, outcome in found.items()
        for attack in asked.attacks
        for cell in [_cell(outcome, attack)]
    ]
    metrics = [
        {"technique": label, "metric": metric, "value": value}
        for label, outcome in found.items()
        if not outcome.refusal
        for metric, value in outcome.metrics.items()
    ]
    seconds = {label: round(outcome.seconds, 3) for label, outcome in found.items() if not outcome.refusal}
    questions = [_question(one, found) for one in asked.questions]
    return {"cells": cells, "metrics": metrics, "seconds": seconds, "questions": questions}


def answer_summary(questions: Sequence[Mapping[str, Any]], technique: str) -> tuple[int, int, float | None]:
    """How many answers of a technique hold the truth in their interval, of how many, and their typical error.

    The typical error is the median of the relative errors; a change of a share, which may be none, is left out.
    """
    told = [
        (question, answer)
        for question in questions
        for answer in question["answers"]
        if answer["technique"] == technique and answer["holds"] is not None
    ]
    errors = [
        abs(answer["estimate"] - question["truth"]) / abs(question["truth"])
        for question, answer in told
        if question["kind"] != "change" and question["truth"]
    ]
    return sum(answer["holds"] for _, answer in told), len(told), median(errors) if errors else None


def _cell(outcome: Outcome, attack: str) -> tuple[int | None, int | None, str]:
    if outcome.refusal:
        return None, None, f"not published: {outcome.refusal}"
    cell = outcome.cells[attack]
    return cell.exposed, cell.of, cell.note


def _question(asked: AskedQuestion, found: Mapping[str, Outcome]) -> dict[str, Any]:
    question = asked.question
    answers = [
        {"technique": label, **_answer(outcome.answers[question.text], asked.truth)}
        for label, outcome in found.items()
        if not outcome.refusal
    ]
    return {"question": question.text, "kind": question.kind, "truth": asked.truth, "answers": answers}


def _answer(answer: Answer, truth: float | None) -> dict[str, Any]:
    estimate, low, high = answer.estimate, answer.low, answer.high
    holds = None
    if estimate is not None and low is not None and high is not None and truth is not None:
        holds = Estimate(estimate, low, high).covers(truth)
    return {"estimate": estimate, "low": low, "high": high, "holds": holds, "note": answer.note}


def pareto_front(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """The names of the points that no other point beats: it is no worse in both numbers, and better in one."""
    return [
        name
        for name, (one, two) in points.items()
        if not any(a <= one and b <= two and (a < one or b < two) for a, b in points.values())
    ]
