"""Documents of a series and of its releases: they say nothing private, survive kills, and changes are noticed."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from builders.private_texts import leaks, private_texts
from builders.series import SERIES, lively, people, write_series

from reanon_dagster.cli import main
from reanon_dagster.documents.release_documents import RELEASE_DOCUMENTS, SERIES_DOCUMENTS
from reanon_dagster.series.config import RESERVED
from reanon_dagster.storage import published_folder

DOCUMENTS = ("README.md", "datapackage.json")


@pytest.fixture(scope="module")
def _published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    series = write_series(folder, snapshots=lively(4, 72))
    assert main(["backfill", str(series), "--to", "r2", "--quiet"]) == 0
    return folder


@pytest.fixture
def folder(_published: Path, tmp_path: Path) -> Path:
    shutil.copytree(_published, tmp_path / "here")
    return tmp_path / "here"


def run(command: str, folder: Path, *more: str) -> int:
    return main([command, str(folder / "series.yaml"), *more, "--quiet"])


def verified(folder: Path) -> int:
    return main(["verify", str(folder / "published" / "clinic"), "--quiet"])


def digests(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def retitle(folder: Path, title: str) -> None:
    text = (folder / "series.yaml").read_text().split("title:")[0]
    (folder / "series.yaml").write_text(f"{text}title: {title}\n")


def test_the_newest_manifest_has_the_digests_of_the_files_beside_the_releases(folder: Path) -> None:
    there = folder / "published" / "clinic"
    retitle(folder, "Visits")
    assert run("publish", folder) == 0
    told = json.loads((there / "r3" / "manifest.json").read_text())["series_files"]
    assert {name: {"sha256": hashlib.sha256((there / name).read_bytes()).hexdigest()} for name in DOCUMENTS} == told
    assert told != json.loads((there / "r2" / "manifest.json").read_text())["series_files"]
    assert (there / "README.md").read_text().startswith("# Visits\n")
    assert {(there / name).stat().st_mode & 0o777 for name in DOCUMENTS} == {0o644}
    assert verified(folder) == 0


def change(path: Path) -> None:
    path.write_text("x")


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


WRONG: list[tuple[str, Callable[[Path], None], str]] = [
    ("README.md", change, "README.md was changed: it does not have the sha256 that r2 records"),
    ("README.md", Path.unlink, "README.md is missing from the folder of the series"),
    ("datapackage.json", change, "datapackage.json was changed"),
    ("README.md", replace_by_folder, "README.md cannot be read: it is not a regular file"),
    ("r1/README.md", change, "r1/README.md was changed"),
    ("r2/datapackage.json", Path.unlink, "r2/datapackage.json is missing"),
]


@pytest.mark.parametrize(("name", "act", "sentence"), WRONG, ids=[f"{name} {act.__name__}" for name, act, _ in WRONG])
def test_a_document_that_was_changed_or_lost_is_told_and_rebuilt(
    folder: Path, name: str, act: Callable[[Path], None], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = digests(folder / "published")
    act(folder / "published" / "clinic" / name)
    assert verified(folder) == 1
    assert sentence in capsys.readouterr().err
    assert run("publish", folder) == 1
    assert sentence in capsys.readouterr().err
    if act is replace_by_folder:
        assert run("doctor", folder) == 1
        (folder / "published" / "clinic" / name).rmdir()
    retitle(folder, "Other words, which are for the next release")
    assert run("doctor", folder) == 0
    assert digests(folder / "published") == before
    assert verified(folder) == 0
    assert run("publish", folder) == 0


def test_a_file_that_no_manifest_lists_is_a_stray(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "published" / "clinic" / "notes.md").write_text("x")
    assert verified(folder) == 1
    assert "notes.md is a file that belongs to no release: delete it" in capsys.readouterr().err
    assert run("publish", folder) == 0


def test_a_kill_between_the_release_and_the_files_of_the_series_is_finished_by_the_next_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    retitle(folder, "Visits")
    there = folder / "published" / "clinic"
    with monkeypatch.context() as once:
        once.setattr(published_folder, "replace_series_documents", killed)
        with pytest.raises(Killed):
            run("publish", folder)
    assert (there / "r3").is_dir()
    assert (there / "README.md").read_text().startswith("# clinic\n")
    assert verified(folder) == 0  # the head file says that the files are still to come
    assert run("status", folder) == 0
    assert (there / "README.md").read_text().startswith("# Visits\n")
    assert verified(folder) == 0
    (folder / "published" / "clinic.head.json").unlink()
    (there / "README.md").unlink()
    assert verified(folder) == 1


def test_a_full_disk_after_the_release_can_be_seen_does_not_fail_the_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    retitle(folder, "Visits")
    with monkeypatch.context() as disk:
        disk.setattr(published_folder, "replace_file", full)
        assert run("publish", folder) == 0
        assert run("status", folder) == 1
    assert run("status", folder) == 0
    assert (folder / "published" / "clinic" / "README.md").read_text().startswith("# Visits\n")
    assert verified(folder) == 0


def test_a_withdrawal_deletes_the_documents_of_the_release_and_leaves_those_of_the_series(folder: Path) -> None:
    there = folder / "published" / "clinic"
    beside = {name: (there / name).read_bytes() for name in DOCUMENTS}
    assert run("withdraw", folder, "--release", "r2", "--because", "wrong table") == 0
    assert sorted(path.name for path in (there / "r2").iterdir()) == ["manifest.json", "withdrawn.json"]
    assert {name: (there / name).read_bytes() for name in DOCUMENTS} == beside
    assert verified(folder) == 0
    assert run("publish", folder) == 0
    assert verified(folder) == 0
    package = json.loads((there / "datapackage.json").read_text())
    assert list(package["reanon"]["releases"]) == ["r1", "r3"]
    assert "r2" not in (there / "README.md").read_text()


def test_the_dictionary_of_a_series_lists_the_files_of_every_release(folder: Path) -> None:
    there = folder / "published" / "clinic"
    package = json.loads((there / "datapackage.json").read_text())
    assert list(package["reanon"]["releases"]) == ["r1", "r2"]
    listed = {one["path"]: one["hash"] for one in package["resources"] if "path" in one}
    assert {path.rpartition("/")[0] for path in listed} == {"r1", "r2"}
    for path, digest in listed.items():
        assert digest == f"sha256:{hashlib.sha256((there / path).read_bytes()).hexdigest()}"
    data = {
        f"{path.parent.name}/{path.name}"
        for path in there.glob("r*/*.*")
        if path.suffix in {".parquet", ".csv", ".sql"}
    }
    assert set(listed) == data


def test_a_file_of_the_stewards_is_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_series(tmp_path, snapshots=lively(2, 72))
    own = tmp_path / "published" / "clinic" / "README.md"
    own.parent.mkdir(parents=True)
    own.write_text("mine")
    assert run("publish", tmp_path) == 1
    assert "the published folder has a README.md that reanon did not write" in capsys.readouterr().err
    assert own.read_text() == "mine"
    own.unlink()
    assert run("publish", tmp_path) == 0


def test_no_document_has_an_id_a_row_or_a_value_that_only_private_rows_have(tmp_path: Path) -> None:
    frame = people(72)
    rare = pd.DataFrame(
        {"patient": ["Zacharias-900000"], "age": [77], "zip": [10499], "disease": ["a disease of one person"]}
    )
    text = SERIES.replace("m-invariance, m: 3}", "mondrian, k: 4, ell: 2}")
    text = text.replace("r5]}", 'r5], select: {r1: "age < 60"}}')
    write_series(tmp_path, text=text, snapshots={"r1": pd.concat([frame, rare]), "r2": frame})
    assert run("backfill", tmp_path, "--to", "r2") == 0
    public = [path for path in (tmp_path / "published").rglob("*") if path.is_file() and path.suffix != ".parquet"]
    assert {*DOCUMENTS} <= {path.name for path in public}
    texts = private_texts(tmp_path / "snapshots")
    for path in public:
        content = path.read_text(encoding="utf-8")
        assert leaks(texts, content) == []
        assert "a disease of one person" not in content
        if path.name in DOCUMENTS:  # nothing but what series.yaml declares
            assert not any(disease in content for disease in frame["disease"].unique())


def test_values_of_the_sensitive_column_are_listed_where_they_are_declared(tmp_path: Path) -> None:
    diseases = sorted(people(72)["disease"].unique())
    text = SERIES.replace("sensitive: disease", f"sensitive: {{column: disease, values: [{', '.join(diseases)}]}}")
    write_series(tmp_path, text=text + "license: https://example.org/terms\n", snapshots={"r1": people(72)})
    assert run("publish", tmp_path) == 0
    package = json.loads((tmp_path / "published" / "clinic" / "r1" / "datapackage.json").read_text())
    assert package["reanon"]["columns"]["disease"] == {"role": "sensitive", "values": diseases}
    assert package["licenses"] == [{"path": "https://example.org/terms"}]


def test_no_release_can_be_called_like_a_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert {name.lower() for name in (*RELEASE_DOCUMENTS, *SERIES_DOCUMENTS)} <= set(RESERVED)
    write_series(tmp_path, text=SERIES.replace("r5]", "README.md]"), snapshots={"r1": people(72)})
    assert run("validate", tmp_path) == 2
    assert "README.md" in capsys.readouterr().err
