#!/bin/sh
# What a GPU has to measure, from the folder that `cargo xtask dist` makes: benchmarks against peers, sweeps, advice.
# Usage: bench-gpu.sh OUTPUT_FOLDER   (run inside the dist folder; needs a driver, nothing else; under eight minutes on an H200)
# Results go into OUTPUT_FOLDER as they come, so that what is there after an interruption is whole.
# A sweep goes on where it was when the script is run again with the same folder. The last lines name the steps that failed.
out=${1:?usage: bench-gpu.sh OUTPUT_FOLDER}
mkdir -p "$out"
nstage=./nstage
failed=""
begun=$(date +%s)
last=450 # seconds after which no further step begins
big=268435456

step() { # NAME LIMIT COMMAND…
    name=$1 limit=$2
    shift 2
    if [ $(($(date +%s) - begun)) -gt "$last" ]; then
        echo "== $name: left out, the time is over"
        failed="$failed $name(left out)"
        return
    fi
    echo "== $name: $*"
    from=$(date +%s)
    timeout "$limit" "$@" >"$out/$name.txt" 2>&1
    code=$?
    tail -n 40 "$out/$name.txt"
    echo "-- $name: exit $code after $(($(date +%s) - from)) s"
    [ "$code" = 0 ] || failed="$failed $name(exit $code)"
}

{
    date -u +%Y-%m-%dT%H:%M:%SZ
    nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.limit,memory.total --format=csv
    cat VERSION 2>/dev/null
} >"$out/setup.txt" 2>&1
cat "$out/setup.txt"

peers=""
[ -f peers/manifest.json ] && peers="--peers peers --peer _plain --peer _sync --peer ring_one_s4 --peer ring_two_s4 --peer pipeline_block_s4 --peer pipeline_thread_s4 --peer bulk_s4 --peer bulk_tile --peer stride"

# The three kernels of the guide and their peers, at full occupancy and with one short block a tile.
# shellcheck disable=SC2086 # several words are meant
step bench-scale 100 $nstage bench kernel_sync simple_async kernel_async_pipeline --elements $big --blocks-per-sm declared,fit $peers --save "$out/bench-scale"
step bench-low-occupancy 60 $nstage bench kernel_sync kernel_async_pipeline --elements $big --block 128 --blocks-per-sm 1 --save "$out/bench-low-occupancy"
step sweep-scale 150 $nstage sweep scale --elements $big --stages 1,2,3,4,8 --block 128,256,512 --blocks-per-sm 1,fit,tiles:2 --output "$out"
step sweep-sum 60 $nstage sweep sum --elements 1073741824 --output "$out"
step sweep-blur 60 $nstage sweep blur --elements $big --block 64,128,256 --output "$out"
# shellcheck disable=SC2086 # several words are meant
step bench-others 150 $nstage bench sum blur $peers --save "$out/bench-others"
for job in scale sum blur; do
    step "advise-$job" 30 $nstage advise $job --from "$out"
    step "model-$job" 30 $nstage advise $job --gpu h200
done
echo "total $(($(date +%s) - begun)) s; failed steps:${failed:- none}"
[ -z "$failed" ]
