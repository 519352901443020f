"""What m-invariance and Cor-Split share: division, balancing and assignment of rows to buckets.

Planning works on counts alone: how many rows of each sensitive value are in each bucket and among the new rows. Moving
the rows is a separate step. An engine that keeps rows elsewhere can replace the second step and reach the same release.
"""
