"""Ids that are written like known ones are noticed by the command and by Dagster, as they are in Python."""

from collections.abc import Callable
from pathlib import Path

import dagster as dg
import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from builders.assets import Maker
from builders.private_texts import leaks, private_texts
from builders.series import SERIES, correct, lively, people, write_series
from hypothesis import given
from hypothesis import strategies as st

from reanon_core.tables import id_forms
from reanon_core.tables.id_forms import Doubts, KnownIds, KnownPeople, WrittenIds, examined_ids, row_forms
from reanon_core.tables.ids import KEY_BYTES, canonical_texts
from reanon_core.tables.ids import people as people_of
from reanon_dagster.cli import main
from reanon_dagster.releasing.erasure import pseudonym
from reanon_dagster.releasing.memory_need import PartSizes
from reanon_dagster.storage.known_people import StoredPeople, write_new_people

KEY = bytes(range(KEY_BYTES))
WHOLE = "only in spaces, case or zeros, in rows 1, 2, 3, 4, 5 and 15 more; write every id in one way, or one person is"
TOLD = f"20 new values of patient differ from others {WHOLE} published as two"
NUMBERS = {"numbers": lambda i: f"{i + 48_271:08d}", "letters": lambda i: f"P{i + 1:05d}"}
HABITS: dict[str, tuple[str, Callable[[str], str]]] = {
    "space": ("letters", lambda id_: f"{id_} "),
    "case": ("letters", str.lower),
    "zeros": ("numbers", lambda id_: id_.lstrip("0")),
    "zeros after letters": ("letters", lambda id_: f"P{int(id_[1:])}"),
    "full width": ("numbers", lambda id_: "".join(chr(ord(letter) + 0xFEE0) for letter in id_)),
    "floats": ("numbers", lambda id_: f"{float(id_)}"),
    "invisible": ("letters", lambda id_: f"\ufeff{id_}"),
}


def patients(kind: str, count: int = 120) -> pd.DataFrame:
    return people(count).assign(patient=[NUMBERS[kind](i) for i in range(count)])


def changed(frame: pd.DataFrame, change: Callable[[str], str], count: int = 20) -> pd.DataFrame:
    """The same table, in which the ids of the first rows are written in another way."""
    return frame.assign(patient=[change(id_) if i < count else id_ for i, id_ in enumerate(frame["patient"])])


def snapshots_of(habit: str) -> dict[str, pd.DataFrame]:
    kind, change = HABITS[habit]
    return {"r1": patients(kind), "r2": changed(patients(kind), change)}


def store(folder: Path) -> Path:
    return folder / "private" / "clinic" / "store.duckdb"


def rows(folder: Path, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(store(folder)), read_only=True) as connection:
        return connection.execute(query).fetchall()


@pytest.mark.parametrize("parts", [False, True], ids=["in memory", "in parts"])
@pytest.mark.parametrize("habit", HABITS)
def test_new_ids_that_are_written_like_known_ones_are_refused_until_accepted(
    habit: str, parts: bool, tmp_path: Path, capsys, monkeypatch
) -> None:
    snapshots = snapshots_of(habit)
    path = str(write_series(tmp_path, snapshots=snapshots))
    if parts:
        monkeypatch.setattr("reanon_dagster.releasing.computation.part_sizes", lambda *_: PartSizes(40, 10**6))
        monkeypatch.setattr(id_forms, "FORMS_AT_ONCE", 7)
    assert main(["publish", path, "--quiet"]) == 0
    for command in (["validate", path], ["publish", path, "--dry-run"], ["publish", path], ["backfill", path]):
        assert main(command) == 1
        err = capsys.readouterr().err
        assert TOLD in err
        assert "accept it with --accept-drift REASON" in err
        assert not leaks(private_texts(tmp_path / "snapshots"), err)
    assert main(["status", path]) == 0
    assert "20 new values of patient differ from others" in " ".join(capsys.readouterr().out.split())
    assert main(["publish", path, "--accept-drift", "twins", "--quiet"]) == 0
    accepted = rows(tmp_path, "SELECT brake, reason FROM private.accepted_drifts")
    assert accepted == [(TOLD.split(", in rows", maxsplit=1)[0], "twins")]
    correct(tmp_path, "r3", snapshots["r2"])
    assert main(["publish", path, "--quiet"]) == 0  # none of them is new any more
    public = b"".join(file.read_bytes() for file in (tmp_path / "published").rglob("*.json"))
    assert b"differ from others" not in public


def test_the_first_release_and_a_text_for_no_id_are_looked_at_too(tmp_path: Path, capsys) -> None:
    frame = patients("letters")
    twice = pd.concat([frame, changed(frame[:6], str.lower)], ignore_index=True)
    twice.loc[50, "patient"] = "None"
    path = str(write_series(tmp_path, snapshots={"r1": twice}))
    assert main(["publish", path]) == 1
    err = capsys.readouterr().err
    assert "12 new values of patient differ from others" in err
    assert "in rows 1, 2, 3, 4, 5 and 7 more" in err
    assert "1 value of patient looks like a missing id, in row 51; fill them in" in err
    assert main(["publish", path, "--accept-drift", "so it is", "--quiet"]) == 0


def test_a_rehearsal_tells_it_and_goes_on(tmp_path: Path, capsys) -> None:
    path = str(write_series(tmp_path, snapshots=snapshots_of("zeros after letters")))
    assert main(["rehearse", path]) == 1
    told = capsys.readouterr()
    assert "20 new values of patient differ from others" in " ".join((told.out + told.err).split())
    assert not store(tmp_path).exists()


def test_the_asset_refuses_them_without_naming_a_row(tmp_path: Path) -> None:
    path = write_series(tmp_path, snapshots=snapshots_of("zeros after letters"))
    with dg.instance_for_test(temp_dir=str(tmp_path)) as instance:
        maker = Maker(path, instance)
        assert maker.make("r1").success
        for config, told in (({}, "(accept_drift in Dagster)"), ({"accept_drift": "twins"}, "(twins)")):
            result = maker.make("r2", config=config)
            assert result.success == bool(config)
            drift = next(one for one in result.get_asset_check_evaluations() if one.check_name == "drift")
            assert not drift.passed
            assert "20 new values of patient differ from others" in (drift.description or "")
            assert told in (drift.description or "")
            assert "rows" not in (drift.description or "")
        logs = "".join(str(event) for event in instance.all_logs(maker.instance.get_runs()[0].run_id))
        assert not leaks(private_texts(tmp_path / "snapshots"), logs)


def test_ordinary_ids_trip_nothing(tmp_path: Path) -> None:
    def written(i: int) -> str:
        kinds = (f"{i}", f"A-{i}", f"a{i}b{i:03d}", f"{i}.{i}", f"W{i:04d}-{i % 7}", f"M\u00fcller {i}x")
        return kinds[i % len(kinds)]

    frames = {name: frame.assign(patient=[written(int(id_[-6:])) for id_ in frame["patient"]])
              for name, frame in lively(3).items()}  # fmt: skip
    path = str(write_series(tmp_path, snapshots=frames))
    assert main(["backfill", path, "--quiet"]) == 0
    everyone = set().union(*(frame["patient"] for frame in frames.values()))
    assert rows(tmp_path, "SELECT count(*), count(DISTINCT person) FROM private.known_people") == [
        (len(everyone), len(everyone))
    ]


def test_a_form_has_an_entry_only_where_it_is_not_the_id(tmp_path: Path) -> None:
    path = str(write_series(tmp_path, snapshots={"r1": people(60).assign(patient=range(60))}))
    assert main(["publish", path, "--quiet"]) == 0
    assert rows(tmp_path, "SELECT count(*), count(form) FROM private.known_people") == [(60, 0)]


def test_whole_numbers_and_texts_are_compared(tmp_path: Path, capsys) -> None:
    path = write_series(tmp_path, text=SERIES.replace(".csv", ".parquet"))
    first = people(120).assign(patient=np.arange(120))
    first.to_parquet(tmp_path / "snapshots" / "r1.parquet")
    changed(first.assign(patient=first["patient"].astype(str)), lambda id_: f"{id_:0>4}").to_parquet(
        tmp_path / "snapshots" / "r2.parquet"
    )
    assert main(["publish", str(path), "--quiet"]) == 0
    assert main(["publish", str(path), "--quiet"]) == 1
    assert TOLD in capsys.readouterr().err


def test_people_whom_a_release_does_not_select_are_not_kept(tmp_path: Path) -> None:
    text = SERIES.replace("r4, r5]}", "r4, r5], select: {r1: 'age >= 50'}}")
    frame = people(300)
    assert main(["publish", str(write_series(tmp_path, text=text, snapshots={"r1": frame})), "--quiet"]) == 0
    known = rows(tmp_path, "SELECT person FROM private.known_people ORDER BY ALL")
    assert known == rows(tmp_path, "SELECT person FROM private.people ORDER BY ALL")
    assert len(known) == int((frame["age"] >= 50).sum())


def test_a_forgotten_person_is_known_no_more_and_all_others_are(tmp_path: Path, capsys) -> None:
    frame = patients("letters")
    alike = pd.concat([frame, changed(frame[6:12], lambda id_: f"p{int(id_[1:])}", 6)], ignore_index=True)
    path = str(write_series(tmp_path, snapshots={"r1": alike}))
    assert main(["publish", path, "--accept-drift", "two registers", "--quiet"]) == 0
    key = (store(tmp_path).parent / "pseudonym.key").read_bytes()
    forgotten, other = pseudonym("P00001", key), pseudonym("p7", key)  # another person is P00007
    forms = {pseudonym("p1", key), other}
    assert forms <= {form for (form,) in rows(tmp_path, "SELECT form FROM private.known_people")}
    for id_ in ("P00001", "p7"):
        assert main(["forget", path, "--id", id_, "--quiet"]) == 0
    left = rows(tmp_path, "SELECT person, form FROM private.known_people")
    assert len(left) == 124
    assert not {forgotten, *forms} & {number for row in left for number in row}
    correct(tmp_path, "r2", alike)
    assert main(["publish", path, "--quiet"]) == 0
    assert len(rows(tmp_path, "SELECT person FROM private.known_people")) == 124
    correct(tmp_path, "r3", changed(frame, lambda id_: f"P{int(id_[1:])}"))
    capsys.readouterr()
    assert main(["publish", path]) == 1
    # The first person and the seventh have left: the form of the latter is the forgotten number.
    assert "18 new values of patient differ from others" in capsys.readouterr().err


def test_what_is_known_survives_a_withdrawal(tmp_path: Path, capsys) -> None:
    snapshots = snapshots_of("zeros after letters")
    path = str(write_series(tmp_path, snapshots=snapshots))
    assert main(["publish", path, "--quiet"]) == 0
    assert main(["withdraw", path, "--release", "r1", "--because", "a column too many", "--quiet"]) == 0
    assert main(["publish", path]) == 1
    assert TOLD in capsys.readouterr().err


IDS = st.lists(st.text("aA0b17. \u00a0", min_size=1, max_size=4), unique=True, max_size=14)


@given(st.lists(IDS, min_size=1, max_size=4), st.booleans())
def test_the_store_knows_what_a_series_in_memory_knows(tables: list[list[str]], small: bool) -> None:
    known = KnownIds.none()
    with duckdb.connect() as connection, pytest.MonkeyPatch.context() as patch:
        patch.setattr(id_forms, "FORMS_AT_ONCE", 2 if small else 1 << 20)
        connection.execute("CREATE SCHEMA private")
        connection.execute("CREATE TABLE private.known_people (person BIGINT NOT NULL, form BIGINT)")
        for ids in tables:
            known, expected = known.with_table(*_coded(ids)[:2], KEY)
            found = _stored(ids, StoredPeople(connection), connection)
            assert np.array_equal(np.flatnonzero(found.alike), np.flatnonzero(expected.alike))
            assert np.array_equal(np.flatnonzero(found.empty), np.flatnonzero(expected.empty))
            there = connection.execute("SELECT person, coalesce(form, person) FROM private.known_people").fetchall()
            assert sorted(person for person, _ in there) == known.persons.tolist()
            assert sorted(form for _, form in there) == known.forms.tolist()


def _coded(ids: list[str]):
    column = pa.chunked_array([pa.array(ids, pa.string())])
    return canonical_texts("id", column), people_of("id", column, KEY), column


def _stored(ids: list[str], known: KnownPeople, connection: duckdb.DuckDBPyConnection) -> Doubts:
    _, coded, column = _coded(ids)
    forms = row_forms("id", column, coded.persons, KEY)[coded.order]
    written = WrittenIds(coded.persons[coded.order], forms, coded.order)
    new, doubts = examined_ids(written, np.zeros(len(ids), np.bool_), known, KEY)
    write_new_people(connection, new)
    return doubts
