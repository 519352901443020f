"""An attack in words, for pages: what it does, what its adversary knows, and what it cannot see."""

from reanon_core.catalog import ATTACKS


def attack_description(name: str) -> dict[str, str]:
    """The texts of an attack in the catalog."""
    kind = ATTACKS[name]
    what = ((kind.__doc__ or "").splitlines() or [""])[0]
    return {"name": name, "what": what, "knows": kind.knows, "blind_to": kind.blind_to}
