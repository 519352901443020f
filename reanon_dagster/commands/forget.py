"""`reanon forget`: a person leaves the store, and what must stay says nothing that no release shows."""

import argparse
import sys
from pathlib import Path

from reanon_core.model.errors import InvalidParameter, Problem, counted
from reanon_dagster.commands.output import progress, say, warn
from reanon_dagster.expectations.data_docs import FOLDER as DATA_DOCS
from reanon_dagster.releasing.erasure import Forgotten, forget_people
from reanon_dagster.series.series import Series
from reanon_dagster.series.series_file import load_series

STANDARD_INPUT = "-"
CHANCE = (
    "the mark that is left has {bits} bits of 64: a newcomer matches it by chance once in {chance:,}, and is then left "
    "out too, which `reanon publish` says; whoever has the private folder and a list of ids can test which match it"
)


def run(options: argparse.Namespace) -> int:
    """Forget a person, and say what remains where."""
    series = load_series(options.series)
    ids = given_ids(options.id, options.id_file)
    with progress(f"{series.name}: forgetting", quiet=options.quiet) as step:
        done = forget_people(series, ids, never_seen=options.never_seen, dry_run=options.dry_run, progress=step)
    for number, one in enumerate(done, 1):
        if len(done) > 1:
            say(f"line {number} of {len(done)}", quiet=options.quiet)
        for sentence in outcome(series, one, dry_run=options.dry_run):
            say(sentence, quiet=options.quiet)
    who = "this person" if len(done) == 1 else "some of these people"
    for place in dict.fromkeys(place for one in done for place in one.sources):
        warn(f"the snapshot {place} still has {who}; delete the row there")
    for place in dict.fromkeys(place for one in done for place in one.unread):
        warn(f"the snapshot {place} cannot be read, so look for {who} there yourself")
    if (series.private_folder / DATA_DOCS).exists():
        warn(f"the private folder has Data Docs ({DATA_DOCS}), which may show values of this person; delete them")
    return 0


def given_ids(id_: str | None, file: Path | None) -> list[str]:
    """The id from the command line, or the ids from a file or standard input, one a line; the last end is dropped.

    Raises: InvalidParameter.
    """
    if id_ is not None and id_ != STANDARD_INPUT:
        return [id_]
    try:
        text = sys.stdin.read() if file is None else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InvalidParameter(Problem("--id-file", "be a readable text file", str(file))) from None
    ids = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    empty = [str(number) for number, one in enumerate(ids, 1) if not one]
    if empty and len(ids) > 1:
        raise InvalidParameter(Problem("the list of ids", "have an id on every line", f"line {', '.join(empty)}"))
    return ids


def outcome(series: Series, done: Forgotten, *, dry_run: bool) -> list[str]:
    """What was forgotten and what remains, sentence by sentence; the person is not named."""
    if done.already:
        return [f"{series.name}: nothing to do, this person is forgotten, or matches the mark of somebody who is"]
    plan = "nothing is changed yet; this is what would happen" if dry_run else "done"
    rows = f"{counted(len(done.published), 'release', 'releases')} ({', '.join(done.published)})"
    sentences = [
        f"{series.name}: {plan}",
        f"a row of this person stays published in {rows} and cannot be taken back"
        if done.published
        else "no release shows this person",
        "no later release of this series will show this person",
        *_remains(done),
        CHANCE.format(bits=done.bits, chance=2**done.bits),
        "backups made before still hold this person; replace them",
    ]
    if series.technique.declaration.leave_together and done.published:
        sentences.append("people of the same cell are withheld from now on too, because they can only leave together")
    if done.lists:
        sentences.append(f"{counted(done.lists, 'private list', 'private lists')} of ids lost this person's line")
    return sentences


def _remains(done: Forgotten) -> list[str]:
    """What the store keeps, and why."""
    if not done.seen:
        return ["the store keeps a mark by which the person is left out"]
    kept = (
        "the store keeps which published rows are one person's, under a number that is mostly random, because the "
        "safety of others depends on it; nothing that no release shows"
    )
    if not done.extent.values:
        kept += ", except for the exact values of this person, because a check depends on them"
    elif not done.extent.unpublished_rows:
        kept += ", except for sensitive values that were withheld, because a check depends on them"
    return [kept]
