"""A release of either form as one table of people: boxes, values, and how many real people each line stands for."""

from typing import TYPE_CHECKING

import numpy as np

from reanon_core.estimate.axis import NOWHERE, Axis
from reanon_core.estimate.evidence import Evidence
from reanon_core.model.arrays import Int64

if TYPE_CHECKING:
    import pyarrow as pa

MIDDLE, WEIGHT = "_mid", "weight"


def lines_of(evidence: Evidence) -> tuple[Int64, Int64]:
    """The unit of each line of the table, and which of the shown values it has: each unit with all of its group."""
    units, values = evidence.units, evidence.values
    if values is None:
        return np.arange(len(units.people)), np.zeros(len(units.people), np.int64)
    order = np.argsort(values.group, kind="stable")
    times = np.bincount(values.group, minlength=len(values.total))
    begins = np.cumsum(times) - times
    unit = np.repeat(np.arange(len(units.people)), times[units.group])
    ends = np.cumsum(times[units.group])
    within = np.arange(len(unit)) - np.repeat(ends - times[units.group], times[units.group])
    return unit, order[begins[units.group[unit]] + within]


def people_table(evidence: Evidence) -> "pa.Table":
    """The ends and the middle of each quasi-identifier, the value, and the weight.

    A sum of weights counts people: a line of a box with three values and no counterfeit stands for one person of three.
    """
    import pyarrow as pa

    unit, entry = lines_of(evidence)
    columns: dict[str, pa.Array] = {}
    for at, (name, axis) in enumerate(evidence.axes.items()):
        low, high = evidence.units.low[at][unit], evidence.units.high[at][unit]
        columns[f"{name}_min"], columns[f"{name}_max"] = _values(axis, low), _values(axis, high)
        columns[name + MIDDLE] = _middles(axis, low, high)
    weight = evidence.units.people[unit]
    if evidence.values is not None:
        values = evidence.values
        columns[str(evidence.sensitive)] = pa.array(
            np.array(values.labels, dtype=object)[values.value[entry]], pa.string()
        )
        weight = weight * values.count[entry] / values.total[values.group[entry]]
    return pa.table({**columns, WEIGHT: weight})


def _values(axis: Axis, code: Int64) -> "pa.Array":
    import pyarrow as pa

    none = code == NOWHERE
    shown = np.where(none, 0, code)
    if axis.kind == "label":
        return pa.array(np.array(axis.labels, dtype=object)[shown], pa.string(), mask=none)
    if axis.kind == "date":
        return pa.array(shown.astype("datetime64[D]"), pa.date32(), mask=none)
    whole = axis.step == axis.step.to_integral_value()
    return pa.array(shown * int(axis.step) if whole else shown * float(axis.step), mask=none)


def _middles(axis: Axis, low: Int64, high: Int64) -> "pa.Array":
    import pyarrow as pa

    if axis.kind == "number":
        return pa.array((low + high) / 2 * float(axis.step), mask=low == NOWHERE)
    return _values(axis, np.where(low == NOWHERE, NOWHERE, (low + high) // 2))
