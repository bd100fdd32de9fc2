#!/bin/sh
# What a GPU has to show, from the folder that `cargo xtask dist` makes: verify every kernel, then time it.
# Usage: gpu-verify.sh OUTPUT_FOLDER   (run inside the dist folder; needs a driver, nothing else)
# Each step writes one file; the last lines name the steps that failed.
out=${1:?usage: gpu-verify.sh OUTPUT_FOLDER}
mkdir -p "$out"
nstage=./nstage
failed=""
big=268435456

step() { # NAME EXPECTED_EXIT COMMAND…
    name=$1 expected=$2
    shift 2
    echo "== $name: $*"
    timeout 240 "$@" >"$out/$name" 2>"$out/$name.err"
    code=$?
    cat "$out/$name.err" >>"$out/$name"
    rm -f "$out/$name.err"
    tail -n 25 "$out/$name"
    [ "$code" = "$expected" ] || failed="$failed $name(exit $code, expected $expected)"
}

{
    date -u +%Y-%m-%dT%H:%M:%SZ
    nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,memory.total --format=csv
    cat VERSION 2>/dev/null
} >"$out/setup.txt"
step devices.txt 0 $nstage devices
step selftest.txt 0 $nstage selftest --device cuda
step run.jsonl 0 $nstage run --device cuda --elements $big --format json
step run-resident.jsonl 0 $nstage run kernel_sync kernel_async_pipeline --device cuda --elements $big --blocks-per-sm fit --format json
step run-one-block.jsonl 0 $nstage run kernel_sync kernel_async_pipeline --device cuda --elements $big --block 128 --blocks-per-sm 1 --format json
{
    for arguments in \
        "run --device cuda:99 kernel_sync" \
        "run --device cuda kernel_async_pipeline --stages 8 --block 1024 --tile 16384" \
        "run --device cuda kernel_sync --block 2048" \
        "run --device cuda kernel_sync --tile 7" \
        "run --device cuda kernel_snyc"
    do
        $nstage $arguments
        echo "exit $?: nstage $arguments"
    done
} >"$out/refusals.txt" 2>&1
cat "$out/refusals.txt"
echo "failed steps:${failed:- none}"
[ -z "$failed" ]
