"""One release end to end: read, plan, emit, judge, gate. Commands and assets both call this room."""
