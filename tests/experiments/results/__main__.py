"""Compute, draw or check the figures of the papers on our data.

    python -m tests.experiments.results                       # every figure of every paper (make results)
    python -m tests.experiments.results xt07 --figure 5       # one figure: numbers and picture to docs/results/figures
    python -m tests.experiments.results xt07 --figure 5 --check     # compute it again; exit 1 if a number differs
    python -m tests.experiments.results xt07 --small --out build/results    # tiny runs of all figures of a paper

docs/results/README.md says what each figure shows, and how long it takes.
"""

import argparse
import json
import sys
import time
from io import BytesIO
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from experiments.results import bpg, rb09, rpb12, st15, xt07
from experiments.results.figure import KEPT, Figure, differences, written
from PIL import Image

PAPERS = {"xt07": xt07, "rb09": rb09, "bpg": bpg, "rpb12": rpb12, "st15": st15}
COLOURS = 200
"""As many as a picture needs; with fewer colours a file is smaller."""


def arguments(typed: list[str] | None) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.experiments.results",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paper", nargs="?", choices=list(PAPERS), help="all, if left out")
    parser.add_argument("--figure", help="one figure of the paper; all, if left out")
    parser.add_argument("--small", action="store_true", help="a tiny run that shows only that it works; needs --out")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_true", help="write nothing; exit 1 if a number differs from the kept")
    action.add_argument("--draw", action="store_true", help="draw the kept numbers again, and compute nothing")
    parser.add_argument("--out", type=Path, default=KEPT, help="where the numbers and pictures are kept")
    given = parser.parse_args(typed)
    if given.small and given.out == KEPT:
        parser.error("--small needs --out: the kept figures are not tiny runs")
    if given.figure and not given.paper:
        parser.error(f"--figure ({given.figure}) needs a paper: {', '.join(PAPERS)}")
    if given.figure and given.figure not in PAPERS[given.paper].FIGURES:
        parser.error(f"--figure ({given.figure}) must be one of {', '.join(PAPERS[given.paper].FIGURES)}")
    return given


def checked(figure: Figure, path: Path, *, small: bool) -> bool:
    """Whether a second computation gives the kept numbers."""
    if not path.exists():
        print(f"  {path.name} is not kept yet; run without --check to write it", file=sys.stderr)
        return False
    kept, present = json.loads(path.read_text(encoding="utf-8")), figure.present()
    kept = {key: value for key, value in kept.items() if key in ("title", *present)}
    found = list(differences(kept, figure.document(small=small)))
    for sentence in found:
        print(f"  {sentence}", file=sys.stderr)
    return not found


def made(figure: Figure, path: Path, *, small: bool) -> None:
    """Write the numbers and the picture; numbers of a population that is not there are kept as they are."""
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    absent = {name: kept[name] for name in figure.populations if name in kept and name not in figure.present()}
    written({**figure.document(small=small), **absent}, path)


def drawn(figure: Figure, path: Path) -> None:
    """Draw the kept numbers."""
    kept = json.loads(path.read_text(encoding="utf-8"))
    picture = figure.draw({name: kept[name] for name in figure.populations if name in kept})
    saved = BytesIO()
    picture.savefig(saved, dpi=100)
    plt.close(picture)
    Image.open(saved).convert("RGB").quantize(COLOURS).save(path.with_suffix(".png"), optimize=True)


def main(typed: list[str] | None = None) -> int:
    """Go through the chosen figures."""
    given = arguments(typed)
    given.out.mkdir(parents=True, exist_ok=True)
    same = True
    for paper in [given.paper] if given.paper else PAPERS:
        figures: dict[str, Figure] = PAPERS[paper].FIGURES
        for name in [given.figure] if given.figure else figures:
            figure, path, begun = figures[name], given.out / f"{paper}-{name}.json", time.process_time()
            print(f"{paper} {name}: {figure.title}", flush=True)
            for left_out in sorted(set(figure.populations) - set(figure.present())):
                print(f"  {left_out} is left out: its data is not beside the project (../shared/data)")
            if given.check:
                same &= checked(figure, path, small=given.small)
            else:
                if not given.draw:
                    made(figure, path, small=given.small)
                drawn(figure, path)
            print(f"  {time.process_time() - begun:.0f} s of CPU", flush=True)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
