"""Every check's answer on a release or a history, and whether a release may be published."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from reanon_core.checks.judged_release import QueryCheck, judged_release
from reanon_core.engine.tables import Room
from reanon_core.model.errors import Refused, counted
from reanon_core.model.ledger import Entry
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Check, Memory


def judge(
    checks: Sequence[Check], entry: Entry, memories: Mapping[str, Memory], room: Room | None = None
) -> tuple[tuple[Verdict, ...], dict[str, Memory]]:
    """Every check's verdict on this release given what it remembers, and what it will remember.

    Tables spill into the room, if there is one.

    Raises: InvalidSnapshot if a code stands for another value than in a memory.
    """
    verdicts, remembered = [], {}
    with judged_release(entry, room) as release:
        for check in checks:
            before = memories.get(check.name, check.initial_memory())
            judged = check.judge(release, before) if isinstance(check, QueryCheck) else check.examine(entry, before)
            verdict, memory = judged
            verdicts.append(verdict)
            if memory:
                remembered[check.name] = memory
    return tuple(verdicts), remembered


def history_verdicts(check: Check, entries: Iterable[Entry], room: Room | None = None) -> Iterator[Verdict]:
    """The check's verdict on each release in turn, from the first one on.

    Raises: InvalidSnapshot if a code stands for another value than in an earlier release.
    """
    memories: dict[str, Memory] = {}
    for entry in entries:
        (verdict,), remembered = judge([check], entry, memories, room)
        memories |= remembered
        yield verdict
        entry.forget_pages()


def require_verdicts(release: str, entry: Entry, verdicts: Sequence[Verdict], withheld: Mapping[str, int]) -> None:
    """Refuse a release that was not judged, failed a required check, or withholds people without a reason.

    Raises: Refused.
    """
    if entry.withheld != sum(withheld.values()):
        raise Refused(f"release {release} withholds {entry.withheld} people and gives no reason for some of them")
    if not verdicts:
        raise Refused(f"release {release} was not judged by any check; nothing was published")
    failed = [verdict for verdict in verdicts if verdict.required and not verdict.holds]
    if failed:
        named = ", ".join(
            f"{verdict.check} fails ({counted(verdict.violations, 'violation', 'violations')})" for verdict in failed
        )
        raise Refused(f"{named} in release {release}, so it cannot be published")
