"""Data Docs: a page for every judgement of every release, rendered by Great Expectations from aggregates.

The pages are plain HTML that fetches nothing. The original pages load code from six hosts, report a project id to one
of them, and show an empty list without a network.
"""

import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reanon_core.model.errors import counted
from reanon_core.model.verdict import Verdict
from reanon_dagster.expectations.evaluation import evaluate
from reanon_dagster.series.expectations import CRITICAL, Expectation

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "data_docs"
"""The folder of the Data Docs, inside the private folder of a series."""
SNAPSHOT, RELEASE = "snapshot", "release"
_LIST = "judged.json"


class Suite(NamedTuple):
    """A frame, what is expected of it, and for verdicts what is shown as observed."""

    name: str
    frame: "pd.DataFrame"
    expectations: Sequence[Expectation]
    figures: Sequence[str] = ()


def verdict_suite(verdicts: Sequence[Verdict]) -> Suite:
    """Verdicts as they were given, each in a column of its own: the sentence, the figures, and whether it holds."""
    import pandas as pd

    expected = [
        Expectation(
            RELEASE,
            "expect_column_values_to_be_in_set",
            {"column": verdict.check, "value_set": [True]},
            CRITICAL if verdict.required else "warning",
            verdict.sentence,
        )
        for verdict in verdicts
    ]
    frame = pd.DataFrame({verdict.check: [verdict.holds] for verdict in verdicts})
    return Suite(RELEASE, frame, expected, [_figures(verdict) for verdict in verdicts])


def _figures(verdict: Verdict) -> str:
    first = counted(verdict.violations, "violation", "violations") if verdict.violations else "no violations"
    # Checks count many kinds of violation: zeros would hide the numbers that matter.
    return "; ".join([first, *(f"{name} {number:,.6g}" for name, number in verdict.observed.items() if number)])


def write_data_docs(folder: Path, title: str, release: str, suites: Sequence[Suite]) -> tuple[Path, set[str]]:
    """Judge the suites, write a page for each, and list them with those of earlier judgements.

    Returns the path of the list, and the names of the suites that fail.

    Nothing leaves the machine, and nothing but aggregates reaches the disk; only the owner may read it.
    """
    mask = os.umask(0o077)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        known = folder / _LIST
        listed = json.loads(known.read_text(encoding="utf-8")) if known.exists() else []
        listed[:0] = judged = [_written(folder, release, suite) for suite in suites]
        known.write_text(json.dumps(listed), encoding="utf-8")
        (folder / "index.html").write_text(index_page(title, listed), encoding="utf-8")
    finally:
        os.umask(mask)
    return folder / "index.html", {str(one["suite"]) for one in judged if not one["holds"]}


def _written(folder: Path, release: str, suite: Suite) -> dict[str, object]:
    """Judge a suite, write its page and its results, and return its line of the list."""
    found = evaluate(suite.name, suite.frame, suite.expectations)
    for one, figure in zip(found.results, suite.figures, strict=False):  # of a snapshot, the counts are shown
        one.result = {"observed_value": escape(figure)}
    at = datetime.now(tz=UTC)
    found.meta["run_id"] = {"run_name": release, "run_time": at.isoformat()}
    page = folder / release / suite.name / f"{at:%Y%m%dT%H%M%S%f}.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(result_page(found, f"{suite.name} of {release}, judged {at:%Y-%m-%d %H:%M} UTC"), encoding="utf-8")
    page.with_suffix(".json").write_text(json.dumps(found.to_json_dict(), indent=2), encoding="utf-8")
    where = page.relative_to(folder).as_posix()
    return {"release": release, "suite": suite.name, "at": f"{at:%F %T} UTC", "holds": found.success, "page": where}


PASSED = '<i class="fas fa-check-circle"></i> passed'
FAILED = '<i class="fas fa-times"></i> failed'
_STYLE = """
:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 70rem; padding: 0 1.5rem 3rem; font: 16px/1.5 system-ui, sans-serif; }
nav { padding: 1rem 0; border-bottom: 1px solid #8886; margin-bottom: 1.5rem; }
h5 { font-size: 1.15rem; margin: 1.2rem 0 .3rem; } h6 { font-size: 1rem; margin: .8rem 0 .2rem; }
table { border-collapse: collapse; width: 100%; margin: .3rem 0 1rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid #8883; }
.fas { font-style: normal; font-weight: 700; }
.fa-check-circle { color: #2e7d32; } .fa-check-circle::before { content: "\\2714"; }
.fa-times { color: #c62828; } .fa-times::before { content: "\\2718"; }
.fa-exclamation-triangle { color: #b26a00; } .fa-exclamation-triangle::before { content: "!"; }
.cooltip .top { display: none; }
"""
_PAGE = """<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="UTF-8">
    <meta name="viewport" content="width=device-width, initial-scale=1.0">
    <meta name="referrer" content="no-referrer">
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
    <title>{{ page_title | e }}</title>
    <style>{% include 'reanon.css' %}</style>
  </head>
  <body>
    <nav><a href="{{ up }}index.html">Data Docs</a> &rsaquo; {{ page_title | e }}</nav>
    {% for section in sections %}{% set section_loop = loop -%}{% include 'section.j2' %}{% endfor %}
    {% if judged is defined %}<table>
      <tr><th>Status</th><th>Release</th><th>Suite</th><th>Judged at</th><th></th></tr>{% for one in judged %}
      <tr><td>{{ passed if one.holds else failed }}</td>
        <td>{{ one.release | e }}</td><td>{{ one.suite | e }}</td><td>{{ one.at | e }}</td>
        <td><a href="{{ one.page | e }}">open</a></td></tr>{% endfor %}
    </table>{% endif %}
  </body>
</html>
"""
# The first block says which run it was; the others describe a frame in memory, which is of no use here.
_DETAILS = """
<details><summary>{{ content_block.get("collapse_toggle_link", "Show more...") | render_content_block }}</summary>
{% for block in content_block["collapse"][:1] -%}{{ block | render_content_block(content_block_id="more") }}{% endfor %}
</details>
"""
_TEMPLATES = {"page.j2": _PAGE, "reanon.css": _STYLE, "collapse.j2": _DETAILS, "graph.j2": ""}


def result_page(found: Any, title: str) -> str:
    """The page of a suite that was judged, two folders below the index."""
    from great_expectations.render.renderer.page_renderer import ValidationResultsPageRenderer

    document = ValidationResultsPageRenderer().render(found).to_json_dict()
    overview, *columns = document["sections"]
    overview["content_blocks"][0]["subheader"] = PASSED if found.success else FAILED
    for section in columns:
        section["content_blocks"][0]["header"] = escape(section["section_name"])
    return _page({**document, "page_title": title, "up": "../../"})


def index_page(title: str, judged: Sequence[Mapping[str, object]]) -> str:
    """The page that lists the others."""
    return _page({"page_title": title, "up": "", "sections": [], "judged": judged, "passed": PASSED, "failed": FAILED})


def _page(content: Mapping[str, Any]) -> str:
    from great_expectations.render.view.view import DefaultJinjaPageView
    from jinja2 import BaseLoader, ChoiceLoader, DictLoader

    environment = DefaultJinjaPageView().env
    original: BaseLoader = environment.loader  # type: ignore[assignment]  # it has one
    environment.loader = ChoiceLoader([DictLoader(_TEMPLATES), original])
    return environment.get_template("page.j2").render(content)
