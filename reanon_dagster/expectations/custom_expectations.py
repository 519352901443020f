"""The custom expectations. They are built on first use, because that loads Great Expectations."""

import os
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from reanon_dagster.expectations.frame_rules import Answer, answer_from_rows, answer_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from great_expectations.expectations.expectation import BatchExpectation

LINE_METRIC = "reanon.line"
ROWS_METRIC = "reanon.published_rows"


def load_great_expectations() -> None:
    """Import Great Expectations with its telemetry off."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"module 'sre_\w+' is deprecated", DeprecationWarning)
        import great_expectations  # noqa: F401


def answer_text(answer: Answer) -> str:
    """An answer as a person reads it."""
    violations, limit = answer["violations"], answer["limit"]
    if limit:
        first = f"{violations:,} (at most {limit:,})"
    else:
        first = "no violations" if violations == 0 else f"{violations:,} violation{'' if violations == 1 else 's'}"
    # Checks count many kinds of violation: zeros would hide the numbers that matter.
    numbers = (f"{name} {_number(number)}" for name, number in answer["observed"].items() if number)
    return "; ".join([first, *numbers])


def _number(number: float) -> str:
    return f"{number:,.4g}" if number % 1 else f"{int(number):,}"


@cache
def rule_expectation() -> "Callable[..., BatchExpectation]":
    """The expectation that one line of a results frame succeeds."""
    keys = ("line",)
    _register_metric(LINE_METRIC, keys, answer_in)

    class ExpectRuleToHold(_answer_expectation()):  # type: ignore[misc]  # made at run time
        """An already judged rule holds, with no more violations than its limit."""

        line: int
        column: str | None = None
        metric_dependencies: ClassVar[tuple[str, ...]] = (LINE_METRIC,)
        success_keys: ClassVar[tuple[str, ...]] = keys

    return ExpectRuleToHold


@cache
def rows_expectation() -> "Callable[..., BatchExpectation]":
    """The expectation that the published rows alone satisfy a check."""
    keys = ("check", "parameters", "groups", "values")
    _register_metric(ROWS_METRIC, keys, answer_from_rows)

    class ExpectPublishedRowsToSatisfy(_answer_expectation()):  # type: ignore[misc]  # made at run time
        """The published rows satisfy a check of the core, given by its name and parameters."""

        check: str
        parameters: dict[str, Any]
        groups: int
        values: int
        metric_dependencies: ClassVar[tuple[str, ...]] = (ROWS_METRIC,)
        success_keys: ClassVar[tuple[str, ...]] = keys

    return ExpectPublishedRowsToSatisfy


@cache
def _answer_expectation() -> "type[BatchExpectation]":
    """The expectation that returns the answer of its only metric and shows the rule's name, sentence and counts."""
    load_great_expectations()
    from great_expectations.expectations.expectation import BatchExpectation
    from great_expectations.render.components import LegacyRendererType, RenderedStringTemplateContent
    from great_expectations.render.renderer.renderer import renderer

    class ExpectAnswerToSucceed(BatchExpectation):
        """A rule with its name and sentence."""

        name: str
        sentence: str

        def _validate(self, metrics: dict[str, Any], *_: object, **__: object) -> dict[str, Any]:
            answer: Answer = metrics[self.metric_dependencies[0]]
            return {"success": answer["success"], "result": {"observed_value": answer}}

        @classmethod
        @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)
        def _prescriptive_renderer(
            cls, configuration: Any = None, *_: object, **__: object
        ) -> list[RenderedStringTemplateContent]:
            return [RenderedStringTemplateContent(string_template=_template(configuration.kwargs))]

        @classmethod
        def _get_observed_value_from_evr(cls, result: Any) -> str:
            answer = result.result.get("observed_value") if result else None
            return answer_text(answer) if answer else "--"

    return ExpectAnswerToSucceed


def _template(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {
        "template": "$name $sentence",
        "params": {"name": kwargs["name"], "sentence": kwargs["sentence"]},
        "styling": {"params": {"name": {"classes": ["badge"]}}},
    }


def _register_metric(name: str, keys: tuple[str, ...], answer: "Callable[..., Answer]") -> None:
    """Register a metric that calls `answer` with a frame and the values of these keys."""
    load_great_expectations()
    from great_expectations.execution_engine.pandas_execution_engine import PandasExecutionEngine
    from great_expectations.expectations.metrics.metric_provider import metric_value
    from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

    class AnswerMetric(TableMetricProvider):
        metric_name = name
        value_keys = keys

        @metric_value(engine=PandasExecutionEngine)
        def _pandas(cls, execution_engine: Any, **given: Any) -> Answer:  # noqa: N805  the library passes the class
            frame = execution_engine.get_domain_records(given["metric_domain_kwargs"])
            return answer(frame, **given["metric_value_kwargs"])
