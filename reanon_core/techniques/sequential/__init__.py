"""Sequential releases by possible worlds, after Shmueli and Tassa (2015): different columns, the same worlds."""
