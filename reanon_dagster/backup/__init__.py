"""Backups: the private folder of a series as one encrypted file, and back."""
