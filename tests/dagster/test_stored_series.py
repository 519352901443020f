"""A series on disk from Python: the same releases, sentences and numbers as the command and as reanon_core.Series."""

from pathlib import Path

import pandas as pd
import pyarrow.parquet
import pytest
from builders.series import SERIES, begin, lively, write_series

import reanon_core as reanon
import reanon_dagster
from reanon_dagster.cli import main

SEED = 11


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_series(tmp_path, snapshots=lively(3))


def door() -> reanon.Series:
    """The series of series.yaml, in memory."""
    columns = {"age": reanon.Numeric(min_width=2, domain=(0, 110)), "zip": reanon.Numeric(min_width=10)}
    technique = reanon.MInvariance(m=3, balancing="blind", not_eligible="refuse")
    return reanon.Series(
        id="patient",
        sensitive="disease",
        quasi_identifiers=columns,
        technique=technique,
        form="boxes",
        unsafe_seed=SEED,
    )


def test_a_stored_series_publishes_what_the_command_publishes(path: Path, tmp_path: Path) -> None:
    stored = reanon_dagster.open_series(path)
    assert stored.releases == ()
    with pytest.raises(reanon.OutOfOrder, match="nothing is published yet"):
        stored.audit()
    first = stored.publish(unsafe_seed=SEED)
    published = path.parent / "published" / "clinic"
    assert pyarrow.parquet.read_table(published / "r1" / "table.parquet").equals(first.to_arrow())
    assert main(["publish", str(path), "--seed", str(SEED + 1), "--quiet"]) == 0
    third = stored.publish(name="r3", unsafe_seed=SEED + 2)
    assert [release.name for release in stored.releases] == ["r1", "r2", "r3"]
    assert all(verdict.holds for verdict in third.verdicts)
    out = tmp_path / "trace.parquet"
    assert main(["trace", str(path), "--release", "r3", "--out", str(out), "--quiet"]) == 0
    assert pyarrow.parquet.read_table(out).equals(stored.trace("r3").to_arrow())
    audit = stored.audit().to_pandas()
    assert audit.loc[audit["kind"] == "check", "holds"].all()
    assert stored.attack("intersection").exposed == 0
    assert set(stored.query_error()) == {"r1", "r2", "r3"}
    assert repr(stored) == "StoredSeries(clinic, 3 releases)"


def test_the_door_in_memory_gives_the_same_bytes_under_the_same_key_and_seed(path: Path) -> None:
    memory, stored = door(), reanon_dagster.open_series(path)
    begin(path, memory._key)
    for number, name in enumerate(("r1", "r2", "r3")):
        frame = pd.read_csv(path.parent / "snapshots" / f"{name}.csv")
        ours = memory.publish(frame, name=name)
        theirs = stored.publish(unsafe_seed=SEED + number)
        assert ours.to_arrow().equals(theirs.to_arrow())
        assert ours.counterfeits.to_arrow().equals(theirs.counterfeits.to_arrow())
        assert memory.trace(name).to_arrow().equals(stored.trace(name).to_arrow())


def test_nothing_to_publish_and_frames_are_answered_with_a_sentence(path: Path) -> None:
    stored = reanon_dagster.open_series(str(path))
    with pytest.raises(reanon.Refused, match=r"write the frame to snapshots/r1.csv, then publish"):
        stored.publish(pd.DataFrame())
    for _ in range(3):
        stored.publish()
    with pytest.raises(reanon.OutOfOrder, match=r"release r4 waits for its snapshot snapshots/r4.csv"):
        stored.publish()
    with pytest.raises(reanon.InvalidParameter, match="must be a published one"):
        stored.trace("r9")


def test_a_wrong_frame_and_a_wrong_file_are_told_in_the_same_words(path: Path) -> None:
    frame = pd.read_csv(path.parent / "snapshots" / "r1.csv")
    frame.loc[1, "patient"] = frame.loc[0, "patient"]
    frame.loc[2, "age"] = 400
    frame.loc[3, "disease"] = None
    frame.to_csv(path.parent / "snapshots" / "r1.csv", index=False)
    texts = []
    for publish in (reanon_dagster.open_series(path).publish, lambda: door().publish(frame, name="r1")):
        with pytest.raises(reanon.InvalidSnapshot) as raised:
            publish()
        texts.append(str(raised.value))
    assert texts[0] == texts[1]
    assert len(texts[0].splitlines()) == 3


def test_the_package_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match="close_series"):
        _ = reanon_dagster.close_series  # type: ignore[attr-defined]


def test_a_missing_snapshot_before_one_that_is_there_is_named(path: Path) -> None:
    (path.parent / "snapshots" / "r2.csv").unlink()
    stored = reanon_dagster.open_series(path)
    stored.publish()
    with pytest.raises(reanon.OutOfOrder, match="release r3 has a snapshot, but r2 comes first and has none"):
        stored.publish()


def test_what_gives_protection_away_is_a_warning(tmp_path: Path) -> None:
    text = SERIES.replace("m-invariance, m: 3", "mondrian, k: 3, ell: 2")
    path = write_series(tmp_path, text=text, snapshots=lively(2))
    with pytest.warns(reanon.Caution, match="mondrian: ") as told:
        stored = reanon_dagster.open_series(path)
    assert told[0].filename == __file__
    with pytest.warns(reanon.Caution, match="unsafe_seed is for tests"):
        stored.publish(unsafe_seed=1)
    more = pd.read_csv(path.parent / "snapshots" / "r2.csv")
    pd.concat([more, more.assign(patient="x" + more["patient"])]).to_csv(
        path.parent / "snapshots" / "r2.csv", index=False
    )
    path.write_text(path.read_text().replace("max_drift: 1", "max_drift: 0.01"))
    stored = reanon_dagster.open_series(path)
    with pytest.warns(reanon.Caution, match="release r2: accepted: the number of people changed too much"):
        stored.publish(accept_drift="two registers")
