"""[RB09] Section 2: values that known people and group sizes rule out."""
