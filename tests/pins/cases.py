"""The pinned series: every technique with its options, on few people. What is here is never changed, only added to."""

from dataclasses import replace

from pins.case import AGE, ATTACKS, TINY_ATTACKS, WITH_LINEAR, ZIP, Case
from pins.people import DISEASES, RESULTS, Crowd

GAPS = "zip: {kind: numeric, min_width: 10, missing: separate}"
BORN = "born: {kind: date, min_width: 30}"
WEIGHT = "weight: {kind: numeric, granularity: 0.1, min_width: 2}"
SCHOOL = "education: {kind: categorical, taxonomy: education.csv}"
GENDER = "gender: {kind: categorical, order: [F, M]}"
JOB = "job: {kind: categorical, order: [baker, judge, nurse, smith, teacher], min_width: 2}"

SHOWN = ", columns: {r1: [age, disease], r2: [zip, job, disease, blood], r3: [age, job, blood], r4: [zip, disease]}"
ASKED = ', select: {r2: "age > 30", r3: "zip < 10350 or age = 50", r4: "age < 70"}'

EXAMS = Crowd(size=200, values=RESULTS, changing=40, seed=5)
CSV, PARQUET = "publish: {formats: [csv]}\n", "publish: {formats: [parquet]}\n"
VALUES = f"{{column: disease, values: [{', '.join(RESULTS)}]}}"
RESULT = "{column: disease, taxonomy: result.csv}"

M_INVARIANCE = (
    Case("minv-deep", "m-invariance, m: 3", crowd=Crowd(later=("mumps", "rabies"))),
    Case("minv-stable", "m-invariance, m: 4, assignment: stable", (AGE, SCHOOL, JOB), more=CSV),
    Case(
        "minv-paper",
        "m-invariance, m: 2, assignment: paper",
        (AGE, BORN),
        crowd=Crowd(size=90, releases=3, leave=30, seed=2),
        releases=("2020-Q3", "2020-Q4", "2021-Q1"),
        calendar="cadence: quarterly, first: 2020-Q3",
    ),
    Case(
        "minv-defer",
        "m-invariance, m: 3, not_eligible: defer",
        (AGE, GAPS),
        crowd=Crowd(skew=45, gaps=12, join=30),
    ),
    Case(
        "minv-pad",
        "m-invariance, m: 3, not_eligible: pad",
        (AGE, GAPS, GENDER),
        crowd=Crowd(skew=45, gaps=8, join=30, seed=3),
        more=PARQUET,
    ),
    Case(
        "minv-episode",
        "m-invariance, m: 2, on_sensitive_change: episode, not_eligible: defer",
        crowd=Crowd(changing=8),
    ),
    Case(
        "minv-refuse-moves",
        "m-invariance, m: 3, on_qi_change: refuse, not_eligible: pad",
        (AGE, SCHOOL),
        crowd=Crowd(size=100, releases=3, moving=0, aging=False, leave=40, seed=4),
        releases=("one", "two", "three"),
        more="checks: [{name: weak-m-invariance, m: 3}]\n",
    ),
    Case(
        "minv-formats",
        "m-invariance, m: 2",
        (WEIGHT, BORN, SCHOOL),
        crowd=Crowd(size=80, releases=3, seed=6),
        releases=("2021-01", "2021-02", "2021-03"),
        calendar="cadence: monthly, first: 2021-01",
        source='{path: "snapshots/{release}.csv", id: patient, separator: ";", encoding: latin-1}',
        more="title: Gewichte, monatlich\nmax_drift: 0.9\nadversary: {compromised: 0.1, groups: boxes}\n",
    ),
)
COR_SPLIT = (
    Case("cor-strict", "cor-split, m: 4, n: 2, not_eligible: defer", crowd=Crowd(size=150)),
    Case("cor-pairs", "cor-split, m: 3, n: 2, strict: false", crowd=Crowd(size=150, seed=7)),
    Case(
        "cor-paper",
        "cor-split, m: 4, n: 2, strict: false, partition: paper, assignment: paper",
        (AGE, SCHOOL),
        crowd=Crowd(size=150, leave=25, join=36, seed=8),
    ),
    Case(
        "cor-lifespan",
        "cor-split, m: 5, p: 0.05, max_lifespan: 3, threshold: 0.2, on_lifespan: withhold",
        crowd=Crowd(size=150, leave=20, join=36, seed=9),
    ),
    Case(
        "cor-pad",
        "cor-split, m: 3, n: 2, not_eligible: pad, assignment: stable, on_sensitive_change: episode, combine: 5",
        (AGE, GAPS),
        crowd=Crowd(size=120, releases=3, skew=35, gaps=10, changing=5, seed=10),
        releases=("r1", "r2", "r3"),
        more="adversary: {compromised: 0.05}\n",
    ),
)
BPG = (
    Case("bpg-middle", "bpg, k: 5, ell: 3, reserve: 2", crowd=Crowd(size=240), shown=ASKED),
    Case(
        "bpg-union",
        "bpg, k: 4, ell: 2, variant: union, reject: class, groups: classes, reserve: 1",
        (AGE, SCHOOL),
        crowd=Crowd(size=200, seed=11),
        shown=ASKED,
    ),
    Case("bpg-nodirty", "bpg, k: 4, ell: 2, variant: nodirty, heuristic: distinct", crowd=Crowd(size=240, seed=12)),
    Case(
        "bpg-stored",
        "bpg, k: 4, ell: 2, pool: stored, reserve: 1, max_dirty: 0.8",
        (AGE, GAPS),
        crowd=Crowd(size=240, gaps=6, seed=13),
        shown=ASKED,
    ),
    Case(
        "bpg-ghost",
        "bpg, k: 4, ell: 2, variant: ghost, reserve: 1, cuts: relaxed, heuristic: balance",
        (AGE, ZIP, GENDER),
        crowd=Crowd(size=240, seed=14),
        shown=ASKED,
        more=CSV,
    ),
)
JS_REDUCE = (
    Case(
        "js-merge",
        "js-reduce, k: 6, t: 0.4, j: 0.5",
        (AGE, ZIP, GENDER),
        crowd=EXAMS,
        more="knowledge: {classes: {age: [40, 70], gender: each}}\n",
    ),
    Case(
        "js-relax",
        "js-reduce, k: 6, t: 0.35, j: 0.3, leftovers: relax, slack: 0.3",
        crowd=EXAMS,
        more="knowledge: {memory: 2, normalised: false}\n",
    ),
    Case(
        "js-suppress",
        "js-reduce, k: 5, t: 0.4, j: 0.3, leftovers: suppress, max_run: 0, ell: 1",
        (AGE, GENDER),
        crowd=EXAMS,
        sensitive=VALUES,
        more="knowledge: {source: domain, classes: {gender: each}, prior: prior.csv, transitions: transitions.csv}\n",
    ),
    Case(
        "js-mined",
        "js-reduce, k: 5, t: 0.4, j: 0.5, distance: hierarchical, posterior: sinkhorn, mode: filter",
        (AGE, SCHOOL),
        crowd=EXAMS,
        sensitive=RESULT,
        more="knowledge: {source: mined, memory: 2, corpus: corpus.csv}\n",
    ),
    Case(
        "js-ordered",
        "js-reduce, k: 5, t: 0.3, j: 0.6, distance: ordered, posterior: sum, leftovers: suppress",
        (AGE, GAPS),
        crowd=Crowd(size=150, releases=3, values=RESULTS, changing=30, gaps=10, seed=15),
        releases=("2022-W01", "2022-W02", "2022-W03"),
        calendar="cadence: weekly, first: 2022-W01",
        sensitive=VALUES,
        more="adversary: {groups: boxes}\n",
    ),
)
STAYING = Crowd(size=120, leave=0, moving=0, aging=False, join=30, seed=16)
SEQUENTIAL = (
    Case(
        "seq-symmetric",
        "sequential, ell: 3",
        (AGE, ZIP, JOB),
        crowd=STAYING,
        shown=SHOWN,
        more="other: [blood]\n",
        drop={"r1": ("zip", "job", "blood")},
    ),
    Case("seq-ring", "sequential, ell: 4, worlds: ring, loss: em", (AGE, SCHOOL, GENDER), crowd=STAYING, more=CSV),
    Case(
        "seq-leavers",
        "sequential, ell: 2, buckets: blind, bucket_size: 20, on_delete: defer, on_batch: wait",
        (AGE, ZIP, JOB),
        crowd=Crowd(size=120, leave=8, back=0, moving=0, aging=False, join=24, late_skew=58, seed=17),
    ),
    Case(
        "seq-one-table",
        "sequential, ell: 3, approach: non-sequential, on_bare: publish",
        (AGE, ZIP, SCHOOL),
        crowd=STAYING,
        shown=", columns: {r1: [age, disease], r2: [zip, education], r3: [age, zip, disease], r4: [education, blood]}",
        more="other: [blood]\n",
    ),
    Case("seq-alike", "sequential, ell: 3, approach: homogeneous, worlds: ring", (AGE, ZIP), crowd=STAYING),
    Case(
        "seq-tiny",
        "sequential, ell: 2",
        (AGE, ZIP),
        crowd=Crowd(size=8, releases=3, leave=0, join=0, moving=0, aging=False, values=DISEASES[:4], seed=18),
        releases=("r1", "r2", "r3"),
        shown=", columns: {r2: [age, disease], r3: [zip, disease]}",
        attacks=TINY_ATTACKS,
    ),
)
MONDRIAN = (
    Case(
        "mondrian-k",
        "mondrian, k: 5, ell: 2",
        (AGE, ZIP, SCHOOL),
        crowd=Crowd(size=200, releases=3, seed=19),
        releases=("2021", "2022", "2023"),
        calendar="cadence: yearly, first: 2021",
    ),
    Case(
        "mondrian-frequency",
        "mondrian, k: 4, ell: 3, diversity: frequency, cuts: relaxed, heuristic: balance",
        (AGE, BORN, GENDER),
        crowd=Crowd(size=200, seed=20),
        releases=("2021-01-01", "2021-02-01", "2021-03-01", "2021-04-01"),
        calendar='cron: "0 6 1 * *", first: 2021-01-01',
        source='{path: "snapshots/{release}.parquet", id: patient}',
        more=PARQUET,
    ),
    Case(
        "mondrian-close",
        "mondrian, k: 4, ell: 2, t: 0.35, heuristic: distinct",
        (AGE, GAPS, JOB),
        crowd=Crowd(size=300, gaps=10, seed=21),
        source="{duckdb: visits.duckdb, query: \"select * from visits where wave = '{release}'\", id: patient}",
    ),
    Case(
        "mondrian-tiny",
        "mondrian, k: 2, ell: 2",
        crowd=Crowd(size=7, releases=3, leave=20, join=1, values=DISEASES[:4], seed=22),
        releases=("r1", "r2", "r3"),
        attacks=TINY_ATTACKS,
    ),
)
TIED = Crowd(size=600, join=90, tied=20, seed=23)
TODAY = (
    Case("minv-default", "m-invariance, m: 3", crowd=TIED, attacks=(*ATTACKS, "linkage"), defaults=True),
    Case("cor-default", "cor-split, m: 3, n: 2", crowd=TIED, attacks=(*ATTACKS, "linkage"), defaults=True),
)
"""What a person gets who names no option, of enough people to cut into regions."""
BUCKETED = tuple(
    case if "episode" in case.technique else replace(case, attacks=WITH_LINEAR) for case in (*M_INVARIANCE, *COR_SPLIT)
)
CASES = {case.name: case for case in (*BUCKETED, *TODAY, *BPG, *JS_REDUCE, *SEQUENTIAL, *MONDRIAN)}
EVERY_RUN = (
    "minv-formats",
    "minv-default",
    "cor-default",
    "cor-strict",
    "bpg-stored",
    "js-merge",
    "seq-symmetric",
    "mondrian-k",
)
"""The cases that every run publishes, one of each technique and the defaults; the others take more than a minute."""
