"""Verdicts as Dagster asset checks, and checks that run after a release."""
