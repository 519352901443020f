"""Regressions of the sensitive value on quasi-identifiers, from one published release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeAlias

import numpy as np

from reanon_core.estimate.answers import Estimate
from reanon_core.estimate.evidence import Evidence, Where
from reanon_core.estimate.group_likelihood import Fit, line
from reanon_core.model.arrays import Bool, Float64
from reanon_core.model.errors import InvalidParameter, Problem

On: TypeAlias = Sequence[str] | Mapping[str, object]
"""Columns; or names, each with a column or with the conditions that someone must meet."""
LOST = 7.0
"""How far withheld people and counterfeits may move a coefficient, as variances of a fit to as many people."""


@dataclass(frozen=True, eq=False)
class Terms:
    """The right side of a regression: a constant for those who are asked for, the terms, a constant for the others."""

    names: tuple[str, ...]
    scale: Float64  # [d] by what each term was divided
    values: Float64  # [n, j, 1 + d] or [n, j, 2 + d]

    def told(self, fit: Fit, lost: float, level: float) -> dict[str, Estimate]:
        """Each coefficient with its interval; `lost` is the part of the people who are withheld or invented."""
        reach = NormalDist().inv_cdf((1 + level) / 2)
        spread = reach * np.sqrt(np.maximum(np.diag(fit.hidden + LOST * lost * fit.whole), 0))
        found = {}
        for at, (name, scale) in enumerate(zip(self.names, self.scale, strict=True), start=1):
            middle, away = float(fit.coefficients[at] / scale), float(spread[at] / scale)
            found[name] = Estimate(middle, middle - away, middle + away)
        return found


def logistic(evidence: Evidence, of: Where, terms: Terms) -> Fit:
    """The regression of the log odds of having one of the values in `of`."""
    selection = evidence.selection(of)
    if selection.chosen is None or selection.columns:
        rule = f"be a condition on {evidence.sensitive} alone, whose odds are asked for"
        raise InvalidParameter(Problem("of", rule, ", ".join(of) or "nothing"))
    return evidence.fitted(terms.values, selection.chosen)


def linear(evidence: Evidence, terms: Terms) -> Fit:
    """The regression of the sensitive value, which is a number."""
    values, group = evidence.shown_values, evidence.units.group[evidence.unit_of_person()]
    try:
        numbers = np.array([float(label) for label in values.labels])
    except ValueError:
        rule = "be a number, and some of its values are none"
        raise InvalidParameter(Problem(str(evidence.sensitive), rule, help="ask `logistic` for one of them")) from None
    times = np.rint(values.count).astype(np.int64)
    slots, shown = np.repeat(values.group, times), np.repeat(numbers[values.value], times)
    return line(terms.values.mean(axis=1), group, slots, shown)


def terms_of(evidence: Evidence, on: On, where: Where) -> Terms:
    """The terms, for the people who meet the conditions and have a value in every column.

    A number is a term; a column of labels is one for each label but the most frequent; conditions are one.

    Raises: InvalidParameter.
    """
    _require_groups(evidence)
    asked = dict(on) if isinstance(on, Mapping) else {name: name for name in on}
    if not asked:
        raise InvalidParameter(Problem("on", "name a column at least"))
    inside = _met(evidence, "where", where)
    columns: dict[str, tuple[Float64, float]] = {}
    for name, one in asked.items():
        if isinstance(one, Mapping):
            columns[name] = _met(evidence, name, one).astype(np.float64), 1.0
            continue
        if one not in evidence.axes:
            rule = f"be one of {', '.join(evidence.axes)}, or conditions on them"
            raise evidence.unread_or(str(one), Problem(name, rule, str(one)))
        axis, codes, known = evidence.axes[str(one)], evidence.places(str(one)), evidence.has_value(str(one))
        inside = inside & known
        if axis.labels:
            people = np.bincount(codes[known], minlength=len(axis.labels))
            usual = int(people.argmax())
            for code in np.flatnonzero(people):
                if code != usual:
                    label = f"{name}: {axis.labels[code]}, not {axis.labels[usual]}"
                    columns[label] = (codes == code).astype(np.float64), 1.0
        else:
            spread = max(float(codes[known].std()), 1e-9) if known.any() else 1.0
            middle = float(codes[known].mean()) if known.any() else 0.0
            columns[name] = np.where(known, (codes - middle) / spread, 0.0), spread * axis.value(1)
    flat = {name: np.where(inside, column, 0.0) for name, (column, _) in columns.items()}
    if same := [name for name, column in flat.items() if not inside.any() or np.ptp(column[inside]) <= 0]:
        raise InvalidParameter(*(Problem(name, "differ among the people who are asked for") for name in same))
    others = [] if inside.all() else [~inside]
    values = np.stack([inside, *flat.values(), *others], axis=-1).astype(np.float64)
    return Terms(tuple(flat), np.array([scale for _, scale in columns.values()]), values)


def _met(evidence: Evidence, name: str, where: Where) -> Bool:
    selection = evidence.selection(where)
    if selection.chosen is not None:
        raise InvalidParameter(Problem(name, f"not be about {evidence.sensitive}, whose values are compared"))
    return evidence.meets(selection.columns)


def _require_groups(evidence: Evidence) -> None:
    """Regressions need groups that people are in by their quasi-identifiers, and the values of these groups."""
    if len(evidence.shown_values.labels) and evidence.units.spans_worlds:
        raise InvalidParameter(Problem("the release", "show sensitive values in groups of people"))
    if evidence.withholds_frequent_values and not evidence.by_region:
        rule = "have people of one region in each group, and they come from anywhere: values hide who has them"
        help_ = "ask for `odds_ratio`, whose interval says how little is known"
        raise InvalidParameter(Problem("the release", rule, help=help_))
