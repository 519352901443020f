"""Advice: its bounds are those of the counts, its reasons are in the data, and what it recommends can be published."""

import json
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders.rehearsed import with_surplus, written
from builders.series import DISEASES, SERIES, lively, people, write_series

from reanon_core.metrics.value_counts import ValueCounts
from reanon_dagster.cli import main
from reanon_dagster.lab.advice import numbers_compared, recommendation, yaml_lines
from reanon_dagster.lab.advice_grid import Cell, Measured, asked, cells, numbers_tried
from reanon_dagster.lab.applicability import applicability, eligibilities, table_facts
from reanon_dagster.lab.rehearsal import Obstacle, RehearsedRelease
from reanon_dagster.lab.snapshots_on_disk import snapshots_on_disk
from reanon_dagster.releasing.query_error import Utility
from reanon_dagster.series.series_file import load_series

TODAY = date(2030, 1, 1)


def advised(path: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict, str]:
    target = path.parent.parent / "advice.json"
    code = main(["advise", str(path), "--json", str(target), "--seed", "1", "--seconds", "1", *more])
    return code, json.loads(target.read_text()), capsys.readouterr().out


def largest_by_hand(frames: dict[str, pd.DataFrame]) -> int:
    """The largest m such that in no release more than one in m of the people seen for the first time share a value."""
    seen: set[str] = set()
    bounds = []
    for frame in frames.values():
        new = frame[~frame.patient.isin(seen)]
        seen |= set(frame.patient)
        counts = [int((new.disease == disease).sum()) for disease in set(new.disease)]
        m = 1
        while counts and all(count * (m + 1) <= len(new) for count in counts):
            m += 1
        bounds += [m] if counts else []
    return min(bounds)


@pytest.mark.parametrize("surplus", [0, 7, 20, 60])
def test_the_largest_m_is_eligible_in_every_release_and_the_next_one_is_not(tmp_path: Path, surplus: int) -> None:
    frames = with_surplus(lively(releases=4, size=72), "r3", surplus)
    series = load_series(write_series(tmp_path, snapshots=frames))
    found = eligibilities(list(frames), snapshots_on_disk(series, TODAY).read())
    largest = min(one.largest for one in found if one.largest is not None)
    assert largest == largest_by_hand(frames)
    assert all(one.most * largest <= one.new for one in found)
    assert any(one.most * (largest + 1) > one.new for one in found)


def test_the_largest_m_gets_through_a_rehearsal_and_the_next_one_does_not(tmp_path: Path) -> None:
    frames = with_surplus(lively(releases=3, size=240), "r3", 12)
    largest = largest_by_hand(frames)
    assert 2 <= largest < len(DISEASES)
    for m, code in ((largest, 0), (largest + 1, 1)):
        text = SERIES.replace("m: 3}", f"m: {m}}}")
        path = write_series(tmp_path, text=text, snapshots=frames)
        assert main(["rehearse", str(path), "--quiet", "--ahead", "0"]) == code


def test_the_recommended_lines_validate_and_backfill_and_the_advice_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frames = with_surplus(lively(releases=4, size=72), "r3", 20)
    text = SERIES.replace("m: 3}", "m: 5}")  # refused in r3
    path = write_series(tmp_path / "series", text=text, snapshots=frames)
    before = written(path.parent)
    code, document, out = advised(path, capsys)
    assert code == 0
    assert written(path.parent) == before
    lines = document["recommendation"]["yaml"]
    assert lines in out
    assert "this cannot be undone" in out
    path.write_text(text.replace("technique: {name: m-invariance, m: 5}\n", f"{lines}\n"))
    assert main(["validate", str(path), "--quiet"]) == 0
    assert main(["rehearse", str(path), "--quiet", "--ahead", "0"]) == 0
    assert main(["backfill", str(path), "--quiet", "--to", "r4"]) == 0


def test_where_values_change_the_recommendation_says_for_how_long_its_promise_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = people(120)
    moody = frame.assign(disease=[*frame["disease"][1:6], frame["disease"][0], *frame["disease"][6:]])
    path = write_series(tmp_path / "series", snapshots={"r1": frame, "r2": moody})
    _, document, out = advised(path, capsys, "--ahead", "0")
    assert document["recommendation"]["parameters"]["on_sensitive_change"] == "episode"
    assert "6 people change their value: for them the promise holds from one change to the next" in out
    _, _, out = advised(write_series(tmp_path / "calm", snapshots={"r1": frame, "r2": frame}), capsys, "--ahead", "0")
    assert "change their value: for them" not in out


def test_the_document_has_facts_reasons_a_grid_and_no_value_of_the_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_series(tmp_path / "series", snapshots=with_surplus(lively(releases=3), "r3", 6))
    _, document, out = advised(path, capsys, "--ahead", "0")
    assert set(document) == {
        "series", "adversary", "releases", "facts", "techniques", "grid", "recommendation", "numbers", "frozen"
    }  # fmt: skip
    assert {one["technique"]: one["applies"] for one in document["techniques"]} == {
        "m-invariance": True, "cor-split": True, "bpg": True, "js-reduce": True, "sequential": False, "mondrian": False
    }  # fmt: skip
    assert all(one["ends"] is not None or one["releases"] >= 1 for one in document["grid"])
    assert {(one["technique"], one["form"]) for one in document["grid"]} >= {
        ("m-invariance", "boxes"),
        ("m-invariance", "decoupled"),
        ("bpg", "boxes"),
    }
    assert not [value for value in [*DISEASES, "Zacharias", "Late-"] if value in json.dumps(document)]
    assert "the value 'flu' has" in out  # the terminal is the steward's


def test_what_people_do_decides_which_techniques_apply(tmp_path: Path) -> None:
    frame = people(120)
    older, moody = frame.assign(age=frame.age + 1), frame.copy()
    moody.loc[3, "disease"] = DISEASES[0]

    def reasons(second: pd.DataFrame, adversary: str = "presence") -> dict[str, tuple[tuple[str, ...], dict]]:
        series = load_series(write_series(tmp_path, snapshots={"r1": frame, "r2": second}))
        names = ["r1", "r2"]
        facts = table_facts(series, names, snapshots_on_disk(series, TODAY).read())
        found = applicability(series, facts, adversary)  # type: ignore[arg-type]
        return {one.technique: (one.reasons, dict(one.additions)) for one in found}

    still = reasons(frame)
    assert [name for name, (why, _) in still.items() if why] == ["mondrian"]
    aged = reasons(older)["sequential"][0]
    assert aged == ("120 people have other quasi-identifiers in a later snapshot, and it cannot publish them",)
    changed = reasons(moody)
    assert changed["sequential"][0]
    assert changed["m-invariance"] == ((), {"on_sensitive_change": "episode"})
    assert reasons(frame.iloc[6:])["sequential"] == ((), {"on_delete": "defer"})
    assert [name for name, (why, _) in reasons(frame, "values").items() if not why] == ["cor-split"]
    assert [name for name, (why, _) in reasons(frame, "transitions").items() if not why] == ["js-reduce"]


def test_where_one_value_has_most_of_the_new_people_only_a_way_that_never_refuses_applies(tmp_path: Path) -> None:
    frames = {"r1": people(60), "r2": pd.concat([people(60), people(68).iloc[60:].assign(disease="flu")])}
    path = write_series(tmp_path, snapshots=frames)
    path.write_text(SERIES)  # with the defaults
    series = load_series(path)
    facts = table_facts(series, list(frames), snapshots_on_disk(series, TODAY).read())
    assert facts.largest_m == 1
    found = {one.technique: one for one in applicability(series, facts, "presence")}
    assert found["m-invariance"].applies
    assert found["m-invariance"].largest == 2
    own = [cell for cell in cells(series, facts, [found["m-invariance"]]) if cell.among == 2]
    assert {cell.series(series).parameters["not_eligible"] for cell in own} == {"partial-blocks"}
    assert "one value has 8 of 8 new people" in found["sequential"].reasons[0]


@pytest.mark.parametrize("form", ["", "publish: {form: boxes}\n", "publish: {form: decoupled, k: 7}\n"])
def test_every_cell_publishes_in_the_form_that_it_names(tmp_path: Path, form: str) -> None:
    frames = {"r1": people(120), "r2": people(120)}
    path = write_series(tmp_path, snapshots=frames)
    path.write_text(SERIES + form)
    series = load_series(path)
    facts = table_facts(series, list(frames), snapshots_on_disk(series, TODAY).read())
    grid = cells(series, facts, applicability(series, facts, "presence"))
    assert {cell.k for cell in grid if cell.technique == "m-invariance"} == {None, 7 if "k: 7" in form else 10}
    for cell in grid:
        path.write_text(SERIES.replace("technique: {name: m-invariance, m: 3}\n", f"{yaml_lines(series, cell)}\n"))
        for made in (cell.series(series), load_series(path)):
            assert made.form == ("boxes" if cell.k is None else "decoupled")


def rehearsed(name: str, **numbers: object) -> RehearsedRelease:
    worth = Utility(numbers.pop("query_error", None))  # type: ignore[arg-type]
    return RehearsedRelease(name, False, **{"people": 100, "utility": worth, **numbers})  # type: ignore[arg-type]


def test_the_horizon_is_the_first_refusal_cascade_or_loss_of_many_people() -> None:
    cell = Cell("m-invariance", 3, {"m": 3})
    good, cascade = rehearsed("2020", counterfeits=100), rehearsed("2021", counterfeits=101)
    lost, kept = rehearsed("2022", withheld={"some": 21}), rehearsed("2022", withheld={"some": 20})
    refused = rehearsed("2023", published=False, obstacles=(Obstacle("value 'flu'", "a value"),))
    for releases, end in (
        ((good, kept), None),
        ((good, cascade, refused), "2021"),
        ((good, lost), "2022"),
        ((good, refused), "2023"),
    ):
        found = Measured(cell, releases, len(releases), 0).horizon
        assert (None if found is None else found.release) == end
    end = Measured(cell, (good, refused), 2, 0).horizon
    assert end is not None
    assert (end.why, end.redacted) == ("refused: value 'flu'", "refused: a value")


@pytest.mark.parametrize("form", ["boxes", "decoupled"])
def test_the_form_of_the_series_stays_unless_the_other_one_costs_clearly_less(tmp_path: Path, form: str) -> None:
    series = load_series(write_series(tmp_path, text=f"{SERIES}publish: {{form: {form}}}\n", snapshots=lively(2)))
    facts = table_facts(series, ["r1", "r2"], snapshots_on_disk(series, TODAY).read())

    def chosen(own: float, other: float) -> str:
        errors = {form: own, "decoupled" if form == "boxes" else "boxes": other}
        cells = {"boxes": None, "decoupled": 10}
        measured = [
            Measured(Cell("m-invariance", 3, {"m": 3}, cells[one]), (rehearsed("r1", query_error=error),), 1, 0)
            for one, error in errors.items()
        ]
        found = recommendation(series, facts, measured)
        assert found is not None
        return "boxes" if found.measured.cell.k is None else "decoupled"

    assert chosen(0.022, 0.021) == form
    assert chosen(0.08, 0.05) != form


@pytest.mark.parametrize(
    ("own", "tried", "little"),
    [(6, (2, 6), 4), (4, (4,), 4), (3, (3, 4, 6), 4), (5, (5,), 4), (2, (2,), 2)],
    ids=["between what was tried", "the file's own", "more than the file asks for", "just below", "the least"],
)
def test_the_number_of_values_stands_beside_the_largest_one_that_costs_little(own: int, tried, little: int) -> None:
    ran = []

    def of(cell: Cell) -> Measured:
        kept, lost = (0.9, 0.02) if cell.among <= 4 else (0.9, 0.4) if own == 5 else (0.1, 0.02)
        gone = round(1000 * lost)
        counts = np.array([1000]), np.array([gone]), np.zeros(1, np.int64), np.array([1000.0 - gone])
        worth = Utility(0.05, kept, ValueCounts(("flu",), *counts))
        return Measured(cell, (rehearsed("r1", utility=worth),), 1, 0)

    def whole(cell: Cell) -> Measured:
        ran.append(cell.parameters["m"])
        return of(cell)

    grid = [of(Cell("m-invariance", m, {"m": m, "regions": "none"}, k)) for m in tried for k in (None, 10)]
    asked_for, found = numbers_compared(own, grid[-1], grid, whole)
    assert asked_for.cell.among == own
    assert found is not None
    assert (found.cell.among, found.cell.k, found.cell.parameters) == (little, 10, {"m": little, "regions": "none"})
    assert not set(ran) & set(tried)
    assert all(m < own for m in ran)


def test_where_no_number_of_values_costs_little_there_is_none() -> None:
    worth = Utility(0.05, 0.1)
    one = Measured(Cell("m-invariance", 2, {"m": 2}), (rehearsed("r1", utility=worth),), 1, 0)
    assert numbers_compared(2, one, [one], lambda _: one) == (one, None)


def test_what_else_the_file_sets_for_its_technique_stays(tmp_path: Path) -> None:
    frames = {"r1": people(120), "r2": people(120)}
    text = SERIES.replace("m: 3}", "m: 3, assignment: stable}") + "publish: {form: decoupled, k: 7}\n"
    series = load_series(write_series(tmp_path, text=text, snapshots=frames))
    facts = table_facts(series, list(frames), snapshots_on_disk(series, TODAY).read())
    grid = cells(series, facts, applicability(series, facts, "presence"))
    own = [one for one in grid if one.technique == "m-invariance"]
    assert all(one.parameters["assignment"] == "stable" for one in own)
    assert {one.among for one in own} == {3, 5, 6}
    assert {one.k for one in own} == {None, 7}
    others = [one for one in grid if one.technique == "cor-split"]
    assert others
    assert not [one for one in others if "assignment" in one.parameters]


def test_the_people_in_a_group_stay_as_many_as_the_file_asks_for(tmp_path: Path) -> None:
    frames = {"r1": people(120), "r2": people(120)}
    text = SERIES.replace("m-invariance, m: 3", "bpg, k: 5, ell: 2")
    series = load_series(write_series(tmp_path, text=text, snapshots=frames))
    facts = table_facts(series, list(frames), snapshots_on_disk(series, TODAY).read())
    assert asked(series) == 2
    grid = cells(series, facts, applicability(series, facts, "presence"))
    own = [(one.parameters["k"], one.parameters["ell"]) for one in grid if one.technique == "bpg"]
    assert own[0] == (5, 2)
    assert all(k == max(5, ell) for k, ell in own)


def test_a_technique_that_rations_no_new_rows_is_tried_with_the_number_of_the_file(tmp_path: Path) -> None:
    crowd = people(120)
    crowd.loc[crowd.index[:30], "disease"] = crowd["disease"].iloc[0]
    series = load_series(write_series(tmp_path, text=SERIES, snapshots={"r1": crowd}))
    facts = table_facts(series, ["r1"], snapshots_on_disk(series, TODAY).read())
    assert facts.largest_m == 2
    grid = cells(series, facts, applicability(series, facts, "presence"))
    assert 3 in {one.among for one in grid if one.technique == "bpg"}


def test_the_grid_tries_the_largest_number_and_that_of_the_file() -> None:
    assert numbers_tried(6, 2, 4) == [4, 5, 6]
    assert numbers_tried(6, 2, 9) == [3, 5, 6]
    assert numbers_tried(2, 2, None) == [2]
    assert numbers_tried(30, 2, 2) == [2, 20, 30]
