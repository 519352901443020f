"""What one release shows of its people: their quasi-identifiers, their suffixes, and the worlds among them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.kernels.ranks import column_ids
from reanon_core.model.arrays import MISSING, Bool, Int32, Int64
from reanon_core.model.errors import Unpublishable, counted
from reanon_core.model.release import UNPUBLISHED
from reanon_core.model.snapshot import Snapshot
from reanon_core.techniques.sequential.admission import PublicTable
from reanon_core.techniques.sequential.loss_measure import Measure, measure_of
from reanon_core.techniques.sequential.state import WorldsState

if TYPE_CHECKING:
    from reanon_core.techniques.sequential.technique import Sequential


@dataclass(frozen=True, eq=False)
class ShownPeople:
    """The people whom a release shows."""

    published: Bool  # [rows of the table]
    shown: list[int]
    """The quasi-identifiers that the release shows."""
    places: Int32  # [d, n]
    suffix: Int32  # [n]
    images: Int32  # [ell, n] whose suffix each world assigns to each person; the true world is the last
    bucket: Int32  # [n]
    measure: Measure


def shown_people(public: PublicTable, settings: "Sequential") -> ShownPeople:
    """What the release of this table shows.

    Raises: Unpublishable if it would show no one, or a column without a value.
    """
    table, state = public.table, public.state
    where = state.find(table.persons)
    published = np.append(public.stay, np.False_)[where]  # people who wait for a batch are at -1
    people = where[published]
    if table.size and not len(people):
        raise Unpublishable("the release would be empty: all people in the snapshot are new and wait for more people")
    shown = [at for at, name in enumerate(table.schema.names) if table.columns is None or name in table.columns]
    qi = table.qi[np.ix_(np.array(shown, dtype=np.int64), published)]
    _refuse_unknown(table, published)
    columns = tuple(table.schema.quasi_identifiers[at] for at in shown)
    measure = measure_of(columns, qi, state.extent[:, shown], settings.loss)
    images = _images_among(people, state, settings.ell)
    suffix = _suffixes(table, published)
    return ShownPeople(published, shown, measure.places(qi), suffix, images, state.bucket[people], measure)


def _refuse_unknown(table: Snapshot, published: Bool) -> None:
    """Refuse a column without a value for people who left before it was added to the source."""
    schema = table.schema
    columns = [(name, codes == MISSING) for name, codes in zip(schema.names, table.qi, strict=True)]
    columns += [(name, codes == UNPUBLISHED) for name, codes in zip(schema.other, table.other, strict=True)]
    lacking_columns = [
        f"{name} of {counted(int(lacking[published].sum()), 'person', 'people')}"
        for name, lacking in columns
        if (table.columns is None or name in table.columns) and lacking[published].any()
    ]
    if lacking_columns:
        shown = [lacking for name, lacking in columns if table.columns is None or name in table.columns]
        raise Unpublishable(
            f"the source has no {' and '.join(lacking_columns)} who left and must still be published; "
            f"leave the column out of the releases until their cells have left",
            persons=table.persons[published & np.any(shown, axis=0)],
        )


def _suffixes(table: Snapshot, published: Bool) -> Int32:
    """A number for the part of each person's suffix that the release shows.

    Paper: [ST15] Equation 9.
    """
    named = ((table.schema.sensitive.name, table.sensitive), *zip(table.schema.other, table.other, strict=True))
    codes = [codes[published] for name, codes in named if table.columns is None or name in table.columns]
    if not codes:
        return np.zeros(int(published.sum()), dtype=np.int32)
    return column_ids(np.stack(codes)).astype(np.int32)


def _images_among(people: Int64, state: WorldsState, ell: int) -> Int32:
    """Whose suffix each world assigns to each of these people, as positions among them; the true world is the last.

    Requires: the people are whole cells.
    """
    place = np.full(state.size, UNPUBLISHED, dtype=np.int32)
    place[people] = np.arange(len(people), dtype=np.int32)
    images = np.empty((ell, len(people)), dtype=np.int32)
    images[:-1] = place[state.images[:, people]] if len(people) else 0
    images[-1] = np.arange(len(people), dtype=np.int32)
    return images
