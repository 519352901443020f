"""Progress bars for work that consists of several parts."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager


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
