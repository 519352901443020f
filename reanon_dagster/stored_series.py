"""A series on disk for Python: the methods of reanon_core.Series over the store, the source and the gate."""

import warnings
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.audit import audit_table, metric_values, run_attack
from reanon_core.brakes import accepted_reason
from reanon_core.catalog import build_attack
from reanon_core.finding_truth import with_truth
from reanon_core.model.errors import Caution, OutOfOrder, Refused
from reanon_core.protocols import PersonwiseAttack
from reanon_core.published_release import PublishedRelease
from reanon_core.tables.frames import PrivateTable
from reanon_dagster.releasing.audited_ledger import audited_ledger, changed_options
from reanon_dagster.releasing.erasure import Forgotten, forget_person
from reanon_dagster.releasing.judged_candidate import checks_of
from reanon_dagster.releasing.release import publish_release, require_no_gap
from reanon_dagster.releasing.release_order import next_release, nothing_to_do, ready_release
from reanon_dagster.releasing.release_trace import release_trace
from reanon_dagster.releasing.series_view import read_continuable_view, read_view
from reanon_dagster.releasing.withdrawal import withdraw_release
from reanon_dagster.series.series_file import load_series
from reanon_dagster.sources.snapshot_location import snapshot_place
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.connection import opened

if TYPE_CHECKING:
    from reanon_core.model.finding import Findings
    from reanon_core.model.ledger import Ledger
    from reanon_dagster.releasing.candidate import Candidate
    from reanon_dagster.series.series import Series
    from reanon_dagster.storage.records import ReleaseRecord


REPLAYED = "unsafe_seed is for tests: anyone who knows the seed can replay shuffles and counterfeits"


def open_series(path: str | Path) -> "StoredSeries":
    """The series that a series.yaml declares, with its store.

    A Caution says what the technique does not promise.

    Raises: InvalidSchema, InvalidParameter with every problem of the file at once.
    """
    series = load_series(Path(path))
    if series.technique.caution:
        warnings.warn(f"{series.technique.name}: {series.technique.caution}", Caution, stacklevel=2)
    return StoredSeries(series)


class StoredSeries:
    """A series on disk, with the methods of `reanon_core.Series`.

    Nothing is kept here: every call reads the store, so that the command and Dagster may work on the series meanwhile.
    """

    def __init__(self, series: "Series") -> None:
        self._series = series

    @property
    def name(self) -> str:
        """The name of the series."""
        return self._series.name

    @property
    def releases(self) -> tuple[PublishedRelease, ...]:
        """The published releases, in order."""
        view = read_view(self._series)
        if not view.records:
            return ()
        with opened(self._series.private_folder, read_only=True) as connection:
            schema = store_reader.known_schema(connection, self._series.schema)
            entries = [store_reader.entry(connection, record.position, schema) for record in view.records]
            verdicts = [tuple(store_reader.verdicts(connection, record.position)) for record in view.records]
        return tuple(
            PublishedRelease(
                record.release, entry.release, entry.auxiliary, schema, withheld=record.withheld, verdicts=held
            )
            for record, entry, held in zip(view.records, entries, verdicts, strict=True)
        )

    def publish(
        self,
        frame: object = None,
        *,
        name: str | None = None,
        accept_drift: str | None = None,
        unsafe_seed: int | None = None,
    ) -> PublishedRelease:
        """Publish the next release, or the named one, from its snapshot in the source: what `reanon publish` does.

        `accept_drift` says why a snapshot that looks like the wrong table is right. `unsafe_seed` is for tests.
        What the steward must read about the release is a Caution.

        Raises: every error of ours. Refused if a frame is given: releases are traced and published again from the
        source, so a snapshot must be there.
        """
        series, today = self._series, date.today()  # noqa: DTZ011  a release is due by the steward's own calendar
        reason = accepted_reason(accept_drift)
        view = read_continuable_view(series)
        release = ready_release(series, view.records, today) if name is None else name
        upcoming = release or next_release(series, view.records)
        if frame is not None:
            place = "its source" if upcoming is None else snapshot_place(series, upcoming)
            raise Refused(
                f"{series.name} reads its snapshots from its source; write the frame to {place}, then publish"
            )
        if release is None:
            require_no_gap(series, view, today)
            raise OutOfOrder(nothing_to_do(series, upcoming, today))
        if unsafe_seed is not None:
            warnings.warn(REPLAYED, Caution, stacklevel=2)

        def caution(candidate: "Candidate") -> None:
            # Before the release is published: where a warning is an error, the series must not advance.
            for note in candidate.notes:
                warnings.warn(f"release {release}: {note}", Caution, stacklevel=4)

        publish_release(series, release, today, view=view, accept_drift=reason, seed=unsafe_seed, notice=caution)
        return next(one for one in self.releases if one.name == release)

    def ledger(self) -> "Ledger":
        """Private: the releases with the truth behind them.

        Raises: OutOfOrder before the first release.
        """
        self._published()
        with opened(self._series.private_folder, read_only=True) as connection:
            return store_reader.ledger(connection, self._series.schema)

    def trace(self, name: str) -> PrivateTable:
        """Private: the id of the person behind each published row, read from the source again.

        Raises: InvalidParameter if there is no such release; Refused if its snapshot is gone.
        """
        return PrivateTable(release_trace(self._series, name))

    def withdraw(self, name: str, *, because: str, public_reason: str | None = None) -> None:
        """Take back the newest release that is not withdrawn: what `reanon withdraw` does.

        Raises: InvalidParameter, OutOfOrder, Refused.
        """
        withdraw_release(self._series, read_view(self._series).records, name, because, public_reason)

    def forget(self, id_: str | int, *, never_seen: bool = False, dry_run: bool = False) -> Forgotten:
        """Forget a person, so that no later release shows them, and return what remains: what `reanon forget` does.

        Raises: Refused if no release was made with this id, unless `never_seen` is set.
        """
        return forget_person(self._series, str(id_), never_seen=never_seen, dry_run=dry_run)

    def attack(self, name: str, *, compromised: float | None = None, groups_known: bool | None = None) -> "Findings":
        """Private: whom an attack on all releases exposes. What is left out is as series.yaml declares it.

        Raises: InvalidParameter if there is no such attack, or if it cannot run on so much data; Refused if it does
        not fit into memory.
        """
        attack = build_attack(name)
        share, known = self._adversary(compromised, groups_known=groups_known)
        background, rng = self._series.adversary_background, np.random.default_rng()
        records = self._published()
        with audited_ledger(self._series, records, attacks=[attack]) as audited:
            if audited.folder is not None and (isinstance(attack, PersonwiseAttack) or attack.people_only):
                return with_truth(audited.findings(attack, audited.knowledge), audited.ledger, audited.knowledge)
            technique = self._series.technique
            return run_attack(
                name,
                technique,
                audited.ledger,
                background,
                compromised=share,
                groups_known=known,
                rng=rng,
                changed=audited.changed,
            )

    def audit(
        self,
        *,
        attacks: Sequence[str] | None = None,
        compromised: float | None = None,
        groups_known: bool | None = None,
    ) -> PrivateTable:
        """Private: every check from the first release on, and what every attack finds: what `reanon audit` does."""
        share, known = self._adversary(compromised, groups_known=groups_known)
        return audit_table(
            checks_of(self._series),
            self._names(),
            self._series.technique,
            self.ledger(),
            self._series.adversary_background,
            attacks=attacks,
            compromised=share,
            groups_known=known,
            rng=np.random.default_rng(),
            changed=changed_options(self._series),
        )

    def measure(self, metric: str) -> dict[str, float]:
        """A metric of the catalog for each release, by name.

        Raises: InvalidParameter if there is no such metric.
        """
        return metric_values(metric, self._names(), self.ledger(), np.random.default_rng())

    def query_error(self) -> dict[str, float]:
        """The median relative error of random counting queries on each release, by name."""
        return self.measure("query-error")

    def relations(self) -> dict[str, float]:
        """How much of the relations each release keeps, by name: 1 all, 0 none, NaN if none is large enough."""
        return self.measure("relations")

    def __repr__(self) -> str:
        return f"StoredSeries({self.name}, {len(self._names())} releases)"

    def _published(self) -> "list[ReleaseRecord]":
        records = read_view(self._series).records
        if not records:
            raise OutOfOrder("nothing is published yet; publish a release first")
        return records

    def _names(self) -> list[str]:
        return [record.release for record in read_view(self._series).records]

    def _adversary(self, compromised: float | None, *, groups_known: bool | None) -> tuple[float, bool]:
        declared = self._series.config.adversary
        shares = (compromised, declared.compromised, self._series.parameters.get("p"), 0.0)
        share = next(float(one) for one in shares if one is not None)
        return share, declared.groups == "known" if groups_known is None else groups_known
