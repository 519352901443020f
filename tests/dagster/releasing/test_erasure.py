"""Forgetting a person, as a steward does it; conformance/test_erasure.py has what every technique owes."""

import io
from datetime import date
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from builders.series import SERIES, people, write_series

from reanon_core.model.erasure import Mark
from reanon_core.model.errors import OutOfOrder
from reanon_dagster import open_series
from reanon_dagster.cli import main
from reanon_dagster.releasing import erasure
from reanon_dagster.releasing.erasure import pseudonym
from reanon_dagster.releasing.gate import accept
from reanon_dagster.releasing.judged_candidate import note_on_forgotten
from reanon_dagster.releasing.release import make_candidate
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.releasing.snapshot_intake import read_release
from reanon_dagster.series.series_file import load_series

SOMEONE = "Zacharias-000007"


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


@pytest.fixture
def series(tmp_path: Path) -> Path:
    path = write_series(tmp_path, snapshots={"r1": people(60), "r2": people(66), "r3": people(72)})
    assert run("backfill", path, "--to", "r2", "--quiet") == 0
    return path


def store(series: Path) -> Path:
    return series.parent / "private" / "clinic" / "store.duckdb"


def rows(series: Path, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(store(series)), read_only=True) as connection:
        return connection.execute(query).fetchall()


def test_a_dry_run_says_everything_and_changes_nothing(series: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = store(series).read_bytes()
    assert run("forget", series, "--id", SOMEONE, "--dry-run") == 0
    told = capsys.readouterr()
    assert "nothing is changed yet" in told.out
    assert "stays published in 2 releases (r1, r2) and cannot be taken back" in told.out
    assert "no later release of this series will show this person" in told.out
    assert "the mark that is left has 14 bits of 64: a newcomer matches it by chance once in 16,384" in told.out
    assert "backups made before still hold this person" in told.out
    for release in ("r1", "r2", "r3"):
        assert f"the snapshot snapshots/{release}.csv still has this person" in told.err
    assert SOMEONE not in told.out + told.err
    assert store(series).read_bytes() == before


def test_a_list_of_people_is_forgotten_or_no_one(series: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ids, listed = [f"Zacharias-{number:06d}" for number in (3, 7, 50)], series.parent / "ids.txt"
    listed.write_text("\n".join([ids[0], "never", *ids[1:]]))
    assert run("forget", series, "--id-file", listed) == 1
    assert "1 id of the list (line 2): no release of this series" in capsys.readouterr().err
    assert rows(series, "SELECT count(*) FROM private.forgotten") == [(0,)]
    listed.write_text("\r\n".join(ids) + "\r\n")
    assert run("forget", series, "--id-file", listed) == 0
    told = capsys.readouterr()
    assert told.out.count("stays published in 2 releases") == 3
    assert told.err.count("still has some of these people") == 3
    assert not [one for one in ids if one in told.out + told.err]
    assert rows(series, "SELECT count(*) FROM private.forgotten") == [(3,)]
    assert run("forget", series, "--id-file", listed) == 0  # again, and the counts by value are those of what is left
    counts = "SELECT position, sum(people) FROM private.value_counts GROUP BY ALL ORDER BY ALL"
    left = "SELECT position, count(*) FROM private.people WHERE asked GROUP BY ALL ORDER BY ALL"
    assert rows(series, counts) == rows(series, left)
    assert run("publish", series, "--quiet") == 0
    assert "3 people of the snapshot are left out" in capsys.readouterr().err


def test_only_what_is_published_is_left_of_a_forgotten_person(series: Path) -> None:
    person = pseudonym(SOMEONE, (store(series).parent / "pseudonym.key").read_bytes())
    before = rows(series, f"SELECT position, row, sensitive FROM private.people WHERE person = {person} ORDER BY ALL")
    own = rows(series, f"SELECT q0, q1 FROM private.people WHERE person = {person}")
    open_series(series).forget(SOMEONE)
    after = rows(
        series,
        "SELECT p.position, p.row, p.sensitive, q0 = low0 AND q1 = low1, q0, q1 FROM private.people p "
        "JOIN private.forgotten ON person = number JOIN public.rows r ON (p.position, p.row) = (r.position, r.row) "
        "JOIN public.boxes b ON (b.position, b.group_id) = (r.position, r.group_id) ORDER BY ALL",
    )
    assert [row[:3] for row in after] == before
    assert all(row[3] for row in after)
    assert [row[4:] for row in after] != own


def test_a_second_time_there_is_nothing_to_do(series: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = open_series(series)
    own.forget(SOMEONE)
    marks = rows(series, "SELECT * FROM private.forgotten")
    assert run("forget", series, "--id", SOMEONE) == 0
    assert "nothing to do" in capsys.readouterr().out
    assert rows(series, "SELECT * FROM private.forgotten") == marks


def test_a_person_who_was_never_there_is_kept_out_only_if_that_is_said(
    series: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stranger = "Zacharias-000070"  # of r3, which is not published yet
    assert run("forget", series, "--id", stranger) == 1
    assert "nothing to forget" in capsys.readouterr().err
    assert run("forget", series, "--id", stranger, "--never-seen", "--quiet") == 0
    assert run("publish", series) == 0
    told = capsys.readouterr().err
    assert "1 person of the snapshot is left out, because the mark of a forgotten person matches" in told
    assert len(open_series(series).ledger().entries[2].snapshot.persons) == 71


def test_an_id_may_come_from_a_file_or_from_standard_input(
    series: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "id.txt").write_text(f"{SOMEONE}\n")
    assert run("forget", series, "--id-file", tmp_path / "id.txt", "--quiet") == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("Zacharias-000008\n"))
    assert run("forget", series, "--id", "-", "--quiet") == 0
    assert rows(series, "SELECT count(*) FROM private.forgotten") == [(2,)]
    (tmp_path / "id.txt").write_text("one\n\ntwo\n")
    assert run("forget", series, "--id-file", tmp_path / "id.txt") == 2
    assert run("forget", series, "--id-file", tmp_path / "gone.txt") == 2
    assert run("forget", series, "--id", "") == 2


def test_the_source_may_be_cleaned_after_a_person_is_forgotten(series: Path) -> None:
    snapshot = series.parent / "snapshots" / "r2.csv"
    frame = pd.read_csv(snapshot)
    cleaned = frame[frame["patient"] != SOMEONE]
    cleaned.to_csv(snapshot, index=False)
    assert run("publish", series, "--release", "r2", "--quiet") == 1  # the snapshot has changed
    frame.to_csv(snapshot, index=False)
    open_series(series).forget(SOMEONE)
    cleaned.to_csv(snapshot, index=False)
    assert run("publish", series, "--release", "r2", "--quiet") == 0  # nothing to do
    assert run("trace", series, "--release", "r2", "--out", series.parent / "t.csv", "--quiet") == 0
    assert run("publish", series, "--quiet") == 0
    assert run("publish", series, "--release", "r3", "--quiet") == 0
    pd.read_csv(series.parent / "snapshots" / "r3.csv").iloc[1:].to_csv(
        series.parent / "snapshots" / "r3.csv", index=False
    )
    assert run("publish", series, "--release", "r3", "--quiet") == 1  # r3 came after the forgetting


def test_a_newcomer_with_the_same_first_bits_is_left_out_and_counted(
    series: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mark of one bit, so that about half of everyone matches it."""
    key = (store(series).parent / "pseudonym.key").read_bytes()
    monkeypatch.setattr(erasure, "cut", lambda *_: Mark(0, 1, 2))
    persons = np.array([pseudonym(id_, key) for id_ in people(72)["patient"]])
    open_series(series).forget("Zacharias-nobody", never_seen=True)
    loaded = load_series(series)
    read = read_release(loaded, read_view(loaded), "r3")
    innocent = int(np.count_nonzero(persons >= 0))
    assert (read.left_out, read.snapshot.size) == (innocent, 72 - innocent)
    assert note_on_forgotten(innocent)[0].startswith(f"{innocent} people of the snapshot are left out")


def test_lists_of_ids_lose_the_line_and_keep_the_others(tmp_path: Path) -> None:
    text = SERIES.replace("m: 3", "m: 3, not_eligible: defer")
    frame = people(24)
    frame.loc[1:10, "disease"] = "asthma"
    path = write_series(tmp_path, text=text, snapshots={"r1": frame})
    assert run("publish", path, "--quiet") == 0
    file = tmp_path / "private" / "clinic" / "withheld" / "r1.csv"
    before = pd.read_csv(file)["patient"].tolist()
    done = open_series(path).forget(before[1])
    assert done.lists == 1
    assert done.published == ()
    assert pd.read_csv(file)["patient"].tolist() == [before[0], *before[2:]]
    assert file.stat().st_mode & 0o777 == 0o600
    assert rows(path, "SELECT count(*) FROM private.people") == [(23,)]
    assert run("audit", path, "--quiet", "--attack", "intersection") == 0


def test_a_kill_before_the_compaction_is_finished_by_the_next_forget(
    series: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(_: Path) -> None:
        raise KeyboardInterrupt

    person = pseudonym(SOMEONE, (store(series).parent / "pseudonym.key").read_bytes())
    with monkeypatch.context() as patch:
        patch.setattr(erasure, "compact", killed)
        with pytest.raises(KeyboardInterrupt):
            open_series(series).forget(SOMEONE)
    open_series(series).forget(SOMEONE)
    assert person.to_bytes(8, "little", signed=True) not in store(series).read_bytes()
    assert rows(series, f"SELECT count(*) FROM private.people WHERE person = {person}") == [(0,)]


def test_the_attack_that_reads_the_source_is_left_out_once_people_are_forgotten(
    series: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    open_series(series).forget(SOMEONE)
    assert run("audit", series, "--attack", "algorithm") == 2
    assert "people of them are forgotten" in capsys.readouterr().err


def test_what_a_check_depends_on_is_kept_and_said(
    series: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    person = pseudonym(SOMEONE, (store(series).parent / "pseudonym.key").read_bytes())
    own = rows(series, f"SELECT position, q0, q1, sensitive FROM private.people WHERE person = {person} ORDER BY ALL")
    monkeypatch.setattr(erasure, "_still_holds", lambda *_: False)
    assert run("forget", series, "--id", SOMEONE) == 0
    assert "except for the exact values of this person, because a check depends on them" in capsys.readouterr().out
    query = (
        "SELECT position, q0, q1, sensitive FROM private.people JOIN private.forgotten ON person = number ORDER BY ALL"
    )
    assert rows(series, query) == own
    assert rows(series, f"SELECT count(*) FROM private.people WHERE person = {person}") == [(0,)]


def test_before_the_first_release_there_is_nothing_to_forget(tmp_path: Path) -> None:
    path = write_series(tmp_path, snapshots={"r1": people(60)})
    assert run("forget", path, "--id", SOMEONE) == 1
    assert not store(path).exists()


def test_a_candidate_that_was_made_before_a_person_was_forgotten_is_refused(series: Path) -> None:
    loaded = load_series(series)
    candidate = make_candidate(loaded, read_view(loaded), "r3", date(2030, 1, 1))
    assert candidate is not None
    open_series(series).forget(SOMEONE)
    with pytest.raises(OutOfOrder, match="forgotten in the meantime"):
        accept(loaded, candidate)
    assert run("publish", series, "--quiet", "--accept-drift", "a test") == 0
