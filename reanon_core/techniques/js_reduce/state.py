"""What JS-reduce keeps between releases: the adversary's beliefs, and the transitions counted in the tables."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from reanon_core.inference.bayes.beliefs import Beliefs
from reanon_core.inference.bayes.transition_counts import TransitionCounts
from reanon_core.model.arrays import Float64, Int32, Int64
from reanon_core.model.codebook import Codebook, CodedState
from reanon_core.model.packing import Packable

VERSION = 1


@dataclass(frozen=True, eq=False)
class JsReduceState(CodedState):
    """The beliefs about every person ever published, and the counts where knowledge is not declared.

    RBKsv is computed when a person appears again (departure D6).

    Paper: [RPB12] Algorithm 1, lines 8 to 11.
    """

    time: int
    values: int
    """The number of sensitive values so far."""
    extent: Int64  # [2, d] least and greatest code seen of each attribute; [2, 0] before the first release
    beliefs: Beliefs
    counts: TransitionCounts | None

    def without_values_of(self, person: int) -> "JsReduceState":
        """The state without the beliefs about the person and their window: what they added to the counts stays."""
        counts = None if self.counts is None else self.counts.without(person)
        return replace(self, beliefs=self.beliefs.without(person), counts=counts)

    def packed(self) -> Mapping[str, Packable]:
        """The state as named arrays and scalars; `seen` are the people of the counts."""
        fields: dict[str, Packable] = {
            "version": VERSION,
            "time": self.time,
            "values": self.values,
            "extent": self.extent,
            "persons": self.beliefs.persons,
            "offsets": self.beliefs.offsets,
            "states": self.beliefs.states,
            "weights": self.beliefs.weights,
            **self.codebook.packed(),
        }
        if self.counts is not None:
            fields |= {
                "memory": self.counts.memory,
                "successors": self.counts.successors,
                "firsts": self.counts.firsts,
                "seen": self.counts.persons,
                "window": self.counts.window,
            }
        return fields

    @staticmethod
    def restored(packed: Mapping[str, Packable]) -> "JsReduceState":
        """The state that was packed."""
        if packed["version"] != VERSION:
            raise ValueError(f"state version {packed['version']} is not {VERSION}")
        arrays = {name: value for name, value in packed.items() if isinstance(value, np.ndarray)}
        counts = None
        if "seen" in arrays:
            counts = TransitionCounts(
                cast("int", packed["memory"]),
                cast("Int64", arrays["successors"]),
                cast("Int64", arrays["firsts"]),
                cast("Int64", arrays["seen"]),
                cast("Int32", arrays["window"]),
            )
        return JsReduceState(
            cast("int", packed["time"]),
            cast("int", packed["values"]),
            cast("Int64", arrays["extent"]),
            Beliefs(
                cast("Int64", arrays["persons"]),
                cast("Int64", arrays["offsets"]),
                cast("Int32", arrays["states"]),
                cast("Float64", arrays["weights"]),
            ),
            counts,
            codebook=Codebook.restored(packed),
        )
