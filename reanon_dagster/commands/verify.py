"""`reanon verify`: a published folder against its own hashes and chain, for anyone who has it."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from reanon_core.model.errors import InvalidParameter, Problem, counted
from reanon_dagster.commands.output import say, warn
from reanon_dagster.verification.manifest_file import Flaw, Manifest, shown
from reanon_dagster.verification.published_chain import (
    is_published_folder,
    is_release_folder,
    verify_published,
    verify_release,
)


def run(options: argparse.Namespace) -> int:
    """Print every flaw, or that there is none."""
    folder: Path = options.folder.resolve()
    if is_release_folder(folder):
        flaws: Sequence[Flaw] = verify_release(folder)
        manifests: Sequence[Manifest] = ()
        praise = f"{shown(folder.name)} is sound; whether it belongs to its series was not verified"
    elif is_published_folder(folder):
        chain = verify_published(folder)
        flaws, manifests = chain.flaws, chain.manifests
        praise = _praise(manifests) if not flaws else ""
    else:
        rule = "be the public folder of a series, with a folder and its manifest.json for each release"
        raise InvalidParameter(Problem("PUBLISHED", rule, str(options.folder)))
    for flaw in flaws:
        warn(flaw.sentence)
    if options.json is not None:
        _write_json(options.json, manifests, flaws)
    if not flaws:
        say(praise, quiet=options.quiet)
    return 1 if flaws else 0


def _praise(manifests: Sequence[Manifest]) -> str:
    first, last = manifests[0], manifests[-1]
    span = shown(last.folder) if first is last else f"{shown(first.folder)} to {shown(last.folder)}"
    return (
        f"{shown(first.series)}: {counted(len(manifests), 'release is', 'releases are')} sound ({span})\n"
        f"sha256 of the latest manifest: {last.digest}; compare it with what the data steward states, because no later "
        f"manifest proves the latest release"
    )


def _write_json(path: Path, manifests: Sequence[Manifest], flaws: Sequence[Flaw]) -> None:
    document = {
        "sound": not flaws,
        "releases": [{"release": one.folder, "manifest": one.digest} for one in manifests],
        "flaws": [{"release": flaw.release, "sentence": flaw.sentence} for flaw in flaws],
    }
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
