"""The door for Python: frames in, judged releases out, and a series that only advances when a release is published."""

import pickle
import subprocess
import sys
import unicodedata
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import reanon_core as reanon
from reanon_core.model.codebook import Codebook

DISEASES = ("asthma", "cold", "diabetes", "flu", "measles", "gastritis")
QI = {"age": reanon.Numeric(min_width=5), "zip": reanon.Numeric(min_width=1000)}
TECHNIQUES = {
    "m-invariance": reanon.MInvariance(m=2),
    "cor-split": reanon.CorSplit(m=3, n=2),
    "bpg": reanon.Bpg(k=3, ell=2, reserve=2),
    "js-reduce": reanon.JsReduce(k=3, t=0.9, j=2.0),
    "sequential": reanon.Sequential(ell=2, on_delete="defer", on_batch="wait"),
    "mondrian": reanon.Mondrian(k=3, ell=2),
}


def people(count: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "patient": [f"person {i:04d}" for i in range(count)],
            "age": rng.integers(18, 90, count),
            "zip": rng.integers(10_000, 20_000, count),
            "disease": [DISEASES[i % 5] for i in range(count)],
        }
    )


def frames(releases: int = 4) -> dict[str, pd.DataFrame]:
    """People come and go, and everyone who left may return."""
    everyone, rng = people(), np.random.default_rng(1)
    return {f"q{t}": everyone.iloc[rng.permutation(240)[:150]].reset_index(drop=True) for t in range(1, releases + 1)}


def series(technique: object = TECHNIQUES["m-invariance"], **options: object) -> reanon.Series:
    """A series whose releases are one table, unless the options say otherwise."""
    given = {"id": "patient", "sensitive": "disease", "quasi_identifiers": QI, "unsafe_seed": 1, **options}
    return reanon.Series(technique=technique, **{"form": "boxes", **given})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", TECHNIQUES)
def test_every_technique_publishes_frames_and_is_judged_by_its_own_checks(name: str) -> None:
    one = series(TECHNIQUES[name])
    for release, frame in frames(3).items():
        published = one.publish(frame, name=release, accept_drift="BPG withholds many")
        assert published.verdicts
        assert all(verdict.holds for verdict in published.verdicts)
        traced = one.trace(release).to_pandas()
        rows, source = published.to_pandas(), people().set_index("patient")
        assert traced["id"].isin(frame["patient"]).sum() + published.withheld == len(frame)
        shown = rows.iloc[traced["row"]].reset_index(drop=True)
        truth = source.loc[traced["id"]].reset_index()
        assert (shown["disease"] == truth["disease"]).all()
        assert ((shown["age_min"] <= truth["age"]) & (truth["age"] <= shown["age_max"])).all()
    audit = one.audit(attacks=["intersection"]).to_pandas()
    assert audit.loc[audit["kind"] == "check", "holds"].all()
    assert [release.name for release in one.releases] == ["q1", "q2", "q3"]
    assert set(one.query_error()) == {"q1", "q2", "q3"}


@pytest.mark.parametrize("name", TECHNIQUES)
def test_every_technique_publishes_bins_unless_ends_are_exact(name: str) -> None:
    """Most ages and zip codes are no end of a bin: one release has nothing but ends, and the other has others too."""
    frame = frames(1)["q1"]
    columns = {"age": reanon.Numeric(domain=(0, 120)), "zip": reanon.Numeric(granularity="0.5")}
    frame["zip"] = frame["zip"] / 2
    aligned = series(TECHNIQUES[name], quasi_identifiers=columns).publish(frame, name="q1").to_pandas()
    exact = series(TECHNIQUES[name], quasi_identifiers=columns, ends="exact").publish(frame, name="q1").to_pandas()
    # bins of the codes 10,000 to 20,000 in steps of 0.5 are 64 or 128 steps wide
    for table, on_grid in ((aligned, True), (exact, False)):
        ends = [table["age_min"] % 2 == 0, (table["age_max"] % 2 == 1) | (table["age_max"] == 120)]
        ends += [table["zip_min"] * 2 % 64 == 0, table["zip_max"] * 2 % 64 == 63]
        assert [bool(end.all()) for end in ends] == [on_grid] * 4
    assert (aligned["age_max"] > aligned["age_min"]).all()


def test_new_values_in_a_later_frame_keep_everyone_hidden_among_m_values() -> None:
    """With episodes and a new value, codes would change their meaning between two frames if frames were coded alone."""
    one = series(reanon.MInvariance(m=2, on_sensitive_change="episode"))
    first, second = frames(2).values()
    one.publish(first, name="q1")
    second.loc[: len(second) // 6, "disease"] = "abscess"  # sorted before all others
    one.publish(second, name="q2")
    assert one.schema.sensitive.values == (*sorted(DISEASES[:5]), "abscess")
    steady = set(first["patient"]) & set(second.loc[len(second) // 6 + 1 :, "patient"])
    possible: dict[str, set[str]] = {}
    for release in one.releases:
        rows = release.to_pandas()
        values = rows.groupby("group_id")["disease"].agg(set)
        for person, row in one.trace(release.name).to_pandas().itertuples(index=False):
            if person in steady:
                seen = values[rows["group_id"][row]]
                possible[person] = possible.get(person, seen) & seen
    assert min(len(values) for values in possible.values()) >= 2


def test_a_release_that_fails_a_check_is_refused_and_the_series_does_not_advance() -> None:
    strict = reanon.build_check("t-closeness", {"t": 0.01})
    one, control = series(checks=[strict]), series()
    first, second = frames(2).values()
    with pytest.raises(reanon.Refused, match=r"t-closeness fails \(\d+ violations\) in release q1"):
        one.publish(first, name="q1")
    assert one.releases == ()
    assert one.schema.sensitive.values == ()
    with pytest.raises(reanon.OutOfOrder, match="nothing is published yet"):
        one.audit()
    control.publish(first, name="q1")
    lonely = second.assign(disease="flu")
    with pytest.raises(reanon.Unpublishable):
        control.publish(lonely, name="q2")
    untroubled = series()
    untroubled.publish(first, name="q1")
    again, expected = control.publish(second, name="q2"), untroubled.publish(second, name="q2")
    pd.testing.assert_frame_equal(again.to_pandas(), expected.to_pandas())


def test_the_naive_baseline_forgets_and_exposes() -> None:
    defended, naive = series(), series(memory=False)
    for name, frame in frames().items():
        defended.publish(frame, name=name)
        naive.publish(frame, name=name)
    assert defended.attack("propagation").exposed == 0
    assert naive.attack("propagation").exposed > 50
    audit = naive.audit(attacks=[]).to_pandas()
    assert not audit.loc[(audit["name"] == "m-invariance") & (audit["release"] == "q4"), "holds"].item()


def test_pandas_and_arrow_give_the_same_release() -> None:
    frame = frames(1)["q1"]
    expected = series().publish(frame, name="q1")
    table = pa.Table.from_pandas(frame)
    dictionary = table.set_column(3, "disease", table["disease"].dictionary_encode())
    for given in (table, dictionary, frame.assign(disease=frame["disease"].astype("category")), table.to_reader()):
        assert series().publish(given, name="q1").to_arrow().equals(expected.to_arrow())
    assert pa.table(expected).equals(expected.to_arrow())


def test_polars_gives_the_same_release() -> None:
    pl = pytest.importorskip("polars", reason="polars is optional and not in the lock")
    frame = frames(1)["q1"]
    expected = series().publish(frame, name="q1")
    given = pl.from_pandas(frame)
    published = series().publish(given, name="q1")
    assert published.to_arrow().equals(expected.to_arrow())
    assert published.to_polars().equals(pl.DataFrame(expected))
    one = series(reanon.Bpg(k=3, ell=2, reserve=2))
    assert len(one.publish(given, name="q1", selected=given["age"] > 40)) >= int((frame["age"] > 40).sum() / 2)


def test_the_key_and_the_randomness_come_from_the_operating_system() -> None:
    frame = frames(1)["q1"]
    one, other = series(unsafe_seed=None), series(unsafe_seed=None)
    tables = [each.publish(frame, name="q1").to_pandas() for each in (one, other)]
    assert not tables[0].equals(tables[1])
    persons = [each.ledger().entries[0].snapshot.persons for each in (one, other)]
    assert not np.isin(persons[0], persons[1]).any()
    again = [series(unsafe_seed=5).publish(frame, name="q1").to_pandas() for _ in range(2)]
    pd.testing.assert_frame_equal(*again)


def test_one_id_in_two_unicode_forms_is_one_person() -> None:
    frame = frames(1)["q1"]
    frame.loc[0, "patient"] = unicodedata.normalize("NFC", "Zoë")
    twice = frame.copy()
    twice.loc[1, "patient"] = unicodedata.normalize("NFD", "Zoë")
    with pytest.raises(
        reanon.InvalidSnapshot, match=r"patient \(1 id more than once, in rows 1 and 2\) must be unique"
    ):
        series().publish(twice, name="q1")
    one = series()
    one.publish(frame, name="q1")
    later = frame.copy()
    later.loc[0, "patient"] = unicodedata.normalize("NFD", "Zoë")
    one.publish(later, name="q2")
    first, second = (set(entry.snapshot.persons.tolist()) for entry in one.ledger().entries)
    assert first == second


def test_every_problem_of_a_frame_is_told_at_once() -> None:
    frame = frames(1)["q1"]
    wrong = frame.assign(age=frame["age"] + 0.5, disease=[None, *frame["disease"][1:]])
    wrong.loc[1, "patient"] = wrong.loc[0, "patient"]
    with pytest.raises(reanon.InvalidSnapshot) as raised:
        series().publish(wrong, name="q1")
    assert [problem.what for problem in raised.value.problems] == ["patient", "age", "disease"]
    with pytest.raises(reanon.InvalidSnapshot) as raised:
        series().publish(wrong.drop(columns="zip"), name="q1")
    assert [problem.what for problem in raised.value.problems] == ["column zip", "patient", "age", "disease"]
    with pytest.raises(reanon.InvalidSnapshot, match="column zip must be in the frame; its columns are patient, age"):
        series().publish(frame.drop(columns="zip"), name="q1")
    with pytest.raises(reanon.InvalidSnapshot, match=r"age \(object\) must have values of one type"):
        series().publish(frame.assign(age=[object(), *frame["age"][1:]]), name="q1")
    with pytest.raises(reanon.InvalidSnapshot, match="must be a pandas or polars frame, or an Arrow table"):
        series().publish([1, 2, 3], name="q1")
    with pytest.raises(reanon.InvalidSnapshot, match=r"the frame \(age\) must have every column once"):
        series().publish(pd.concat([frame, frame[["age"]]], axis=1), name="q1")


def test_names_are_given_once_and_known() -> None:
    one = series()
    frame = frames(1)["q1"]
    one.publish(frame, name="q1")
    with pytest.raises(reanon.OutOfOrder, match="release q1 is published already"):
        one.publish(frame, name="q1")
    with pytest.raises(reanon.InvalidParameter, match=r"release \(q9\) must be a published one; these are: q1"):
        one.trace("q9")
    with pytest.raises(reanon.InvalidParameter, match="metric"):
        one.measure("beauty")
    with pytest.raises(reanon.InvalidParameter, match="compromised"):
        one.attack("compromised", compromised=1.0)
    assert "person" not in repr(one) + repr(one.releases[0]) + repr(one.trace("q1"))


def test_dates_categories_and_non_identifiers_come_back_in_their_own_types() -> None:
    frame = frames(1)["q1"]
    frame["born"] = [date(1950, 1, 1 + i % 28) for i in range(len(frame))]
    frame["ward"] = ["east" if i % 2 else "north" for i in range(len(frame))]
    frame["school"] = ["none", "primary", "secondary"] * 50
    frame["floor"] = ["1", "2", None] * 50
    columns = {
        "born": reanon.Date(min_width=7, domain=(date(1900, 1, 1), "2030-01-01")),
        "ward": reanon.Categorical(
            taxonomy=[("north", "main", "any"), ("east", "main", "any"), ("west", "far", "any")]
        ),
        "school": reanon.Categorical(order=["none", "primary", "secondary"]),
    }
    published = series(TECHNIQUES["sequential"], quasi_identifiers=columns, other=["floor"]).publish(frame, name="q1")
    rows = published.to_pandas()
    assert published.column_names == [
        *("born_min", "born_max", "ward_min", "ward_max", "ward"),
        *("school_min", "school_max", "disease", "floor"),
    ]
    assert rows["born_min"].dtype.kind == "M"
    assert set(rows["ward"]) <= {"north", "east", "main"}
    assert rows["floor"].isna().sum() == 50


def test_groups_and_counterfeits_are_tables_too() -> None:
    columns = {**QI, "zip": reanon.Numeric(min_width=1000, missing="separate")}
    one = series(reanon.MInvariance(m=2, not_eligible="pad"), quasi_identifiers=columns)
    frame = frames(1)["q1"].assign(disease=["flu"] * 90 + ["cold"] * 60)
    frame["zip"] = frame["zip"].where(frame["age"] < 80)
    published = one.publish(frame, name="q1")
    rows, groups = published.to_pandas(), published.groups.to_pandas()
    assert groups.columns.tolist() == [*published.column_names[:-1], "rows", "counterfeits"]
    assert set(groups["zip_missing"]) <= {"none", "some", "all"}
    assert groups["rows"].sum() == len(rows) == 180
    assert groups["counterfeits"].sum() == published.counterfeits.to_pandas()["count"].sum() == 30
    assert (groups.set_index("group_id")["age_min"][rows["group_id"]].to_numpy() == rows["age_min"]).all()


def test_a_selection_and_a_choice_of_columns() -> None:
    frame = frames(1)["q1"]
    old = frame["age"] > 40
    one = series()
    assert len(one.publish(frame, name="q1", selected=old)) == int(old.sum())
    with pytest.raises(reanon.InvalidSnapshot, match="selected"):
        one.publish(frame, name="q2", selected=old[:3])
    with pytest.raises(reanon.InvalidParameter, match="every release of m-invariance shows all columns"):
        one.publish(frame, name="q2", columns=["age"])
    worlds = series(TECHNIQUES["sequential"])
    first = worlds.publish(frame.drop(columns="zip"), name="q1", columns=["age", "disease"])
    assert first.column_names == ["age_min", "age_max", "disease"]
    with pytest.raises(reanon.InvalidParameter, match="have groups"):
        _ = first.groups
    second = worlds.publish(frame, name="q2", columns=["zip", "disease"])
    assert second.column_names == ["zip_min", "zip_max", "disease"]
    with pytest.raises(reanon.InvalidSnapshot, match="column age must be in the frame"):
        worlds.publish(frame.drop(columns="age"), name="q3", columns=["zip", "disease"])


def test_a_series_that_cannot_be_is_refused_when_it_is_made() -> None:
    with pytest.raises(reanon.InvalidSchema) as raised:
        series(quasi_identifiers={"age": reanon.Numeric(min_width=0), "zip": reanon.Categorical()})
    assert [problem.what for problem in raised.value.problems] == ["age: min_width", "zip"]
    with pytest.raises(reanon.InvalidSchema, match=r"column patient \(id and another\) must have one role only"):
        series(other=["patient"])
    with pytest.raises(reanon.InvalidSchema, match="published column age_min must come from one column only"):
        series(other=["age_min"])
    with pytest.raises(reanon.InvalidSchema, match=r"age: missing \(maybe\) must be refuse or separate"):
        series(quasi_identifiers={"age": reanon.Numeric(missing="maybe")})  # type: ignore[arg-type]


def test_the_series_hands_its_codebook_on() -> None:
    one = series()
    one.publish(frames(1)["q1"], name="q1")
    entry = one.ledger().entries[0]
    shuffled = entry.snapshot.schema.with_sensitive_values(entry.snapshot.schema.sensitive.values[::-1])
    with pytest.raises(reanon.InvalidSnapshot, match="the value list of column disease"):
        Codebook.of(one.schema).require_extended_by(replace(entry.snapshot, schema=shuffled).schema)


def test_importing_the_package_loads_nothing_heavy_and_finds_every_name() -> None:
    code = "import sys, reanon_core; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "numba", "scipy", "pandas", "pyarrow", "polars"} & set(loaded)
    assert dir(reanon) == sorted([*reanon.__all__, "__version__"])
    for name in reanon.__all__:
        assert getattr(reanon, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'Ghost'"):
        _ = reanon.Ghost  # type: ignore[attr-defined]


def test_what_uses_the_truth_has_a_type_of_its_own_and_a_release_knows_no_one() -> None:
    one = series(reanon.MInvariance(m=2, not_eligible="defer"))
    frame = frames(1)["q1"].assign(disease=["flu"] * 80 + ["cold"] * 70)
    release = one.publish(frame, name="q1")
    assert release.withheld == 10
    for public in (release, release.groups, release.counterfeits):
        assert not isinstance(public, reanon.PrivateTable)
        assert b"person 0" not in pickle.dumps(public)
    for private in (one.trace("q1"), one.audit(attacks=[])):
        assert isinstance(private, reanon.PrivateTable)
