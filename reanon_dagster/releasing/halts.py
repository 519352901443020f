"""Halts: after a failed audit of what is published, a series publishes nothing until a person lifts the halt."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidParameter, Problem, Refused, counted
from reanon_dagster.storage import series_store
from reanon_dagster.storage.records import Halt

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


def halt_series(series: "Series", release: str, flaws: Sequence[str]) -> None:
    """Halt the series because the audit of a published release failed."""
    more = f", and {counted(len(flaws) - 1, 'more flaw', 'more flaws')}" if len(flaws) > 1 else ""
    series_store.write_halt(series.private_folder, release, f"{flaws[0]}{more}")


def lift_halt(series: "Series", because: str, flaws: Sequence[str] = ()) -> tuple[Halt, ...]:
    """Lift the halt of a series, accept these flaws of its published folder, and record why.

    Returns what was lifted; nothing if the series is not halted.

    Raises: InvalidParameter without a reason.
    """
    if not because.strip():
        raise InvalidParameter(Problem("--because", "say why the series may go on"))
    return series_store.lift_halts(series.private_folder, series.schema, because.strip(), flaws)


def halt_sentence(name: str, halts: Sequence[Halt]) -> str:
    """What failed, since when the series is halted, and how to go on."""
    first = halts[0]
    others = "" if len(halts) == 1 else f" ({counted(len(halts) - 1, 'later audit', 'later audits')} failed too)"
    return (
        f"{name} is halted since {first.halted:%Y-%m-%d %H:%M}, because the audit of release {first.release} failed: "
        f"{first.reason}{others}. Correct the cause, then run `reanon lift SERIES.yaml --because REASON`"
    )


def require_not_halted(name: str, halts: Sequence[Halt]) -> None:
    """Refuse to publish while a halt stands.

    Raises: Refused.
    """
    if halts:
        raise Refused(halt_sentence(name, halts))
