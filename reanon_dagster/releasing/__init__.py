"""One release end to end: read, plan, emit, check, gate, commit. The assets and the command both call this."""
