"""Engines: where the tasks of a release that does not fit into memory are run, and the files they work on.

A task is a plain function of numbers and of columns on disk. It writes columns, or pieces of columns for later tasks,
and returns counts. So the same function runs in this process and on the workers of a cluster, and gives the same files.
"""
