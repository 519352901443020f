"""Kinds of sources: each one is a class that reads its own keys of series.yaml and the snapshots they name."""
