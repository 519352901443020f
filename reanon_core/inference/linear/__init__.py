"""[RB09], strict mode: correlations derived from signed sums of groups."""
