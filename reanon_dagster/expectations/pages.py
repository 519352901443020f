"""The pages of Data Docs: what Great Expectations renders, in plain HTML that fetches nothing.

The original pages load code from six hosts, report a project id to one of them, and show an empty list without a
network.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

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
