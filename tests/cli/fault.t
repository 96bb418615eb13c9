#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Memory and disks that end: the n-th allocation, or the n-th write to a file, and all behind it fail, for n spread
# over what the command does without faults (FAULTS, 24, of each; 6 in `make test`). The command ends by itself, never by a signal,
# with a code and a sentence, leaves no half-written file and no temporary one (of several files that stand beside each other the first may be there, whole); where it says 0 its result is
# that of the run without faults. A database, which a kill may leave as well, is completed by the next run.
. tests/cli/lib.sh
if san; then skip "faults of malloc and write" "the sanitizers have a malloc of their own"; finish; fi
FAULTS=${FAULTS:-$([ "$SQ_TIER" = test ] && echo 6 || echo 24)}
SHIM=$(dirname "$W")/$(basename "$W").so
trap 'chmod -R u+w "$W"; rm -rf "$W" "$W.out" "$W.err" "$W".*' EXIT
if ! ${CC:-gcc} -shared -fPIC -O1 -o "$SHIM" tests/cli/fault.c -ldl 2>/dev/null; then
  skip "faults of malloc and write" "no compiler"; finish
fi
cat >"$W/grid.yaml" <<'Y'
name: faults
axes:
  m: [16, 32]
  n: [64]
  k: [64]
  format: [dense, nvfp4]
  weight_bits: [4]
  machine: [sim/machines/default.yaml]
  fair: [none]
measures: [cycles]
Y
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
faulty() { # VARIABLE=N ARGS...: as sq, under the shim
  local fault=$1; shift
  (cd "$W/now" && timeout $HANG env "$fault" LD_PRELOAD="$SHIM" "$SQSIM" "$@" >"$W.out" 2>"$W.err" </dev/null)
  RC=$?
}
begin() { rm -rf "$W/now"; mkdir "$W/now"; cp "$W/grid.yaml" "$W/now"; [ ! -f "$W/base.db" ] || cp "$W/base.db" "$W/now"; }
# try WHAT KEPT ARGS...: KEPT is a name that may stay behind a fault (a database), "-", or "=": of several files all or none.
try() {
  local what=$1 kept=$2 bad= counts n total fault left; shift 2
  begin
  faulty FAULT_COUNT="$W.count" "$@"
  ok "$what without faults" [ "$RC" = 0 ]
  (cd "$W/now" && find . -type f ! -name '*.yaml' ! -name 'base.db*' | sort | xargs -r sha256sum) >"$W.want"
  counts=$(cat "$W.count")
  for fault in ALLOC WRITE; do
    total=${counts%% *}; [ $fault = ALLOC ] || total=${counts##* }
    bad=
    for ((i = 0; i < FAULTS && i < total; i++)); do
      n=$((1 + i * total / FAULTS)); [ "$total" -gt "$FAULTS" ] || n=$((i + 1))
      begin
      faulty FAULT_$fault=$n "$@"
      left=$(cd "$W/now" && find . -type f ! -name '*.yaml' ! -name 'base.db*' ! -name "$kept*" | sort | xargs -r sha256sum)
      case $RC in
      0) [[ $kept != [-=] ]] || [ "$left" = "$(cat "$W.want")" ] || bad="$bad $n:0-with-another-result" ;;
      1 | 2 | 3) [ "$kept" != = ] || [ -z "$left" ] || [ "$left" = "$(cat "$W.want")" ] || bad="$bad $n:some"
        left=$([ -z "$left" ] || grep -vxFf "$W.want" <<<"$left")
        [ -z "$left" ] || bad="$bad $n:left:$(awk '{print $2}' <<<"$left" | head -1)"
        grep -q '[a-z]' "$W.err" || bad="$bad $n:silent" ;;
      *) bad="$bad $n:exit-$RC" ;;
      esac
      if [[ $kept != [-=] ]] && [ -f "$W/now/$kept" ]; then
        (cd "$W/now" && "$SQSIM" "$@" >/dev/null 2>"$W.err") || bad="$bad $n:not-completed"
      fi
    done
    ok "$what, $fault of $total:$bad" [ -z "$bad" ]
  done
}
try quantize - quantize --format mxfp4 -o out.safetensors
try "quantize --as" = quantize --as compressed-tensors --format mxfp4 --algorithm rtn -o out
try image = image --format dense --layer '*.0.self_attn.[qkv]_proj' -o .
try eval - eval --format nvfp4 --sequences 1 --summary
try sweep grid.db sweep grid.yaml --db grid.db --jobs 1
(cd "$W" && "$SQSIM" sweep grid.yaml --db base.db --jobs 1 >/dev/null 2>&1)
try report - report --db base.db -o page
# One copy of a text alone: the rows behind a sweep without a name were compared with it.
bad=
for n in $(seq 1 $((FAULTS < 24 ? 24 / FAULTS : 1)) 40); do
  begin
  faulty FAULT_COPY=$n report --db base.db -o page
  [ "$RC" -le 3 ] || bad="$bad $n:exit-$RC"
done
ok "report, one copy of a text of 40 fails:$bad" [ -z "$bad" ]
finish
