"""A series file becomes a Series: as it is written, with the defaults of the contract."""

import subprocess
import sys
from datetime import date
from decimal import Decimal

import pytest
from builders.series import EDUCATION, HOSPITAL, writer

from reanon_core.model.errors import InvalidSchema
from reanon_core.model.schema import Kind, Missing
from reanon_dagster.series.config import SeriesConfig
from reanon_dagster.series.series_file import load_series


@pytest.fixture
def write(tmp_path):
    return writer(tmp_path)


AGE = "  age: {kind: numeric, min_width: 2}"


def test_a_small_file_gets_the_defaults_of_the_contract(write):
    series = load_series(write())
    assert series.name == "hospital"
    assert series.title == "hospital"
    assert series.config.publish.formats == ("parquet", "csv")
    assert series.config.engine.embedded.memory_limit is None
    assert series.config.compare == {}
    assert series.published_folder == series.folder / "published" / "hospital"
    assert series.private_folder == series.folder / "private" / "hospital"
    assert series.parameters == {
        "m": 2,
        "balancing": "median",
        "assignment": "deep",
        "not_eligible": "partial-blocks",
        "regions": "sizes",
        "on_sensitive_change": "refuse",
        "on_qi_change": "allow",
    }
    assert (series.form, series.technique.k) == ("decoupled", 10)
    assert series.more_checks == ()
    assert series.schema.names == ("age",)
    assert not series.schema.sensitive.closed


def test_a_folder_stands_for_the_series_file_in_it(write):
    assert load_series(write().parent, lazily=True).folder == write().resolve().parent


def test_every_key_of_the_contract_is_understood(write):
    text = """\
series: hospital
title: Hospital discharges
description: One row per person.
owners: [ann, bob]
source: {path: "releases/{release}.parquet", id: name}
releases: {names: [r1, r2]}
quasi_identifiers:
  age: {kind: numeric, min_width: 2, domain: [0, 120], missing: separate}
  weight: {granularity: 0.5, domain: [0.5, 300], min_width: 2.5}
  admitted: {kind: date, domain: [2000-01-01, 2030-12-31], min_width: 7}
  education: {kind: categorical, taxonomy: education.csv, min_width: 2}
  smoker: {kind: categorical, order: [no, yes]}
sensitive: {column: disease, values: [flu, cold]}
other: []
technique: {name: m-invariance, m: 3, not_eligible: defer, assignment: stable}
compare: {}
checks: [{name: weak-m-invariance, m: 3}, {name: t-closeness, t: 0.5}]
publish: {to: out, formats: [parquet], form: decoupled, k: 5}
engine: embedded
private: {to: ../secret}
"""
    series = load_series(write(text))
    age, weight, admitted, education, smoker = series.schema.quasi_identifiers
    assert (age.min_width, age.domain, age.missing) == (2, (0, 120), Missing.SEPARATE)
    assert (weight.granularity, weight.min_width, weight.domain) == (Decimal("0.5"), 5, (1, 600))
    assert (admitted.kind, admitted.min_width) == (Kind.DATE, 7)
    assert admitted.domain == ((date(2000, 1, 1) - date(1970, 1, 1)).days, (date(2030, 12, 31) - date(1970, 1, 1)).days)
    assert (education.hierarchical, education.domain, education.min_width) == (True, (0, 2), 2)
    assert smoker.taxonomy is not None
    assert (smoker.hierarchical, smoker.taxonomy.leaves) == (False, ("no", "yes"))
    assert (series.schema.sensitive.values, series.schema.sensitive.closed) == (("flu", "cold"), True)
    assert (series.parameters["not_eligible"], series.parameters["assignment"]) == ("defer", "stable")
    assert (series.form, series.technique.k) == ("decoupled", 5)
    assert [check.name for check in series.more_checks] == ["weak-m-invariance", "t-closeness"]
    assert series.published_folder == series.folder / "out" / "hospital"
    assert series.calendar.due(date.min) == ["r1", "r2"]


@pytest.mark.parametrize(
    ("releases", "first"),
    [
        ("{cadence: yearly, first: 2024}", "2024"),
        ("{cadence: daily, first: 2024-03-01}", "2024-03-01"),
        ("{cadence: quarterly, first: 2024-Q1}", "2024-Q1"),
        ("{cadence: monthly, first: 2024-03}", "2024-03"),
        ("{cadence: weekly, first: 2024-W09}", "2024-W09"),
        ('{cron: "0 6 1 * *", first: 2024-03-01}', "2024-03-01"),
        ("{names: [2021, 2022.10, r-3]}", "2021"),
    ],
)
def test_first_releases_are_read_as_they_are_written(write, releases, first):
    series = load_series(write(HOSPITAL, ("{cadence: quarterly, first: 2024-Q1}", releases)), lazily=True)
    assert series.calendar.first == first


def test_names_that_yaml_would_take_for_numbers_stay_what_they_are(write):
    path = write(HOSPITAL, ("{cadence: quarterly, first: 2024-Q1}", "{names: [007, 2022.10, 1e3]}"))
    assert load_series(path, lazily=True).calendar.due(date.min) == ["007", "2022.10", "1e3"]


def test_a_config_may_be_built_in_python_from_numbers_and_dates():
    config = SeriesConfig.model_validate(
        {
            "series": "s",
            "source": {"path": "{release}.csv", "id": "name"},
            "releases": {"cadence": "yearly", "first": 2024},
            "quasi_identifiers": {
                "born": {"kind": "date", "domain": [date(1900, 1, 1), date(2024, 1, 1)]},
                "age": None,
            },
            "sensitive": "disease",
            "technique": {"name": "m-invariance", "m": 2},
        }
    )
    assert config.releases.calendar().first == "2024"
    assert config.quasi_identifiers["born"].domain == ("1900-01-01", "2024-01-01")


@pytest.mark.parametrize(
    "content",
    [
        "primary;school;any\nsecondary;school;any\n",
        "\ufeffprimary,school,any\r\n\r\nsecondary,school,any\r\n",
        '"primary", school ,any\nsecondary,school,any',
    ],
)
def test_a_taxonomy_may_use_either_separator_blank_lines_quotes_and_a_byte_order_mark(write, content):
    path = write(HOSPITAL, (AGE, "  education: {kind: categorical, taxonomy: t.csv}"))
    (path.parent / "t.csv").write_text(content, encoding="utf-8", newline="")
    taxonomy = load_series(path, lazily=True).schema.quasi_identifiers[0].taxonomy
    assert taxonomy is not None
    assert taxonomy.paths == (("primary", "school", "any"), ("secondary", "school", "any"))


def test_the_fingerprint_names_what_changed_key_by_key(write):
    frozen = load_series(write()).fingerprint()
    other = load_series(
        write(
            HOSPITAL,
            ("m: 2}", "m: 3}"),
            ("min_width: 2}", "min_width: 4}"),
            ("id: name", "id: patient"),
            more="title: New\n",
        )
    )
    assert other.changes(frozen) == {
        "quasi_identifiers.age.min_width": ("2", "4"),
        "source.id": ("name", "patient"),
        "technique.m": (2, 3),
    }


def test_writing_a_default_down_changes_nothing(write):
    frozen = load_series(write()).fingerprint()
    options = "m: 2, balancing: median, assignment: deep, not_eligible: partial-blocks, regions: sizes}"
    more = [("m: 2}", options), ("kind: numeric, ", "kind: numeric, granularity: 1.0, ")]
    written_down = write(HOSPITAL, *more, more="publish: {form: decoupled, k: 10}\n")
    assert load_series(written_down).changes(frozen) == {}
    assert "technique.not_eligible" in load_series(write(HOSPITAL, ("m: 2}", "m: 2, not_eligible: blocks}"))).changes(
        frozen
    )


def test_names_may_be_added_at_the_end_but_not_before(write):
    regular = "{cadence: quarterly, first: 2024-Q1}"
    frozen = load_series(write(HOSPITAL, (regular, "{names: [a, b]}"))).fingerprint()
    assert load_series(write(HOSPITAL, (regular, "{names: [a, b, c]}"))).changes(frozen) == {}
    assert "releases.names" in load_series(write(HOSPITAL, (regular, "{names: [z, a, b]}"))).changes(frozen)
    assert "releases.names" in load_series(write(HOSPITAL, (regular, "{names: [a]}"))).changes(frozen)


def test_another_taxonomy_is_a_change(write):
    path = write(HOSPITAL, (AGE, "  education: {kind: categorical, taxonomy: education.csv}"))
    frozen = load_series(path).fingerprint()
    (path.parent / "education.csv").write_text(EDUCATION + "master,higher,any\n")
    assert load_series(path).changes(frozen) == {}  # it has grown at its end
    (path.parent / "education.csv").write_text("master,school,any\n" + EDUCATION)
    assert set(load_series(path).changes(frozen)) == {"quasi_identifiers.education.taxonomy"}


def test_loading_lazily_loads_neither_a_compiler_nor_a_database(write):
    code = (
        "import sys; from pathlib import Path; from reanon_dagster.series.series_file import load_series; "
        "load_series(Path(sys.argv[1]), lazily=True); "
        "heavy = {'numba', 'dagster', 'duckdb', 'pandas', 'pyarrow', 'scipy'} & set(sys.modules); "
        "sys.exit(str(heavy) if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code, str(write())], check=True)


def test_a_check_that_is_unknown_or_declared_twice_is_refused_with_its_line(write):
    checks = "technique: {name: m-invariance, m: 2}\nchecks:\n  - {name: l-diversity, ell: 2}\n"
    checks += "  - {name: t-closeness, t: 0.5}\n  - wishful-thinking\n  - {name: t-closeness, t: 0.9}\n"
    path = write(HOSPITAL, ("technique: {name: m-invariance, m: 2}\n", checks))
    first = path.read_text().splitlines().index("  - {name: l-diversity, ell: 2}") + 1
    with pytest.raises(InvalidSchema) as error:
        load_series(path)
    told = str(error.value).splitlines()
    twice = "must be declared once; the technique or the list has it already"
    assert told[0] == f"series.yaml, line {first}: check l-diversity {twice}"
    assert told[1].startswith(f"series.yaml, line {first + 2}: check (wishful-thinking) must be one of")
    assert told[2] == f"series.yaml, line {first + 3}: check t-closeness {twice}"
    assert len(told) == 3
