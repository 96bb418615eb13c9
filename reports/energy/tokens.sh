#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tokens.sh SQSIM FOLDER: joules of a token of two models in each format of formats.txt, by part, with the
# joules a MAC in FOLDER/LIBRARY/formats (measure.sh) and every type of DRAM, as CSV.
set -euo pipefail
sqsim=$1 folder=$2
here=$(dirname "$0")
home=$here/../..
memory=$home/sim/machines/memory/default.yaml
first=1
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
              my ($where, $tokens, $first) = @ARGV;
              my $r = decode_json(<STDIN>);
              my @parts = @{$r->{energy_parts}};
              my @ends = qw(low gated high);
              print join(",", qw(library model phase dram format seconds), map { my $p = $_->{part}; map { "${p}_${_}_j" } @ends } @parts), "\n"
                if $first;
              print join(",", $where, map { sprintf "%.9g", $_ / $tokens } $r->{seconds}, map { my $p = $_; map { $p->{"${_}_pj"} * 1e-12 } @ends } @parts), "\n";
            ' "$library,$model,$phase,$dram,$name" "$tokens" "$first"
          first=
        done
      done <"$here/formats.txt"
    done
  done
done
