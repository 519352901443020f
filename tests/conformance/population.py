"""Random series of small snapshots: people come, leave and return; some age."""

import numpy as np
from hypothesis import strategies as st

from reanon_core.model.arrays import MISSING
from reanon_core.model.schema import Missing, QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot

PEOPLE = 40
VALUES = 5


def schema(*, separate: bool = False) -> Schema:
    missing = Missing.SEPARATE if separate else Missing.REFUSE
    return Schema(
        quasi_identifiers=(
            QuasiIdentifier(name="age", min_width=2, domain=(0, 20)),
            QuasiIdentifier(name="zip", min_width=3, missing=missing),
        ),
        sensitive=Sensitive(name="disease", values=tuple(f"d{i}" for i in range(VALUES))),
    )


@st.composite
def series(draw: st.DrawFn, *, releases: int = 4) -> list[Snapshot]:
    """Snapshots of one population; about two thirds of the people are in each, and re-entries are common."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    separate = draw(st.booleans())
    aging = draw(st.booleans())
    columns = schema(separate=separate)
    qi = np.stack([rng.integers(0, 15, PEOPLE), rng.integers(100, 130, PEOPLE)]).astype(np.int32)
    if separate:
        qi[1, rng.random(PEOPLE) < 0.2] = MISSING
    sensitive = rng.permutation(np.arange(PEOPLE) % VALUES).astype(np.int32)
    persons = np.sort(rng.choice(10**6, PEOPLE, replace=False)).astype(np.int64)
    snapshots = []
    for release in range(draw(st.integers(1, releases))):
        here = rng.random(PEOPLE) < draw(st.sampled_from([0.3, 0.7, 1.0]))
        now = qi.copy()
        now[0] += release if aging else 0
        snapshots.append(Snapshot(columns, persons[here], now[:, here], sensitive[here]))
    return snapshots
