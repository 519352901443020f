"""Checks that are queries find what the checks over arrays found, on good and on broken releases."""

import os
import stat
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from builders.examples import share_of
from conformance.test_judges import empty, ledger, rows_of_people, rows_with_values
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import array_checks
from oracles.any_histories import OPTIONS, technique_ledger
from oracles.builders import Member, entry_of, invariant_ledger, plain_schema, random_entry, random_ledger

from reanon_core.catalog import build_check
from reanon_core.engine.column_folder import ColumnFolder
from reanon_core.engine.tables import Room
from reanon_core.judgement import judge
from reanon_core.model.errors import InvalidSnapshot
from reanon_core.model.ledger import Entry
from reanon_core.model.packing import pack
from reanon_core.model.release import PersonRows
from reanon_core.model.schema import Ends, Missing
from reanon_core.model.snapshot import INVENTED, REMEMBERED, TABLE
from reanon_core.model.trace import Trace
from reanon_core.model.verdict import Verdict

PARAMETERS: tuple[dict[str, dict[str, object]], ...] = (
    {
        "well-formedness": {},
        "k-anonymity": {"k": 2},
        "shared-boxes": {"k": 2},
        "l-diversity": {"ell": 2},
        "m-uniqueness": {"m": 2},
        "m-invariance": {"m": 2},
        "weak-m-invariance": {"m": 2},
    },
    {
        "k-anonymity": {"k": 4},
        "l-diversity": {"ell": 3, "form": "frequency"},
        "m-invariance": {"m": 3, "episodes": True},
    },
)
"""Checks that are judged together."""
LITTLE = 1
TREES = plain_schema(min_width=2, domain=(0, 9), missing=Missing.SEPARATE)
"""The schema of the releases that are broken."""


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


def require_equal(entries: Iterable[Entry], names: Iterable[str] = array_checks.BY_NAME, *, little: bool) -> None:
    """The same verdicts release after release, from arrays in memory or mapped from a folder, into which tables spill.

    Both remember the same people, in their order.
    """
    for options in PARAMETERS:
        with TemporaryDirectory() as path:
            room = Room(LITTLE, ColumnFolder(path)) if little else None
            listed = {name: own for name, own in options.items() if name in names}
            checks = [build_check(name, own) for name, own in listed.items()]
            oracles = [array_checks.BY_NAME[name](**own) for name, own in listed.items()]
            remembered = {oracle.name: oracle.initial_memory() for oracle in oracles}
            before: dict[str, Any] = {}
            for entry in entries:
                verdicts, after = judge(checks, mapped(entry, room.folder) if room else entry, before, room)
                before |= after
                for oracle, verdict in zip(oracles, verdicts, strict=True):
                    expected, memory = oracle.examine(entry, remembered[oracle.name])
                    remembered[oracle.name] = memory
                    assert verdict.observed == expected.observed
                    assert verdict == expected
                    assert list(verdict.observed) == list(expected.observed)
                    if "persons" in memory:
                        assert np.array_equal(memory["persons"], before[oracle.name]["persons"])


@pytest.mark.parametrize("memory", [True, False], ids=["defended", "naive"])
def test_a_series_with_people_who_leave_and_arrive(memory: bool) -> None:
    for little in (False, True):
        require_equal(ledger(memory=memory, people=60).entries, little=little)


@pytest.mark.parametrize("made", [rows_of_people, rows_with_values, empty])
def test_decoupled_and_empty_releases(made) -> None:
    for little in (False, True):
        require_equal(made().entries[:3], little=little)


@pytest.mark.parametrize("name", OPTIONS)
@settings(max_examples=8, deadline=None)
@given(random=st.randoms(use_true_random=False), changing=st.booleans())
def test_histories_of_every_technique(name: str, random: Random, changing: bool) -> None:
    entries = technique_ledger(name, random, people=9, changing=changing).entries
    require_equal(entries, little=random.random() < 0.2)


@settings(max_examples=12, deadline=None)
@given(random=st.randoms(use_true_random=False), values=st.sampled_from([3, 70, 200]))
def test_histories_that_no_technique_made(random: Random, values: int) -> None:
    entries = random_ledger(random, releases=4, people=8, groups=3, values=values).entries
    require_equal(entries, little=random.random() < 0.2)


@settings(max_examples=5, deadline=None)
@given(random=st.randoms(use_true_random=False))
def test_invariant_histories(random: Random) -> None:
    require_equal(invariant_ledger(random, m=3, releases=4, people=12).entries, little=False)


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


def well_formedness(entry: Entry) -> Verdict:
    return build_check("well-formedness", {}).examine(entry, {})[0]


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
    if entry.snapshot.origin is not None and "arrays of different lengths" in well_formedness(entry).observed:
        return
    first = random_entry(random, schema, people=9, groups=3, missing=True)
    require_equal([first, entry], little=random.random() < 0.2)


@settings(max_examples=share_of(40), deadline=None)
@given(random=st.randoms(use_true_random=False), flaws=st.integers(0, 3))
def test_broken_decoupled_releases(random: Random, flaws: int) -> None:
    entry = random.choice(DECOUPLED)
    for _ in range(flaws):
        entry = broken(random, entry)
    require_equal([entry], ["well-formedness", "shared-boxes"], little=random.random() < 0.2)


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
        some = replace(one, release=replace(one.release, columns=columns))
        require_equal([some], ["well-formedness", "k-anonymity", "m-uniqueness", "m-invariance"], little=False)


def test_a_row_of_a_real_and_an_invented_person_is_a_counterfeit() -> None:
    entry = entry_of(TREES, [Member(1, (1, 1), 0, 0), Member(2, (1, 2), 1, 0)])
    for origin in ([INVENTED, TABLE], [TABLE, INVENTED]):
        snapshot = replace(entry.snapshot, origin=np.array(origin, np.int8))
        shared = replace(entry, snapshot=snapshot, trace=Trace(entry.trace.persons, np.zeros(2, np.int32)))
        verdict = well_formedness(shared)
        assert verdict.observed["rows of more than one person"] == 1
        assert verdict.observed["people"] == 1
        assert verdict.observed["groups with a wrong number of counterfeits"] == 1


def test_one_person() -> None:
    for little in (False, True):
        require_equal([entry_of(TREES, [Member(5, (1, 1), 0, 0)])] * 2, little=little)


@pytest.mark.parametrize("values", [63, 64, 65, 1030])
def test_signatures_of_any_number_of_values(values: int) -> None:
    entries = random_ledger(Random(values), releases=3, people=8, groups=3, values=values).entries
    require_equal(entries, ["m-invariance", "weak-m-invariance", "l-diversity"], little=False)


def test_more_values_make_wider_signatures() -> None:
    random, entries = Random(7), []
    for values in (3, 70, 70, 130):
        members = [
            Member(p, (0, 0), random.randrange(values), random.randrange(3)) for p in range(12) if random.random() < 0.7
        ]
        used = sorted({member.group for member in members})
        members = [replace(member, group=used.index(member.group)) for member in members]
        entries.append(entry_of(plain_schema(values=values), members, random=random))
    for little in (False, True):
        require_equal(entries, ["m-invariance", "weak-m-invariance"], little=little)


def test_a_code_that_stands_for_another_value_is_refused(tmp_path: Path) -> None:
    entry = ledger(memory=True, people=20, releases=1).entries[0]
    check, room = build_check("m-invariance", {"m": 2}), Room(LITTLE, ColumnFolder(str(tmp_path)))
    memory = check.examine(entry, check.initial_memory())[1]
    schema = entry.snapshot.schema
    other = schema.with_sensitive_values(schema.sensitive.values[::-1])
    moved = replace(entry, snapshot=replace(entry.snapshot, schema=other))
    with pytest.raises(InvalidSnapshot):
        judge([check], moved, {check.name: memory}, room)
    assert not list(tmp_path.iterdir())


def test_only_memories_stay_in_the_folder_and_no_one_else_can_read_them(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    room = Room(LITTLE, ColumnFolder(str(tmp_path)))
    entry = ledger(memory=True, people=60, releases=1).entries[0]
    checks = [build_check(name, options) for name, options in PARAMETERS[0].items() if "invariance" not in name]
    judge(checks, entry, {}, room)
    assert not list(tmp_path.iterdir())
    memory = judge([build_check("m-invariance", {"m": 2})], entry, {}, room)[1]["m-invariance"]
    left = list(tmp_path.iterdir())
    assert {path.name.split("-")[1] for path in left} == {"persons", "numbers"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in left} == {0o600}
    assert isinstance(np.asarray(memory["persons"]).base, np.memmap)


def test_a_release_is_not_changed() -> None:
    entry = ledger(memory=True, people=60, releases=1).entries[0]
    before = pack({"group": entry.release.group, "rows": entry.trace.rows, "persons": entry.snapshot.persons})
    judge([build_check(name, options) for name, options in PARAMETERS[0].items()], entry, {})
    assert before == pack({"group": entry.release.group, "rows": entry.trace.rows, "persons": entry.snapshot.persons})


def test_a_child_of_this_process_judges_with_an_engine_of_its_own() -> None:
    entry = ledger(memory=True, people=60, releases=1).entries[0]
    check = build_check("k-anonymity", {"k": 2})
    assert check.examine(entry, {})[0].holds
    child = os.fork()
    if not child:
        os._exit(0 if check.examine(entry, {})[0].holds else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
