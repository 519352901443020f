"""From a steward's files and queries to a coded Snapshot. All problems of a snapshot at once; no id in any message."""
