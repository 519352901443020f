"""[ST15] Section 6: the figures of the paper on sequential releases."""

from experiments.results.st15.measurements import FIGURES

__all__ = ["FIGURES"]
