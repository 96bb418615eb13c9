#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tokens.sh SQSIM FOLDER: joules of a token of two models in each format of formats.txt, by part, with the
# joules a MAC in FOLDER/LIBRARY/formats (measure.sh) and every type of DRAM, as CSV.
set -euo pipefail
sqsim=$1 folder=$2
here=$(dirname "$0")
home=$here/../..
memory=$home/sim/machines/memory/default.yaml
echo "library,model,phase,dram,format,part,low_j,gated_j,high_j,seconds"
for tables in "$folder"/*/formats; do
  library=$(basename "$(dirname "$tables")")
  for model in smollm2-135m llama-3-8b; do
    for phase in decode_1 prefill_2048; do
      tokens=${phase#*_}
      while IFS='|' read -r name _ options; do
        table=$tables/${name// /_}.jsonl
        [[ $name == \#* || ! -f $table ]] && continue
        for dram in $(sed -n 's/^ *- type: //p' "$memory"); do
          # shellcheck disable=SC2086
          "$sqsim" run --workload "$home/traces/workloads/${model}_$phase.csv" $options --energy "$table" --memory "$memory" \
            --dram "$dram" --json | tail -1 |
            perl -MJSON::PP -e '
              my ($where, $tokens) = @ARGV;
              my $r = decode_json(<STDIN>);
              printf "%s,%s,%.9g,%.9g,%.9g,%.9g\n", $where, $_->{part}, $_->{low_pj} * 1e-12 / $tokens,
                $_->{gated_pj} * 1e-12 / $tokens, $_->{high_pj} * 1e-12 / $tokens, $r->{seconds} / $tokens for @{$r->{energy_parts}};
            ' "$library,$model,$phase,$dram,$name" "$tokens"
        done
      done <"$here/formats.txt"
    done
  done
done
