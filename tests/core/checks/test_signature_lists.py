"""The judge's table of signatures gives the same answers as masks and as lists."""

import numpy as np
import pytest

from reanon_core.checks import signature_table
from reanon_core.checks.groups import ValueCounts
from reanon_core.checks.signature_lists import SignatureLists
from reanon_core.checks.signature_table import SignatureTable

VALUES = 200


def release(rng: np.random.Generator) -> tuple[np.ndarray, ValueCounts, np.ndarray]:
    """People, the values of ten groups, and the group of each person."""
    persons = np.sort(rng.choice(60, 40, replace=False)).astype(np.int64)
    groups = [np.sort(rng.choice([1, 70, 130, 199], 2, replace=False)) for _ in range(10)]
    group = np.repeat(np.arange(10), 2)
    counts = ValueCounts(10, VALUES, group, np.concatenate(groups), np.ones(20, np.int64))
    return persons, counts, rng.integers(0, 10, 40).astype(np.int32)


@pytest.mark.parametrize("switch", [0, 2], ids=["lists from the start", "masks become lists"])
def test_lists_of_signatures_find_what_masks_find(monkeypatch: pytest.MonkeyPatch, switch: int) -> None:
    rng = np.random.default_rng(3)
    as_masks, as_lists = SignatureTable.empty().packed(), SignatureTable.empty().packed()
    compared = 0
    for number in range(5):
        persons, counts, hosting = release(rng)
        monkeypatch.setattr(signature_table, "WIDEST", 16)
        masks = SignatureTable.restored(as_masks).compare(persons, counts, hosting)
        monkeypatch.setattr(signature_table, "WIDEST", 0 if number >= switch else 16)
        lists = SignatureTable.restored(as_lists).compare(persons, counts, hosting)
        for field in ("known", "different", "overlapping"):
            assert (getattr(masks, field) == getattr(lists, field)).all()
        compared += int(masks.overlapping.sum())
        as_masks, as_lists = masks.after.packed(), lists.after.packed()
        assert (np.asarray(as_masks["persons"]) == np.asarray(as_lists["persons"])).all()
    assert compared
    assert isinstance(SignatureTable.restored(as_lists), SignatureLists)
