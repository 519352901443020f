"""Great Expectations: the rules of snapshots and releases as suites with Data Docs. It shows; the gate decides.

Great Expectations takes seconds to import, so that only functions of this room load it, never its modules.
"""
