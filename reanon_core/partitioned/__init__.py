"""m-invariance for tables that do not fit into memory: its phases as tasks over columns on disk.

Counts are planned as ever. Rows are divided, placed, split and shown in tasks, each for some people, some buckets or
some public rows. The release is the same as in memory, byte for byte: order and places are functions of keyed words.
"""
