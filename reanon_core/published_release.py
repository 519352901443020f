"""Public: a published release as a table that every frame library can take."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.tables.frames import Table
from reanon_core.tables.release_table import counterfeit_table, published_tables, release_table

if TYPE_CHECKING:
    import pyarrow as pa

    from reanon_core.model.release import Auxiliary, Release
    from reanon_core.model.schema import Schema
    from reanon_core.model.verdict import Verdict


class PublishedRelease(Table):
    """The rows of a release, with the columns that a published file has, and what is published beside them.

    The rows of a decoupled release are those of its people.
    """

    def __init__(
        self,
        name: str,
        release: "Release",
        auxiliary: "Auxiliary",
        schema: "Schema",
        *,
        withheld: int = 0,
        verdicts: "tuple[Verdict, ...]" = (),
        notes: tuple[str, ...] = (),
    ) -> None:
        tables = published_tables(release, auxiliary, schema)
        super().__init__(next(iter(tables.values())))
        self.name = name
        self.withheld = withheld
        """How many selected people are not published."""
        self.verdicts = verdicts
        """The answers of the checks that the release passed."""
        self.notes = notes
        """What the data steward must read about this release."""
        # The schema knows values that no release has shown, so it is not kept here.
        self._counterfeits = Table(counterfeit_table(auxiliary))
        self._values = Table(tables["values"]) if "values" in tables else None
        self._groups = Table(_group_table(release, auxiliary, schema)) if release.grouped else None

    @property
    def counterfeits(self) -> Table:
        """How many counterfeits each group has; groups without any are left out."""
        return self._counterfeits

    @property
    def values(self) -> Table:
        """The values of each group with their counts, counterfeits included, of a decoupled release.

        Raises: InvalidParameter if the rows of the release show values themselves.
        """
        if self._values is None:
            raise InvalidParameter(Problem(f"release {self.name}", "be decoupled, and it has its values in its rows"))
        return self._values

    @property
    def groups(self) -> Table:
        """One row for each group: its intervals, its number of rows and how many of them are counterfeits.

        Raises: InvalidParameter if the technique makes no groups.
        """
        if self._groups is None:
            raise InvalidParameter(Problem(f"release {self.name}", "have groups, and its technique makes none"))
        return self._groups


def _group_table(release: "Release", auxiliary: "Auxiliary", schema: "Schema") -> "pa.Table":
    import pyarrow as pa

    count = release.boxes.count
    one_row_each = replace(
        release,
        group=np.arange(count, dtype=np.int32),
        sensitive=np.zeros(count, np.int32),
        other=np.empty((len(release.other), 0), np.int32),
        columns=tuple(name for name in schema.names if release.shows(name)),
    )
    counterfeits = np.zeros(count, np.int64)
    counterfeits[auxiliary.group] = auxiliary.count
    table = release_table(one_row_each, schema)
    table = table.append_column("rows", pa.array(np.bincount(release.group, minlength=count)))
    return table.append_column("counterfeits", pa.array(counterfeits))
