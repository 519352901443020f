"""`reanon compare`: the matrix shows what theory says, and the series is left as it is."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from builders.private_texts import leaks, private_texts
from builders.series import SERIES, lively, plainly_published, write_series

from reanon_core.catalog import ATTACKS, TECHNIQUES
from reanon_core.precompile import snapshots
from reanon_dagster.cli import main
from reanon_dagster.lab import comparison, comparison_run
from reanon_dagster.lab.comparison import Outcome
from reanon_dagster.lab.comparison_document import answer_summary, pareto_front

Cells = dict[tuple[str, str], dict[str, Any]]
QUICK = [name for name in ATTACKS if name not in {"risk", "algorithm"}]
"""The attacks that take no seconds on a few people."""
SMALL = SERIES.replace("[r1, r2, r3, r4, r5]", "[r1, r2, r3]")


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three releases with people who join, leave and return."""
    return write_series(tmp_path_factory.mktemp("clinic"), text=SMALL, snapshots=lively(3, 60))


@pytest.fixture(scope="module")
def document(clinic: Path) -> dict[str, Any]:
    """What `--json` has about every technique, quick attack and quick metric."""
    answer = clinic.parent / "answer.json"
    options = ["--attack", ",".join(QUICK), "--json", str(answer), "--html", f"{clinic.parent}/page.html"]
    assert main(["compare", str(clinic), "--quiet", *options]) == 0
    return dict(json.loads(answer.read_text()))


@pytest.fixture(scope="module")
def cells(document: dict[str, Any]) -> Cells:
    return {(cell["technique"], cell["attack"]): cell for cell in document["cells"]}


def test_the_answer_has_the_shape_of_the_contract(document: dict[str, Any]) -> None:
    assert set(document) == {"cells", "metrics", "seconds", "questions"}
    assert all(set(cell) == {"technique", "attack", "exposed", "of", "note"} for cell in document["cells"])
    assert all(set(one) == {"technique", "metric", "value"} for one in document["metrics"])
    compared = {cell["technique"] for cell in document["cells"]}
    assert compared == {*TECHNIQUES, "m-invariance-decoupled", "without-ids", "naive"}
    assert {cell["attack"] for cell in document["cells"]} == set(QUICK)
    assert set(document["seconds"]) == compared - {"sequential"}
    assert all(seconds >= 0 for seconds in document["seconds"].values())


def test_naive_republication_exposes_people_to_an_intersection_and_m_invariance_does_not(cells: Cells) -> None:
    assert cells["naive", "intersection"]["exposed"] > 0
    assert cells["without-ids", "intersection"]["exposed"] > cells["naive", "intersection"]["exposed"]
    for safe in ("m-invariance", "m-invariance-decoupled", "cor-split", "bpg"):
        assert cells[safe, "intersection"]["exposed"] == 0, safe


def test_comparing_any_releases_exposes_people_of_mondrian_and_none_of_bpg(cells: Cells) -> None:
    assert cells["mondrian", "subsets"]["exposed"] > 0
    assert cells["bpg", "subsets"]["exposed"] == cells["bpg", "difference"]["exposed"] == 0


def test_known_values_expose_people_of_m_invariance_which_promises_nothing_against_them(
    cells: Cells, tmp_path: Path
) -> None:
    knowing = f"{SMALL}adversary: {{compromised: 0.2}}\n"
    path, answer = write_series(tmp_path, text=knowing, snapshots=lively(3, 60)), tmp_path / "answer.json"
    options = ["--technique", "m-invariance", "--attack", "compromised", "--metric", "gcp", "--json", str(answer)]
    assert main(["compare", str(path), "--quiet", *options]) == 0
    assert json.loads(answer.read_text())["cells"][0]["exposed"] > 0
    assert cells["m-invariance", "compromised"]["exposed"] == 0


def test_a_cell_that_makes_no_sense_says_why(cells: Cells) -> None:
    assert cells["m-invariance", "linkage"]["exposed"] is None
    assert "decoupled" in cells["m-invariance", "linkage"]["note"]
    assert cells["m-invariance-decoupled", "linkage"]["exposed"] == 0
    assert cells["naive", "worlds"]["exposed"] is None
    assert "at most 9 people" in cells["naive", "worlds"]["note"]


def test_a_technique_that_refuses_says_so_in_its_own_words_and_the_others_go_on(
    document: dict[str, Any], cells: Cells
) -> None:
    note = cells["sequential", "intersection"]["note"]
    assert note.startswith("not published: ")
    assert "(release r2)" in note
    assert not [one for one in document["metrics"] if one["technique"] == "sequential"]
    assert [one for one in document["metrics"] if one["technique"] == "bpg"]


def test_exact_values_have_no_error_and_protection_costs_some(document: dict[str, Any]) -> None:
    error = {one["technique"]: one["value"] for one in document["metrics"] if one["metric"] == "query-error"}
    assert error["without-ids"] == pytest.approx(0, abs=1e-9)
    assert error["m-invariance"] > error["naive"] > 0


def test_nothing_is_written_but_private_results_and_what_was_asked_for(clinic: Path, document: dict[str, Any]) -> None:
    folder = clinic.parent
    assert {path.name for path in folder.iterdir()} == {
        "answer.json", "page.html", "private", "series.yaml", "snapshots",
    }  # fmt: skip
    kept = [path for path in (folder / "private").rglob("*") if path.is_file()]
    assert len(kept) == 9
    assert {path.parent for path in kept} == {folder / "private" / "clinic" / ".comparison"}
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in [*kept, folder / "answer.json", folder / "page.html"])
    assert (folder / "private" / "clinic").stat().st_mode & 0o777 == 0o700
    ids = {text for text in private_texts(folder / "snapshots") if not text.startswith(",")}
    for path in [*kept, folder / "answer.json", folder / "page.html"]:
        assert leaks(ids, path.read_text()) == []


def test_what_is_finished_is_not_computed_again_and_what_was_interrupted_is(
    clinic: Path, document: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    real = comparison.compare_one

    def counted(compared: Any, *given: Any, **named: Any) -> Outcome:
        made.append(compared.label)
        return real(compared, *given, **named)

    monkeypatch.setattr(comparison_run, "compare_one", counted)
    answer = tmp_path / "again.json"
    options = ["compare", str(clinic), "--quiet", "--attack", ",".join(QUICK), "--json", str(answer)]
    assert main(options) == 0
    assert made == []
    assert json.loads(answer.read_text()) == document
    damaged = next(iter(sorted((clinic.parent / "private" / "clinic" / ".comparison").iterdir())))
    damaged.write_text("{")
    assert main(options) == 0
    assert len(made) == 1
    without_seconds = {key: document[key] for key in ("cells", "metrics")}
    assert {key: json.loads(answer.read_text())[key] for key in without_seconds} == without_seconds


def test_a_kill_keeps_the_attacks_that_were_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_series(tmp_path, text=SMALL, snapshots=lively(3, 60))
    ran: list[str] = []
    real: Any = comparison._cell

    def cell(name: str, *given: Any) -> Any:
        if name == "propagation" and "propagation" not in ran:
            ran.append(name)
            raise KeyboardInterrupt
        ran.append(name)
        return real(name, *given)

    monkeypatch.setattr(comparison, "_cell", cell)
    options = ["compare", str(path), "--quiet", "--technique", "naive"]
    options += ["--attack", "intersection,difference,propagation"]
    assert main(options) == 130
    assert ran == ["intersection", "difference", "propagation"]
    assert main(options) == 0
    assert ran == ["intersection", "difference", "propagation", "propagation"]


def test_another_snapshot_or_another_parameter_is_computed_anew(tmp_path: Path) -> None:
    snapshots = lively(2, 60)
    path = write_series(tmp_path, text=SMALL, snapshots=snapshots)
    options = ["compare", str(path), "--quiet", "--technique", "naive", "--attack", "intersection"]
    kept = tmp_path / "private" / "clinic" / ".comparison"
    assert main(options) == 0
    snapshots["r2"].iloc[1:].to_csv(tmp_path / "snapshots" / "r2.csv", index=False)
    assert main(options) == 0
    assert len(list(kept.iterdir())) == 2
    written_down = "compare: {naive: {k: 3, ell: 3}, mondrian: {heuristic: width}}\n"  # the defaults
    path.write_text(plainly_published(SMALL + written_down))
    assert main(options) == 0
    assert len(list(kept.iterdir())) == 2
    path.write_text(plainly_published(f"{SMALL}compare: {{naive: {{k: 9}}, wide: {{name: mondrian, k: 12}}}}\n"))
    assert main([*options[:3], "--technique", "naive,wide", "--attack", "intersection"]) == 0
    assert len(list(kept.iterdir())) == 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--technique", "magic"], "--technique (magic) must name some of without-ids, naive, m-invariance"),
        (["--attack", "magic"], "--attack (magic) must name some of intersection"),
        (["--metric", "magic"], "--metric (magic) must name some of query-error"),
        (["--html", "published/clinic/page.html"], "--html"),
        (["--json", "published/clinic/page.json"], "--json"),
    ],
)
def test_wrong_usage_is_a_sentence(
    clinic: Path, options: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(clinic.parent)
    assert main(["compare", str(clinic), "--quiet", *options]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("compare", "said"),
    [
        ("{magic: {k: 3}}", "compare.magic must be one of m-invariance"),
        ("{bpg: {sparkle: 3}}", "compare.bpg.sparkle must be a parameter of it (k, ell"),
        ("{m-invariance: {m: 4}}", "compare.m-invariance must be left out"),
    ],
)
def test_a_wrong_key_under_compare_is_a_sentence(
    tmp_path: Path, compare: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_series(tmp_path, text=f"{SMALL}compare: {compare}\n", snapshots=lively(2, 60))
    assert main(["compare", str(path), "--quiet"]) == 2
    assert said in capsys.readouterr().err


def test_without_a_snapshot_there_is_nothing_to_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(write_series(tmp_path, text=SMALL)), "--quiet"]) == 2
    assert "snapshots/r1.csv" in capsys.readouterr().err


def test_where_releases_select_people_the_baselines_show_only_these(tmp_path: Path) -> None:
    selecting = SMALL.replace("[r1, r2, r3]}", '[r1, r2], select: {r1: "age > 50"}}')
    path = write_series(
        tmp_path, text=selecting.replace("{name: m-invariance, m: 3}", "{name: bpg, k: 3}"), snapshots=lively(2, 120)
    )
    answer = tmp_path / "answer.json"
    options = ["--technique", "without-ids,bpg", "--attack", "intersection", "--json", str(answer)]
    assert main(["compare", str(path), "--quiet", *options]) == 0
    found = {cell["technique"]: cell for cell in json.loads(answer.read_text())["cells"]}
    selected = {
        person
        for release, least in (("r1", 51), ("r2", 0))
        for frame in [pd.read_csv(tmp_path / "snapshots" / f"{release}.csv")]
        for person in frame[frame["age"] >= least]["patient"]
    }
    assert found["without-ids"]["of"] == len(selected)
    assert found["bpg"]["exposed"] == 0


def test_the_front_has_the_points_that_no_other_beats() -> None:
    points = {"a": (0.0, 5.0), "b": (3.0, 1.0), "c": (3.0, 2.0), "d": (0.0, 5.0), "e": (9.0, 0.5)}
    assert pareto_front(points) == ["a", "b", "d", "e"]
    everything = {str(at): tuple(one) for at, one in enumerate(np.random.default_rng(0).integers(0, 9, (50, 2)))}
    front = pareto_front(everything)  # type: ignore[arg-type]
    beaten = [
        name
        for name, (x, y) in everything.items()
        if any(a <= x and b <= y and (a, b) != (x, y) for a, b in everything.values())
    ]
    assert sorted(front + beaten) == sorted(everything)


@pytest.mark.slow
def test_two_processes_find_what_one_finds(
    clinic: Path, document: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison_run, "MANY_ROWS", 0)
    path, answer = write_series(tmp_path, text=SMALL, snapshots=lively(3, 60)), tmp_path / "answer.json"
    assert main(["compare", str(path), "--quiet", "--attack", ",".join(QUICK), "--json", str(answer)]) == 0
    found = json.loads(answer.read_text())
    assert (found["cells"], found["metrics"]) == (document["cells"], document["metrics"])


def test_another_process_gets_arrays_of_the_types_that_were_compiled_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba compiles a kernel anew for an array that may be written to, and unpickled arrays may."""
    mine: dict[str, Any] = {}
    monkeypatch.setattr(comparison_run, "_MINE", mine)
    sent = comparison_run.Work({False: snapshots(), True: []}, ("r1", "r2"), None, None, None)  # type: ignore[arg-type]
    comparison_run._begin(pickle.loads(pickle.dumps(sent)), None)  # type: ignore[arg-type]
    arrays = [
        array for one in mine["work"].snapshots[False] for array in (one.persons, one.qi, one.sensitive, one.other)
    ]
    assert arrays
    assert not any(array.flags.writeable for array in arrays)


def test_the_questions_are_the_same_for_all_and_exact_values_answer_them(document: dict[str, Any]) -> None:
    published = set(document["seconds"])
    assert len(document["questions"]) >= 8
    for question in document["questions"]:
        assert {answer["technique"] for answer in question["answers"]} == published
        exact = next(answer for answer in question["answers"] if answer["technique"] == "without-ids")
        assert exact["holds"] is True
        if question["kind"] != "quantile":  # only so many places are tried for a quantile
            assert exact["estimate"] == pytest.approx(question["truth"])
    held, of, error = answer_summary(document["questions"], "m-invariance")
    assert of == len(document["questions"])
    assert 0 <= held <= of
    assert error is not None
    assert error > 0


def test_a_question_that_a_release_cannot_answer_says_why(tmp_path: Path) -> None:
    text = SMALL.replace("[r1, r2, r3]}", "[r1, r2], columns: {r2: [age, disease]}}")
    path = write_series(
        tmp_path, text=text.replace("{name: m-invariance, m: 3}", "{name: sequential, ell: 2}"), snapshots=lively(2, 60)
    )
    answer, page = tmp_path / "answer.json", tmp_path / "page.html"
    options = ["--technique", "without-ids", "--attack", "intersection", "--json", str(answer), "--html", str(page)]
    assert main(["compare", str(path), "--quiet", *options]) == 0
    asked = {one["question"]: one["answers"][0] for one in json.loads(answer.read_text())["questions"]}
    unanswered = {text: one for text, one in asked.items() if one["estimate"] is None}
    assert unanswered
    assert all("age" not in text for text in unanswered)
    assert all(
        "name a column that the release shows" in one["note"] or "column" in one["note"] for one in unanswered.values()
    )
    assert all(one["holds"] is None for one in unanswered.values())
    assert "Questions without an answer" in page.read_text()
