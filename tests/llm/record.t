#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every figure of record.txt as it was: a digest of all that each of its commands prints and writes. A change that moves figures
# on purpose writes the digests anew, `RECORD=1 make t T=llm/record.t`, and its commit shows which commands moved. The outputs
# of the last run in a checkout stay in build/record, and a difference to them is printed. Nothing here says that a figure is
# right: other tests do.
. "$(dirname "$0")/../cli/lib.sh"
. "$ROOT/tests/docs/energy_table.sh"
cd "$W" || exit 1
B=$(dirname "$SQSIM")/record
mkdir -p "$B"
ln -s "$SQSIM_HOME/sim/machines" M
ln -s "$SQSIM_HOME/traces" T
ln -s "$SQSIM_HOME/sim/format/scaled/formats" Y
{ table 320000 640000; vector_line; } >energy.jsonl
chip_table 8 >chip.jsonl
printf 'arrived_at,num_prefill_tokens,num_decode_tokens\n0,20,3\n.5,300,40\n.6,7,2\n9,64,9\n' >requests.csv
mkdir gemma
printf '{"model_type":"gemma3_text","sliding_window_pattern":3,"sliding_window":512,"hidden_size":640,"num_hidden_layers":7}' >gemma/config.json
macro 3 7 >macro.lib
cat >sweep.yaml <<'END'
name: s
title: s
axes:
  workload: [traces/workloads/llama-3-8b_decode_1.csv, traces/workloads/llama-3-8b_prefill_2048.csv]
  machine: [m.yaml, sim/machines/edge4.yaml]
  format: [sq_w, nvfp4, gqsa]
  rows: [8, 16]
  low_lanes: [4]
  high_lanes: [1]
measures: [stored_bits, utilisation_low, utilisation_high, time_ms, cycles, dram_bytes, memory_cycles, causes]
END
mkdir slow
cp M/default.yaml m.yaml
sed 's/bandwidth: .*/bandwidth: 30 GB\/s/' m.yaml >slow/m.yaml
(cd slow && "$SQSIM" sweep ../sweep.yaml --db ../t.db >../t.out 2>&1) || sed 's/^/# /' t.out
# Figures with a point count in nine digits: the last ones are those of the C library.
figures='s/-?\d+\.\d+(?:e[-+]?\d+)?/sprintf "%.9g", $&/gea; s/"(seconds_host|points_per_minute|version|tool|revision|key|code)": ?("[^"]*"|[-\d.e]+)//g; s/\Q$ENV{HOMES}\E//g; $_ = "" if /^sqsim: bubblewrap/'
export HOMES="$SQSIM_HOME/"
# LINE, its words joined by ~ while braces are expanded to commands: what each prints, and digests of the files below out.
outputs() {
  local c
  mkdir out
  set -f
  eval "set -- ${1// /\~}"
  for c; do
    echo "\$ ${c//\~/ }"
    timeout $HANG "$SQSIM" ${c//\~/ } 2>&1 </dev/null
    echo "exit $?"
    # Files hold the version of the program, and digests of themselves with it.
    rm -rf held && cp -r out held && rm -f held/s.csv.json
    find held -type f -exec perl -0777 -pi -e 's/sqsim \d+\.\d+\.\d+/sqsim/g; s/("sq_digest":")[^"]*/$1/' {} +
    find held -type f -exec sha256sum {} + | LC_ALL=C sort -k 2
  done | perl -pe "$figures"
  set +f
  rm -rf out
}
# What other versions of these tools make differs.
tools() { [[ $(yosys -V 2>&1) = "Yosys 0.23 "* && $(sta -version 2>&1) = 2.0.17 ]] && [ -r /usr/share/qflow/tech/osu018/osu018_stdcells.lib ]; }
while read -r digest line; do
  case $line in area*--block* | energy*) tools || { skip "as it was: $line" "Yosys 0.23, OpenSTA 2.0.17 or the library of qflow are not there"; echo "$digest $line" >>new; continue; } ;; esac
  name=$(tr -c 'A-Za-z0-9\n' _ <<<"$line" | cut -c1-120)
  outputs "$line" >now
  is=$(sha256sum now | cut -c1-16)
  ok "... no tool is missing, nothing crashes" [ -z "$(grep -E '^exit ([3-9]|[1-9][0-9])' now)" ]
  [ -z "$RECORD" ] || { echo "$is $line" >>new; continue; }
  ok "as it was: $line" [ "$is" = "$digest" ]
  [ "$is" = "$digest" ] && mv now "$B/$name" || { { [ -f "$B/$name" ] && diff "$B/$name" now || grep -E '^(\$|exit [^0])' now; } | head -20 | cut -c1-400 | sed 's/^/# /'; mv now "$B/$name.new"; }
done <"$ROOT/tests/llm/record.txt"
[ -z "$RECORD" ] || { ok "written anew" cp new "$ROOT/tests/llm/record.txt"; }
finish
