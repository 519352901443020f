"""[XT07], [ST15]: every world of a tiny history, counted one by one."""
