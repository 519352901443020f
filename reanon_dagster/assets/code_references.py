"""Links from an asset's page to the files that make it: the step's code and the series file."""

import warnings
from pathlib import Path

import dagster as dg


def code_references(*files: Path | None) -> dict[str, dg.CodeReferencesMetadataValue]:
    """Metadata of a definition that link to these files on this machine; no link for a file that is not known."""
    with warnings.catch_warnings():  # Dagster calls code references a beta
        warnings.simplefilter("ignore", dg.BetaWarning)
        links: list[dg.LocalFileCodeReference | dg.UrlCodeReference] = [
            dg.LocalFileCodeReference(file_path=str(file.resolve()), label=file.name) for file in files if file
        ]
        return {"dagster/code_references": dg.CodeReferencesMetadataValue(code_references=links)} if links else {}
