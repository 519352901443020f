"""Ids that differ only in how they are written are noticed, and no others."""

import re
import unicodedata

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reanon_core.tables.ids import KEY_BYTES, canonical_texts, people
from reanon_core.tables.spellings import KnownIds, id_forms

KEY = bytes(range(KEY_BYTES))


@pytest.mark.parametrize(
    ("written", "form"),
    [
        *((other, "7") for other in ("7", "007", " 7", "7\t", "7.0", "07.", "\u200b7", "\uff17", "\ufeff007")),
        *((other, "ab12") for other in ("AB12", "ab 12", "Ab12\u00a0", "a\u00adb12")),
        ("000", "0"),
        ("7.5", "7.5"),
        *((other, "p7") for other in ("p007", "P7", "p 07")),
        *((other, "ward-b-120") for other in ("ward-b-120", "Ward-B-00120")),
        ("p000", "p0"),
        ("a1b007", "a1b007"),
        ("a01b", "a01b"),
        ("0x1", "0x1"),
        ("1.2.0", "1.2.0"),
        ("\u00c9va", "\u00e9va"),
        ("-007", "-007"),
        ("", ""),
    ],
)
def test_one_form_for_all_ways_of_writing_an_id(written: str, form: str) -> None:
    assert id_forms(pa.array([written])).to_pylist() == [form]


def form_of(text: str) -> str:
    """The same, letter by letter."""
    kept = [
        one for one in unicodedata.normalize("NFKC", text) if not one.isspace() and unicodedata.category(one)[0] != "C"
    ]
    lower = "".join(kept).lower()
    number = re.fullmatch(r"([0-9]+)(\.0*)?", lower)
    if number:
        return number[1].lstrip("0") or "0"
    after = re.fullmatch(r"([^0-9]+)([0-9]+)", lower)
    return after[1] + (after[2].lstrip("0") or "0") if after and re.search("[a-z]", after[1]) else lower


IDS = st.lists(st.text("aA0b17. \u00a0", min_size=1, max_size=4), unique=True, max_size=12)


@given(st.lists(IDS, min_size=1, max_size=4))
def test_new_ids_in_a_known_or_repeated_form_are_found_and_no_others(tables: list[list[str]]) -> None:
    known, seen = KnownIds.none(), set[str]()
    for ids in tables:
        column = pa.chunked_array([pa.array(ids, pa.string())])
        known, doubts = known.with_table(canonical_texts("id", column), people("id", column, KEY), KEY)
        fresh = [id_ for id_ in ids if id_ not in seen]
        forms, before = [form_of(id_) for id_ in fresh], {form_of(id_) for id_ in seen}
        assert [id_ for id_, like in zip(ids, doubts.alike, strict=True) if like] == [
            id_ for id_, form in zip(fresh, forms, strict=True) if form in before or forms.count(form) > 1
        ]
        seen |= set(ids)
        assert len(known.persons) == len(seen)


def test_texts_for_no_id_are_found_once() -> None:
    column = pa.chunked_array([["nan", "NaN", "None", "nanny", "7", " n/a"]])
    texts, persons = canonical_texts("id", column), people("id", column, KEY)
    known, doubts = KnownIds.none().with_table(texts, persons, KEY)
    assert doubts.empty.tolist() == [True, True, True, False, False, True]
    assert not known.with_table(texts, persons, KEY)[1].empty.any()
