"""What commands print: results on standard output, progress and warnings on standard error."""

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reanon_core.model.errors import ReanonError
    from reanon_dagster.releasing.candidate import Candidate
    from reanon_dagster.series.series import Series

NOTHING = ("", "0")


def say(text: str, *, quiet: bool) -> None:
    """Print a line of the result."""
    if not quiet:
        sys.stdout.write(f"{text}\n")


def warn(text: str) -> None:
    """Print a line that is seen even if the result goes into a pipe."""
    sys.stderr.write(f"reanon: {text}\n")


def warn_of_caution(series: "Series") -> None:
    """Print what the steward must know about the technique, if anything."""
    if series.technique.caution:
        warn(f"caution: {series.technique.caution}")


def warn_of_flaws(series: "Series") -> None:
    """Print what is wrong between the store and the published folder, if anything."""
    from reanon_dagster.releasing.integrity import integrity_of

    found = integrity_of(series)
    for sentence in (*found.flaws, *found.strays):
        warn(f"{series.name}: {sentence}")


def warn_of_notes(series: str, candidate: "Candidate") -> None:
    """Print what the steward must read about a release."""
    for note in candidate.notes:
        warn(f"{series} {candidate.release}: {note}")


def warn_of_refusal(series: str, release: str, error: "ReanonError") -> int:
    """Print why a release would be refused, and return the exit code for it."""
    first, *more = str(error).splitlines()
    warn(f"{series}: release {release} would be refused: {first}")
    for sentence in more:
        warn(f"{series}: {sentence}")
    if error.persons is not None:
        warn(f"{series}: `reanon publish` would write whom this concerns to a file in the private folder")
    return error.exit_code


def technique_line(series: "Series") -> str:
    """The technique with the parameters that the series file writes, in one line."""
    written = ", ".join(f"{key} = {value}" for key, value in series.config.technique.params.items())
    form = f", decoupled, k = {series.config.publish.k}" if series.form == "decoupled" else ""
    return f"{series.config.technique.name}{f', {written}' if written else ''}{form}"


def table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    quiet: bool,
    title: str | None = None,
    optional: Collection[str] = (),
) -> None:
    """Print a table, with numbers aligned to the right; an optional column without anything but zeros is left out."""
    if quiet:
        return
    listed = [
        at for at, one in enumerate(headings) if one not in optional or any(row[at] not in NOTHING for row in rows)
    ]
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(
        title=None if title is None else Text(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for column in listed:
        numeric = all(_is_number(row[column]) for row in rows) and bool(rows)
        shown.add_column(headings[column], justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(Text(row[column]) for column in listed))  # plain: brackets are no markup
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(shown)


@contextmanager
def progress(title: str, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A line that shows the current step; nothing if standard error is not a terminal."""
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
    """Say once why the first command after an installation waits."""
    warn("compiling numerical kernels for this machine; this takes up to a minute, and happens only once")


def _is_number(text: str) -> bool:
    return text.replace(",", "").replace(".", "").replace("%", "").replace("-", "").isdigit() or not text


@contextmanager
def several_steps(title: str, parts: Sequence[str], *, quiet: bool) -> Iterator[Callable[[str, str], None]]:
    """A bar over all parts and a line for each that is under way; nothing if standard error is not a terminal.

    What is yielded gets a part and the step that begins with it; an empty step: the part is finished.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda _part, _step: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    shown = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*shown, console=Console(stderr=True), transient=True) as bars:
        whole = bars.add_task(title, total=len(parts))
        lines = {part: bars.add_task(part, total=None, visible=False) for part in parts}

        def watch(part: str, step: str) -> None:
            if step:
                bars.update(lines[part], description=f"{part}: {step}", visible=True)
            else:
                bars.update(lines[part], visible=False)
                bars.advance(whole)

        yield watch
