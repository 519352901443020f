"""Pages without scripts and requests, of public objects or plain numbers; nothing here reads a file of a series."""
