"""Utility metrics: how much information a release preserves, one metric per file."""
