#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gpu-measure without CUDA: what is stored is checked, and nothing measured is never success.
# GPU_VERIFY is the program, an absolute path; make_traces is in the same build.
set -u
program=${GPU_VERIFY:-$PWD/build/gpu/sq_gpu_verify}
traces=$(dirname "$(dirname "$program")")/tests/gpu/make_traces
model=$PWD/traces/tiny-llama
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
n=0
check() { # want exit code, want pattern, sentence
    n=$((n + 1))
    "$program" >out 2>&1
    local got=$?
    if [ $got = "$1" ] && grep -q "$2" out; then
        echo "ok $n - $3"
    else
        echo "not ok $n - $3: exit $got, want $1 with '$2'"
        sed 's/^/# /' out
    fi
}
echo 1..5
check 3 'nothing measured' 'no files: exit 3'
mkdir -p reports/gpu traces/gpu
check 3 '0 stored files' 'empty folders: exit 3'
echo '{"schema_version":1}' >reports/gpu/x.jsonl
check 1 'x.jsonl line 1' 'a record without fields is refused'
rm reports/gpu/x.jsonl
echo no >traces/gpu/x.safetensors
check 1 'x.safetensors' 'a damaged trace is refused'
rm traces/gpu/x.safetensors
"$traces" "$model" traces/gpu >out 2>&1 || sed 's/^/# /' out
check 1 'producer = emulator, need cuda' 'a trace of the emulator does not pass for one of a GPU'
