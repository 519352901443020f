"""[BPG]: what remains of a group when known sets of people are subtracted from it."""
