#!/usr/bin/env python3
"""Prints the README's table of kernels by stages from a results folder made by gpu-verify.sh.

Usage: readme_table.py results/DATE-GPU
"""

import json
import sys
from pathlib import Path


def rows(path):
    """The rows by kernel, stages and schedule."""
    return {(r["kernel"], r["stages"], r["schedule"]): r for r in map(json.loads, path.read_text().splitlines())}


def cell(row):
    """`GB/s (ratio to the copy)`, or a dash."""
    if row is None:
        return "–"
    rate, copy = row["gigabytes_per_second"], row["copy_gigabytes_per_second"]
    return f"{rate:.0f} ({rate / copy:.2f})"


def main():
    folder = Path(sys.argv[1])
    full, fit, one = (rows(folder / name) for name in ("run.jsonl", "run-resident.jsonl", "run-one-block.jsonl"))
    print("| variant | a block for two tiles, GB/s (of copy) | as many blocks as fit | 1 block of 128 threads an SM |")
    print("|---|---|---|---|")
    variants = [("synchronous (`kernel_sync`)", "kernel_sync", 0, None)]
    for schedule, words in (("two", "two barriers"), ("one", "one barrier")):
        variants += [(f"ring, {words}, depth {d}", "kernel_async_pipeline", d, schedule) for d in (1, 2, 4, 8) if (schedule, d) != ("one", 1)]
    for words, *key in variants:
        print(f"| {words} | " + " | ".join(cell(table.get(tuple(key))) for table in (full, fit, one)) + " |")
    best = max(r["gigabytes_per_second"] / r["copy_gigabytes_per_second"] for k, r in full.items() if k[0] == "kernel_async_pipeline")
    low = max(r["gigabytes_per_second"] for k, r in one.items() if k[0] == "kernel_async_pipeline")
    print(f"\nbest ring: {best:.3f} of the copy; one block an SM: {low / one['kernel_sync', 0, None]['gigabytes_per_second']:.2f} times kernel_sync")


if __name__ == "__main__":
    main()
