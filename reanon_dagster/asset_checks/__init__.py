"""Verdicts as Dagster asset checks: the only translation."""
