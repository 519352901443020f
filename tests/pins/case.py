"""What a pinned series is: its file, the tables beside it, and its people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pins.people import EDUCATION, RESULTS, Crowd

AGE = "age: {kind: numeric, min_width: 2, domain: [0, 120]}"
ZIP = "zip: {kind: numeric, min_width: 10}"
ATTACKS = ("intersection", "difference", "subsets", "compromised", "propagation", "background")
WITH_LINEAR = (*ATTACKS, "linear")
"""linear is pinned where all groups that people share show the same values."""
TINY_ATTACKS = (*ATTACKS, "risk", "worlds")
BUCKETED = {"balancing": "filled", "not_eligible": "refuse", "regions": "none"}
NAMED = {"m-invariance": BUCKETED, "cor-split": BUCKETED, "sequential": {"buckets": "least-loss"}}
"""The options that a series names unless it is one of today's defaults, so that another default changes no bytes."""

TREE = "".join(f"{leaf},{parent},any\n" for leaf, parent in EDUCATION.items())
RESULT_TREE = "healthy,well,any\ncured,well,any\nmild,ill,any\nserious,ill,any\nsevere,ill,any\n"
PRIOR = "value,probability\n" + "".join(f"{value},0.2\n" for value in RESULTS)
FOLLOWING = "gender,from,to,probability\n" + "".join(
    f"{gender},{value},{RESULTS[(place + step) % 5]},{probability}\n"
    for gender, stays in (("F", 0.5), ("M", 0.75))
    for place, value in enumerate(RESULTS)
    for step, probability in ((0, stays), (1, (1 - stays) / 2), (2, (1 - stays) / 2))
)
CORPUS = "person,time,value\n" + "".join(
    f"K{person},{time},{RESULTS[(person + (person % 3) * time) % 5]}\n" for person in range(30) for time in range(4)
)
FILES = {
    "education.csv": TREE,
    "result.csv": RESULT_TREE,
    "prior.csv": PRIOR,
    "transitions.csv": FOLLOWING,
    "corpus.csv": CORPUS,
}


@dataclass(frozen=True)
class Case:
    """A series file with its people."""

    name: str
    technique: str
    columns: Sequence[str] = (AGE, ZIP)
    crowd: Crowd = field(default_factory=Crowd)
    releases: Sequence[str] = ("r1", "r2", "r3", "r4")
    calendar: str = ""
    """Instead of names."""
    shown: str = ""
    """More keys under `releases`."""
    source: str = '{path: "snapshots/{release}.csv", id: patient}'
    sensitive: str = "disease"
    more: str = ""
    """More keys of the series file."""
    drop: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Columns that the snapshot of a release does not have yet."""
    attacks: Sequence[str] = ATTACKS
    defaults: bool = False
    """Whether the technique and the form are those of a series that names no option."""

    @property
    def text(self) -> str:
        """The series file."""
        names = self.calendar or f"names: [{', '.join(self.releases)}]"
        columns = "\n".join(f"  {column}" for column in self.columns)
        return (
            f"series: {self.name}\nsource: {self.source}\nreleases: {{{names}{self.shown}}}\n"
            f"quasi_identifiers:\n{columns}\nsensitive: {self.sensitive}\n"
            f"technique: {{name: {self.technique}{self._named}}}\n"
            f"{self._more}"
        )

    @property
    def _named(self) -> str:
        """The options of the technique that the series names besides its own."""
        options = {} if self.defaults else NAMED.get(self.technique.split(",")[0], {})
        return "".join(f", {key}: {value}" for key, value in options.items() if f"{key}:" not in self.technique)

    @property
    def _more(self) -> str:
        """More keys, among them how the releases are published; no report, which would cost more than a release."""
        named = [] if self.defaults else ["ends: exact"]
        boxes = not self.defaults and NAMED.get(self.technique.split(",")[0]) is BUCKETED and "form:" not in self.more
        keys = ", ".join([*named, *(["form: boxes"] if boxes else []), "report: false"])
        if "publish: {" in self.more:
            return self.more.replace("publish: {", f"publish: {{{keys}, ")
        return f"{self.more}publish: {{{keys}}}\n"

    @property
    def files(self) -> dict[str, str]:
        """The files that the series names, by name."""
        return {name: text for name, text in FILES.items() if name in self.text}
