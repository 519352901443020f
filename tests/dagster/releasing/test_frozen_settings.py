"""What the first release freezes, and what may grow: the rule of balancing cannot change, what the paper's has told
cannot be taken back; a domain, an order and a taxonomy may have more values if none that is there moves."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders.series import SERIES, lively, plainly_published, write_series

from reanon_dagster.cli import main

M_INVARIANCE = "m-invariance, m: 3"
COR_SPLIT = "cor-split, m: 3, n: 2"


def text(technique: str, balancing: str) -> str:
    return plainly_published(SERIES.replace(M_INVARIANCE, f"{technique}, balancing: {balancing}"))


def balancing(path: Path, release: str) -> str:
    manifest = path.parent / "published" / "clinic" / release / "manifest.json"
    return str(json.loads(manifest.read_text())["technique"]["balancing"])


@pytest.mark.parametrize("technique", [M_INVARIANCE, COR_SPLIT])
@pytest.mark.parametrize(("first", "second"), [("filled", "blind"), ("blind", "filled")])
def test_balancing_cannot_change_between_the_papers_and_blind(
    technique: str, first: str, second: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_series(tmp_path, text=text(technique, first), snapshots=lively(2))
    assert main(["publish", str(path), "--release", "r1", "--quiet"]) == 0
    path.write_text(text(technique, second))
    capsys.readouterr()
    for command in ("validate", "publish"):
        assert main([command, str(path)]) == 1
        assert f"technique.balancing was {first} and is {second}" in capsys.readouterr().err
    assert not (path.parent / "published" / "clinic" / "r2").exists()
    path.write_text(text(technique, first))
    assert main(["publish", str(path)]) == 0
    told = "balancing: filled tells an adversary who knows the algorithm some people's values"
    assert (told in capsys.readouterr().err) == (first == "filled")
    assert balancing(path, "r2") == first


COLUMN = "  zip: {kind: numeric, min_width: 10}\n"
TREE = "f,person,any\nm,person,any\n"


def grown(path: Path, column: str, tree: str = TREE) -> str:
    """The series with this column beside age, its tree, and the path of its file."""
    (path.parent / "tree.csv").write_text(tree)
    path.write_text(plainly_published(SERIES.replace(COLUMN, f"  sex: {{{column}}}\n")))
    return str(path)


def with_sex(frame: pd.DataFrame, *new: str) -> pd.DataFrame:
    return frame.assign(sex=[*new, *np.resize(["f", "m"], len(frame) - len(new))])


ORDER = "kind: categorical, order: [f, m]"
LEAVES = "kind: categorical, taxonomy: tree.csv"


@pytest.mark.parametrize(
    ("first", "second", "tree", "moved"),
    [
        (ORDER, "kind: categorical, order: [f, m, x]", TREE, False),
        (ORDER, "kind: categorical, order: [f, x, m]", TREE, True),
        (ORDER, "kind: categorical, order: [x, f, m]", TREE, True),
        (ORDER + ", min_width: 2", "kind: categorical, order: [f, m, x], min_width: 2", TREE, True),
        (ORDER + ", min_width: 2", "kind: categorical, order: [f, m, x, y], min_width: 2", TREE, False),
        (LEAVES, LEAVES, TREE + "x,other,any\n", False),
        (LEAVES, LEAVES, TREE + "x,any\n", False),
        (LEAVES, LEAVES, "x,other,any\n" + TREE, True),
        (LEAVES, LEAVES, TREE.replace("person", "human") + "x,any\n", True),
        (LEAVES + ", min_width: 2", LEAVES + ", min_width: 2", TREE + "x,other,any\n", True),
        (LEAVES + ", min_width: 2", LEAVES + ", min_width: 2", TREE + "x,other,any\ny,other,any\n", False),
    ],
)
def test_an_order_and_a_taxonomy_may_grow_where_nothing_moves(
    tmp_path: Path, first: str, second: str, tree: str, *, moved: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    frames = lively(3, size=72)
    path = write_series(tmp_path, snapshots={"r1": with_sex(frames["r1"]), "r2": with_sex(frames["r2"], "x", "x")})
    assert main(["publish", grown(path, first), "--quiet"]) == 0
    assert main(["publish", str(path), "--quiet"]) == 2
    assert "sex ('x' in 2 rows) must be" in (told := capsys.readouterr().err)
    assert "add the values at the end of the taxonomy or order" in told
    code = main(["publish", grown(path, second, tree), "--quiet"])
    assert code == (1 if moved else 0), capsys.readouterr().err
    if moved:
        assert "froze its settings: quasi_identifiers.sex." in capsys.readouterr().err
        return
    assert main(["audit", str(path), "--quiet"]) == 0
    assert main(["verify", str(path.parent / "published" / "clinic"), "--quiet"]) == 0
    write_series(tmp_path, snapshots={"r3": with_sex(frames["r3"])})
    assert main(["publish", grown(path, first), "--quiet"]) == 1  # what has grown is frozen as well
    other = second.replace("x", "z", 1) if "order" in second else second
    assert main(["publish", grown(path, other, tree.replace("x,", "z,")), "--quiet"]) == 1
    assert main(["publish", grown(path, second, tree), "--quiet"]) == 0


@pytest.mark.parametrize(
    ("first", "domain", "code"),
    [
        ("[0, 109]", "[0, 111]", 0),
        ("[0, 109]", "[0, 112]", 0),
        ("[0, 109]", "[-2, 109]", 0),
        ("[0, 109]", "[-1, 109]", 1),
        ("[0, 109]", "[0, 107]", 1),
        ("[0, 110]", "[0, 111]", 1),  # what was left over belonged to the last bin
        ("[0, 110]", "[0, 112]", 1),
        ("[0, 107]", "[0, 108]", 1),  # the last bin takes what is left over
    ],
)
def test_a_domain_may_grow_by_whole_bins(tmp_path: Path, first: str, domain: str, code: int) -> None:
    text = SERIES.replace("domain: [0, 110]", f"domain: {first}")
    path = write_series(tmp_path, text=text, snapshots=lively(2, size=72))
    assert main(["publish", str(path), "--quiet"]) == 0
    path.write_text(path.read_text().replace(f"domain: {first}", f"domain: {domain}"))
    assert main(["publish", str(path), "--quiet"]) == code


@pytest.mark.parametrize("form", ["boxes", "decoupled"])
def test_missing_values_may_be_published_after_a_release_without_any(
    tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    frames = lively(3, size=72)
    frames["r2"] = frames["r2"].assign(age=frames["r2"]["age"].astype("Int64").mask(frames["r2"].index % 9 == 0))
    path = write_series(tmp_path, text=f"{SERIES}publish: {{form: {form}}}\n", snapshots=frames)
    assert main(["backfill", str(path), "--quiet"]) == 2
    assert "set missing: separate to publish empty values as such" in capsys.readouterr().err
    text = path.read_text()
    path.write_text(text.replace("domain: [0, 110]", "domain: [0, 110], missing: separate"))
    assert main(["backfill", str(path), "--quiet"]) == 0
    for command in ("audit", "doctor"):
        assert main([command, str(path), "--quiet"]) == 0
    assert main(["verify", str(path.parent / "published" / "clinic"), "--quiet"]) == 0
    path.write_text(text)
    assert main(["status", str(path)]) == 0
    assert main(["validate", str(path)]) == 1
    assert "quasi_identifiers.age.missing was separate and is refuse" in capsys.readouterr().err
