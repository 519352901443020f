"""`dg`: what it reads of our own project, and series as components of another one."""

import sys
import tomllib
from datetime import date
from importlib import import_module
from pathlib import Path

import dagster as dg
import pytest
import yaml
from builders.series import SERIES, write_series
from dagster.components.core.package_entry import DG_PLUGIN_ENTRY_POINT_GROUP, get_package_objects_in_module

import reanon_dagster
from reanon_dagster.cli import main
from reanon_dagster.definitions import ROOT, SeriesComponent, SeriesScaffolder, build_definitions

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = '[tool.dg]\ndirectory_type = "project"\n\n[tool.dg.project]\nroot_module = "registry"\n'


def project(folder: Path, components: dict[str, str]) -> Path:
    """A `dg` project with a component for each series text, or without its file where the text is empty."""
    defs = folder / "registry" / "defs"
    for name, text in components.items():
        if text:
            write_series(defs / name, text=text)
        (defs / name).mkdir(parents=True, exist_ok=True)
        component = {"type": "reanon_dagster.SeriesComponent", "attributes": {"series": "series.yaml"}}
        (defs / name / "defs.yaml").write_text(yaml.safe_dump(component))
    for package in (defs, defs.parent):
        (package / "__init__.py").write_text("")
    (folder / "pyproject.toml").write_text(PROJECT)
    return defs


# Dagster itself copies the checks of a component, with a parameter that it calls beta.
@pytest.mark.filterwarnings("ignore:Parameter `execution_type`")
def test_a_broken_series_becomes_an_asset_and_the_other_components_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    texts = {
        "clinic": SERIES,
        "ward": SERIES.replace("series: clinic", "series: ward"),
        "wrong": SERIES.replace("m: 3", "m: 1"),
        "unforeseen": SERIES.replace("[r1, r2, r3, r4, r5]", "[v1...2]"),  # Dagster does not allow the three dots
        "absent": "",
    }
    defs = project(tmp_path, texts)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        definitions = dg.load_from_defs_folder(path_within_project=defs)
        dg.Definitions.validate_loadable(definitions)
        graph = definitions.get_repository_def().asset_graph
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "registry"]:
            del sys.modules[name]
    keys = {key.to_user_string() for key in graph.get_all_asset_keys()}
    parts = ("snapshot", "state", "release", "evidence")
    assert keys == {f"{name}/{part}" for name in ("clinic", "ward") for part in parts} | {
        "wrong/broken",
        "unforeseen/broken",
        "absent/broken",
    }
    shown = {name: graph.get(dg.AssetKey([name, "broken"])).description or "" for name in ("wrong", "unforeseen")}
    assert "m must be a whole number of at least 2" in shown["wrong"]
    assert "unexpected DagsterInvalidDefinitionError" in shown["unforeseen"]
    assert "invalid series file absent/series.yaml" in caplog.text
    assert {job.name for job in definitions.jobs or ()} == {
        f"{name}_{job}" for name in ("clinic", "ward") for job in ("release", "ledger")
    }


def test_two_invalid_files_of_one_folder_are_two_assets(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text("series: [")
    made = [
        SeriesComponent(series=f"{name}.yaml").build_defs(dg.ComponentTree.for_test().load_context.for_path(tmp_path))
        for name in ("a", "b")
    ]
    assert len(dg.Definitions.merge(*made).get_repository_def().asset_graph.get_all_asset_keys()) == 2


def test_dg_finds_the_component_under_the_name_that_people_write() -> None:
    registered = PYPROJECT["project"]["entry-points"][DG_PLUGIN_ENTRY_POINT_GROUP]
    assert registered == {"reanon": "reanon_dagster"}
    assert dict(get_package_objects_in_module(import_module("reanon_dagster"))) == {"SeriesComponent": SeriesComponent}
    assert SeriesComponent is reanon_dagster.SeriesComponent


def test_dg_loads_what_the_workspace_loads_under_the_same_name() -> None:
    read = PYPROJECT["tool"]["dg"]
    (location,) = yaml.safe_load((ROOT / "workspace.yaml").read_text())["load_from"]
    module = location["python_module"]
    assert read == {
        "directory_type": "project",
        "project": {
            "root_module": "reanon_dagster",
            "code_location_target_module": module,
            "code_location_name": module,
        },
    }
    assert import_module(module).defs.__class__.__name__ == "LazyDefinitions"


def built(folder: Path, **attributes: object) -> dg.Definitions:
    """The definitions of a component in a folder."""
    context = dg.ComponentTree.for_test().load_context.for_path(folder)
    return SeriesComponent(**attributes).build_defs(context)


def test_a_series_may_be_written_into_the_component_itself_and_name_what_its_snapshots_come_from(
    tmp_path: Path,
) -> None:
    text = SERIES.replace("[r1, r2, r3, r4, r5]", "['2024-01-31', '2024-02-29']")
    inline = yaml.safe_load(text)  # with dates and numbers, as Dagster reads it
    inline["releases"]["names"] = [date(2024, 1, 31), date(2024, 2, 29)]
    definitions = built(tmp_path, settings=inline, upstream=["raw/patients"])
    graph = definitions.get_repository_def().asset_graph
    assert graph.get(dg.AssetKey(["clinic", "snapshot"])).parent_keys == {dg.AssetKey(["raw", "patients"])}
    partitions = graph.get(dg.AssetKey(["clinic", "release"])).partitions_def
    assert list(partitions.get_partition_keys()) == ["2024-01-31", "2024-02-29"]


def test_a_strict_component_fails_the_project_with_every_error(tmp_path: Path) -> None:
    write_series(tmp_path, text=SERIES.replace("m: 3", "m: 1").replace("sensitive: disease", "sensitive: [disease]"))
    with pytest.raises(dg.DagsterInvalidDefinitionError) as error:
        built(tmp_path, strict=True)
    assert "m must be a whole number of at least 2" in str(error.value)
    assert "sensitive must" in str(error.value)
    assert built(tmp_path).get_repository_def().asset_graph.get_all_asset_keys() == {
        dg.AssetKey([tmp_path.name, "broken"])
    }


def test_with_the_variable_an_invalid_file_fails_the_code_location(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_series(tmp_path / "data" / "clinic", text=SERIES.replace("m: 3", "m: 1"))
    monkeypatch.delenv("REANON_SERIES", raising=False)
    assert build_definitions(tmp_path).assets
    monkeypatch.setenv("REANON_STRICT", "1")
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="clinic: m must be a whole number"):
        build_definitions(tmp_path)


def test_what_the_scaffolder_writes_is_a_series_that_can_be_published(tmp_path: Path) -> None:
    folder = tmp_path / "registry" / "defs" / "patients"
    folder.mkdir(parents=True)
    request = dg.ScaffoldRequest("reanon_dagster.SeriesComponent", folder, "yaml", tmp_path, None)
    SeriesScaffolder().scaffold(request)
    component = yaml.safe_load((folder / "defs.yaml").read_text())
    assert component["type"] == "reanon_dagster.SeriesComponent"
    built(folder, **component["attributes"], strict=True)
    assert main(["publish", str(folder / "series.yaml"), "--release", "2024-Q1", "--quiet"]) == 0
