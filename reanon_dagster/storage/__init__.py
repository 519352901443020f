"""The DuckDB store of each series, its key, and the public folder. One transaction for each release."""
