"""The measurement behind the Mondrian line of `make bench`."""

import re
import subprocess
import time
from pathlib import Path

import numpy as np

from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.recoding.mondrian import Principle, Table, mondrian_classes

ROWS = 200_000


def against_anchor(table: np.ndarray, folder: Path, anchors: Path | None) -> float | None:
    """The least CPU of ours over the anchor's least, on the same rows; the partitions must have the same shape."""
    if anchors is None:
        return None
    program, rows = folder / "mondrian", folder / "rows.bin"
    source = anchors / "mondrian.cpp"
    subprocess.run(["g++", "-O3", "-march=native", "-std=c++17", "-pthread", "-o", program, source], check=True)
    table[:ROWS].astype(np.uint8).tofile(rows)
    command = [program, str(ROWS), "10", "10", "0", rows]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.search(r"1 thread ([\d.]+) ms.*classes (\d+), C_DM (\d+)", printed)
    assert found is not None, printed
    qi, sensitive = np.ascontiguousarray(table[:ROWS, :4].T), np.ascontiguousarray(table[:ROWS, 4])
    schema = Schema(
        quasi_identifiers=tuple(QuasiIdentifier(name=f"q{i}") for i in range(4)),
        sensitive=Sensitive(name="s", values=tuple(str(i) for i in range(50))),
    )
    extent = np.stack([qi.min(axis=1), qi.max(axis=1)]).astype(np.int64)
    seconds = []
    for _ in range(15):
        began = time.process_time()
        group, classes = mondrian_classes(Table(qi, sensitive, schema, extent), Principle(k=10, ell=10))
        seconds.append(time.process_time() - began)
    assert (classes, int((np.bincount(group) ** 2).sum())) == (int(found[2]), int(found[3])), (
        "other classes than the anchor's"
    )
    return min(seconds) * 1000 / float(found[1])
