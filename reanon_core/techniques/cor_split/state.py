"""What Cor-Split remembers between releases."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np

from reanon_core.bucketing.state import BucketState
from reanon_core.inference.view.membership import Web
from reanon_core.model.arrays import Int32
from reanon_core.model.packing import Packable


@dataclass(frozen=True, eq=False)
class CorSplitState(BucketState):
    """The signature of everyone ever published, and who stood with whom in all releases.

    A person whose value changed (an episode) counts as somebody else from then on, as the paper's footnote 1 has it.
    """

    version: ClassVar[int] = 1

    number: Int32  # [p] the number of each row of the roster in the web: numbers never change, rows do
    times: Int32  # [p] by number: how often that person was published
    web: Web

    @classmethod
    def initial(cls) -> "CorSplitState":
        """Nothing was published yet."""
        none = BucketState.initial()
        numbers = np.empty(0, np.int32)
        return cls(none.time, none.signatures, none.roster, none.extent, none.qi, numbers, numbers, Web.empty())

    def packed(self) -> Mapping[str, Packable]:
        """The state as named arrays and scalars."""
        return {**super().packed(), "number": self.number, "times": self.times, **self.web.packed()}

    @classmethod
    def restored(cls, packed: Mapping[str, Packable]) -> "CorSplitState":
        """The state that was packed."""
        known = BucketState.restored(packed)
        number, times = cast("Int32", packed["number"]), cast("Int32", packed["times"])
        web = Web.restored(packed)
        state = cls(known.time, known.signatures, known.roster, known.extent, known.qi, number, times, web)
        return state.with_codebook(known.codebook)
