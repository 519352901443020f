"""The numbered items of each paper, by its key: what somebody with the paper in hand may look for.

[XT07] numbers its figures and tables apart from its definitions; scans of [BPG] have lost its Table 3.
"""


def _to(last: int) -> list[str]:
    return [str(number) for number in range(1, last + 1)]


ITEMS: dict[str, dict[str, list[str]]] = {
    "XT07": {
        "Definition": _to(17),
        "Lemma": _to(5),
        "Example": _to(5),
        "Figure": _to(9),
        "Table": _to(5),
    },
    "RB09": {
        "Definition": _to(9),
        "Lemma": _to(3),
        "Theorem": _to(3),
        "Example": _to(4),
        "Figure": _to(9),
        "Table": _to(1),
    },
    "BPG": {
        "Definition": _to(3),
        "Theorem": _to(3),
        "Listing": _to(1),
        "Figure": _to(3),
        "Table": ["1", "2", "4"],
    },
    "RPB12": {
        "Definition": _to(3),
        "Algorithm": _to(5),
        "Example": _to(3),
        "Figure": _to(8),
        "Table": _to(5),
    },
    "ST15": {
        "Definition": ["2.1", "2.2", "2.3", "3.1", "3.2", "3.3"],
        "Theorem": ["4.1", "4.2", "4.3", "4.4"],
        "Lemma": ["8.1"],
        "Algorithm": _to(2),
        "Example": ["1.1", "3.1", "3.2", "4.1", "4.2", "5.1"],
        "Figure": _to(17),
        "Table": _to(17),
    },
}
