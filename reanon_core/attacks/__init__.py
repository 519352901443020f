"""Adversaries: one per file, named by what the adversary does with what is public and what they know."""
