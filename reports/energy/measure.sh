#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# measure.sh SQSIM LIST LIBERTY...: energies of the PEs of LIST in each library as CSV: joules of a MAC as
# a whole, inside of the PE, and of what selects elements (gather and multiplexers), without delays and
# with them. Netlists in the cache are not made again.
set -euo pipefail
sqsim=$1 list=$2; shift 2
echo "library,pe,point,macs,mode,fj_per_mac,fj_per_mac_inside,settled_ns,fj_per_mac_select"
for liberty in "$@"; do
  library=$(basename "$liberty" | sed 's/[._].*//')
  while IFS='|' read -r pe _ options; do
    [[ $pe == \#* || -z $pe ]] && continue
    # shellcheck disable=SC2086
    "$sqsim" energy $options --rows 1 --cols 1 --clock 10 --liberty "$liberty" --json | sed -n 1p |
      perl -MJSON::PP -e '
        my ($library, $pe) = @ARGV;
        my $r = decode_json(<STDIN>);
        die "$pe: not golden\n" unless $r->{is_golden};
        for my $mode (qw(zero_delay with_delays)) {
          my $e = $r->{$mode};
          my $select = 0;
          for my $p (@{$e->{parts_aj}}) { $select += $p->{switching} + $p->{internal} if $p->{part} eq "select" }
          printf "%s,%s,%s,%d,%s,%.3f,%.3f,%.3f,%.3f\n", $library, $pe, "$r->{block} $r->{point}", $r->{macs}, $mode,
            $e->{fj_per_mac}, $e->{inside_pes_aj} / 1e3 / $r->{macs}, $r->{settled_ns}, $select / 1e3 / $r->{macs};
        }' "$library" "$pe"
  done <"$list"
done
