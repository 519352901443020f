"""Code for the README of a release: how to count, and which values an interval has. It needs nothing of reanon."""

import json

from reanon_core.model.published_columns import GROUP_ID, interval_names
from reanon_core.model.schema import Missing, QuasiIdentifier
from reanon_dagster.documents.public_release import PublicRelease


def counting_code(release: PublicRelease) -> str:
    """How many people have each sensitive value; how many people there are, if the release does not show the values."""
    sensitive = release.series.schema.sensitive.name
    if release.series.is_decoupled:
        return "\n".join(
            (
                "import pandas as pd",
                "",
                f"rows, values = {_read(release, 'rows')}, {_read(release, 'values')}",
                f'people = rows["{GROUP_ID}"].value_counts()',
                f'share = values["count"] / values.groupby("{GROUP_ID}")["count"].transform("sum")',
                f'estimate = (share * values["{GROUP_ID}"].map(people)).groupby(values[{_quoted(sensitive)}]).sum()',
            )
        )
    if not release.is_grouped:
        counted = f"table[{_quoted(sensitive)}].value_counts()" if release.shows(sensitive) else "len(table)"
        return "\n".join(
            ("import pandas as pd", "", f"table = {_read(release, 'table')}", f"estimate = {counted}"),
        )
    return "\n".join(
        (
            "import pandas as pd",
            "",
            f"table, counterfeits = {_read(release, 'table')}, {_read(release, 'counterfeits')}",
            f'rows = table["{GROUP_ID}"].map(table["{GROUP_ID}"].value_counts())  # in the group',
            f'fake = table["{GROUP_ID}"].map(counterfeits.set_index("{GROUP_ID}")["count"]).fillna(0)',
            f"estimate = (1 - fake / rows).groupby(table[{_quoted(sensitive)}]).sum()",
        )
    )


def interval_code(release: PublicRelease, column: QuasiIdentifier) -> str:
    """The values of the first interval of a categorical column."""
    ends = interval_names(column.name)
    known = f".dropna(subset=[{_quoted(ends.least)}])" if column.missing is Missing.SEPARATE else ""
    table = _read(release, "rows" if release.series.is_decoupled else "table", as_text=True)
    return "\n".join(
        (
            "import json",
            "",
            "import pandas as pd",
            "",
            'with open("datapackage.json", encoding="utf-8") as file:',
            f'    order = json.load(file)["reanon"]["columns"][{_quoted(column.name)}]["order"]',
            f"row = {table}{known}.iloc[0]",
            f"first, last = order.index(row[{_quoted(ends.least)}]), order.index(row[{_quoted(ends.greatest)}])",
            "interval = order[first : last + 1]",
        )
    )


def _read(release: PublicRelease, table: str, *, as_text: bool = False) -> str:
    form = release.formats[0]
    sensitive = release.series.schema.sensitive.name
    has_values = release.shows(sensitive) and table == ("values" if release.series.is_decoupled else "table")
    # Without its type a value such as 007 would be read as a number.
    types = ", dtype=str" if as_text else f", dtype={{{_quoted(sensitive)}: str}}" if has_values else ""
    more = f'{types}, keep_default_na=False, na_values=[""]' if form == "csv" else ""
    return f'pd.read_{form}("{table}.{form}"{more})'


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def counting_code_in_r(release: PublicRelease) -> str:
    """The same as `counting_code` for R; it needs the package arrow only where there are no csv files."""
    sensitive = _quoted(release.series.schema.sensitive.name)
    if release.series.is_decoupled:
        return "\n".join(
            (
                f"rows <- {_read_in_r(release, 'rows')}",
                f"values <- {_read_in_r(release, 'values')}",
                f"people <- table(rows${GROUP_ID})[as.character(values${GROUP_ID})]",
                "people[is.na(people)] <- 0",
                f"share <- values$count / ave(values$count, values${GROUP_ID}, FUN = sum)",
                f"estimate <- tapply(share * as.numeric(people), values[[{sensitive}]], sum)",
            )
        )
    lines = [f"rows <- {_read_in_r(release, 'table')}"]
    if not release.is_grouped:
        shown = release.shows(release.series.schema.sensitive.name)
        return "\n".join((*lines, f"estimate <- {f'table(rows[[{sensitive}]])' if shown else 'nrow(rows)'}"))
    return "\n".join(
        (
            *lines,
            f"counterfeits <- {_read_in_r(release, 'counterfeits')}",
            f"size <- ave(rows${GROUP_ID}, rows${GROUP_ID}, FUN = length)  # rows in the group",
            f"fake <- counterfeits$count[match(rows${GROUP_ID}, counterfeits${GROUP_ID})]",
            "fake[is.na(fake)] <- 0",
            f"estimate <- tapply(1 - fake / size, rows[[{sensitive}]], sum)",
        )
    )


def _read_in_r(release: PublicRelease, table: str) -> str:
    if "csv" not in release.formats:
        return f'arrow::read_parquet("{table}.parquet")'
    sensitive = release.series.schema.sensitive.name
    shown = release.shows(sensitive) and table == ("values" if release.series.is_decoupled else "table")
    # Without its type a value such as 007 would be read as a number.
    types = f', colClasses = c({_quoted(sensitive)} = "character")' if shown else ""
    return f'read.csv("{table}.csv", check.names = FALSE, na.strings = "", encoding = "UTF-8"{types})'
