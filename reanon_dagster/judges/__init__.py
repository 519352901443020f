"""Judges at size: checks of a release that does not fit into memory, written from their definitions a second time.

The arrays of the release are mapped files. A judge reads them from front to back, as often as it needs to. Whatever it
reads or writes in another order is a part that fits into its memory: it goes through the release once for each part.
"""
