"""Private: the ids of the people whom a release withholds, in a file of the private folder."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reanon_dagster.releasing.candidate import Candidate
from reanon_dagster.sources.snapshot_location import snapshot_exists
from reanon_dagster.sources.snapshot_reader import read_ids
from reanon_dagster.storage.pseudonym_key import private_folder, pseudonym_key

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

FOLDER = "withheld"


def withheld_file(release: str) -> str:
    """The place of the file inside the private folder."""
    return f"{FOLDER}/{release}.csv"


def write_withheld_people(series: "Series", candidate: Candidate) -> Path | None:
    """Write the ids of the people who are in the snapshot, selected and not published.

    None if there are none, or if the snapshot is gone, because the candidate knows people by their pseudonyms only.

    Raises: InvalidSnapshot, Refused.
    """
    import pyarrow as pa
    import pyarrow.csv

    entry = candidate.entry
    withheld = entry.snapshot.persons[entry.snapshot.selection & ~np.isin(entry.snapshot.persons, entry.trace.persons)]
    if not len(withheld) or not snapshot_exists(series, candidate.release):
        return None
    ids, persons = read_ids(series, candidate.release, pseudonym_key(series.private_folder, candidate.key_check))
    theirs = ids.take(pa.array(np.flatnonzero(np.isin(persons, withheld))))
    private_folder(series.private_folder / FOLDER)
    path = series.private_folder / withheld_file(candidate.release)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        pyarrow.csv.write_csv(pa.table({series.config.source.id: theirs}), file)
    return path
