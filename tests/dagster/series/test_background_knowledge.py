"""`knowledge` and `adversary` in series.yaml: files that a person writes, every error at once, frozen once used."""

import json
from pathlib import Path

import dagster as dg
import numpy as np
import pandas as pd
import pytest
from builders.assets import Maker, checked

from reanon_core.model.errors import InvalidSchema
from reanon_dagster.cli import main
from reanon_dagster.releasing.evidence import evidence_of
from reanon_dagster.series.series_file import load_series

SERIES = """\
series: ward
source: {path: "snapshots/{release}.csv", id: patient}
releases: {names: [r1, r2, r3]}
quasi_identifiers:
  age: {kind: numeric, domain: [0, 99]}
  gender: {kind: categorical, order: [F, M]}
sensitive: {column: result, values: [mild, severe, cured]}
technique: {name: js-reduce, k: 5, t: 0.6, j: 1.0}
"""
DOMAIN = """\
knowledge:
  source: domain
  classes: {age: [50], gender: each}
  prior: prior.csv
  transitions: transitions.csv
"""
PRIOR = "age,value,probability\n30,mild,0.9\n30,severe,0.1\n70,mild,0.5\n70,severe,0.5\n"
TRANSITIONS = """\
gender,from,to,probability
,mild,mild,0.6
,mild,severe,0.2
,mild,cured,0.2
F,severe,severe,0.5
F,severe,mild,0.5
M,severe,severe,1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "prior.csv").write_text(PRIOR)
    (tmp_path / "transitions.csv").write_text(TRANSITIONS)
    (tmp_path / "snapshots").mkdir()
    rng = np.random.default_rng(0)
    age, gender = rng.integers(0, 100, 90), rng.choice(["F", "M"], 90)
    for release in ("r1", "r2", "r3"):
        frame = pd.DataFrame(
            {
                "patient": [f"Zacharias-{i:03d}" for i in range(90)],
                "age": age,
                "gender": gender,
                "result": rng.choice(["mild", "severe", "cured"], 90),
            }
        )
        frame.to_csv(tmp_path / "snapshots" / f"{release}.csv", index=False)
    return tmp_path


def written(folder: Path, more: str = DOMAIN, text: str = SERIES) -> Path:
    path = folder / "series.yaml"
    path.write_text(text + more)
    return path


def sentences(path: Path) -> list[str]:
    with pytest.raises(InvalidSchema) as error:
        load_series(path)
    return str(error.value).splitlines()


def test_tables_are_read_by_class(folder: Path) -> None:
    known = load_series(written(folder)).background
    assert known is not None
    assert known.classes.count == 4
    assert known.prior is not None
    assert known.prior.tolist() == [[0.9, 0.1, 0]] * 2 + [[0.5, 0.5, 0]] * 2  # young, then old; women, then men
    assert known.emission is not None
    assert known.following is not None
    mild, severe = known.following[0, :2]
    assert known.emission[:, mild].tolist() == [pytest.approx([0.6, 0.2, 0.2])] * 4
    assert known.emission[[0, 1], severe].tolist() == [[0.5, 0.5, 0], [0, 1, 0]]
    assert not known.emission[:, known.following[0, 2]].any()  # nothing follows a cure


def test_a_table_may_name_states_of_its_own(folder: Path) -> None:
    table = "from,to,probability,then\nmild,mild,1,mild again\nmild again,severe,1,\nsevere,severe,1,\n"
    (folder / "transitions.csv").write_text(table)
    known = load_series(written(folder)).background
    assert known is not None
    assert known.following is not None
    assert known.emission is not None
    again = known.following[known.following[0, 0], 0]
    assert again != known.following[0, 0]
    assert known.emission[0, again].tolist() == [0, 1, 0]


def test_a_memory_shortens_a_table_with_states_of_its_own(folder: Path) -> None:
    table = "from,to,probability,then\nmild,mild,1,mild again\nmild again,severe,1,\n"
    table += "severe,severe,0.5,\nsevere,cured,0.5,\n"
    (folder / "transitions.csv").write_text(table)
    known = load_series(written(folder, DOMAIN + "  memory: 1\n")).background
    assert known is not None
    assert known.emission is not None
    assert known.following is not None
    # Of all who are mild, half are for the first time, and stay; the others have been before, and get worse.
    assert known.emission[0, known.following[0, 0]] == pytest.approx([0.5, 0.5, 0])
    assert len(known.following) == 4


def test_every_error_of_the_files_is_said_at_once(folder: Path) -> None:
    (folder / "prior.csv").write_text("age,value,probability\n30,mild,0.9\n30,deadly,0.1\nold,mild,1\n70,mild,1.5\n")
    (folder / "transitions.csv").write_text("from,to,probability\nmild,mild,0.6\nmild,mild,0.6\nnowhere,mild,1\n")
    said = "\n".join(sentences(written(folder)))
    assert "knowledge.prior (prior.csv, line 3: deadly) must name values of result only" in said
    assert "knowledge.prior (prior.csv, line 4: old) must name values of age" in said
    assert "knowledge.prior (prior.csv, line 5: 1.5) must hold probabilities between 0 and 1" in said
    assert "knowledge.prior (prior.csv: 30 has 0.9) must have probabilities that sum to 1" not in said
    assert "knowledge.transitions (transitions.csv, line 3: mild) must give each step of a class once" in said
    assert "knowledge.transitions (transitions.csv: mild has 1.2) must have probabilities that sum to 1" in said
    assert "line 4: nowhere) must start from a value, or from a state that some line leads to" in said


def test_long_lists_of_errors_are_cut(folder: Path) -> None:
    lines = "".join(f"deadly{i},0.1\n" for i in range(30))
    (folder / "prior.csv").write_text(f"value,probability\n{lines}")
    said = sentences(written(folder))
    assert len(said) == 11
    assert "be corrected in 20 more places" in said[-1]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ("knowledge: {source: domain}\n", "knowledge.transitions must be given with `source: domain`, and only then"),
        ("knowledge: {source: mined}\n", "knowledge.corpus must be given with `source: mined`, and only then"),
        ("knowledge: {classes: {zip: [1]}}\n", "knowledge.classes.zip must be one of the quasi-identifiers (age,"),
        ("knowledge: {classes: {age: [9, x]}}\n", "knowledge.classes.age (x) must list values of that column, or be"),
        ("knowledge: {classes: {age: [60, 50]}}\n", "knowledge.classes.age (60, 50) must ascend, each value once"),
        ("knowledge: {prior: none.csv}\n", "knowledge.prior (none.csv) must be a readable file; paths start at"),
        ("adversary: {knowledge: {prior: none.csv}}\n", "adversary.knowledge.prior (none.csv) must be a readable file"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_a_sentence(folder: Path, more: str, sentence: str) -> None:
    assert any(sentence in said for said in sentences(written(folder, more)))


def test_unknown_keys_and_ranges_are_refused(folder: Path) -> None:
    said = "\n".join(sentences(written(folder, "knowledge: {sauce: domain, memory: 9}\n")))
    assert "knowledge.sauce" in said
    assert "knowledge.memory (9) must" in said


def test_knowledge_that_names_values_needs_them_declared(folder: Path) -> None:
    text = SERIES.replace("{column: result, values: [mild, severe, cured]}", "result")
    (said,) = sentences(written(folder, DOMAIN, text))
    assert said.startswith("sensitive.values must be declared, because knowledge.prior names them")


def test_a_corpus_is_mined(folder: Path) -> None:
    (folder / "corpus.csv").write_text(
        "person,time,value\na,1,mild\na,2,mild\na,10,severe\nb,1,mild\nb,2,severe\nc,2,severe\nc,10,mild\n"
    )
    known = load_series(written(folder, "knowledge: {source: mined, corpus: corpus.csv}\n")).background
    assert known is not None
    assert known.emission is not None
    assert known.emission[0, 1].tolist() == pytest.approx([1 / 3, 2 / 3, 0])  # time 10 comes after time 2
    assert known.prior is None


def test_the_series_is_published_and_audited_under_its_knowledge(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(folder)
    assert main(["backfill", str(path), "--seed", "1", "--quiet"]) == 0
    report = folder / "audit.json"
    assert main(["audit", str(path), "--attack", "background", "--json", str(report)]) == 0
    (attack,) = json.loads(report.read_text())["attacks"]
    assert attack["of"] == 90
    assert "the declared transition table" in attack["note"]
    assert -1 <= attack["adversary gain"] <= 1
    assert 0 <= attack["adversary confidence"] <= 1
    checks = {check["check"] for check in json.loads(report.read_text())["checks"]}
    assert checks == {"well-formedness", "k-anonymity", "l-diversity", "t-closeness", "js-divergence"}
    assert "Zacharias" not in report.read_text() + capsys.readouterr().out


def test_the_adversary_may_know_something_else(folder: Path) -> None:
    path = written(folder, "adversary: {knowledge: {source: domain, transitions: transitions.csv, prior: p.csv}}\n")
    (folder / "p.csv").write_text("value,probability\nmild,1\n")
    (folder / "transitions.csv").write_text("from,to,probability\nmild,mild,1\n")
    series = load_series(path)
    assert series.background is None
    assert series.adversary_background is not None
    assert main(["backfill", str(path), "--quiet"]) == 0
    path.write_text(SERIES)  # the adversary of an audit changes no release, so it may be changed
    assert main(["audit", str(path), "--attack", "background", "--json", str(folder / "a.json"), "--quiet"]) == 0
    (attack,) = json.loads((folder / "a.json").read_text())["attacks"]
    assert "counted in the original tables" in attack["note"]


def test_the_knowledge_of_the_defence_is_frozen(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(folder)
    assert main(["publish", str(path), "--quiet"]) == 0
    (folder / "prior.csv").write_text(PRIOR.replace("0.9", "0.8").replace("0.1", "0.2"))
    assert main(["publish", str(path), "--quiet"]) == 1
    assert "froze its settings: knowledge was" in capsys.readouterr().err


def test_m_invariance_may_have_its_knowledge_changed(folder: Path) -> None:
    text = SERIES.replace("{name: js-reduce, k: 5, t: 0.6, j: 1.0}", "{name: mondrian, k: 5}")
    path = written(folder, DOMAIN, text)
    assert main(["publish", str(path), "--quiet"]) == 0
    path.write_text(text)
    assert main(["publish", str(path), "--quiet"]) == 0


def test_withheld_people_are_counted_with_the_reason(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = SERIES.replace("k: 5, t: 0.6, j: 1.0", "k: 5, t: 0.05, j: 1.0, max_run: 60, leftovers: suppress")
    assert main(["publish", str(written(folder, "", text))]) == 0
    assert "withheld (t: no group close enough to the table)" in capsys.readouterr().out


def test_the_evidence_of_such_a_series_shows_what_an_adversary_gains(folder: Path) -> None:
    path = written(folder)
    assert main(["backfill", str(path), "--quiet"]) == 0
    numbers = evidence_of(load_series(path), "r3")
    assert -1 <= numbers["adversary gain"] <= 1
    assert numbers["people attacked by background"] == 90


def test_the_assets_make_the_same_series_and_show_the_gain(folder: Path) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        maker = Maker(written(folder), instance)
        for release in ("r1", "r2"):
            result = maker.make(release)
            assert result.success
            assert checked(result) == dict.fromkeys(
                (
                    "valid",
                    "drift",
                    "eligibility",
                    "well_formedness",
                    "k_anonymity",
                    "l_diversity",
                    "t_closeness",
                    "js_divergence",
                    "audit",
                ),
                True,
            )
        assert isinstance(maker.metadata("evidence")["adversary gain"].value, float)
