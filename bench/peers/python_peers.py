#!/usr/bin/env python3
"""Times what Python programmers would call instead of nstage: PyTorch, torch.compile, Triton and CuPy.

Prints one JSON object a line, with the fields of `nstage bench --format json`, so that one table can hold both.
Every number is the median of device-event times over rotating buffers larger than the L2 cache, on random data,
and every timed result is compared with a float64 reference of a slice of it first.

Usage: python_peers.py [--workload NAME …] [--samples N] [--scale SHIFT]
--scale 4 divides every size by 2^4, for a quick look.
"""

import argparse
import json
import statistics
import sys

import torch

L2_BYTES = 60 << 20


class Workload:
    """A job: its inputs, its float64 reference on a slice, the bytes it has to move."""

    def __init__(self, name, elements, bytes_moved, make, reference, tolerance):
        self.name, self.elements, self.bytes_moved = name, elements, bytes_moved
        self.make, self.reference, self.tolerance = make, reference, tolerance


def rows_reference_rmsnorm(x):
    d = x[:4].double()
    return d * torch.rsqrt((d * d).mean(-1, keepdim=True) + 1e-6)


def rows_reference_softmax(x):
    return torch.softmax(x[:4].double(), -1)


def stencil5_reference(x):
    d = x[:6].double()
    out = d.clone()[1:5]
    out[:, 1:-1] = 0.5 * d[1:5, 1:-1] + 0.125 * (d[:4, 1:-1] + d[2:6, 1:-1] + d[1:5, :-2] + d[1:5, 2:])
    return out


SECOND = {}


@torch.compiler.disable
def second(x):
    """The other input of a job of two: as long as x, and one for each buffer, so that it is no more in the cache than x is."""
    key = x.data_ptr()
    if key not in SECOND or SECOND[key].shape != x.shape:
        SECOND[key] = torch.randn_like(x)
    return SECOND[key]


def workloads(shift):
    """The jobs, each with every size divided by 2^shift."""
    n, rows = 1 << (28 - shift), 16384 >> shift
    side = 16384 >> (shift // 2)
    normal = lambda *shape, dtype=torch.float32: (lambda: torch.randn(*shape, device="cuda", dtype=dtype))
    return [
        Workload("copy", n, 8 * n, normal(n), lambda x: x[:4096].double(), 0.0),
        Workload("scale", n, 8 * n, normal(n), lambda x: 2.5 * x[:4096].double(), 1e-6),
        Workload("triad", n, 12 * n, normal(n), lambda x: x[:4096].double() + 2.5 * second(x)[:4096].double(), 1e-6),
        Workload("sum", 4 * n, 16 * n, normal(4 * n), lambda x: x.double().sum()[None], 1e-3),
        Workload("rmsnorm", rows * 8192, 4 * rows * 8192, normal(rows, 8192, dtype=torch.bfloat16), rows_reference_rmsnorm, 2e-2),
        Workload("softmax", 8192 * 32768 >> shift, 8 * 8192 * 32768 >> shift, normal(8192 >> shift, 32768), rows_reference_softmax, 1e-5),
        Workload("transpose", side * side, 8 * side * side, normal(side, side), lambda x: x[:, :4].double().t(), 0.0),
        Workload("stencil5", side * side, 8 * side * side, normal(side, side), stencil5_reference, 1e-5),
        Workload("gemv", 57344 * 7168 >> shift, 2 * 57344 * 7168 >> shift, normal(57344 >> shift, 7168, dtype=torch.bfloat16), None, 2e-2),
    ]


def torch_call(name, vector):
    """The eager PyTorch expression of a job."""
    if name == "stencil5":
        def stencil5(x):
            out = x.clone()
            out[1:-1, 1:-1] = 0.5 * x[1:-1, 1:-1] + 0.125 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
            return out
        return stencil5
    return {
        "copy": lambda x: x.clone(),
        "scale": lambda x: x * 2.5,
        "triad": lambda x: torch.add(x, second(x), alpha=2.5),
        "sum": lambda x: x.sum()[None],
        "rmsnorm": lambda x: torch.nn.functional.rms_norm(x, (x.shape[1],), eps=1e-6),
        "softmax": lambda x: torch.softmax(x, -1),
        "transpose": lambda x: x.t().contiguous(),
        "gemv": lambda x: torch.mv(x, vector),
    }[name]


def triton_calls():
    """Triton kernels by job; empty where Triton is missing."""
    try:
        import triton
        import triton.language as tl
    except ImportError:
        return {}

    @triton.jit
    def elementwise(x, y, a, n, BLOCK: tl.constexpr):
        i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, a * tl.load(x + i, mask=i < n), mask=i < n)

    @triton.jit
    def add_scaled(x, z, y, a, n, BLOCK: tl.constexpr):
        i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < n) + a * tl.load(z + i, mask=i < n), mask=i < n)

    @triton.jit
    def softmax_rows(x, y, width, BLOCK: tl.constexpr):
        row = tl.program_id(0).to(tl.int64) * width
        i = tl.arange(0, BLOCK)
        v = tl.load(x + row + i, mask=i < width, other=-float("inf"))
        e = tl.exp(v - tl.max(v, 0))
        tl.store(y + row + i, e / tl.sum(e, 0), mask=i < width)

    @triton.jit
    def rmsnorm_rows(x, y, width, BLOCK: tl.constexpr):
        row = tl.program_id(0).to(tl.int64) * width
        i = tl.arange(0, BLOCK)
        v = tl.load(x + row + i, mask=i < width, other=0.0).to(tl.float32)
        s = tl.rsqrt(tl.sum(v * v, 0) / width + 1e-6)
        tl.store(y + row + i, (v * s).to(tl.bfloat16), mask=i < width)

    @triton.jit
    def transpose_tile(x, y, side, T: tl.constexpr):
        r = tl.program_id(0) * T + tl.arange(0, T)
        c = tl.program_id(1) * T + tl.arange(0, T)
        v = tl.load(x + r[:, None].to(tl.int64) * side + c[None, :])
        tl.store(y + c[:, None].to(tl.int64) * side + r[None, :], tl.trans(v))

    def flat(a):
        def call(x):
            y = torch.empty_like(x)
            elementwise[(triton.cdiv(x.numel(), 4096),)](x, y, a, x.numel(), BLOCK=4096, num_warps=8)
            return y
        return call

    def triad(x):
        y = torch.empty_like(x)
        add_scaled[(triton.cdiv(x.numel(), 4096),)](x, second(x), y, 2.5, x.numel(), BLOCK=4096, num_warps=8)
        return y

    def rows(kernel, warps):
        def call(x):
            y = torch.empty_like(x)
            kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]), num_warps=warps)
            return y
        return call

    def transpose(x):
        y = torch.empty_like(x)
        grid = (x.shape[0] // 64, x.shape[1] // 64)
        transpose_tile[grid](x, y, x.shape[0], T=64, num_warps=8)
        return y

    return {
        "copy": flat(1.0),
        "scale": flat(2.5),
        "triad": triad,
        "softmax": rows(softmax_rows, 32),
        "rmsnorm": rows(rmsnorm_rows, 16),
        "transpose": transpose,
    }


def cupy_calls():
    """CuPy (CUB underneath) by job; empty where CuPy is missing."""
    try:
        import cupy
    except ImportError:
        return {}
    wrap = lambda f: lambda x: torch.from_dlpack(f(cupy.from_dlpack(x)))
    triad = cupy.ElementwiseKernel("float32 x, float32 z, float32 a", "float32 y", "y = x + a * z", "triad")
    return {
        "copy": wrap(lambda x: x.copy()),
        "scale": wrap(lambda x: x * cupy.float32(2.5)),
        "triad": lambda x: torch.from_dlpack(triad(cupy.from_dlpack(x), cupy.from_dlpack(second(x)), cupy.float32(2.5))),
        "sum": wrap(lambda x: x.sum().reshape(1)),
        "transpose": wrap(lambda x: cupy.ascontiguousarray(x.T)),
    }


def verified(job, call, x, vector):
    """Whether the call's result matches the float64 reference on the slice that the reference covers."""
    got = call(x).double()
    if job.name == "gemv":
        want = x[:64].double() @ vector.double()
    else:
        want = job.reference(x)
    got = got.flatten()[: want.numel()] if job.name in ("copy", "scale", "triad", "sum") else got[1:5] if job.name == "stencil5" else got[: want.shape[0]]
    error = (got.reshape(want.shape) - want).norm() / want.norm()
    return bool(torch.isfinite(error)) and error.item() <= max(job.tolerance, 1e-7), error.item()


def time_call(call, buffers, samples):
    """Milliseconds of each sample; the buffers rotate so that no call finds its input in the cache."""
    for x in buffers[:3]:
        call(x)
    times = []
    for i in range(samples):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        x = buffers[i % len(buffers)]
        start.record()
        call(x)
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", nargs="*", help="only these jobs")
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--scale", type=int, default=0, metavar="SHIFT")
    options = parser.parse_args()
    torch.manual_seed(1)
    vector = torch.randn(7168, device="cuda", dtype=torch.bfloat16)
    triton_by_job, cupy_by_job = triton_calls(), cupy_calls()
    failures = 0
    for job in workloads(options.scale):
        if options.workload and job.name not in options.workload:
            continue
        first = job.make()
        n_buffers = max(2, -(-4 * L2_BYTES // (first.numel() * first.element_size())))
        buffers = [first] + [job.make() for _ in range(n_buffers - 1)]
        if job.name == "triad":
            for x in buffers:
                second(x)
        eager = torch_call(job.name, vector)
        peers = {"torch": eager, "torch.compile": torch.compile(eager, dynamic=False)}
        peers |= {k: v for k, v in (("triton", triton_by_job.get(job.name)), ("cupy", cupy_by_job.get(job.name))) if v}
        for peer, call in peers.items():
            row = {"workload": job.name, "peer": peer, "elements": job.elements, "bytes": job.bytes_moved}
            try:
                row["verified"], row["relative_error"] = verified(job, call, first, vector)
                times = time_call(call, buffers, options.samples)
                row["median_ms"] = statistics.median(times)
                row["samples_ms"] = times
                row["gigabytes_per_second"] = job.bytes_moved / row["median_ms"] / 1e6
                failures += not row["verified"]
            except Exception as problem:  # A peer that cannot do the job is a row too, not the end of the table.
                row["error"] = f"{type(problem).__name__}: {problem}"
            print(json.dumps(row), flush=True)
        del buffers, first
        SECOND.clear()
        torch.cuda.empty_cache()
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
