"""A refusal that concerns people says who: in a private file, and nowhere else."""

import stat
from pathlib import Path

import pandas as pd
import pytest
from builders.series import SERIES, correct, people, write_series

from reanon_dagster.cli import main

VALUES = ["asthma", "cold", "flu", "measles"]
EPISODE = SERIES.replace("m: 3", "m: 3, on_sensitive_change: episode, balancing: filled").replace(
    "sensitive: disease", f"sensitive: {{column: disease, values: [{', '.join(VALUES)}]}}"
)


def changed(frame: pd.DataFrame, column: str, values: dict[int, object]) -> pd.DataFrame:
    frame = frame.copy()
    for row, value in values.items():
        frame.loc[row, column] = value
    return frame


def dozen() -> pd.DataFrame:
    return people(12).assign(disease=[VALUES[person % 3] for person in range(12)])


@pytest.mark.parametrize(
    ("text", "first", "second", "who"),
    [
        (EPISODE, dozen(), changed(dozen(), "disease", {4: "measles", 7: "measles"}), [4, 7]),
        (SERIES, people(60), changed(people(60), "disease", {5: "cold"}), [5]),
        (
            SERIES.replace("m: 3", "m: 3, on_qi_change: refuse"),
            people(60),
            changed(people(60), "age", {7: 101, 9: 102}),
            [7, 9],
        ),
        (
            SERIES.replace("m-invariance, m: 3", "cor-split, m: 4, n: 2, max_lifespan: 1, on_lifespan: refuse"),
            people(60),
            people(72).iloc[48:],
            [*range(48, 60)],
        ),
        (SERIES.replace("m-invariance, m: 3", "sequential, ell: 2"), people(60), people(60).drop(index=[3]), [3]),
        (
            SERIES.replace("m-invariance, m: 3", "sequential, ell: 2"),
            people(60),
            changed(people(60), "zip", {8: 10499, 2: 10498}),
            [2, 8],
        ),
    ],
    ids=["episode", "sensitive change", "qi change", "lifespan", "departure", "worlds"],
)
def test_a_refusal_names_its_people_in_a_private_file(
    text: str, first: pd.DataFrame, second: pd.DataFrame, who: list[int], tmp_path: Path, capsys
) -> None:
    path = str(write_series(tmp_path, text=text, snapshots={"r1": first, "r2": second}))
    assert main(["publish", path, "--quiet"]) == 0
    private = tmp_path / "private" / "clinic"
    capsys.readouterr()
    for command in (["validate", path], ["publish", path, "--dry-run"]):
        assert main(command) == 1
        assert "`reanon publish` would write whom this concerns" in capsys.readouterr().err
        assert not (private / "refused").exists()
    assert main(["publish", path]) == 1
    assert "refused/r2.csv in the private folder says who" in capsys.readouterr().err
    file = private / "refused" / "r2.csv"
    assert pd.read_csv(file)["patient"].tolist() == [f"Zacharias-{person:06d}" for person in who]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert main(["status", path]) == 0
    told = capsys.readouterr()
    assert "refused/r2.csv" in told.out
    assert "Zacharias" not in told.out + told.err


def test_the_list_goes_once_it_is_out_of_date(tmp_path: Path) -> None:
    path = str(write_series(tmp_path, snapshots={"r1": people(60)}))
    assert main(["publish", path, "--quiet"]) == 0
    file = tmp_path / "private" / "clinic" / "refused" / "r2.csv"
    for snapshot, code, there in (
        (changed(people(60), "disease", {5: "cold"}), 1, True),
        (people(600), 1, False),
        (changed(people(60), "disease", {5: "cold"}), 1, True),
        (people(60), 0, False),
    ):
        correct(tmp_path, "r2", snapshot)
        assert main(["publish", path, "--quiet"]) == code
        assert file.exists() == there
    assert [one.name for one in file.parent.iterdir()] == []
