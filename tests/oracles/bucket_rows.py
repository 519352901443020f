"""The rows of all releases with their buckets, person by person and row by row, as the definitions say it."""

from collections import Counter
from typing import NamedTuple

from reanon_core.model.ledger import Entry, Ledger

Signature = tuple[int, ...]


class Row(NamedTuple):
    """One person in one release."""

    time: int
    person: int
    value: int
    kind: str
    signature: Signature | None
    group: int | None
    layers: int


def literal_groups(entry: Entry) -> list[Counter[int]]:
    """How often each group shows each value."""
    shown: list[Counter[int]] = [Counter() for _ in range(entry.release.boxes.count)]
    for group, value in zip(entry.release.group.tolist(), entry.release.sensitive.tolist(), strict=True):
        shown[group][value] += 1
    return shown


def literal_signatures(ledger: Ledger) -> list[Signature]:
    """All signatures in the order in which groups first show them."""
    shown = (tuple(sorted(group)) for entry in ledger.entries for group in literal_groups(entry))
    return list(dict.fromkeys(shown))


def literal_rows(ledger: Ledger, *, max_lifespan: int | None = None, withholds: bool = False) -> list[Row]:
    """Every row of every person who takes part.

    A person is old if a signature that they were published with holds their value, displaced if they have signatures
    and none of them does, and new or withheld otherwise.
    """
    rows: list[Row] = []
    had: dict[int, list[Signature]] = {}
    published: Counter[int] = Counter()
    for time, entry in enumerate(ledger.entries):
        groups = literal_groups(entry)
        row_of = dict(zip(entry.trace.persons.tolist(), entry.trace.rows.tolist(), strict=True))
        for person, value in zip(entry.snapshot.persons.tolist(), entry.snapshot.sensitive.tolist(), strict=True):
            if max_lifespan is not None and published[person] >= max_lifespan:
                continue
            own = next((one for one in had.get(person, []) if value in one), None)
            group = int(entry.release.group[row_of[person]]) if person in row_of else None
            signature, layers = None, 0
            if group is not None:
                signature = tuple(sorted(groups[group]))
                layers = groups[group][value]
            elif own is not None and withholds:
                signature = own
            kind = "old" if own else "displaced" if person in had else "withheld" if group is None else "new"
            rows.append(Row(time, person, value, kind, signature, group, layers))
            if group is not None and own is None and signature is not None:
                had.setdefault(person, []).append(signature)
        published.update(row_of.keys())
    first = {(row.person, row.value): row.signature for row in reversed(rows) if row.kind == "new"}
    return [
        row._replace(signature=first.get((row.person, row.value))) if row.kind == "withheld" else row for row in rows
    ]
