"""The ledger that an audit reads: in memory, or mapped from columns on disk and some people at a time."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from reanon_core.adversary_knowledge import with_algorithm
from reanon_core.checks.judged_release import QueryCheck
from reanon_core.engine.column_folder import ColumnFolder
from reanon_core.engine.tables import Room
from reanon_core.judgement import history_verdicts
from reanon_core.model.errors import InvalidParameter, Problem, Refused
from reanon_core.model.finding import Findings
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.ledger import Ledger
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Attack, Check, PersonwiseAttack
from reanon_dagster.engines.scratch import scratch_folder
from reanon_dagster.engines.series_engine import scratch_place
from reanon_dagster.releasing.memory_need import (
    FIXED,
    LEAST_IN_PARTS,
    MEASURED_COLUMNS,
    SMALL,
    memory_alone,
    memory_limit,
)
from reanon_dagster.series.memory_size import shown_bytes
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.connection import opened

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series
    from reanon_dagster.storage.records import ReleaseRecord

AUDIT_ROW = 220
"""The bytes that a person of a release takes while the ledger is in memory, measured with four quasi-identifiers."""
MAPPED_ROW = 8
"""The bytes that an attack for histories of any size takes for each, although the ledger is mapped."""
WHOLE_ROW = 170
"""The same where the technique and its parameters are computed in memory only."""
HELD_ROW = 8
"""The bytes that are held for each although the ledger is mapped, and the attack takes some people at a time."""
COLUMN = 32
"""The bytes that each further quasi-identifier adds, where quasi-identifiers are looked at."""
PART_PERSON = 400
"""The bytes that a person of a part takes."""
FEWEST_PEOPLE, MOST_PEOPLE = 1 << 14, 1 << 21
"""The people of a part, however little or much memory there is."""


class KnowledgeMaker(Protocol):
    """Makes what an adversary knows."""

    def __call__(self, *, people_only: bool = False) -> Knowledge:
        """All of it, or only who is in each release and what follows from the source of the technique."""
        ...


@dataclass(frozen=True)
class AuditedLedger:
    """The releases that are audited, and how checks and attacks are run on them."""

    series: "Series"
    ledger: Ledger
    folder: ColumnFolder | None = None
    """Where the columns of the ledger are; None if it is in memory."""
    limit: int = 0
    """The bytes that an audit over columns may take."""
    changed: Sequence[str] = ()
    """The parameters with which some release was made otherwise than with those of today."""

    @property
    def people_at_once(self) -> int:
        """The people of a part."""
        rows = sum(entry.release.size for entry in self.ledger.entries)
        free = self.limit - LEAST_IN_PARTS - HELD_ROW * rows
        return min(MOST_PEOPLE, max(FEWEST_PEOPLE, free // PART_PERSON))

    def verdicts(self, check: Check) -> Iterator[Verdict]:
        """The check's verdict on each release in turn, from the first one on."""
        judges = max(LEAST_IN_PARTS // 2, (self.limit - LEAST_IN_PARTS) // 2)
        room = None if self.folder is None else Room(judges, self.folder)
        yield from history_verdicts(check, self.ledger.entries, room)

    def misfit(self, attack: Attack) -> str:
        """Why an attack cannot be run here, as a sentence without a full stop; empty if it can."""
        if self.folder is None or isinstance(attack, PersonwiseAttack):
            return ""
        rows = sum(entry.snapshot.size for entry in self.ledger.entries)
        need = _attack_need(self.series, rows, attack)
        if need <= self.limit:
            return ""
        return f"it takes about {shown_bytes(need)} of memory, more than the {shown_bytes(self.limit)} that it may take"

    def knowledge(self, *, people_only: bool = False) -> Knowledge:
        """What an adversary knows who has read the source of the technique."""
        known = self.ledger.knowledge(people_only=people_only)
        return with_algorithm(self.series.technique, self.ledger, known, changed=self.changed)

    def findings(self, attack: Attack, knowledge: KnowledgeMaker) -> Findings:
        """What an attack finds, with all that is known, with no more than it uses, or with some people at a time.

        Raises: InvalidParameter if it cannot run on these data.
        """
        if self.folder is not None and isinstance(attack, PersonwiseAttack):
            parts = self.ledger.knowledge_in_parts(self.people_at_once)
            return attack.run_in_parts(self.ledger.history(), parts)
        if misfit := self.misfit(attack):
            raise InvalidParameter(Problem(f"the attack {attack.name}", "fit into memory", help=misfit))
        if self.folder is not None and attack.people_only:
            return attack.run(self.ledger.history(), knowledge(people_only=True))
        return attack.run(self.ledger.history(), knowledge())


def changed_options(series: "Series") -> list[str]:
    """The parameters with which some release was made otherwise than with those of today, in order."""
    with opened(series.private_folder, read_only=True) as connection:
        made = [json.loads(text)["technique"] for _, text in store_reader.manifests(connection)]
    now = json.loads(json.dumps(series.parameters))
    movable = series.technique.changeable | series.technique.declaration.followers.keys()
    return sorted(name for name in movable if any(one.get(name, now[name]) != now[name] for one in made))


@contextmanager
def audited_ledger(
    series: "Series",
    records: Sequence["ReleaseRecord"],
    checks: Sequence[Check] = (),
    attacks: Sequence[Attack] = (),
) -> Iterator[AuditedLedger]:
    """These releases, for these checks and for attacks that must run; the folder of columns is deleted at the end.

    Raises: Refused if what must run does not fit into memory, before anything is read.
    """
    rows, (limit, whose) = sum(record.people for record in records), memory_limit(series)
    need = _need(series, rows, AUDIT_ROW)
    limited = series.config.engine.embedded.memory_limit is not None
    if need <= limit or (not limited and need <= SMALL):
        with opened(series.private_folder, read_only=True) as connection:
            ledger = store_reader.ledger(connection, series.schema, len(records))
        yield AuditedLedger(series, ledger, changed=changed_options(series))
        return
    _require_parts(series, rows, checks, attacks, limit, whose)
    with scratch_folder(scratch_place(series)) as path:
        folder = ColumnFolder(str(path))
        with opened(series.private_folder, read_only=True, memory_limit=limit // 2) as connection:
            ledger = store_reader.ledger(connection, series.schema, len(records), folder)
        yield AuditedLedger(series, ledger, folder, limit, changed_options(series))


def _require_parts(
    series: "Series", rows: int, checks: Sequence[Check], attacks: Sequence[Attack], limit: int, whose: str
) -> None:
    """Refuse an audit of which a part takes more memory than there is.

    Raises: Refused.
    """
    needs = {f"an audit of {series.name}": LEAST_IN_PARTS + HELD_ROW * rows}
    needs |= {
        f"the check {check.name}": _need(series, rows, AUDIT_ROW, LEAST_IN_PARTS)
        for check in checks
        if not isinstance(check, QueryCheck)
    }
    needs |= {
        f"the attack {attack.name}": _attack_need(series, rows, attack)
        for attack in attacks
        if not isinstance(attack, PersonwiseAttack)
    }
    for what, need in needs.items():
        if need > limit:
            advice = "use a machine with more memory"
            if series.config.engine.embedded.memory_limit is not None:
                advice = f"raise engine.embedded.memory_limit, or {advice}"
            raise Refused(
                f"{what} takes about {shown_bytes(need)} of memory for {rows:,} rows, more than the "
                f"{shown_bytes(limit)} that {whose}; {advice}"
            )


def _need(series: "Series", rows: int, row: int, fixed: int = FIXED) -> int:
    more = max(0, len(series.schema.quasi_identifiers) - MEASURED_COLUMNS)
    return fixed + rows * (row + COLUMN * more)


def _attack_need(series: "Series", rows: int, attack: Attack) -> int:
    """The bytes that an attack takes that is not given some people at a time, while the ledger is mapped."""
    if not attack.people_only:
        return _need(series, rows, AUDIT_ROW, LEAST_IN_PARTS)
    if memory_alone(series):
        return _need(series, rows, WHOLE_ROW, LEAST_IN_PARTS)
    return LEAST_IN_PARTS + rows * MAPPED_ROW
