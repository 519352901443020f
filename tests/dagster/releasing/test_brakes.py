"""Brakes: a snapshot that looks like the wrong table is refused until the steward accepts it, with a reason."""

from pathlib import Path

import duckdb
import pandas as pd
import pytest
from builders.series import DEFAULT_BRAKES, correct, people, plainly_published, write_series

from reanon_core.brakes import accepted_reason
from reanon_core.model.errors import InvalidParameter
from reanon_core.tables.spellings import missing_markers, variants_of
from reanon_dagster.cli import main
from reanon_dagster.stored_series import open_series

BPG = DEFAULT_BRAKES.replace("m-invariance, m: 3", "bpg, k: 3, ell: 2")


@pytest.fixture
def begun(tmp_path: Path):
    """A series whose first release, of 120 people, is published."""

    def begin(text: str = DEFAULT_BRAKES, first: pd.DataFrame | None = None, second: pd.DataFrame | None = None) -> str:
        path = write_series(tmp_path, text=text, snapshots={"r1": people(120) if first is None else first})
        assert main(["publish", str(path), "--quiet"]) == 0
        if second is not None:
            correct(tmp_path, "r2", second)
        return str(path)

    return begin


def renamed(frame: pd.DataFrame, kept: int = 0) -> pd.DataFrame:
    """The same people, of whom only the first keep their ids."""
    ids = [id_ if i < kept else f"Other-{id_}" for i, id_ in enumerate(frame["patient"])]
    return frame.assign(patient=ids)


def respelled(frame: pd.DataFrame, old: str, new: str) -> pd.DataFrame:
    return frame.assign(disease=frame["disease"].where(frame.index % 12 > 5, frame["disease"].replace({old: new})))


@pytest.mark.parametrize(
    ("count", "told"), [(71, None), (60, None), (59, "120 people before, 59 now"), (181, "181 now (+50.8%)")]
)
def test_a_snapshot_of_another_size_is_refused(begun, count: int, told: str | None, capsys) -> None:
    path = begun(second=people(count))
    assert main(["publish", path, "--quiet"]) == (1 if told else 0)
    err = capsys.readouterr().err
    assert (told or "") in err
    assert ("--accept-drift REASON" in err) == bool(told)


def test_a_small_table_may_halve_unless_the_series_says_otherwise(begun, tmp_path: Path) -> None:
    path = begun(DEFAULT_BRAKES + "max_drift: 0.3\n", first=people(60), second=people(30))
    assert main(["publish", path, "--quiet"]) == 1
    Path(path).write_text(plainly_published(DEFAULT_BRAKES))
    assert main(["publish", path, "--quiet"]) == 0
    correct(tmp_path, "r3", people(300))
    Path(path).write_text(plainly_published(DEFAULT_BRAKES + "max_drift: null\n"))
    assert main(["publish", path, "--quiet"]) == 0


@pytest.mark.parametrize("text", [DEFAULT_BRAKES, BPG], ids=["m-invariance", "bpg"])
def test_new_ids_for_all_people_are_refused(begun, text: str, tmp_path: Path, capsys) -> None:
    path = begun(text, second=renamed(people(120), kept=11))
    assert main(["publish", path, "--quiet"]) == 1
    err = capsys.readouterr().err
    assert "only 11 of the 120 people of release r1 are in the snapshot, and min_returning is 0.1" in err
    assert "Zacharias" not in err
    correct(tmp_path, "r2", renamed(people(120), kept=12))
    assert main(["publish", path, "--quiet"]) == 0
    correct(tmp_path, "r3", renamed(renamed(people(120))))
    Path(path).write_text(plainly_published(text + "min_returning: 0\n"))
    assert main(["publish", path, "--quiet"]) == 0


def test_people_whom_a_release_does_not_select_have_not_left(tmp_path: Path) -> None:
    text = DEFAULT_BRAKES.replace("r4, r5]}", "r4, r5], select: {r1: 'age >= 50', r2: 'age < 50'}}")
    path = write_series(tmp_path, text=text, snapshots=dict.fromkeys(["r1", "r2"], people(300)))
    assert main(["backfill", str(path), "--quiet"]) == 0


@pytest.mark.parametrize("variant", ["Flu", "FLU", "flu\u00ad", "\uff46lu"])
def test_two_spellings_of_a_value_are_refused(begun, variant: str, capsys) -> None:
    path = begun(second=respelled(people(240), "flu", variant))
    Path(path).write_text(plainly_published(DEFAULT_BRAKES + "max_drift: 2\n"))
    assert main(["publish", path, "--quiet"]) == 1
    assert f"values of disease differ only in case, spaces or Unicode form: 'flu' and {variant!a}" in (
        capsys.readouterr().err
    )
    main(["status", path])
    out = capsys.readouterr().out
    assert "(1 pair)" in out
    assert variant not in out


@pytest.mark.parametrize("marker", ["nan", "None", "N/A", "<NA>", "null"])
def test_texts_for_no_value_are_refused(begun, marker: str, capsys) -> None:
    frame = people(126)
    frame.loc[120:, "disease"] = marker
    path = begun(second=frame)
    assert main(["publish", path, "--quiet"]) == 1
    assert f"values of disease look like missing ones: {marker!a}; fill them in" in capsys.readouterr().err
    main(["status", path])
    assert "look like missing ones (1 value)" in " ".join(capsys.readouterr().out.split())


def test_an_answer_that_is_none_or_unknown_is_a_value() -> None:
    assert missing_markers(["none", "unknown", "nation", "Nat ", "NaN", ""]) == ["Nat ", "NaN"]


def test_declared_and_accepted_values_may_look_alike(tmp_path: Path) -> None:
    text = DEFAULT_BRAKES.replace("m-invariance, m: 3", "mondrian, k: 3, ell: 2")
    values = "asthma, cold, diabetes, flu, Flu, gastritis, measles, NA"
    declared = text.replace("sensitive: disease", f"sensitive: {{column: disease, values: [{values}]}}")
    path = str(
        write_series(tmp_path / "declared", text=declared, snapshots={"r1": respelled(people(120), "flu", "Flu")})
    )
    assert main(["publish", path, "--quiet"]) == 0
    open_ = str(write_series(tmp_path / "open", text=text, snapshots={"r1": respelled(people(120), "flu", "Flu")}))
    assert main(["publish", open_, "--quiet"]) == 1
    assert main(["publish", open_, "--accept-drift", "two strains", "--quiet"]) == 0
    correct(tmp_path / "open", "r2", respelled(people(120), "flu", "Flu"))
    assert main(["publish", open_, "--quiet"]) == 0  # neither is new any more


def test_white_space_and_compatible_letters_are_spellings() -> None:
    new = ["a b", "Stra\u00dfe", "STRASSE", "\ufb01x", "FIX", "m\u00b2", "M2", "x"]
    assert variants_of(["A  b"], new) == [
        ("A  b", "a b"),
        ("Stra\u00dfe", "STRASSE"),
        ("\ufb01x", "FIX"),
        ("m\u00b2", "M2"),
    ]
    assert variants_of(["flu", "Flu"], []) == []


def test_a_first_snapshot_without_rows_is_refused(tmp_path: Path, capsys) -> None:
    path = str(write_series(tmp_path, snapshots={"r1": people(0)}))
    assert main(["validate", path]) == 1
    assert "release r1 would be refused: the first snapshot has no rows" in capsys.readouterr().err
    assert main(["publish", path, "--quiet"]) == 1
    assert main(["publish", path, "--accept-drift", "the register opens empty", "--quiet"]) == 0


def test_every_brake_is_reported_at_once_and_a_dry_run_writes_nothing(begun, tmp_path: Path, capsys) -> None:
    path = begun(second=respelled(renamed(people(600)), "flu", "Flu"))
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")}
    for command in (["validate", path], ["publish", path, "--dry-run"]):
        assert main(command) == 1
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 4
        assert lines[0].startswith("reanon: clinic: release r2 would be refused: the number of people")
        assert [line.split()[2] for line in lines] == ["release", "only", "values", "if"]
        assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")} == before
    assert main(["publish", path, "--dry-run", "--accept-drift", "x"]) == 0
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")} == before


def test_what_was_accepted_is_recorded_with_its_reason_and_shown(begun, tmp_path: Path, capsys) -> None:
    path = begun(second=respelled(renamed(people(600)), "flu", "Flu"))
    assert main(["publish", path, "--accept-drift", "  merged\n[/b] with the south  "]) == 0
    assert "accepted: only 0 of the 120 people" in capsys.readouterr().err
    with duckdb.connect(str(tmp_path / "private" / "clinic" / "store.duckdb"), read_only=True) as store:
        rows = store.execute("SELECT release, brake, reason FROM private.accepted_drifts").fetchall()
    assert {(release, reason) for release, _, reason in rows} == {("r2", "merged [/b] with the south")}
    assert len(rows) == 3
    assert not any("'Flu'" in brake for _, brake, _ in rows)
    assert main(["status", path]) == 0
    assert "merged [/b] with the south" in " ".join(capsys.readouterr().out.split())
    public = b"".join(file.read_bytes() for file in (tmp_path / "published").rglob("*.json"))
    assert b"merged" not in public
    assert b"drift" not in public


def test_an_empty_reason_accepts_nothing(begun, capsys) -> None:
    path = begun(second=people(600))
    for command in ("publish", "backfill"):
        assert main([command, path, "--accept-drift", " "]) == 2
        assert "--accept-drift must say why" in capsys.readouterr().err
    with pytest.raises(InvalidParameter):
        open_series(path).publish(accept_drift="")
    assert accepted_reason(None) is None
    assert main(["backfill", path, "--accept-drift", "two registers merged", "--quiet"]) == 0


def test_a_series_in_python_accepts_a_brake_too(begun) -> None:
    series = open_series(begun(second=people(600)))
    assert series.publish(accept_drift="two registers merged").name == "r2"


def without_flu(frame: pd.DataFrame, kept: int = 0) -> pd.DataFrame:
    """A table without the people who have flu, but the first of them."""
    ill = frame["disease"] == "flu"
    return frame[~ill | (ill.cumsum() <= kept)]


FILTERED = "most people of release r1 are in the snapshot, but hardly any with some value of disease"


@pytest.mark.parametrize("text", [DEFAULT_BRAKES, BPG], ids=["m-invariance", "bpg"])
def test_a_snapshot_without_the_people_who_have_a_value_is_refused(begun, text: str, capsys, tmp_path: Path) -> None:
    path = begun(text, first=people(360), second=without_flu(people(360), kept=5))
    for command in (["validate", path], ["publish", path]):
        assert main(command) == 1
        told = f"{FILTERED}: 5 of the 60 people with 'flu'; who is in the snapshot must not depend on disease"
        assert told in capsys.readouterr().err
    main(["status", path])
    status = " ".join(capsys.readouterr().out.split())
    assert f"{FILTERED} (1 value)" in status
    assert "'flu'" not in status
    assert main(["publish", path, "--accept-drift", "the flu register closed", "--quiet"]) == 0


@pytest.mark.parametrize(
    ("count", "second"),
    [
        (360, lambda frame: without_flu(frame, kept=6)),
        (240, without_flu),
        (360, lambda frame: pd.concat([without_flu(frame)[:140], people(720)[360:]])),
        (360, lambda frame: frame.assign(disease=frame["disease"].replace({"flu": "cough"}))),
    ],
    ids=["a tenth returns", "fewer than 50 people", "most others leave too", "the value is another one"],
)
def test_people_who_return_or_are_few_trip_no_filter(begun, count: int, second, capsys) -> None:
    path = begun(DEFAULT_BRAKES + "max_drift: 5\n", first=people(count), second=second(people(count)))
    main(["validate", path])
    assert FILTERED not in capsys.readouterr().err


def acute() -> dict[str, pd.DataFrame]:
    """Snapshots in which no one with flu is ever again, and as many others have it."""
    first, ill = people(360), people(1440)[360:]
    ill = ill[ill["disease"] == "flu"]
    rest = without_flu(first)
    return {"r1": first, "r2": pd.concat([rest, ill[:60]]), "r3": pd.concat([rest, ill[60:120]])}


def test_a_value_whose_people_never_return_is_noticed_once(tmp_path: Path, capsys) -> None:
    text = DEFAULT_BRAKES.replace("m-invariance, m: 3", "mondrian, k: 3, ell: 2")
    path = str(write_series(tmp_path, text=text, snapshots=acute()))
    assert main(["publish", path, "--quiet"]) == 0
    assert main(["publish", path, "--quiet"]) == 1
    assert FILTERED in capsys.readouterr().err
    assert main(["publish", path, "--accept-drift", "flu is short", "--quiet"]) == 0
    assert main(["publish", path, "--quiet"]) == 0
    capsys.readouterr()
    assert main(["rehearse", path]) == 1
    told = capsys.readouterr()
    assert " ".join((told.out + told.err).split()).count("hardly any with some value") == 1
