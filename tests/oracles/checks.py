"""The principles, word for word."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from reanon_core.model.arrays import MISSING
from reanon_core.model.ledger import Entry


def groups_of(entry: Entry) -> dict[int, list[int]]:
    """The sensitive values of the rows of each group."""
    groups: dict[int, list[int]] = {group: [] for group in range(entry.release.boxes.count)}
    for group, value in zip(entry.release.group.tolist(), entry.release.sensitive.tolist(), strict=True):
        groups[group].append(value)
    return groups


def groups_that_are_not_k_anonymous(entry: Entry, k: int) -> int:
    return sum(len(rows) < k for rows in groups_of(entry).values())


def groups_with_too_few_values(entry: Entry, ell: int) -> int:
    return sum(len(set(rows)) < ell for rows in groups_of(entry).values())


def groups_with_a_too_frequent_value(entry: Entry, ell: int) -> int:
    return sum(not rows or max(Counter(rows).values()) > len(rows) / ell for rows in groups_of(entry).values())


def groups_that_are_not_m_unique(entry: Entry, m: int) -> int:
    return sum(len(rows) < m or len(set(rows)) < len(rows) for rows in groups_of(entry).values())


def signature_of(entry: Entry, person: int) -> frozenset[int] | None:
    """The distinct values of the group that hosts the person; None if no row shows them."""
    rows = dict(zip(entry.trace.persons.tolist(), entry.trace.rows.tolist(), strict=True))
    if person not in rows:
        return None
    return frozenset(groups_of(entry)[int(entry.release.group[rows[person]])])


def people_with_another_signature(entries: Sequence[Entry], *, episodes: bool) -> set[int]:
    """The people of the last release whose signatures so far break the rule."""
    found = set()
    for person in entries[-1].trace.persons.tolist():
        had = [signature for entry in entries if (signature := signature_of(entry, person)) is not None]
        for one, other in combinations(had, 2):
            now = had[-1]
            if episodes:
                # Judged as a release comes: pairs that were broken before are that release's violation.
                broken = now in (one, other) and one != other and one & other
            else:
                broken = one != other
            if broken:
                found.add(person)
    return found


def flaws(entry: Entry) -> dict[str, int]:
    """Everything that keeps a release from being a true generalization of its snapshot, by sort."""
    found: Counter[str] = Counter()
    release, trace, boxes, schema = entry.release, entry.trace, entry.release.boxes, entry.snapshot.schema
    position = {person: i for i, person in enumerate(entry.snapshot.persons.tolist())}
    links = list(zip(trace.persons.tolist(), trace.rows.tolist(), strict=True))
    for row in range(release.size):
        found["rows of no group"] += int(release.group[row]) not in range(boxes.count)
        found["rows with an unknown value"] += int(release.sensitive[row]) not in range(len(schema.sensitive.values))
    for group in range(boxes.count):
        found["groups without rows"] += group not in release.group.tolist()

    seen_people: set[int] = set()
    seen_rows: set[int] = set()
    members: dict[int, list[int]] = {group: [] for group in range(boxes.count)}
    for i, (person, row) in enumerate(links):
        found["people with more than one row"] += person in seen_people
        found["rows of more than one person"] += row in seen_rows
        found["trace out of order"] += i > 0 and person < links[i - 1][0]
        seen_people.add(person)
        found["traced people who are not in the snapshot"] += person not in position
        if row not in range(release.size):
            found["traced rows that do not exist"] += 1
            continue
        seen_rows.add(row)
        group = int(release.group[row])
        if person in position and group in range(boxes.count):
            members[group].append(position[person])
            found["people with a wrong value"] += bool(
                release.sensitive[row] != entry.snapshot.sensitive[position[person]]
            )

    for group, positions in members.items():
        for i, column in enumerate(schema.quasi_identifiers):
            low, high, flag = int(boxes.low[i, group]), int(boxes.high[i, group]), int(boxes.missing[i, group])
            codes = [int(entry.snapshot.qi[i, at]) for at in positions]
            for code in codes:
                inside = flag in (1, 2) if code == MISSING else flag != 2 and low <= code <= high
                found["values outside their interval"] += not inside
            if codes:
                lack = codes.count(MISSING)
                found["wrong missing flags"] += flag != (0 if not lack else 2 if lack == len(codes) else 1)
            found["unknown missing flags"] += flag not in (0, 1, 2)
            found["intervals at odds with their missing flag"] += (
                low != MISSING or high != MISSING if flag == 2 else low == MISSING or high == MISSING
            )
            if flag == 2:
                continue
            found["intervals that end before they begin"] += low > high
            found["intervals too narrow"] += low <= high and len(range(low, high + 1)) < column.min_width
            if column.domain:
                found["intervals outside the domain"] += low < column.domain[0] or high > column.domain[1]

    declared: Counter[int] = Counter()
    previous = None
    for group, count in zip(entry.auxiliary.group.tolist(), entry.auxiliary.count.tolist(), strict=True):
        found["counterfeit counts below one"] += count < 1
        found["counterfeit counts of no group"] += group not in range(boxes.count)
        found["counterfeit counts out of order"] += previous is not None and group <= previous
        declared[group] += count
        previous = group
    for group in range(boxes.count):
        counterfeits = [r for r in range(release.size) if int(release.group[r]) == group and r not in seen_rows]
        found["groups with a wrong number of counterfeits"] += len(counterfeits) != declared[group]
    return dict(found)
