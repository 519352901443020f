"""Who is withheld: in a private file, and nowhere else."""

import stat
from pathlib import Path

import pandas as pd
import pytest
from builders.series import SERIES, write_series

from reanon_dagster.cli import main

VALUES = ["asthma", "cold", "flu", "measles"]


def table(changed: dict[int, str]) -> pd.DataFrame:
    people = range(12)
    return pd.DataFrame(
        {
            "patient": [f"Zacharias-{person}" for person in people],
            "age": [20 + person for person in people],
            "zip": [10000 + 10 * person for person in people],
            "disease": [changed.get(person, VALUES[person % 3]) for person in people],
        }
    )


def test_an_episode_without_a_signature_is_withheld_and_named_in_a_private_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SERIES.replace("m: 3", "m: 3, on_sensitive_change: episode").replace(
        "sensitive: disease", f"sensitive: {{column: disease, values: [{', '.join(VALUES)}]}}"
    )
    path = write_series(tmp_path, text=text, snapshots={"r1": table({}), "r2": table({4: "measles"})})
    assert main(["publish", str(path), "--release", "r1"]) == 0
    private = tmp_path / "private" / "clinic"
    assert not (private / "withheld").exists()
    assert main(["publish", str(path), "--release", "r2"]) == 0
    told = capsys.readouterr().out
    assert "1 withheld (their new value could not be hidden when it was new: too few values were left" in told
    assert "withheld/r2.csv in the private folder says who" in told
    file = private / "withheld" / "r2.csv"
    assert pd.read_csv(file)["patient"].tolist() == ["Zacharias-4"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    public = [one.read_bytes() for one in (tmp_path / "published").rglob("*") if one.is_file()]
    assert public
    assert not any(b"Zacharias" in content for content in public)
    assert "Zacharias" not in told


def test_everyone_whose_value_is_too_frequent_is_named_too(tmp_path: Path) -> None:
    path = write_series(
        tmp_path,
        text=SERIES.replace("m: 3", "m: 3, not_eligible: defer"),
        snapshots={"r1": table(dict.fromkeys(range(1, 6), "asthma"))},
    )
    assert main(["publish", str(path), "--release", "r1", "--quiet"]) == 0
    named = pd.read_csv(tmp_path / "private" / "clinic" / "withheld" / "r1.csv")["patient"]
    assert main(["trace", str(path), "--release", "r1", "--out", str(tmp_path / "trace.parquet"), "--quiet"]) == 0
    published = pd.read_parquet(tmp_path / "trace.parquet")["id"]
    assert len(named) > 0
    assert sorted([*named, *published]) == sorted(table({})["patient"])
