"""Releases that others made, in the notations of their tools, attacked with what a file says of people."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from builders.series import SERIES, lively, people, write_series
from papers.XT07.tables import PATIENTS, TABLE_1B, TABLE_2B

from reanon_core.attacks.intersection import IntersectionAttack
from reanon_core.model.errors import InvalidSchema, InvalidSnapshot
from reanon_core.tables.ids import pseudonyms
from reanon_dagster.cli import main
from reanon_dagster.commands.audit_files import release_names
from reanon_dagster.series.series_file import load_schema
from reanon_dagster.sources.external_releases import read_external_releases, read_people

SCHEMA = "id: name\nquasi_identifiers: {age: {}, zip: {}}\nsensitive: disease\n"
KEYS = ("decimal", "id", "optional", "other", "quasi_identifiers", "sensitive")
TREE = "primary,school,any\nsecondary,school,any\nbachelor,higher,any\nmaster,higher,any\n"
TRUTH = {"Bob": "dyspepsia", "David": "gastritis"}
NOTATIONS: dict[str, Callable[[int, int], str]] = {
    "from-to": lambda low, high: f"{low}-{high}",
    "closed": lambda low, high: f"[{low}, {high}]",
    "half-open": lambda low, high: f"[{low}, {high + 1})",
    "ARX": lambda low, high: f"[{low},{high + 1}[",
    "R": lambda low, high: f"({low - 1},{high}]",
    "between values": lambda low, high: f"({low - 0.5}, {high + 0.5})",
    "words": lambda low, high: f"{low} to {high}",
}


def paper_table(table: Sequence[tuple[tuple[str, ...], object]], write: Callable[[int, int], str]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"age": write(*age), "zip": write(*zipcode), "disease": PATIENTS[name][2]}
            for names, (age, zipcode) in table  # type: ignore[misc]
            for name in names
        ]
    )


def paper_people(names: Sequence[str] = ("first", "second")) -> pd.DataFrame:
    rows = [
        {"name": name, "age": PATIENTS[name][0], "zip": PATIENTS[name][1], "release": release}
        for release, table in zip(names, (TABLE_1B, TABLE_2B), strict=True)
        for group, _ in table
        for name in group
    ]
    return pd.DataFrame(rows)


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    """Tables 1b and 2b beside a schema and what Tables 1a and 2a tell a neighbour."""
    for name, table in (("first", TABLE_1B), ("second", TABLE_2B)):
        paper_table(table, NOTATIONS["closed"]).to_csv(tmp_path / f"{name}.csv", index=False)
    paper_people().to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    return tmp_path


def audit(folder: Path, *more: str, releases: Sequence[str] = ("first.csv", "second.csv")) -> int:
    files = [str(folder / name) for name in releases]
    schema, known = str(folder / "schema.yaml"), str(folder / "people.csv")
    return main(["audit", "--releases", *files, "--schema", schema, "--people", known, *more])


def exposed(folder: Path, releases: Sequence[str]) -> dict[str, str]:
    """Whom the intersection attack exposes, by name."""
    id_column, schema, *_ = load_schema(folder / "schema.yaml")
    files = [folder / name for name in releases]
    history = read_external_releases(files, schema)
    knowledge = read_people(folder / "people.csv", schema, id_column, release_names(files))
    found = IntersectionAttack().run(history, knowledge)
    names = sorted(PATIENTS)
    who = dict(zip(pseudonyms(pa.array(names), bytes(16)).tolist(), names, strict=True))
    values = history.schema.sensitive.values
    return {who[int(one)]: values[int(value)] for one, value in zip(found.persons, found.inferred, strict=True)}


@pytest.mark.parametrize("notation", NOTATIONS)
def test_the_papers_naive_releases_expose_bob_and_david_in_every_notation(paper: Path, notation: str) -> None:
    for name, table in (("first", TABLE_1B), ("second", TABLE_2B)):
        frame = paper_table(table, NOTATIONS[notation])
        frame.to_csv(paper / f"{name}.csv", index=False, sep=";" if notation == "ARX" else ",")
    assert exposed(paper, ("first.csv", "second.csv")) == TRUTH


def test_the_ends_of_intervals_may_have_columns_of_their_own_in_csv_and_parquet(paper: Path) -> None:
    for name, table in (("first", TABLE_1B), ("second", TABLE_2B)):
        frame = pd.DataFrame(
            [
                {"age_min": age[0], "age_max": age[1], "zip_min": z[0], "zip_max": z[1], "disease": PATIENTS[who][2]}
                for names, (age, z) in table
                for who in names
            ]
        )
        frame.to_parquet(paper / f"{name}.parquet")
        frame.to_csv(paper / f"{name}.csv", index=False)
    assert exposed(paper, ("first.csv", "second.parquet")) == TRUTH


def test_the_command_prints_and_writes_that_two_people_are_exposed(
    paper: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit(paper, "--attack", "intersection", "--json", str(paper / "answers.json")) == 0
    out = capsys.readouterr().out
    assert "first.csv: 11 rows in 5 groups" in out
    row = next(line for line in out.splitlines() if line.strip().startswith("intersection"))
    assert row.split()[1:3] == ["2", "16"]
    (answer,) = json.loads((paper / "answers.json").read_text())["attacks"]
    assert (answer["attack"], answer["exposed"], answer["of"]) == ("intersection", 2, 16)
    assert "Bob" not in out + (paper / "answers.json").read_text()


def test_every_attack_runs_where_none_is_named(paper: Path) -> None:
    assert audit(paper, "--quiet", "--json", str(paper / "answers.json")) == 0
    answers = {one["attack"]: one for one in json.loads((paper / "answers.json").read_text())["attacks"]}
    assert answers["intersection"]["exposed"] == 2
    assert answers["risk"]["exposed"] >= 2


def test_releases_may_be_numbered_in_the_people_file(paper: Path) -> None:
    paper_people(("1", "2")).to_csv(paper / "people.csv", index=False)
    assert exposed(paper, ("first.csv", "second.csv")) == TRUTH


def test_without_a_release_column_everybody_is_in_every_release(paper: Path) -> None:
    both = [name for group, _ in TABLE_2B for name in group if any(name in other for other, _ in TABLE_1B)]
    known = paper_people().drop(columns="release").drop_duplicates()
    known[known["name"].isin(both)].to_csv(paper / "people.csv", index=False)
    assert exposed(paper, ("first.csv", "second.csv")) == TRUTH


def test_a_person_may_have_other_values_in_another_release(paper: Path) -> None:
    known = paper_people()
    aged = known["release"].eq("second") & known["name"].eq("Bob")
    known.loc[aged, "age"] = 22
    known.to_csv(paper / "people.csv", index=False)
    assert exposed(paper, ("first.csv", "second.csv")) == TRUTH


def test_people_who_fit_no_group_are_not_passed_over_in_silence(
    paper: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = paper_people()
    known["zip"] //= 1000  # the paper writes 12k
    known.to_csv(paper / "people.csv", index=False)
    assert audit(paper, "--attack", "intersection", "--quiet") == 0
    assert "16 people have no possible value in all of their releases" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_what_reanon_published_exposes_nobody_and_reads_back_as_it_is_stored(tmp_path: Path, form: str) -> None:
    snapshots = lively(releases=3, size=120)
    for frame in snapshots.values():
        frame["stage"] = ["primary", "secondary", "bachelor", "master"] * (len(frame) // 4) + ["master"] * (
            len(frame) % 4
        )
        frame["zip"] = frame["zip"].where(frame["zip"] > 10050).astype("Int64")
    text = SERIES.replace("min_width: 10}", "min_width: 10, missing: separate}")
    text = text.replace("sensitive:", "  stage: {kind: categorical, taxonomy: tree.csv}\nsensitive:")
    series = write_series(tmp_path, text=text, snapshots=snapshots)
    (tmp_path / "tree.csv").write_text(TREE)
    assert main(["backfill", str(series), "--quiet"]) == 0
    known = pd.concat([frame.assign(release=name) for name, frame in snapshots.items()])
    known.drop(columns="disease").to_csv(tmp_path / "people.csv", index=False)
    own, others = tmp_path / "own.json", tmp_path / "others.json"
    only = ["--attack", "intersection", "--quiet", "--json"]
    assert main(["audit", str(series), *only, str(own)]) == 0
    tables = [str(tmp_path / "published" / "clinic" / name / f"table.{form}") for name in snapshots]
    known_as = ["--schema", str(series), "--people", str(tmp_path / "people.csv")]
    assert main(["audit", "--releases", *tables, *known_as, *only, str(others)]) == 0
    (stored,), (read) = (json.loads(path.read_text())["attacks"] for path in (own, others))
    assert stored.pop("conclusions that are true") == 0  # what only the steward can tell
    assert read == [stored]
    assert stored["exposed"] == 0
    assert stored["without candidates"] == 0


def test_counterfeits_are_read_beside_a_table_of_reanons_own_and_nowhere_else(tmp_path: Path) -> None:
    frame = people(60)
    frame.loc[:39, "disease"] = "flu"
    text = SERIES.replace("m: 3", "m: 3, not_eligible: pad")
    series = write_series(tmp_path, text=text, snapshots={"r1": frame})
    assert main(["publish", str(series), "--quiet"]) == 0
    folder = tmp_path / "published" / "clinic" / "r1"
    total = json.loads((folder / "manifest.json").read_text())["counterfeits"]
    _, schema, *_ = load_schema(series)
    (folder / "another.csv").write_bytes((folder / "table.csv").read_bytes())
    files = [folder / "table.csv", folder / "table.parquet", folder / "another.csv"]
    assert [one.auxiliary.total for one in read_external_releases(files, schema).releases] == [total, total, 0]
    (folder / "counterfeits.csv").write_text("group_id,count\n0,1\n0,1\nnowhere,1\n")
    with pytest.raises(InvalidSnapshot, match="name groups of the table, each once"):
        read_external_releases(files, schema)


def test_releases_are_called_by_their_file_or_else_by_their_folder() -> None:
    assert release_names([Path("a/x.csv"), Path("b/y.parquet")]) == ["x", "y"]
    assert release_names([Path("a/table.csv"), Path("b/table.csv")]) == ["a", "b"]
    assert release_names([Path("a/r/table.csv"), Path("b/r/table.csv")]) == ["a/r/table.csv", "b/r/table.csv"]


def test_a_whole_series_file_is_a_schema_too(tmp_path: Path) -> None:
    id_column, schema, *_ = load_schema(write_series(tmp_path))
    assert (id_column, schema.names, schema.sensitive.name) == ("patient", ("age", "zip"), "disease")


def test_a_schema_file_may_leave_the_id_column_out(tmp_path: Path) -> None:
    (tmp_path / "schema.yaml").write_text("quasi_identifiers: {age: {}}\nsensitive: {column: disease, values: [flu]}\n")
    id_column, schema, *_ = load_schema(tmp_path / "schema.yaml")
    assert id_column == "id"
    assert schema.sensitive.closed


def test_every_problem_of_a_schema_file_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "schema.yaml").write_text(
        "id: age\ntitle: x\nquasi_identifier: {}\n"
        "quasi_identifiers: {age: {domain: [9, 1]}, zip: {kind: post}, edu: {kind: categorical, taxonomy: no.csv}}\n"
        "sensitive: {values: [a]}\n"
    )
    with pytest.raises(InvalidSchema) as error:
        load_schema(tmp_path / "schema.yaml")
    assert str(error.value).splitlines() == [
        "quasi_identifiers.zip.kind (post) must be one of numeric, date, categorical",
        "sensitive.column must be given",
        f"key title must be one that reanon knows; known here: {', '.join(KEYS)}",
        "key quasi_identifier must be one that reanon knows; did you mean quasi_identifiers?",
        "age: domain (9, 1) must have its lower end first",
        "edu: taxonomy (no.csv) must be a readable file; paths start at the series' folder",
        "column age (id and quasi-identifier) must have one role only",
    ]


def test_every_problem_of_every_file_is_said_at_once(paper: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = pd.read_csv(paper / "first.csv")
    first.loc[:6, "age"] = [f"young{number}" for number in range(7)]
    first.loc[7, "disease"] = None
    first.to_csv(paper / "first.csv", index=False)
    pd.read_csv(paper / "second.csv").drop(columns=["zip", "disease"]).to_csv(paper / "second.csv", index=False)
    (paper / "fifth.parquet").write_bytes(b"no parquet")
    (paper / "sixth.csv").write_bytes("age,zip,disease\n1,1,Grippe fébrile\n".encode("latin-1"))
    grouped = pd.DataFrame({"group_id": [1, 1], "age": ["1-2", "2-3"], "zip": ["*", "*"], "disease": ["a", "b"]})
    grouped.to_csv(paper / "seventh.csv", index=False)
    known = paper_people().astype({"age": object})
    known.loc[0, "age"] = "old"
    known.loc[1, "release"] = "last"
    known.loc[3, "name"] = known.loc[2, "name"]
    known.to_csv(paper / "people.csv", index=False)
    names = ("first.csv", "second.csv", "third.csv", "fourth.txt", "fifth.parquet", "sixth.csv", "seventh.csv")
    assert audit(paper, releases=names) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    said = [line.removeprefix(f"reanon: {paper}/").split("; ")[0] for line in captured.err.splitlines()]
    expected = [
        ("first.csv: age (7 different values in 7 rows)", "be a number, an"),  # they could be ids
        ("first.csv: disease (empty in row 8)", "have a value in every row"),
        ("second.csv: column zip", "be there, or zip_min and zip_max"),
        ("second.csv: column disease", "be there"),
        ("third.csv", "exist and be readable"),
        ("fourth.txt", "be a csv or a parquet file, and end in .csv or .parquet"),
        ("fifth.parquet", "be a parquet file that can be read"),
        ("sixth.csv (line 2)", "be encoded as utf-8"),
        ("seventh.csv: group_id ('1' in 1 row)", "mark rows with the same generalized values"),
        ("people.csv: age ('old' in 1 row)", "be whole numbers"),
        ("people.csv: release ('last' in 1 row)", "be the name of a release, or its number, from 1 to 7"),
    ]
    assert [line.split(" must ")[0] for line in said] == [what for what, _ in expected]
    assert all(line.startswith(" must ".join(pair)) for line, pair in zip(said, expected, strict=True))
    assert "source." not in captured.err  # a file of others has no series file


def test_a_person_twice_in_a_release_is_a_problem_that_names_nobody(
    paper: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paper_people().drop(columns="release").to_csv(paper / "people.csv", index=False)
    assert audit(paper) == 2
    err = capsys.readouterr().err
    assert "name (more than once in rows 1, 4, 5, 7, 9 and 7 more) must occur once in each release" in err
    assert "Bob" not in err


def test_a_person_without_an_id_is_a_problem(paper: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = paper_people()
    known.loc[2, "name"] = None
    known.to_csv(paper / "people.csv", index=False)
    assert audit(paper) == 2
    assert "people.csv: name (empty in row 3) must identify the person of each row" in capsys.readouterr().err


def test_without_schema_and_people_the_command_says_what_they_are(
    paper: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "--releases", str(paper / "first.csv")]) == 2
    said = capsys.readouterr().err.splitlines()
    assert [line.split(" must ")[0] for line in said] == ["reanon: --schema", "reanon: --people"]
    assert main(["audit", "--releases", str(paper / "first.csv"), "--schema", str(paper / "schema.yaml")]) == 2
    assert "--people must name the people to attack" in capsys.readouterr().err
