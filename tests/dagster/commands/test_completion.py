"""`reanon completion` and `reanon --version`: what a shell needs to know of the command."""

import argparse
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from reanon_core import __version__
from reanon_dagster.cli import main, parser


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def completed(text: str, *words: str) -> set[str]:
    """What bash offers for the last of these words."""
    line = " ".join(f"'{word}'" for word in words)
    asked = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _shtab_reanon; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    ran = subprocess.run(
        ["bash", "--norc", "-c", f"{text}\n{asked}"], capture_output=True, text=True, check=True, cwd="/"
    )
    return set(ran.stdout.split())


def commands() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_every_option_is_in_the_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = script(shell, capsys)
    assert {"init", "rehearse", "advise", "completion"} <= {name for name, _ in commands()}
    for name, command in commands():
        its_own = "\n".join(line for line in text.splitlines() if name.replace("-", "_") in line or name in line)
        assert its_own
        for action in command._actions:
            for option in action.option_strings:
                assert (f"-l {option[2:]}" if shell == "fish" and option.startswith("--") else option) in text
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=text, text=True, check=True)


def test_bash_offers_commands_options_and_choices(capsys: pytest.CaptureFixture[str]) -> None:
    text = script("bash", capsys)
    assert completed(text, "reanon", "re") == {"rehearse", "report", "restore"}
    assert completed(text, "reanon", "rehearse", "--a") == {"--ahead"}
    assert completed(text, "reanon", "advise", "--adversary", "") == {"presence", "values", "transitions"}
    assert completed(text, "reanon", "completion", "f") == {"fish"}
    assert "etc" in completed(text, "reanon", "status", "et")  # a file


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"reanon {__version__}\n"
