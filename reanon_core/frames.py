"""The pandas door: tables of people in, released tables out, for experiments without a store."""

import numpy as np
import pandas as pd

from reanon_core.kernels.siphash import siphash_strings
from reanon_core.model.arrays import MISSING, AnyArray
from reanon_core.model.coding import decode, decode_sensitive, encode, encode_sensitive
from reanon_core.model.errors import InvalidSnapshot, Problem, require
from reanon_core.model.release import Release
from reanon_core.model.schema import Kind, Missing, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot

MISSING_WORDS = np.array(["none", "some", "all"], dtype=object)


def snapshot_from_frame(
    frame: pd.DataFrame,
    schema: Schema,
    *,
    id_column: str,
    key: bytes = bytes(16),
    columns: tuple[str, ...] | None = None,
    selected: "pd.Series[bool] | None" = None,
) -> Snapshot:
    """A coded snapshot. People get keyed pseudonyms, so that one key serves one series.

    `columns` are those that the release is to show, if not all. `asked` says for each row of the frame whether the
    release asks for it; everybody if it is left out.

    Raises: InvalidSnapshot with every problem at once.
    """
    names = [id_column, *schema.columns]
    absent = [name for name in names if name not in frame.columns]
    require([Problem(f"column {name}", "be in the table") for name in absent], InvalidSnapshot)
    problems: list[Problem] = []
    codes = []
    for column in schema.quasi_identifiers:
        series = frame[column.name]
        values: AnyArray = series.to_numpy(dtype=object if column.kind is Kind.CATEGORICAL else None)
        coded = encode(column, values, series.notna().to_numpy())
        problems += coded.problems
        codes.append(coded.codes)
    positions, labels = pd.factorize(frame[schema.sensitive.name].astype("string"))
    sensitive, grown = encode_sensitive(schema.sensitive, positions, [str(label) for label in labels])
    problems += sensitive.problems
    others = []
    for name, seen in zip(schema.other, schema.other_values, strict=True):
        positions, labels = pd.factorize(frame[name].astype("string").fillna(""))
        coded, more = encode_sensitive(Sensitive(name=name, values=seen), positions, [str(label) for label in labels])
        others.append((coded.codes, more.values))
    ids = frame[id_column].astype(str)
    if ids.duplicated().any():
        problems.append(Problem(f"column {id_column}", "hold every id once", f"{int(ids.duplicated().sum())} repeat"))
    require(problems, InvalidSnapshot)
    known = schema.with_sensitive_values(grown.values).with_other_values(tuple(more for _, more in others))
    persons = pseudonyms(ids.tolist(), key)
    order = np.argsort(persons)
    return Snapshot(
        known,
        persons[order],
        np.stack(codes)[:, order],
        sensitive.codes[order],
        np.array([kept for kept, _ in others], dtype=np.int32).reshape(len(others), len(order))[:, order],
        columns,
        selected=None if selected is None else selected.to_numpy(dtype=np.bool_)[order],
    )


def pseudonyms(ids: list[str], key: bytes) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The keyed pseudonym of each id."""
    texts = [text.encode() for text in ids]
    data = np.frombuffer(b"".join(texts), dtype=np.uint8)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(text) for text in texts], dtype=np.int64)])
    return siphash_strings(data, offsets, np.frombuffer(key, dtype=np.uint64))


def frame_from_release(release: Release, schema: Schema) -> pd.DataFrame:
    """The released rows under the names that a published table has."""
    columns: dict[str, object] = {"group_id": release.group} if release.grouped else {}
    for i, column in enumerate(schema.quasi_identifiers):
        if not release.shows(column.name):
            continue
        low, high = release.boxes.low[i], release.boxes.high[i]
        for suffix, codes in (("min", low), ("max", high)):
            values = pd.Series(decode(column, codes)).mask(codes == MISSING)
            columns[f"{column.name}_{suffix}"] = values.to_numpy()[release.group]
        if column.hierarchical and column.taxonomy is not None:
            known = low != MISSING
            node = column.taxonomy.covering_node(np.where(known, low, 0), np.where(known, high, 0))
            labels = np.array([*column.taxonomy.labels, None], dtype=object)
            columns[column.name] = labels[np.where(known, node, -1)][release.group]
        if column.missing is Missing.SEPARATE:
            columns[f"{column.name}_missing"] = MISSING_WORDS[release.boxes.missing[i]][release.group]
    if release.shows(schema.sensitive.name):
        columns[schema.sensitive.name] = decode_sensitive(schema.sensitive, release.sensitive)
    for name, known, codes in zip(schema.other, schema.other_values, release.other, strict=True):
        if release.shows(name):
            columns[name] = decode_sensitive(Sensitive(name=name, values=known), codes)
    return pd.DataFrame(columns)
