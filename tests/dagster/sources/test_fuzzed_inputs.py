"""Series files and snapshots with random damage."""

from pathlib import Path

from trust.fuzz_inputs import fuzzed_runs


def test_a_damaged_input_ends_with_a_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    runs = fuzzed_runs(70, seed=0, folder=tmp_path)
    assert runs.escapes == []
    assert sum(runs.codes.values()) == 140
    assert {0, 2} <= set(runs.codes)
