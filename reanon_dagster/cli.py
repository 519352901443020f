"""The `reanon` command: arguments, exit codes, errors as sentences. Each command imports what it needs when it runs."""

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

INTERRUPTED = 130
ALLOCATIONS = 50_000
"""New objects between two garbage collections: a command makes many and ends soon, so few collections pay."""
DEBUG = "REANON_DEBUG"
"""The environment variable that shows the traceback of an error; it may contain values of the data."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 refused or a failed check, 2 wrong usage or bad input."""
    options = parser().parse_args(arguments)
    gc.set_threshold(ALLOCATIONS)
    try:
        code: int = import_module(f"reanon_dagster.commands.{options.command}").run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        from reanon_dagster.commands.failure import failure

        if os.environ.get(DEBUG):
            raise
        sentences, code = failure(error)
        for sentence in sentences:
            sys.stderr.write(f"reanon: {sentence}\n")
        return code
    return code


@cache
def parser() -> argparse.ArgumentParser:
    """The arguments of all commands."""
    top = argparse.ArgumentParser(
        prog="reanon",
        description="Publish a changing table of people again and again without the releases together exposing anyone.",
    )
    top.add_argument("--version", action=_Version, help="print the version and exit")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    _add_init(commands)

    validate = _command(
        commands,
        "validate",
        "report every error in the series file and the next snapshot, and whether the release would be refused",
    )
    _series(validate)
    _json(validate)

    status = _command(
        commands, "status", "show which releases are published, ready, waiting for their snapshot, or refused"
    )
    status.add_argument(
        "series", type=Path, nargs="?", metavar="SERIES.yaml", help="one series; without it, all series that are found"
    )
    _json(status)

    _add_rehearse_and_advise(commands)

    publish = _command(commands, "publish", "publish the next due release")
    _series(publish)
    publish.add_argument("--release", metavar="R", help="the release to publish, which must be the next one")
    _accept_drift(publish)
    _seed(publish)
    _json(publish)
    extent = publish.add_mutually_exclusive_group()
    extent.add_argument("--dry-run", action="store_true", help="compute and judge the release, and write nothing")
    extent.add_argument(
        "--data-docs",
        action="store_true",
        help="also write what was judged as private HTML pages, with Great Expectations",
    )

    backfill = _command(commands, "backfill", "publish all due releases whose snapshots are there, in order")
    _series(backfill)
    backfill.add_argument("--to", metavar="R", help="stop after this release")
    _accept_drift(backfill)
    _seed(backfill)
    _json(backfill)

    trace = _command(commands, "trace", "write which published row shows which person (private)")
    _series(trace)
    trace.add_argument("--release", metavar="R", required=True, help="the release to trace")
    trace.add_argument("--out", type=Path, metavar="F.parquet", required=True, help="the private file to write")
    trace.add_argument("--worlds", action="store_true", help="also write the row of the person in each stored world")

    _add_audit(commands)

    lift = _command(commands, "lift", "lift the halt of a series, which a failed audit has set")
    _series(lift)
    lift.add_argument("--because", metavar="REASON", required=True, help="why the series may go on; it is recorded")

    doctor = _command(commands, "doctor", "examine what a series has on the disk, and repair what is safe to repair")
    _series(doctor)
    doctor.add_argument("--dry-run", action="store_true", help="examine, and repair nothing")
    _json(doctor)

    _compare_and_report(commands)
    _backup_and_keys(commands)
    _add_withdraw_and_forget(commands)

    verify = _command(commands, "verify", "verify a published folder against its own manifests; for anyone")
    verify.add_argument(
        "folder", type=Path, metavar="PUBLISHED", help="the public folder of a series, or of one of its releases"
    )
    verify.add_argument("--key", type=Path, metavar="F.pub", help="every manifest must be signed with this public key")
    _json(verify)
    _add_completion(commands, top)
    return top


class _Version(argparse.Action):
    """Prints the version; the package is loaded only then."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:  # noqa: A002
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from reanon_core import __version__

        sys.stdout.write(f"reanon {__version__}\n")
        parser.exit()


class _Several(argparse.Action):
    """A list with commas, which may also be given a part at a time."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, values if before is None else f"{before},{values}")


def _add_audit(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    audit = _command(commands, "audit", "run checks and attacks on the whole history and print the results")
    audit.add_argument("series", type=Path, nargs="?", metavar="SERIES.yaml", help="a series that reanon publishes")
    audit.add_argument("--attack", metavar="A,B", action=_Several, help="only these attacks")
    _json(audit)
    audit.add_argument("--releases", type=Path, nargs="+", metavar="F", help="releases made elsewhere, in order")
    audit.add_argument(
        "--schema", type=Path, metavar="S.yaml", help="the columns of these releases, as in a series file"
    )
    audit.add_argument(
        "--people",
        type=Path,
        metavar="F",
        help="what the adversary knows: a file with id, quasi-identifiers and release",
    )
    audit.add_argument("--html", type=Path, metavar="F", help="also write a page about these releases (private)")
    findings_help = "also write which people are exposed, with the inferred values, to this new file (private)"
    audit.add_argument("--findings", type=Path, metavar="F", help=findings_help)
    audit.add_argument(
        "--compromised", metavar="SHARE|F", help="whose values the adversary knows: a share of the people, or a file"
    )
    audit.add_argument(
        "--seed", type=_whole_number, default=0, metavar="N", help="the seed that draws the people for --compromised"
    )


def _add_completion(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", top: argparse.ArgumentParser
) -> None:
    completion = _command(commands, "completion", "print a script that completes commands and options in your shell")
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")
    completion.set_defaults(parser=top)


def _add_rehearse_and_advise(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    rehearse = _command(commands, "rehearse", "run every snapshot on the disk through the technique, and write nothing")
    _series(rehearse)
    ahead_help = "how many releases beyond the last snapshot to project, from the observed churn (default: 2)"
    rehearse.add_argument("--ahead", type=_whole_number, default=2, metavar="N", help=ahead_help)
    rehearse.add_argument("--seed", type=_whole_number, metavar="N", help="repeat a rehearsal exactly")
    _json(rehearse)

    advise = _command(commands, "advise", "say which techniques and parameters suit the snapshots on the disk, and why")
    _series(advise)
    adversary_help = (
        "what an adversary knows: who is in each release, with all quasi-identifiers (presence), some people's values "
        "too (values), or how likely each value follows another (transitions); default: what the series file declares"
    )
    advise.add_argument("--adversary", choices=("presence", "values", "transitions"), help=adversary_help)
    advise.add_argument("--ahead", type=_whole_number, default=2, metavar="N", help=ahead_help)
    seconds_help = "how many seconds of CPU time to try techniques on the snapshots (default: 60)"
    advise.add_argument("--seconds", type=_whole_number, default=60, metavar="N", help=seconds_help)
    advise.add_argument("--seed", type=_whole_number, metavar="N", help="try with the same random numbers again")
    _json(advise)


def _json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", type=Path, metavar="F", help="also write the result to this file")


def _compare_and_report(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    compare = _command(
        commands, "compare", "compare techniques and naive baselines on the snapshots on disk; nothing is published"
    )
    _series(compare)
    compare.add_argument("--technique", metavar="A,B", action=_Several, help="only these techniques and baselines")
    compare.add_argument("--attack", metavar="A,B", action=_Several, help="only these attacks")
    compare.add_argument("--metric", metavar="A,B", action=_Several, help="only these metrics")
    compare.add_argument("--json", type=Path, metavar="F", help="also write the results to this file (private)")
    compare.add_argument("--html", type=Path, metavar="F", help="also write a page with pictures (private)")

    report = _command(
        commands, "report", "write one HTML file about the releases so far, for yourself or for the public"
    )
    _series(report)
    report.add_argument("--release", metavar="R", help="the release to report on; without it, the latest")
    report.add_argument("--out", type=Path, metavar="F", help="the file to write; default: in the private folder")
    report.add_argument("--attack", metavar="A,B", action=_Several, help="only these attacks, in the internal report")
    report.add_argument("--public", action="store_true", help="the version that is computed from public data alone")


def _backup_and_keys(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    backup = _command(commands, "backup", "write the private folder of a series to one encrypted file")
    _series(backup)
    backup.add_argument("--out", type=Path, metavar="F", required=True, help="the new file to write")
    _passphrase(backup)

    restore = _command(commands, "restore", "put a backup in the place of the private folder of a series")
    _series(restore)
    restore.add_argument("--from", type=Path, metavar="F", required=True, dest="source", help="the backup")
    restore.add_argument("--verify", action="store_true", help="only say whether the backup could be restored")
    _passphrase(restore)

    keygen = _command(commands, "keygen", "make a key that signs manifests, or a secret that encrypts a private folder")
    keygen.add_argument("--out", type=Path, metavar="F", required=True, help="the new file; F.pub gets the public half")
    keygen.add_argument("--secret", action="store_true", help="a secret for private.key instead")


def _add_init(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    init = _command(commands, "init", "write a commented series.yaml, with a small example or for a table of yours")
    folder_help = "the folder to write to, without a series; with --from, by default named like the table"
    init.add_argument("folder", type=Path, nargs="?", metavar="DIR", help=folder_help)
    table_help = "a table of yours, such as people.csv: propose the series for it, and copy it as the first snapshot"
    init.add_argument("--from", dest="table", type=Path, metavar="F", help=table_help)
    init.add_argument("--id", metavar="COLUMN", help="the column that identifies a person; by default the likely one")
    init.add_argument("--sensitive", metavar="COLUMN", help="the column to protect; by default you are asked")


def _add_withdraw_and_forget(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    withdraw = _command(commands, "withdraw", "take back the newest release; its copies and its lessons stay")
    _series(withdraw)
    withdraw.add_argument("--release", metavar="R", required=True, help="the newest release that is not withdrawn")
    withdraw.add_argument("--because", metavar="REASON", required=True, help="why; it is recorded privately")
    withdraw.add_argument("--public-reason", metavar="REASON", help="why, for the public: it is published")

    forget = _command(commands, "forget", "forget a person: no later release shows them, and little is left of them")
    _series(forget)
    who = forget.add_mutually_exclusive_group(required=True)
    id_help = "the id as in the source; - reads it from standard input, so that no list of processes shows it"
    who.add_argument("--id", metavar="X", help=id_help)
    who.add_argument("--id-file", type=Path, metavar="F", help="a file with an id on every line")
    forget.add_argument("--never-seen", action="store_true", help="also if no release was made with this id")
    forget.add_argument("--dry-run", action="store_true", help="say what would happen and what remains, change nothing")


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, what: str
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.")
    command.add_argument("--quiet", action="store_true", help="print nothing but errors and warnings")
    return command


def _series(command: argparse.ArgumentParser) -> None:
    command.add_argument("series", type=Path, metavar="SERIES.yaml", help="the series file")


def _passphrase(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--passphrase-file",
        type=Path,
        metavar="P",
        help="a file that only you can read; otherwise REANON_BACKUP_PASSPHRASE, your keyring, or a question",
    )


def _accept_drift(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--accept-drift", metavar="REASON", help="publish a snapshot that looks like the wrong table; why is recorded"
    )


def _whole_number(text: str) -> int:
    """A whole number of at least 0, such as a seed."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} must be a whole number of at least 0")
    return int(text)


def _seed(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--seed", type=_whole_number, metavar="N", help="make the release reproducible; for tests only"
    )


if __name__ == "__main__":
    sys.exit(main())
