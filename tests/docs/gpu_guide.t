#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docs/gpu.md, followed as it stands: the template is refused until it is filled, the filled machine predicts, compares
# and is fitted, and the fit is better than the data sheet.
. "$(dirname "$0")/../cli/lib.sh"
mkdir "$W/bin"
ln -s "$SQSIM" "$W/bin/sqsim"
ln -s "$ROOT/sim" "$ROOT/traces" "$W"
block() { awk '/^```sh/ {n++; on = 1; next} /^```/ {on = 0} on && n == want' want="$1" "$ROOT/docs/gpu.md"; }
follow() { # N: runs the N-th block in $W
  (cd "$W" && PATH=$W/bin:$PATH timeout $HANG bash -euc "$(block "$1")" >"$W.out" 2>"$W.err" </dev/null)
  RC=$?
  [ $RC = 0 ] || sed 's/^/# /' "$W.err"
  return $RC
}
error() { sed -n 's/^speedup: .*median error \([0-9.]*\) %.*/\1/p' "$W.out" | tail -1; }
below() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && a < b) }' || { echo "# $1 is not below $2"; return 1; }; }

refuse "FILL" compare --machine sim/machines/template_gpu.yaml
ok "step 1: fill" follow 1
ok "nothing is left to fill" [ "$(grep -v '^#' "$W/mine.yaml" | grep -c FILL)" = 0 ]
ok "step 2: predict" follow 2
ok "INT4 is there" grep -q '^INT4 ' "$W.out"
ok "ceilings are expected" grep -q '^ceilings expected: .*INT8 ' "$W.out"
ok "step 3: compare" follow 3
ok "no row fixed a constant yet" grep -q 'left out: 0 of the calibration' "$W.out"
unfitted=$(error)
ok "from the data sheet alone: speedups within a fifth" below "$unfitted" 20
ok "step 4: fit" follow 4
ok "calibration rows are left out" grep -q 'left out: 32 of the calibration' "$W.out"
ok "the fit is better" below "$(error)" "$unfitted"
ok "INT4 had no row: by the law" grep -q 'INT4.*source: expected' "$W/fitted.yaml"
ok "INT8 had some" grep -q 'INT8, sparsity: "dense".*source: fitted' "$W/fitted.yaml"
ok "step 5: leave one out" follow 5
ok "all files" grep -q '^all files' "$W.out"
ok "step 6: beside the accelerator" follow 6
ok "formats on all GPUs" [ "$(grep -c '^  .* |.*x |.*|' "$W.out")" -gt 100 ]
sed 's/^sms: .*/sms: FILL_SMS/' "$W/mine.yaml" >"$W/half.yaml"
refuse "sms = FILL_SMS" compare --machine half.yaml
finish
