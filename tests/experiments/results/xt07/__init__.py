"""[XT07] Section 5: the figures of the m-invariance paper."""

from experiments.results.xt07 import counterfeits

FIGURES = {
    "5": counterfeits.FIGURE_5,
    "6": counterfeits.FIGURE_6,
}
