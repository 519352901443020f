"""What m-invariance and Cor-Split share: division, balancing and assignment of rows to buckets.

Planning works on counts alone (how many rows of each sensitive value in each bucket and among the new rows); moving the
rows is a step of its own. An engine that keeps rows elsewhere can run the second step and reach the same release.
"""
