"""An outsider's checker: published files and traces in, violations out. It shares the contract with reanon, no code."""

from pathlib import Path

import pandas as pd


def problems(
    published: list[Path], snapshots: list[Path], traces: list[Path], qi: list[str], sensitive: str, key: str, m: int
) -> list[str]:
    found: list[str] = []
    signature_of: dict[str, frozenset[str]] = {}
    for folder, snapshot_path, trace_path in zip(published, snapshots, traces, strict=True):
        table = pd.read_parquet(folder / "table.parquet")
        people = pd.read_csv(snapshot_path, dtype={key: str}).set_index(key)
        trace = pd.read_parquet(trace_path)
        fakes = pd.read_parquet(folder / "counterfeits.parquet")
        if key in table.columns:
            found.append(f"{folder.name}: the id column is published")
        if sorted(trace["id"].astype(str)) != sorted(people.index):
            found.append(f"{folder.name}: not everybody is traced exactly once")
        if trace["row"].duplicated().any() or not trace["row"].between(0, len(table) - 1).all():
            found.append(f"{folder.name}: a row is traced twice, or is not there")
        for group, rows in table.groupby("group_id"):
            if len(rows) < m or rows[sensitive].nunique() != len(rows):
                found.append(f"{folder.name}: group {group} is not m-unique")
            if (rows.drop(columns=sensitive).nunique(dropna=False) > 1).any():
                found.append(f"{folder.name}: group {group} has more than one box")
        untraced = table.drop(index=trace["row"])["group_id"].value_counts().sort_index()
        if untraced.to_dict() != fakes.set_index("group_id")["count"].to_dict():
            found.append(f"{folder.name}: counterfeits are not the rows without a trace")
        signatures = table.groupby("group_id")[sensitive].agg(frozenset)
        for who, row in zip(trace["id"].astype(str), trace["row"], strict=True):
            person, shown = people.loc[who], table.iloc[row]
            if shown[sensitive] != person[sensitive]:
                found.append(f"{folder.name}: a row shows another value than its person has")
            if not all(shown[f"{name}_min"] <= person[name] <= shown[f"{name}_max"] for name in qi):
                found.append(f"{folder.name}: a box does not cover its person")
            signature = signatures[shown["group_id"]]
            if signature_of.setdefault(who, signature) != signature:
                found.append(f"{folder.name}: a person's signature changed")
    return found
