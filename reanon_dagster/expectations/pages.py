"""The templates of Data Docs: Great Expectations' pages without scripts, styles and pictures from the internet.

The original pages load code from six hosts, report a project id to one of them, and show an empty list without a
network. These show the same content in plain HTML that fetches nothing.
"""

from typing import Any

STYLE = """
:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 70rem; padding: 0 1.5rem 3rem; font: 16px/1.5 system-ui, sans-serif; }
nav { padding: 1rem 0; border-bottom: 1px solid #8886; margin-bottom: 1.5rem; }
h5 { font-size: 1.15rem; margin: 1.2rem 0 .3rem; } h6 { font-size: 1rem; margin: .8rem 0 .2rem; }
table { border-collapse: collapse; width: 100%; margin: .3rem 0 1rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid #8883; }
.badge { font-weight: 600; } .badge::after { content: ":"; }
.fas { font-style: normal; font-weight: 700; }
.fa-check-circle { color: #2e7d32; } .fa-check-circle::before { content: "\\2714"; }
.fa-times { color: #c62828; } .fa-times::before { content: "\\2718"; }
.fa-exclamation-triangle { color: #b26a00; } .fa-exclamation-triangle::before { content: "!"; }
td .fa-check-circle::after { content: " passed"; } td .fa-times::after { content: " failed"; }
.cooltip .top { display: none; }
"""

PAGE = """<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="UTF-8">
    <meta name="viewport" content="width=device-width, initial-scale=1.0">
    <meta name="referrer" content="no-referrer">
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
    <title>{{ page_title | default("Data Docs", true) | e }}</title>
    <style>{% include 'reanon.css' %}</style>
  </head>
  <body>
    {% set up = {"ValidationResultsPageRenderer": "../../../../", "ExpectationSuitePageRenderer": "../"} -%}
    <nav><a href="{{ up.get(renderer_type, '') }}index.html">Data Docs</a>
      {% if page_title %}&rsaquo; {{ page_title | e }}{% endif %}</nav>
    {% for section in sections %}{% set section_loop = loop -%}{% include 'section.j2' %}{% endfor %}
  </body>
</html>
"""

LIST = """
{% set titles = {"validation_success": "Status", "run_name": "Release", "expectation_suite_name": "Suite",
                 "run_time": "Judged at"} -%}
{% set there = content_block["table_columns"] | map(attribute="field") | list -%}
<table>
  <thead><tr>{% for field, title in titles.items() if field in there %}<th>{{ title }}</th>{% endfor %}
    <th></th></tr></thead>
  <tbody>{% for row in content_block["table_data"] -%}
    <tr>{% for field in titles if field in there %}<td>{{ row[field] | render_content_block }}</td>{% endfor %}
      <td><a href="{{ row["_table_row_link_path"] | e }}">open</a></td></tr>{% endfor %}</tbody>
</table>
"""

TABS = """
{% for tab in content_block["tabs"] -%}
<h5>{{ tab["tab_name"] | e }}</h5>{{ tab["tab_content"] | render_content_block(content_block_id="tab-" ~ loop.index) }}
{% endfor %}
"""

# The first block says which run it was; the others describe a frame in memory, which is of no use here.
DETAILS = """
<details><summary>{{ content_block.get("collapse_toggle_link", "Show more...") | render_content_block }}</summary>
{% for block in content_block["collapse"][:1] -%}{{ block | render_content_block(content_block_id="more") }}{% endfor %}
</details>
"""

NO_ASSET = "Data asset: None<br>"
"""What every page says about a frame in memory."""

TEMPLATES = {
    "page.j2": PAGE,
    "index_page.j2": PAGE,
    "reanon.css": STYLE,
    "bootstrap_table.j2": LIST,
    "tabs.j2": TABS,
    "collapse.j2": DETAILS,
}


class PlainPage:
    """The view of one page. Great Expectations finds it by its name."""

    def __init__(self) -> None:
        from great_expectations.render.view.view import DefaultJinjaPageView
        from jinja2 import ChoiceLoader, DictLoader

        self._view = DefaultJinjaPageView()
        original = self._view.env.loader
        self._view.env.loader = ChoiceLoader([DictLoader(TEMPLATES), *([original] if original else [])])

    def render(self, document: Any, **settings: Any) -> str:
        """The page as HTML."""
        page = str(self._view.render(document, **settings))  # type: ignore[no-untyped-call]
        return page.replace(NO_ASSET, "")
