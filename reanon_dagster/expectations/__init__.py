"""Great Expectations: the rules of snapshots and releases as suites with Data Docs. They inform; the gate decides.

Great Expectations takes seconds to import, so functions import it, never modules.
"""
