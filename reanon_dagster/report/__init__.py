"""Reports of a series: what is read of the store for them, and the pages."""
