"""A snapshot as a pandas frame, converted without reanon's own coding, so that a fault there can be seen."""

from typing import TYPE_CHECKING, Any

from reanon_core.model.schema import Kind
from reanon_dagster.series.series import Series

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_DAY = r"^\s*(\d{4}-\d\d-\d\d)(?:[T ]00:00(?::00(?:\.0+)?)?(?:Z|[+-]\d{4})?)?\s*$"


def raw_frame(table: "pa.Table", series: Series) -> "pd.DataFrame":
    """The table with numbers and dates where the series has them, and text in its other columns.

    What is no number or no date stays text. A column that the series does not name is numbers if every value is one.
    """
    import pandas as pd

    schema = series.schema
    kinds: dict[str, Kind] = dict.fromkeys((series.config.source.id, *schema.columns), Kind.CATEGORICAL)
    kinds |= {column.name: column.kind for column in schema.quasi_identifiers}
    return pd.DataFrame({name: _column(table[name], kinds.get(name)) for name in table.column_names})


def _column(values: "pa.ChunkedArray", kind: Kind | None) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    try:
        texts = compute.utf8_normalize(values.cast(pa.string()), form="NFC").to_pandas().astype(object)
    except pa.ArrowException:  # a list, or a structure
        return values.to_pandas()
    texts = texts.where(~texts.isin(["", "nan"] if pa.types.is_floating(values.type) else [""]), None)
    if kind is Kind.DATE:
        return _dates(texts)
    if kind is Kind.CATEGORICAL or (kind is None and texts.str.match(r"0\d").any()):  # 007 is no number
        return texts
    numbers = _numbers(texts)
    return texts if kind is None and numbers.dtype == object else numbers


def _numbers(texts: Any) -> Any:
    """Numbers, as whole ones if all are. If some texts are no numbers, they stay among the others."""
    import numpy as np
    import pandas as pd

    numbers = pd.to_numeric(texts, errors="coerce").astype("float64").replace([np.inf, -np.inf], np.nan)
    wrong = numbers.isna() & texts.notna() & (texts.str.strip() != "")
    if wrong.any():
        return numbers.astype(object).where(~wrong, texts)
    whole = (numbers.dropna() % 1 == 0).all()
    return numbers.astype("Int64" if numbers.hasnans else "int64") if whole else numbers


def _dates(texts: Any) -> Any:
    """Days. A text that is no ISO day, or has a time of day, stays among them."""
    import pandas as pd

    found = pd.to_datetime(texts.str.extract(_DAY, expand=False), format="%Y-%m-%d", errors="coerce")
    return found.dt.date.astype(object).where(found.notna(), texts)
