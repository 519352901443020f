"""The harness itself finds what it looks for."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from trust import shim
from trust.disk_model import Call, Disk, lay_out
from trust.forked import Ended
from trust.judgement import Witness, spoken
from trust.needles import Needle, found_in, spellings
from trust.page import page_of
from trust.result import KINDS, Fault, Result
from trust.small_series import public

NO_CHANCE = random.Random(0)


def release(folder: Path, name: str, content: str, listed: str | None = None) -> None:
    from hashlib import sha256

    there = public(folder) / name
    there.mkdir(parents=True, exist_ok=True)
    (there / "table.csv").write_text(content)
    digest = sha256((listed or content).encode()).hexdigest()
    (there / "manifest.json").write_text(json.dumps({"files": {"table.csv": {"sha256": digest}}}))


def kinds(faults: list[Fault]) -> list[str]:
    return [fault.kind for fault in faults]


def test_a_witness_sees_a_second_version_a_half_release_and_a_lost_one(tmp_path: Path) -> None:
    witness = Witness(tmp_path)
    release(tmp_path, "r1", "one")
    witness.look("first")
    assert witness.faults == []
    release(tmp_path, "r1", "two")
    witness.look("second")
    assert kinds(witness.faults) == ["second version"]
    release(tmp_path, "r2", "half", listed="whole")
    witness.look("third")
    assert kinds(witness.faults)[2:] == ["half release"]
    (public(tmp_path) / "r2").rename(tmp_path / "gone")
    witness.look("fourth")
    assert kinds(witness.faults)[-1] == "lost"


def test_a_traceback_a_crash_and_a_silent_failure_are_faults() -> None:
    assert kinds(spoken("x", Ended(1, "", "Traceback (most recent call last)\nOSError: no"), "")) == ["traceback"]
    assert kinds(spoken("x", Ended(-11, "", ""), "")) == ["traceback"]
    assert kinds(spoken("x", Ended(1, "", ""), "")) == ["wrong code"]
    assert spoken("x", Ended(1, "", "reanon: a sentence"), "") == []


@pytest.mark.parametrize("flushed", [False, True])
def test_content_survives_a_power_cut_if_it_was_flushed_and_a_rename_if_its_folder_was(
    tmp_path: Path, flushed: bool
) -> None:
    disk = Disk.of(tmp_path)
    calls = [Call("c", "new", "", 0, b""), Call("w", "new", "", 0, b"text")]
    calls += [Call("f", "new", "", 0, b"")] if flushed else []
    calls += [Call("r", "new", "name", 0, b"")]
    for call in calls:
        disk.apply(call)
    assert disk.image("all", NO_CHANCE) == {"name": b"text"}
    assert disk.image("names", NO_CHANCE) == {"name": b"text" if flushed else b""}
    assert disk.image("nothing", NO_CHANCE) == ({"new": b"text"} if flushed else {})
    disk.apply(Call("f", "", "", 0, b""))
    assert disk.image("nothing", NO_CHANCE) == {"name": b"text" if flushed else b""}
    lay_out(disk.image("all", NO_CHANCE), tmp_path)
    assert (tmp_path / "name").read_bytes() == b"text"


def test_a_secret_is_found_in_every_spelling() -> None:
    number = -123456789012345678
    secrets = [Needle("pseudonym", spelling) for spelling in spellings(number)]
    for content in (str(number), str(number + (1 << 64)), f"{number + (1 << 64):016X}"):
        assert found_in(secrets, f"x {content} y".encode()) == {"pseudonym"}
    assert found_in(secrets, number.to_bytes(8, "big", signed=True)) == {"pseudonym"}
    assert found_in(secrets, b"123456") == set()
    assert found_in([Needle("row", b",1,2")], b"a,1,2\n") == {"row"}
    assert found_in([Needle("row", b",1,2")], b"a,1,23\n") == set()


@pytest.mark.skipif(shim.why_not() is not None, reason=str(shim.why_not()))
def test_the_library_sees_the_calls_of_python_and_of_duckdb_and_can_kill_at_each(tmp_path: Path) -> None:
    text = (
        "import sys; from pathlib import Path; from trust import shim; import duckdb\n"
        "folder = Path(sys.argv[1]); fault = shim.Fault('x', shim.Mode(int(sys.argv[2])))\n"
        "shim.arm(folder, fault, int(sys.argv[3]))\n"
        "duckdb.connect(str(folder / 'a.duckdb')).execute('CREATE TABLE t AS SELECT 1').close()\n"
        "seen = shim.calls(); (folder / 'b').write_text('x'); print(seen, shim.calls())\n"
    )

    def run(mode: shim.Mode, at: int) -> subprocess.CompletedProcess[str]:
        folder = tmp_path / f"{mode}-{at}"
        folder.mkdir()
        command = [sys.executable, "-c", text, folder, str(int(mode)), str(at)]
        tests = str(Path(__file__).parents[1])
        return subprocess.run(
            command, env={**shim.environment(), "PYTHONPATH": tests}, capture_output=True, text=True, check=False
        )

    counted = run(shim.Mode.COUNT, 0)
    of_duckdb, all_calls = (int(number) for number in counted.stdout.split())
    assert of_duckdb >= 5, counted.stderr
    assert all_calls == of_duckdb + 2  # open and write
    assert run(shim.Mode.KILL, of_duckdb).returncode == -9
    assert run(shim.Mode.KILL, all_calls + 1).returncode == 0


def test_a_fault_counts_once_for_a_run_and_the_page_shows_it() -> None:
    result = Result("races", "at once", planned=2)
    result.add([Fault("bricked", "publish fails"), Fault("bricked", "status fails")])
    result.add([])
    assert result.counts == {**dict.fromkeys(KINDS, 0), "bricked": 1}
    page = page_of({"size": "full", "date": "2030-01-01", "versions": {}, "parts": {"races": vars(result)}})
    assert "| races | 2 | 0 | 0 | 0 | 1 |" in page
    assert "publish fails" in page
