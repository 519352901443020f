"""Compiled inner loops: arrays in, arrays out, no policy."""
