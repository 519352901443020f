"""Write the software bill of materials of a lock: CycloneDX JSON, the same for the same lock and environment."""

import json
import re
import sys
import uuid
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements.lock"
LONGEST_NAME = 64
"""A longer licence field is the text of a licence, not its name."""


def locked(path: Path = LOCK) -> dict[tuple[str, str], list[str]]:
    """The name and version of each package of a lock, with the sha256 of its files."""
    packages: dict[tuple[str, str], list[str]] = {}
    own: list[str] = []
    for line in path.read_text().splitlines():
        if pinned := re.match(r"([A-Za-z0-9._-]+)==(\S+)", line):
            own = packages[pinned[1], pinned[2]] = []
        own += re.findall(r"--hash=sha256:([0-9a-f]{64})", line)
    return packages


def bill(packages: dict[tuple[str, str], list[str]]) -> dict[str, Any]:
    """The document."""
    components = [_component(name, version, digests) for (name, version), digests in packages.items()]
    number = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(components))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{number}",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "reanon", "version": metadata("reanon")["Version"]}},
        "components": components,
    }


def _component(name: str, version: str, digests: list[str]) -> dict[str, Any]:
    purl = f"pkg:pypi/{re.sub(r'[-_.]+', '-', name).lower()}@{version}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
        "licenses": [{"license": {"name": licence}} for licence in _licences(name)],
        "hashes": [{"alg": "SHA-256", "content": digest} for digest in digests],
    }


def _licences(name: str) -> list[str]:
    """The licences that the installed package declares; none if it is not installed or says nothing short."""
    try:
        declared = metadata(name)
    except PackageNotFoundError:
        return []
    for field in ("License-Expression", "License"):
        value = declared.get(field)
        if value and "\n" not in value and len(value) <= LONGEST_NAME:
            return [value]
    trove = [entry for entry in declared.get_all("Classifier") or [] if entry.startswith("License :: ")]
    return [entry.rsplit(" :: ", 1)[1] for entry in trove]


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    listed = bill(locked())
    target.write_text(json.dumps(listed, indent=2) + "\n")
    print(f"{len(listed['components'])} packages are listed in {target}")
