"""Figures 3 to 8 of [RPB12] (JS-reduce), on the synthetic exams and on Adult: docs/results/rpb12.md."""

from experiments.results.rpb12.measurements import FIGURES

__all__ = ["FIGURES"]
