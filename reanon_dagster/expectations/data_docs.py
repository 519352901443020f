"""Data Docs: the suites run by Great Expectations, and pages that keep every run of every release."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reanon_dagster.expectations.custom_expectations import load_great_expectations, rows_expectation, rule_expectation
from reanon_dagster.expectations.frame_rules import NOT_JUDGED, Answer, parameters_of, results_frame, rows_frame
from reanon_dagster.expectations.suites import Result, Rows, Suite

if TYPE_CHECKING:
    import pandas as pd
    from great_expectations.core.run_identifier import RunIdentifier
    from great_expectations.data_context.data_context.abstract_data_context import AbstractDataContext
    from great_expectations.data_context.types.base import DataContextConfig
    from great_expectations.expectations.expectation import BatchExpectation

FOLDER = "data_docs"
"""The folder of the Data Docs, inside the private folder of a series."""
ROWS = "published-rows"
LISTED = 600
"""How many runs the index lists, the latest first: writing it reads each of them again."""
_INDEX = "index.html"
_VIEW = {"module_name": "reanon_dagster.expectations.pages", "class_name": "PlainPage"}


@dataclass(frozen=True, eq=False)
class DataDocs:
    """The pages that were written, and the results of Great Expectations."""

    index: Path
    answers: tuple[Suite, ...]
    """One suite for each suite that was run, and one more for the published rows of a release."""


@dataclass(frozen=True, eq=False)
class _Batch:
    """A frame with its expectations."""

    name: str
    release: str
    frame: "pd.DataFrame"
    expectations: "list[BatchExpectation]"


def write_data_docs(folder: Path, title: str, suites: Sequence[Suite]) -> DataDocs:
    """Run the suites, add their results to those in the folder, and write the pages.

    Nothing leaves the machine, and nothing but aggregates reaches the disk; only the owner may read it.
    """
    load_great_expectations()
    batches = [batch for suite in suites for batch in _batches(suite)]
    with _owner_only(folder):
        context = _context(folder.resolve(), title)
        validated = [_validated(context, batch) for batch in batches]
        context.build_data_docs(resource_identifiers=[key for _, keys in validated for key in keys])
        shutil.rmtree(folder / "static", ignore_errors=True)  # pictures and fonts that these pages do not use
    return DataDocs(folder / _INDEX, tuple(suite for suite, _ in validated))


def _batches(suite: Suite) -> Iterator[_Batch]:
    rule = rule_expectation()
    expected = [
        rule(
            line=line,
            name=result.name,
            sentence=result.sentence,
            severity="critical" if result.required else "warning",
            **({} if result.column is None else {"column": result.column}),
        )
        for line, result in enumerate(suite.results)
    ]
    yield _Batch(suite.name, suite.release, results_frame(suite.results), expected)
    if suite.rows is not None and suite.rows.checks:
        yield _Batch(ROWS, suite.release, rows_frame(suite.rows), _rows_expectations(suite.rows))


def _rows_expectations(rows: Rows) -> "list[BatchExpectation]":
    expectation = rows_expectation()
    return [
        expectation(
            name=check.name,
            sentence=sentence,
            check=check.name,
            parameters=parameters_of(check),
            groups=rows.groups,
            values=rows.values,
        )
        for check, sentence in zip(rows.checks, rows.sentences, strict=True)
    ]


def _validated(context: "AbstractDataContext", batch: _Batch) -> tuple[Suite, list[Any]]:
    """Run one checkpoint and return its results as a suite, with the keys of the pages to write."""
    import great_expectations as gx
    from great_expectations.data_context.types.resource_identifiers import ExpectationSuiteIdentifier

    asset = context.data_sources.add_or_update_pandas("reanon").add_dataframe_asset(batch.name)
    data = asset.add_batch_definition_whole_dataframe(batch.release)
    expected = context.suites.add_or_update(gx.ExpectationSuite(name=batch.name, expectations=batch.expectations))
    validation = context.validation_definitions.add(gx.ValidationDefinition(name=batch.name, data=data, suite=expected))
    checkpoint = context.checkpoints.add(gx.Checkpoint(name=batch.name, validation_definitions=[validation]))
    run = checkpoint.run({"dataframe": batch.frame}, run_id=_run_of(batch.release))
    (key, found), *_ = run.run_results.items()
    results = tuple(_result(one) for one in found.results)
    return Suite(batch.name, batch.release, results), [key, ExpectationSuiteIdentifier(batch.name)]


def _run_of(release: str) -> "RunIdentifier":
    """The run of a release, now. Without a time Great Expectations would read one from a name such as 2018."""
    from great_expectations.core.run_identifier import RunIdentifier

    return RunIdentifier(run_name=release, run_time=datetime.now(tz=UTC))


def _result(found: Any) -> Result:
    parameters = found.expectation_config.kwargs
    answer: Answer = found.result.get("observed_value", NOT_JUDGED)
    return Result(
        name=parameters["name"],
        success=bool(found.success),
        sentence=parameters["sentence"],
        observed=answer["observed"],
        violations=answer["violations"],
        limit=answer["limit"],
        column=parameters.get("column"),
        required=found.expectation_config.severity == "critical",
    )


def _context(folder: Path, title: str) -> "AbstractDataContext":
    import great_expectations as gx

    return gx.get_context(mode="ephemeral", project_config=_config(folder, title))


def _config(folder: Path, title: str) -> "DataContextConfig":
    """Suites, results and pages are files; what only a run needs stays in memory."""
    from great_expectations.data_context.types.base import DataContextConfig, ProgressBarsConfig

    memory = {"class_name": "InMemoryStoreBackend"}
    stores = {
        "suites": {"class_name": "ExpectationsStore", "store_backend": _files(folder / "suites")},
        "results": {"class_name": "ValidationResultsStore", "store_backend": _files(folder / "results")},
        "checkpoints": {"class_name": "CheckpointStore", "store_backend": memory},
        "validation_definition_store": {"class_name": "ValidationDefinitionStore", "store_backend": memory},
    }
    return DataContextConfig(
        stores=stores,
        expectations_store_name="suites",
        validation_results_store_name="results",
        checkpoint_store_name="checkpoints",
        data_docs_sites={title: _site(folder)},
        analytics_enabled=False,
        progress_bars=ProgressBarsConfig(globally=False),
    )


def _site(folder: Path) -> dict[str, Any]:
    return {
        "class_name": "SiteBuilder",
        "show_how_to_buttons": False,
        "store_backend": _files(folder),
        "site_index_builder": {
            "class_name": "DefaultSiteIndexBuilder",
            "view": _VIEW,
            "validation_results_limit": LISTED,
        },
        "site_section_builders": {"expectations": {"view": _VIEW}, "validations": {"view": _VIEW}, "profiling": "None"},
    }


def _files(folder: Path) -> dict[str, Any]:
    # Great Expectations would take a dollar sign in a path for a variable.
    return {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(folder).replace("$", r"\$")}


@contextmanager
def _owner_only(folder: Path) -> Iterator[None]:
    """Whatever is written meanwhile can be read only by its owner."""
    mask = os.umask(0o077)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        yield
    finally:
        os.umask(mask)
