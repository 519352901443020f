"""Which documents lie beside the tables of a release, and which in the folder of its series."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from reanon_dagster.documents.data_package import release_package, series_package
from reanon_dagster.documents.public_release import PublicRelease, PublicSeries, Releases
from reanon_dagster.documents.readme import release_readme, series_readme

Documents: TypeAlias = Mapping[str, bytes]
"""The content of each document by the name of its file."""

RELEASE_DOCUMENTS: Mapping[str, Callable[[PublicRelease], bytes]] = {
    "README.md": release_readme,
    "datapackage.json": release_package,
}
REPORT = "report.html"
SERIES_DOCUMENTS: Mapping[str, Callable[[PublicSeries, Releases], bytes]] = {
    "README.md": series_readme,
    "datapackage.json": series_package,
}
"""What they say of releases is true as of the newest one: a withdrawn release is left out from the next one on."""


def documents_of_release(release: PublicRelease) -> Documents:
    """The documents of a release."""
    page = {} if release.report is None else {REPORT: release.report().encode()}
    return {name: write(release) for name, write in RELEASE_DOCUMENTS.items()} | page


def documents_of_series(series: PublicSeries, releases: Releases) -> Documents:
    """The documents of a series, as the newest release finds it."""
    return {name: write(series, releases) for name, write in SERIES_DOCUMENTS.items()}
