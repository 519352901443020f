"""The state that m-invariance keeps between releases."""

from dataclasses import dataclass

from reanon_core.bucketing.state import BucketState


@dataclass(frozen=True, eq=False)
class MInvarianceState(BucketState):
    """The signature of every person ever published, so that a person who returns keeps their signature.

    Paper: [XT07] Lemma 4 keeps the last release only; departure D1 says why that is not enough.
    """
