#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh DIR NAME SECONDS [afl]: the harness DIR/NAME for so long, or until no new edge was found for
# FLAT seconds (600) and RUNS executions are done (2000000), from the committed corpus and what earlier
# runs found in DIR/corpus/NAME. A run may take 60 s, for busy machines: the log says how long the
# slowest took, and more than 10 s is a hang to look at. The log DIR/NAME.log grows; findings are in DIR/found.
# fuzz.sh DIR NAME merge: the smallest set of inputs that reaches as much becomes
# tests/fuzz/corpus/NAME.tar.xz.
set -eu
dir=$1 name=$2 seconds=$3 kind=${4-}
corpus=$dir/corpus/$name committed=tests/fuzz/corpus/$name.tar.xz log=$dir/$name.log
# What malloc refuses the program must take. The rest is for speed: no call stacks of allocations.
export ASAN_OPTIONS=allocator_may_return_null=1:quarantine_size_mb=4:malloc_context_size=0:max_malloc_fill_size=0:abort_on_error=1
export UBSAN_OPTIONS=print_stacktrace=1 OPENBLAS_NUM_THREADS=1
mkdir -p "$corpus" "$dir/found"
[ ! -f "$committed" ] || tar xf "$committed" -C "$corpus"

merge() {
  rm -rf "$corpus.min" && mkdir "$corpus.min"
  "$dir/$name" -merge=1 -max_len=4096 "$corpus.min" "$corpus" 2>"$dir/merge.out" || { tail -20 "$dir/merge.out"; exit 1; }
  # Numbers for names: digests cannot be packed, and half of the archive would be names.
  (cd "$corpus.min" && ls -Sr | cat -n | while read -r i f; do mv "$f" "$(printf %04d "$i")"; done)
  mkdir -p tests/fuzz/corpus
  tar c --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 -C "$corpus.min" $(ls "$corpus.min") |
    xz --lzma2=preset=9e,lc=4,pb=0 >"$committed.new"
  mv "$committed.new" "$committed"
  echo "$name: $(ls "$corpus.min" | wc -l) inputs, $(stat -c %s "$committed") bytes packed"
}

afl() {
  [ -n "$(ls "$corpus")" ] || echo >"$corpus/newline"
  AFL_SKIP_CPUFREQ=1 AFL_NO_UI=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 ASAN_OPTIONS=$ASAN_OPTIONS:symbolize=0 \
    afl-fuzz -V "$seconds" -m none -t 10000 -i "$corpus" -o "$dir/out-$name" -- "$dir/$name" >"$log" 2>&1 ||
    { tail -5 "$log"; exit 1; }
  grep -E 'execs_done|saved_crashes|saved_hangs' "$dir/out-$name/default/fuzzer_stats" | sed "s/^/$name: /"
}

# Edges so far, and executions so far (of the last line that says so).
edges() { grep -ao 'cov: [0-9]*' "$log" | tail -1; }
executed() { local n; n=$(grep -ao '^#[0-9]*' "$log" | tail -1 | tr -d '#'); echo "${n:-0}"; }

libfuzzer() {
  local pid rc=0 start=$SECONDS last='' since=$SECONDS now
  "$dir/$name" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -max_len=4096 -reload=0 \
    -print_final_stats=1 -artifact_prefix="$dir/found/$name-" "$corpus" >>"$log" 2>&1 &
  pid=$!
  while sleep 1; kill -0 $pid 2>/dev/null; do
    now=$(edges)
    if [ "$now" != "$last" ]; then last=$now since=$SECONDS; fi
    if ((SECONDS - since >= ${FLAT:-600} && $(executed) >= ${RUNS:-2000000})); then kill -INT $pid; break; fi
  done
  wait $pid || rc=$?
  echo "fuzz.sh: seconds $((SECONDS - start)) flat $((SECONDS - since)) exit $rc revision $(reports/revision.sh)" >>"$log"
  echo "$name: $(grep -a '^stat::number_of_executed' "$log" | tail -1), $(edges), exit $rc"
  [ $rc = 0 ] || [ $rc = 72 ] || { grep -aB2 -A12 'ERROR\|does not hold\|runtime error' "$log" | tail -30; exit 1; }
}

case $seconds-$kind in
merge-*) merge ;;
*-afl) afl ;;
*) libfuzzer ;;
esac
