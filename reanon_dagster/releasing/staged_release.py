"""The files of a release before it is committed: tables, documents and manifest, in the private folder."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reanon_core.model.history import Published
from reanon_core.model.schema import Schema
from reanon_core.tables.release_table import published_tables
from reanon_dagster.documents.public_release import PublicRelease, PublicSeries, Releases
from reanon_dagster.documents.release_documents import Documents, documents_of_release, documents_of_series
from reanon_dagster.releasing.candidate import Candidate
from reanon_dagster.releasing.manifest import manifest_of, release_facts, sign_manifest
from reanon_dagster.report.pages.public_page import public_report
from reanon_dagster.storage import published_folder

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


@dataclass(frozen=True, eq=False)
class StagedRelease:
    """A release that is written and not public yet."""

    folder: Path
    manifest: str
    documents: Documents
    """What explains the release, beside its tables."""
    series_documents: Documents
    """What explains the series: it goes into the folder of the series once the release can be seen."""


def staged_release(
    series: "Series",
    candidate: Candidate,
    folder: Path,
    previous: str | None,
    withdrawn: Mapping[str, str],
    earlier: Sequence[Mapping[str, Any]],
    published_files: Releases,
) -> StagedRelease:
    """Write the files of a release into this folder, flushed.

    `previous` and `withdrawn` are those of its manifest; `earlier` are the latest manifests before it, and
    `published_files` those of every release before it that is not withdrawn.
    """
    entry = candidate.entry
    published, schema = Published(entry.release, entry.auxiliary), entry.snapshot.schema
    shutil.rmtree(folder, ignore_errors=True)
    files = published_folder.write_files(folder, published, schema, series.config.publish.formats)
    facts, described = release_facts(series, candidate), PublicSeries.of(series)
    claimed = manifest_of(facts, files, {}, previous, withdrawn)
    public = PublicRelease(
        series=described,
        release=candidate.release,
        period=series.calendar.period(candidate.release),
        columns=entry.release.columns,
        is_grouped=entry.release.grouped,
        facts=facts,
        files=files,
        tables=lambda: published_tables(published.release, published.auxiliary, schema),
        report=(lambda: _report(described, schema, published, claimed, earlier, candidate.position))
        if series.config.publish.report
        else None,
    )
    documents = documents_of_release(public)
    series_documents = documents_of_series(described, {**published_files, candidate.release: files})
    listed = files | published_folder.write_documents(folder, documents)
    claims = manifest_of(facts, listed, published_folder.digests_of(series_documents), previous, withdrawn)
    manifest = published_folder.write_manifest(folder, claims)
    sign_manifest(series, folder, manifest)
    return StagedRelease(folder, manifest, documents, series_documents)


def _report(
    series: PublicSeries,
    schema: Schema,
    published: Published,
    manifest: Mapping[str, Any],
    earlier: Sequence[Mapping[str, Any]],
    position: int,
) -> str:
    """The page about the release; it shows values of the schema only where the release does."""
    return public_report(
        title=series.title,
        description=series.description,
        schema=schema,
        published=published,
        manifest=manifest,
        earlier=earlier,
        before=position - len(earlier),
    )
