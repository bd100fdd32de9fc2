#!/usr/bin/env python3
"""Verifies and times the compiled CUDA C++ peers on a GPU, by the manifest.

Each entry runs on awkward shapes (with small grids and blocks of 96 threads where it allows them) and on its workload's
default shape, and every element is compared with a float64 reference; what lies behind the output must stay untouched.
Then the default shape is timed with events: median of the samples, on random data, with the device-to-device copy
measured in the same process beside it. One line an entry, and `N passed, N failed` at the end.
An entry that hangs is ended after --timeout seconds, counted as failed, and the rest goes on.

Usage: verify.py FOLDER [--only TEXT …] [--set ROLE=VALUE …] [--samples N] [--small] [--json FILE] [--timeout S]
FOLDER is what build.py wrote. --only takes entries whose names contain one of the texts. --set changes a scalar parameter
(r=64, chunk=128). --small leaves out the default shapes and the timing. Needs CuPy.
"""

import argparse
import itertools
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import threading

import numpy as np

GUARD = 64  # elements behind each buffer: NaN behind inputs, a pattern behind outputs
CHUNK = 1 << 26  # elements compared at a time
NUMBERS = {"u32": np.uint32, "u64": np.uint64, "f32": np.float32}
STORED = {"f32": np.float32, "u32": np.uint32, "bf16": np.uint16}

VECTORS = [{"n": n} for n in (1, 3, 4, 1023, 1024, 28677, 1000003)]
MATRICES = [(1, 1), (3, 7), (5, 8), (7, 264), (33, 1000), (100, 1001), (129, 4096)]
PLANES = [(1, 1), (2, 5), (3, 3), (65, 130), (130, 260), (67, 1021), (129, 4100)]
VOLUMES = [(1, 1, 1), (3, 3, 3), (9, 9, 9), (5, 17, 130), (11, 40, 132), (20, 33, 259), (140, 20, 136)]
AWKWARD = {
    **{job: VECTORS for job in ("copy", "scale", "triad", "intensity", "sum")},
    **{job: [{"rows": r, "width": w} for r, w in MATRICES] for job in ("rmsnorm", "softmax", "gemv")},
    "transpose": [{"rows": r, "columns": c} for r, c in MATRICES + [(64, 64), (260, 132), (257, 129)]],
    "stencil5": [{"height": h, "width": w} for h, w in PLANES],
    **{job: [{"nz": z, "ny": y, "nx": x} for z, y, x in VOLUMES] for job in ("stencil7", "stencil25")},
}


def product(extents, shape):
    return math.prod(shape[e] if isinstance(e, str) else e for e in extents)


def linear(terms, block):
    return terms["fixed"] + terms["per_thread"] * block + terms["per_warp"] * (block // 32)


def tile_count(row, shape, block, scalars):
    """Blocks that cover the shape once."""
    count = 1
    for t in row["tiles"]:
        step = scalars[t["role"]] if "role" in t else linear(t, block)
        count *= -(-shape[t["extent"]] // step)
    return max(count, 1)


def row_bytes(parameters, shape):
    """Bytes of one row of the input, rounded up to 16."""
    x = next(p for p in parameters if p["role"] == "x")
    return -(-shape["width"] * np.dtype(STORED[x["type"]]).itemsize // 16) * 16 if "width" in shape else 0


def shared_bytes(row, parameters, shape, block):
    s = row["shared"]
    return linear(s, block) + s["per_row"] * row_bytes(parameters, shape)


def fits(row, shape, block):
    return row["block_min"] <= block <= row["block_max"] and all(shape[l["extent"]] <= linear(l, block) for l in row["limits"])


class Problem(Exception):
    """What is wrong with one entry's result."""


class References:
    """Inputs and float64 results by workload and shape: all of the small ones are kept, and the last large one."""

    def __init__(self, xp, jobs):
        self.xp, self.jobs, self.small, self.large = xp, jobs, {}, {}

    def to_float(self, stored):
        """The values of stored elements: bfloat16 arrives as its bits."""
        if stored.dtype == np.uint16:
            return (stored.astype(np.uint32) << np.uint32(16)).view(np.float32)
        return stored

    def random(self, parameter, shape):
        n = product(parameter["extents"], shape)
        values = self.xp.random.standard_normal(n, dtype=np.float32) if self.xp is not np else self.generator.standard_normal(n, dtype=np.float32)
        if parameter["type"] == "bf16":
            bits = values.view(np.uint32)
            values = ((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)).astype(np.uint16)
        return values

    def get(self, workload, shape, scalars):
        key = (workload, tuple(shape.items()), tuple(sorted(scalars.items())))
        kept = self.small if math.prod(shape.values()) < 1 << 21 else self.large
        if key not in kept:
            self.large.clear()
            self.xp.random.seed(1)
            self.generator = np.random.default_rng(1)
            reads = [p for p in self.jobs[workload]["parameters"] if p.get("access") == "read"]
            inputs = {p["role"]: self.random(p, shape) for p in reads}
            kept[key] = (inputs, *getattr(self, workload)({role: self.to_float(v) for role, v in inputs.items()}, shape, scalars))
        return kept[key]

    # Each returns the result and, by element or for all, the largest error that is still right.
    def copy(self, v, shape, s):
        return v["x"].astype(np.float64), 0.0

    def scale(self, v, shape, s):
        want = v["x"].astype(np.float64) * float(np.float32(s["a"]))
        return want, abs(want) * 2.0**-24 + 1e-40

    def triad(self, v, shape, s):
        part = v["z"].astype(np.float64) * float(np.float32(s["a"]))
        return v["x"] + part, (abs(part) + abs(v["x"])) * 2.0**-23

    def intensity(self, v, shape, s):
        want = v["x"].astype(np.float64)
        a, b = float(np.float32(s["a"])), float(np.float32(s["b"]))
        for _ in range(s["r"]):
            want = want * a + b
        return want, 2.0**-24 * (s["r"] + 1) * (abs(v["x"]).astype(np.float64) + s["r"] * abs(b)) + 1e-40

    def sum(self, v, shape, s):
        x = v["x"].astype(np.float64)
        return x.sum().reshape(1), 1e-6 * float(abs(x).sum())

    def rmsnorm(self, v, shape, s):
        x = v["x"].astype(np.float64).reshape(shape["rows"], shape["width"])
        want = x / self.xp.sqrt((x * x).mean(1, keepdims=True) + float(np.float32(s["eps"])))
        return want.ravel(), abs(want.ravel()) * (2.0**-8 + 1e-5)

    def softmax(self, v, shape, s):
        x = v["x"].astype(np.float64).reshape(shape["rows"], shape["width"])
        want = self.xp.exp(x - x.max(1, keepdims=True))
        want /= want.sum(1, keepdims=True)
        return want.ravel(), want.ravel() * 1e-5

    def transpose(self, v, shape, s):
        x = v["x"].reshape(shape["rows"], shape["columns"])
        return self.xp.ascontiguousarray(x.T).ravel().astype(np.float64), 0.0

    def gemv(self, v, shape, s):
        a, x = v["a"].reshape(shape["rows"], shape["width"]), v["x"].astype(np.float64)
        want, size = self.xp.empty(shape["rows"]), self.xp.empty(shape["rows"])
        step = max(1, CHUNK // shape["width"])
        for r in range(0, shape["rows"], step):
            part = a[r : r + step] * x
            want[r : r + step], size[r : r + step] = part.sum(1), abs(part).sum(1)
        return want, abs(want) * 2.0**-8 + size * 1e-6

    def star(self, x, centre, sides):
        """A star stencil over all of x's dimensions, a slab of the first one at a time; `sides[d - 1]` is distance d's weight."""
        radius, want = len(sides), x.astype(np.float64)
        inner = tuple(slice(radius, n - radius) for n in x.shape[1:])
        if min(x.shape) <= 2 * radius:
            return want.ravel(), 0.0
        step = max(1, CHUNK // max(1, math.prod(x.shape[1:])))
        for lo in range(radius, x.shape[0] - radius, step):
            hi = min(lo + step, x.shape[0] - radius)
            slab = x[lo - radius : hi + radius].astype(np.float64)
            at = (slice(radius, radius + hi - lo), *inner)
            part = slab[at] * centre
            for d, axis, sign in itertools.product(range(1, radius + 1), range(x.ndim), (-1, 1)):
                moved = tuple(slice(i.start + sign * d, i.stop + sign * d) if k == axis else i for k, i in enumerate(at))
                part += sides[d - 1] * slab[moved]
            want[(slice(lo, hi), *inner)] = part
        return want.ravel(), 2e-6 * float(abs(x).max())

    def stencil5(self, v, shape, s):
        return self.star(v["x"].reshape(shape["height"], shape["width"]), s["center"], [s["side"]])

    def stencil7(self, v, shape, s):
        return self.star(v["x"].reshape(shape["nz"], shape["ny"], shape["nx"]), s["c0"], [s["c1"]])

    def stencil25(self, v, shape, s):
        return self.star(v["x"].reshape(shape["nz"], shape["ny"], shape["nx"]), s["c0"], [s[f"c{d}"] for d in range(1, 5)])


class Gpu:
    """Kernels through CuPy."""

    def __init__(self, folder):
        import cupy

        self.xp, self.folder, self.modules = cupy, folder, {}
        properties = cupy.cuda.runtime.getDeviceProperties(0)
        self.name, self.processors = properties["name"].decode(), properties["multiProcessorCount"]
        self.shared_limit = properties["sharedMemPerBlockOptin"]

    def kernel(self, row, shared):
        if row["file"] not in self.modules:
            self.modules[row["file"]] = self.xp.RawModule(path=str(self.folder / f"{row['file']}.cubin"))
        kernel = self.modules[row["file"]].get_function(row["entry"])
        if shared > 48 * 1024:
            kernel.max_dynamic_shared_size_bytes = shared
        return kernel

    def resident(self, kernel, block, shared):
        """Blocks of this launch that fit one multiprocessor."""
        return self.xp.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.kernel.ptr, block, shared)

    def launch(self, kernel, blocks, block, shared, arguments):
        kernel((blocks,), (block,), tuple(arguments), shared_mem=shared)

    def synchronize(self):
        self.xp.cuda.get_current_stream().synchronize()

    def milliseconds(self, call, samples):
        """Each sample's time; three calls warm up."""
        event = self.xp.cuda.Event
        times = []
        for i in range(samples + 3):
            start, stop = event(), event()
            start.record()
            call()
            stop.record()
            stop.synchronize()
            times.append(self.xp.cuda.get_elapsed_time(start, stop))
        return times[3:]


class Verifier:
    def __init__(self, device, manifest, options, ceiling):
        self.device, self.manifest, self.options, self.ceiling = device, manifest, options, ceiling
        self.references = References(device.xp, manifest["workloads"])

    def buffers(self, row, inputs, shape, blocks):
        """The arguments by role, with a guard behind each buffer."""
        xp, made = self.device.xp, {}
        for p in self.manifest["workloads"][row["workload"]]["parameters"]:
            if "extents" not in p:
                continue
            n, dtype = product(p["extents"], {**shape, "blocks": blocks}), STORED[p["type"]]
            if p["access"] == "read":
                data = xp.empty(n + GUARD, dtype)
                data[:n] = inputs[p["role"]]
                data[n:] = 0xFFFF if dtype == np.uint16 else np.nan
            elif p["access"] == "zeroed":
                data = xp.zeros(n, dtype)
            else:
                data = xp.empty(n + GUARD, dtype)
                data.view(np.uint8)[:] = 0xA5
            made[p["role"]] = (p, data, n)
        return made

    def run(self, row, shape, scalars, block, blocks, time=False):
        """One launch, checked; returns the largest error as a fraction of what is allowed, and the times if asked."""
        job, xp = self.manifest["workloads"][row["workload"]], self.device.xp
        shared = shared_bytes(row, job["parameters"], shape, block)
        if shared > self.device.shared_limit:
            return None, []
        kernel = self.device.kernel(row, shared)
        tiles = tile_count(row, shape, block, scalars)
        if not row["persistent"]:
            blocks = tiles
        elif blocks is None:
            resident = self.device.resident(kernel, block, shared)
            if resident == 0:
                return None, []
            blocks = min(tiles, self.device.processors * resident)
        else:
            blocks = min(tiles, blocks)
        inputs, want, bound = self.references.get(row["workload"], shape, scalars)
        made = self.buffers(row, inputs, shape, blocks)
        arguments = []
        for p in job["parameters"]:
            role = p["role"]
            arguments.append(made[role][1] if role in made else NUMBERS[p["type"]](scalars[role] if role in scalars else shape[role]))
        call = lambda: self.device.launch(kernel, blocks, block, shared, arguments)
        call()
        self.device.synchronize()
        worst = 0.0
        for role, (p, data, n) in made.items():
            if p["access"] == "zeroed" and bool((data != 0).any()):
                raise Problem(f"{role} is not zero afterwards")
            if p["access"] in ("write", "scratch") and bool((data[n:].view(np.uint8) != 0xA5).any()):
                raise Problem(f"something was written behind {role}")
            if p["access"] == "write":
                worst = self.compare(data[:n], want, bound)
        return worst, self.device.milliseconds(call, self.options.samples) if time else []

    def compare(self, got, want, bound):
        xp, worst = self.device.xp, 0.0
        for lo in range(0, want.size, CHUNK):
            part = slice(lo, lo + CHUNK)
            limit = bound[part] if hasattr(bound, "shape") else bound
            error = abs(self.references.to_float(got[part]).astype(np.float64) - want[part])
            bad = ~(error <= limit)
            if bool(bad.any()):
                i = int(xp.argmax(bad))
                value, right = float(self.references.to_float(got[part])[i]), float(want[part][i])
                raise Problem(f"{int(bad.sum())} of {want.size} elements wrong; element {lo + i} is {value:.9g}, expected {right:.9g}")
            worst = max(worst, float((error / (limit + 1e-300)).max()))
        return worst

    def entry(self, row):
        """All runs of one entry: a line for people and a record for programs."""
        job = self.manifest["workloads"][row["workload"]]
        scalars = {p["role"]: p["default"] for p in job["parameters"] if "default" in p}
        scalars |= {role: value for role, value in self.options.set.items() if role in scalars}
        record = {"entry": row["entry"], "workload": row["workload"], "variant": row["variant"], "runs": 0, "verified": True}
        worst = 0.0
        try:
            for shape in AWKWARD[row["workload"]]:
                other = {**scalars, **({"chunk": 5} if "chunk" in scalars else {}), **({"r": 3} if "r" in scalars else {})}
                for block, blocks, values in ((row["block"], 3, scalars), (96, 2, other), (row["block"], None, other)):
                    if not fits(row, shape, block):
                        continue
                    where = f"{shape}, block {block}, blocks {blocks}"
                    found, _ = self.run(row, shape, values, block, blocks)
                    if found is not None:
                        worst, record["runs"] = max(worst, found), record["runs"] + 1
            if not self.options.small and fits(row, job["default"], row["block"]):
                where = f"{job['default']}"
                found, times = self.run(row, job["default"], scalars, row["block"], None, time=True)
                if found is not None:
                    worst, record["runs"] = max(worst, found), record["runs"] + 1
                    moved = sum(b["each"] * product(b["extents"], job["default"]) for b in job["bytes"])
                    record |= {"bytes": moved, "samples_ms": times, "median_ms": statistics.median(times)}
                    record["gigabytes_per_second"] = moved / record["median_ms"] / 1e6
                    record["of_copy"] = record["gigabytes_per_second"] / self.ceiling
            if record["runs"] == 0:
                where = "no shape"
                raise Problem("nothing fits this device")
            record["error_of_bound"] = worst
            speed = f"{record['median_ms']:9.4f} ms {record['gigabytes_per_second']:7.0f} GB/s {record['of_copy']:5.3f} of copy" if "median_ms" in record else ""
            print(f"ok    {row['entry']:<40} {record['runs']:3} runs, error {worst:5.3f} of bound  {speed}", flush=True)
        except Problem as problem:
            record |= {"verified": False, "error": f"{where}: {problem}"}
            print(f"FAIL  {row['entry']:<40} {where}: {problem}", flush=True)
        return record


def copy_ceiling(device, samples):
    """GB/s, read plus written, of a device-to-device copy of 1 GiB."""
    xp = device.xp
    a, b = xp.empty(1 << 28, np.float32), xp.empty(1 << 28, np.float32)
    a[:] = xp.random.standard_normal(a.size, dtype=np.float32)
    copy = lambda: xp.cuda.runtime.memcpyAsync(b.data.ptr, a.data.ptr, a.nbytes, 3, xp.cuda.get_current_stream().ptr)
    return 2 * a.nbytes / statistics.median(device.milliseconds(copy, samples)) / 1e6


def work(options, manifest, rows):
    """Verifies the rows in this process; a watchdog ends it when one takes too long."""
    device = Gpu(options.folder)
    ceiling = copy_ceiling(device, options.samples)
    print(f"{device.name}: {device.processors} multiprocessors; device-to-device copy {ceiling:.0f} GB/s", flush=True)
    verifier = Verifier(device, manifest, options, ceiling)
    for row in rows:
        watchdog = threading.Timer(options.timeout, lambda: os._exit(3))
        watchdog.daemon = True
        watchdog.start()
        print(json.dumps({"started": row["entry"]}), file=sys.stderr, flush=True)
        record = verifier.entry(row)
        watchdog.cancel()
        print(json.dumps(record), file=sys.stderr, flush=True)


def supervise(options, rows):
    """Runs workers until every row has a record; a worker that dies has failed at the row it had started last."""
    records, left = [], [r["entry"] for r in rows]
    while left:
        command = [sys.executable, __file__, *sys.argv[1:], "--worker", *left]
        worker = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        started, chatter = None, []
        for line in worker.stderr:
            if not line.startswith("{"):
                chatter.append(line)
                continue
            message = json.loads(line)
            if "started" in message:
                started = message["started"]
            else:
                records.append(message)
                started = None
        code = worker.wait()
        if code == 0:
            break
        if started is None:
            sys.exit(f"the worker ended with {code} before its first entry:\n{''.join(chatter[-20:])}")
        reason = f"no result after {options.timeout} s" if code == 3 else f"the process ended with {code}: {''.join(chatter[-3:]).strip()}"
        print(f"FAIL  {started:<40} {reason}", flush=True)
        records.append({"entry": started, "verified": False, "error": reason})
        left = left[left.index(started) + 1 :]
    return records


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", nargs="*", metavar="TEXT")
    parser.add_argument("--set", nargs="*", default=[], metavar="ROLE=VALUE")
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--worker", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.set = {role: float(value) if "." in value else int(value) for role, value in (pair.split("=") for pair in options.set)}
    manifest = json.loads((options.folder / "manifest.json").read_text())
    # By workload, so that a reference is made once for all entries that share it.
    rows = sorted(manifest["entries"], key=lambda r: list(manifest["workloads"]).index(r["workload"]))
    if options.worker is not None:
        return work(options, manifest, [r for r in rows if r["entry"] in set(options.worker)])
    rows = [r for r in rows if not options.only or any(text in r["entry"] for text in options.only)]
    records = supervise(options, rows)
    failed = sum(not r["verified"] for r in records)
    if options.json:
        options.json.write_text(json.dumps(records, indent=1) + "\n")
    print(f"{len(records) - failed} passed, {failed} failed")
    sys.exit(1 if failed or not records else 0)


if __name__ == "__main__":
    main()
