#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# row.sh SQSIM FOLDER MODEL SRAM LIBERTY@PERIOD...: the formats of row.txt on the machine default, of equal silicon, at one clock for
# each library, for 8 sequences and for one, as CSV (sqsim run --phase --and --period). Buffers and joules in the first library alone, whose
# memories are in SRAM. Joules a MAC, of a layer of MODEL, stay in FOLDER and are not measured again; a format
# whose netlist takes more than LIMIT seconds (900) has none. FOLDER/energy.jsonl has all of them, without paths; ENERGY=FILE: those of it. KL of sheet.csv.
# row.sh table CSV: the rows as README.md shows them.
set -euo pipefail
here=$(dirname "$0")
export SQSIM_HOME=${SQSIM_HOME:-$(readlink -f "$here/../..")}
pass=(run llama-3-8b --phase decode --context 2048 --kv-format int8 --head-format dense:weight-bits=8)

if [ "$1" = table ]; then
  echo "| format | stored bits | KL | sum | PEs | mm2 | bound by | tokens/s of 1, of 8 | prompt, s | mJ a token | ms x mm2 |"
  echo "|---|---|---|---|---|---|---|---|---|---|---|"
  perl -e '
    my %at;
    while (<>) {
      next if /^#/;
      chomp;
      my @v = split /,/, $_, -1;
      if (!%at) { @at{@v} = 0 .. $#v; next }
      my %r = map { $_ => $v[$at{$_}] } keys %at;
      push @order, $r{format} if !$row{$r{format}};
      $row{$r{format}}{$r{library}}{$r{batch}} = \%r;
    }
    sub of { my ($f, $b, $c) = @_; $row{$f}{sg13g2}{$b}{$c} }
    sub or_dash { my ($as, $v) = @_; $v eq "" ? "-" : sprintf $as, $v }
    for my $f (sort { (of($a, 8, "ms_mm2") || 9e9) <=> (of($b, 8, "ms_mm2") || 9e9) } @order) {
      (my $name = $f) =~ s/;/,/g;
      my $by = of($f, 8, "binds");
      $by =~ s/^the //;
      printf "| %s | %.2f | %.2f [%.2f, %.2f] | %s | %dx%dx%d | %.1f | %s | %s, %s | %s | %s | %s |\n", $name, of($f, 8, "bits"), map(of($f, 8, $_), qw(kl kl_low kl_high)),
        of($f, 8, "sum") =~ /^(\w+)/ ? $1 : "-", map(of($f, 8, $_), qw(rows cols low_lanes mm2)), of($f, 8, "meets") ? $by : "no PE meets it",
        or_dash("%.1f", of($f, 1, "tokens_per_second")), or_dash("%.1f", of($f, 8, "tokens_per_second")), or_dash("%.1f", of($f, 8, "ttft_ms") eq "" ? "" : of($f, 8, "ttft_ms") / 1000),
        of($f, 8, "low_j") eq "" ? "-" : sprintf("%.0f to %.0f", 1000 * of($f, 8, "low_j"), 1000 * of($f, 8, "high_j")), or_dash("%.0f", of($f, 8, "ms_mm2"));
    }' "$2"
  exit
fi
sqsim=$1 folder=$2 model=$3 sram=$4
shift 4
mkdir -p "$folder"
rows() { grep -v '^#' "$here/row.txt" | sed 's/ *| */|/g'; }
[ -n "${ENERGY:-}" ] && cp "$ENERGY" "$folder/energy.jsonl" || : >"$folder/energy.jsonl"
and=() first=
while IFS='|' read -r _ _ format options; do
  out=$folder/${format//[^a-z0-9]/_}.jsonl
  # shellcheck disable=SC2086
  if [ -z "${ENERGY:-}" ] && [ ! -s "$out" ]; then
    timeout "${LIMIT:-900}" "$sqsim" energy "$model" $options --layer model.layers.0.mlp.up_proj --cycles 32 --liberty "${1%@*}" --json \
      >"$out.new" && mv "$out.new" "$out" || echo "row.sh: no joules of $format" >&2
  fi
  [ ! -s "$out" ] || sed 's#\([" ]\)/[^ "]*/#\1#g' "$out" >>"$folder/energy.jsonl"
  if [ -z "$first" ]; then first=$format; else and+=(--and "$format"); fi
done < <(rows)
out=$folder/vector.jsonl
if [ -z "${ENERGY:-}" ]; then
  [ -s "$out" ] || "$sqsim" energy --block vector --point cut1 --cycles 32 --liberty "${1%@*}" --json >"$out"
  sed 's#\([" ]\)/[^ "]*/#\1#g' "$out" >>"$folder/energy.jsonl"
fi
echo "library,batch,format,bits,kl,kl_low,kl_high,rows,cols,low_lanes,high_lanes,filled,period_ns,netlist_ns,meets,pe_mm2,line_mm2,second_mm2,output_mm2,sram_mm2,vector_mm2,vector_ghz,mm2,ms,linear_ms,head_ms,attention_ms,vector_ms,memory_ms,compute_ms,dram_ms,rows_used,tokens_per_second,ttft_ms,low_j,high_j,ms_mm2,attention_on,binds,unit,sum"
prices=(--sram-area "$sram" --energy "$folder/energy.jsonl")
for at; do
  library=$(basename "${at%@*}") library=${library%%[_.]*}
  for batch in 8 1; do
    "$sqsim" "${pass[@]}" --batch $batch --format "$first" "${and[@]}" --liberty "${at%@*}" --period "${at#*@}" "${prices[@]}" --json >"$folder/rows.jsonl"
    perl -MJSON::PP -e '
  my ($list, $sheet, $rows, @head) = @ARGV;
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
    print join(",", @head, $name, $r->{stored_bits_per_weight}, @{$kl{$f->[1]}}, map { $_ // "" } @$r{qw(rows cols low_lanes high_lanes filled)}, $summary->{period_ns}, map { $_ // "" } @$r{qw(netlist_ns
      meets_clock pe_mm2 line_mm2 second_mm2 output_mm2 sram_mm2 vector_mm2 vector_clock_ghz mm2 ms linear_ms head_ms attention_ms vector_ms memory_ms compute_ms dram_ms rows_used tokens_per_second ttft_ms
      energy_low_j_per_token energy_high_j_per_token ms_mm2 attention_on binds pe_unit sum)}), "\n";
  }' "$here/row.txt" "$here/sheet.csv" "$folder/rows.jsonl" "$library" $batch
  done
  prices=()
done
