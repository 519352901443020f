"""The options that all techniques with buckets share, and their ranges."""

from collections.abc import Iterator
from typing import Any, Literal, Protocol, get_args

from reanon_core.bucketing.assignment import Assignment
from reanon_core.bucketing.balancing import Balancing
from reanon_core.bucketing.regions import Regions
from reanon_core.model.errors import Problem
from reanon_core.protocols import Form

NotEligibleRule = Literal["refuse", "blocks", "partial-blocks", "defer", "pad"]
SensitiveChange = Literal["refuse", "withhold", "episode"]
QiChange = Literal["allow", "refuse"]

CHOICES: dict[str, Any] = {
    "balancing": Balancing,
    "assignment": Assignment,
    "not_eligible": NotEligibleRule,
    "regions": Regions,
    "on_sensitive_change": SensitiveChange,
    "on_qi_change": QiChange,
}


PAPER: dict[str, object] = {"balancing": "filled", "assignment": "paper", "not_eligible": "refuse", "regions": "none"}
"""The way of [XT07], which a reader of the source can see through."""
WAYS_IN = frozenset({"blocks", "partial-blocks"})
"""The ways in for new rows that never refuse and tell nothing."""
FOLLOWERS: dict[str, frozenset[tuple[object, object]]] = {
    "not_eligible": frozenset({("refuse", "blocks")}),
    "on_sensitive_change": frozenset({("refuse", "withhold")}),
    "on_qi_change": frozenset({("refuse", "allow")}),
}
"""Which option may follow which in the middle of a series. What `refuse` publishes the other option publishes as well,
in the same way, so the series is one that had it from the start. After any other change a release tells that the one
before was refused, or why it would have been."""

FILLED = (
    "balancing: filled tells an adversary who knows the algorithm some people's values, because a counterfeit says "
    "that no new row was fit for its place; reanon audit --attack algorithm counts them"
)
DEFERRED = "not_eligible: defer tells an adversary who knows the algorithm the values of the people it withholds"
PADDED = "not_eligible: pad tells an adversary who knows the algorithm which values were rare among the new rows"


class BucketOptions(Protocol):
    """The options that phases 1 to 3 read; the technique itself has them."""

    @property
    def m(self) -> int:
        """The least number of values of a signature."""

    @property
    def balancing(self) -> Balancing:
        """How shortages are filled."""

    @property
    def assignment(self) -> Assignment:
        """How new rows are assigned to buckets."""

    @property
    def not_eligible(self) -> NotEligibleRule:
        """What happens if the new rows are not m-eligible."""

    @property
    def regions(self) -> Regions:
        """How new rows are divided by their quasi-identifiers before they are assigned."""

    @property
    def on_sensitive_change(self) -> SensitiveChange:
        """What happens if a person's sensitive value changed."""

    @property
    def on_qi_change(self) -> QiChange:
        """What happens if a person's quasi-identifiers changed."""


CHOSEN: Any = None
"""The default of an option that is chosen to fit the others (`choose_defaults`)."""


def choose_defaults(options: BucketOptions) -> None:
    """Give every option that was left out the best value that is proved, or else the one that fits the others.

    docs/techniques/m-invariance.md has the measurements that decided.
    """
    if options.balancing is CHOSEN:
        one_by_one = options.not_eligible in {"defer", "pad"}
        object.__setattr__(options, "balancing", "blind" if one_by_one else "median")
    if options.not_eligible is CHOSEN:
        object.__setattr__(options, "not_eligible", "refuse" if options.balancing == "filled" else "partial-blocks")
    if options.regions is CHOSEN:
        # In blocks, which are dear, small regions cost more; and `blocks` may follow `refuse`, which has no regions.
        object.__setattr__(options, "regions", "sizes" if options.not_eligible == "partial-blocks" else "none")


def default_form(options: BucketOptions) -> Form:
    """The form of the releases if the series names none: boxes are the paper's."""
    return "boxes" if options.balancing == "filled" else "decoupled"


def is_whole(value: object) -> bool:
    """Whether the value is a whole number; true and false are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Whether the value is a number; true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def least_m_problems(m: object) -> Iterator[Problem]:
    """What is wrong with m: one value protects no one."""
    if not isinstance(m, int) or not is_whole(m) or m < 2:
        yield Problem("m", "be a whole number of at least 2", str(m))


def block_problems(options: BucketOptions) -> Iterator[Problem]:
    """What is wrong with blocks, regions and the median.

    Blocks keep their promise only if balancing does not look at values either, and the median keeps its own only if the
    way out does not. A region that is not m-eligible needs a way out.
    """
    if options.not_eligible in WAYS_IN and options.balancing == "filled":
        yield Problem("not_eligible", f"not be {options.not_eligible} with balancing: filled", options.not_eligible)
    if options.not_eligible in {"defer", "pad"} and options.balancing == "median":
        yield Problem("not_eligible", f"not be {options.not_eligible} with balancing: median", options.not_eligible)
    if options.regions != "none" and options.not_eligible not in WAYS_IN:
        yield Problem("regions", "be none unless not_eligible is blocks or partial-blocks", options.regions)


def bucket_caution(options: BucketOptions) -> str:
    """What these options tell an adversary who knows the algorithm; empty if they tell nothing."""
    told = {
        FILLED: options.balancing == "filled",
        DEFERRED: options.not_eligible == "defer",
        PADDED: options.not_eligible == "pad",
    }
    return "; ".join(sentence for sentence, applies in told.items() if applies)


def choice_problems(technique: object, choices: dict[str, Any]) -> Iterator[Problem]:
    """What is wrong with options whose values are a list of words."""
    for option, allowed in choices.items():
        given = getattr(technique, option)
        if given not in get_args(allowed):
            yield Problem(option, f"be one of {', '.join(get_args(allowed))}", str(given))
