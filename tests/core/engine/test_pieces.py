"""Pieces reach the part that they are for, in the order in which they were written."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reanon_core.engine.pieces import read_pieces, write_pieces

PARTS = 4


@given(st.lists(st.lists(st.integers(-1, PARTS - 1), max_size=12), min_size=1, max_size=4), st.uuids())
def test_each_part_gets_its_rows_in_order(tmp_path_factory, tasks: list[list[int]], name: object) -> None:
    folder: Path = tmp_path_factory.getbasetemp()
    written, sent, number = [], [], 0
    for task, parts in enumerate(tasks):
        words = np.arange(number, number + len(parts), dtype=np.uint64)
        number += len(parts)
        sent += list(zip(parts, words.tolist(), strict=True))
        rows = {"word": words, "small": words.astype(np.int8)}
        written.append(write_pieces(str(folder / f"{name}-{task}"), np.array(parts, np.int32), PARTS, rows))
    for part in range(PARTS):
        read = read_pieces(written, part)
        assert read["word"].tolist() == [word for own, word in sent if own == part]
        assert read["small"].tolist() == [word % 128 for own, word in sent if own == part]


def test_a_task_that_runs_again_leaves_one_file(tmp_path: Path) -> None:
    for _ in range(2):
        write_pieces(str(tmp_path / "piece"), np.zeros(3, np.int32), 1, {"word": np.arange(3)})
    assert [path.name for path in tmp_path.iterdir()] == ["piece"]
