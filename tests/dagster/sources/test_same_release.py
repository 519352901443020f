"""Every kind of source gives the release that the csv files of the same people give, byte for byte."""

from pathlib import Path

import pytest
from builders.long_lists import sampled
from builders.source_kinds import CSV, EXTRA_KINDS, KINDS, RELEASES, publish

EVERY_RUN = ("gzip", "a partitioned folder", "a folder of Spark", "changes alone")
EXTRA_IN_EVERY_RUN = ("Excel", "Stata")


@pytest.fixture(scope="module")
def from_csv(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    tables = publish(tmp_path_factory.mktemp("csv") / "series", CSV)
    assert {f"{release}/table.csv" for release in RELEASES} <= set(tables)
    return tables


@pytest.mark.parametrize("name", sampled(KINDS, EVERY_RUN))
def test_a_source_gives_the_release_of_the_csv_files(name: str, from_csv: dict[str, bytes], tmp_path: Path) -> None:
    assert publish(tmp_path / "series", KINDS[name]) == from_csv


@pytest.mark.parametrize("name", sampled(EXTRA_KINDS, EXTRA_IN_EVERY_RUN))
def test_a_source_of_an_extra_gives_it_too(name: str, from_csv: dict[str, bytes], tmp_path: Path) -> None:
    package, kind = EXTRA_KINDS[name]
    pytest.importorskip(package, reason=f"{name} needs {package}")
    assert publish(tmp_path / "series", kind) == from_csv
