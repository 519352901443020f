"""The assets of a series: snapshot, candidate, published, evidence. Each body loads, calls, stores, describes."""
