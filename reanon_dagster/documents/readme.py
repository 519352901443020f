"""README.md: a release or a series in words, for a person who has only the published folder.

The code in it needs pandas or R and the files beside it, and nothing of reanon.
"""

import textwrap
from collections.abc import Iterator
from typing import Any

from reanon_core.estimate.fitness import estimates_of, fitness, fitness_lines
from reanon_core.model.errors import counted
from reanon_core.model.schema import Ends, Kind, Missing
from reanon_dagster.documents.code_samples import counting_code, counting_code_in_r, interval_code
from reanon_dagster.documents.column_dictionary import meaning_of
from reanon_dagster.documents.public_release import PublicRelease, PublicSeries, Releases

WIDTH = 100
NOT_STATED = "not stated: ask the publisher before you use the data"
FILES = {
    "table": "one row for each published person or counterfeit, in random order",
    "counterfeits": "how many rows of a group are counterfeits",
    "rows": "one row for each person, in random order: the person's group and box",
    "values": "the sensitive values of each group, with counts",
    "view": "one table of people for DuckDB, with weights",
}


def release_readme(release: PublicRelease) -> bytes:
    """What a release is, what a row is, how to count, and what not to conclude."""
    return _text(_release_lines(release))


def series_readme(series: PublicSeries, releases: Releases) -> bytes:
    """What a series is, and where its releases are. Each of them has a README of its own."""
    return _text(_series_lines(series, releases))


def _release_lines(release: PublicRelease) -> Iterator[str]:
    series, facts = release.series, release.facts
    yield from (f"# {series.title}: {release.release}", "")
    yield from _about(series)
    withheld = _number(facts["withheld"])
    found = fitness(estimates_of(release.tables(), series.schema, series.technique, withheld))
    if found is not None:
        yield from ("## What it is good for", "")
        for line in fitness_lines(found):
            yield from textwrap.wrap(line, WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False)
        yield ""
    days = "" if release.days is None else f" ({release.days[0]} to {release.days[1]})"
    yield from ("| | |", "|---|---|", f"| series | `{series.name}` |", f"| release | `{release.release}`{days} |")
    yield from _terms(series)
    yield f"| form | {'decoupled' if series.is_decoupled else 'boxes'} |"
    yield f"| published | {_size(release)} |"
    yield f"| withheld | {counted(_number(facts['withheld']), 'person', 'people')} |"
    yield from ("", "## Files", "", "| file | content |", "|---|---|")
    for name in dict.fromkeys(file.rpartition(".")[0] for file in release.files):
        files = ", ".join(f"`{file}`" for file in release.files if file.rpartition(".")[0] == name)
        content = (
            FILES[name]
            if release.is_grouped or name == "view"
            else "one row for each published person, in random order"
        )
        yield f"| {files} | {content} |"
    yield "| `datapackage.json` | this page for programs: types, roles, orders of values, taxonomies |"
    if release.report is not None:
        yield "| `report.html` | checks, sizes of groups, widths of intervals and estimates, with pictures |"
    yield "| `manifest.json` | parameters, counts, the checks that the release passed, sha256 of each file |"
    yield from ("", "## What a row is", "")
    yield from _wrapped(_row(release))
    yield from ("", "| column | meaning |", "|---|---|")
    yield from (f"| `{_cell(column.name)}` | {_cell(meaning_of(column))} |" for column in release.row_columns)
    yield from ("", "## Intervals", "")
    yield from _intervals(release)
    yield from ("", "## Counting people", "")
    yield from _counting(release)
    yield from ("", "## What not to conclude", "")
    yield from _cautions(release)
    yield from ("", "## Is it complete and unchanged?", "")
    yield from _wrapped(
        "`manifest.json` has the sha256 of every file here. `reanon verify` on the folder of the series compares all "
        "of them, and the chain of manifests, without any private data."
    )


def _series_lines(series: PublicSeries, releases: Releases) -> Iterator[str]:
    schema = series.schema
    yield from (f"# {series.title}", "")
    yield from _about(series)
    yield from ("| | |", "|---|---|", f"| series | `{series.name}` |")
    yield from _terms(series)
    yield from ("", "## Releases", "")
    yield from _wrapped(
        "Each folder here is one release of the same table of people, at another time. Read its `README.md` first: it "
        "says what it is good for, what a row is and how to count. A folder with a `withdrawn.json` is a release that "
        "was taken back. `datapackage.json` lists the files of all releases."
    )
    yield ""
    yield from _wrapped(", ".join(f"[{release}]({release}/README.md)" for release in releases) + ".")
    yield ""
    yield from _wrapped(
        "People appear in several releases. What is protected is the link between a person and their sensitive value, "
        "not that rows look alike: some rows can be followed from release to release. Compare counts, not rows. The "
        "order of values and the taxonomies, which are the same in every release, are in `datapackage.json`."
    )
    yield from ("", "## Columns", "", "| column | role | kind |", "|---|---|---|")
    for column in schema.quasi_identifiers:
        yield f"| `{_cell(column.name)}` | quasi-identifier: published as intervals | {column.kind.value} |"
    yield f"| `{_cell(schema.sensitive.name)}` | sensitive: its link to a person is protected | |"
    yield from (f"| `{_cell(name)}` | non-identifier: published unchanged | |" for name in schema.other)


def _about(series: PublicSeries) -> Iterator[str]:
    if series.description is not None:
        yield from (series.description.strip(), "")


def _terms(series: PublicSeries) -> Iterator[str]:
    yield f"| licence | {_cell(series.licence or NOT_STATED)} |"
    yield f"| contact | {_cell(series.contact or 'not stated')} |"
    name, *parameters = series.technique
    given = ", ".join(f"{key} = {series.technique[key]}" for key in parameters if series.technique[key] is not None)
    yield f"| technique | {series.technique[name]}{f' ({_cell(given)})' if given else ''} |"
    yield f"| it promises | {_cell(series.promise)} |"


def _size(release: PublicRelease) -> str:
    facts = release.facts
    rows, counterfeits = _number(facts["rows"]), _number(facts["counterfeits"])
    invented = counted(counterfeits, "counterfeit", "counterfeits")
    if release.series.is_decoupled:
        values = _number(facts["values"])
        return f"{counted(rows, 'person', 'people')}, {values:,} values, {invented} among them"
    if not release.is_grouped:
        return counted(rows, "row, which is a person", "rows, each of them a person")
    return f"{counted(rows, 'row', 'rows')}, {invented} among them"


def _row(release: PublicRelease) -> str:
    if release.series.is_decoupled:
        return (
            f"A row of `rows` is one person, with the group that the person belongs to and a box: an interval for each "
            f"quasi-identifier. At least {release.series.k} people share a box in this release, which says nothing "
            f"about several releases together. The sensitive values are apart, in `values`: those of all people in "
            f"the group, and counterfeits. Which value belongs to which person of the group is not published."
        )
    if not release.is_grouped:
        return (
            "A row is one person, with an interval for each quasi-identifier. There are no groups and no counterfeits. "
            "The intervals are so wide that several assignments of rows to people are possible."
        )
    return (
        "A row is a person or a counterfeit. The rows with the same `group_id` share one box, which is an interval for "
        "each quasi-identifier. Which value belongs to which person of the group is not published. A counterfeit is "
        "a row without a person, added to protect the others. Which rows are counterfeits is not published, only how "
        "many each group has."
    )


def _intervals(release: PublicRelease) -> Iterator[str]:
    shown = [column for column in release.series.schema.quasi_identifiers if release.shows(column.name)]
    if not shown:
        yield "This release shows no quasi-identifier."
        return
    text = "An interval contains both ends and every value between them."
    ordered = next((column for column in shown if column.kind is Kind.CATEGORICAL), None)
    if ordered is not None:
        text += (
            " Categories have the order that `datapackage.json` has for the column, under `reanon`, `columns` and "
            "`order`. It is not that of the alphabet."
        )
    if any(column.ends is Ends.GRID for column in shown):
        text += (
            " Intervals begin and end with bins (`bins` in `datapackage.json`). No one need have the value at an end."
        )
    if any(column.missing is Missing.SEPARATE for column in shown):
        text += " Where everyone in the box lacks the value, both ends are empty."
    yield from _wrapped(text)
    if ordered is not None:
        yield from ("", *_fenced(interval_code(release, ordered)))


def _counting(release: PublicRelease) -> Iterator[str]:
    if release.series.is_decoupled:
        text = "A row is a person. Each person has each value of the group with the share that the value has there."
    elif not release.is_grouped:
        text = "A row is a person: count rows."
    else:
        text = "Do not count rows: weight each row by the share of real rows in its group."
    yield from (*_wrapped(text), "", *_fenced(counting_code(release)), "", "The same in R:", "")
    yield from (*_fenced(counting_code_in_r(release), "r"), "")
    yield from _wrapped(
        "For a range, multiply by the part of each interval that lies in it, as if people were spread evenly inside. "
        "Sums over many groups are better than over few."
    )


def _cautions(release: PublicRelease) -> Iterator[str]:
    facts = release.facts
    cautions = []
    if release.is_grouped:
        cautions.append("That a person has the value beside their box. Any value of the group may be theirs.")
    if _number(facts["counterfeits"]):
        cautions.append("That a value occurs as often as its rows do. Most rows of a rare value may be counterfeits.")
    cautions.append(
        "That two rows of different releases which look alike are the same person. They may be, or may not."
    )
    if _number(facts["withheld"]):
        cautions.append("That a person who fits no row was not in the table. Withheld people are in no row.")
        cautions.append(
            "That withheld people have the values of the others. A value may be withheld for being frequent."
        )
    if _number(facts["dirty"]):
        people = counted(_number(facts["dirty"]), "row is a person", "rows are people")
        cautions.append(f"That all rows were selected. {people} whom the release did not select.")
    cautions.append("That people of one group belong together. They have similar quasi-identifiers and nothing else.")
    for caution in cautions if release.is_grouped else cautions[:-1]:
        yield from textwrap.wrap(caution, WIDTH, initial_indent="- ", subsequent_indent="  ")


def _number(fact: Any) -> int:
    return int(fact)


def _fenced(code: str, language: str = "python") -> tuple[str, ...]:
    return (f"```{language}", *code.splitlines(), "```")


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _cell(text: str) -> str:
    """A text inside a table of Markdown."""
    return " ".join(text.split()).replace("|", "\\|")


def _text(lines: Iterator[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode()
