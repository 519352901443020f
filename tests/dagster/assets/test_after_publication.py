"""What goes wrong after a release is published does not fail its run."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from builders.assets import Maker
from builders.series import lively, releases_in, write_series

from reanon_core.model.errors import Refused
from reanon_dagster.assets import release
from reanon_dagster.assets.described import data_version, known_version
from reanon_dagster.releasing.series_view import SeriesView
from reanon_dagster.series.series_file import load_series


def test_a_store_that_is_closed_just_after_the_commit_leaves_a_published_release_undescribed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_series(tmp_path, snapshots=lively(1, 60))
    read, reads = release.read_view, []

    def closed_after_the_first(*arguments: Any, **options: Any) -> SeriesView:
        reads.append(arguments)
        if len(reads) == 2:
            raise Refused("the private store store.duckdb cannot be opened: permission denied")
        return read(*arguments, **options)

    monkeypatch.setattr(release, "read_view", closed_after_the_first)
    with dg.DagsterInstance.ephemeral() as instance:
        maker = Maker(path, instance)
        assert maker.make("r1").success
        assert "dagster/row_count" not in maker.metadata("release")
        (record,) = read(load_series(path)).records
        assert known_version(instance, maker.key("release"), "r1") != data_version(record)  # so the ledger job notices
    assert len(reads) == 2
    assert releases_in(tmp_path / "published" / "clinic") == ["r1"]
