"""The core of reanon: five techniques for publishing a changing table again and again.

Nothing here touches a disk, a clock, a log or a global generator. Importing it pulls in
neither dagster, duckdb, great_expectations nor pyspark.
"""

__version__ = "0.1.0"
