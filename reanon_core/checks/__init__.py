"""Judges: one privacy principle per file, written from its definition, sharing no code with any algorithm."""
