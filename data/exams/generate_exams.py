"""Synthetic weekly exam results in the shape of the JS-reduce paper's data: who was examined, and with which result.

    python data/exams/generate_exams.py --views 24 --rows 5000 --seed 7 --out data/exams/snapshots

**Every probability here is invented**: see SOURCE.md. A patient belongs to one of 18 classes (third of age, gender,
third of weight). The next result depends on the class, the stage, the direction of the last change and how long the
stage has lasted (up to three exams): a finite automaton of 155 states and a start.
"""

import argparse
import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

DISEASES = {"liver": 5, "HIV": 4, "Alzheimer": 3, "sepsis": 5}
STAGES = tuple(f"{disease}-{stage}" for disease, count in DISEASES.items() for stage in range(1, count + 1))
VALUES = (*STAGES, "deceased", "discharged")
DECEASED, DISCHARGED = len(STAGES), len(STAGES) + 1
AGES, WEIGHTS = (45, 74), (60, 89)
GENDERS = ("F", "M")
CLASSES = 18
NONE, WORSE, BETTER = 0, 1, 2
"""The direction of the last change of stage."""
DWELL = 3
"""Exams in one stage are told apart up to this many."""
STATES = 1 + len(STAGES) * 3 * DWELL + 2
"""The start, (stage, direction, dwell), deceased, discharged."""
EXIT_SCALE = {5000: 0.91, 7500: 0.69}
"""Multiplies both ways out, for each size of the pool, so that 24 views show about 16,160 patients."""

_FIRST = np.cumsum([0, *DISEASES.values()])  # the first stage of each disease
_DISEASE = np.repeat(np.arange(len(DISEASES)), list(DISEASES.values()))  # the disease of each stage


@dataclass(frozen=True)
class Course:
    """How one disease goes, for a patient of the middle class who has just arrived in a middle stage."""

    worse: float
    better: float
    jump: float  # two stages at once
    dies: float  # in the last stage; earlier stages have less
    leaves: float  # in the first stage; later stages have less


COURSES = (
    Course(worse=0.24, better=0.14, jump=0.02, dies=0.16, leaves=0.12),  # liver
    Course(worse=0.18, better=0.10, jump=0.01, dies=0.10, leaves=0.10),  # HIV
    Course(worse=0.16, better=0.04, jump=0.01, dies=0.12, leaves=0.08),  # Alzheimer
    Course(worse=0.34, better=0.28, jump=0.06, dies=0.30, leaves=0.22),  # sepsis
)


def class_of(age: Codes, gender: Codes, weight: Codes) -> Codes:
    """The class of each patient: third of age, gender, third of weight."""
    return (((age - AGES[0]) // 10 * 2 + gender) * 3 + (weight - WEIGHTS[0]) // 10).astype(np.int32)


def prior() -> Floats:
    """How likely each value is for a patient of each class who was never examined before, [18, 19]."""
    table = np.zeros((CLASSES, len(VALUES)))
    for third, gender, heavy in np.ndindex(3, 2, 3):
        disease = np.array(
            [
                0.30 * (0.7 + 0.3 * gender) * (0.6 + 0.4 * heavy),
                0.30 * (0.6 + 0.5 * gender) / (1 + 0.6 * third),
                0.10 * (1 + 1.2 * third) * (1.2 - 0.3 * gender),
                0.30 * (0.7 + 0.25 * third) * (0.9 + 0.1 * heavy),
            ]
        )
        disease /= disease.sum()
        row = table[(third * 2 + gender) * 3 + heavy]
        for number, count in enumerate(DISEASES.values()):
            early = (0.75 + 0.05 * third) ** np.arange(count)
            row[_FIRST[number] : _FIRST[number + 1]] = disease[number] * early / early.sum()
    return table


def following() -> Codes:
    """The state after each value, [states, values]."""
    table = np.empty((STATES, len(VALUES)), dtype=np.int32)
    for state in range(STATES):
        for value in range(len(VALUES)):
            table[state, value] = _next(state, value)
    return table


def _next(state: int, value: int) -> int:
    if value >= len(STAGES):
        return STATES - 2 + value - len(STAGES)
    if not 0 < state < STATES - 2:
        return _state(value, NONE, 1)
    stage, direction, dwell = _parts(state)
    if value == stage:
        return _state(value, direction, min(DWELL, dwell + 1))
    if _DISEASE[value] != _DISEASE[stage]:
        return _state(value, NONE, 1)
    return _state(value, WORSE if value > stage else BETTER, 1)


def _state(stage: int, direction: int, dwell: int) -> int:
    return 1 + (stage * 3 + direction) * DWELL + dwell - 1


def _parts(state: int) -> tuple[int, int, int]:
    rest, dwell = divmod(state - 1, DWELL)
    return rest // 3, rest % 3, dwell + 1


def emission(exit_scale: float) -> Floats:
    """How likely each next value is, by class and state, [18, states, 19]; no row for the start and for those gone."""
    table = np.zeros((CLASSES, STATES, len(VALUES)))
    for third, gender, heavy in np.ndindex(3, 2, 3):
        for state in range(1, STATES - 2):
            stage, direction, dwell = _parts(state)
            row = _row(stage, direction, dwell, (third, gender, heavy), exit_scale)
            table[(third * 2 + gender) * 3 + heavy, state] = row
    return table


def _row(stage: int, direction: int, dwell: int, kind: tuple[int, int, int], exit_scale: float) -> Floats:
    third, gender, heavy = kind
    disease = int(_DISEASE[stage])
    course, first, last = COURSES[disease], int(_FIRST[disease]), int(_FIRST[disease + 1]) - 1
    far = (stage - first) / (last - first)  # 0 in the first stage, 1 in the last
    settled = 0.65 ** (dwell - 1)
    age, weight = (0.8, 1.0, 1.25)[third], (0.85, 1.0, 1.2)[heavy] if disease in {0, 3} else 1.0
    worse = course.worse * {NONE: 1.0, WORSE: 2.0, BETTER: 0.35}[direction] * settled * age * weight
    better = course.better * {NONE: 1.0, WORSE: 0.35, BETTER: 2.2}[direction] * settled / age
    dies = course.dies * far**2 * age * (1.1 if gender else 0.95) * exit_scale
    leaves = course.leaves * (1 - far) ** 2 * (1.8 if direction == BETTER else 0.9) / age * exit_scale
    row = np.zeros(len(VALUES))
    row[DECEASED], row[DISCHARGED] = dies, leaves
    for target, chance in (
        (stage + 1, worse),
        (stage - 1, better),
        (stage + 2, course.jump * worse),
        (stage - 2, course.jump * better),
    ):
        if first <= target <= last:
            row[target] += chance
    moving = row.sum()
    if moving > 0.95:  # somebody always stays
        row *= 0.95 / moving
    row[stage] = 1 - row.sum()
    return row


@dataclass(frozen=True, eq=False)
class View:
    """The exams of one week."""

    patient: npt.NDArray[np.int64]  # [n] ascending
    age: Codes
    gender: Codes
    weight: Codes
    value: Codes


def views(seed: int, *, count: int = 24, rows: int = 5000, pool: int = 7500) -> Iterator[View]:
    """The weekly views of one seed: `rows` of the `pool` active patients are examined, and whoever is gone is replaced.

    An exam advances the patient's course by one step; whoever was never examined has a value of the prior.
    """
    rng = np.random.default_rng(seed)
    nearest = min(EXIT_SCALE, key=lambda size: abs(size - pool * 5000 / rows))
    start, chances, then = prior(), emission(EXIT_SCALE[nearest]), following()
    active = _arrive(rng, pool, 0)
    seen = pool
    for _ in range(count):
        examined = np.sort(rng.choice(pool, size=rows, replace=False))
        kind = class_of(active.age[examined], active.gender[examined], active.weight[examined])
        state = active.state[examined]
        odds = np.where((state == 0)[:, None], start[kind], chances[kind, state])
        value = _drawn(odds, rng)
        active.state[examined] = then[state, value]
        order = np.argsort(active.patient[examined])
        at = examined[order]
        yield View(
            active.patient[at].copy(), active.age[at].copy(), active.gender[at].copy(), active.weight[at].copy(),
            value[order],
        )  # fmt: skip
        gone = examined[value >= len(STAGES)]
        fresh = _arrive(rng, len(gone), seen)
        seen += len(gone)
        for name in ("patient", "age", "gender", "weight", "state"):
            getattr(active, name)[gone] = getattr(fresh, name)


@dataclass(frozen=True, eq=False)
class _Active:
    patient: npt.NDArray[np.int64]
    age: Codes
    gender: Codes
    weight: Codes
    state: Codes


def _arrive(rng: np.random.Generator, count: int, first: int) -> _Active:
    return _Active(
        np.arange(first, first + count, dtype=np.int64),
        rng.integers(AGES[0], AGES[1] + 1, count, dtype=np.int32),
        rng.integers(0, 2, count, dtype=np.int32),
        rng.integers(WEIGHTS[0], WEIGHTS[1] + 1, count, dtype=np.int32),
        np.zeros(count, dtype=np.int32),
    )


def _drawn(odds: Floats, rng: np.random.Generator) -> Codes:
    """One value for each row of probabilities."""
    below = np.cumsum(odds, axis=1)
    drawn = (rng.random(len(odds))[:, None] * below[:, -1:] >= below).sum(axis=1)
    return np.minimum(drawn, odds.shape[1] - 1).astype(np.int32)


def weeks(count: int) -> list[str]:
    """The names of the releases."""
    return [f"2024-W{week:02d}" for week in range(1, count + 1)]


def write_knowledge(folder: Path, *, pool: int = 7500) -> None:
    """The exact model as files that `knowledge` of a series reads: what a perfect textbook would say."""
    folder.mkdir(parents=True, exist_ok=True)
    start, chances, then = prior(), emission(EXIT_SCALE[pool]), following()
    kinds = [(45 + 10 * age, GENDERS[gender], 60 + 10 * weight) for age, gender, weight in np.ndindex(3, 2, 3)]
    with (folder / "prior.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("age", "gender", "weight", "value", "probability"))
        for kind, row in zip(kinds, start, strict=True):
            out.writerows((*kind, VALUES[value], f"{row[value]:.6f}") for value in np.flatnonzero(row))
    with (folder / "transitions.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("age", "gender", "weight", "from", "to", "probability", "then"))
        reached = {int(then[0, value]) for value in np.flatnonzero(start.any(axis=0))}
        for _ in range(STATES):
            reached |= {int(then[s, v]) for s in reached for v in np.flatnonzero(chances[:, s].any(axis=0))}
        for number, kind in enumerate(kinds):
            for state in sorted(reached - {STATES - 2, STATES - 1}):
                row = chances[number, state]
                for value in np.flatnonzero(row):
                    out.writerow(
                        (*kind, state_name(state), VALUES[value], f"{row[value]:.6f}", state_name(then[state, value]))
                    )


def state_name(state: int) -> str:
    """A state as it is called in the knowledge file; a stage alone is that of somebody just seen for the first time."""
    if state >= STATES - 2:
        return VALUES[len(STAGES) + state - (STATES - 2)]
    stage, direction, dwell = _parts(state)
    course = ("", " worse", " better")[direction]
    return f"{STAGES[stage]}{course}" + (f" x{dwell}" if dwell > 1 else "")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write weekly views of synthetic exam results.")
    parser.add_argument("--views", type=int, default=24, help="how many weeks, at most 52")
    parser.add_argument("--rows", type=int, default=5000, help="exams a week")
    parser.add_argument("--pool", type=int, default=7500, help="patients under treatment at a time")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "snapshots")
    parser.add_argument("--knowledge", type=Path, help="write the model itself here, as prior.csv and transitions.csv")
    options = parser.parse_args()
    if options.knowledge:
        write_knowledge(options.knowledge, pool=min(EXIT_SCALE, key=lambda size: abs(size - options.pool)))
    options.out.mkdir(parents=True, exist_ok=True)
    made = views(options.seed, count=options.views, rows=options.rows, pool=options.pool)
    for name, view in zip(weeks(options.views), made, strict=True):
        with (options.out / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(("patient", "age", "gender", "weight", "result"))
            columns = (view.patient, view.age, view.gender, view.weight, view.value)
            for patient, age, gender, weight, value in zip(*(c.tolist() for c in columns), strict=True):
                out.writerow((f"p{patient:06d}", age, GENDERS[gender], weight, VALUES[value]))


if __name__ == "__main__":
    main()
