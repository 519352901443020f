"""What `reanon init` writes is sound and publishes."""

import numpy as np
import pytest

from reanon_core.model.errors import InvalidParameter
from reanon_core.publishing import publish
from reanon_dagster.series.series_file import load_series
from reanon_dagster.series.template import example_files, write_example
from reanon_dagster.sources.snapshot_reader import read_snapshot


@pytest.fixture
def series(tmp_path):
    write_example(tmp_path)
    return load_series(tmp_path)


def test_the_example_publishes_two_releases_with_inserts_and_deletes(series):
    key, values = bytes(range(16)), ()
    state = series.technique.initial_state()
    rng = np.random.default_rng(1)
    people = []
    for release in ("2024-Q1", "2024-Q2"):
        read = read_snapshot(series, release, key, values)
        publication = publish(series.technique, read.snapshot, state, rng)
        assert not publication.withheld
        assert publication.release.size == read.rows + publication.auxiliary.total
        state, values = publication.state, read.snapshot.schema.sensitive.values
        people.append(set(read.snapshot.persons.tolist()))
    assert people[0] - people[1]
    assert people[1] - people[0]


def test_the_example_is_explained_line_by_line(series):
    text = example_files()["series.yaml"]
    assert sum(line.lstrip().startswith("#") for line in text.splitlines()) >= 10


def test_an_example_never_overwrites_a_file(tmp_path):
    (tmp_path / "series.yaml").write_text("mine")
    with pytest.raises(InvalidParameter, match=r"series\.yaml\) must not exist yet; choose an empty folder"):
        write_example(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["series.yaml"]
