#!/usr/bin/env python3
"""Compiles the CUDA C++ peers: cuda/*.cu to OUTPUT/NAME.cubin and OUTPUT/NAME.ptx, and cuda/cub_peers.cu to a program.

Fails on any compiler warning, on spilled registers, and on any difference between the PTX and cuda/manifest.json
(an entry that only one of them has, parameters of other kinds, a block limit that the code was not compiled for).

Usage: build.py OUTPUT [--nvcc PATH] [--arch sm_90] [--only NAME …] [--no-cub]
Without --nvcc, the one on PATH is taken. Both a CUDA toolkit's nvcc and the one of the PyPI wheels will do.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

SOURCES = pathlib.Path(__file__).parent / "cuda"
FLAGS = ["-std=c++17", "-O3", "-Werror", "all-warnings", "-lineinfo"]
PTX_TYPES = {"u32": "u32", "u64": "u64", "f32": "f32"}


def run(command):
    """The command's standard error, where nvcc and ptxas report; fails with it."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def compile_family(nvcc, arch, name, out):
    """Both files of one source, and the registers of each entry."""
    source = SOURCES / f"{name}.cu"
    ptx, cubin = out / f"{name}.ptx", out / f"{name}.cubin"
    run([nvcc, f"-arch={arch}", *FLAGS, "-ptx", source, "-o", ptx])
    log = run([nvcc, f"-arch={arch}", "-O3", "-Werror", "all-warnings", "-Xptxas", "-v,-warn-spills", "-cubin", ptx, "-o", cubin])
    spills = re.findall(r"Function properties for (\w+)\s+(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", log)
    bad = [f"{entry}: {frame} bytes of stack, {stores} + {loads} bytes spilled" for entry, frame, stores, loads in spills
           if (frame, stores, loads) != ("0", "0", "0")]
    if bad:
        raise RuntimeError("\n".join(bad))
    return dict(re.findall(r"Compiling entry function '(\w+)'[\s\S]*?Used (\d+) registers", log))


def ptx_entries(text):
    """Entry name → (parameter types, largest block) as the PTX declares them."""
    found = {}
    for name, parameters, rest in re.findall(r"\.entry (\w+)\(([^)]*)\)([^{]*)\{", text):
        limit = re.search(r"\.maxntid (\d+)", rest)
        found[name] = (re.findall(r"\.param \.(\w+)", parameters), int(limit.group(1)) if limit else None)
    return found


def differences(manifest, family, entries):
    """What the manifest says of a file's entries and the PTX does not, as sentences."""
    rows = {e["entry"]: e for e in manifest["entries"] if e["file"] == family}
    for name in sorted(rows.keys() ^ entries.keys()):
        yield f"{name}: only in {'the manifest' if name in rows else f'{family}.ptx'}"
    for name in sorted(rows.keys() & entries.keys()):
        types, limit = entries[name]
        wanted = ["u64" if "extents" in p else PTX_TYPES[p["type"]] for p in manifest["workloads"][rows[name]["workload"]]["parameters"]]
        # nvcc writes an unused or integer parameter as .u or .b of the same width.
        if [t.replace("b", "u") for t in types] != [t.replace("b", "u") for t in wanted]:
            yield f"{name}: parameters {types} in the PTX, {wanted} in the manifest"
        if limit != rows[name]["block_max"]:
            yield f"{name}: compiled for blocks up to {limit}, the manifest says {rows[name]['block_max']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--nvcc", default=shutil.which("nvcc"))
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="only these sources")
    parser.add_argument("--no-cub", action="store_true", help="leave out the CUB program, which wants a host compiler and a linker")
    options = parser.parse_args()
    if not options.nvcc:
        sys.exit("no nvcc on PATH; give one with --nvcc")
    options.output.mkdir(parents=True, exist_ok=True)
    run([sys.executable, SOURCES / "manifest.py", "--check"])
    manifest = json.loads((SOURCES / "manifest.json").read_text())
    families = [f for f in dict.fromkeys(e["file"] for e in manifest["entries"]) if not options.only or f in options.only]
    with_cub = not options.no_cub and (not options.only or "cub_peers" in options.only)

    problems, registers = [], {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {name: pool.submit(compile_family, options.nvcc, options.arch, name, options.output) for name in families}
        if with_cub:
            # The wheels keep libcudart in lib, a toolkit in lib64, where nvcc looks by itself.
            library = pathlib.Path(options.nvcc).resolve().parent.parent / "lib"
            jobs["cub_peers"] = pool.submit(run, [options.nvcc, f"-arch={options.arch}", "-std=c++17", "-O3", f"-L{library}",
                                                  SOURCES / "cub_peers.cu", "-o", options.output / "cub_peers"])
        for name, job in jobs.items():
            try:
                if name == "cub_peers":
                    job.result()
                    print("cub_peers: built", flush=True)
                    continue
                registers |= job.result()
                found = ptx_entries((options.output / f"{name}.ptx").read_text())
                problems += differences(manifest, name, found)
                print(f"{name}: {len(found)} entries", flush=True)
            except RuntimeError as problem:
                problems.append(f"{name}: {problem}")
    shutil.copy(SOURCES / "manifest.json", options.output)
    (options.output / "registers.json").write_text(json.dumps({k: int(v) for k, v in registers.items()}, indent=1) + "\n")
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
