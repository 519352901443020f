"""The small kernels against references."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reanon_core.bucketing.division import Roster
from reanon_core.kernels.orders import counting_order, starts_of, uniform_order
from reanon_core.kernels.siphash import keyed_permutation, siphash_strings, siphash_words

# The first and some later outputs of the authors' reference vectors: key 00 01 .. 0f, messages 00 01 .. of each length.
REFERENCE = {0: 0x726FDB47DD0E0E31, 1: 0x74F839C593DC67FD, 8: 0x93F5F5799A932462, 15: 0xA129CA6149BE45E5}
KEY = np.frombuffer(bytes(range(16)), dtype=np.uint64)


@pytest.mark.parametrize(("length", "expected"), REFERENCE.items())
def test_siphash_gives_the_reference_vectors(length: int, expected: int) -> None:
    data = np.arange(64, dtype=np.uint8)
    (found,) = siphash_strings(data, np.array([0, length]), KEY).view(np.uint64)
    assert int(found) == expected


@settings(deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_words_hash_like_their_eight_bytes(words: list[int]) -> None:
    array = np.array(words, dtype=np.int64)
    data = np.frombuffer(array.tobytes(), dtype=np.uint8)
    offsets = np.arange(len(words) + 1) * 8
    assert np.array_equal(siphash_words(array, KEY), siphash_strings(data, offsets, KEY).view(np.uint64))


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**64 - 1), max_size=200))
def test_the_order_of_keys_is_ascending_and_stable_whatever_the_keys(keys: list[int]) -> None:
    array = np.array(keys, dtype=np.uint64)
    assert np.array_equal(uniform_order(array), np.argsort(array, kind="stable"))


@settings(deadline=None)
@given(st.integers(0, 3000), st.integers(0, 2**32 - 1))
def test_a_keyed_permutation_is_a_permutation_of_its_own_key(count: int, seed: int) -> None:
    one, two = (keyed_permutation(count, np.random.default_rng(seed)) for _ in range(2))
    assert np.array_equal(one, two)
    assert np.array_equal(np.sort(one), np.arange(count))


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), max_size=50))
def test_counting_sorts_stably(keys: list[int]) -> None:
    array = np.array(keys, dtype=np.int32)
    assert np.array_equal(counting_order(array, 10), np.argsort(array, kind="stable"))
    assert np.array_equal(starts_of(array, 10), np.searchsorted(np.sort(array), np.arange(11)))


@settings(deadline=None)
@given(st.sets(st.integers(0, 40)), st.sets(st.integers(0, 40)))
def test_the_roster_keeps_everyone_ever_published(old: set[int], new: set[int]) -> None:
    before = Roster(np.array(sorted(old)), np.zeros(len(old), np.int32), np.ones(len(old), np.int32))
    people = np.array(sorted(new), dtype=np.int64)
    entry = np.array([sorted(old).index(p) if p in old else -1 for p in sorted(new)], dtype=np.int32)
    values = np.full(len(new), 5, np.int32)
    after = before.recorded(entry, people, np.full(len(new), 7, np.int32), values)
    assert after.persons.tolist() == sorted(old | new)
    assert [int(s) for s in after.signature] == [0 if p in old else 7 for p in sorted(old | new)]
    assert [int(v) for v in after.sensitive] == [5 if p in new else 1 for p in sorted(old | new)]
