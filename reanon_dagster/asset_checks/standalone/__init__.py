"""Checks with a step of their own: they run after a release, and again whenever a person executes them."""
