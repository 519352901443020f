"""Series files that would stall or break a reader: each is refused quickly with a sentence."""

import time
from pathlib import Path

import pytest

from reanon_core.model.errors import InvalidSchema
from reanon_dagster.series.series_file import LARGEST, read_yaml

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (BOMB, "more than 20,000 values"),
        ("a: " + "[" * 5_000 + "]" * 5_000, "more than 40 deep"),
        ("a: " + "{b: " * 5_000 + "1" + "}" * 5_000, "more than 40 deep"),
        ("a: &a [*a]", "refers to what it is part of"),
        ("? [1, 2]\n: x", "a key is not text"),
        ("? {b: 1}\n: x", "a key is not text"),
        ("null: x", "a key is not text"),
        ("~: x", "a key is not text"),
        ("a: " + "x" * LARGEST, "at most 1,048,576 bytes"),
        ("a: 1\n---\nb: 2", "valid YAML"),
        ("- a", "contain keys with values"),
        ("", "contain keys with values"),
        ("!!python/object/apply:os.getcwd []", "valid YAML"),
        ("<<: 3", "valid YAML"),
    ],
)
def test_a_hostile_file_is_refused_in_a_moment(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "series.yaml"
    path.write_text(text)
    began = time.process_time()
    with pytest.raises(InvalidSchema) as refused:
        read_yaml(path)
    assert time.process_time() - began < 2
    assert told in str(refused.value)


def test_aliases_and_merges_stay_possible(tmp_path: Path) -> None:
    path = tmp_path / "series.yaml"
    path.write_text("a: &a {x: 1}\nb: {<<: *a, y: 2}\nc: *a\n")
    assert read_yaml(path) == {"a": {"x": "1"}, "b": {"x": "1", "y": "2"}, "c": {"x": "1"}}
