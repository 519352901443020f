"""The documents that explain what is published. They are made from public objects alone."""
