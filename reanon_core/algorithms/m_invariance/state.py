"""What m-invariance remembers between releases."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from reanon_core.bucketing.roster import Roster
from reanon_core.bucketing.signatures import Signatures
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.packing import Packable

VERSION = 1


@dataclass(frozen=True, eq=False)
class MInvarianceState:
    """The signature of everyone ever published, so that whoever returns finds theirs again.

    Paper: [XT07] Lemma 4 keeps the last release only; departure D1 says why that is not enough.
    """

    time: int
    signatures: Signatures
    roster: Roster
    extent: Int64  # [2, d] least and greatest code seen of each attribute; [2, 0] before the first release
    qi: Int32  # [d, p] the codes of each person if changes are refused, else [0, p]

    @staticmethod
    def initial() -> "MInvarianceState":
        """Nothing was published yet."""
        return MInvarianceState(
            0, Signatures.of([]), Roster.empty(), np.empty((2, 0), np.int64), np.empty((0, 0), np.int32)
        )

    def packed(self) -> Mapping[str, Packable]:
        """The state as named arrays and scalars."""
        return {
            "version": VERSION,
            "time": self.time,
            "offsets": self.signatures.offsets,
            "values": self.signatures.values,
            "persons": self.roster.persons,
            "signature": self.roster.signature,
            "sensitive": self.roster.sensitive,
            "extent": self.extent,
            "qi": self.qi,
        }

    @staticmethod
    def restored(packed: Mapping[str, Packable]) -> "MInvarianceState":
        """The state that was packed."""
        if packed["version"] != VERSION:
            raise ValueError(f"state version {packed['version']} is not {VERSION}")
        arrays = {name: value for name, value in packed.items() if isinstance(value, np.ndarray)}
        return MInvarianceState(
            cast("int", packed["time"]),
            Signatures(cast("Int64", arrays["offsets"]), cast("Int32", arrays["values"])),
            Roster(
                cast("Int64", arrays["persons"]),
                cast("Int32", arrays["signature"]),
                cast("Int32", arrays["sensitive"]),
            ),
            cast("Int64", arrays["extent"]),
            cast("Int32", arrays["qi"]),
        )
