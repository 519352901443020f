"""[XT07] Section 5: the figures of the m-invariance paper."""

from experiments.results.xt07 import cost, counterfeits, query_errors, vulnerable_people

FIGURES = {
    "4": vulnerable_people.FIGURE_4,
    "5": counterfeits.FIGURE_5,
    "6": counterfeits.FIGURE_6,
    "7": query_errors.FIGURE_7,
    "8": query_errors.FIGURE_8,
    "9": cost.FIGURE_9,
}
