"""Habits of a data scientist: each ends in safety, in a refusal, or in a warning that says what is lost."""

import copy
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import reanon_core as reanon

DISEASES = ("asthma", "cold", "diabetes", "flu", "HIV", "measles")


def people(first: int = 0, count: int = 180) -> pd.DataFrame:
    """People with numbers of eight digits, some of which begin with zeros, and letters before."""
    numbers = np.arange(first, first + count)
    return pd.DataFrame(
        {
            "patient": [f"p{i:07d}" if i % 2 else f"{i + 1:08d}" for i in numbers],
            "age": 20 + numbers % 60,
            "zip": 10_000 + numbers * 37 % 9_000,
            "disease": [DISEASES[i % 6] for i in numbers],
        }
    )


FIRST, SECOND = people(), people(30)


def new_series(**options: object) -> reanon.Series:
    columns = {"age": reanon.Numeric(min_width=5), "zip": reanon.Numeric(min_width=1000)}
    given = {
        "sensitive": "disease",
        "quasi_identifiers": columns,
        "technique": reanon.MInvariance(m=2),
        **options,
    }
    return reanon.Series(id="patient", **given)  # type: ignore[arg-type]


def begun(**options: object) -> reanon.Series:
    series = new_series(**options)
    series.publish(FIRST, name="Q1")
    return series


def changed(column: str, change: Callable[[str], object], rows: slice = slice(40)) -> pd.DataFrame:
    """The second frame with some values of a column written in another way. Its last 30 people are new."""
    values: list[object] = SECOND[column].tolist()
    values[rows] = map(change, SECOND[column][rows])
    return SECOND.assign(**{column: values})


REFUSED_FRAMES = {
    "ids with a stray space": (
        changed("patient", lambda id_: f"{id_} "),
        "40 new values of patient differ from others only in spaces, case or zeros, in rows 1, 2, 3, 4, 5 and 35",
    ),
    "ids in the other case": (changed("patient", str.upper), "20 new values of patient differ from others"),
    "ids that lost their zeros": (
        changed("patient", lambda id_: id_.lstrip("0")),
        "20 new values of patient differ from others",
    ),
    "ids that lost zeros after a letter": (
        changed("patient", lambda id_: id_ if id_[0] != "p" else f"p{int(id_[1:])}"),
        "20 new values of patient differ from others",
    ),
    "ids that were floats": (
        changed("patient", lambda id_: id_ if id_[0] == "p" else f"{float(id_)}"),
        "20 new values of patient differ from others",
    ),
    "one id in two ways in one frame": (
        pd.concat([SECOND, people(300, 2), people(300, 2).assign(patient=lambda two: " " + two["patient"])]),
        "4 new values of patient differ from others only in spaces, case or zeros, in rows 181, 182, 183 and 184",
    ),
    "a missing id as text": (
        pd.concat([SECOND, people(300, 2).assign(patient=[str(float("nan")), "p0000301"])]),
        "1 value of patient looks like a missing id, in row 181; fill them in, or the next person without an id is",
    ),
    "missing values as text": (
        changed("disease", lambda _: str(float("nan")), slice(170, 174)),
        "values of disease look like missing ones: 'nan'",
    ),
    "None as text": (changed("disease", lambda _: str(None), slice(170, 174)), "look like missing ones: 'None'"),
    "two spellings of a value": (
        changed("disease", str.lower, slice(150, 180)),
        "values of disease differ only in case, spaces or Unicode form: 'HIV' and 'hiv'",
    ),
    "the frame of a wrong year": (people(5000), "only 0 of the 180 people of release Q1 are in the snapshot"),
    "half of the frame was lost": (FIRST[:80], "the number of people changed too much: 180 people before, 80 now"),
}


@pytest.mark.parametrize("habit", REFUSED_FRAMES)
def test_a_frame_that_looks_wrong_is_refused_unless_a_reason_is_given(habit: str) -> None:
    frame, sentence = REFUSED_FRAMES[habit]
    series = begun()
    with pytest.raises(reanon.Refused) as refused:
        series.publish(frame, name="Q2")
    assert sentence in str(refused.value)
    assert "accept it with accept_drift='the reason'" in str(refused.value)
    assert "p0000" not in str(refused.value)
    assert [release.name for release in series.releases] == ["Q1"]
    assert series.accepted_drifts == ()
    with pytest.raises(reanon.InvalidParameter, match="accept_drift must say why the snapshot is right"):
        series.publish(frame, name="Q2", accept_drift=" ")
    series.publish(SECOND, name="Q2")
    assert series.audit(attacks=["propagation"]).to_pandas()["exposed"].max() == 0
    brave = begun()
    brave.publish(frame, name="Q2", accept_drift="I have\nlooked")
    assert {(release, reason) for release, _, reason in brave.accepted_drifts} == {("Q2", "I have looked")}
    assert not any("hiv" in sentence or "nan" in sentence for _, sentence, _ in brave.accepted_drifts)


def test_what_was_accepted_once_is_known() -> None:
    series = begun()
    frame = changed("patient", lambda id_: f"{id_} ")
    series.publish(frame, name="Q2", accept_drift="our two hospitals number alike")
    series.publish(frame, name="Q3")
    assert len(series.accepted_drifts) == 1


def test_values_that_are_declared_may_look_alike() -> None:
    values = reanon.Sensitive(name="disease", values=(*DISEASES, "hiv", "nan"), closed=True)
    series = reanon.Series(
        id="patient", sensitive=values, quasi_identifiers={"age": reanon.Numeric()}, technique=reanon.MInvariance(m=2)
    )
    series.publish(changed("disease", str.lower), name="Q1")
    assert series.accepted_drifts == ()


def test_declared_values_are_all_that_may_occur_so_that_no_new_one_is_refused_or_seen() -> None:
    values = reanon.Sensitive(name="disease", values=DISEASES)
    series = new_series(sensitive=values)
    first = SECOND.assign(disease=SECOND["disease"].replace({"measles": "flu"}))
    series.publish(first, name="Q1")
    newcomer = people(400, 1).assign(disease="measles")
    assert series.publish(pd.concat([first, newcomer]), name="Q2").withheld < 20
    with pytest.raises(reanon.InvalidSnapshot, match="ague"):
        series.publish(pd.concat([first, newcomer, people(401, 1).assign(disease="ague")]), name="Q3")


WRONG_FRAMES = {
    "missing sensitive values": (
        SECOND.assign(disease=SECOND["disease"].where(SECOND["age"] > 30)),
        "must have a value in every row",
    ),
    "a person twice": (pd.concat([SECOND, SECOND[:2]]), "patient (2 ids more than once"),
    "an empty frame to begin with": (FIRST[:0], None),
}


@pytest.mark.parametrize("habit", WRONG_FRAMES)
def test_a_frame_that_is_wrong_is_refused(habit: str) -> None:
    frame, sentence = WRONG_FRAMES[habit]
    error: type[reanon.ReanonError] = reanon.InvalidSnapshot if sentence else reanon.Refused
    series = new_series()
    with pytest.raises(error) as refused:
        series.publish(frame, name="Q1")
    assert (sentence or "the first snapshot has no rows") in str(refused.value)
    assert series.releases == ()


def test_the_name_of_a_release_is_not_used_again() -> None:
    with pytest.raises(reanon.OutOfOrder, match="release Q1 is published already"):
        begun().publish(SECOND, name="Q1")


def test_a_seed_is_refused_unless_it_is_called_unsafe() -> None:
    with pytest.raises(reanon.InvalidParameter) as refused:
        new_series(seed=42)
    assert "seed must be left out: whoever guesses it knows the key of the pseudonyms" in str(refused.value)
    assert "tests and pages pass unsafe_seed" in str(refused.value)
    assert "42" not in str(refused.value)
    with pytest.warns(reanon.Caution, match="unsafe_seed gives the pseudonym key and every random choice away"):
        new_series(unsafe_seed=42)


def test_no_memory_is_a_warning() -> None:
    with pytest.warns(reanon.Caution, match="comparing the releases determines people's values"):
        new_series(memory=False)


@pytest.mark.parametrize("technique", [reanon.Mondrian(k=3, ell=2), reanon.CorSplit(m=3, n=2)])
def test_what_a_technique_does_not_promise_is_a_warning(technique: object) -> None:
    with pytest.warns(reanon.Caution) as told:
        series = new_series(technique=technique)
    assert [str(one.message) for one in told] == [f"{series.technique.name}: {series.technique.caution}"]
    assert told[0].filename == __file__


def test_what_a_steward_must_read_of_a_release_is_a_warning_before_the_series_advances() -> None:
    columns = {"age": reanon.Numeric(), "zip": reanon.Numeric(domain=(0, 10**8))}
    series, frame = new_series(quasi_identifiers=columns), people(60_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error", reanon.Caution)
        with pytest.raises(reanon.Caution, match="zip: one bin holds all values"):
            series.publish(frame, name="Q1")
    assert series.releases == ()
    with pytest.warns(reanon.Caution) as told:
        release = series.publish(frame, name="Q1")
    assert [str(one.message) for one in told] == [f"release Q1: {note}" for note in release.notes]
    assert release.notes
    assert told[0].filename == __file__


def test_the_plain_way_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", reanon.Caution)
        series = reanon.Series(
            id="nobody else",
            sensitive="x",
            quasi_identifiers={"age": reanon.Numeric()},
            technique=reanon.MInvariance(m=2),
        )
        for name, frame in (("Q1", FIRST), ("Q2", SECOND)):
            series.publish(frame.rename(columns={"patient": "nobody else", "disease": "x"}), name=name)


def quarter(name: str, frame: pd.DataFrame) -> reanon.Series:
    """A new series for one release: the last one may be gone when the next begins."""
    series = new_series()
    series.publish(frame, name=name)
    return series


def test_a_new_series_each_quarter_is_a_warning() -> None:
    apart = people(90_000)
    quarter("Q1", apart)
    with pytest.warns(
        reanon.Caution, match="release Q2: another Series of this process has published some of the same"
    ):
        quarter("Q2", people(90_100))
    with warnings.catch_warnings():
        warnings.simplefilter("error", reanon.Caution)
        quarter("Q1", people(95_000))
        with pytest.raises(reanon.Caution):
            quarter("Q3", apart)


def test_a_copy_beside_its_original_is_refused() -> None:
    series = begun()
    with pytest.warns(reanon.Caution, match="copied or pickled, with its key and everyone's ids and values"):
        copies = [copy.deepcopy(series), copy.copy(series), pickle.loads(pickle.dumps(series))]
    copies[0].publish(SECOND, name="Q2")
    for stale in (series, *copies[1:]):
        with pytest.raises(reanon.Refused, match="a copy of this Series has published 1 more"):
            stale.publish(SECOND, name="Q2")
        assert len(stale.releases) == 1
    copies[0].publish(FIRST, name="Q3")
    assert copies[0].audit(attacks=["propagation"]).to_pandas()["exposed"].max() == 0


def test_a_pickle_goes_on_in_another_process_and_its_original_is_refused_when_it_comes_back(tmp_path: Path) -> None:
    series, file = begun(), tmp_path / "series.pickle"
    file.write_bytes(pickle.dumps(series))
    SECOND.to_pickle(tmp_path / "frame.pickle")
    code = (
        "import pathlib, pickle, pandas, sys\n"
        "file = pathlib.Path(sys.argv[1])\n"
        "series = pickle.loads(file.read_bytes())\n"
        "series.publish(pandas.read_pickle(file.with_name('frame.pickle')), name='Q2')\n"
        "file.write_bytes(pickle.dumps(series))\n"
    )
    told = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True).stderr
    assert "Caution: this Series is copied or pickled" in told
    later = pickle.loads(file.read_bytes())
    with pytest.raises(reanon.Refused, match="a copy of this Series has published 1 more"):
        series.publish(SECOND, name="Q2")
    later.publish(FIRST, name="Q3")
    assert later.attack("propagation").exposed == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_series_that_a_fork_copied_is_refused() -> None:
    series = begun()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # nothing of pytest may run here
        try:
            series.publish(SECOND, name="Q2")
            answer = "published"
        except reanon.Refused as refused:
            answer = str(refused)
        finally:
            os.write(writing, answer.encode())
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as told:
        assert told.read().startswith("this Series was made in another process, and a fork copied it")
    series.publish(SECOND, name="Q2")


def test_threads_publish_one_after_the_other() -> None:
    series = new_series()
    frames = [people(20 * number) for number in range(12)]
    with ThreadPoolExecutor(4) as threads:
        names = threads.map(lambda at: series.publish(frames[at], name=f"r{at}").name, range(12))
    assert set(names) == {release.name for release in series.releases}
    assert len(series.releases) == 12
    audit = series.audit(attacks=["propagation"]).to_pandas()
    assert audit.loc[audit["kind"] == "check", "holds"].all()
    assert audit["exposed"].max() == 0


def test_a_frame_that_is_filtered_by_the_sensitive_value_is_refused() -> None:
    series = new_series()
    frame = people(count=360)
    series.publish(frame, name="Q1")
    with pytest.raises(reanon.Refused, match="hardly any with some value of disease: 0 of the 60 people with 'HIV';"):
        series.publish(frame[frame["disease"] != "HIV"], name="Q2")
    series.publish(frame[frame["disease"] != "HIV"], name="Q2", accept_drift="a register of its own")
    assert "HIV" not in str(series.accepted_drifts)
    others = people(1000, 360)
    again = pd.concat([frame[frame["disease"] != "HIV"], others[others["disease"] == "HIV"]])
    again_without = pd.concat([frame[frame["disease"] != "HIV"], others[others["disease"] == "cold"]])
    # What the filter costs the values that were hidden with this one is another brake.
    series.publish(again, name="Q3", accept_drift="after the filter")
    series.publish(again_without, name="Q4", accept_drift="after the filter")
    told = [sentence for name, sentence, _ in series.accepted_drifts if name == "Q4"]
    assert not [sentence for sentence in told if "hardly any" in sentence]  # that no one with HIV returns is known
