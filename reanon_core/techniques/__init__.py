"""One folder per paper; the folders never import each other."""
