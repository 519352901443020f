"""`reanon completion`: a script that completes commands, options and files in bash, zsh or fish."""

import argparse
import sys
from pathlib import Path


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    _complete_files(options.parser)
    sys.stdout.write(shtab.complete(options.parser, shell=options.shell) + "\n")
    return 0


def _complete_files(parser: argparse.ArgumentParser) -> None:
    """Let shells offer files for every argument that is a path, of every command."""
    import shtab

    for action in parser._actions:  # noqa: SLF001  argparse has no other way to ask a parser what it accepts
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for command in action.choices.values():
                _complete_files(command)
        elif action.type is Path:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
