"""The assets of a series: `release`, which makes a release, and `snapshot`, `state`, `evidence`, which it fills."""
