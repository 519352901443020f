"""[XT07], [ST15]: every possible world of a tiny history, by enumeration."""
