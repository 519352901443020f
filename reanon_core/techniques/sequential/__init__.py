"""Sequential releases by possible worlds, after Shmueli and Tassa: different columns each time, the same worlds."""
