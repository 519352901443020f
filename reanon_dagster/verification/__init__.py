"""What anyone can verify with the public folder of a series alone. Nothing here shares code with what writes it."""
