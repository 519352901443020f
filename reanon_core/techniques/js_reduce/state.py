"""What JS-reduce remembers between releases: what an adversary believes by now, and what the tables have taught."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from reanon_core.inference.bayes.beliefs import Beliefs
from reanon_core.inference.bayes.transition_counts import Counted
from reanon_core.model.arrays import Float64, Int32, Int64
from reanon_core.model.codebook import Codebook, CodedState
from reanon_core.model.packing import Packable

VERSION = 1


@dataclass(frozen=True, eq=False)
class JsReduceState(CodedState):
    """The beliefs about everybody ever published, and the counts of Algorithm 5 where knowledge is not declared.

    Paper: [RPB12] Algorithm 1, lines 8 to 11. RBK is computed when a person appears again (departure D6).
    """

    time: int
    values: int
    """How many sensitive values were known."""
    extent: Int64  # [2, d] least and greatest code seen of each attribute; [2, 0] before the first release
    beliefs: Beliefs
    counted: Counted | None

    def packed(self) -> Mapping[str, Packable]:
        """The state as named arrays and scalars."""
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
        if self.counted is not None:
            fields |= {
                "memory": self.counted.memory,
                "successors": self.counted.successors,
                "firsts": self.counted.firsts,
                "seen": self.counted.persons,
                "window": self.counted.window,
            }
        return fields

    @staticmethod
    def restored(packed: Mapping[str, Packable]) -> "JsReduceState":
        """The state that was packed."""
        if packed["version"] != VERSION:
            raise ValueError(f"state version {packed['version']} is not {VERSION}")
        arrays = {name: value for name, value in packed.items() if isinstance(value, np.ndarray)}
        counted = None
        if "seen" in arrays:
            counted = Counted(
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
            counted,
            codebook=Codebook.restored(packed),
        )
