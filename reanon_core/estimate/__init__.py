"""Estimates from published files alone: counts, means, quantiles, trends and regressions, each with an interval.

`ReleaseEstimates` in `questions` answers them; docs/using-a-release.md shows how. Nothing here sees a snapshot, a trace
or the code that makes or measures releases: an analyst has the published folder only.
"""
