"""What a published column shows, in words."""

from reanon_core.model.published_columns import PublishedColumn, Role

_MEANINGS = {
    Role.GROUP: "the group of the row; numbers are random and mean nothing across releases",
    Role.LEAST: "where the interval of `{}` begins",
    Role.GREATEST: "where the interval of `{}` ends; this value belongs to the interval",
    Role.NODE: "the lowest node of the taxonomy of `{}` that covers the interval",
    Role.MISSING: "whether none, some or all people in the box lack a value of `{}`",
    Role.SENSITIVE: "the sensitive value",
    Role.OTHER: "published unchanged",
}


def meaning_of(column: PublishedColumn) -> str:
    """One phrase for a column of a published table."""
    return _MEANINGS[column.role].format(column.source)
