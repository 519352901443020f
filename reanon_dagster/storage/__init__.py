"""DuckDB: one private file for each series, private and public tables apart, one transaction for each release."""
