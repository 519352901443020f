"""What a release says, ready for questions: its people in boxes, its values in groups, and how boxes are spread."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from reanon_core.estimate.absences import Absences
from reanon_core.estimate.axis import NOWHERE, Axis, listed
from reanon_core.estimate.bucket_regression import Buckets, are_balanced, buckets
from reanon_core.estimate.group_likelihood import Fit, fitted
from reanon_core.estimate.totals import Quantity, Total, combined, total_of_all, total_of_values
from reanon_core.estimate.units import ShownValues, Units, sums
from reanon_core.model.arrays import Bool, Float64, Int64
from reanon_core.model.errors import InvalidParameter, Problem

POWERS = 3
ROOTS = (0.7548776662466927, 0.5698402909980532, 0.8191725133961645, 0.6710436067037893, 0.5497004779019703)
"""Irrational steps, one for each column in turn."""
ROUNDS = 10
"""How often a margin is computed again from the boxes; few rounds keep it from following chance."""
PLACES, MOST_PLACES = 8, 4_000_000
"""At how many places of their box each person stands, where values are compared; fewer in a large release."""
APART = 0.3
"""How far the mean of those who are missing may be from that of the others, in standard deviations of people."""
FEWEST = 0.5
"""The least number of people in a cell of a table whose odds ratio is uncertain."""
Where = Mapping[str, object]
"""Conditions that all hold: a column, and a value, a list of values, or the two ends of a range as a tuple."""


@dataclass(frozen=True, eq=False)
class Spread:
    """How one quasi-identifier lies in the boxes of a release."""

    cuts: Int64  # [s + 1] where a bin begins, and the end of the last one; no box begins or ends inside a bin
    margin: Float64  # [s] how likely each bin is, relative to the others
    first: Int64  # [u] the bin in which the box begins
    last: Int64  # [u] the bin in which it ends
    ends: Float64  # [u] the share of the people who are in the first bin of the box, and as many in the last one
    known: Float64  # [u] the share of the people who have a value
    below: Float64 = field(init=False, repr=False)  # [3, s + 1] the margin before each cut, and its moments

    def __post_init__(self) -> None:
        """Add up the margin once for all questions."""
        sums = np.stack([_power_sums(self.cuts[1:], power) - _power_sums(self.cuts[:-1], power) for power in range(3)])
        steps = sums * (self.margin / np.diff(self.cuts))
        object.__setattr__(self, "below", np.concatenate([np.zeros((POWERS, 1)), np.cumsum(steps, axis=1)], axis=1))

    def moments(self, intervals: list[tuple[int, int]] | None = None) -> tuple[Float64, Float64]:
        """For each unit the share of a person in the intervals, the mean code there and the mean square, times it.

        None stands for all codes. The results are float64[3, u]: of everyone, and what those who are not at an end add.
        """
        parts = (
            (self.first, self.last, 1 - 2 * self.ends),
            (self.first, self.first, self.ends),
            (self.last, self.last, self.ends),
        )
        found = np.zeros((len(parts), POWERS, len(self.first)))
        for low, high in [(int(self.cuts[0]), int(self.cuts[-1]) - 1)] if intervals is None else intervals:
            # What of each bin lies in the interval, added up over the bins.
            edges = np.clip(self.cuts, low, high + 1)
            sums = np.stack([np.diff(_power_sums(edges, power)) for power in range(POWERS)])
            steps = sums * (self.margin / np.diff(self.cuts))
            inside = np.concatenate([np.zeros((POWERS, 1)), np.cumsum(steps, axis=1)], axis=1)
            for at, (begin, end, share) in enumerate(parts):
                size = self.below[0, end + 1] - self.below[0, begin]
                found[at] += self.known * share / size * (inside[:, end + 1] - inside[:, begin])
        return found.sum(axis=0), found[0]

    def places(self, unit: Int64, column: int, number: int) -> Int64:
        """Codes at which the people of units may be, so many for each; NOWHERE for those who lack a value.

        They are spread evenly over the margin, and are always the same. `column` keeps columns from being in step.
        """
        root = ROOTS[column % len(ROOTS)]
        person, place = np.arange(len(unit))[:, None], np.arange(number)[None, :]
        order = np.argsort((np.arange(number) * root) % 1)
        lies = (person * root + (order[place] + 0.5) / number) % 1
        first, last, ends, known = (one[unit][:, None] for one in (self.first, self.last, self.ends, self.known))
        below = np.concatenate([np.zeros(1), np.cumsum(self.margin)])
        inner = np.clip((lies - ends) / np.maximum(1 - 2 * ends, 1e-12), 0, 1)
        bins = np.searchsorted(below, below[first] + inner * (below[last + 1] - below[first]), side="right") - 1
        bins = np.where(lies < ends, first, np.where(lies > 1 - ends, last, np.clip(bins, first, last)))
        inside = (person * (1 - root) + place * root + 0.37 * column) % 1
        code = self.cuts[bins] + np.floor(inside * np.diff(self.cuts)[bins]).astype(np.int64)
        return np.where((place + 0.5) / number <= known, code, NOWHERE)

    def variance(self, rest: Float64, middle: float | None = None) -> Float64:
        """The variance that those who are not at an end add, for a person of each unit, from their moments.

        Of the squares of the differences from the middle if it is given, else of the number of people.
        """
        free = np.maximum(1 - 2 * self.ends, 1e-12)
        first, second = rest[0], rest[0]
        if middle is not None:
            first, second = rest[1] - middle * rest[0], rest[2] - 2 * middle * rest[1] + middle**2 * rest[0]
        found: Float64 = np.maximum(second - first**2 / free, 0)
        return found


def _power_sums(code: Int64, power: int) -> Float64:
    """The sum of c^power over the codes c from 0 on, below a code."""
    x = np.asarray(code, np.float64)
    if power == 0:
        return x
    return x * (x - 1) / 2 if power == 1 else x * (x - 1) * (2 * x - 1) / 6


def spreads(low: Int64, high: Int64, known: Float64, people: Float64, mates: Float64) -> tuple[Spread, Spread]:
    """Two spreads of a quasi-identifier over its boxes: evenly, and as the release's own margin.

    A box begins with the bin of someone in it and ends with the bin of someone in it. No box of the release begins or
    ends inside a bin, so the ends of all boxes bound the bins. The margin is estimated from all boxes by expectation
    and maximization, beginning with an even one.
    """
    has = known > 0
    cuts = np.unique(np.concatenate([low[has], high[has] + 1])) if has.any() else np.arange(2)
    first = np.where(has, np.searchsorted(cuts, low), 0)
    last = np.where(has, np.searchsorted(cuts, high, side="right") - 1, 0)
    ends = np.where((mates >= 2) & (last > first), 1 / np.maximum(mates, 2), 0.0)
    width = np.diff(cuts).astype(np.float64)
    margin = _margin(width, first, last, people * known, ends)
    return Spread(cuts, width, first, last, ends, known), Spread(cuts, margin, first, last, ends, known)


def _margin(width: Float64, first: Int64, last: Int64, people: Float64, ends: Float64) -> Float64:
    """How many people each bin has."""
    bins = len(width)
    at_ends = sums(first, people * ends, bins) + sums(last, people * ends, bins)
    rest = people * (1 - 2 * ends)
    least = 1e-6 * people.sum() * width / width.sum()  # no bin is impossible
    margin: Float64 = width / width.sum()
    if people.sum() <= 0:  # no one has a value
        return margin
    for _ in range(ROUNDS):
        below = np.concatenate([np.zeros(1), np.cumsum(margin)])
        rate = rest / (below[last + 1] - below[first])
        change = sums(first, rate, bins + 1) - sums(last + 1, rate, bins + 1)
        margin = margin * np.maximum(np.cumsum(change)[:-1], 0) + at_ends + least
        margin /= margin.sum()
    return margin


@dataclass(frozen=True, eq=False)
class Selection:
    """What conditions select: the share of a person of each unit, by both spreads, and the sensitive values."""

    shares: tuple[Float64, Float64]  # [u] each
    variances: tuple[Float64, Float64]  # [u] each
    open: tuple[Float64, Float64]  # [u] each: how many columns leave it open whether a person is selected
    columns: Mapping[str, list[tuple[int, int]]]
    """The intervals of codes that each column may have."""
    chosen: Bool | None  # [v]; None for all values
    notes: tuple[str, ...] = ()
    """Which values are asked for that no row shows."""

    @property
    def quantities(self) -> tuple[Quantity, Quantity]:
        """The number of people, as something to add up."""
        even, margin = (
            Quantity(share, variance, columns=columns, among=share * (1 - share), counts=True)
            for share, variance, columns in zip(self.shares, self.variances, self.open, strict=True)
        )
        return even, margin


@dataclass(frozen=True, eq=False)
class Evidence:
    """The published tables as arrays."""

    axes: Mapping[str, Axis]
    units: Units
    values: ShownValues | None
    sensitive: str | None
    known_values: tuple[str, ...]
    """The sensitive values that rows show, or that the dictionary declares."""
    spreads: Mapping[str, tuple[Spread, Spread]]
    buckets: Buckets | None
    absences: Absences | None
    """What is missing, if the manifest says that every value of a bucket is as likely to be missing."""
    by_region: bool
    """Whether people entered groups region by region."""
    unread: Mapping[str, Problem]
    """What is wrong with columns that cannot be read."""
    _places: dict[str, Int64] = field(default_factory=dict, init=False, repr=False)

    @property
    def withholds_frequent_values(self) -> bool:
        """Whether people are withheld because their value is too frequent: so are those whom balanced groups lack."""
        return self.values is not None and are_balanced(self.values)

    def selection(self, where: Where) -> Selection:
        """What conditions select.

        Raises: InvalidParameter if a condition names no column of the release, or no value that the column can have.
        """
        chosen, columns, notes = None, {}, []
        for name, asked in where.items():
            if name == self.sensitive and self.values is not None:
                asked_for = self.asked_values(asked)
                chosen = np.isin(np.array(self.values.labels, dtype=object), asked_for)
                notes += [f"no row shows {one!r}" for one in asked_for if one not in self.values.labels]
            elif name in self.axes:
                columns[name] = self.axes[name].intervals(asked)
            else:
                known = ", ".join([*self.axes, *([] if self.sensitive is None else [self.sensitive])])
                rule = f"name a column that the release shows: {known}"
                raise self.unread_or(name, Problem("a condition", rule, name))
        even, margin = (self._met(columns, way) for way in range(2))
        return Selection(
            (even[0], margin[0]), (even[1], margin[1]), (even[2], margin[2]), columns, chosen, tuple(notes)
        )

    def asked_values(self, asked: object) -> list[str]:
        """The sensitive values of a condition.

        Raises: InvalidParameter if neither rows show one of them, nor the dictionary or another release knows it.
        """
        named = [str(one) for one in (asked if isinstance(asked, (list, set, frozenset, tuple)) else [asked])]
        if unknown := [one for one in named if one not in self.known_values]:
            rule = f"be one of {listed(self.known_values)}"
            raise InvalidParameter(Problem(str(self.sensitive), rule, ", ".join(unknown)))
        return named

    def knowing(self, values: Iterable[str]) -> "Evidence":
        """The same, where other sensitive values are known too."""
        return replace(self, known_values=tuple(sorted({*self.known_values, *values})))

    def unread_or(self, name: str, problem: Problem) -> InvalidParameter:
        """What is wrong with a column that cannot be read, or the problem."""
        return InvalidParameter(self.unread.get(name, problem))

    def has_value(self, name: str) -> Bool:
        """Whether each person has a value of a quasi-identifier, at each of their places."""
        known: Bool = self.places(name) != NOWHERE
        return known

    def _met(self, columns: Mapping[str, list[tuple[int, int]]], way: int) -> tuple[Float64, ...]:
        """By one spread: the share of a person of each unit who meets conditions, its variance, and the open columns.

        Where one column alone leaves it open, those at the ends of the box are certain, and only the others vary.
        """
        share, own = np.ones(len(self.units.people)), np.zeros(len(self.units.people))
        partial = np.zeros(len(own))
        for name, intervals in columns.items():
            spread = self.spreads[name][way]
            met, rest = spread.moments(intervals)
            partial += (met[0] > 1e-9) & (met[0] < 1 - 1e-9)
            share, own = share * np.clip(met[0], 0, 1), own + spread.variance(rest)
        certain = (partial <= 1) & (not self.units.spans_worlds)
        return share, np.where(share <= 0, 0.0, np.where(certain, own, share * (1 - share))), np.maximum(partial, 1)

    def total(self, asked: tuple[Quantity, Quantity], chosen: Bool | None) -> Total:
        """The total of a quantity over the people with the chosen values."""
        if chosen is None or self.values is None:
            return combined(*(total_of_all(self.units, one) for one in asked))
        return combined(*(total_of_values(self.units, self.values, self.buckets, one, chosen) for one in asked))

    def values_follow(self, mean: Float64) -> bool:
        """Whether people are in groups by their quasi-identifiers, and not by values that were chosen first.

        `mean` is what is asked of each unit: where groups with different values differ in it by more than their values
        and chance explain, people of a region share them.
        """
        if self.values is None or self.units.spans_worlds:
            return False
        if self.by_region or not are_balanced(self.values):
            return True
        if self.buckets is None:
            return False
        people, number = self.units.people, self.buckets.number[self.units.group]
        whole = float(people.sum())
        middle = float(people @ mean) / whole
        totals = sums(number, people * (mean - middle), len(self.buckets.people))
        return self.buckets.differ_otherwise(totals, float(people @ (mean - middle) ** 2) / whole)

    @property
    def shown_values(self) -> ShownValues:
        """The sensitive values.

        Raises: InvalidParameter if the release shows none.
        """
        if self.values is None:
            raise InvalidParameter(Problem("the release", "show sensitive values in groups of people"))
        return self.values

    def between_groups(self, column: str) -> float:
        """The part of a column's variance that lies between groups; of a column of labels, over all labels."""
        units, spread, axis = self.units, self.spreads[column][1], self.axes[column]
        groups = int(units.group.max(initial=-1)) + 1
        people = units.people * spread.known
        inside, whole = sums(units.group, people, groups), float(people.sum())
        some = inside > 0
        between = within = 0.0
        everywhere = [(int(spread.cuts[0]), int(spread.cuts[-1]) - 1)]
        for intervals in [[(code, code)] for code in range(len(axis.labels))] or [everywhere]:
            moments, _ = spread.moments(intervals)
            added, squares = moments[0 if axis.labels else 1] * units.people, moments[0 if axis.labels else 2]
            middle = float(added.sum()) / max(whole, 1.0)
            of_group = sums(units.group, added, groups)
            between += float((of_group[some] ** 2 / inside[some]).sum()) - whole * middle**2
            within += float(units.people @ squares) - whole * middle**2
        return 1.0 if within <= 0 else min(max(between / within, 0.0), 1.0)

    def unit_of_person(self) -> Int64:
        """The unit of each person."""
        return np.repeat(np.arange(len(self.units.people)), np.rint(self.units.people).astype(np.int64))

    def places(self, name: str) -> Int64:
        """Codes of a quasi-identifier at which each person may be, so many for each of them."""
        if name not in self._places:
            self._places[name] = self._placed(name)
        return self._places[name]

    def _placed(self, name: str) -> Int64:
        unit = self.unit_of_person()
        number = max(1, min(PLACES, MOST_PLACES // max(len(unit), 1)))
        return self.spreads[name][1].places(unit, list(self.axes).index(name), number)

    def meets(self, columns: Mapping[str, list[tuple[int, int]]]) -> Bool:
        """Whether each person meets conditions, at each of their places."""
        first = next(iter(self.axes))
        met = np.ones_like(self.places(first), np.bool_)
        for name, intervals in columns.items():
            codes = self.places(name)
            met &= self.has_value(name) & np.any([(codes >= low) & (codes <= high) for low, high in intervals], axis=0)
        return met

    def fitted(self, terms: Float64, chosen: Bool, weight: Float64 | None = None) -> Fit:
        """The regression of having the chosen values on terms of each person at each place."""
        values = self.shown_values
        asked = np.rint(values.shares(chosen) * values.total).astype(np.int64)
        evenly = np.full(terms.shape[:2], 1 / terms.shape[1]) if weight is None else weight
        group = self.units.group[self.unit_of_person()]
        return fitted(terms, evenly, group, asked, values.total.astype(np.int64))

    def count(self, selection: "Selection") -> Total:
        """How many of the published people are selected, and of those who are withheld as far as absences tell."""
        chosen, share = selection.chosen, (selection.shares[0] + selection.shares[1]) / 2
        if chosen is None or not selection.columns or not self.values_follow(share):
            total = self.total(selection.quantities, chosen)
        elif self.absences is not None:
            total = self._related(selection, chosen)
        else:  # every row may be a counterfeit
            reach = self.total(selection.quantities, chosen)
            total = replace(self._related(selection, chosen), below=reach.below, above=reach.above, rows=reach.rows)
        if chosen is None or self.absences is None:
            return total
        of_bucket = self.absences.number[self.units.group]
        people = sums(of_bucket, self.units.people, len(self.absences.invented))
        met = sums(of_bucket, self.units.people * share, len(people)) / np.maximum(people, 1e-12)
        added, variance = self.absences.of(chosen, met)
        error = float(np.hypot(total.error, variance**0.5))
        return replace(total, value=total.value + added, error=error, below=0.0, above=0.0)

    def _related(self, selection: "Selection", chosen: Bool) -> Total:
        """The people who meet conditions and have the values: of a table of both, with its odds ratio fitted."""
        met = ((selection.shares[0] + selection.shares[1]) / 2)[self.unit_of_person()]
        if met.max(initial=0) <= 0 or met.min(initial=1) >= 1:
            return self.total(selection.quantities, selection.chosen)
        terms = np.broadcast_to(np.eye(2), (len(met), 2, 2))
        fit = self.fitted(terms, chosen, np.stack([met, 1 - met], axis=1))
        both, having, inside = float(fit.having[:, 0].sum()), float(fit.having.sum()), float(met.sum())
        cells = np.array([both, having - both, inside - both, len(met) - inside - having + both])
        ratio = np.array([1.0, -1.0])
        hidden = max(0.0, float(ratio @ fit.hidden @ ratio)) ** 0.5 / float((1 / np.maximum(cells, FEWEST)).sum())
        return Total(both, float(np.hypot(hidden, self._misplaced(selection, chosen))))

    def placed(self, where: Where, chosen: Bool) -> float:
        """How uncertain it is how many of the people with the values meet conditions, because boxes leave it open."""
        return self._misplaced(self.selection(where), chosen)

    def _misplaced(self, selection: "Selection", chosen: Bool) -> float:
        weighted = replace(self.units, people=self.weights(chosen))
        return combined(*(total_of_all(weighted, one) for one in selection.quantities)).error

    def difference(
        self,
        column: str,
        middle: float,
        asked: list[tuple[int, int]] | None,
        selection: "Selection",
        chosen: Bool,
        quantities: tuple[Quantity, Quantity],
    ) -> Total:
        """How far the people who are selected are from the middle of a column, all together."""
        weight = self.weights(chosen)
        weighted = replace(self.units, people=weight)
        everyone = combined(*(total_of_all(weighted, one) for one in quantities))
        among = self.meets({**selection.columns, column: asked or [(-(2**40), 2**40)]})
        codes = np.where(among, self.places(column), 0)
        scale = max(float(codes[among].std()), 1e-9) if among.any() else 1.0
        away = np.where(among, codes - middle, 0) / scale
        fit = self.fitted(np.stack([among, away, ~among], axis=-1).astype(np.float64), chosen)
        having = np.where(among, fit.having, 0)
        amount = max(float(having.sum()), FEWEST)
        mean = float((having * away).sum()) / amount
        gone = 0.0 if self.absences is None else self.absences.part_of(chosen)
        slope = np.array([0.0, float((having * (away - mean) ** 2).sum()) / amount, 0.0])
        hidden = max(0.0, float(slope @ fit.hidden @ slope)) ** 0.5
        error = np.hypot(hidden, APART * gone) * scale * amount
        return Total(mean * scale * amount, float(np.hypot(error, everyone.error)))

    def weights(self, chosen: Bool | None) -> Float64:
        """How many people of each unit have the chosen values."""
        if chosen is None or self.values is None:
            return self.units.people
        return self.units.people * self.values.shares(chosen)[self.units.group]


def evidence(
    axes: Mapping[str, Axis],
    units: Units,
    values: ShownValues | None,
    sensitive: str | None,
    unread: Mapping[str, Problem],
    *,
    declared: Sequence[str] = (),
    absences: Absences | None = None,
    by_region: bool = False,
) -> Evidence:
    """The evidence of a release; `declared` are the sensitive values that the dictionary lists."""
    together: Buckets | None = None
    known: tuple[str, ...] = ()
    if values is not None:
        together = buckets(values, sums(units.group, units.people, len(values.total)))
        known = tuple(sorted({*values.labels, *declared}))
    lying = {
        name: spreads(units.low[at], units.high[at], units.known[at], units.people, units.mates)
        for at, name in enumerate(axes)
    }
    return Evidence(axes, units, values, sensitive, known, lying, together, absences, by_region, unread)
