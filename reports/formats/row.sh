#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# row.sh SQSIM FOLDER MODEL LIBERTY SRAM: the formats of row.txt on the machine default, each figure of a row of one design of equal
# silicon, as CSV (sqsim run --phase --and). Joules a MAC, of a layer of MODEL, stay in FOLDER and are not measured again; a format
# whose netlist takes more than LIMIT seconds (900) has none. FOLDER/energy.jsonl has all of them, without paths. KL of sheet.csv. row.sh table CSV: the rows as README.md shows them.
set -euo pipefail
here=$(dirname "$0")
export SQSIM_HOME=${SQSIM_HOME:-$(readlink -f "$here/../..")}
pass=(run llama-3-8b --phase decode --batch 8 --context 2048 --kv-format int8)

if [ "$1" = table ]; then
  echo "| format | stored bits | KL | sum | MHz | mm2 | tokens/s | TTFT, s | mJ a token | ms x mm2 |"
  echo "|---|---|---|---|---|---|---|---|---|---|"
  awk -F, '/^#/ {next} !columns {columns = NF; for (i = 1; i <= NF; i++) at[$i] = i; next}
    function cell(name) {return $at[name]}
    function joules() {return cell("low_j") == "" ? "-" : sprintf("%.0f to %.0f", 1000 * cell("low_j"), 1000 * cell("high_j"))}
    {gsub(/;/, ",", $1); split(cell("sum"), sum, ":"); printf "| %s | %.2f | %.2f [%.2f, %.2f] | %s | %.0f | %.1f | %.1f | %.1f | %s | %.0f |\n", $1, cell("bits"), cell("kl"), cell("kl_low"),
      cell("kl_high"), sum[1] == "" ? "-" : sum[1], 1000 * cell("ghz"), cell("mm2"), cell("tokens_per_second"), cell("ttft_ms") / 1000, joules(), cell("ms_mm2")}' "$2"
  exit
fi
sqsim=$1 folder=$2 model=$3 liberty=$4 sram=$5
mkdir -p "$folder"
rows() { grep -v '^#' "$here/row.txt" | sed 's/ *| */|/g'; }
: >"$folder/energy.jsonl"
and=() first=
while IFS='|' read -r _ _ format options; do
  out=$folder/${format//[^a-z0-9]/_}.jsonl
  # shellcheck disable=SC2086
  if [ ! -s "$out" ]; then
    timeout "${LIMIT:-900}" "$sqsim" energy "$model" $options --layer model.layers.0.mlp.up_proj --cycles 32 --liberty "$liberty" --json \
      >"$out.new" && mv "$out.new" "$out" || echo "row.sh: no joules of $format" >&2
  fi
  [ ! -s "$out" ] || sed 's#\([" ]\)/[^ "]*/#\1#g' "$out" >>"$folder/energy.jsonl"
  if [ -z "$first" ]; then first=$format; else and+=(--and "$format"); fi
done < <(rows)
out=$folder/vector.jsonl
[ -s "$out" ] || "$sqsim" energy --block vector --point l1 --cycles 32 --liberty "$liberty" --json >"$out"
sed 's#\([" ]\)/[^ "]*/#\1#g' "$out" >>"$folder/energy.jsonl"
"$sqsim" "${pass[@]}" --format "$first" "${and[@]}" --liberty "$liberty" --sram-area "$sram" --energy "$folder/energy.jsonl" --json >"$folder/rows.jsonl"
echo "format,bits,kl,kl_low,kl_high,rows,cols,low_lanes,high_lanes,netlist_ns,ghz,pe_mm2,line_mm2,sram_mm2,vector_mm2,vector_ghz,mm2,ms,tokens_per_second,ttft_ms,low_j,high_j,ms_mm2,sum"
perl -MJSON::PP -e '
  my ($list, $sheet, $rows) = @ARGV;
  sub of { open(my $f, "<", $_[0]) or die "$_[0]: $!"; grep !/^#/, <$f> }
  my ($head, @lines) = map { chomp; [split /,/, $_, -1] } of($sheet);
  my %at = map { $head->[$_] => $_ } 0 .. $#$head;
  my %kl = map { my $l = $_; $l->[0] => [map $l->[$at{"smollm2_$_"}], qw(kl kl_low kl_high)] } @lines;
  my @formats = map { chomp; [split / *\| */] } of($list);
  my @found = map decode_json($_), of($rows);
  my $summary = pop @found;
  die "row.sh: no row of: " . encode_json($summary->{refused}) . "\n" if @{$summary->{refused}};
  for my $r (@found) {
    my $f = shift @formats;
    (my $name = $f->[0]) =~ s/,/;/g;
    print join(",", $name, $r->{stored_bits_per_weight}, @{$kl{$f->[1]}}, map { $_ // "" } @$r{qw(rows cols low_lanes high_lanes netlist_ns clock_ghz
      pe_mm2 line_mm2 sram_mm2 vector_mm2 vector_clock_ghz mm2 ms tokens_per_second ttft_ms energy_low_j_per_token energy_high_j_per_token ms_mm2 sum)}), "\n";
  }' "$here/row.txt" "$here/sheet.csv" "$folder/rows.jsonl"
