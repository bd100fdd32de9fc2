#!/usr/bin/env python3
"""Writes manifest.json, the table by which a harness launches the CUDA C++ peers. Its schema is in ../README.md.

Usage: manifest.py [--check]     (--check: fail if the file on disk is not what would be written)
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
LINE = 34 * 16  # bytes of one line of a 3-D stencil's plane in shared memory


def buffer(role, type_, *extents, access="read"):
    """A pointer parameter: the buffer has as many elements as the product of its extents (a name or a number)."""
    return {"role": role, "type": type_, "extents": list(extents), "access": access}


def size(role, type_="u32"):
    """A parameter that carries one of the workload's extents."""
    return {"role": role, "type": type_}


def scalar(role, type_, default):
    return {"role": role, "type": type_, "default": default}


def linear(fixed=0, per_thread=0, per_warp=0):
    """fixed + per_thread·block + per_warp·(block / 32)."""
    return {"fixed": fixed, "per_thread": per_thread, "per_warp": per_warp}


def tile(extent, **terms):
    return {"extent": extent, **linear(**terms)}


VECTOR = [buffer("y", "f32", "n", access="write"), buffer("x", "f32", "n")]
PLANE = [buffer("y", "f32", "height", "width", access="write"), buffer("x", "f32", "height", "width"), size("width"), size("height")]
VOLUME = [buffer("y", "f32", "nz", "ny", "nx", access="write"), buffer("x", "f32", "nz", "ny", "nx"), size("nx"), size("ny"), size("nz")]
ROWS = [size("rows"), size("width")]

WORKLOADS = {
    "copy": {
        "summary": "y = x",
        "parameters": [*VECTOR, size("n", "u64")],
        "bytes": [{"each": 8, "extents": ["n"]}],
        "default": {"n": 1 << 28},
    },
    "scale": {
        "summary": "y = a*x",
        "parameters": [*VECTOR, scalar("a", "f32", 2.5), size("n", "u64")],
        "bytes": [{"each": 8, "extents": ["n"]}],
        "default": {"n": 1 << 28},
    },
    "triad": {
        "summary": "y = x + a*z",
        "parameters": [*VECTOR, buffer("z", "f32", "n"), scalar("a", "f32", 2.5), size("n", "u64")],
        "bytes": [{"each": 12, "extents": ["n"]}],
        "default": {"n": 1 << 28},
    },
    "intensity": {
        "summary": "v = x, then r times v = fma(v, a, b), then y = v",
        "parameters": [*VECTOR, scalar("a", "f32", 0.99), scalar("b", "f32", 0.01), scalar("r", "u32", 16), size("n", "u64")],
        "bytes": [{"each": 8, "extents": ["n"]}],
        "default": {"n": 1 << 28},
    },
    "sum": {
        "summary": "result = sum of x; ticket is zero before and after",
        "parameters": [
            buffer("result", "f32", 1, access="write"),
            buffer("partials", "f32", "blocks", access="scratch"),
            buffer("ticket", "u32", 1, access="zeroed"),
            buffer("x", "f32", "n"),
            size("n", "u64"),
        ],
        "bytes": [{"each": 4, "extents": ["n"]}],
        "default": {"n": 1 << 30},
    },
    "rmsnorm": {
        "summary": "y = x / sqrt(mean(x*x) + eps), by rows",
        "parameters": [
            buffer("y", "bf16", "rows", "width", access="write"),
            buffer("x", "bf16", "rows", "width"),
            scalar("eps", "f32", 1e-6),
            *ROWS,
        ],
        "bytes": [{"each": 4, "extents": ["rows", "width"]}],
        "default": {"rows": 16384, "width": 8192},
    },
    "softmax": {
        "summary": "y = exp(x - max) / sum(exp(x - max)), by rows",
        "parameters": [buffer("y", "f32", "rows", "width", access="write"), buffer("x", "f32", "rows", "width"), *ROWS],
        "bytes": [{"each": 8, "extents": ["rows", "width"]}],
        "default": {"rows": 8192, "width": 32768},
    },
    "transpose": {
        "summary": "y[c][r] = x[r][c]",
        "parameters": [
            buffer("y", "f32", "columns", "rows", access="write"),
            buffer("x", "f32", "rows", "columns"),
            size("rows"),
            size("columns"),
        ],
        "bytes": [{"each": 8, "extents": ["rows", "columns"]}],
        "default": {"rows": 16384, "columns": 16384},
    },
    "stencil5": {
        "summary": "y = center*x + side*(its four neighbours); y = x on the border",
        "parameters": [*PLANE, scalar("chunk", "u32", 64), scalar("center", "f32", 0.5), scalar("side", "f32", 0.125)],
        "bytes": [{"each": 8, "extents": ["height", "width"]}],
        "default": {"height": 16384, "width": 16384},
    },
    "stencil7": {
        "summary": "y = c0*x + c1*(its six neighbours); y = x on the border",
        "parameters": [*VOLUME, scalar("chunk", "u32", 128), scalar("c0", "f32", 0.4), scalar("c1", "f32", 0.1)],
        "bytes": [{"each": 8, "extents": ["nz", "ny", "nx"]}],
        "default": {"nz": 1024, "ny": 1024, "nx": 1024},
    },
    "stencil25": {
        "summary": "y = c0*x + sum over d = 1..4 of cd*(the six neighbours at distance d); y = x within 4 of the border",
        "parameters": [
            *VOLUME,
            scalar("chunk", "u32", 256),
            *(scalar(f"c{d}", "f32", v) for d, v in enumerate([0.4, 0.04, 0.03, 0.02, 0.01])),
        ],
        "bytes": [{"each": 8, "extents": ["nz", "ny", "nx"]}],
        "default": {"nz": 768, "ny": 768, "nx": 768},
    },
    "gemv": {
        "summary": "y = A*x, summed in float",
        "parameters": [buffer("y", "bf16", "rows", access="write"), buffer("a", "bf16", "rows", "width"), buffer("x", "bf16", "width"), *ROWS],
        "bytes": [{"each": 2, "extents": ["rows", "width"]}, {"each": 2, "extents": ["rows"]}, {"each": 2, "extents": ["width"]}],
        "default": {"rows": 57344, "width": 7168},
    },
}


def entry(workload, variant, file, mechanism, tiles, *, stages=0, pieces=1, persistent=False, block=256, blocks=(32, 1024),
          shared=None, row_copies=0, limit=None):
    """One row of the table; `stages` and `pieces` become part of the entry's name as the sources spell them."""
    return {
        "workload": workload,
        "variant": variant,
        "mechanism": mechanism,
        "stages": stages,
        "pieces": pieces,
        "file": file,
        "entry": f"cpp_{workload}_{variant}",
        "block": block,
        "block_min": blocks[0],
        "block_max": blocks[1],
        "shared": {**(shared or linear()), "per_row": row_copies},
        "persistent": persistent,
        "tiles": tiles,
        "limits": [limit] if limit else [],
    }


def named(base, stages, pieces):
    return base + (f"_s{stages}" if stages else "") + (f"_p{pieces}" if pieces > 1 else "")


def vector(workload, file, inputs, base, mechanism, stages_list, pieces_list, persistent, staged):
    """An element-wise variant at every number of stages and pieces; a stage holds a tile of each input."""
    for stages in stages_list:
        for pieces in pieces_list:
            shared = linear(per_thread=16 * inputs * pieces * max(stages, 1)) if staged else None
            yield entry(workload, named(base, stages, pieces), file, mechanism, [tile("n", per_thread=4 * pieces)],
                        stages=stages, pieces=pieces, persistent=persistent, shared=shared)


def elementwise():
    for workload, inputs in (("copy", 1), ("scale", 1), ("triad", 2)):
        args = (workload, "elementwise", inputs)
        yield from vector(*args, "plain", "loads", [0], [1, 2, 4], False, False)
        yield from vector(*args, "stride", "loads", [0], [1, 2, 4], True, False)
        yield from vector(*args, "sync", "loads", [0], [1, 2, 4], True, True)
        for base, mechanism in (("pipeline_block", "cuda::pipeline"), ("pipeline_thread", "cuda::pipeline"),
                                ("ring_one", "cp.async"), ("ring_two", "cp.async"), ("bulk", "cp.async.bulk")):
            yield from vector(*args, base, mechanism, [2, 3, 4, 8], [1, 2, 4], True, True)
        yield from vector(*args, "bulk_tile", "cp.async.bulk", [0], [1, 2, 4], False, True)
    for stages in (2, 4, 8):
        yield entry("copy", f"bulk_through_s{stages}", "elementwise", "cp.async.bulk", [tile("n", fixed=2048)], stages=stages, pieces=16,
                    persistent=True, block=32, blocks=(32, 32), shared=linear(fixed=8192 * stages))


def intensity():
    args = ("intensity", "intensity", 1)
    yield from vector(*args, "plain", "loads", [0], [1], False, False)
    yield from vector(*args, "stride", "loads", [0], [1], True, False)
    yield from vector(*args, "sync", "loads", [0], [1], True, True)
    for base, mechanism, stages in (("pipeline_block", "cuda::pipeline", [1, 2, 4, 8]), ("pipeline_thread", "cuda::pipeline", [1, 2, 4, 8]),
                                    ("ring_one", "cp.async", [2, 4, 8]), ("ring_two", "cp.async", [1, 2, 4, 8]),
                                    ("bulk", "cp.async.bulk", [1, 2, 4, 8])):
        yield from vector(*args, base, mechanism, stages, [1], True, True)
    yield from vector(*args, "bulk_tile", "cp.async.bulk", [0], [1], False, True)


def sums():
    args = ("sum", "sum", 1)
    yield from vector(*args, "plain", "loads", [0], [1, 2, 4, 8], True, False)
    yield from vector(*args, "ring", "cp.async", [2, 4, 8], [1, 2], True, True)
    yield from vector(*args, "ring", "cp.async", [2, 4], [4], True, True)
    yield from vector(*args, "bulk", "cp.async.bulk", [2, 4, 8], [1], True, True)
    yield from vector(*args, "bulk", "cp.async.bulk", [2, 4], [4], True, True)


def rows():
    for workload, elements in (("rmsnorm", 8), ("softmax", 4)):
        row = [tile("rows", fixed=1)]
        for v in (1, 2, 4, 8):
            # As many threads as the default row needs, within what the variant allows.
            width = WORKLOADS[workload]["default"]["width"]
            most = 512 if v == 8 and workload == "rmsnorm" else 1024
            block = min(most, max(32, width // (v * elements)))
            limit = {"extent": "width", **linear(per_thread=v * elements)}
            yield entry(workload, f"registers_v{v}", "rows", "loads", row, pieces=v, block=block, blocks=(32, most), limit=limit)
            yield entry(workload, f"prefetch_v{v}", "rows", "cp.async", row, stages=1, pieces=v, persistent=True, block=block,
                        blocks=(32, most), shared=linear(per_thread=16 * v), limit=limit)
        yield entry(workload, "staged", "rows", "loads", row, block=512, row_copies=1)


def transposes():
    small = [tile("rows", fixed=32), tile("columns", fixed=32)]
    large = [tile("rows", fixed=64), tile("columns", fixed=64)]
    only = {"blocks": (256, 256)}
    yield entry("transpose", "naive", "transpose", "loads", small, **only)
    yield entry("transpose", "padded", "transpose", "loads", small, **only)
    yield entry("transpose", "swizzle", "transpose", "loads", large, pieces=4, **only)
    for s in (2, 3, 4):
        yield entry("transpose", f"ring_s{s}", "transpose", "cp.async", large, stages=s, pieces=4, persistent=True,
                    shared=linear(fixed=16384 * s), **only)


def stencils():
    strip = [tile("width", per_thread=4), {"extent": "height", "role": "chunk"}]
    yield entry("stencil5", "naive", "stencil2d", "loads", [tile("width", fixed=32), tile("height", per_warp=1)])
    yield entry("stencil5", "vector", "stencil2d", "loads", [tile("width", fixed=128), tile("height", per_warp=1)])
    yield entry("stencil5", "march", "stencil2d", "loads", strip)
    for s in (3, 4, 8, 16):
        yield entry("stencil5", f"ring_s{s}", "stencil2d", "cp.async", strip, stages=s, shared=linear(fixed=32 * s, per_thread=16 * s))
    for workload, radius, slots in (("stencil7", 1, (3, 4, 6, 8)), ("stencil25", 4, (6, 7, 8))):
        most = {"blocks": (32, 512)}
        line = [tile("nx", fixed=32), tile("ny", per_warp=1), tile("nz", fixed=1)]
        column = [tile("nx", fixed=128), tile("ny", per_warp=1), {"extent": "nz", "role": "chunk"}]
        yield entry(workload, "naive", "stencil3d", "loads", line, **most)
        yield entry(workload, "march", "stencil3d", "loads", column, **most)
        for s in slots:
            yield entry(workload, f"ring_s{s}", "stencil3d", "cp.async", column, stages=s, block=512 if radius == 1 else 384, blocks=(32, 512),
                        shared=linear(fixed=2 * radius * s * LINE, per_warp=s * LINE))


def gemvs():
    for variant, n, unroll in (("warp_r1", 1, 4), ("warp_r1_u7", 1, 7), ("warp_r2", 2, 4), ("warp_r4", 4, 2)):
        yield entry("gemv", variant, "gemv", "loads", [tile("rows", per_warp=n)], pieces=n * unroll, blocks=(32, 512))
    for s in (4, 8, 16):
        yield entry("gemv", f"ring_s{s}", "gemv", "cp.async", [tile("rows", per_warp=1)], stages=s, persistent=True, blocks=(32, 512),
                    shared=linear(per_thread=16 * s))


def text():
    """The whole file: one entry a line, so that a change reads well in a diff."""
    entries = [e for family in (elementwise, intensity, sums, rows, transposes, stencils, gemvs) for e in family()]
    line = lambda value: json.dumps(value, ensure_ascii=False)
    jobs = ",\n".join(f"    {line(name)}: {line(job)}" for name, job in WORKLOADS.items())
    table = ",\n".join("    " + line(e) for e in entries)
    return f'{{\n  "schema": 1,\n  "workloads": {{\n{jobs}\n  }},\n  "entries": [\n{table}\n  ]\n}}\n'


def main():
    path = HERE / "manifest.json"
    if sys.argv[1:] == ["--check"]:
        if not path.exists() or path.read_text() != text():
            sys.exit(f"{path} is not what manifest.py writes; run manifest.py")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        path.write_text(text())


if __name__ == "__main__":
    main()
