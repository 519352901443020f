"""The product around the core: series files, the store, the command and the Dagster assets."""
