"""Runs of rows along a curve become groups as soon as they are large, close and alike enough."""

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.kernels.group_distances import earth_mover, jensen_shannon
from reanon_core.model.arrays import Float64, Int8, Int32, Int64

ROUNDING = 1e-12
FEW, FAR, UNLIKE = 1, 2, 3
"""Why a row was passed over: too few rows or values, too far from the table, beliefs too unlike."""


@compiled
def close_runs(
    order: Int64,  # the rows along the curve
    rows: Float64,  # [n, values] what is expected of each row's person; sums up to 1
    entropy: Float64,  # [n]
    sensitive: Int32,  # [n]
    share: Float64,  # [values] in the whole table
    k: int,
    ell: int,
    t: float,
    j: float,
    max_run: int,
    ground: int,
    ancestors: Int32,
    nodes: int,
    group: Int32,  # [n] written: the group of each row that gets one
    why: Int8,  # [n] written: why each other row has none
    groups: int,
    group_sums: Float64,  # [most groups, values] written: the sums of each group's rows
    group_counts: Int64,  # [most groups, values] written: how often each group has each value
    group_entropy: Float64,  # [most groups] written: the sum of its rows' entropies
) -> int:
    """Close groups along the order, and give their number.

    Paper: [RPB12] Algorithm 4, the loop. A run that is full, or has come to the end, and is still unfit gives up its
    first row, and the next run begins right after that (departure D5); with `max_run` 0 it never does. A test is left
    out where it cannot succeed: m more rows make a run of q at best q / (q + m) times as unlike, and bring its
    distance down to (q distance - m) / (q + m) at best.
    """
    values = len(share)
    sums, counts = np.zeros(values), np.zeros(values, dtype=np.int64)
    extra, spread = np.zeros(nodes), np.zeros(nodes)
    begin, end, distinct = 0, 0, 0
    total, least, reason = 0.0, float(k), FEW
    while end < len(order):
        row = order[end]
        end += 1
        distinct += 1 if counts[sensitive[row]] == 0 else 0
        counts[sensitive[row]] += 1
        total += entropy[row]
        for value in range(values):
            sums[value] += rows[row, value]
        size = end - begin
        fits = False
        if size >= least and distinct >= ell:
            distance = earth_mover(counts, size, share, ground, ancestors, extra, spread)
            if distance > t + ROUNDING:
                least, reason = size * (1 + distance) / (1 + t) * (1 - 1e-9), FAR
            else:
                unlike = jensen_shannon(sums, total, size)
                fits = unlike <= j + ROUNDING
                least, reason = size * unlike / max(j, ROUNDING) * (1 - 1e-9), UNLIKE
        if fits:
            for i in range(begin, end):
                group[order[i]] = groups
            group_sums[groups], group_counts[groups], group_entropy[groups] = sums, counts, total
            groups += 1
            begin = end
        elif max_run > 0 and (size >= min(max_run, len(order) - begin) or least > min(max_run, len(order) - begin)):
            why[order[begin]] = reason
            begin += 1
            end = begin
        else:
            continue
        sums[:], counts[:] = 0, 0
        total, least, reason, distinct = 0.0, float(k), FEW, 0
    for i in range(begin, end):
        why[order[i]] = reason
    return groups


@compiled
def join_neighbours(
    order: Int64,
    rows: Float64,
    entropy: Float64,
    sensitive: Int32,
    share: Float64,
    t: float,
    j: float,
    ground: int,
    ancestors: Int32,
    nodes: int,
    neighbours: int,
    passes: int,
    group: Int32,  # [n] written
    groups: int,
    sums: Float64,  # as `close_runs` has left them; written
    counts: Int64,
    total: Float64,
) -> int:
    """Let every row without a group join the nearest group along the curve that stays fit; how many have joined.

    Groups are numbered along the curve. At most `neighbours` of them are tried, on both sides in turn. Groups grow
    meanwhile, so whoever found none is tried again in the next pass.
    """
    values = len(share)
    size = np.zeros(groups, dtype=np.int64)
    extra, spread, more = np.zeros(nodes), np.zeros(nodes), np.empty(values)
    alone, near = np.empty(len(order), dtype=np.int64), np.empty(len(order), dtype=np.int64)
    waiting, left = 0, -1
    for i in range(len(order)):
        row = order[i]
        own = group[row]
        if own < 0:
            alone[waiting], near[waiting] = row, left
            waiting += 1
            continue
        left = own
        size[own] += 1
    joined = 0
    for _ in range(passes):
        kept = 0
        for i in range(waiting):
            row = alone[i]
            for step in range(neighbours):
                own = near[i] - step // 2 if step % 2 == 0 else near[i] + 1 + step // 2
                if own < 0 or own >= groups:
                    continue
                counts[own, sensitive[row]] += 1
                fits = earth_mover(counts[own], size[own] + 1, share, ground, ancestors, extra, spread) <= t + ROUNDING
                if fits:
                    for value in range(values):
                        more[value] = sums[own, value] + rows[row, value]
                    fits = jensen_shannon(more, total[own] + entropy[row], size[own] + 1) <= j + ROUNDING
                if fits:
                    sums[own] = more
                    total[own] += entropy[row]
                    size[own] += 1
                    group[row] = own
                    joined += 1
                    break
                counts[own, sensitive[row]] -= 1
            if group[row] < 0:
                alone[kept], near[kept] = row, near[i]
                kept += 1
        if kept == waiting:
            break
        waiting = kept
    return joined
