#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The whole program by black box: command lines on altered files and with altered words. Each run must
# end with exit code 0, 1, 2 or 3; refuse with exactly one line on stderr, of visible characters; leave
# no file but those it was asked for; and say nothing of a sanitizer. The time limit only
# guards against a hang. RUNS runs a command line (12); SQ_SEED changes every choice;
# KEEP=DIR keeps the folder of each run that fails; ALTER is the program that alters.
. "$(dirname "$0")/../cli/lib.sh"
ALTER=${ALTER:-$(dirname "$SQSIM")/tests/fuzz/alter}
RUNS=${RUNS:-12}
SEED=${SQ_SEED:-1}
RANDOM=$SEED
export ASAN_OPTIONS=allocator_may_return_null=1

sq() {
  (cd "$W/run" && timeout $HANG "$SQSIM" "$@" >"$W.out" 2>"$W.err" </dev/null)
  RC=$?
}

# ---- files to alter
mkdir "$W/in" "$W/run"
tensor "$W/run/weights.safetensors" \
  '{"a.weight":{"dtype":"F32","shape":[16,64],"data_offsets":[0,4096]}}' 4096
for f in sim/machines/{default,h200}.yaml traces/workloads/{llama-2-7b_decode_1.csv,qwen3-30b-a3b.json} \
  traces/tiny-llama/{config.json,tokens_eval.safetensors}; do cp "$f" "$W/run"; done
cat >"$W/run/spec.yaml" <<'END'
name: s
axes: {n: [64], k: [64, 128], m: [1..4*2], rows: [4], cols: [4]}
measures: [cycles, causes]
END
cat >"$W/run/records.csv" <<'END'
gpu,sparsity,dtype_in,dtype_out,M,N,K,lat_us
NVIDIA H200,dense,INT8,INT32,4096,4096,4096,150
NVIDIA H200,2:4,INT8,INT32,4096,4096,4096,90
NVIDIA H200,dense,BF16,BF16,4096,4096,4096,200
END
made() { sq "$@"; [ "$RC" = 0 ] || { sed 's/^/# /' "$W.err"; ok "made: $*" false; }; }
made quantize weights.safetensors -o sq_w.safetensors
made quantize weights.safetensors --format sp24 --prune magnitude -o sp24.safetensors
made quantize weights.safetensors --format gqsa --algorithm rtn --prune magnitude -o gqsa.safetensors
made quantize weights.safetensors --format spqt --prefill dense -o spqt.safetensors
made sweep spec.yaml --db sweep.db
mv "$W"/run/* "$W/in"

WORDS=(-1 0 1 3 7 1e9 99999999999999999999 nan inf '' -- --json --help --nothing --m --format=dense
  /dev/null . nowhere/x "a'b" $'a\nb' $'\e[31m' '$(id)' '%s%n' sq_w spqr rtn 0.5 0.99)

# The names in the run's folder, those below new/ apart.
names() { find "$W/run" -path "$W/run/new/*" -prune -o -print | sort; }

# One line on stderr where it refuses, no line of a sanitizer, no new file where it failed.
judge() { # NAMES_BEFORE
  case $RC in
  0 | 1 | 3) ;;
  2) [ "$(wc -l <"$W.err")" = 1 ] || { echo "# exit 2, $(wc -l <"$W.err") lines"; return 1; } ;;
  *) echo "# exit $RC"; return 1 ;;
  esac
  ! grep -qE 'Sanitizer|runtime error' "$W.err" || return 1
  ! LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f\x7f]' "$W.err" || { echo "# controls on stderr"; return 1; }
  [ "$RC" = 0 ] || [ "$(names)" = "$1" ] || { echo "# left behind"; return 1; }
}

# hammer NAME WORDS...: @ stands for the altered file NAME, outputs are meant for new/.
hammer() {
  local name=$1 i before words bad=0; shift
  for ((i = 0; i < RUNS; i++)); do
    words=("$@")
    rm -rf "$W/run" && cp -r "$W/in" "$W/run" && mkdir "$W/run/new"
    [ "$name" = - ] || cp "$W/in/$name" "$W/run/new/$name"
    if [ "$name" != - ] && ((i % 3 < 2)); then
      "$ALTER" $((SEED * 1000003 + RANDOM)) "$W/in/$name" "$W/run/new/$name" || bad=1
    fi
    if ((i % 3 > 0)); then words[1 + RANDOM % (${#words[@]} - 1)]=${WORDS[RANDOM % ${#WORDS[@]}]}; fi
    words=("${words[@]/#@/new/$name}")
    before=$(names)
    sq "${words[@]}"
    judge "$before" && continue
    bad=1
    sed 's/^/# stderr: /' "$W.err" | head -20
    printf '# run %d:' "$i"; printf ' %q' "${words[@]}"; echo
    [ -z "${KEEP-}" ] || cp -r "$W/run" "$KEEP/$name-$SEED-$i"
  done
  ok "$RUNS runs: $*" [ "$bad" = 0 ]
}

hammer tokens_eval.safetensors inspect @
hammer sq_w.safetensors inspect @ --json
hammer sp24.safetensors inspect @
hammer gqsa.safetensors run --share @ --workers 4
hammer spqt.safetensors inspect @
hammer weights.safetensors quantize @ --bank 16 -o new/out.safetensors
hammer weights.safetensors quantize @ --format sp24 --prune magnitude -o new/out.safetensors
hammer weights.safetensors run @ --m 8
hammer default.yaml run --m 8 --n 64 --k 64 --machine @
hammer h200.yaml run --m 8 --n 64 --k 64 --machine @ --json
hammer llama-2-7b_decode_1.csv run --workload @ --machine default.yaml
hammer qwen3-30b-a3b.json inspect --gemms @ --seq 16 --routing skewed
hammer config.json inspect --gemms @ --phase decode
hammer records.csv compare @ --machine h200.yaml
hammer h200.yaml compare records.csv --machine @ --calibrate new/out.yaml
hammer spec.yaml sweep @ --db new/out.db -o new/out.csv
hammer sweep.db report --db @ -o new/page
hammer sweep.db report --changes @ sweep.db
hammer sweep.db sweep export --db @
hammer - run --explain cycles --m 8 --n 64 --k 64 --low-lanes 8 --json
hammer - run --explain roofline
finish
