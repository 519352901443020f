"""`reanon verify`: a published folder against its own hashes and chain, for anyone who has it."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from reanon_core.model.errors import InvalidParameter, Problem, counted
from reanon_dagster.commands.output import say, warn
from reanon_dagster.commands.private_output import require_json_place, write_json_file
from reanon_dagster.verification.manifest_file import Flaw, shown
from reanon_dagster.verification.published_chain import (
    PublishedChain,
    is_published_folder,
    is_release_folder,
    verify_published,
    verify_release,
)
from reanon_dagster.verification.signature import is_signed, read_public_key, signature_flaw


def run(options: argparse.Namespace) -> int:
    """Print every flaw, or that there is none."""
    folder: Path = options.folder.resolve()
    require_json_place(options.json, folder)
    key = None if options.key is None else read_public_key(options.key)
    if is_release_folder(folder):
        chain, parent = verify_release(folder), folder.parent
        state = "withdrawn, and its tombstone is sound" if chain.tombstones else "sound"
        praise = f"{shown(folder.name)} is {state}; whether it belongs to its series was not verified"
    elif is_published_folder(folder):
        chain, parent = verify_published(folder), folder
        praise = _praise(chain, signed=key is not None) if chain.manifests else ""
    else:
        rule = "be the public folder of a series, with a folder and its manifest.json for each release"
        raise InvalidParameter(Problem("PUBLISHED", rule, str(options.folder)))
    manifests, flaws = chain.manifests, list(chain.flaws)
    signed = any(is_signed(parent / one.folder) for one in manifests)
    if key is not None:
        flaws += [flaw for one in manifests if (flaw := signature_flaw(parent / one.folder, one, key)) is not None]
    elif signed:
        praise += "\nsignatures were not verified; do so with --key and the public key that the data steward states"
    for flaw in flaws:
        warn(flaw.sentence)
    if options.json is not None:
        _write_json(options.json, chain, flaws, "verified" if key else "not verified" if signed else "none")
    if not flaws:
        say(praise, quiet=options.quiet)
    return 1 if flaws else 0


def _praise(chain: PublishedChain, *, signed: bool) -> str:
    first, last = chain.manifests[0], chain.manifests[-1]
    span = shown(last.folder) if first is last else f"{shown(first.folder)} to {shown(last.folder)}"
    names = ", ".join(shown(one.folder) for one in chain.manifests if one.folder in chain.tombstones)
    proof = (
        "every manifest is signed with this key"
        if signed
        else "compare it with what the data steward states, because no later manifest proves the latest release"
    )
    return (
        f"{shown(first.series)}: {counted(len(chain.manifests), 'release is', 'releases are')} sound ({span})"
        f"{f'; withdrawn: {names}' if names else ''}\n"
        f"sha256 of the latest manifest: {last.digest}; {proof}"
    )


def _write_json(path: Path, chain: PublishedChain, flaws: Sequence[Flaw], signatures: str) -> None:
    document = {
        "sound": not flaws,
        "releases": [
            {"release": one.folder, "manifest": one.digest}
            | ({"withdrawn": True} if one.folder in chain.tombstones else {})
            for one in chain.manifests
        ],
        "signatures": signatures,
        "flaws": [{"release": flaw.release, "sentence": flaw.sentence} for flaw in flaws],
    }
    write_json_file(path, document)
