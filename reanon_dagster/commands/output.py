"""How the commands speak: results on standard output, progress and warnings on standard error."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reanon_dagster.releasing.candidate import Candidate
    from reanon_dagster.series.series import Series


def say(text: str, *, quiet: bool) -> None:
    """A line of the result."""
    if not quiet:
        sys.stdout.write(f"{text}\n")


def warn(text: str) -> None:
    """A line that a person should see even in a pipe."""
    sys.stderr.write(f"reanon: {text}\n")


def caution(series: "Series") -> None:
    """What the steward must know about the technique, if anything."""
    if series.technique.caution:
        warn(f"caution: {series.technique.caution}")


def attend(name: str, candidate: "Candidate | None") -> None:
    """What the steward must read about a release, also in a pipe."""
    for note in candidate.notes if candidate else ():
        warn(f"{name} {candidate.release if candidate else ''}: {note}")


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, quiet: bool, title: str | None = None) -> None:
    """A table on standard output; numbers to the right."""
    if quiet:
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    shown = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for place, heading in enumerate(headings):
        numeric = all(_is_number(row[place]) for row in rows) and bool(rows)
        shown.add_column(heading, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        shown.add_row(*row)
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(shown)


@contextmanager
def progress(title: str, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A line that shows what is going on; nothing where no one watches."""
    if quiet:
        yield lambda _: None
        return
    from reanon_core.compiled import compilation_notice

    with compilation_notice(_announce_compilation):
        if not sys.stderr.isatty():
            yield lambda _: None
            return
        from rich.console import Console

        with Console(stderr=True).status(title) as status:
            yield lambda step: status.update(f"{title}: {step}")


@cache
def _announce_compilation() -> None:
    """Said once: the first command after an installation waits for the compiler."""
    warn("compiling numerical kernels for this machine; this takes up to a minute, and happens only once")


def _is_number(text: str) -> bool:
    return text.replace(",", "").replace(".", "").replace("%", "").replace("-", "").isdigit() or not text
