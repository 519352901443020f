"""The files of `reanon init`: a commented series.yaml and a small example that can be published."""

from pathlib import Path

from reanon_core.model.errors import InvalidParameter, Problem, require

SERIES_YAML = """\
# A series is one table of people, published again and again.
# Paths are relative to this file's folder. All keys with their defaults: docs/series-yaml.md
series: hospital                        # the name: letters, digits, _ and -
title: Hospital discharges, quarterly
# licence: CC-BY-4.0                    # with title, description and contact in the README.md of every release
# contact: data@example.org

# One snapshot for each release: the whole table at that time, one row per person.
# {release} is replaced by the release's name. `id` identifies the person of each row; it is never published.
source: {path: "releases/{release}.csv", id: patient}

# A release is due when its period has ended.
# daily 2024-03-01 | weekly 2024-W09 | monthly 2024-03 | quarterly 2024-Q1 | yearly 2024 | names: [r1, r2, ...]
releases: {cadence: quarterly, first: 2024-Q1}

# What an adversary may know about a person. These columns are published as intervals.
quasi_identifiers:
  age: {kind: numeric, min_width: 5, domain: [0, 120]}
  zip: {kind: numeric, min_width: 1000}
  education: {kind: categorical, taxonomy: taxonomies/education.csv}

# What must not be linked to a person.
sensitive: disease

# Each person is hidden among at least m diseases, and always among the same ones.
# If a person's disease changed: on_sensitive_change: refuse | withhold | episode; if they moved: on_qi_change.
# The way of the paper, for experiments: variant: paper. The first release freezes m and the columns.
technique: {name: m-invariance, m: 2}

# What else you know about the data; a snapshot that fails it is refused (docs/adding-a-series.md).
# expectations: [{type: expect_column_mean_to_be_between, column: age, min_value: 20, max_value: 70}]

# Public. Every person has a box of their own, which at least k people share: the default of 10 suits larger tables.
publish: {to: published, formats: [parquet, csv], k: 4}
private: {to: private}                  # for you alone: back it up, never share it
"""

EDUCATION = """\
primary,school,any
secondary,school,any
vocational,higher,any
bachelor,higher,any
master,higher,any
"""

FIRST_SNAPSHOT = """\
patient,age,zip,education,disease
P001,21,12000,primary,dyspepsia
P002,22,14000,secondary,bronchitis
P003,24,18000,secondary,flu
P004,23,25000,vocational,gastritis
P005,41,20000,primary,flu
P006,36,27000,bachelor,gastritis
P007,37,33000,master,dyspepsia
P008,40,35000,bachelor,flu
P009,43,26000,secondary,gastritis
P010,52,33000,vocational,dyspepsia
P011,56,34000,master,gastritis
P012,61,36000,primary,bronchitis
"""

SECOND_SNAPSHOT = """\
patient,age,zip,education,disease
P001,21,12000,primary,dyspepsia
P003,24,18000,secondary,flu
P004,23,25000,vocational,gastritis
P005,41,20000,primary,flu
P006,36,27000,bachelor,gastritis
P007,37,33000,master,dyspepsia
P009,43,26000,secondary,gastritis
P010,52,33000,vocational,dyspepsia
P012,61,36000,primary,bronchitis
P013,54,31000,secondary,dyspepsia
P014,25,13000,bachelor,flu
P015,46,30000,vocational,gastritis
P016,65,36000,primary,flu
P017,29,15000,master,gastritis
P018,33,21000,secondary,bronchitis
"""

PROPOSED = """\
# Proposed by `reanon init --from {file}`. Every key with its default: docs/series-yaml.md
series: {name}

# One snapshot for each release: the whole table at that time, one row per person. The id is never published.
source: {{path: "{pattern}", id: {id}{keys}}}
releases: {releases}

# What others may know about a person: published as intervals. Delete what no outsider can know, it is then neither
# stored nor published. Numbers are cut into bins of min_width from the lower end of the domain. Put the values of an
# order so that neighbours are alike, or declare a taxonomy.
quasi_identifiers:
{columns}

# What must not be linked to a person ({distinct} different values).
sensitive: {sensitive}

# Each person among m values or more, always the same. The first release freezes m and the columns.
technique: {{name: m-invariance, m: {m}}}
{publish}
"""
"""The file that `init --from` writes for a table."""


def example_files() -> dict[str, str]:
    """The text of each file of the example, by its path in the series' folder."""
    return {
        "series.yaml": SERIES_YAML,
        "taxonomies/education.csv": EDUCATION,
        "releases/2024-Q1.csv": FIRST_SNAPSHOT,
        "releases/2024-Q2.csv": SECOND_SNAPSHOT,
    }


def write_example(folder: Path) -> list[Path]:
    """Write the example into a folder and return its files.

    Raises: InvalidParameter if one of them exists; then nothing is written.
    """
    files = {folder / name: text for name, text in example_files().items()}
    existing = [path for path in files if path.exists()]
    advice = "choose an empty folder"
    require([Problem("file", "not exist yet", str(path), advice) for path in existing], InvalidParameter)
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(files)
