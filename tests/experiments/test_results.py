"""The figures of docs/results: every one can be made, a check notices a changed number, a re-run gives the same."""

import json
from pathlib import Path

import numpy as np
import pytest
from builders.long_lists import sampled
from experiments.results.__main__ import PAPERS, main
from experiments.results.count_series import count_step
from experiments.results.figure import KEPT, differences
from experiments.results.t_series import Scale, snapshots
from populations import adult

from reanon_core.publishing import publish
from reanon_core.techniques.m_invariance.technique import MInvariance

FIGURES = [(paper, name) for paper, module in PAPERS.items() for name in module.FIGURES]
EVERY_RUN = [
    ("xt07", "5"),
    ("xt07", "7"),
    ("rb09", "2"),
    ("rb09", "7"),
    ("bpg", "3-size"),
    ("bpg", "3"),
    ("rpb12", "6"),
    ("rpb12", "7"),
    ("st15", "6"),
    ("st15", "15"),
]
"""Two figures of each paper, made and drawn in different ways."""
PAGES = KEPT.parent
LARGEST = 80_000
"""How many bytes a picture may have."""


@pytest.mark.parametrize(("paper", "name"), sampled(FIGURES, EVERY_RUN))
def test_a_tiny_run_makes_the_numbers_and_the_picture_of_every_figure(paper: str, name: str, tmp_path: Path) -> None:
    assert main([paper, "--figure", name, "--small", "--out", str(tmp_path)]) == 0
    document = json.loads((tmp_path / f"{paper}-{name}.json").read_text())
    figure = PAPERS[paper].FIGURES[name]
    assert set(document) == {"title", *figure.present()}
    assert (tmp_path / f"{paper}-{name}.png").read_bytes().startswith(b"\x89PNG")


def test_a_check_passes_on_the_same_numbers_and_fails_on_a_changed_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["xt07", "--figure", "5", "--small", "--out", str(tmp_path)]
    assert main([*command, "--check"]) == 1  # nothing is kept yet
    main(command)
    assert main([*command, "--check"]) == 0
    path = tmp_path / "xt07-5.json"
    document = json.loads(path.read_text())
    document["income"]["lines"]["the paper's way"]["mean"][0] += 1
    path.write_text(json.dumps(document))
    assert main([*command, "--check"]) == 1
    assert "income/lines/the paper's way/mean/0" in capsys.readouterr().err


def test_times_are_not_compared_and_everything_else_is() -> None:
    kept = {"cpu seconds": 1.0, "groups": [3, 4.0], "way": "a"}
    assert not list(differences(kept, {**kept, "cpu seconds": 9.0}))
    assert list(differences(kept, {**kept, "groups": [3, 4.1]})) == ["groups/1: 4.1 instead of 4.0"]
    assert list(differences(kept, {"cpu seconds": 1.0, "groups": [3], "way": "b"})) == [
        "groups: [3] instead of [3, 4.0]",
        "way: 'b' instead of 'a'",
    ]


@pytest.mark.parametrize(
    "typed", [["xt07", "--small"], ["--figure", "5"], ["xt07", "--figure", "3"], ["xt07", "--check", "--draw"]]
)
def test_a_command_that_makes_no_sense_is_refused(typed: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(typed)
    assert refused.value.code == 2
    assert "error: " in capsys.readouterr().err


@pytest.mark.parametrize("technique", [MInvariance(m=4, balancing="filled", assignment="paper"), MInvariance(m=4)])
def test_a_step_over_counts_needs_as_many_counterfeits_as_the_release(technique: MInvariance) -> None:
    scale, rng = Scale(people=6_000, rows=2_000, update=200, releases=6), np.random.default_rng(1)
    state, counterfeits = technique.initial_state(), []
    for snapshot in snapshots("income", 21, scale):
        made = publish(technique, snapshot, state, rng)
        known = np.isin(snapshot.persons, state.roster.persons)
        pool = np.bincount(snapshot.sensitive[~known], minlength=50).astype(np.int64)
        signature = state.roster.signature[state.roster.persons.searchsorted(snapshot.persons[known])]
        old = np.zeros(len(state.signatures.values), np.int64)
        for bucket, value in zip(signature.tolist(), snapshot.sensitive[known].tolist(), strict=True):
            first, last = state.signatures.offsets[bucket : bucket + 2]
            old[first + state.signatures.values[first:last].tolist().index(value)] += 1
        _, plan = count_step(technique, state.signatures, old, pool)
        assert int(plan.counterfeits.sum()) == made.auxiliary.total
        assert plan.signatures.tuples == made.state.signatures.tuples
        counterfeits.append(made.auxiliary.total)
        state = made.state
    assert max(counterfeits) > 0


@pytest.mark.parametrize(("paper", "name"), FIGURES)
def test_every_figure_is_kept_and_shown_on_the_page_of_its_paper(paper: str, name: str) -> None:
    picture = KEPT / f"{paper}-{name}.png"
    assert picture.stat().st_size < LARGEST
    page = (PAGES / f"{paper}.md").read_text()
    assert f"](figures/{picture.name})" in page
    assert f"`python -m tests.experiments.results {paper} --figure {name}`" in page
    kept = json.loads(picture.with_suffix(".json").read_text())
    assert set(kept) == {"title", *PAPERS[paper].FIGURES[name].populations}


@pytest.mark.slow
@pytest.mark.skipif(not adult.FOLDER.exists(), reason="Adult does not lie beside the project")
@pytest.mark.parametrize(
    ("paper", "name"), [("xt07", "5"), ("rb09", "2"), ("bpg", "3"), ("rpb12", "7"), ("st15", "15")]
)
def test_a_spot_re_run_gives_the_kept_numbers(paper: str, name: str) -> None:
    assert main([paper, "--figure", name, "--check"]) == 0
