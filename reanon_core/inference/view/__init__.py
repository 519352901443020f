"""The adversary's view: sensitive releases, boxes, memberships, value sets, traces. The other rooms build on it."""
