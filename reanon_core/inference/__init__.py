"""Shared mathematics of the adversaries: what follows from public tables and declared knowledge."""
