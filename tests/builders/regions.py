"""Regions that are small enough for tables of a test."""

import pytest

from reanon_core.bucketing import regions


def cut_small_regions(monkeypatch: pytest.MonkeyPatch, *, least: int, rows: int) -> None:
    """Cut regions of so many rows, and pilots of `least` rows for each value of m; any eligible pilot allows them."""
    monkeypatch.setattr(regions, "LEAST_ROWS", least)
    monkeypatch.setattr(regions, "MOST_FREQUENT", (1, 1))
    monkeypatch.setattr(regions, "MOST_FREQUENT_PARTIAL", (1, 1))
    monkeypatch.setattr(regions, "least_rows", lambda *_: rows)
