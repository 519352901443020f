"""`reanon completion`: a script that completes commands, options and files in bash, zsh or fish."""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FILE_TYPES = (Path,)
"""The types of arguments that are completed with the names of files."""


@dataclass(frozen=True)
class Word:
    """An option, or an argument without a name."""

    names: tuple[str, ...]
    """The spellings of an option; none for an argument by its place."""
    help: str
    choices: tuple[str, ...]
    file: bool
    value: bool
    """Whether the option is followed by a value."""


@dataclass(frozen=True)
class CommandWords:
    """A command with everything that may follow it."""

    name: str
    help: str
    words: tuple[Word, ...]

    @property
    def options(self) -> list[Word]:
        """What begins with a dash."""
        return [word for word in self.words if word.names]

    @property
    def places(self) -> list[Word]:
        """What is known by its place."""
        return [word for word in self.words if not word.names]


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    scripts = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}
    sys.stdout.write(scripts[options.shell](list(commands_of(options.parser))))
    return 0


def commands_of(parser: argparse.ArgumentParser) -> Iterator[CommandWords]:
    """Every command of the parser with its words."""
    for action in parser._actions:  # noqa: SLF001  argparse has no other way to ask a parser what it accepts
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001
            for name, command in action.choices.items():
                yield CommandWords(name, helps.get(name, ""), tuple(_words(command)))


def _words(command: argparse.ArgumentParser) -> Iterator[Word]:
    for action in command._actions:  # noqa: SLF001
        yield Word(
            names=tuple(action.option_strings),
            help=(action.help or "").replace("%%", "%"),
            choices=tuple(map(str, action.choices or ())),
            file=action.type in FILE_TYPES,
            value=bool(action.option_strings) and action.nargs != 0,
        )


def bash_script(commands: list[CommandWords]) -> str:
    """The script for bash: the first word is a command, a value is a choice or a file, and a dash begins an option."""
    names = " ".join([*(command.name for command in commands), "--help", "--version"])
    lines = [
        "# reanon completion bash > ~/.local/share/bash-completion/completions/reanon",
        "_reanon() {",
        '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
        "    COMPREPLY=()",
        '    if [ "$COMP_CWORD" -eq 1 ]; then',
        f'        COMPREPLY=($(compgen -W "{names}" -- "$word"))',
        "        return",
        "    fi",
        '    case "${COMP_WORDS[1]} $before" in',
    ]
    for command in commands:
        for word in command.options:
            if word.value:
                pattern = "|".join(f'"{command.name} {name}"' for name in word.names)
                lines.append(f"        {pattern}) {_bash_value(word)}; return ;;")
    lines += ["    esac", '    case "${COMP_WORDS[1]}" in']
    for command in commands:
        listed = " ".join(name for word in command.options for name in word.names)
        values = " ".join(choice for word in command.places for choice in word.choices)
        files = any(word.file for word in command.places)
        reply = f'COMPREPLY=($(compgen -W "{values}" -- "$word"))'
        if files:
            reply = 'COMPREPLY=($(compgen -f -- "$word"))'
        lines.append(
            f'        {command.name}) if [[ "$word" == -* ]]; then COMPREPLY=($(compgen -W "{listed}" -- "$word")); '
            f"else {reply}; fi ;;"
        )
    return "\n".join([*lines, "    esac", "}", "complete -o filenames -F _reanon reanon"]) + "\n"


def _bash_value(word: Word) -> str:
    if word.choices:
        return f'COMPREPLY=($(compgen -W "{" ".join(word.choices)}" -- "$word"))'
    return 'COMPREPLY=($(compgen -f -- "$word"))' if word.file else ":"


def zsh_script(commands: list[CommandWords]) -> str:
    """The script for zsh, with what each command and option does."""
    lines = ["#compdef reanon", "# reanon completion zsh > ~/.zfunc/_reanon", "_reanon() {", "    local -a commands"]
    lines.append("    commands=(")
    lines += [f"        {_zsh_quoted(f'{command.name}:{command.help}')}" for command in commands]
    lines += [
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe command commands",
        "        return",
        "    fi",
    ]
    lines += ["    local command=$words[2]", "    shift words", "    (( CURRENT-- ))", '    case "$command" in']
    for command in commands:
        specs = " ".join(_zsh_quoted(spec) for word in command.words for spec in _zsh_specs(word))
        lines.append(f"        {command.name}) _arguments {specs} ;;")
    return "\n".join(
        [*lines, "    esac", "}", 'if [ "$funcstack[1]" = "_reanon" ]; then', '    _reanon "$@"', "else"]
    ) + ("\n    compdef _reanon reanon\nfi\n")


def _zsh_specs(word: Word) -> Iterator[str]:
    values = f"({' '.join(word.choices)})" if word.choices else "_files" if word.file else " "
    text = word.help.replace("[", "(").replace("]", ")").replace(":", "\\:")
    if not word.names:
        yield f"*:{text}:{values}"
    for name in word.names:
        yield f"{name}[{text}]" + (f":value:{values}" if word.value else "")


def _zsh_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def fish_script(commands: list[CommandWords]) -> str:
    """The script for fish, with what each command and option does."""
    lines = [
        "# reanon completion fish > ~/.config/fish/completions/reanon.fish",
        "complete -c reanon -f",
        "complete -c reanon -n __fish_use_subcommand -l version -d 'print the version and exit'",
    ]
    for command in commands:
        lines.append(f"complete -c reanon -n __fish_use_subcommand -a {command.name} -d {_fish_quoted(command.help)}")
        seen = f"complete -c reanon -n '__fish_seen_subcommand_from {command.name}'"
        for word in command.options:
            flags = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in word.names)
            lines.append(f"{seen} {flags}{_fish_value(word)} -d {_fish_quoted(word.help)}")
        for word in command.places:
            what = f" -a {_fish_quoted(' '.join(word.choices))}" if word.choices else " -F" if word.file else None
            lines += [] if what is None else [f"{seen}{what}"]
    return "\n".join(lines) + "\n"


def _fish_value(word: Word) -> str:
    if word.choices:
        return f" -x -a {_fish_quoted(' '.join(word.choices))}"
    return "" if not word.value else " -r -F" if word.file else " -x"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
