"""How `make docs` builds the site: Sphinx with MyST over the Markdown that is read in the repository too."""

import re
from typing import TYPE_CHECKING

from pygments.lexers.sql import MySqlLexer

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "reanon"
author = "The reanon developers"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "docs/index"
# The source folder is the repository, so that links between documents work here as they do there.
include_patterns = [
    "*.md",
    "docs/**",
    "data/*/SOURCE.md",
    "reanon_core/bucketing/PROOF.md",
    "reanon_core/techniques/*/PAPER.md",
]
exclude_patterns = [".*", "build", "tests", "reanon_dagster", "docs/figures", "docs/results/figures", "docs/site"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = "reanon"
html_theme_options = {"top_of_page_buttons": []}
html_extra_path = ["site"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False

_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#:]+)\.md\)")
NAVIGATION = ("docs/index", "docs/decisions/README", "docs/results/README")
"""The pages whose links make the navigation; a link to a heading does not count."""


def with_navigation(_: "Sphinx", document: str, source: list[str]) -> None:
    """Append what the sidebar needs: under each heading of an index, the pages that it links to as a whole."""
    if document not in NAVIGATION:
        return
    parts = _HEADING.split(source[0])
    seen: set[str] = set()
    trees = []
    for caption, text in [("", parts[0]), *zip(parts[1::2], parts[2::2], strict=True)]:
        pages = [page for page in dict.fromkeys(_LINK.findall(text)) if page not in seen]
        seen |= set(pages)
        if pages:
            options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
            trees.append("\n".join(["```{toctree}", *options, "", *pages, "```"]))
    source[0] += "\n\n" + "\n\n".join(trees) + "\n"


def setup(app: "Sphinx") -> dict[str, bool]:
    """Join Sphinx."""
    app.connect("source-read", with_navigation)
    app.add_lexer("sql", MySqlLexer)  # the lexer of plain SQL knows no $parameters
    return {"parallel_read_safe": True, "parallel_write_safe": True}
