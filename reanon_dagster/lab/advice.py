"""Advice: the technique and parameters that keep the strongest promise on these snapshots, with the reason."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reanon_core.catalog import TECHNIQUES
from reanon_core.model.errors import counted
from reanon_core.protocols import AdversaryKind, Fit
from reanon_dagster.lab.advice_grid import Cell, Measured, asked, resized
from reanon_dagster.lab.applicability import TableFacts
from reanon_dagster.releasing.query_error import NO_RELATION, percentage, utility, whole_percent

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

HARDLY_MORE = 1.25
"""By which factor the query error may grow for more values than the file asks for."""
CLEARLY_LESS = 0.8
"""The share of the recommended query error below which a weaker promise is worth a line."""
MOSTLY_KEPT, LITTLE_LOST = 0.5, 0.1
"""What a number of values that costs little keeps of the relations at least, and loses of any value at most."""
FROZEN = (
    "this cannot be undone: the first release freezes the technique, its number of values (m, ell, k, n), the columns "
    "and the form; another choice later means a new series, which does not protect people against both series combined"
)


@dataclass(frozen=True)
class Recommendation:
    """What to write into the series file, and why."""

    measured: Measured
    reasons: tuple[str, ...]
    yaml: str
    """The lines to paste."""
    alternative: Measured | None = None
    """A weaker promise with a smaller query error; None if there is none."""


def assumed_adversary(series: "Series") -> AdversaryKind:
    """The adversary that the series file declares; one who knows who is in each release if it declares none."""
    config = series.config
    if config.knowledge is not None or config.adversary.knowledge is not None:
        return "transitions"
    return "values" if config.adversary.compromised else "presence"


def recommendation(series: "Series", facts: TableFacts, measured: Sequence[Measured]) -> Recommendation | None:
    """The best cell of the grid: the strongest promise, then what the file asks for, then the smallest error.

    None if no cell gets through the snapshots on the disk.
    """
    # Where values change, the attack draws conclusions that need not be true; a promise that bounds a risk still fails.
    doubtful = bool(facts.changed_values)
    working = [one for one in measured if one.works and (not one.exposed or (doubtful and not _fit(one).bounds_risk))]
    if not working:
        return None
    own = asked(series)
    ranks = [_rank(one, facts) for one in working]
    alike = [one for one, rank in zip(working, ranks, strict=True) if rank == min(ranks)]
    best = _chosen(alike, facts, own, series.form)
    closer = [one for one in working if one.complete and _error(one) < CLEARLY_LESS * _error(best)]
    weaker = [one for one in closer if not _fit(one).bounds_risk]
    alternative = min(weaker, key=_error) if weaker and _fit(best).bounds_risk else None
    return Recommendation(best, tuple(_reasons(best, facts, own)), yaml_lines(series, best.cell), alternative)


def _rank(one: Measured, facts: TableFacts) -> tuple[bool, bool, int, bool]:
    """The smaller the better: what the series needs, what is promised, against whom, and for how long."""
    fit = _fit(one)
    answers = TECHNIQUES[one.cell.technique].declaration.answers_queries
    # Of two promises the one that was asked for, and not a costlier one.
    return (facts.selects and not answers, not fit.bounds_risk, len(fit.adversaries), one.horizon is not None)


def _chosen(alike: Sequence[Measured], facts: TableFacts, own: int | None, form: str) -> Measured:
    """Of cells with the same promise: as many values as the file asks for, and more if they cost hardly more.

    A cell with a value to spare comes first, then any. The form of the series stays unless the other one costs clearly
    less: the default was chosen for more than the error of a count.
    """
    enough = [one for one in alike if one.cell.among >= (own or 2)]
    if not enough:
        most = max(one.cell.among for one in alike)
        return min((one for one in alike if one.cell.among == most), key=_error)
    for accepted in (_has_spare, _any):
        able = [one for one in enough if accepted(one, facts)]
        if able:
            least = min(_error(one) for one in able)
            cheap = [one for one in able if _error(one) <= HARDLY_MORE * least]
            return min(cheap or able, key=lambda one: (-one.cell.among, _in_other_form(one, form), _error(one)))
    raise AssertionError("the last rule accepts any cell")


def _in_other_form(one: Measured, form: str) -> bool:
    decouples = TECHNIQUES[one.cell.technique].declaration.decouples
    return decouples and (one.cell.k is not None) != (form == "decoupled")


def costs_little(one: Measured) -> bool:
    """Whether every release goes out, no value loses much of its people, and readers see most of the relations."""
    kept = one.relations is None or one.relations >= MOSTLY_KEPT
    return one.complete and one.works and not one.exposed and kept and (one.lost or 0.0) <= LITTLE_LOST


def numbers_compared(
    own: int, best: Measured, measured: Sequence[Measured], whole: Callable[[Cell], Measured]
) -> tuple[Measured, Measured | None]:
    """The number of values that the file asks for, and the largest one that costs little, if any does.

    Both with the technique and the form that are recommended. `whole` measures a cell that the grid left out; a number
    above the file's own is taken from the grid alone.
    """
    known = {
        one.cell.among: one
        for one in measured
        if (one.cell.technique, one.cell.k) == (best.cell.technique, best.cell.k) and one.complete
    }

    def of(among: int) -> Measured:
        if among not in known:
            known[among] = whole(resized(best.cell, among))
        return known[among]

    asked_for = of(own)
    little = [among for among, one in known.items() if among >= own and costs_little(one)]
    if little:
        return asked_for, known[max(little)]
    low, high = _fit(best).least - 1, own
    while high - low > 1:  # costs grow with the number of values
        middle = (low + high) // 2
        low, high = (middle, high) if costs_little(of(middle)) else (low, middle)
    return asked_for, known.get(low)


def _has_spare(one: Measured, facts: TableFacts) -> bool:
    return not _fit(one).rations_new_rows or one.cell.among < facts.largest_m


def _any(one: Measured, facts: TableFacts) -> bool:  # noqa: ARG001  one of two rules
    return True


def _reasons(best: Measured, facts: TableFacts, own: int | None) -> list[str]:
    fit, cell = _fit(best), best.cell
    reasons = [fit.promise]
    if facts.changed_values and fit.bounds_risk:
        reasons.append(
            f"{counted(facts.changed_values, 'person changes', 'people change')} their value: for them the promise "
            f"holds from one change to the next, and what an old value says about the new one is not covered"
        )
    if own is not None and own > cell.among:
        reasons.append(f"your file asks for {own} values, and the snapshots on the disk allow {cell.among}")
    elif own is not None:
        reasons.append(
            f"your file asks for {own} values" + (f", and {cell.among} cost hardly more" if own < cell.among else "")
        )
    if fit.rations_new_rows and facts.largest_m > cell.among:
        reasons.append(f"up to {facts.largest_m} values no value of the new people is too frequent; some are to spare")
    elif fit.rations_new_rows:
        then = "some are withheld" if fit.goes_on else "the release is refused"
        reasons.append(f"nothing is to spare: where a value is more frequent among the new people, {then}")
    if cell.k is not None:
        reasons.append("the decoupled form promises the same for values, and locates fewer people (docs/decoupled.md)")
    reasons.append(
        f"a release has {best.counterfeits:,.0f} counterfeits and withholds {best.withheld:,.0f} people on average; "
        f"{utility(best.query_error, best.relations)}"
    )
    horizon = best.horizon
    if horizon is not None:
        reasons.append(f"but in the projection the series ends at {horizon.release}: {horizon.redacted}")
    return reasons


def yaml_lines(series: "Series", cell: Cell) -> str:
    """The lines of series.yaml for this cell."""
    technique = {"name": cell.technique, **cell.parameters}
    lines = [f"technique: {_flow(technique)}"]
    publish = cell.publish(series).model_dump(mode="json", exclude_unset=True)
    if publish:
        lines.append(f"publish: {_flow(publish)}")
    return "\n".join(lines)


def _flow(values: "dict[str, object]") -> str:
    """A mapping on one line, as YAML writes it."""
    import yaml

    return yaml.safe_dump(values, default_flow_style=True, sort_keys=False, width=10_000).strip()


def summary(one: Measured) -> str:
    """A cell with its error, as part of a sentence."""
    error = "an unknown error" if one.query_error is None else f"a typical count off by {percentage(one.query_error)}"
    kept = NO_RELATION if one.relations is None else f"{whole_percent(one.relations)} of the relations kept"
    return f"{one.cell.text}: {error}, {kept}; {_fit(one).promise}"


def _fit(one: Measured) -> Fit:
    fit = TECHNIQUES[one.cell.technique].declaration.fit
    if fit is None:
        raise AssertionError("a technique without a fit is in no grid")
    return fit


def _error(one: Measured) -> float:
    return float("inf") if one.query_error is None else one.query_error
