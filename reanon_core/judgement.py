"""Every check's answer on a release or a history, and whether a release may be published."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from reanon_core.model.errors import Refused, counted
from reanon_core.model.ledger import Entry
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Check, Memory


def judge(
    checks: Sequence[Check], entry: Entry, memories: Mapping[str, Memory]
) -> tuple[tuple[Verdict, ...], dict[str, Memory]]:
    """Every check's verdict on this release given what it remembers, and what it will remember.

    Raises: InvalidSnapshot if a code stands for another value than in a memory.
    """
    verdicts, remembered = [], {}
    for check in checks:
        verdict, memory = check.examine(entry, memories.get(check.name, check.initial_memory()))
        verdicts.append(verdict)
        if memory:
            remembered[check.name] = memory
    return tuple(verdicts), remembered


def history_verdicts(check: Check, entries: Iterable[Entry]) -> Iterator[Verdict]:
    """The check's verdict on each release in turn, from the first one on.

    Raises: InvalidSnapshot if a code stands for another value than in an earlier release.
    """
    memory = check.initial_memory()
    for entry in entries:
        verdict, memory = check.examine(entry, memory)
        yield verdict


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
