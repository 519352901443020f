"""Great Expectations: what a series and its steward expect of a snapshot, evaluated on the raw table; and Data Docs.

Great Expectations takes seconds to import, so functions import it, never modules.
"""
