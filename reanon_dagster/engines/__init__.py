"""Where the tasks of a release that does not fit into memory are run: in this process, or by Spark."""
