"""The custom expectations. They are made when first asked for, because Great Expectations is loaded for them."""

import os
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from reanon_dagster.expectations.judging import Answer, answer_from_rows, answer_in

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import BatchExpectation

LINE_METRIC = "reanon.line"
ROWS_METRIC = "reanon.published_rows"


def load_great_expectations() -> None:
    """Import Great Expectations with everything off that could speak to others."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    import great_expectations  # noqa: F401


def spoken(answer: Answer) -> str:
    """An answer as a person reads it."""
    violations, limit = answer["violations"], answer["limit"]
    if limit:
        first = f"{violations:,} (at most {limit:,})"
    else:
        first = "no violations" if violations == 0 else f"{violations:,} violation{'' if violations == 1 else 's'}"
    numbers = (f"{name} {number:,.4g}" if number % 1 else f"{name} {int(number):,}" for name, number in _shown(answer))
    return "; ".join([first, *numbers])


def _shown(answer: Answer) -> list[tuple[str, float]]:
    return list(answer["observed"].items())


@cache
def rule_expectation() -> "type[BatchExpectation]":
    """The expectation that one line of a frame of results succeeds."""
    _register_line_metric()

    class ExpectRuleToHold(_speaking()):  # type: ignore[misc]  # made at run time
        """A rule that was judged before holds, with no more violations than its limit."""

        line: int
        column: str | None = None
        metric_dependencies: ClassVar[tuple[str, ...]] = (LINE_METRIC,)
        success_keys: ClassVar[tuple[str, ...]] = ("line",)

    return ExpectRuleToHold


@cache
def rows_expectation() -> "type[BatchExpectation]":
    """The expectation that the published rows satisfy a check, judged from them alone."""
    _register_rows_metric()

    class ExpectPublishedRowsToSatisfy(_speaking()):  # type: ignore[misc]  # made at run time
        """The published rows satisfy a check of the core, by its name and parameters."""

        check: str
        parameters: dict[str, Any]
        groups: int
        values: int
        metric_dependencies: ClassVar[tuple[str, ...]] = (ROWS_METRIC,)
        success_keys: ClassVar[tuple[str, ...]] = ("check", "parameters", "groups", "values")

    return ExpectPublishedRowsToSatisfy


@cache
def _speaking() -> "type[BatchExpectation]":
    """The expectation that takes the answer of its one metric, and shows the rule's name, its sentence and counts."""
    load_great_expectations()
    from great_expectations.expectations.expectation import BatchExpectation
    from great_expectations.render import LegacyRendererType, RenderedStringTemplateContent
    from great_expectations.render.renderer.renderer import renderer

    class ExpectAnswerToBeYes(BatchExpectation):
        """A rule by its name and sentence."""

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
            return spoken(answer) if answer else "--"

    return ExpectAnswerToBeYes


def _template(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {
        "template": "$name $sentence",
        "params": {"name": kwargs["name"], "sentence": kwargs["sentence"]},
        "styling": {"params": {"name": {"classes": ["badge"]}}},
    }


def _register_line_metric() -> None:
    load_great_expectations()
    from great_expectations.execution_engine import PandasExecutionEngine
    from great_expectations.expectations.metrics.metric_provider import metric_value
    from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

    class Line(TableMetricProvider):
        metric_name = LINE_METRIC
        value_keys = ("line",)

        @metric_value(engine=PandasExecutionEngine)
        def _pandas(cls, execution_engine: Any, metric_domain_kwargs: Any, metric_value_kwargs: Any, **_: Any) -> Answer:  # noqa: N805
            frame = execution_engine.get_domain_records(metric_domain_kwargs)
            return answer_in(frame, metric_value_kwargs["line"])


def _register_rows_metric() -> None:
    load_great_expectations()
    from great_expectations.execution_engine import PandasExecutionEngine
    from great_expectations.expectations.metrics.metric_provider import metric_value
    from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

    class PublishedRows(TableMetricProvider):
        metric_name = ROWS_METRIC
        value_keys = ("check", "parameters", "groups", "values")

        @metric_value(engine=PandasExecutionEngine)
        def _pandas(cls, execution_engine: Any, metric_domain_kwargs: Any, metric_value_kwargs: Any, **_: Any) -> Answer:  # noqa: N805
            frame = execution_engine.get_domain_records(metric_domain_kwargs)
            return answer_from_rows(frame, **metric_value_kwargs)
