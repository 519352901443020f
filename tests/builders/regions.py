"""Regions that are small enough for tables of a test."""

import pytest

from reanon_core.bucketing import regions


def cut_small_regions(monkeypatch: pytest.MonkeyPatch, *, rows: int) -> None:
    """Cut regions of so many rows in tables of any size, along every column: even chance counts as a relation."""
    monkeypatch.setattr(regions, "LEAST_ROWS", 1)
    monkeypatch.setattr(regions, "TABLE_ROWS", 0)
    monkeypatch.setattr(regions, "VALUES", 0)
    monkeypatch.setattr(regions, "CHANCE", -1e9)
    monkeypatch.setattr(regions, "least_rows", lambda *_: rows)
