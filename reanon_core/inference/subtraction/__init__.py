"""[BPG]: what is left of a group when known sets of people are subtracted from it."""
