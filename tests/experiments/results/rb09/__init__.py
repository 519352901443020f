"""[RB09] Sections 3 and 5: the figures of the Cor-Split paper."""

from experiments.results.rb09 import breach_probabilities, correlations, query_errors

FIGURES = {
    "2": breach_probabilities.FIGURE_2,
    "7": correlations.FIGURE_7,
    "8": correlations.FIGURE_8,
    "9": query_errors.FIGURE_9,
}
