"""Arrow tables in and out, the same for every source and every kind of frame: ids, snapshots, published tables."""
