"""The two scenarios of the paper, on the census and on Adult, and the ways that the figures compare."""

from experiments.results.t_series import ADULT_PEOPLE, Scale

from reanon_core.protocols import Technique
from reanon_core.techniques.cor_split.technique import CorSplit
from reanon_core.techniques.m_invariance.technique import MInvariance

POPULATIONS = ("income", "adult")
TITLES = {"income": "census, income", "adult": "Adult, occupation"}
N = 3


def scenarios(population: str, *, small: bool, releases: int | None = None) -> dict[str, Scale]:
    """By the share of rows that is replaced at each release: the paper's sizes, or a twentieth of them for Adult."""
    part = 100 if small else 20 if population == "adult" else 1
    longest = 3 if small else releases or 24
    people = ADULT_PEOPLE if population == "adult" else 600_000 // part
    sizes = {"10%": (200_000, 21), "33%": (60_000, 24)}
    return {
        name: Scale(people=people, rows=rows // part, update=20_000 // part, releases=min(of, longest))
        for name, (rows, of) in sizes.items()
    }


def m_of(population: str) -> int:
    """The paper's m = 6; Adult's most frequent occupation has 13 % of the people, so 5 leaves room for newcomers."""
    return 5 if population == "adult" else 6


def m_invariance(m: int) -> dict[str, Technique]:
    """The technique that Cor-Split is compared with."""
    return {
        "m-invariance, the paper's way": MInvariance(m=m, balancing="filled", assignment="paper"),
        "m-invariance, default": MInvariance(m=m),
    }


def cor_split(m: int) -> dict[str, Technique]:
    """The paper's way to the letter, the same with our partition, and the default: blind, strict, our partition."""
    as_paper = {"m": m, "n": N, "strict": False, "balancing": "filled", "assignment": "paper"}
    return {
        "Cor-Split, the paper's way": CorSplit(**as_paper, partition="paper"),
        "Cor-Split, the paper's way but our partition": CorSplit(**as_paper),
        "Cor-Split, default": CorSplit(m=m, n=N),
    }
