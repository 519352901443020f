"""Utility: how much a release still tells, one measure per file."""
