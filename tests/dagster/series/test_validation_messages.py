"""Every error in a series file becomes a plain sentence, all at once."""

from pathlib import Path

import pytest
from builders.series import HOSPITAL, writer

from reanon_core.catalog import CHECKS, TECHNIQUES
from reanon_core.model.errors import InvalidSchema
from reanon_dagster.series.series_file import load_series


@pytest.fixture
def write(tmp_path):
    return writer(tmp_path)


def sentences(path: Path, *, lazily: bool = True) -> list[str]:
    with pytest.raises(InvalidSchema) as error:
        load_series(path, lazily=lazily)
    return str(error.value).splitlines()


AGE = "  age: {kind: numeric, min_width: 2}"


def with_age(settings: str) -> tuple[str, str]:
    return AGE, f"  age: {settings}"


def test_all_errors_of_a_file_are_reported_at_once(write):
    text = """\
series: my series
titel: x
source: {path: a.csv, id: age, sep: ";"}
releases: {cadence: quartely, first: 2024, columns: {r1: [age]}}
quasi_identifiers:
  age: {kind: numeric, min_width: 200, domain: [0, 120]}
  zip: {kind: nummeric}
  education: {kind: categorical, taxonomy: nowhere.csv}
  admitted: {kind: date, domain: [2024-01-01, soon]}
  weight: {domain: [1]}
  height: 5
sensitive: {values: [a, a]}
technique: {name: magic}
engine: {spark: {master: local}}
publish: {formats: [xls]}
checks: [wishful-thinking]
"""
    assert sentences(write(text), lazily=False) == [
        "series (my series) must begin with a letter or a digit and use letters, digits, '_' and '-' only",
        "source.path (a.csv) must contain {release}; such as releases/{release}.csv",
        "key source.sep must be one that reanon knows; did you mean separator?",
        "releases.cadence (quartely) must be one of daily, weekly, monthly, quarterly, yearly",
        "quasi_identifiers.zip.kind (nummeric) must be one of numeric, date, categorical",
        "quasi_identifiers.weight.domain must be two values, such as [0, 120]",
        "quasi_identifiers.height (5) must be keys with values, such as {key: value}",
        "sensitive.column must be given",
        "publish.formats, entry 1 (xls) must be one of parquet, csv",
        "engine.spark.master (local) must be local[N], local[*] or spark://host:port, such as local[2]",
        "key titel must be one that reanon knows; did you mean title?",
        "age: min_width (200) must fit into the domain, which is 121 wide, counting both ends",
        "education: taxonomy (nowhere.csv) must be a readable file; paths start at the series' folder",
        "admitted: domain (soon) must be two dates such as 2024-03-01",
        "column age (id and quasi-identifier) must have one role only",
        f"technique (magic) must be one of {', '.join(TECHNIQUES)}",
        f"series.yaml, line 16: check (wishful-thinking) must be one of {', '.join(CHECKS)}",
    ]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("series", "[a]", "series must be text"),
        ("title", "{a: b}", "title must be text"),
        ("source", "releases.csv", "source (releases.csv) must be keys with values, such as {key: value}"),
        (
            "source",
            "{path: 'x/{release}.ods', id: name}",
            "source.path (x/{release}.ods) must end in .csv, .csv.gz, .csv.zst, .parquet",
        ),
        ("source", "{path: '{release}.csv'}", "source.id must be given"),
        (
            "source",
            "{path: '{release}.csv', id: name, separator: '::'}",
            'source.separator (::) must be one character, such as , or ; or "tab"',
        ),
        (
            "source",
            "{path: '{release}.csv', id: name, encoding: klingon}",
            "source.encoding (klingon) must be an encoding that Python knows, such as utf-8 or latin-1",
        ),
        (
            "source",
            "{duckdb: a.db, id: name, query: select 1}",
            "source.query (select 1) must contain {release}; such as select * from visits where quarter = '{release}'",
        ),
        (
            "source",
            "{postgres: 'host=db password=secret', query: 'from {release}', id: name}",
            "source.postgres must be the name of an environment variable, such as CLINIC_DSN, and not the connection",
        ),
        ("releases", "{cadence: monthly, first: 2024-Q1}", "releases.first (2024-Q1) must be a month such as 2024-03"),
        ("releases", "{names: []}", "releases.names must list at least one name, each once"),
        ("releases", "{names: [a, A]}", "releases.names must list at least one name, each once"),
        (
            "releases",
            "{names: [../x]}",
            "releases.names must use letters, digits, '.', '_' and '-' only, because a name is a folder; not '../x'",
        ),
        (
            "releases",
            "{cron: '* * * * *', first: 2024-01-01}",
            "releases.cron (* * * * *) must tick at most once",
        ),
        ("releases", "{cadence: monthly}", "releases.first must be given"),
        ("quasi_identifiers", "{}", "quasi_identifiers must have at least one entry"),
        ("quasi_identifiers", "[age]", "quasi_identifiers must be keys with values, such as {key: value}"),
        ("quasi_identifiers", "{age: {min_width: wide}}", "quasi_identifiers.age.min_width (wide) must be a number"),
        ("quasi_identifiers", "{age: {min_width: .inf}}", "quasi_identifiers.age.min_width (.inf) must be a number"),
        ("sensitive", "{column: disease, values: [flu, flu]}", "sensitive.values (flu) must list every value once"),
        ("sensitive", "{column: disease, values: []}", "sensitive.values (empty) must list every value once"),
        ("sensitive", "age", "column age (quasi-identifier and sensitive) must have one role only"),
        ("sensitive", "name", "column name (id and sensitive) must have one role only"),
        (
            "sensitive",
            "age_min",
            "published column age_min must come from one column only; rename a column of the source",
        ),
        ("sensitive", "Group_ID", "published column group_id must come from one column only"),
        ("technique", "{m: 2}", "technique.name must be given"),
        ("other", "{a: b}", "other must be a list, such as [a, b]"),
        ("publish", "{formats: []}", "publish.formats must have at least one entry"),
        ("publish", "{to: .}", "private.to (private) must lie apart from publish.to, neither inside the other"),
        ("private", "{to: published/x}", "private.to (published/x) must lie apart from publish.to"),
        ("publish", "{to: releases}", "source.path (releases/{release}.csv) must lie outside publish.to"),
        (
            "source",
            "{duckdb: published/a.db, query: 'from {release}', id: name}",
            "source.duckdb (published/a.db) must lie outside publish.to, because snapshots are private",
        ),
        (
            "engine",
            "spark",
            'engine (spark) must be embedded, {embedded: {memory_limit: 6GB}} or {spark: {master: "local[2]"}}',
        ),
        ("engine", "{embedded: {}, spark: {master: 'local[2]'}}", "engine must be embedded, {embedded: {memory_limit"),
        ("engine", "{spark: {}}", "engine.spark.master must be given"),
        ("engine", "{spark: {master: yarn}}", "engine.spark.master (yarn) must be local[N], local[*] or spark"),
        ("engine", "{spark: {master: 'spark://a:1'}}", "engine.spark.secret must be given with spark://"),
        ("engine", "{spark: {master: 'local[2]', cores: 2}}", "engine.spark.cores must be left out with local"),
        (
            "engine",
            "{spark: {master: 'local[2]', scratch: published/x}}",
            "engine.spark.scratch (published/x) must lie outside publish.to, because it is private",
        ),
        (
            "engine",
            "{embedded: {memory_limit: much}}",
            "engine.embedded.memory_limit (much) must be a size such as 500MB or 4GB",
        ),
        ("engine", "{embedded: {memory: 4GB}}", "key engine.embedded.memory must be one that reanon knows"),
    ],
)
def test_a_wrong_value_is_one_plain_sentence(write, key, value, said):
    kept = [line for line in HOSPITAL.splitlines(keepends=True) if not line.startswith((f"{key}:", "  "))]
    if key != "quasi_identifiers":
        kept = [AGE + "\n" if line.startswith("quasi") else line for line in kept]
        kept = [f"quasi_identifiers:\n{line}" if line.startswith("  age") else line for line in kept]
    found = sentences(write("".join(kept) + f"{key}: {value}\n"))
    assert any(sentence.startswith(said) for sentence in found), found
    assert not any(word in " ".join(found) for word in ("Input should", "type=", "pydantic", "Traceback"))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("{min_width: 0}", "age: min_width (0) must be a whole number of steps of the granularity 1, at least 1"),
        ("{granularity: 5, min_width: 7}", "age: min_width (7) must be a whole number of steps of the granularity 5"),
        ("{granularity: 0}", "age: granularity (0) must be above 0"),
        ("{granularity: 0.1234567}", "age: granularity (0.1234567) must have at most 6 significant digits"),
        ("{granularity: 5, domain: [0, 12]}", "age: domain (12) must be multiples of the granularity 5"),
        ("{domain: [9, 1]}", "age: domain (9, 1) must have its lower end first"),
        ("{domain: [a, b]}", "age: domain (a) must be two numbers"),
        ("{domain: [0, 9999999999]}", "age: domain (9999999999) must be less than 2147483647 steps"),
        ("{domain: [0, 9], min_width: 11}", "age: min_width (11) must fit into the domain, which is 10 wide"),
        ("{taxonomy: education.csv}", "age: taxonomy must be left out, because the column is not categorical"),
        (
            "{kind: date, granularity: 7}",
            "age: granularity (7) must be left out, because only numeric columns",
        ),
        ("{kind: date, min_width: 0.5}", "age: min_width (0.5) must be a whole number of days, at least 1"),
        (
            "{kind: categorical}",
            (
                "age must have a taxonomy or an order, and only one of them, because it is categorical; write its "
                "values as order: [low, middle, high]; reanon init --from F writes the line for a table"
            ),
        ),
        ("{kind: categorical, order: [a, b, a]}", "age: order (a) must list every value once"),
        ("{kind: categorical, order: [a], domain: [a, b]}", "age: domain must be left out, because the taxonomy or"),
        (
            "{kind: categorical, order: [a], min_width: 2}",
            "age: min_width (2) must be at most the number of its values",
        ),
    ],
)
def test_a_wrong_setting_of_a_column_is_one_plain_sentence(write, settings, said):
    found = sentences(write(HOSPITAL, with_age(settings)))
    assert any(sentence.startswith(said) for sentence in found), found


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("threads: 0", "threads (0) must be at least 1"),
        ("threads: 5000", "threads (5000) must be at most 1024"),
        ("threads: 1.5", "threads (1.5) must be a whole number"),
        ("threads: many", "threads (many) must be a whole number"),
        ("max_drift: 0", "max_drift (0) must be above 0"),
        ("min_returning: most", "min_returning (most) must be a number"),
    ],
)
def test_a_wrong_number_is_one_plain_sentence(write, line, said):
    assert sentences(write(HOSPITAL, (AGE, f"{AGE}\n{line}"))) == [said]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "education: taxonomy (t.csv) must have at least one line"),
        (b"primary\nsecondary\n", "education: taxonomy (t.csv, line 1) must have on every line a value first"),
        (b"a,,any\n", "education: taxonomy (t.csv, line 1) must have on every line a value first"),
        (b"a,any\nb,all\n", "taxonomy of education (all, any) must end in one root on every line"),
        (b"a,any\na,any\n", "taxonomy of education (a) must name every leaf once"),
        (b"a,x,any\nb,x,y,any\n", "taxonomy of education (x) must give every node one parent"),
        (b"\xff\xfe,any\n", "education: taxonomy (t.csv) must be encoded as utf-8"),
    ],
)
def test_a_wrong_taxonomy_is_one_plain_sentence(write, content, said):
    path = write(HOSPITAL, (AGE, "  education: {kind: categorical, taxonomy: t.csv}"))
    (path.parent / "t.csv").write_bytes(content)
    assert any(sentence.startswith(said) for sentence in sentences(path))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("series: [a", "series.yaml, line 1, column 11 must be valid YAML"),
        ("series: a\n\tb: c", "series.yaml, line 2, column 1 must be valid YAML"),
        ("series: a\nseries: b\nsource: {id: a, id: b}", "line 2: key series must occur once"),
        ("", "series.yaml must contain keys with values"),
        ("- a", "series.yaml must contain keys with values"),
        ("a: !!python/object:x y", "series.yaml, line 1, column 4 must be valid YAML"),
    ],
)
def test_what_is_no_yaml_is_named_with_its_line(write, text, said):
    assert sentences(write(text))[0].startswith(said)


def test_a_file_that_is_not_there_is_named(tmp_path):
    assert sentences(tmp_path / "no.yaml")[0].startswith(f"series file ({tmp_path / 'no.yaml'}) must exist")


@pytest.mark.parametrize(
    ("technique", "said"),
    [
        ("{name: m-invariance, m: 1}", "m (1) must be a whole number of at least 2"),
        ("{name: m-invariance}", "technique m-invariance: m must be given"),
        ("{name: m-invariance, m: 2, ell: 3}", "technique m-invariance: ell must be one of its parameters"),
        ("{name: m-invariance, m: two}", "m (two) must be a whole number of at least 2"),
        (
            "{name: m-invariance, m: 2, not_eligible: hope}",
            "not_eligible (hope) must be one of refuse, blocks, partial-blocks, defer, pad",
        ),
    ],
)
def test_a_wrong_technique_is_reported_unless_loading_is_lazy(write, technique, said):
    path = write(HOSPITAL, ("{name: m-invariance, m: 2}", technique))
    assert any(sentence.startswith(said) for sentence in sentences(path, lazily=False))
    load_series(path, lazily=True)


def test_a_technique_that_refuses_the_schema_is_reported(write):
    assert any(
        sentence.startswith("other (x) must be empty") for sentence in sentences(write(more="other: x\n"), lazily=False)
    )
