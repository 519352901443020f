"""Examines what a series has on the disk, and repairs what can be repaired without a decision."""
