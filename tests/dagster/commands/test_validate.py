"""`reanon validate` says what `reanon publish` would do, and leaves nothing behind."""

import sys
from pathlib import Path

import pandas as pd
import pytest
from builders.faults import Forgetful
from builders.series import DEFAULT_BRAKES, SERIES, lively, people, write_series

from reanon_dagster.cli import main

YEARLY = SERIES.replace("{names: [r1, r2, r3, r4, r5]}", "{cadence: yearly, first: 2020}")


def contents(folder: Path) -> dict[str, bytes]:
    """Every file under a folder with its bytes."""
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def validated(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """The exit code of `validate` and what it printed. It must not write anything."""
    capsys.readouterr()
    before = contents(path.parent)
    code = main(["validate", str(path)])
    assert contents(path.parent) == before
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_before_the_first_release_the_snapshot_is_judged_and_no_file_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_series(tmp_path, snapshots={"r1": people(60)})
    code, out, err = validated(path, capsys)
    assert (code, err) == (0, "")
    assert out.startswith("clinic: valid: 60 people in the snapshot of r1; the release would be published\n")
    assert not (tmp_path / "private").exists()


def test_a_drift_that_publish_refuses_would_be_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    snapshots = {"r1": people(120), "r2": people(60)}
    path = write_series(tmp_path, text=DEFAULT_BRAKES + "max_drift: 0.3\n", snapshots=snapshots)
    assert main(["publish", str(path), "--quiet"]) == 0
    code, out, err = validated(path, capsys)
    assert (code, out) == (1, "")
    assert (
        "clinic: release r2 would be refused: the number of people changed too much: 120 people before, 60 now" in err
    )
    assert main(["publish", str(path), "--quiet"]) == 1


def test_a_failed_check_would_be_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_series(tmp_path, snapshots=lively())
    monkeypatch.setitem(sys.modules["reanon_core.catalog"].TECHNIQUES, "m-invariance", Forgetful)
    assert main(["publish", str(path), "--quiet"]) == 0
    code, out, err = validated(path, capsys)
    assert (code, out) == (1, "")
    assert "clinic: release r2 would be refused: m-invariance fails" in err
    assert main(["status", str(path)]) == 0
    assert "refused" not in capsys.readouterr().out  # a dry run is no refusal


def test_data_that_cannot_be_protected_would_be_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_series(tmp_path, snapshots={"r1": people(60).assign(disease="flu")})
    code, _, err = validated(path, capsys)
    assert code == 1
    assert "release r1 would be refused: new rows are not 3-eligible" in err


def test_every_error_of_the_snapshot_is_reported_together_with_a_changed_setting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = people(60).astype({"age": object})
    wrong.loc[3, "disease"] = None
    wrong.loc[4, "age"] = 230
    path = write_series(tmp_path, snapshots={"r1": people(60), "r2": wrong})
    assert main(["publish", str(path), "--quiet"]) == 0
    code, _, err = validated(path, capsys)
    assert code == 2
    assert "disease" in err
    assert "age (230" in err
    path.write_text(SERIES.replace("m: 3", "m: 2"))
    code, _, err = validated(path, capsys)
    assert code == 2
    for part in ("technique.m was 3 and is 2", "disease", "age (230"):
        assert part in err
    people(60).to_csv(tmp_path / "snapshots" / "r2.csv", index=False)
    assert validated(path, capsys)[0] == 1  # nothing but the setting is wrong


def test_every_error_of_the_file_is_reported_together_with_those_of_the_snapshot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = people(60).astype({"age": object})
    wrong.loc[3, "disease"] = None
    wrong.loc[4, "age"] = 230
    path = write_series(tmp_path, text=SERIES.replace("m: 3", "m: 1"), snapshots={"r1": wrong})
    code, out, err = validated(path, capsys)
    assert (code, out) == (2, "")
    for part in ("m (1) must be a whole number of at least 2", "disease", "age (230"):
        assert part in err
    path.write_text(SERIES.replace("sensitive: disease", "sensitive: [disease]"))  # its snapshots cannot be read
    code, _, err = validated(path, capsys)
    assert code == 2
    assert "sensitive" in err


def test_a_lost_store_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_series(tmp_path, snapshots=lively(2))
    assert main(["publish", str(path), "--quiet"]) == 0
    (tmp_path / "private").rename(tmp_path / "lost")
    code, _, err = validated(path, capsys)
    assert code == 1
    assert "the private store does not know" in err


def test_a_series_without_a_next_snapshot_or_a_next_release_is_valid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_series(tmp_path, text=SERIES.replace("[r1, r2, r3, r4, r5]", "[r1]"))
    assert validated(path, capsys)[:2] == (0, "clinic: valid; release r1 has no snapshot yet (snapshots/r1.csv)\n")
    people(60).to_csv(tmp_path / "snapshots" / "r1.csv", index=False)
    assert main(["publish", str(path), "--quiet"]) == 0
    assert validated(path, capsys)[:2] == (0, "clinic: valid; every release is published\n")


def test_a_release_that_is_not_due_yet_is_judged_as_on_its_day(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = YEARLY.replace("first: 2020", "first: 2190")
    path = write_series(tmp_path, text=text, snapshots={"2190": people(60)})
    code, out, _ = validated(path, capsys)
    assert code == 0
    assert "in the snapshot of 2190; the release would be published once it is due, on 2191-01-01\n" in out
    people(60).assign(disease="flu").to_csv(tmp_path / "snapshots" / "2190.csv", index=False)
    assert validated(path, capsys)[0] == 1


@pytest.mark.parametrize(
    ("release", "sentence"),
    [
        ("2021", "release 2021 cannot be published before 2020; run `reanon backfill` to publish both"),
        ("2022", "release 2022 cannot be published before 2020 and 2021; run `reanon backfill` to publish all three"),
        ("2023", "before 2020, 2021 and 2022; run `reanon backfill` to publish all four"),
        ("2025", "before 2020, 2021 and 3 others; run `reanon backfill` to publish all 6"),
    ],
)
def test_a_release_before_its_turn_is_refused_with_those_that_come_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], release: str, sentence: str
) -> None:
    path = write_series(tmp_path, text=YEARLY, snapshots={"2020": pd.DataFrame(people(60))})
    assert main(["publish", str(path), "--release", release]) == 1
    assert sentence in capsys.readouterr().err


def test_a_missing_snapshot_before_one_that_is_there_is_refused_by_publish_and_validate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_series(tmp_path, snapshots={"r1": people(60), "r3": people(60)})
    assert main(["publish", str(path), "--quiet"]) == 0
    for command in ("publish", "validate", "backfill"):
        capsys.readouterr()
        assert main([command, str(path)]) == 1
        assert "release r3 has a snapshot, but r2 comes first and has none" in capsys.readouterr().err


def test_a_snapshot_without_a_header_shows_no_person(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = people(60)
    path = write_series(tmp_path, snapshots={"r1": table})
    (snapshot,) = [file for file in tmp_path.rglob("*.csv") if file.stem == "r1"]
    header, first, *_ = snapshot.read_text().splitlines()
    snapshot.write_text(snapshot.read_text().removeprefix(header + "\n"))
    code, _, err = validated(path, capsys)
    assert code == 2
    assert "must begin with a line of column names" in err
    assert first.split(",")[0] not in err


@pytest.mark.parametrize("seed", ["-1", "x", "1.5"])
def test_a_seed_is_a_whole_number_of_at_least_0(tmp_path: Path, seed: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["publish", str(tmp_path / "series.yaml"), f"--seed={seed}"])
    assert stopped.value.code == 2
    assert "must be a whole number of at least 0" in capsys.readouterr().err
