"""[RB09], strict: sets of people with equal values, derived from signed sums of groups."""
