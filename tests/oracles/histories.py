"""Small weakly m-invariant histories made without any algorithm: merges, returns, counterfeits, layers."""

from collections.abc import Sequence
from random import Random

from oracles.builders import Member, entry_of, plain_schema
from reanon_core.model.ledger import Ledger


def weak_ledger(
    random: Random,
    *,
    m: int = 3,
    releases: int = 3,
    people: int = 9,
    signatures: int = 1,
    stay: float = 0.8,
    merge: float = 0.3,
    layer: float = 0.1,
) -> Ledger:
    """Everybody has a signature and a value for life; who is there is dealt into groups at random."""
    listed = [tuple(range(i, i + m)) for i in range(signatures)]
    schema = plain_schema(values=m + signatures - 1)
    home = [random.randrange(signatures) for _ in range(people)]
    value = [random.choice(listed[home[person]]) for person in range(people)]
    entries = []
    for _ in range(releases):
        present = [person for person in range(people) if random.random() < stay]
        members: list[Member] = []
        fakes: list[tuple[int, int]] = []
        start = 0
        for number, signature in enumerate(listed):
            lists = {v: [p for p in present if home[p] == number and value[p] == v] for v in signature}
            depth = max(map(len, lists.values()), default=0)
            name, names = [], 0
            for _ in range(depth):
                if names == 0 or random.random() > merge:
                    names += 1
                name.append(start + names - 1)
            for v, owners in lists.items():
                shuffled = [*owners, *[None] * (depth - len(owners))]
                random.shuffle(shuffled)
                for place, person in zip(name, shuffled, strict=True):
                    if person is None:
                        fakes.append((place, v))
                    else:
                        members.append(Member(person, (person % 7, person % 5), v, place))
            for group in range(start, start + names):
                if random.random() < layer:
                    fakes += [(group, v) for v in signature]
            start += names
        entries.append(compacted(schema, members, fakes, random))
    return Ledger(tuple(entries))


def compacted(schema, members: list[Member], fakes: Sequence[tuple[int, int]], random: Random):
    """The release without groups that hold counterfeits alone."""
    used = sorted({member.group for member in members if member.group is not None})
    number = {group: new for new, group in enumerate(used)}
    renamed = [Member(m.person, m.qi, m.value, number[m.group]) for m in members if m.group is not None]
    kept = [(number[group], v) for group, v in fakes if group in number]
    return entry_of(schema, renamed, counterfeits=kept, random=random)


def ledger_of(releases: Sequence[Sequence[str]], values: dict[str, int], number: dict[str, int]) -> Ledger:
    """Releases written as groups of letters: "abc" is a group of three people, a "*" in it a counterfeit.

    A counterfeit carries the value that the group lacks most.
    """
    distinct = len(set(values.values()))
    schema = plain_schema(values=max(values.values()) + 1)
    entries = []
    for groups in releases:
        members, fakes = [], []
        for place, letters in enumerate(groups):
            held = [values[letter] for letter in letters if letter != "*"]
            for letter in letters:
                if letter == "*":
                    lacking = min(range(distinct), key=held.count)
                    held.append(lacking)
                    fakes.append((place, lacking))
                else:
                    members.append(Member(number[letter], (number[letter], 0), values[letter], place))
        entries.append(entry_of(schema, members, counterfeits=fakes))
    return Ledger(tuple(entries))
