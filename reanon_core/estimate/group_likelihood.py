"""Who of a group has its values: maximum likelihood over groups, by expectation and maximization.

A group shows its values, but not whose they are. A person has one of them with odds that depend on their
quasi-identifiers, by a logistic regression; the expectation says who of the group has it, given how many do, and the
maximization fits the regression again. A person whose box leaves quasi-identifiers open stands at several places of it.

That is right where people entered groups by their quasi-identifiers, and the values of a group follow: regions,
Mondrian, BPG, JS-reduce. It is not where the values of a group were chosen first, from anywhere.
"""

from dataclasses import dataclass

import numpy as np

from reanon_core.estimate.units import sums
from reanon_core.model.arrays import Float64, Int64

ROUNDS, NEWTON_STEPS, BALANCING_ROUNDS = 200, 4, 60
STILL = 1e-4
"""The fit ends when no coefficient moves by more."""
STEEPEST = 30.0
"""The greatest log of odds."""
RIDGE = 1e-6
LEAST = 1e-9
HONEST = 1.7
"""By how much the standard error of what groups hide is wider than the likelihood says: people who are alike share
groups, whatever their values."""
MOST_HIDDEN = 1 - 1e-6
"""The greatest part of the information on a coefficient that groups may hide."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A regression over groups."""

    coefficients: Float64  # [d]
    hidden: Float64  # [d, d] the covariance of what the groups hide: how far a fit to the true values may be
    whole: Float64  # [d, d] the covariance of a fit to true values
    having: Float64  # [n, j] how much of each person stands at each place and has the value; [n] the number expected


def likely(odds: Float64, group: Int64, chosen: Int64) -> Float64:
    """How likely each member of a group has one of the values that so many of its members have.

    Exact where one of the group has them, or all but one; else the odds are balanced until they add up.
    """
    groups = len(chosen)
    members, asked = np.bincount(group, minlength=groups), chosen[group]
    scale = np.exp(sums(group, np.log(odds), groups) / np.maximum(members, 1))[group]
    odds = odds / scale
    found = np.where(asked <= 0, 0.0, 1.0)
    one = asked == 1
    found[one] = (odds / sums(group, odds, groups)[group])[one]
    all_but_one = (asked > 1) & (asked == members[group] - 1)
    found[all_but_one] = (1 - (1 / odds) / sums(group, 1 / odds, groups)[group])[all_but_one]
    rest = (asked > 1) & (asked < members[group] - 1)
    if rest.any():
        at, own = group[rest], odds[rest]
        level = np.ones(groups)
        for _ in range(BALANCING_ROUNDS):
            told = sums(at, own * level[at] / (1 + own * level[at]), groups)
            ratio = chosen * (members - told) / np.maximum(told * (members - chosen), 1e-12)
            level *= np.clip(ratio, 0.2, 5)
        found[rest] = own * level[at] / (1 + own * level[at])
    return found


def fitted(terms: Float64, weight: Float64, group: Int64, chosen: Int64, total: Int64) -> Fit:
    """The regression of having one of the chosen values on terms [n, j, d], for people who stand at j places each.

    `weight` [n, j] says how much of each person stands at each place.

    `chosen` of the `total` rows of each group show the values. A group has counterfeits if it has fewer people; each
    counterfeit has the values as often as the people of its group do.
    """
    people, _, columns = terms.shape
    groups = len(total)
    invented = np.repeat(np.arange(groups), total - np.bincount(group, minlength=groups))
    there = np.maximum(np.bincount(group, minlength=groups), 1)
    members = np.concatenate([group, invented])
    flat = terms.reshape(-1, columns)
    coefficients = np.zeros(columns)
    for _ in range(ROUNDS):
        at_place = _chance(terms @ coefficients)
        chance = np.clip((weight * at_place).sum(axis=1), LEAST, 1 - LEAST)
        odds = chance / (1 - chance)
        usual = np.exp(sums(group, np.log(odds), groups) / there)
        odds = np.concatenate([odds, usual[invented]])
        has = likely(odds, members, chosen)[:people]
        having = (has / chance)[:, None] * weight * at_place
        lacking = ((1 - has) / (1 - chance))[:, None] * weight * (1 - at_place)
        before = coefficients
        coefficients, whole = _maximized(flat, having.ravel(), lacking.ravel(), before)
        if np.abs(coefficients - before).max() < STILL:
            break
    has = likely(odds, members, chosen)
    missing = _missing(terms, weight, at_place, has, members, groups)
    hidden, complete = _covariances(whole, missing)
    return Fit(coefficients, hidden, complete, having)


def line(terms: Float64, group: Int64, slot_group: Int64, number: Float64) -> Fit:
    """The linear regression of numbers on terms [n, d], where each group shows the numbers of its people.

    `number` has those of the groups in `slot_group`, counterfeits included; a counterfeit is like the usual person of
    its group.
    """
    people, columns = terms.shape
    groups = int(slot_group.max()) + 1
    total = np.bincount(slot_group, minlength=groups)
    there = np.bincount(group, minlength=groups)
    members = np.concatenate([group, np.repeat(np.arange(groups), total - there)])
    by_group, at_slot = np.argsort(members, kind="stable"), np.argsort(slot_group, kind="stable")
    begins = np.cumsum(total) - total
    # Every pair of a member and a number of its group: the same numbers of members and of numbers, group by group.
    size = total[members[by_group]]
    who = np.repeat(by_group, size)
    place = np.arange(len(who)) - np.repeat(np.cumsum(size) - size, size)
    what = at_slot[begins[members[who]] + place]
    sharper = np.where(total > 1, total / np.maximum(total - 1, 1), 1.0)[members[who]]
    coefficients: Float64 = np.zeros(columns)
    coefficients[0], variance = number.mean(), float(number.var()) + LEAST
    for _ in range(ROUNDS):
        expected = terms @ coefficients
        usual = sums(group, expected, groups) / np.maximum(there, 1)
        of_member = np.concatenate([expected, usual[members[people:]]])
        fits = -((number[what] - of_member[who]) ** 2) / (2 * variance) * sharper
        best = np.full(len(members), -np.inf)
        np.maximum.at(best, who, fits)
        has = np.exp(fits - best[who])
        for _ in range(BALANCING_ROUNDS):
            has /= np.maximum(sums(what, has, len(number)), LEAST)[what]
            has /= np.maximum(sums(who, has, len(members)), LEAST)[who]
        mean = sums(who, has * number[what], len(members))
        spread = np.maximum(sums(who, has * number[what] ** 2, len(members)) - mean**2, 0)
        before = coefficients
        squares = terms.T @ terms + RIDGE * np.eye(columns)
        coefficients = np.asarray(np.linalg.solve(squares, terms.T @ mean[:people]), np.float64)
        variance = float(((mean[:people] - terms @ coefficients) ** 2 + spread[:people]).mean()) + LEAST
        if np.abs(coefficients - before).max() < STILL * variance**0.5:
            break
    apart = np.concatenate([terms, np.zeros((len(members) - people, columns))]) / variance
    hidden, complete = _covariances(terms.T @ terms / variance, _drawn(apart, spread, members, groups))
    return Fit(coefficients, hidden, complete, mean[:people])


def _covariances(whole: Float64, missing: Float64) -> tuple[Float64, Float64]:
    """How far a fit may be from the fit to true values, and the covariance of the latter."""
    values, axes = np.linalg.eigh(whole + RIDGE * np.eye(len(whole)))
    root = axes / np.sqrt(values)
    part, turned = np.linalg.eigh(root.T @ missing @ root)
    part, turned = np.clip(part, 0, MOST_HIDDEN), root @ turned
    return (turned * (HONEST**2 * part / (1 - part))) @ turned.T, root @ root.T


def _drawn(apart: Float64, varies: Float64, members: Int64, groups: int) -> Float64:
    """The variance of what depends on whose the values of each group are, given that their sum is known."""
    added = np.maximum(sums(members, varies, groups), LEAST)
    columns = apart.shape[1]
    of_group = np.stack([sums(members, varies * apart[:, at], groups) for at in range(columns)], axis=1)
    size = np.bincount(members, minlength=groups)
    drawn = size / np.maximum(size - 1, 1)  # one of the group has it, so it is one of the others less
    found: Float64 = (apart * (varies * drawn[members])[:, None]).T @ apart
    return found - (of_group * (drawn / added)[:, None]).T @ of_group


def _missing(terms: Float64, weight: Float64, at_place: Float64, has: Float64, members: Int64, groups: int) -> Float64:
    """The information that the groups hide: the variance of the score, over who has the values and stands where."""
    people, _, columns = terms.shape
    placed = (weight * at_place, weight * (1 - at_place))
    there, absent = (one / np.maximum(one.sum(axis=1, keepdims=True), LEAST) for one in placed)
    if_having, if_lacking = terms * (1 - at_place)[:, :, None], terms * -at_place[:, :, None]
    mean_having, mean_lacking = (
        (there[:, :, None] * if_having).sum(axis=1),
        (absent[:, :, None] * if_lacking).sum(axis=1),
    )
    apart = np.concatenate([mean_having - mean_lacking, np.zeros((len(has) - people, columns))])
    found = _drawn(apart, has * (1 - has), members, groups)
    has = has[:people, None]
    for part, score, mean in ((has * there, if_having, mean_having), ((1 - has) * absent, if_lacking, mean_lacking)):
        flat = (score - mean[:, None, :]).reshape(-1, columns)
        found += (flat * part.reshape(-1, 1)).T @ flat
    return found


def _chance(log_odds: Float64) -> Float64:
    chance: Float64 = 1 / (1 + np.exp(-np.clip(log_odds, -STEEPEST, STEEPEST)))
    return chance


def _maximized(terms: Float64, having: Float64, lacking: Float64, start: Float64) -> tuple[Float64, Float64]:
    """The logistic regression on weighted rows by Newton's method, and its information."""
    found, weight = start, having + lacking
    for _ in range(NEWTON_STEPS):
        chance = _chance(terms @ found)
        whole = (terms * (weight * chance * (1 - chance))[:, None]).T @ terms
        step = np.linalg.solve(whole + RIDGE * np.eye(len(found)), terms.T @ (having - weight * chance))
        found = found + np.clip(step, -2, 2)
        if np.abs(step).max() < STILL / 10:
            break
    return found, whole
