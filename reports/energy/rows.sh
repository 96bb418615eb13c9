#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# rows.sh FOLDER: what measure.sh has left there as CSV, two rows for each block: without delays and with them. fJ a
# MAC of the block; inside of its PE, and of that clock pins and leakage; of its output stage; of what selects elements
# (gather and multiplexers). An empty period: the smallest netlist; path: of the netlist for the period.
set -euo pipefail
folder=$1
here=$(dirname "$0")
echo "library,list,name,block,operands,period_ns,path_ns,macs,mode,fj_per_mac,inside,inside_clock,inside_leakage,output,select,settled_ns"
for library in "$folder"/*/; do
  for of in pes banks formats; do
    while IFS='|' read -r name _; do
      [[ $name == \#* || -z $name ]] && continue
      for file in "$library$of"{,.*}/"${name// /_}".jsonl; do
        [ -f "$file" ] || continue
        sed -n 1p "$file" | perl -MJSON::PP -e '
          my $r = decode_json(<STDIN>);
          die "not golden\n" unless $r->{is_golden};
          my $macs = 1e3 * $r->{macs};
          sub part { my ($e, $name) = @_; my $s = 0;
            for my $p (grep $_->{part} eq $name, @{$e->{parts_aj}}) { $s += $p->{$_} for qw(switching internal clock leakage) } $s }
          for my $mode (qw(zero_delay with_delays)) {
            my $e = $r->{$mode};
            printf "%s,%s,%s,%s,%s,%d,%s,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f\n", join(",", @ARGV), $r->{block}, $r->{operands},
              $r->{period_ns} // "", defined $r->{path_ns} ? sprintf("%.3f", $r->{path_ns}) : "", $r->{macs}, $mode, $e->{fj_per_mac},
              $e->{inside_pes_aj} / $macs, $e->{pes_aj}{clock} / $macs, $e->{pes_aj}{leakage} / $macs,
              part($e, "output") / $macs, part($e, "select") / $macs, $r->{settled_ns};
          }' "$(basename "$library")" "$of" "$name"
      done
    done <"$here/$of.txt"
  done
done
