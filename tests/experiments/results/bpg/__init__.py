"""[BPG]: the figures and the table of the paper's evaluation."""

from experiments.results.bpg.measurements import FIGURES

__all__ = ["FIGURES"]
