"""What a steward writes, parsed: series.yaml, its taxonomies, its calendar. All errors at once."""
