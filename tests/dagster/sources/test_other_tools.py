"""Two releases of eight people as ARX, sdcMicro and anjana write them, and what their users may change."""

import csv
import shutil
from pathlib import Path

import pytest

from reanon_dagster.cli import main

FILES = Path(__file__).parent / "other_tools"
YOUNG = {"Ann": "flu", "Ben": "asthma", "Cid": "gout", "Dora": "migraine"}
"""The four people under 40, whose two groups share one value in the files of every tool."""


def exposed(folder: Path, out: Path) -> dict[str, str]:
    """Whom an intersection exposes, as the steward's private file says."""
    releases = [str(folder / name) for name in ("first.csv", "second.csv")]
    given = ["--schema", str(folder / "schema.yaml"), "--people", str(folder / "people.csv")]
    asked = ["--attack", "intersection", "--findings", str(out), "--quiet"]
    assert main(["audit", "--releases", *releases, *given, *asked]) == 0
    with out.open(newline="") as file:
        return {row["id"]: row["inferred"] for row in csv.DictReader(file)}


@pytest.mark.parametrize(
    ("tool", "older"),
    [
        ("arx", {"Eve": "flu", "Gil": "flu"}),
        # Joined levels cover those between them, so Eve fits two groups of the first release.
        ("sdcmicro", {"Gil": "flu"}),
        # The second release has a group with one value, which k-anonymity allows.
        ("anjana", {"Eve": "flu", "Finn": "gout", "Gil": "flu", "Hana": "asthma"}),
    ],
)
def test_the_files_of_other_tools_are_read_as_their_users_have_them(
    tmp_path: Path, tool: str, older: dict[str, str]
) -> None:
    assert exposed(FILES / tool, tmp_path / "findings.csv") == YOUNG | older


def test_a_european_export_of_sdcmicro_has_decimal_commas_and_semicolons(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    shutil.copytree(FILES / "sdcmicro", folder)
    for name in ("first.csv", "second.csv"):
        text = (folder / name).read_text().replace('","', '";"').replace(",NA", ";NA").replace('NA,"', 'NA;"')
        (folder / name).write_text(text.replace("81667", "81667,0"))
    people = (folder / "people.csv").read_text().replace(",", ";").replace(";81667;", ";81667,0;")
    (folder / "people.csv").write_text(people)
    schema = folder / "schema.yaml"
    schema.write_text(f'{schema.read_text()}decimal: ","\n')
    assert "[19.956,42.5]" in (folder / "second.csv").read_text()  # cut() writes points in any country
    assert exposed(folder, tmp_path / "findings.csv") == YOUNG | {"Gil": "flu"}


def test_row_names_without_a_column_name_are_no_column_and_a_trailing_separator_is_no_row_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "files"
    shutil.copytree(FILES / "anjana", folder)
    lines = (folder / "first.csv").read_text().splitlines()
    (folder / "first.csv").write_text("\n".join([lines[0], *(f"{line}," for line in lines[1:])]) + "\n")
    releases = [str(folder / name) for name in ("first.csv", "second.csv")]
    given = ["--schema", str(folder / "schema.yaml"), "--people", str(folder / "people.csv")]
    assert main(["audit", "--releases", *releases, *given]) == 2
    assert "must have as many values in each row as there are column names" in capsys.readouterr().err
