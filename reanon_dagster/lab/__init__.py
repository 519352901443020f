"""Experiments on the snapshots of a series: nothing here is published, and the state of the series stays as it is."""
