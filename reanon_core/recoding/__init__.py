"""Shared steps from groups to public rows."""
