"""What m-invariance remembers between releases."""

from dataclasses import dataclass

from reanon_core.bucketing.state import BucketState


@dataclass(frozen=True, eq=False)
class MInvarianceState(BucketState):
    """The signature of everyone ever published, so that whoever returns finds theirs again.

    Paper: [XT07] Lemma 4 keeps the last release only; departure D1 says why that is not enough.
    """
