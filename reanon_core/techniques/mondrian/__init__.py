"""Mondrian, after LeFevre, DeWitt and Ramakrishnan (2006): the single-release baseline. See PAPER.md."""
