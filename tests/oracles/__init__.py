"""Slow and literal: the definitions written down with sets and loops, and the small tables to hold them against."""
