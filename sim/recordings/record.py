#!/usr/bin/env python3
"""Records what a GPU computes, as the lines of h200.txt, which the simulator's tests replay.

    python3 record.py > h200.txt        needs an sm_90a GPU, CuPy and NumPy

Inputs come from a counter (`words`), so that a line needs only a seed; outputs are kept as one number (`digest`), but for
`sum` lines, whose results a simulator may only approach and which are kept whole. The PTX is assembled by the driver.
"""

import ctypes
import random
import sys
import tempfile

import cupy as cp
import numpy as np

HEAD = ".version 8.4\n.target sm_90a\n.address_size 64\n"
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s32": 32}
# 0, 1, 2, 3, 4, -1, -2, -3: sums of their products are exact in every type.
SMALL = {
    "f16": [0, 0x3C00, 0x4000, 0x4200, 0x4400, 0xBC00, 0xC000, 0xC200],
    "bf16": [0, 0x3F80, 0x4000, 0x4040, 0x4080, 0xBF80, 0xC000, 0xC040],
    "f32": [0, 0x3F800000, 0x40000000, 0x40400000, 0x40800000, 0xBF800000, 0xC0000000, 0xC0400000],
    "e4m3": [0, 0x38, 0x40, 0x44, 0x48, 0xB8, 0xC0, 0xC4],
    "e5m2": [0, 0x3C, 0x40, 0x42, 0x44, 0xBC, 0xC0, 0xC2],
}
SMALL["tf32"] = SMALL["f32"]
IMAGE = 16384  # words of shared memory that wgmma and tensor copies work in


def mix(x):
    """SplitMix64's finaliser."""
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def words(seed, count):
    index = np.arange(count, dtype=np.uint64)
    return (mix(np.uint64(seed << 32) | index) >> np.uint64(32)).astype(np.uint32)


def digest(values):
    values = values.astype(np.uint32).astype(np.uint64)
    with np.errstate(over="ignore"):
        return f"{int(mix(values | np.arange(len(values), dtype=np.uint64) << np.uint64(32)).sum(dtype=np.uint64)):016x}"


def small(seed, count, kind):
    """Words packed with small integers of a type; integer types take any bits."""
    raw = words(seed, count)
    if kind in ("s8", "u8", "s32"):
        return raw
    packed = np.zeros(count, dtype=np.uint32)
    for place in range(32 // BITS[kind]):
        element = np.array(SMALL[kind], dtype=np.uint32)[(raw >> np.uint32(4 * place)) & 7]
        packed |= element << np.uint32(BITS[kind] * place)
    return packed


def floats(seed, count, kind):
    """Words packed with floats of any sign and fraction, over ten or twenty powers of two."""
    raw, other = words(seed, count), words(seed + 1, count)
    if kind in ("f32", "tf32"):
        return (raw & np.uint32(0x807FFFFF)) | (np.uint32(117) + other % np.uint32(20)) << np.uint32(23)
    fraction, bias = (10, 10) if kind == "f16" else (7, 122)
    half = lambda value, exponent: (value & np.uint32(0x8000 | (1 << fraction) - 1)) | (np.uint32(bias) + exponent % np.uint32(10)) << np.uint32(fraction)
    return half(raw & np.uint32(0xFFFF), other & np.uint32(0xFFFF)) | half(raw >> np.uint32(16), other >> np.uint32(16)) << np.uint32(16)


def kernel(text):
    """The kernel `k` of PTX text, assembled by the driver."""
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(HEAD + text)
        file.flush()
        return cp.RawModule(path=file.name).get_function("k")


def run(function, grid, block, arguments, shared=0):
    if shared:
        function.max_dynamic_shared_size_bytes = shared
    function(grid, block, arguments, shared_mem=shared)
    cp.cuda.Device().synchronize()


def listed(name, count):
    return "{" + ", ".join(f"%{name}{i}" for i in range(count)) + "}"


def row_kernel(name, declarations, body):
    """A kernel of one warp: lane t reads word t of input rows and writes word t of output rows, 128 bytes apart."""
    return f"""
.visible .entry {name}(.param .u64 pi, .param .u64 po) {{
 .reg .u64 %in, %out, %o; .reg .u32 %t, %sa; {declarations}
 ld.param.u64 %in, [pi]; ld.param.u64 %out, [po]; cvta.to.global.u64 %in, %in; cvta.to.global.u64 %out, %out;
 mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; add.u64 %in, %in, %o; add.u64 %out, %out, %o;
 {body} ret;
}}
"""


def load_rows(name, first, count):
    return "".join(f"ld.global.b32 %{name}{i}, [%in+{128 * (first + i)}]; " for i in range(count))


def store_rows(name, count):
    return "".join(f"st.global.b32 [%out+{128 * i}], %{name}{i}; " for i in range(count))


def mma_kernel(m, n, k, a, b, c, d, order_a, order_b, saturate):
    per = lambda kind: 32 // BITS[kind]
    if (m, n, k) == (8, 8, 4):
        counts = [2, 2, 8 // per(c), 8 // per(d)]
    else:
        counts = [m * k // 32 // per(a), k * n // 32 // per(b), m * n // 32 // per(c), m * n // 32 // per(d)]
    na, nb, nc, nd = counts
    body = load_rows("a", 0, na) + load_rows("b", na, nb) + load_rows("c", na + nb, nc)
    body += "".join(f"mov.b32 %f{i}, %c{i}; " for i in range(nc)) if c == "f32" else ""
    satfinite = ".satfinite" if saturate else ""
    body += f"mma.sync.aligned.m{m}n{n}k{k}.{order_a}.{order_b}{satfinite}.{d}.{a}.{b}.{c} "
    body += f"{listed('g' if d == 'f32' else 'd', nd)}, {listed('a', na)}, {listed('b', nb)}, {listed('f' if c == 'f32' else 'c', nc)}; "
    body += store_rows("g" if d == "f32" else "d", nd)
    registers = f".reg .b32 %a<{na}>, %b<{nb}>, %c<{nc}>, %d<{nd}>; .reg .f32 %f<{nc}>, %g<{nd}>;"
    return row_kernel("k", registers, body), counts


def run_rows(text, inputs, outputs):
    result = cp.zeros(32 * outputs, dtype=cp.uint32)
    run(kernel(text), (1,), (32,), (cp.asarray(inputs), result))
    return result.get()


def record_mma():
    table = [(16, 8, k, t, t, s, s) for t, s, k in [("f16", "f32", 8), ("f16", "f16", 8), ("f16", "f32", 16), ("f16", "f16", 16), ("bf16", "f32", 8), ("bf16", "f32", 16), ("tf32", "f32", 4), ("tf32", "f32", 8)]]
    table += [(16, 8, 32, "e4m3", "e4m3", "f32", "f32"), (16, 8, 32, "e5m2", "e4m3", "f32", "f32")]
    table = [(*row, "row", "col", False) for row in table]
    for m, k in ((8, 16), (16, 16), (16, 32)):
        for a, b, saturate in (("s8", "s8", False), ("u8", "s8", True), ("s8", "u8", False), ("u8", "u8", True)):
            table.append((m, 8, k, a, b, "s32", "s32", "row", "col", saturate))
    for order_a in ("row", "col"):
        for order_b in ("row", "col"):
            for c, d in (("f16", "f16"), ("f32", "f32"), ("f16", "f32")):
                table.append((8, 8, 4, "f16", "f16", c, d, order_a, order_b, False))
    for seed, row in enumerate(table, 1000):
        text, counts = mma_kernel(*row)
        kinds = (row[3], row[4], row[5])
        inputs = np.concatenate([small(seed * 8 + part, 32 * counts[part], kinds[part]) for part in range(3)])
        name = " ".join(map(str, row[:9])) + (" satfinite" if row[9] else " wrap")
        print("mma", name, seed, digest(run_rows(text, inputs, counts[3])))
        if row[:3] in ((16, 8, 16), (16, 8, 8)) and row[6] == "f32" and (row[3] == "tf32" or row[2] == 16):
            inputs = np.concatenate([floats(seed * 8 + 2 * part, 32 * counts[part], kinds[part]) for part in range(3)])
            print("sum", name, seed, " ".join(f"{word:x}" for word in run_rows(text, inputs, counts[3])))


def record_moves():
    shared = ".reg .b32 %w<4>, %d<4>; .shared .align 16 .b8 sm[512];"
    address = "mov.u32 %sa, sm; mad.lo.u32 %sa, %t, 16, %sa; "
    for count in (1, 2, 4):
        for trans in ("", ".trans"):
            name = f"{count} {'trans' if trans else 'plain'}"
            body = address + load_rows("w", 0, 4) + "".join(f"st.shared.b32 [%sa+{4 * i}], %w{i}; " for i in range(4)) + "bar.sync 0; "
            body += f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {listed('d', count)}, [%sa]; " + store_rows("d", count)
            print("ldmatrix", name, 5, digest(run_rows(row_kernel("k", shared, body), words(5, 128), count)))
            body = address + load_rows("d", 0, count) + "".join(f"st.shared.b32 [%sa+{4 * i}], 0; " for i in range(4)) + "bar.sync 0; "
            body += f"stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%sa], {listed('d', count)}; bar.sync 0; "
            body += "".join(f"ld.shared.b32 %w{i}, [%sa+{4 * i}]; " for i in range(4)) + store_rows("w", 4)
            print("stmatrix", name, 6, digest(run_rows(row_kernel("k", shared, body), words(6, 32 * count), 4)))
    body = load_rows("w", 0, 1) + "movmatrix.sync.aligned.m8n8.trans.b16 %d0, %w0; " + store_rows("d", 1)
    print("movmatrix", 7, digest(run_rows(row_kernel("k", shared, body), words(7, 32), 1)))


def scalar_operations():
    """Name, assembly from %a (and %ha, %hb, %hc, the low halves of %a, %b, %c) to %d or %hd, and which inputs."""
    single = lambda name: (name, f"mov.b32 %fa, %a; {name} %hd, %fa;", "single")
    for kind in ("f16", "bf16"):
        yield f"cvt.f32.{kind}", f"cvt.f32.{kind} %fd, %ha; mov.b32 %d, %fd;", "every"
        for name in ("neg", "abs") + (("neg.ftz", "abs.ftz") if kind == "f16" else ()):
            yield f"{name}.{kind}", f"{name}.{kind} %hd, %ha;", "every"
        for rounding in ("rn", "rz"):
            for more in ("", ".relu", ".satfinite", ".relu.satfinite"):
                yield single(f"cvt.{rounding}{more}.{kind}.f32")
        flags = ("", ".ftz", ".sat", ".ftz.sat") if kind == "f16" else ("",)
        for name in ("add", "sub", "mul"):
            for flag in flags:
                yield f"{name}.rn{flag}.{kind}", f"{name}.rn{flag}.{kind} %hd, %ha, %hb;", "triples"
        for flag in flags + ((".relu", ".ftz.relu") if kind == "f16" else (".relu",)):
            yield f"fma.rn{flag}.{kind}", f"fma.rn{flag}.{kind} %hd, %ha, %hb, %hc;", "triples"
        for name in ("min", "max"):
            for flag in ("", ".ftz") if kind == "f16" else ("",):
                for more in ("", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"):
                    yield f"{name}{flag}{more}.{kind}", f"{name}{flag}{more}.{kind} %hd, %ha, %hb;", "triples"
    for name in ("cvt.rm.f16.f32", "cvt.rp.f16.f32", "cvt.rn.sat.f16.f32", "cvt.rn.ftz.f16.f32"):
        yield single(name)
    yield "cvt.sat.f16.f16", "cvt.sat.f16.f16 %hd, %ha;", "every"
    for name in ("cvt.rn", "cvt.rz", "cvt.rn.relu", "cvt.rz.relu"):
        yield f"{name}.tf32.f32", f"mov.b32 %fa, %a; {name}.tf32.f32 %d, %fa;", "single"
    yield "cvt.rna.tf32.f32", "mov.b32 %fa, %a; cvt.rna.tf32.f32 %d, %fa;", "number"
    for kind in ("e4m3", "e5m2"):
        for more in ("", ".relu"):
            name = f"cvt.rn.satfinite{more}.{kind}x2"
            yield f"{name}.f32", f"mov.b32 %fa, %a; mov.b32 %fb, 0f3f800000; {name}.f32 %hd, %fb, %fa;", "single"
            yield f"{name}.f16x2", f"{name}.f16x2 %hd, %a;", "every"
            yield f"cvt.rn{more}.f16x2.{kind}x2", f"cvt.rn{more}.f16x2.{kind}x2 %d, %ha;", "every"


def scalar_inputs():
    every = np.arange(65536, dtype=np.uint32)
    index = np.arange(131072, dtype=np.uint32)
    low = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 0x1000, 0x0FFF, 0x1001], dtype=np.uint32)
    single = (index >> np.uint32(1)) << np.uint32(16) | low[(index * np.uint32(7) + (index >> np.uint32(1))) % np.uint32(9)]
    edges = np.array(
        [0, 1, 2, 0x7F, 0x80, 0x81, 0x1FF, 0x200, 0x3FE, 0x3FF, 0x400, 0x401, 0x3BFF, 0x3C00, 0x3C01, 0x3F7F, 0x3F80, 0x3F81]
        + [0x7BFE, 0x7BFF, 0x7C00, 0x7C01, 0x7DFF, 0x7E00, 0x7F7F, 0x7F80, 0x7F81, 0x7FC0, 0x7FF7, 0x7FFF],
        dtype=np.uint32,
    )

    def triple(seed):
        raw = words(seed, 65536)
        edge = edges[(raw >> np.uint32(16)) % np.uint32(len(edges))] | raw & np.uint32(0x8000)
        return np.where(raw >> np.uint32(30) == 0, raw & np.uint32(0xFFFF), edge)

    zero = lambda values: np.zeros_like(values)
    number = single[(single & np.uint32(0x7FFFFFFF)) <= 0x7F800000]
    return {
        "every": (every | every << np.uint32(16), zero(every), zero(every)),
        "single": (single, zero(single), zero(single)),
        "number": (number, zero(number), zero(number)),
        "triples": (triple(1), triple(2), triple(3)),
    }


def record_scalars():
    inputs = scalar_inputs()
    for name, assembly, which in scalar_operations():
        unpack = "mov.b32 {%ha, %hx}, %a; mov.b32 {%hb, %hx}, %b; mov.b32 {%hc, %hx}, %c;"
        pack = " mov.b16 %hx, 0; mov.b32 %d, {%hd, %hx};" if "%hd" in assembly else ""
        text = f"""
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 po, .param .u32 pn) {{
 .reg .u64 %xa, %xb, %xc, %xo, %o; .reg .u32 %t, %n, %u; .reg .pred %p; .reg .b32 %a, %b, %c, %d;
 .reg .f32 %fa, %fb, %fd; .reg .b16 %ha, %hb, %hc, %hd, %hx;
 ld.param.u64 %xa, [pa]; ld.param.u64 %xb, [pb]; ld.param.u64 %xc, [pc]; ld.param.u64 %xo, [po]; ld.param.u32 %n, [pn];
 mov.u32 %t, %ctaid.x; mov.u32 %u, %tid.x; mad.lo.u32 %t, %t, 128, %u; setp.ge.u32 %p, %t, %n; @%p ret; mul.wide.u32 %o, %t, 4;
 add.u64 %xa, %xa, %o; add.u64 %xb, %xb, %o; add.u64 %xc, %xc, %o; add.u64 %xo, %xo, %o;
 ld.global.b32 %a, [%xa]; ld.global.b32 %b, [%xb]; ld.global.b32 %c, [%xc];
 {unpack} {assembly}{pack}
 st.global.b32 [%xo], %d; ret;
}}
"""
        a, b, c = (cp.asarray(values) for values in inputs[which])
        result = cp.zeros(len(a), dtype=cp.uint32)
        run(kernel(text), ((len(a) + 127) // 128,), (128,), (a, b, c, result, np.uint32(len(a))))
        print("scalar", name, which, digest(result.get()))


def wgmma_kernel(n, a, b, d, trans_a, trans_b, from_registers, scale_a, scale_b, accumulate):
    k, count = 32 // (BITS[a] // 8), n // 2 // (32 // BITS[d])
    result = "f" if d == "f32" else "d"
    scales = "" if d == "s32" else f", {scale_a}, {scale_b}"
    if a in ("f16", "bf16"):
        scales += f", {trans_b}" if from_registers else f", {trans_a}, {trans_b}"
    start = "".join(f"ld.global.b32 %d{i}, [%c+{512 * i}]; mov.b32 %f{i}, %d{i}; " for i in range(count))
    return f"""
.extern .shared .align 1024 .b8 memory[];
.visible .entry k(.param .u64 pm, .param .u64 pd, .param .u64 pa, .param .u64 pc, .param .u64 po) {{
 .reg .u64 %m, %desc, %ain, %c, %out, %o, %da, %db, %base; .reg .u32 %t, %block, %i, %sa, %v; .reg .pred %p, %q;
 .reg .b32 %d<{count}>, %a<4>; .reg .f32 %f<{count}>;
 ld.param.u64 %m, [pm]; ld.param.u64 %desc, [pd]; ld.param.u64 %ain, [pa]; ld.param.u64 %c, [pc]; ld.param.u64 %out, [po];
 cvta.to.global.u64 %m, %m; cvta.to.global.u64 %desc, %desc; cvta.to.global.u64 %ain, %ain;
 cvta.to.global.u64 %c, %c; cvta.to.global.u64 %out, %out;
 mov.u32 %t, %tid.x; mov.u32 %block, %ctaid.x; mov.u32 %sa, memory; shr.u32 %v, %sa, 4; cvt.u64.u32 %base, %v;
 mul.wide.u32 %o, %block, 16; add.u64 %desc, %desc, %o; ld.global.u64 %da, [%desc]; ld.global.u64 %db, [%desc+8];
 add.u64 %da, %da, %base; add.u64 %db, %db, %base;
 mul.wide.u32 %o, %t, 4; add.u64 %m, %m, %o; add.u64 %ain, %ain, %o; add.u64 %c, %c, %o; add.u64 %out, %out, %o;
 mul.wide.u32 %o, %block, {count * 512}; add.u64 %out, %out, %o; mad.lo.u32 %sa, %t, 4, %sa; mov.u32 %i, 0;
FILL: ld.global.b32 %v, [%m]; st.shared.b32 [%sa], %v; add.u64 %m, %m, 512; add.u32 %sa, %sa, 512; add.u32 %i, %i, 512;
 setp.lt.u32 %q, %i, {4 * IMAGE}; @%q bra FILL;
 fence.proxy.async; bar.sync 0; setp.ne.u32 %p, {accumulate}, 0;
 {start} {"".join(f"ld.global.b32 %a{i}, [%ain+{512 * i}]; " for i in range(4))}
 wgmma.fence.sync.aligned;
 wgmma.mma_async.sync.aligned.m64n{n}k{k}.{d}.{a}.{b} {listed(result, count)}, {listed("a", 4) if from_registers else "%da"}, %db, %p{scales};
 wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
 {"".join(f"st.global.b32 [%out+{512 * i}], %{result}{i}; " for i in range(count))} ret;
}}
""", count


def descriptors(rng, kind, n, trans_a, trans_b):
    """Pairs of descriptors for every swizzle: layouts as libraries make them, then arbitrary distances, starts and base offsets."""
    for mode, span in ((0, 16), (1, 128), (2, 64), (3, 32)):
        for variant in range(6):
            pair = []
            for lines, across in ((64, trans_a), (n, trans_b)):
                base = 0
                if variant < 2:
                    start = 1024 * rng.randrange(8) + (16 * rng.randrange(span // 16) if variant else 0)
                    if mode == 0:
                        leading, stride = (16 * lines, 128) if across else (128, 256)
                    else:
                        leading, stride = (8 * span, 8 * span * -(-lines * BITS[kind] // 8 // span)) if across else (16, 8 * span)
                else:
                    base = rng.randrange(8) if variant > 3 and mode else 0
                    start = 1024 * rng.randrange(8) if variant == 2 else 16 * rng.randrange(512)
                    leading, stride = 16 * rng.randrange(1, 80), 16 * rng.randrange(1, 80)
                pair.append(start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | base << 49 | mode << 62)
            yield pair


def record_wgmma():
    table = [(n, "f16", "f16", "f32", ta, tb, 0, 1, 1, 1) for n in (8, 64, 256) for ta in (0, 1) for tb in (0, 1)]
    table += [
        (24, "bf16", "bf16", "f32", 0, 1, 0, 1, 1, 1),
        (136, "bf16", "bf16", "f32", 1, 0, 0, -1, 1, 1),
        (40, "f16", "f16", "f16", 1, 1, 0, 1, -1, 1),
        (88, "tf32", "tf32", "f32", 0, 0, 0, 1, 1, 1),
        (24, "s8", "u8", "s32", 0, 0, 0, 1, 1, 1),
        (96, "u8", "s8", "s32", 0, 0, 0, 1, 1, 1),
        (32, "e4m3", "e5m2", "f32", 0, 0, 0, 1, 1, 1),
        (72, "f16", "f16", "f32", 0, 1, 1, 1, 1, 1),
        (32, "tf32", "tf32", "f32", 0, 0, 1, 1, 1, 1),
        (16, "s8", "s8", "s32", 0, 0, 1, 1, 1, 1),
        (48, "f16", "f16", "f32", 0, 0, 0, 1, 1, 0),
    ]
    rng = random.Random(42)
    for seed, row in enumerate(table, 3000):
        text, count = wgmma_kernel(*row)
        pairs = list(descriptors(rng, row[1], row[0], row[4], row[5]))
        # Both factors are read from one image, whose bits are small numbers of the first's type.
        image, a, c = small(8 * seed, IMAGE, row[1]), small(8 * seed + 1, 512, row[1]), small(8 * seed + 2, 128 * count, row[3])
        result = cp.zeros(len(pairs) * count * 128, dtype=cp.uint32)
        flat = cp.asarray(np.array(pairs, dtype=np.uint64).ravel())
        run(kernel(text), (len(pairs),), (128,), (cp.asarray(image), flat, cp.asarray(a), cp.asarray(c), result), 4 * IMAGE)
        result = result.get().reshape(len(pairs), -1)
        for pair, values in zip(pairs, result):
            print("wgmma", *row, seed, f"{pair[0]:x} {pair[1]:x}", digest(values))


def tensor_kernel(rank, store):
    coordinates = "{" + ", ".join(f"%c{i}" for i in range(rank)) + "}"
    source = "ld.global.b32 %v, [%io];" if store else "mov.b32 %v, 0xA5A5A5A5;"
    if store:
        copy = f"""
 @%p cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group [%map, {coordinates}], [%v];
 @%p cp.async.bulk.commit_group; @%p cp.async.bulk.wait_group 0; ret;"""
    else:
        copy = f"""
 @%p mbarrier.arrive.expect_tx.shared.b64 _, [%bar], %bytes;
 @%p cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%v], [%map, {coordinates}], [%bar];
 mov.u32 %i, 0;
WAIT: mbarrier.test_wait.parity.shared.b64 %done, [%bar], 0; @%done bra DONE; add.u32 %i, %i, 1; nanosleep.u32 100;
 setp.lt.u32 %q, %i, 20000; @%q bra WAIT; trap;
DONE: bar.sync 0; mad.lo.u32 %sa, %t, 4, %s0; mov.u32 %i, 0; sub.u64 %io, %io, {4 * IMAGE};
DUMP: ld.shared.b32 %v, [%sa]; st.global.b32 [%io], %v; add.u64 %io, %io, 512; add.u32 %sa, %sa, 512; add.u32 %i, %i, 512;
 setp.lt.u32 %q, %i, {4 * IMAGE}; @%q bra DUMP; ret;"""
    return f"""
.extern .shared .align 1024 .b8 memory[];
.visible .entry k(.param .u64 pm, .param .u64 pc, .param .u64 pio, .param .u32 pb, .param .u32 po) {{
 .reg .u64 %map, %pc, %io, %o; .reg .u32 %t, %i, %sa, %s0, %v, %bytes, %off, %bar; .reg .pred %p, %q, %done; .reg .b32 %c<5>;
 .shared .align 8 .b8 barrier[8];
 ld.param.u64 %map, [pm]; ld.param.u64 %pc, [pc]; ld.param.u64 %io, [pio]; ld.param.u32 %bytes, [pb]; ld.param.u32 %off, [po];
 cvta.to.global.u64 %pc, %pc; cvta.to.global.u64 %io, %io; mov.u32 %t, %tid.x; mov.u32 %s0, memory; mov.u32 %bar, barrier;
 {"".join(f"ld.global.b32 %c{i}, [%pc+{4 * i}]; " for i in range(rank))}
 mul.wide.u32 %o, %t, 4; add.u64 %io, %io, %o; mad.lo.u32 %sa, %t, 4, %s0; mov.u32 %i, 0;
FILL: {source} add.u64 %io, %io, 512; st.shared.b32 [%sa], %v; add.u32 %sa, %sa, 512; add.u32 %i, %i, 512;
 setp.lt.u32 %q, %i, {4 * IMAGE}; @%q bra FILL;
 setp.eq.u32 %p, %t, 0; @%p mbarrier.init.shared.b64 [%bar], 1; fence.proxy.async; bar.sync 0; add.u32 %v, %s0, %off;{copy}
}}
"""


SIZES = [1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4]  # by CUtensorMapDataType
FLOATS = range(6, 13)


def tilings(rng):
    """Tensor maps of every rank, type and swizzle, with boxes inside, across and outside their tensors."""
    for index in range(160):
        rank, kind, swizzle = 1 + index % 5, index // 5 % 13, index // 3 % 4
        size, span = SIZES[kind], (256, 32, 64, 128)[swizzle]
        width = 16 if index % 7 == 3 and swizzle else min(rng.choice([16, 32, 64, 128, 256]), span)
        extents, dimensions = [width // size], [rng.randrange(1, 80)]
        for most_extent, most in ((20, 30), (5, 7), (4, 5), (3, 4))[: rank - 1]:
            extents.append(rng.randrange(1, most_extent + 1))
            dimensions.append(rng.randrange(1, most + 1))
        strides, bytes_ = [], (dimensions[0] * size + 15) // 16 * 16
        for dimension in dimensions[1:]:
            strides.append(bytes_ + 16 * rng.randrange(2))
            bytes_ = strides[-1] * dimension
        steps = [2 if index % 9 == 5 else 1] + [rng.choice([1, 1, 2, 3]) for _ in range(rank - 1)]
        start = [rng.randrange(-e - 1, d + 1) if rng.random() < 0.4 else rng.randrange(d) for e, d in zip(extents, dimensions)]
        start[0] -= start[0] % (16 // size)
        yield dict(kind=kind, dimensions=dimensions, strides=strides, extents=extents, steps=steps, swizzle=swizzle,
                   fill=int(kind in FLOATS and index % 2), start=start, offset=rng.choice([0, 0, 128, 256, 512, 640]), bytes=bytes_)


def encode(driver, address, tiling):
    buffer = ctypes.create_string_buffer(192)
    aligned = (ctypes.addressof(buffer) + 63) // 64 * 64
    many = lambda kind, values: (kind * max(len(values), 1))(*values)
    error = driver.cuTensorMapEncodeTiled(
        ctypes.c_void_p(aligned), tiling["kind"], len(tiling["dimensions"]), ctypes.c_void_p(address),
        many(ctypes.c_uint64, tiling["dimensions"]), many(ctypes.c_uint64, tiling["strides"]),
        many(ctypes.c_uint32, tiling["extents"]), many(ctypes.c_uint32, tiling["steps"]), 0, tiling["swizzle"], 0, tiling["fill"])
    assert error == 0, (error, tiling)
    return np.frombuffer(ctypes.string_at(aligned, 128), dtype=np.uint8)


def aligned(count):
    raw = cp.zeros(count + 1024, dtype=cp.uint8)
    start = -raw.data.ptr % 1024
    return raw[start : start + count]


def record_tensors():
    driver = ctypes.CDLL("libcuda.so.1")
    for seed, tiling in enumerate(tilings(random.Random(7)), 4000):
        size = (tiling["bytes"] + 1023) // 1024 * 1024
        source = words(8 * seed, size // 4)
        # Every eighth word is a tie of tf32, every eighth a subnormal f32.
        which = source % np.uint32(8)
        source = np.where(which == 0, source & np.uint32(0xFFFFE000) | np.uint32(0x1000), source)
        source = np.where(which == 1, source & np.uint32(0x807FFFFF), source)
        tensor = aligned(size)
        tensor[:] = cp.asarray(source.view(np.uint8))
        tensor_map = aligned(128)
        tensor_map[:] = cp.asarray(encode(driver, tensor.data.ptr, tiling))
        rank = len(tiling["dimensions"])
        taken = [-(-extent // step) for extent, step in zip(tiling["extents"], [1] + tiling["steps"][1:])]
        transferred = int(np.prod(taken)) * SIZES[tiling["kind"]]
        numbers = np.uint32(transferred), np.uint32(tiling["offset"])
        image = cp.zeros(IMAGE, dtype=cp.uint32)
        start = cp.asarray(np.array(tiling["start"], dtype=np.int32))
        run(kernel(tensor_kernel(rank, False)), (1,), (128,), (tensor_map, start, image, *numbers), 4 * IMAGE + 1024)
        loaded = digest(image.get())
        tensor[:] = 0xEE
        # A store may not start at negative coordinates.
        start = cp.asarray(np.array([max(at, 0) for at in tiling["start"]], dtype=np.int32))
        image = cp.asarray(words(8 * seed + 1, IMAGE))
        run(kernel(tensor_kernel(rank, True)), (1,), (128,), (tensor_map, start, image, *numbers), 4 * IMAGE + 1024)
        lists = (",".join(map(str, tiling[key])) or "-" for key in ("dimensions", "strides", "extents", "steps", "start"))
        print("tensor", tiling["kind"], *lists, tiling["swizzle"], tiling["fill"], tiling["offset"], transferred, seed, loaded, digest(tensor.get().view(np.uint32)))


if __name__ == "__main__":
    device = cp.cuda.runtime.getDeviceProperties(0)
    print("#", device["name"].decode(), f"sm_{device['major']}{device['minor']}", "driver", cp.cuda.runtime.driverGetVersion())
    for section in (record_scalars, record_moves, record_mma, record_wgmma, record_tensors):
        section()
        sys.stdout.flush()
