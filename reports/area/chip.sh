#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# chip.sh SQSIM SRAM LIBERTY...: areas and longest paths of the units of a chip that writes text alone, netlists of smallest area, as
# tables of reports/area/README.md. It is sim/machines/chip.yaml with encoder, vector unit and attention for each format of FORMATS. The
# memories are those of SRAM with each library. LEF=FOLDER, of what wires.sh reads: the chip of the first format and library placed in place of
# that, as a table of docs/wires.md and a picture, SVG.
set -e -o pipefail
sqsim=$1 sram=$2; shift 2
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
{ cat sim/machines/chip.yaml; printf '  encoder: yes\n  vector: yes\n  attend: 2\n  head: 32\n'; } >"$work/token.yaml"
if [ -n "${LEF:-}" ]; then
  . reports/area/lef.sh
  format=${FORMATS:-nvfp4} format=${format%% *}
  lef_of "$1" "$LEF"
  "$sqsim" area --block top --machine "$work/token.yaml" --of "$format" --sram "$sram" --svg "$SVG" "${placed[@]}" | perl -MJSON::PP -ne '
      my $r = decode_json $_;
      next if !$r->{wires};
      my $w = $r->{wires};
      print "<!-- table: wires_chip -->\n| chip | cells | memories | mm2 | m of wire | um a cell | ns: no wires | library'"'"'s load | placed | minutes |\n" . "|---" x 10 . "|\n";
      printf "| `%s` | %d | %d | %.2f | %.2f | %.1f | %.2f | %.2f | %.2f | %.0f |\n<!-- end -->\n", "'"$format"'", $r->{n_cells} - $r->{macros}, $r->{macros}, $r->{area_um2} / 1e6,
        $w->{length_um} / 1e6, $w->{um_per_cell}, @$w{qw(path_without_ns path_library_ns path_placed_ns)}, $w->{seconds_host} / 60'
  exit
fi
for format in ${FORMATS:-nvfp4 dense:weight-bits=8}; do
  for liberty; do
    "$sqsim" area --block top --machine "$work/token.yaml" --of "$format" --liberty "$liberty" --sram "$sram" |
      awk -v column="${format%%:*}, $(basename "$liberty" | sed 's/[_.].*//')" '
        function row(name, um2, ns) { printf "%s|%s|%s|%s\n", column, name, um2, ns }
        /^top / { um2 = $2; whole = $6 }
        /^Units of / { on = 1; getline; next }
        on && NF < 4 { on = 0 }
        on { name = $0; sub(/ +[0-9.]+ +[0-9.]+% +[-0-9.]+$/, "", name); ns[name] = $NF; row(name, $(NF - 2), $NF) }
        /^Memories of / { bits = $5 * $7 }
        END {
          if (!whole || !ns["PEs"]) exit 1
          row("whole", um2, whole); row("clock, MHz", "", 1000 / whole); row("bits of memories", bits, "")
          n = split("attention;vector unit;encoder", slow, ";")
          for (i = 1; i <= n; i++) row(slow[i] " / PEs", "", ns[slow[i]] / ns["PEs"])
          row("whole / PEs", "", whole / ns["PEs"])
        }'
  done
done | awk -F'|' '
  !($1 in seen) { seen[$1]; at[++n] = $1 }
  { um2[$1, $2] = $3; ns[$1, $2] = $4 }
  function text(v, form) { return v == "" || v == "-" ? "" : sprintf(form, v) }
  END {
    print "<!-- table: chip_paths -->"
    printf "| um2 of its cells; longest path that ends in it, ns |"; for (i = 1; i <= n; i++) printf " %s | ns |", at[i]
    printf "\n|---|"; for (i = 1; i <= n; i++) printf "---|---|"
    print ""
    rows = "PEs;decoders;output stage;engine;encoder;vector unit;attention;DMA and ring;control;buffers;memories;queues;whole;bits of memories;clock, MHz;" \
      "vector unit / PEs;attention / PEs;encoder / PEs;whole / PEs"
    count = split(rows, row, ";")
    for (r = 1; r <= count; r++) {
      printf "| %s |", row[r]
      for (i = 1; i <= n; i++) printf " %s | %s |", text(um2[at[i], row[r]], "%.0f"), text(ns[at[i], row[r]], "%.2f")
      print ""
    }
    print "<!-- end -->"
  }'
