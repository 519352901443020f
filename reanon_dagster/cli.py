"""The `reanon` command: arguments, exit codes, errors as sentences. Each command imports what it needs when it runs."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 refused or a failed check, 2 wrong usage or bad input."""
    options = parser().parse_args(arguments)
    try:
        code: int = import_module(f"reanon_dagster.commands.{options.command}").run(options)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        from reanon_core.model.errors import ReanonError

        if not isinstance(error, ReanonError):
            raise
        for sentence in str(error).splitlines():
            sys.stderr.write(f"reanon: {sentence}\n")
        return error.exit_code
    return code


def parser() -> argparse.ArgumentParser:
    """The arguments of all commands."""
    top = argparse.ArgumentParser(
        prog="reanon",
        description="Publish a changing table of people again and again without the releases together exposing anyone.",
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    init = _command(commands, "init", "write a commented series.yaml and a small example to start from")
    init.add_argument("folder", type=Path, metavar="DIR", help="the folder to write to; it must not hold a series yet")

    validate = _command(
        commands,
        "validate",
        "report every error in the series file and the next snapshot, and whether the release would be refused",
    )
    _series(validate)

    status = _command(
        commands, "status", "show which releases are published, ready, waiting for their snapshot, or refused"
    )
    status.add_argument(
        "series", type=Path, nargs="?", metavar="SERIES.yaml", help="one series; without it, all series that are found"
    )

    publish = _command(commands, "publish", "publish the next due release")
    _series(publish)
    publish.add_argument("--release", metavar="R", help="the release to publish, which must be the next one")
    _seed(publish)
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
    _seed(backfill)

    trace = _command(commands, "trace", "write which published row shows which person (private)")
    _series(trace)
    trace.add_argument("--release", metavar="R", required=True, help="the release to trace")
    trace.add_argument("--out", type=Path, metavar="F.parquet", required=True, help="the private file to write")
    trace.add_argument("--worlds", action="store_true", help="also write the row of the person in each stored world")

    audit = _command(commands, "audit", "run checks and attacks on the whole history and print the results")
    audit.add_argument("series", type=Path, nargs="?", metavar="SERIES.yaml", help="a series that reanon publishes")
    audit.add_argument("--attack", metavar="A,B", help="only these attacks")
    audit.add_argument("--json", type=Path, metavar="F", help="also write the results to this file")
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
    audit.add_argument(
        "--compromised", metavar="SHARE|F", help="whose values the adversary knows: a share of the people, or a file"
    )
    audit.add_argument(
        "--seed", type=_seed_number, default=0, metavar="N", help="the seed that draws the people for --compromised"
    )

    lift = _command(commands, "lift", "lift the halt of a series, which a failed audit has set")
    _series(lift)
    lift.add_argument("--because", metavar="REASON", required=True, help="why the series may go on; it is recorded")

    verify = _command(commands, "verify", "verify a published folder against its own manifests; for anyone")
    verify.add_argument(
        "folder", type=Path, metavar="PUBLISHED", help="the public folder of a series, or of one of its releases"
    )
    verify.add_argument("--json", type=Path, metavar="F", help="also write the result to this file")
    return top


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, what: str
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.")
    command.add_argument("--quiet", action="store_true", help="print nothing but errors and warnings")
    return command


def _series(command: argparse.ArgumentParser) -> None:
    command.add_argument("series", type=Path, metavar="SERIES.yaml", help="the series file")


def _seed_number(text: str) -> int:
    """A seed is a whole number of at least 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} must be a whole number of at least 0")
    return int(text)


def _seed(command: argparse.ArgumentParser) -> None:
    command.add_argument("--seed", type=_seed_number, metavar="N", help="make the release reproducible; for tests only")


if __name__ == "__main__":
    sys.exit(main())
