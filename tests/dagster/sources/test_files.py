"""Files as people have them: compressed, several for a snapshot, in folders; and a sentence for what is wrong."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from builders.series import declared
from builders.snapshots import KEY, person, rows, sentences_of

from reanon_dagster.series import memory_size
from reanon_dagster.series.series import Series
from reanon_dagster.sources.kinds import size_limit
from reanon_dagster.sources.snapshot_location import snapshot_exists, snapshot_version
from reanon_dagster.sources.snapshot_reader import read_snapshot, snapshot_digest

TEXT = b"name,age,disease\nZacharias,30,flu\nYolanda,31,cold\n"
HALVES = (b"name,age,disease\nZacharias,30,flu\n", b"age,disease,name\n31,cold,Yolanda\n")


def series(folder: Path, path: str, more: str = "") -> Series:
    return declared(folder, f"{{path: {path}, id: name{more}}}", columns={"age": "{}"})


def refusal(folder: Path, path: str, more: str = "") -> str:
    """The only sentence with which a snapshot is refused; it quotes no person."""
    (sentence,) = sentences_of(read_snapshot, series(folder, path, more), "r1", KEY, ())
    assert "Zacharias" not in sentence
    return sentence


def zstd(content: bytes) -> bytes:
    return bytes(pa.compress(content, codec="zstd", asbytes=True))


@pytest.mark.parametrize(("ending", "compress"), [("gz", gzip.compress), ("zst", zstd)])
def test_a_damaged_compressed_file_is_refused_wherever_it_is_cut(tmp_path: Path, ending: str, compress) -> None:
    path, whole = tmp_path / f"r1.csv.{ending}", compress(TEXT)
    path.write_bytes(whole)
    assert read_snapshot(series(tmp_path, f"'{{release}}.csv.{ending}'"), "r1", KEY, ()).snapshot.size == 2
    for end in range(4, len(whole)):
        path.write_bytes(whole[:end])
        assert "damaged or cut off" in refusal(tmp_path, f"'{{release}}.csv.{ending}'"), end
    path.write_bytes(TEXT)
    assert "as its ending" in refusal(tmp_path, f"'{{release}}.csv.{ending}'")


def test_a_file_of_several_compressed_parts_is_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "r1.csv.gz").write_bytes(gzip.compress(TEXT[:30]) + gzip.compress(TEXT[30:]))
    assert read_snapshot(series(tmp_path, "'{release}.csv.gz'"), "r1", KEY, ()).snapshot.size == 2


def test_a_file_that_unpacks_to_too_much_is_refused_before_it_is_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "r1.csv.gz").write_bytes(gzip.compress(TEXT + b"Zacharias,30,flu\n" * 2_000_000))
    assert (tmp_path / "r1.csv.gz").stat().st_size < 200_000
    told = refusal(tmp_path, "'{release}.csv.gz'", ", max_size: 20MB")
    assert told.startswith("r1.csv.gz must need at most 20 MB in memory; set source.max_size")
    (tmp_path / "memory").write_text("MemTotal: 9999999 kB\nMemAvailable:      40000 kB\n")
    monkeypatch.setattr(memory_size, "_MEMORY", tmp_path / "memory")
    assert "at most 20.5 MB" in refusal(tmp_path, "'{release}.csv.gz'")


def test_a_size_is_a_number_with_a_unit() -> None:
    assert size_limit.most_bytes("1.5 gb") == 1_500_000_000
    assert size_limit.most_bytes(None) > 10**7


def test_the_machine_has_memory_also_where_linux_does_not_say_how_much(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(memory_size, "_MEMORY", tmp_path / "none")
    assert size_limit.most_bytes(None) > 10**7


def halves(folder: Path, names: tuple[str, str]) -> None:
    for name, half in zip(names, HALVES, strict=True):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(half)


def test_the_names_and_the_order_of_several_files_change_nothing(tmp_path: Path) -> None:
    halves(tmp_path, ("r1/a.csv", "r1/b.csv"))
    loaded = series(tmp_path, "'{release}/*.csv'")
    first, digest = read_snapshot(loaded, "r1", KEY, ()), snapshot_digest(loaded, "r1", KEY)
    assert rows(first) == {person("Zacharias"): [30, "flu"], person("Yolanda"): [31, "cold"]}
    (tmp_path / "r1" / "a.csv").rename(tmp_path / "r1" / "c.csv")
    assert read_snapshot(loaded, "r1", KEY, ()).input_digest == digest == snapshot_digest(loaded, "r1", KEY)
    (tmp_path / "r1" / "d.csv").write_bytes(b"name,age,disease\nXaver,20,flu\n")
    assert snapshot_digest(loaded, "r1", KEY) != digest


def test_several_files_have_a_version_that_changes_with_each_of_them(tmp_path: Path) -> None:
    halves(tmp_path, ("r1/a.csv", "r1/b.csv"))
    loaded = series(tmp_path, "'{release}/*.csv'")
    seen = {snapshot_version(loaded, "r1")}
    (tmp_path / "r1" / "b.csv").write_bytes(HALVES[1] + b"20,flu,Xaver\n")
    seen.add(snapshot_version(loaded, "r1"))
    (tmp_path / "r1" / "c.csv").write_bytes(HALVES[1])
    seen.add(snapshot_version(loaded, "r1"))
    assert len(seen) == 3


def test_a_pattern_reaches_into_folders_and_leaves_hidden_files_out(tmp_path: Path) -> None:
    halves(tmp_path, ("r1/north/a.csv", "r1/south/east/b.csv"))
    (tmp_path / "r1" / ".a.csv.part.csv").write_bytes(HALVES[0])
    assert read_snapshot(series(tmp_path, "'{release}/**/*.csv'"), "r1", KEY, ()).rows == 2
    outside = series(tmp_path, f"'{tmp_path}/{{release}}/[n]orth/*.csv'")
    assert not snapshot_exists(outside, "r1")  # brackets are brackets
    assert read_snapshot(series(tmp_path, f"'{tmp_path}/{{release}}/north/?.csv'"), "r1", KEY, ()).rows == 1


def test_every_path_of_a_list_must_be_there(tmp_path: Path) -> None:
    loaded = series(tmp_path, "['{release}-north.csv', '{release}-south.csv']")
    (tmp_path / "r1-north.csv").write_bytes(HALVES[0])
    assert not snapshot_exists(loaded, "r1")
    (sentence,) = sentences_of(snapshot_version, loaded, "r1")
    assert sentence.startswith("the snapshot of r1 (r1-north.csv, r1-south.csv) must be there")
    (tmp_path / "r1-south.csv").write_bytes(HALVES[1])
    assert snapshot_exists(loaded, "r1")


def test_a_file_that_two_paths_name_is_read_once(tmp_path: Path) -> None:
    halves(tmp_path, ("r1/a.csv", "r1/b.csv"))
    loaded = series(tmp_path, "['{release}/*.csv', '{release}/a.csv']")
    assert read_snapshot(loaded, "r1", KEY, ()).rows == 2


def test_a_person_in_two_files_is_refused_by_the_rule_for_ids(tmp_path: Path) -> None:
    halves(tmp_path, ("r1/a.csv", "r1/b.csv"))
    (tmp_path / "r1" / "c.csv").write_bytes(HALVES[0])
    assert "name (1 id more than once, in rows 1 and 3) must be unique" in refusal(tmp_path, "'{release}/*.csv'")


def test_files_without_the_same_columns_are_refused_and_named(tmp_path: Path) -> None:
    halves(tmp_path, ("r1/a.csv", "r1/b.csv"))
    (tmp_path / "r1" / "b.csv").write_bytes(b"name,disease\nYolanda,cold\n")
    assert refusal(tmp_path, "'{release}/*.csv'") == "r1/b.csv (age) must have the same columns as r1/a.csv"


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        (pa.int8(), pa.int32(), True),
        (pa.int64(), pa.null(), True),
        (pa.string(), pa.large_string(), True),
        (pa.dictionary(pa.int32(), pa.string()), pa.string(), True),
        (pa.int64(), pa.float64(), False),
        (pa.int64(), pa.uint64(), False),
        (pa.int64(), pa.string(), False),
    ],
    ids=str,
)
def test_columns_of_two_types_are_joined_only_where_every_value_stays_exact(
    tmp_path: Path, first: pa.DataType, second: pa.DataType, joined: bool
) -> None:
    for number, kind in enumerate((first, second)):
        ids = pa.array(["Zacharias", "Yolanda"][number : number + 1])
        age = pa.array([None if pa.types.is_null(kind) else "30"]).cast(kind)
        pq.write_table(pa.table({"name": ids, "age": age, "disease": ["flu"]}), tmp_path / f"r1-{number}.parquet")
    path = "'{release}-*.parquet'"
    loaded = declared(tmp_path, f"{{path: {path}, id: name}}", columns={"age": "{missing: separate}"})
    if joined:
        assert read_snapshot(loaded, "r1", KEY, ()).rows == 2
    else:
        assert "must have columns of the same types; age: " in refusal(tmp_path, path)


def test_a_column_in_the_folders_and_in_the_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r1" / "age=30").mkdir(parents=True)
    table = pa.table({"name": ["Zacharias"], "age": [31], "disease": ["flu"]})
    pq.write_table(table, tmp_path / "r1" / "age=30" / "part.parquet")
    told = "r1/age=30/part.parquet (age) must have every column once, in the file or in the names of its folders"
    assert refusal(tmp_path, "'{release}/'") == told


def test_a_partition_without_a_value_is_missing_and_its_names_are_decoded(tmp_path: Path) -> None:
    table = pa.table({"name": ["a", "b"], "age": [30, None], "disease": ["flu", "hay/fever ü"]})
    pq.write_to_dataset(table, tmp_path / "r1", partition_cols=["age", "disease"])
    loaded = declared(tmp_path, "{path: '{release}/', id: name}", columns={"age": "{missing: separate}"})
    found = rows(read_snapshot(loaded, "r1", KEY, ()))
    assert found[person("a")] == [30, "flu"]
    assert found[person("b")][1] == "hay/fever ü"
    assert read_snapshot(loaded, "r1", KEY, ()).snapshot.qi.min() < 0


def test_a_folder_without_parquet_files_is_no_snapshot(tmp_path: Path) -> None:
    (tmp_path / "r1" / "_temporary").mkdir(parents=True)
    pq.write_table(pa.table({"name": ["a"]}), tmp_path / "r1" / "_temporary" / "part.parquet")
    assert not snapshot_exists(series(tmp_path, "'{release}/'"), "r1")


@pytest.mark.parametrize("content", [b"ARROW1\0\0 nonsense", b"nonsense", b"", b"FEA1 old"])
def test_what_is_no_arrow_file_is_a_plain_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "r1.feather").write_bytes(content)
    assert refusal(tmp_path, "'{release}.feather'").startswith("r1.feather must be a")


def test_an_arrow_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    table = pa.table({"name": ["Zacharias"] * 50, "age": list(range(50)), "disease": ["flu"] * 50})
    pyarrow.feather.write_feather(table, tmp_path / "r1.arrow")
    whole = (tmp_path / "r1.arrow").read_bytes()
    for end in range(6, len(whole), 37):
        (tmp_path / "r1.arrow").write_bytes(whole[:end])
        assert "must be an Arrow file" in refusal(tmp_path, "'{release}.arrow'"), end


def test_an_arrow_stream_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    table = pa.table({"name": [f"p{at}" for at in range(50)], "age": list(range(50)), "disease": ["flu", "cold"] * 25})
    with pa.OSFile(str(tmp_path / "r1.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=10)
    whole = (tmp_path / "r1.arrow").read_bytes()
    assert read_snapshot(series(tmp_path, "'{release}.arrow'"), "r1", KEY, ()).rows == 50
    for end in range(6, len(whole), 8):  # also between two batches
        (tmp_path / "r1.arrow").write_bytes(whole[:end])
        assert "must be an Arrow file" in refusal(tmp_path, "'{release}.arrow'"), end
