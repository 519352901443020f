"""[RB09] Section 2: elimination of the values that known people and group sizes rule out."""
