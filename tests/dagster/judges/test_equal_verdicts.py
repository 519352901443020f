"""The judges at size give the verdicts and the memories of the checks of the core, on good and on broken releases."""

import stat
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from builders.examples import share_of
from conformance.test_judges import empty, ledger, rows_of_people, rows_with_values
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.any_histories import OPTIONS, technique_ledger
from oracles.builders import Member, entry_of, invariant_ledger, plain_schema, random_entry, random_ledger

from reanon_core.checks.k_anonymity import KAnonymity
from reanon_core.checks.l_diversity import LDiversity
from reanon_core.checks.m_invariance import MInvariance
from reanon_core.checks.m_uniqueness import MUniqueness
from reanon_core.checks.t_closeness import TCloseness
from reanon_core.checks.well_formedness import WellFormedness
from reanon_core.engine.column_folder import ColumnFolder
from reanon_core.judgement import judge
from reanon_core.model.errors import InvalidSnapshot
from reanon_core.model.ledger import Entry
from reanon_core.model.packing import pack
from reanon_core.model.release import PersonRows
from reanon_core.model.schema import Ends, Missing
from reanon_core.model.snapshot import INVENTED, REMEMBERED, TABLE
from reanon_core.model.trace import Trace
from reanon_core.protocols import Check, Memory
from reanon_dagster.judges import m_invariance, workspace
from reanon_dagster.judges.judgement import JUDGES, examine_at_size, has_judge_at_size, judge_at_size

CHECKS: tuple[Check, ...] = (
    WellFormedness(),
    KAnonymity(k=2),
    KAnonymity(k=4),
    LDiversity(ell=2),
    LDiversity(ell=3, form="frequency"),
    MUniqueness(m=2),
    MInvariance(m=2),
    MInvariance(m=3, episodes=True),
)
LITTLE, MUCH = 1, 1 << 26
TREES = plain_schema(min_width=2, domain=(0, 9), missing=Missing.SEPARATE)
"""The schema of the releases that are broken."""


@pytest.fixture(autouse=True)
def _tiny_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little memory means three rows or groups at a time, so that tiny releases have several parts."""
    monkeypatch.setattr(workspace, "LEAST", 3)


def mapped(entry: Entry, folder: ColumnFolder) -> Entry:
    """The same entry with arrays on disk."""

    def on_disk(values: np.ndarray) -> np.ndarray:
        return np.array(values) if values.ndim > 1 and not values.size else folder.written("array", values).mapped()

    def moved(part: object, *names: str) -> object:
        return replace(part, **{name: on_disk(getattr(part, name)) for name in names})  # type: ignore[type-var]

    boxes = moved(entry.release.boxes, "low", "high", "missing")
    return replace(
        entry,
        snapshot=moved(entry.snapshot, "persons", "qi", "sensitive"),
        release=replace(moved(entry.release, "group", "sensitive"), boxes=boxes),  # type: ignore[type-var]
        trace=moved(entry.trace, "persons", "rows"),
    )


def require_equal(checks: Iterable[Check], entries: Iterable[Entry], *limits: int) -> None:
    """The same verdicts and memories, release after release; each judge continues the memory of the other."""
    with TemporaryDirectory() as path:
        folder = ColumnFolder(path)
        listed = [(entry, mapped(entry, folder)) for entry in entries]
        for check, limit in product(checks, limits):
            before = check.initial_memory()
            for number, (entry, on_disk) in enumerate(listed):
                expected, memory = check.examine(entry, before)
                verdict, own = examine_at_size(check, on_disk, before, limit_bytes=limit, folder=folder)
                assert verdict == expected
                assert list(verdict.observed) == list(expected.observed)
                require_equal_memories(own, memory)
                before = own if number % 2 else memory


def require_equal_memories(own: Memory, expected: Memory) -> None:
    assert own.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, np.ndarray):
            mine = own[name]
            assert isinstance(mine, np.ndarray)
            assert (mine.dtype, mine.shape) == (value.dtype, value.shape)
    assert pack(own) == pack(expected)


def require_all_equal(entries: Iterable[Entry]) -> None:
    require_equal(CHECKS, entries, LITTLE, MUCH)


@pytest.mark.parametrize("memory", [True, False], ids=["defended", "naive"])
def test_a_series_with_people_who_leave_and_arrive(memory: bool) -> None:
    require_all_equal(ledger(memory=memory, people=60).entries)


@pytest.mark.parametrize("made", [rows_of_people, rows_with_values, empty])
def test_decoupled_and_empty_releases(made) -> None:
    require_all_equal(made().entries[:3])


@pytest.mark.parametrize("name", OPTIONS)
@settings(max_examples=8, deadline=None)
@given(random=st.randoms(use_true_random=False), changing=st.booleans())
def test_histories_of_every_technique(name: str, random: Random, changing: bool) -> None:
    entries = technique_ledger(name, random, people=9, changing=changing).entries
    require_equal(CHECKS, entries, random.choice([LITTLE, MUCH]))


@settings(max_examples=12, deadline=None)
@given(random=st.randoms(use_true_random=False), values=st.sampled_from([3, 70, 200]))
def test_histories_that_no_technique_made(random: Random, values: int) -> None:
    entries = random_ledger(random, releases=4, people=8, groups=3, values=values).entries
    require_equal(CHECKS, entries, random.choice([LITTLE, MUCH]))


@settings(max_examples=5, deadline=None)
@given(random=st.randoms(use_true_random=False))
def test_invariant_histories(random: Random) -> None:
    require_all_equal(invariant_ledger(random, m=3, releases=4, people=12).entries)


def changed(random: Random, array: np.ndarray) -> np.ndarray:
    """The array with one number replaced, or two exchanged."""
    copy = np.array(array)
    one, other = (tuple(random.randrange(n) for n in array.shape) for _ in range(2))
    if random.random() < 0.4:
        copy[one], copy[other] = array[other], array[one]
    else:
        copy[one] = random.choice([-1, 0, 1, 2, 3, 4, 8, 11, np.iinfo(copy.dtype).min, np.iinfo(copy.dtype).max])
    return copy


def broken(random: Random, entry: Entry) -> Entry:
    """The entry with one flaw."""
    release, trace, auxiliary = entry.release, entry.trace, entry.auxiliary
    if random.random() < 0.1:
        return replace(entry, trace=replace(trace, persons=trace.persons[::-1]))
    if random.random() < 0.1:
        return replace(entry, trace=Trace(trace.persons[1:], trace.rows[1:], _but_first(trace.person_rows)))
    if random.random() < 0.05:
        return replace(entry, release=replace(release, sensitive=release.sensitive[1:]))
    owners: list[tuple[object, tuple[str, ...]]] = [
        (release, ("group", "sensitive")),
        (trace, ("persons", "rows")),
        (auxiliary, ("group", "count")),
        (release.boxes, ("low", "high", "missing")),
    ]
    if trace.person_rows is not None:
        owners += [(trace, ("person_rows",)), (release.person_rows, ("group", "box"))]
    owner, names = random.choice(owners)
    name = random.choice(names)
    if not getattr(owner, name).size:
        return entry
    part = replace(owner, **{name: changed(random, getattr(owner, name))})  # type: ignore[type-var]
    if owner is release.boxes:
        return replace(entry, release=replace(release, boxes=part))
    if isinstance(part, PersonRows):
        return replace(entry, release=replace(release, person_rows=part))
    return replace(entry, **{"release" if owner is release else "trace" if owner is trace else "auxiliary": part})


def _but_first(rows: np.ndarray | None) -> np.ndarray | None:
    return None if rows is None else rows[1:]


def marked(random: Random, entry: Entry) -> Entry:
    """The entry with a selection, and with rows that are remembered or invented."""
    size = entry.snapshot.size
    origin = np.array([random.choice([TABLE, TABLE, REMEMBERED, INVENTED]) for _ in range(size)], np.int8)
    selected = np.array([random.random() < 0.7 for _ in range(size)], np.bool_)
    snapshot = replace(
        entry.snapshot,
        origin=origin if random.random() < 0.6 else None,
        selected=selected if random.random() < 0.6 else None,
    )
    return replace(entry, snapshot=snapshot)


@settings(max_examples=share_of(60), deadline=None)
@given(random=st.randoms(use_true_random=False), flaws=st.integers(0, 4), grid=st.booleans())
def test_broken_releases(random: Random, flaws: int, grid: bool) -> None:
    schema = TREES.with_ends(Ends.GRID) if grid else TREES
    entry = random_entry(random, schema, people=9, groups=3, missing=True)
    if random.random() < 0.4:
        entry = marked(random, entry)
    for _ in range(flaws):
        entry = broken(random, entry)
    if entry.snapshot.origin is not None and len(entry.trace.persons) != len(entry.trace.rows):
        return
    first = random_entry(random, schema, people=9, groups=3, missing=True)
    require_equal(CHECKS, [first, entry], random.choice([LITTLE, MUCH]))


@settings(max_examples=share_of(40), deadline=None)
@given(random=st.randoms(use_true_random=False), flaws=st.integers(0, 3))
def test_broken_decoupled_releases(random: Random, flaws: int) -> None:
    entry = random.choice(DECOUPLED)
    for _ in range(flaws):
        entry = broken(random, entry)
    require_equal([WellFormedness()], [entry], random.choice([LITTLE, MUCH]))


DECOUPLED = rows_of_people().entries[:2]


@pytest.mark.parametrize("columns", [("a", "s"), ("b",), ("s",), ("a", "x")])
def test_releases_of_some_columns(columns: tuple[str, ...]) -> None:
    entry = random_entry(Random(3), TREES, people=9, groups=3)
    hidden = (
        entry
        if "s" in columns
        else replace(entry, release=replace(entry.release, sensitive=np.full_like(entry.release.sensitive, -1)))
    )
    for one in (entry, hidden):
        require_all_equal([replace(one, release=replace(one.release, columns=columns))])


def test_a_row_of_two_people_is_judged_by_the_last_one() -> None:
    entry = entry_of(TREES, [Member(1, (1, 1), 0, 0), Member(2, (1, 2), 1, 0)])
    for origin in ([INVENTED, TABLE], [TABLE, INVENTED]):
        snapshot = replace(entry.snapshot, origin=np.array(origin, np.int8))
        shared = replace(entry, snapshot=snapshot, trace=Trace(entry.trace.persons, np.zeros(2, np.int32)))
        require_all_equal([shared])


def test_one_person() -> None:
    require_all_equal([entry_of(TREES, [Member(5, (1, 1), 0, 0)])] * 2)


def test_the_memory_goes_on_where_there_are_too_many_values_for_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = random_ledger(Random(4), releases=3, people=8, groups=3, values=1030).entries
    assert not m_invariance.has_masks(type("R", (), {"entry": entries[0]})(), {})
    require_equal([MInvariance(m=2)], entries, LITTLE)


def test_more_values_make_wider_signatures() -> None:
    random, entries = Random(7), []
    for values in (3, 70, 70, 130):
        members = [
            Member(p, (0, 0), random.randrange(values), random.randrange(3)) for p in range(12) if random.random() < 0.7
        ]
        used = sorted({member.group for member in members})
        members = [replace(member, group=used.index(member.group)) for member in members]
        entries.append(entry_of(plain_schema(values=values), members, random=random))
    require_equal([MInvariance(m=2), MInvariance(m=2, episodes=True)], entries, LITTLE, MUCH)


def test_a_code_that_stands_for_another_value_is_refused(tmp_path: Path) -> None:
    entry = ledger(memory=True, people=20, releases=1).entries[0]
    check, folder = MInvariance(m=2), ColumnFolder(str(tmp_path))
    memory = check.examine(entry, check.initial_memory())[1]
    schema = entry.snapshot.schema
    other = schema.with_sensitive_values(schema.sensitive.values[::-1])
    moved = replace(entry, snapshot=replace(entry.snapshot, schema=other))
    with pytest.raises(InvalidSnapshot):
        examine_at_size(check, moved, memory, limit_bytes=LITTLE, folder=folder)
    assert not list(tmp_path.iterdir())


def test_all_checks_together_are_judged_as_in_memory(tmp_path: Path) -> None:
    checks = (*CHECKS[:1], KAnonymity(k=2), TCloseness(t=0.5), MInvariance(m=2))
    folder = ColumnFolder(str(tmp_path))
    assert [has_judge_at_size(check.name) for check in checks] == [True, True, False, True]
    assert len(JUDGES) == 5
    own = expected = {}
    for entry in ledger(memory=True, people=60).entries:
        verdicts, expected = judge(checks, entry, expected)
        mine, own = judge_at_size(checks, entry, own, limit_bytes=LITTLE, folder=folder)
        assert mine == verdicts
        assert own.keys() == expected.keys()
        for name, memory in expected.items():
            require_equal_memories(own[name], memory)


def test_only_memories_stay_in_the_folder_and_no_one_else_can_read_them(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    folder = ColumnFolder(str(tmp_path))
    entry = ledger(memory=True, people=60, releases=1).entries[0]
    unsorted = replace(entry, trace=Trace(entry.trace.persons[::-1], entry.trace.rows[::-1]))
    for check in CHECKS[:6]:
        for one in (entry, unsorted):
            examine_at_size(check, one, {}, limit_bytes=LITTLE, folder=folder)
    assert not list(tmp_path.iterdir())
    memory = examine_at_size(MInvariance(m=2), entry, MInvariance(m=2).initial_memory(), limit_bytes=1, folder=folder)[
        1
    ]
    left = list(tmp_path.iterdir())
    assert [path.name.split("-")[1] for path in left] == ["signatures"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in left} == {0o600}
    assert isinstance(np.asarray(memory["signatures"]).base, np.memmap)


def test_a_release_is_not_changed(tmp_path: Path) -> None:
    entry = ledger(memory=True, people=60, releases=1).entries[0]
    before = pack({"group": entry.release.group, "rows": entry.trace.rows, "persons": entry.snapshot.persons})
    judge_at_size(CHECKS, entry, {}, limit_bytes=LITTLE, folder=ColumnFolder(str(tmp_path)))
    assert before == pack({"group": entry.release.group, "rows": entry.trace.rows, "persons": entry.snapshot.persons})
