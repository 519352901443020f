"""The lab: what a series would do, in scratch. Nothing here writes to the folders of a series."""
