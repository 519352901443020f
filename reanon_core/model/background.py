"""Background knowledge: which sensitive values an adversary expects, and how they expect values to follow each other.

A defender assumes the same knowledge to see the releases as the adversary will.
"""

import hashlib
from dataclasses import dataclass

import numpy as np

from reanon_core.model.arrays import Float64, Int32, frozen
from reanon_core.model.errors import InvalidParameter, Problem, require

START = 0
"""The state of a person of whom nothing was observed."""
LONGEST_MEMORY = 3
"""The longest memory of counted knowledge, in past values; the number of windows is exponential in it."""
TOLERANCE = 1e-6
"""By how much the probabilities of a table may exceed 1 in sum."""


@dataclass(frozen=True, eq=False)
class Classes:
    """Respondent classes: every combination of ranges of some quasi-identifiers is a class."""

    attributes: tuple[int, ...] = ()
    """The positions of these quasi-identifiers in the schema."""
    cuts: tuple[Int32, ...] = ()
    """For each of them, ascending, the codes at which a new range begins; the first range begins before all codes."""

    def __post_init__(self) -> None:
        """Freeze the arrays and validate the cuts."""
        object.__setattr__(self, "cuts", tuple(frozen(cuts, np.int32) for cuts in self.cuts))
        problems = []
        if len(self.attributes) != len(self.cuts) or len(set(self.attributes)) != len(self.attributes):
            problems.append(Problem("classes", "have cuts for each of their attributes, and each attribute once"))
        if any(not np.all(cuts[1:] > cuts[:-1]) for cuts in self.cuts):
            problems.append(Problem("classes: cuts", "ascend"))
        require(problems, InvalidParameter)

    @property
    def count(self) -> int:
        """The number of classes; 1 without attributes."""
        return int(np.prod([len(cuts) + 1 for cuts in self.cuts], dtype=np.int64))

    def of(self, qi: Int32) -> Int32:
        """The class of each person; `qi` [d, n] holds codes. A missing value is in the first range."""
        number = np.zeros(qi.shape[1], dtype=np.int64)
        for attribute, cuts in zip(self.attributes, self.cuts, strict=True):
            number = number * (len(cuts) + 1) + np.searchsorted(cuts, qi[attribute], side="right")
        return number.astype(np.int32)


@dataclass(frozen=True, eq=False)
class Automaton:
    """BKsv and BKseq as a finite automaton that reads a person's sensitive values: what to expect next in each state.

    The paper's BKseq is a function of whole sequences; here it is one of the state that a sequence leads to. A row of
    the emission without any mass stands for the prior.

    Paper: [RPB12] Definitions 1 and 2: the prior is BKsv, the emission BKseq.
    """

    prior: Float64  # [classes, values] what is expected of a person of whom nothing was observed
    following: Int32  # [states, values] the state after each value
    emission: Float64  # [classes, states, values] or [1, states, values] what is expected in each state

    def __post_init__(self) -> None:
        """Freeze the arrays and validate them."""
        for name, dtype in (("prior", np.float64), ("following", np.int32), ("emission", np.float64)):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))
        require(self._problems(), InvalidParameter)

    def _problems(self) -> list[Problem]:
        classes, values = self.prior.shape
        states = len(self.following)
        if (
            self.following.shape != (states, values)
            or self.emission.shape[1:] != (states, values)
            or len(self.emission) not in {1, classes}
        ):
            return [Problem("knowledge", "have tables of matching shapes")]
        problems = []
        if np.any((self.following < 0) | (self.following >= states)):
            problems.append(Problem("knowledge: following", "lead to states that exist"))
        for name, table in (("prior", self.prior), ("emission", self.emission)):
            if not np.all(np.isfinite(table)) or np.any(table < 0) or np.any(table.sum(axis=-1) > 1 + TOLERANCE):
                problems.append(Problem(f"knowledge: {name}", "hold probabilities that sum up to 1 or less"))
        return problems

    @property
    def values(self) -> int:
        """The number of sensitive values."""
        return int(self.prior.shape[1])

    def with_values(self, values: int) -> "Automaton":
        """The same for a longer list of values. A new value is never expected, and leads to the start."""
        more = values - self.values
        if more == 0:
            return self
        return Automaton(
            np.pad(self.prior, ((0, 0), (0, more))),
            np.pad(self.following, ((0, 0), (0, more)), constant_values=START),
            np.pad(self.emission, ((0, 0), (0, 0), (0, more))),
        )


@dataclass(frozen=True, eq=False)
class Background:
    """Declared background knowledge. What is not declared is counted in the original tables so far.

    Paper: [RPB12] Section 5.1. Without declared tables it is IE-BKseq, mined from the data themselves.
    """

    classes: Classes = Classes()
    prior: Float64 | None = None  # [classes, values] None: the first values of people of a class, counted
    following: Int32 | None = None  # [states, values] None: windows of past values, counted
    emission: Float64 | None = None  # [classes or 1, states, values]
    memory: int = 1
    """How many past values counted knowledge uses."""
    normalised: bool = True
    """Whether counted probabilities are shares of the occurrences that have a successor, so that they sum up to 1."""
    source: str = "incremental"
    """The origin of the transitions: incremental, domain or mined."""

    def __post_init__(self) -> None:
        """Validate the ranges; `Automaton` validates the tables."""
        problems = []
        if not 1 <= self.memory <= LONGEST_MEMORY:
            problems.append(Problem("knowledge: memory", f"be between 1 and {LONGEST_MEMORY}", str(self.memory)))
        if (self.following is None) != (self.emission is None):
            problems.append(Problem("knowledge", "have both tables of its automaton, or neither"))
        if self.prior is not None and len(self.prior) != self.classes.count:
            problems.append(Problem("knowledge: prior", "have a row for each class"))
        require(problems, InvalidParameter)
        for name, dtype in (("prior", np.float64), ("following", np.int32), ("emission", np.float64)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(getattr(self, name), dtype))

    @property
    def counts_sequences(self) -> bool:
        """Whether transitions are counted in the original tables."""
        return self.following is None

    def digest(self) -> str:
        """The sha256 of everything declared here, to detect changes."""
        parts = [f"{self.source} {self.memory} {self.normalised} {self.classes.attributes}".encode()]
        parts += [
            b"-" if array is None else f"{array.shape}".encode() + array.tobytes()
            for array in (*self.classes.cuts, self.prior, self.following, self.emission)
        ]
        return hashlib.sha256(b"|".join(parts)).hexdigest()
