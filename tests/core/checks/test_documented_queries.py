"""The queries of docs/checks.md are those that the checks run, and its example runs."""

import re
from pathlib import Path

import pytest

from reanon_core.checks import (
    judged_release,
    k_anonymity,
    known_signatures,
    l_diversity,
    m_uniqueness,
    published_boxes,
    shared_boxes,
    t_closeness,
    weak_m_invariance,
    well_formedness,
)
from reanon_core.model.schema import QuasiIdentifier
from reanon_dagster.cli import main

PAGE = (Path(__file__).parents[3] / "docs" / "checks.md").read_text()
SHOWN = {" ".join(text.split()) for text in re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)}
SIGNATURE = {"signature": "bit_or(1::UBIGINT << value)", "distinct": "bit_count(signature)"}
RUN = {
    "shown": judged_release.SHOWN,
    "groups": judged_release.GROUPS.format(**SIGNATURE),
    "k-anonymity": k_anonymity.SMALL,
    "l-diversity": l_diversity.DIVERSITY.format(poor=l_diversity.POOR["distinct"]),
    "m-uniqueness": m_uniqueness.BREACHES,
    "weak m-uniqueness": weak_m_invariance.UNEVEN,
    "shared boxes": shared_boxes.SHARED.format(sizes=shared_boxes.OF_PEOPLE),
    "surplus": t_closeness.SURPLUS.format(whole=t_closeness.WHOLE["release"]),
    "distances": t_closeness.DISTANCES.format(moved=t_closeness.EQUAL, rounding=t_closeness.ROUNDING),
    "links": well_formedness.LINKS,
    "counterfeits": well_formedness.HELD.format(rows="count(*)", invented="false", shown="shown"),
    "miscounted": well_formedness.MISCOUNTED,
    "signatures": known_signatures.SIGNATURES.format(**SIGNATURE),
    "pairs": known_signatures.PAIRS,
    "moved": known_signatures.MOVED,
    "different": known_signatures.DIFFERENT,
    "remembered": known_signatures.REMEMBERED,
}


@pytest.mark.parametrize("name", RUN)
def test_a_query_of_the_page_is_the_one_that_runs(name: str) -> None:
    assert " ".join(RUN[name].split()) in SHOWN


def test_the_page_shows_nothing_else_but_two_rules_of_intervals() -> None:
    rules = SHOWN - {" ".join(text.split()) for text in RUN.values()}
    assert len(rules) == 2
    fit = " ".join(published_boxes.uncovered([(0, QuasiIdentifier(name="a"))]).split())
    assert any(rule in fit for rule in rules)


def test_the_example_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "my-series", "--quiet"]) == 0
    assert main(["publish", "my-series/series.yaml", "--quiet"]) == 0
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    capsys.readouterr()
    exec(example, {})
    told = capsys.readouterr().out
    assert "'smallest'" in told
    assert "'people'" in told
