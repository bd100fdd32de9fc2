#!/usr/bin/env python3
"""Prints the README's tables from a results folder made by bench-gpu.sh.

Usage: readme_table.py results/DATE-GPU
"""

import json
import sys
from pathlib import Path


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def ours(table, grid, kernel, stages, schedule):
    """The row of one of nstage's configurations, or nothing."""
    keys = {"peer": "nstage", "grid": grid, "kernel": kernel, "stages": stages, "schedule": schedule}
    found = [row for row in table if all(row[key] == value for key, value in keys.items())]
    return found[0] if found else None


def cell(row):
    """`GB/s (ratio to the copy)`, or a dash."""
    return "–" if row is None else f"{row['gigabytes_per_second']:.0f} ({row['of_copy']['value']:.2f})"


def ratio(of):
    """A ratio and how far off it may be."""
    return f"{of['value']:.3f} ± {(of['high'] - of['low']) / 2:.3f}"


def stages(folder):
    full = rows(folder / "bench-scale/bench.jsonl")
    low = rows(folder / "bench-low-occupancy/bench.jsonl")
    print("| variant | a block for two tiles, GB/s (of copy) | as many blocks as fit | 1 block of 128 threads an SM |")
    print("|---|---|---|---|")
    variants = [("synchronous (`kernel_sync`)", "kernel_sync", 0, "two")]
    for schedule, words in (("two", "two barriers"), ("one", "one barrier")):
        variants += [(f"ring, {words}, depth {d}", "kernel_async_pipeline", d, schedule) for d in (1, 2, 4, 8) if (schedule, d) != ("one", 1)]
    for words, *key in variants:
        cells = [ours(full, "tiles:2", *key), ours(full, "fit", *key), ours(low, "1", *key)]
        print(f"| {words} | " + " | ".join(map(cell, cells)) + " |")
    rings = [row for row in full if row["kernel"] == "kernel_async_pipeline" and row["grid"] == "tiles:2" and row["stages"] > 1]
    least, most = (pick(rings, key=lambda row: row["of_copy"]["value"]) for pick in (min, max))
    print(f"\nrings of 2 to 8 stages, a block for two tiles: {ratio(least['of_copy'])} to {ratio(most['of_copy'])} of the copy")
    best = max((row for row in low if row["stages"]), key=lambda row: row["of_reference"]["value"])
    print(f"one block an SM: {best['entry']}, {ratio(best['of_reference'])} times kernel_sync")


def peers(folder):
    """The best of every kind in one command; the ratio is to the copy of the same rounds."""
    full = rows(folder / "bench-scale/bench.jsonl")

    def kind(row):
        name = row["entry"]
        if row["peer"] == "nstage":
            return "nstage, a ring" if row["stages"] else "nstage, synchronous"
        for part, words in (
            ("_plain", "CUDA C++, plain loads, a tile a block"),
            ("_stride", "CUDA C++, plain loads, persistent"),
            ("_sync", "CUDA C++, through shared memory"),
            ("_pipeline_", "CUDA C++, `cuda::pipeline`"),
            ("_ring_", "CUDA C++, `cp.async` by hand"),
            ("_bulk_tile", "CUDA C++, one bulk copy a block"),
            ("_bulk_", "CUDA C++, bulk copies and mbarriers"),
        ):
            if part in name:
                return words
        raise SystemExit(f"{name}: of no kind that this script knows")

    best = {}
    for row in full:
        row["kind"] = kind(row)
        if row["kind"] not in best or row["median_ms"] < best[row["kind"]]["median_ms"]:
            best[row["kind"]] = row
    print("\n| y = a·x | best variant | GB/s | of copy |")
    print("|---|---|---|---|")
    for words, row in sorted(best.items(), key=lambda item: -item[1]["gigabytes_per_second"]):
        print(f"| {words} | `{row['entry']}`, {row['grid']} | {row['gigabytes_per_second']:.0f} | {ratio(row['of_copy'])} |")
    alone = {}
    for name in ("cub", "python"):
        path = folder / f"peers/{name}.jsonl"
        for row in rows(path) if path.exists() else []:
            alone.setdefault(row["workload"], []).append((row["bytes"] / row["median_ms"] / 1e6, row["peer"]))
    print("\n| job | timed by their own harness, GB/s |")
    print("|---|---|")
    for job, timed in alone.items():
        print(f"| {job} | " + ", ".join(f"{peer} {rate:.0f}" for rate, peer in sorted(timed, reverse=True)) + " |")


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    folder = Path(sys.argv[1])
    stages(folder)
    peers(folder)


if __name__ == "__main__":
    main()
