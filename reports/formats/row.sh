#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# row.sh SQSIM FOLDER MODEL SRAM LIBERTY@PERIOD...: the formats of row.txt on the machine default, of equal silicon, for 8 sequences and
# for one, as CSV (sqsim run --phase --and): at one clock for each LIBERTY@PERIOD. Buffers (of SRAM) in the first library alone, joules in
# its first rows. Joules a MAC, of a layer of MODEL, stay in FOLDER and are not measured again; a format whose netlist takes more than LIMIT
# seconds (900) has none. FOLDER/energy.jsonl has all of them, without paths; ENERGY=FILE: those of it. KL: reports/accuracy/smollm2_claims.md.
# row.sh table CSV: the rows as README.md shows them; row.sh clocks CSV: ms x mm2 by library and clock.
set -euo pipefail
here=$(dirname "$0")
export SQSIM_HOME=${SQSIM_HOME:-$(readlink -f "$here/../..")}
pass=(run llama-3-8b --phase decode --context 2048 --kv-format int8 --head-format dense:weight-bits=8)

if [ "$1" = table ] || [ "$1" = clocks ]; then
  perl -e '
    my $what = shift;
    my (%at, @clocks);
    while (<>) {
      next if /^#/;
      chomp;
      my @v = split /,/, $_, -1;
      if (!%at) { @at{@v} = 0 .. $#v; next }
      my %r = map { $_ => $v[$at{$_}] } keys %at;
      my $clock = "$r{library} $r{period_ns}";
      push @clocks, $clock if !grep $_ eq $clock, @clocks;
      $row{$r{format}}{$clock}{$r{batch}} = \%r;
    }
    sub of { my ($f, $b, $c, $clock) = @_; $row{$f}{$clock // $clocks[0]}{$b}{$c} }
    sub or_dash { my ($as, $v) = @_; !defined $v || $v eq "" ? "-" : sprintf $as, $v }
    sub by { my $clock = shift; sort { (of($a, 8, "ms_mm2", $clock) || 9e9) <=> (of($b, 8, "ms_mm2", $clock) || 9e9) } keys %row }
    sub line { print "| ", join(" | ", @_), " |\n" }
    if ($what eq "clocks") {
      line("format", map { /^(\S+) (.*)/; ("$1 at $2 ns: netlist, ns", "tokens/s of 8", "mm2", "ms x mm2, place") } @clocks);
      print "|---" x (1 + 4 * @clocks), "|\n";
      for my $clock (@clocks) { my $n = 0; $rank{$_, $clock} = ++$n for by($clock) }
      for my $f (by($clocks[0])) {
        (my $name = $f) =~ s/;/,/g;
        line($name, map { my $c = $_; my $x = or_dash("%.0f", of($f, 8, "ms_mm2", $c));
          (map(or_dash($_->[0], of($f, 8, $_->[1], $c)), ["%.2f", "netlist_ns"], ["%.1f", "tokens_per_second"], ["%.1f", "mm2"]), $x eq "-" ? $x : "$x, $rank{$f, $c}") } @clocks);
      }
      exit;
    }
    my ($second) = grep !/^sg13g2/, @clocks;
    $second =~ /^(\S+) (.*)/;
    line("format, sum", "stored bits", "KL", "of `nvfp4`", "PEs", "mm2", "bound by", "tokens/s of 1, of 8", "prompt, s", "mJ a token", "ms x mm2", "$1, $2 ns");
    print "|---" x 12, "|\n";
    for my $f (by($clocks[0])) {
      (my $name = $f) =~ s/;/,/g;
      my ($by, $sum) = (of($f, 8, "binds"), of($f, 8, "sum") =~ /^(aligned|binary32)/ ? ", $1" : "");
      $by =~ s/^the //;
      line("$name$sum", sprintf("%.2f", of($f, 8, "bits")), sprintf("%.2f", of($f, 8, "kl")), of($f, 8, "kl_ratio") == 1 ? 1 : sprintf("%.2f [%.2f, %.2f]", map of($f, 8, $_), qw(kl_ratio ratio_low ratio_high)),
        sprintf("%dx%dx%d", map of($f, 8, $_), qw(rows cols low_lanes)), sprintf("%.1f", of($f, 8, "mm2")), of($f, 8, "meets") ? $by : "no PE meets it",
        join(", ", map or_dash("%.1f", of($f, $_, "tokens_per_second")), 1, 8), or_dash("%.1f", of($f, 8, "ttft_ms") eq "" ? "" : of($f, 8, "ttft_ms") / 1000),
        of($f, 8, "low_j") eq "" ? "-" : sprintf("%.0f to %.0f", 1000 * of($f, 8, "low_j"), 1000 * of($f, 8, "high_j")), or_dash("%.0f", of($f, 8, "ms_mm2")),
        or_dash("%.0f", of($f, 8, "ms_mm2", $second)));
    }' "$@"
  exit
fi
sqsim=$1 folder=$2 model=$3 sram=$4
shift 4
mkdir -p "$folder"
rows() { grep -v '^#' "$here/row.txt" | sed 's/ *| */|/g'; }
[ -n "${ENERGY:-}" ] && cp "$ENERGY" "$folder/energy.jsonl" || : >"$folder/energy.jsonl"
joules() { # NAME OPTION...: joules a MAC into NAME.jsonl, unless they are there, and without paths behind energy.jsonl
  local out=$folder/$1.jsonl
  [ -z "${ENERGY:-}" ] || return 0
  if [ ! -s "$out" ]; then
    timeout "${LIMIT:-900}" "$sqsim" energy "${@:2}" --cycles 32 --liberty "$liberty" --json >"$out.new" && mv "$out.new" "$out" ||
      { echo "row.sh: no joules of $1" >&2; return 0; }
  fi
  sed 's#\([" ]\)/[^ "]*/#\1#g' "$out" >>"$folder/energy.jsonl"
}
liberty=${1%@*} and=() first=
layer=("$model" --layer model.layers.0.mlp.up_proj)
while IFS='|' read -r _ _ format options; do
  # shellcheck disable=SC2086
  joules "${format//[^a-z0-9]/_}" "${layer[@]}" $options
  if [ -z "$first" ]; then first=$format; else and+=(--and "$format"); fi
done < <(rows)
joules vector --block vector --point cut1
joules cache "${layer[@]}" --format dense --weight-bits 8 --group row --algorithm rtn # INT8, a scale a row: products of attention
echo "library,batch,format,bits,file_bits,kl,kl_low,kl_high,kl_ratio,ratio_low,ratio_high,rows,cols,low_lanes,high_lanes,filled,period_ns,netlist_ns,meets,pe_mm2,line_mm2,second_mm2,output_mm2,sram_mm2,vector_mm2,vector_ghz,mm2,ms,linear_ms,head_ms,attention_ms,vector_ms,memory_ms,compute_ms,dram_ms,rows_used,tokens_per_second,ttft_ms,low_j,high_j,ms_mm2,attention_on,binds,unit,sum"
energy=(--energy "$folder/energy.jsonl" --kv-energy "$folder/energy.jsonl" --head-energy "$folder/energy.jsonl")
for at; do
  library=$(basename "${at%@*}") library=${library%%[_.]*} buffers=()
  [ "${at%@*}" != "$liberty" ] || buffers=(--sram-area "$sram")
  for batch in 8 1; do
    "$sqsim" "${pass[@]}" --batch $batch --format "$first" "${and[@]}" --liberty "${at%@*}" --period "${at#*@}" "${buffers[@]}" "${energy[@]}" --json >"$folder/rows.jsonl"
    perl -MJSON::PP -e '
  my ($list, $claims, $rows, @head) = @ARGV;
  sub of { open(my $f, "<", $_[0]) or die "$_[0]: $!"; grep !/^#(?!#)/, <$f> }
  my $on;
  my %kl;
  for (of($claims)) {
    $on = /first table of README/ if /^## /;
    my (undef, $label, undef, @cells) = split / *[|] */;
    $kl{$label} = [map { my @n = /[0-9.]+/g; @n } @cells[0 .. 2]] if $on && @cells > 4;
  }
  my @formats = map { chomp; [split / *\| */] } of($list);
  my @found = map decode_json($_), of($rows);
  my $summary = pop @found;
  die "row.sh: no row of: " . encode_json($summary->{refused}) . "\n" if @{$summary->{refused}};
  for my $r (@found) {
    my $f = shift @formats;
    (my $name = $f->[0]) =~ s/,/;/g;
    my @kl = @{$kl{$f->[1]} // []};
    @kl = (@kl, 1, 1) if @kl == 5; # the variant that the others are compared with
    die "row.sh: no KL of $f->[1] in $claims\n" if @kl != 7;
    print join(",", @head, $name, $r->{stored_bits_per_weight}, @kl, map { $_ // "" } @$r{qw(rows cols low_lanes high_lanes filled)}, $summary->{period_ns}, map { $_ // "" } @$r{qw(netlist_ns
      meets_clock pe_mm2 line_mm2 second_mm2 output_mm2 sram_mm2 vector_mm2 vector_clock_ghz mm2 ms linear_ms head_ms attention_ms vector_ms memory_ms compute_ms dram_ms rows_used tokens_per_second ttft_ms
      energy_low_j_per_token energy_high_j_per_token ms_mm2 attention_on binds pe_unit sum)}), "\n";
  }' "$here/row.txt" "$here/../accuracy/smollm2_claims.md" "$folder/rows.jsonl" "$library" $batch
  done
  energy=()
done
