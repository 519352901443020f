"""`--json` on the commands that publish and look: the same answer as on the screen, without a person."""

import json
import re
from pathlib import Path

import pytest
from builders.rehearsed import with_surplus
from builders.series import DISEASES, SERIES, lively, write_series

from reanon_dagster.cli import main


def answer(path: Path, *command: str) -> tuple[int, dict]:
    target = path.parent / "answer.json"
    code = main([command[0], str(path), *command[1:], "--json", str(target), "--quiet"])
    text = target.read_text()
    assert target.stat().st_mode & 0o777 == 0o600
    values = re.sub(r'"value": "[a-z]+"', "", text)
    assert not [private for private in [*DISEASES, "Zacharias", "Late-"] if private in values]
    return code, json.loads(text)


def test_every_step_of_a_series_has_an_answer_for_programs(tmp_path: Path) -> None:
    frames = dict(list(lively(size=72).items())[:4])
    path = write_series(tmp_path, snapshots=with_surplus(frames, "r4", 30))
    code, found = answer(path, "validate")
    assert (code, found["valid"], found["release"], found["problems"]) == (0, True, "r1", [])
    assert found["query_error"] >= 0
    assert [one["value"] for one in found["values"]] == DISEASES
    assert all(one["people"] == one["published"] == 12 and one["withheld"] == 0 for one in found["values"])
    code, found = answer(path, "publish", "--dry-run")
    assert (code, found["dry_run"], found["releases"][0]["release"]) == (0, True, "r1")
    code, found = answer(path, "publish")
    assert (code, found["releases"][0]["people"], found["refused"]) == (0, 72, None)
    assert all(found["releases"][0]["checks"].values())
    code, found = answer(path, "backfill")
    assert (code, [one["release"] for one in found["releases"]]) == (1, ["r2", "r3"])
    assert found["refused"]["release"] == "r4"
    assert "not 3-eligible" in found["refused"]["sentence"]
    code, found = answer(path, "validate")
    assert (code, found["valid"]) == (1, False)
    assert "not 3-eligible" in found["refused"]
    code, found = answer(path, "status")
    (series,) = found["series"]
    assert (code, series["path"], series["technique"], series["parameters"]["m"]) == (0, str(path), "m-invariance", 3)
    assert [one["status"] for one in series["releases"]] == ["published"] * 3 + ["refused", "waiting for its snapshot"]
    assert series["releases"][0]["query_error"] is not None
    assert [sum(one["people"] for one in release["values"]) for release in series["releases"][:3]] == [72, 70, 68]
    assert series["releases"][2]["lost"] == 0  # too few people have any value
    code, found = answer(path, "doctor")
    assert code == 0
    assert {one["outcome"] for one in found["remarks"]} <= {"sound", "repaired"}


def test_problems_of_a_snapshot_are_in_the_answer_of_validate_without_their_values(tmp_path: Path) -> None:
    frames = lively(releases=1, size=72)
    frames["r1"].loc[frames["r1"].index[0], "age"] = 987
    path = write_series(tmp_path, snapshots=frames)
    code, found = answer(path, "validate")
    assert (code, found["valid"]) == (2, False)
    assert "age" in found["problems"][0]
    assert "987" not in found["problems"][0]


def test_an_answer_never_goes_into_the_published_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_series(tmp_path, snapshots=lively(releases=1, size=72))
    public = str(tmp_path / "published" / "answer.json")
    for command in ("validate", "status", "publish", "backfill", "doctor", "rehearse", "advise"):
        assert main([command, str(path), "--quiet", "--json", public]) == 2, command
        assert "outside the published folder" in capsys.readouterr().err
    assert not (tmp_path / "published").exists()


def test_status_shows_the_path_the_technique_and_what_the_error_means(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_series(tmp_path, snapshots=lively(releases=1, size=72))
    assert main(["backfill", str(path), "--quiet"]) == 0
    assert main(["status", str(path)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("clinic: m-invariance, m = 3")
    assert f"({path})" in out
    assert "the median of 1,000 random counting queries" in out


def test_a_release_of_bpg_has_one_line_and_its_reasons_are_explained_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SERIES.replace("name: m-invariance, m: 3", "name: bpg, k: 3, ell: 2, reserve: 1")
    path = write_series(tmp_path, text=text, snapshots=lively(releases=4, size=72))
    assert main(["backfill", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    releases = [line for line in lines if line.startswith("clinic r")]
    assert [line.split(":")[0] for line in releases] == ["clinic r1", "clinic r2", "clinic r3", "clinic r4"]
    assert any("withheld (" in line for line in releases)
    assert all(len(line) < 300 for line in releases)
    explained = [line for line in lines if line.startswith("withheld: ")]
    assert explained
    assert len(set(explained)) == len(explained)


def test_a_snapshot_that_is_corrected_too_late_is_said_in_the_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frames = lively(releases=3, size=72)
    path = write_series(tmp_path, snapshots=frames)
    assert main(["backfill", str(path), "--to", "r2", "--quiet"]) == 0
    first = tmp_path / "snapshots" / "r1.csv"
    content = first.read_bytes()
    first.write_bytes(content)  # delivered again, and the same
    _, found = answer(path, "status")
    assert found["series"][0]["corrected"] == []
    first.write_bytes(content.replace(b",flu", b",cold", 1))
    _, found = answer(path, "status")
    assert found["series"][0]["corrected"] == ["r1"]
    assert main(["status", str(path)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert told.count("its snapshot was changed afterwards") == 1
    assert main(["publish", str(path), "--quiet"]) == 0  # it stops nothing


def test_a_snapshot_that_is_delivered_again_and_a_second_series_of_the_name_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = lively(releases=1, size=72)["r1"]
    path = write_series(tmp_path / "one", snapshots={"r1": frame, "r2": frame})
    assert main(["backfill", str(path), "--quiet"]) == 0
    told = capsys.readouterr().err
    assert told.count("its snapshot is the same as that of release") == 1
    assert "clinic r2: its snapshot is the same as that of release r1; was it delivered again?" in told
    other = write_series(tmp_path / "two", snapshots={"r1": frame})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REANON_SERIES", f"{path.parent}:{other.parent}")
    assert main(["status", "--quiet"]) == 0
    assert f"{other}: {path} is a series of the same name, clinic" in capsys.readouterr().err
    other.write_text(other.read_text().replace("publish: {", "publish: {to: ../one/published, "))
    assert main(["publish", str(other), "--quiet"]) == 1
    assert (
        "if another series with this name publishes there, give this one a name of its own" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("quasi_identifiers", "qausi_identifiers", "key qausi_identifiers must be one that reanon knows; did you mean"),
        ("m-invariance", "m-invarience", "m-invarience) must be one of m-invariance, mondrian"),
        ("m: 3", "m: 3, balancng: blind", "be one of its parameters (m, balancing"),
    ],
)
def test_a_typo_is_a_sentence_with_what_was_meant(
    tmp_path: Path, right: str, wrong: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_series(tmp_path, text=SERIES.replace(right, wrong))
    assert main(["validate", str(path), "--quiet"]) == 2
    err = capsys.readouterr().err
    assert told in err
    meant = {"m: 3": "balancing"}.get(right, right)
    assert f"did you mean {meant}?" in err
