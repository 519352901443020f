"""Questions that an analyst asks of one published release, and the answers with their uncertainty."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core.estimate.answers import Estimate, answer_frame
from reanon_core.estimate.axis import Axis
from reanon_core.estimate.evidence import Evidence, Where
from reanon_core.estimate.people import lines_of, people_table
from reanon_core.estimate.regression import On, Terms, linear, logistic, terms_of
from reanon_core.estimate.release_tables import read_evidence
from reanon_core.estimate.totals import Quantity, Total
from reanon_core.model.arrays import Bool, Float64
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.tables.frames import Table

if TYPE_CHECKING:
    import pandas as pd

INSIDE = 0.999
"""A box lies in a region if so much of it does."""
NARROW = 0.1
"""If less than this part of an answer comes from boxes that lie in the region, the region is narrower than they are."""
WIDE = 0.5
"""An interval that reaches further than this part of the answer to one side is wide."""

QUANTILE_STEPS = 64
"""At most so many places are tried before a quantile is interpolated."""
HALF = 0.5
"""The least number of people on either side of odds, so that no one at all has odds too."""
TOUCH = 1e-9
"""Shares that differ by less are the same."""
NO_ONE = Problem("the conditions", "be met by someone, and the release shows no one")


def notes_on(
    share: Float64, people: Float64, total: Total | None = None, interval: tuple[float, float] = (0, 0)
) -> tuple[str, ...]:
    """The sentences for an answer; `share` is the part of each unit's box in the region, `people` its people."""
    notes = []
    if total is not None and total.below + total.above > WIDE * max(total.value, 1.0):
        fewest, most = max(0.0, total.value - total.below), total.value + total.above
        notes.append(
            f"{total.rows:,.0f} rows show these values, but between {fewest:,.0f} and {most:,.0f} real people may be "
            f"behind them: the groups have too many counterfeits for an answer"
        )
    counted = float(people @ share)
    inside = float(people[share > INSIDE] @ share[share > INSIDE])
    if counted > 0 and inside < NARROW * counted:
        notes.append(
            f"the region is narrower than the boxes: {1 - inside / counted:.0%} of the answer depends on how people "
            f"are spread inside them"
        )
    if total is not None and not notes:
        reach = max(interval[1] - total.value, total.value - interval[0])
        if reach > WIDE * max(total.value, 1.0):
            notes.append("the interval is wide: ask for a larger region, more values, or several releases")
    return tuple(notes)


class ReleaseEstimates:
    """Answers from the tables of one release, each with an interval.

    Give `table` and `counterfeits`, or `rows` and `values` of the decoupled form, as pandas or polars frames or Arrow
    tables; `manifest` and `dictionary` are the contents of manifest.json and datapackage.json. `orders` has the values
    of categorical columns in order, if there is no dictionary; a column without an order cannot be asked for. `level`
    is how often an interval should hold the truth.

    Raises: InvalidParameter if tables do not fit together, or a column's order does not fit its intervals.
    """

    def __init__(
        self,
        *,
        table: object = None,
        counterfeits: object = None,
        rows: object = None,
        values: object = None,
        manifest: Mapping[str, Any] | None = None,
        dictionary: Mapping[str, Any] | None = None,
        orders: Mapping[str, Sequence[str]] | None = None,
        sensitive: str | None = None,
        level: float = 0.9,
    ) -> None:
        if not 0.5 <= level < 1:
            raise InvalidParameter(Problem("level", "be at least 0.5 and below 1", str(level)))
        tables = {"table": table, "counterfeits": counterfeits, "rows": rows, "values": values}
        given = {name: one for name, one in tables.items() if one is not None}
        self._evidence: Evidence = read_evidence(given, manifest or {}, dictionary or {}, orders or {}, sensitive)
        self.level = level
        self.withheld = int((manifest or {}).get("withheld", 0))
        self.dirty = int((manifest or {}).get("dirty", 0))

    def people(self) -> Table:
        """Everyone as one table: the ends and the middle of each quasi-identifier, the value, and `weight`.

        A sum of weights counts published people, in either form. It has `to_pandas`, `to_polars` and `to_arrow`.
        """
        return Table(people_table(self._evidence))

    def covered(self, where: Where) -> Float64:
        """For each line of `people`, which part of it meets conditions: a sum of weights times this is a count."""
        selection, (unit, entry) = self._evidence.selection(where), lines_of(self._evidence)
        share = (selection.shares[0] + selection.shares[1])[unit] / 2
        if selection.chosen is None or self._evidence.values is None:
            return share
        return share * selection.chosen[self._evidence.values.value[entry]]

    @property
    def size(self) -> float:
        """How many people the table had: those who are published and those who were withheld."""
        return float(self._evidence.units.people.sum()) - self.dirty + self.withheld

    @property
    def axes(self) -> Mapping[str, Axis]:
        """The quasi-identifiers, by name."""
        return self._evidence.axes

    @property
    def sensitive(self) -> str | None:
        """The name of the sensitive column; None if the release does not show it."""
        return self._evidence.sensitive

    @property
    def labels(self) -> tuple[str, ...]:
        """The sensitive values that the release shows, in alphabetical order."""
        return () if self._evidence.values is None else tuple(sorted(self._evidence.values.labels))

    def count(self, where: Where | None = None) -> Estimate:
        """How many people meet the conditions."""
        selection = self._evidence.selection(where or {})
        total = self._whole(self._evidence.count(selection), selection.chosen)
        low, high = total.interval(self.level)
        value, low, high = (min(max(one, 0.0), self.size) for one in (total.value, low, high))
        weights = self._evidence.weights(selection.chosen)
        notes = (*selection.notes, *notes_on(selection.shares[0], weights, total, (low, high)))
        return Estimate(value, low, high, notes)

    def share(self, of: Where, where: Where | None = None) -> Estimate:
        """The share of the people who meet `of`, among those who meet `where`."""
        among = dict(where or {})
        clash = sorted(among.keys() & dict(of).keys())
        if clash:
            raise InvalidParameter(Problem("the conditions", "name a column once", ", ".join(clash)))
        part, whole = self.count({**among, **of}), self.count(among)
        if whole.value <= 0:
            return Estimate(0.0, 0.0, 1.0, ("the release shows no one who meets the conditions",))
        value = part.value / whole.value
        # The errors of both are taken to be independent; a part and its whole err alike, so this is on the safe side.
        fewer, more = (whole.value - whole.low) / whole.value, (whole.high - whole.value) / whole.value
        low = value - float(np.hypot((part.value - part.low) / whole.value, value * more))
        high = value + float(np.hypot((part.high - part.value) / whole.value, value * fewer))
        notes = tuple(dict.fromkeys((*part.notes, *whole.notes)))
        return Estimate(min(value, 1.0), max(low, 0.0), min(high, 1.0), notes)

    def odds_ratio(self, one: Where, other: Where, where: Where | None = None) -> Estimate:
        """How many times as large the odds of `one` are among the people who meet `other` as among everyone else.

        `where` are conditions that both sides meet. Exchanging `one` and `other` changes nothing but the interval.
        """
        if self.sensitive in one:  # the share among the people with a value is what groups tell most of
            one, other = other, one
        if self.sensitive in other and len(other) == 1 and self._compares(one):
            return self._fitted_odds(one, other, where or {})
        everyone, having, among = self.share(one, where), self.share(other, where), {**(where or {}), **other}
        inside = self.share(one, among)
        people = self.count(where).value
        if not 0 < having.value < 1 or not 0 < everyone.value < 1 or people <= 0:
            raise InvalidParameter(Problem("the conditions", "be met by some of the people, and not by all of them"))

        def log_odds(share: float, of_all: float) -> float:
            rest = (of_all - share * having.value) / (1 - having.value)
            return _log_odds(share, people * having.value) - _log_odds(rest, people * (1 - having.value))

        middle = log_odds(inside.value, everyone.value)
        # A larger share of all is one of the others: it lowers the ratio.
        down = middle - log_odds(inside.low, everyone.value), middle - log_odds(inside.value, everyone.high)
        up = log_odds(inside.high, everyone.value) - middle, log_odds(inside.value, everyone.low) - middle
        ends = middle, middle - float(np.hypot(*down)), middle + float(np.hypot(*up))
        value, low, high = (float(np.exp(end)) for end in ends)
        return Estimate(value, low, high, tuple(dict.fromkeys((*inside.notes, *everyone.notes))))

    def logistic(self, of: Where, on: On, where: Where | None = None) -> "pd.DataFrame":
        """The logistic regression of having one of the values in `of` on quasi-identifiers, by maximum likelihood.

        `on` lists columns, or has a column or conditions by name. The frame has a line for each term: term, value (the
        log of an odds ratio, of a unit of a number), low, high, notes and odds_ratio. The constant is left out.
        """
        terms = terms_of(self._evidence, on, where or {})
        found = answer_frame("term", terms.told(logistic(self._evidence, of, terms), self._lost, self.level))
        return found.assign(odds_ratio=np.exp(found["value"]))

    def linear(self, on: On, where: Where | None = None) -> "pd.DataFrame":
        """The linear regression of the sensitive value, which is a number, on quasi-identifiers.

        The frame has term, value (how much larger the number is for a unit of the term), low, high and notes.
        """
        terms = terms_of(self._evidence, on, where or {})
        return answer_frame("term", terms.told(linear(self._evidence, terms), self._lost, self.level))

    def mean(self, column: str, where: Where | None = None) -> Estimate:
        """The mean of a number over the people who meet the conditions; of a date, in days since 1970."""
        axis, evidence, conditions = self._measured(column), self._evidence, dict(where or {})
        asked = axis.intervals(conditions[column]) if column in conditions else None
        selection = evidence.selection({name: one for name, one in conditions.items() if name != column})
        own = [spread.moments(asked) for spread in evidence.spreads[column]]
        moments = [met * share for (met, _), share in zip(own, selection.shares, strict=True)]
        weight = evidence.weights(selection.chosen)
        amount, first, second = (moments[0] + moments[1]) / 2 @ weight
        if amount <= 0:
            raise InvalidParameter(NO_ONE)
        middle = first / amount
        usual = max(second / amount - middle**2, 1e-12) ** 0.5
        # The mean is the middle, and the mean of the differences from it.
        even, margin = (_difference(one, middle, usual) for one in moments)
        if len(conditions.keys() - {self.sensitive, column}) == 0 and not evidence.units.spans_worlds:
            even, margin = (
                Quantity(one.mean, spread.variance(rest, middle), usual, among=one.variance)
                for one, spread, (_, rest) in zip((even, margin), evidence.spreads[column], own, strict=True)
            )
        total = evidence.total((even, margin), selection.chosen)
        if selection.chosen is not None and evidence.values_follow((even.mean + margin.mean) / 2):
            total = evidence.difference(column, middle, asked, selection, selection.chosen, (even, margin))
        low, high = total.interval(self.level)
        met = moments[0][0] * weight > 0
        at = list(self.axes).index(column)
        least, most = float(evidence.units.low[at][met].min()), float(evidence.units.high[at][met].max())
        told = [axis.value(min(max(middle + one / amount, least), most)) for one in (total.value, low, high)]
        return Estimate(told[0], told[1], told[2], notes_on(moments[0][0], weight))

    def quantile(self, column: str, q: float = 0.5, where: Where | None = None) -> Estimate:
        """What a share q of the people who meet the conditions do not exceed; of a date, in days since 1970."""
        axis = self._measured(column)
        if not 0 < q < 1:
            raise InvalidParameter(Problem("q", "be above 0 and below 1", str(q)))
        if column in (where or {}):
            raise InvalidParameter(Problem("the conditions", "not name the column of the quantile", column))
        cuts = self._evidence.spreads[column][0].cuts
        codes = np.unique(np.linspace(0, len(cuts) - 1, QUANTILE_STEPS).astype(np.int64))
        codes = cuts[codes] - 1
        if self.count(where).value <= 0:
            raise InvalidParameter(NO_ONE)
        below = [self.share({column: (None, axis.end(int(code)))}, where) for code in codes]
        share, most, least = (np.maximum.accumulate(side) for side in zip(*map(_sides, below), strict=True))
        middle = (np.interp(q - TOUCH, share, codes) + np.interp(q + TOUCH, share, codes)) / 2
        low = np.floor(np.interp(q - TOUCH, most, codes))
        high = np.ceil(np.interp(q + TOUCH, least, codes)) if least[-1] >= q else codes[-1]
        # Where the people lie between two of the places is not known: the interval reaches over both.
        before, after = int((share < q - TOUCH).sum()) - 1, int((share <= q + TOUCH).sum())
        low, high = min(low, codes[max(before, 0)]), max(high, codes[min(after, len(codes) - 1)])
        value, low, high = (axis.value(max(float(one), float(cuts[0]))) for one in (middle, low, high))
        return Estimate(value, low, high, below[len(below) // 2].notes)

    def knowing(self, values: Iterable[str]) -> "ReleaseEstimates":
        """The same, where other sensitive values are known too, from other releases: no one has them here."""
        self._evidence = self._evidence.knowing(values)
        return self

    def counts(self, by: str, where: Where | None = None) -> "pd.DataFrame":
        """How many people have each value of a column: a frame with the column, value, low, high, notes."""
        return self.crosstab([by], where)

    def crosstab(
        self, by: "Sequence[str] | Mapping[str, Sequence[object]]", where: Where | None = None
    ) -> "pd.DataFrame":
        """How many people are in each cell: a frame with the columns, value, low, high, notes.

        A column of numbers has no values to list: give its ranges, `crosstab({"age": [(0, 29), (30, 59)]})`.
        """
        if isinstance(by, str):
            raise InvalidParameter(Problem("by", "be a list of columns, or columns with what each cell has", by))
        kinds = dict(by) if isinstance(by, Mapping) else {name: self._kinds(name) for name in by}
        cells = list(product(*kinds.values()))
        answers = [self.count({**(where or {}), **dict(zip(kinds, cell, strict=True))}) for cell in cells]
        frame = answer_frame("cell", dict(enumerate(answers))).drop(columns="cell")
        for at, name in enumerate(kinds):
            frame.insert(at, name, [cell[at] for cell in cells])
        return frame

    def means(self, column: str, by: str, where: Where | None = None) -> "pd.DataFrame":
        """The mean of a number for each value of another column, where the release shows anyone."""
        kinds = [one for one in self._kinds(by) if self.count({**(where or {}), by: one}).value > 0]
        return answer_frame(by, {one: self.mean(column, {**(where or {}), by: one}) for one in kinds})

    def width(self, column: str) -> float:
        """The mean part of a quasi-identifier's range that a box of the release spans."""
        units, at = self._evidence.units, list(self.axes).index(column)
        known = units.known[at] > 0
        if not known.any():
            return 1.0
        low, high, people = units.low[at][known], units.high[at][known], units.people[known]
        return float(people @ (high - low)) / max(float(people.sum() * (high.max() - low.min())), 1.0)

    def kept(self, column: str) -> float:
        """How much of a relation between a quasi-identifier and the sensitive value plain counting still shows.

        It is the part of the column's variance that lies between groups, because inside a group anyone may have any of
        its values: 1 if the people of each group are alike in the column, 1/m if groups of m are drawn by chance.
        """
        if column not in self.axes:
            raise self._evidence.unread_or(column, Problem("column", f"be one of {', '.join(self.axes)}", column))
        return self._evidence.between_groups(column)

    def _kinds(self, by: str) -> tuple[str, ...]:
        if by == self.sensitive:
            return self.labels
        if by in self.axes and self.axes[by].labels:
            return self.axes[by].labels
        known = [name for name, axis in self.axes.items() if axis.labels] + [str(self.sensitive)]
        raise InvalidParameter(Problem("by", f"be one of {', '.join(known)}", by))

    def _measured(self, column: str) -> Axis:
        known = [name for name, axis in self.axes.items() if not axis.labels]
        if column not in known:
            raise InvalidParameter(Problem("column", f"be one of {', '.join(known) or 'none here'}", column))
        return self.axes[column]

    @property
    def _lost(self) -> float:
        """How many people are withheld or invented, as a part of all."""
        values = self._evidence.values
        invented = 0.0 if values is None else float(values.counterfeits.sum())
        return (self.withheld + invented) / max(self.size, 1.0)

    def _compares(self, where: Where) -> bool:
        selection = self._evidence.selection(where)
        return selection.chosen is None and self._evidence.values_follow(selection.shares[1])

    def _fitted_odds(self, of: Where, value: Where, where: Where) -> Estimate:
        """The odds ratio of conditions and a value, as a regression on the conditions alone."""
        if clash := sorted(where.keys() & of.keys() | where.keys() & value.keys()):
            raise InvalidParameter(Problem("the conditions", "name a column once", ", ".join(clash)))
        evidence = self._evidence
        met = (*evidence.selection({**where, **of}).shares, *evidence.selection(where).shares)
        share, among = (met[0] + met[1]) / 2, (met[2] + met[3]) / 2
        people = evidence.units.people
        chosen = np.isin(evidence.shown_values.labels, evidence.asked_values(value[str(self.sensitive)]))
        having, outside = float(evidence.weights(chosen) @ among), float(people @ (among - share))
        if not (0 < having < float(people @ among) and float(people @ share) > 0 and outside > 0):
            raise InvalidParameter(Problem("the conditions", "be met by some of the people, and not by all of them"))
        unit = evidence.unit_of_person()
        weight = np.stack([share, np.maximum(among - share, 0), np.maximum(1 - among, 0)], axis=1)[unit]
        values = np.broadcast_to(np.array([[1.0, 1, 0], [1, 0, 0], [0, 0, 1]]), (len(unit), 3, 3))
        terms = Terms(("odds",), np.ones(1), values)
        fit = evidence.fitted(values, chosen, weight)
        odds = terms.told(fit, self._lost, self.level)["odds"]
        # Where the people with the value are in their boxes moves them from one side of the odds to the other.
        cells = [max(float(fit.having[:, side].sum()), HALF) for side in (0, 1)]
        placed = evidence.placed({**where, **of}, chosen) * sum(1 / cell for cell in cells)
        odds = odds.widened(NormalDist().inv_cdf((1 + self.level) / 2) * placed)
        # No one at all has odds too: those of half a person.
        inside = float(people @ share)
        most = sum(-_log_odds(0.0, side) for side in (inside, outside))
        ends = [float(np.exp(np.clip(end, -most, most))) for end in (odds.value, odds.low, odds.high)]
        return Estimate(ends[0], ends[1], ends[2])

    def _whole(self, total: Total, chosen: Bool | None) -> Total:
        """The total with the people whom the release withheld, and without its dirty rows: no one knows where.

        A release that shows each value of a group equally often withholds people whose value is too frequent. So the
        interval reaches as far as if none of them, and as if all of them, had the chosen values.
        """
        published = float(self._evidence.units.people.sum())
        if published <= 0 or not (self.withheld or self.dirty):
            return total
        if chosen is not None and self._evidence.absences is not None:  # which counts them already
            return total
        part = min(max(total.value / published, 0.0), 1.0)
        value = total.value + (self.withheld - self.dirty) * part
        unknown = (self.withheld + self.dirty) * (part * (1 - part)) ** 0.5
        lower = higher = 0.0
        if chosen is not None and self.withheld and self._evidence.withholds_frequent_values:
            having = float(self._evidence.weights(chosen).sum()) / published
            region = min(part / having, 1.0) if having > 0 else 0.0
            lower, higher = self.withheld * part, self.withheld * max(1 - having, 0.0) * region
        error = float(np.hypot(total.error, unknown))
        return replace(total, value=value, error=error, lower=total.lower + lower, higher=total.higher + higher)


def trend(
    releases: Mapping[str, ReleaseEstimates], of: Where, where: Where | None = None, *, share: bool = True
) -> "pd.DataFrame":
    """A share, or a count, in each of several releases: a frame with release, estimate, low, high, notes."""
    return answer_frame(
        "release",
        {name: one.share(of, where) if share else one.count({**(where or {}), **of}) for name, one in releases.items()},
    )


def _log_odds(share: float, people: float) -> float:
    """The log of the odds of a share of so many people, half a person on either side at least."""
    met = min(max(share * people, HALF), people - HALF)
    return float(np.log(met / (people - met)))


def _sides(share: Estimate) -> tuple[float, float, float]:
    return share.value, share.high, share.low


def _difference(moments: "np.ndarray[Any, Any]", middle: float, usual: float) -> Quantity:
    """How far a person of each unit is from the middle, where the conditions are met; 0 elsewhere."""
    share, first, second = moments
    mean = first - middle * share
    square = second - 2 * middle * first + middle**2 * share
    return Quantity(mean, np.maximum(square - mean**2, 0), usual)
