"""reanon from a wheel, outside the repository: the command, its first compilation, and the Dagster location."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMPILING = "compiling numerical kernels"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages with reanon's wheel unpacked in it, and nothing of the repository."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode:
        pytest.skip("the wheel is built from the files that git tracks, and this is no git checkout")
    for name in filter(None, tracked.stdout.split("\0")):
        if name.startswith(("reanon_", "pyproject", "README", "LICENSE")) and (ROOT / name).exists():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, source], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", folder / "site", wheel], check=True)
    return folder / "site"


def run(site: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A Python command in a folder that knows the wheel's packages before all others."""
    given = {**os.environ, "PYTHONPATH": str(site), "REANON_SERIES": str(folder / "hospital")}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=given, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.slow
def test_a_wheel_publishes_audits_and_loads_in_dagster_outside_the_repository(site: Path, tmp_path: Path) -> None:
    where = run(site, tmp_path, "-c", "import reanon_core, reanon_dagster; print(reanon_core.__file__)")
    assert where.stdout.startswith(str(site)), where.stderr
    assert run(site, tmp_path, "-m", "reanon_dagster.cli", "init", "hospital").returncode == 0

    first = run(site, tmp_path, "-m", "reanon_dagster.cli", "backfill", "hospital/series.yaml")
    assert first.returncode == 0, first.stderr
    assert "published 12 rows" in first.stdout
    assert first.stderr.count(COMPILING) == 1
    again = run(site, tmp_path, "-m", "reanon_dagster.cli", "validate", "hospital/series.yaml")
    assert COMPILING not in again.stderr, "the second command finds the compiled kernels"

    status = run(site, tmp_path, "-m", "reanon_dagster.cli", "status")
    assert "2024-Q2" in status.stdout, "REANON_SERIES names the folder"
    graph = "from reanon_dagster.definitions import defs; graph = defs().resolve_asset_graph()"
    located = run(
        site, tmp_path, "-c", f"{graph}; print(*(key.to_user_string() for key in graph.get_all_asset_keys()))"
    )
    assert located.returncode == 0, located.stderr
    assert "hospital/release" in located.stdout
    assert "census" not in located.stdout, "the repository's demo series are not part of the wheel"
