"""l-diversity: the sensitive values of every group are well represented."""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from reanon_core.checks.judged_release import JudgedRelease, QueryCheck
from reanon_core.checks.readable import silent_verdict, unreadable_verdict
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory

Form = Literal["distinct", "frequency"]

POOR = {"distinct": "distinct_values < $ell", "frequency": "most * $ell > size OR size = 0"}
"""A group without rows violates both."""
DIVERSITY = """
SELECT count(*) AS groups, coalesce(min(size), 0) AS "smallest group",
       coalesce(min(distinct_values), 0) AS "fewest values",
       coalesce(max(most / greatest(size, 1)), 0) AS "largest share",
       count(*) FILTER ({poor}) AS "groups not diverse"
FROM groups
"""


@dataclass(frozen=True, kw_only=True)
class LDiversity(QueryCheck):
    """Every group has at least ell sensitive values, or no value in more than one of ell rows.

    Paper: [XT07] Section 1, after Machanavajjhala et al.; the frequency form is the paper's "popular interpretation".
    """

    name: ClassVar[str] = "l-diversity"
    needs_knowledge: ClassVar[bool] = False

    ell: int
    """The least number of values in a group, or the frequency bound one in ell; at least 2."""
    form: Form = "distinct"
    """`distinct` counts the values of a group; `frequency` bounds the share of its most frequent value."""

    def __post_init__(self) -> None:
        """Check the ranges."""
        problems = []
        if self.ell < 2:
            problems.append(Problem("ell", "be at least 2", str(self.ell)))
        if self.form not in get_args(Form):
            problems.append(Problem("form", f"be one of {', '.join(get_args(Form))}", str(self.form)))
        require(problems, InvalidParameter)

    def initial_memory(self) -> Memory:
        """Empty, because each release is judged by itself."""
        return {}

    def judge(self, release: JudgedRelease, memory: Memory) -> tuple[Verdict, Memory]:
        """Count the groups that are not diverse."""
        if release.unreadable:
            return unreadable_verdict(self.name, release.unreadable), memory
        if release.silent:
            return silent_verdict(self.name), memory
        observed = release.numbers(DIVERSITY.format(poor=POOR[self.form]), ell=self.ell)
        poor = int(observed["groups not diverse"])
        sentence = (
            f"every group has at least {self.ell} different sensitive values"
            if self.form == "distinct"
            else f"in every group at most one row in {self.ell} has the same sensitive value"
        )
        return Verdict(self.name, poor == 0, poor, observed, sentence=sentence), memory
