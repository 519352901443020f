"""Expectations, evaluated by Great Expectations on the raw table. Of its results only aggregates are kept.

The table becomes a pandas frame without reanon's own coding, so that a fault there can be seen.
"""

import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from html import escape
from typing import TYPE_CHECKING, Any

from reanon_core.model.errors import InvalidSchema, Problem, require
from reanon_core.model.schema import Kind
from reanon_dagster.series.expectations import CRITICAL, Expectation
from reanon_dagster.series.series import Series

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

NUMBER = "number"
"""The key under which a result has the number of its expectation."""
FEWEST = 10
"""The least number of values of which a mean, a deviation or a sum is shown."""
_MOMENTS = re.compile("expect_column_(mean|stdev|sum)_to")
_SHOWN = re.compile("expect_column_(mean|stdev|sum|unique_value_count|proportion_of_.*)_to|expect_table_.*_count_to")
_COUNTS = ("element_count", "unexpected_count", "unexpected_percent", "missing_count", "missing_percent")
SPARK = ("pyspark", "pyspark.sql.connect")
_NOT_EVALUATED = "could not be evaluated on this table"


def failed_expectations(
    frame: "pd.DataFrame", expectations: Sequence[Expectation]
) -> Iterator[tuple[Expectation, str]]:
    """The expectations that a frame fails, each with a sentence that has its figure and no value of the data.

    Raises: InvalidSchema with every problem of the expectations at once.
    """
    require(expectation_problems(expectations, list(frame.columns)), InvalidSchema)
    for found in evaluate("expectations", frame, expectations).results:
        one = expectations[found.expectation_config.meta[NUMBER]]
        if not found.success:
            of = f" of {one.arguments['column']}" if "column" in one.arguments else ""
            yield one, f"{one.type}{of} {_figure(found)}"


def expectation_problems(expectations: Sequence[Expectation], columns: Sequence[str] = ()) -> list[Problem]:
    """What is wrong with the types and arguments of expectations, and with their columns if those are known."""
    return [problem for one in expectations for problem in (*_column_problems(one, columns), *_problems(one))]


def evaluate(name: str, frame: "pd.DataFrame", expectations: Sequence[Expectation]) -> Any:
    """The results of a suite on a frame, in the order of the expectations, without any value of the data."""
    load_great_expectations()
    import great_expectations as gx
    from great_expectations.data_context.types import base

    settings = base.DataContextConfig(
        store_backend_defaults=base.InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
        analytics_enabled=False,
        progress_bars=base.ProgressBarsConfig(globally=False),
    )
    context = gx.get_context(mode="ephemeral", project_config=settings)
    built = [_built(one, frame, number) for number, one in enumerate(expectations)]
    suite = gx.ExpectationSuite(name=name, expectations=built)
    asset = context.data_sources.add_pandas("reanon").add_dataframe_asset(name)
    batch = asset.add_batch_definition_whole_dataframe(name).get_batch({"dataframe": frame})
    with warnings.catch_warnings(action="ignore"):  # pandas remarks on types and regular expressions
        found: Any = batch.validate(suite, result_format={"result_format": "BASIC", "partial_unexpected_count": 0})
    first = {one.expectation_config.meta[NUMBER]: one for one in reversed(found.results)}  # errors may come twice
    found.results = [first[number] for number in sorted(first)]
    for one in found.results:
        _keep_aggregates(one, frame)
    found.success = all(one.success for one in found.results if one.expectation_config.severity == CRITICAL)
    found.meta = {"great_expectations_version": gx.__version__}  # the rest has a digest of the frame
    return found


def _keep_aggregates(found: Any, frame: "pd.DataFrame") -> None:
    """Drop examples, extreme values and the texts of errors: all of them may show a person's value."""
    given, kind, observed = found.expectation_config.kwargs, found.expectation_config.type, found.result
    details = found.exception_info if "raised_exception" not in found.exception_info else {"": found.exception_info}
    raised = any(one["raised_exception"] for one in details.values())
    message = _NOT_EVALUATED if raised else None
    found.exception_info = {"raised_exception": raised, "exception_message": message, "exception_traceback": message}
    found.result = {key: observed[key] for key in _COUNTS if key in observed}
    few = _MOMENTS.match(kind) and ("row_condition" in given or frame[given["column"]].count() < FEWEST)
    if _SHOWN.match(kind) and not few and not raised:
        found.result["observed_value"] = float(observed["observed_value"])


def _figure(found: Any) -> str:
    result, share = found.result, found.result.get("unexpected_percent") or 0
    if found.exception_info["raised_exception"]:
        return _NOT_EVALUATED
    if "element_count" in result:
        return f"fails in {result['unexpected_count']:,} of {result['element_count']:,} rows ({share:.3g} %)"
    return f"fails: it is {result['observed_value']:,.6g}" if "observed_value" in result else "fails"


def _built(one: Expectation, frame: "pd.DataFrame | None" = None, number: int = 0) -> Any:
    """The expectation as an object of Great Expectations."""
    load_great_expectations()
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration as Configuration

    column = one.arguments.get("column")
    text = frame is not None and column in frame and frame[column].dtype == object
    written = {key: value for key, value in one.written.items() if text and key == "value_set"}
    said = escape(one.description or "") or None  # it is shown as it is
    more: dict[str, Any] = {"meta": {NUMBER: number}, "description": said, "severity": one.severity}
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # in older suites
        return Configuration(type=one.type, kwargs={**one.arguments, **written}, **more).to_domain_obj()


def _column_problems(one: Expectation, columns: Sequence[str]) -> Iterator[Problem]:
    named = [one.arguments.get(key) for key in ("column", "column_A", "column_B")]
    for name in (*named, *(one.arguments.get("column_list") or ())):
        if columns and name is not None and name not in columns and one.type != "expect_column_to_exist":
            yield Problem(f"{one.where}: column", "be in the snapshot", str(name), _close(str(name), columns))


def _problems(one: Expectation) -> Iterator[Problem]:
    load_great_expectations()
    from great_expectations.exceptions.exceptions import ExpectationNotFoundError
    from great_expectations.expectations.registry import list_registered_expectation_implementations

    try:
        re.compile(str(one.arguments.get("regex", "")))
        _built(one)
    except ExpectationNotFoundError:
        advice = _close(one.type, list_registered_expectation_implementations())
        yield Problem(f"{one.where}: type", "be one that Great Expectations has", one.type, advice)
    except Exception as error:
        details = error.errors() if hasattr(error, "errors") else [{"loc": ("",), "msg": str(error)}]
        for name, said in reversed({str(detail["loc"][0]): detail["msg"] for detail in reversed(details)}.items()):
            yield Problem(f"{one.where}: {name}".rstrip(": "), f"fit {one.type}: {said}")


def _close(name: str, known: Sequence[str]) -> str | None:
    return next((f"did you mean {close}?" for close in get_close_matches(name, known, n=1)), None)


def load_great_expectations() -> None:
    """Import Great Expectations with its telemetry off, and without Spark, which it would load if it is installed.

    Spark's own module ends a process that has no main file, such as a child of a Dagster run, in silence.
    """
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    if "great_expectations" in sys.modules:
        return
    with _without(*SPARK), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"module 'sre_\w+' is deprecated", DeprecationWarning)
        import great_expectations  # noqa: F401


@contextmanager
def _without(*modules: str) -> Iterator[None]:
    """Inside, these modules cannot be imported."""
    loaded = {name: sys.modules[name] for name in modules if name in sys.modules}
    sys.modules.update(dict.fromkeys(modules))  # type: ignore[arg-type]  # None is how an import is forbidden
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]
        sys.modules.update(loaded)


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
