"""Equations as rules of the elimination problem: which values the people of an equation can no longer have."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.inference.elimination.problem import ValueProblem, eliminate, include, is_known, may_have
from reanon_core.inference.linear.equations import Counts, Equation
from reanon_core.model.arrays import Int32, Int64


class EquationTable(NamedTuple):
    """Equations for compiled functions: people with weights on one side, values with counts on the other."""

    start: Int64  # [e + 1] the people of each equation
    person: Int32  # [n]
    weight: Int32  # [n] above 0 for added people, below 0 for subtracted people
    unidentified: Int32  # [e, 2] added and subtracted rows of no identified person
    value_start: Int64  # [e + 1] the values that do not cancel in each equation
    value: Int32  # [v]
    times: Int32  # [v] how often, with a sign
    difference: Int32  # [values] scratch space: the counts of one equation, zeros between equations


def equation_table(equations: Iterable[Equation], values: int) -> EquationTable:
    """The equations as arrays, each once; a person who is added and subtracted has no weight."""
    weighted = ((one.weights, one.unidentified, one.difference) for one in equations)
    distinct = dict.fromkeys(one for one in weighted if one[0])
    people, counts = [weights for weights, _, _ in distinct], [difference for _, _, difference in distinct]
    return EquationTable(
        start=_starts(people),
        person=np.array([person for of in people for person, _ in of], np.int32),
        weight=np.array([weight for of in people for _, weight in of], np.int32),
        unidentified=np.array([rows for _, rows, _ in distinct], np.int32).reshape(len(distinct), 2),
        value_start=_starts(counts),
        value=np.array([value for of in counts for value, _ in of], np.int32),
        times=np.array([count for of in counts for _, count in of], np.int32),
        difference=np.zeros(values, np.int32),
    )


def _starts(listed: list[Counts]) -> Int64:
    return np.cumsum([0, *(len(of) for of in listed)], dtype=np.int64)


@compiled
def exclude_by_equations(problem: ValueProblem, table: EquationTable) -> int:
    """Exclude the values with which an equation has no solution; how many people lost values.

    For each value by itself, the added people who have it, less the subtracted people who have it, are as many as the
    equation says. An equation that has no solution left comes from values that changed, and excludes nothing.
    Paper: [RB09] Definition 4, for sets that more than two groups correlate.
    """
    difference, excluded = table.difference, 0
    for equation in range(len(table.start) - 1):
        own = slice(table.value_start[equation], table.value_start[equation + 1])
        for at in range(own.start, own.stop):
            difference[table.value[at]] = table.times[at]
        for value in range(len(difference)):
            excluded += _exclude_value(problem, table, equation, value)
        for at in range(own.start, own.stop):
            difference[table.value[at]] = 0
    return excluded


@compiled
def _exclude_value(problem: ValueProblem, table: EquationTable, equation: int, value: int) -> int:
    """Exclude the value, or all others, for people without whom, or with whom, the equation cannot be satisfied."""
    domain, person, weight = problem.domain, table.person, table.weight
    begin, end = table.start[equation], table.start[equation + 1]
    least, greatest = -table.unidentified[equation, 1], table.unidentified[equation, 0]
    for at in range(begin, end):
        if may_have(domain, person[at], value):
            known = is_known(domain, person[at])
            least += weight[at] if known or weight[at] < 0 else 0
            greatest += weight[at] if known or weight[at] > 0 else 0
    wanted, excluded = table.difference[value], 0
    if least > wanted or greatest < wanted:
        return 0
    for at in range(begin, end):
        if not may_have(domain, person[at], value) or is_known(domain, person[at]):
            continue
        too_many, too_few = least + abs(weight[at]) > wanted, greatest - abs(weight[at]) < wanted
        if not too_many and not too_few:
            continue
        problem.eliminated[:] = 0
        include(problem.eliminated, value)
        if too_many != (weight[at] > 0):  # without the person the equation has no solution: they have the value
            for word in range(len(problem.eliminated)):
                problem.eliminated[word] = ~problem.eliminated[word]
        eliminate(problem, person[at], problem.eliminated)
        excluded += 1
    return excluded
