"""BPG: a release of any partitioner made safe together with all releases before it. See PAPER.md."""
