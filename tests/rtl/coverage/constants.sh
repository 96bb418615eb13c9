#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Which bits of rtl/ that never toggled are constants, by proof.
#
#   constants.sh SQSIM COVERAGE_DIR [JOBS]
#
# COVERAGE_DIR has merged.dat and points/ of coverage.sh. Every point is read by Yosys as it was
# simulated, flattened, all signals made outputs. ABC looks for what is constant in all cycles and for
# all inputs, from the state after reset (&scorr -k, of seconds where scorr takes minutes): an output
# that becomes 0 or 1 is one. For what is left of the bits that no point toggled it looks for an
# invariant (pdr). Registers without reset start at 0. A bit is a constant if it is one in every copy
# of the module in every point that has it: constants.txt gets "file signal[bit]".
# Small points are asked for all bits, large ones only for those that no point toggled: the former
# check the proofs. In the simulation those registers start at random, so that a constant may toggle
# until they are loaded. Such a bit must be none once they start at any value; exit 1 if it is one
# even then, as the proofs are worth nothing.
SQSIM=$(realpath "$1") OUT=$(realpath "$2") JOBS=${3:-1}
YOSYS=${YOSYS:-yosys} ABC=${ABC:-yosys-abc}
HERE=$(realpath "$(dirname "$0")")
WORK=$OUT/constants
FRAMES=30            # that the invariant of a bit may need
SECONDS_OF_POINT=300 # of processor time, for what is constant
SECONDS_OF_INVARIANTS=100
ANDS=30000 # gates of a point of which all bits are asked, at most
mkdir -p "$WORK" && cd "$HERE/../../.." || exit 2

# toggles DAT: "file signal[bit] 1", or 0 where it never toggled; a bit of all modules of a file.
toggles() {
  awk -f "$HERE/coverage_point.awk" -f - "$1" <<'EOF'
/^C / && kind_of($0) == "toggle" {
  hits[bit_of(file_of($0), value($0, "o"))] += $NF
}
END { for (bit in hits) print bit, is_covered("toggle", hits[bit]) }
EOF
}

# merge BASE COMMAND: BASE.raw through ABC; what is too large for scorr is left with the constants that
# it has by structure.
merge() {
  (ulimit -t $SECONDS_OF_POINT; exec "$ABC" -c "&read $1.raw; $2; &write $1.aig") &&
    [ -s "$1.aig" ]
}

# read_point NAME TOP PARAMETERS [any]: NAME.raw, the circuit of the point with all signals as
# outputs, NAME.wires, NAME.map; any: NAME.any.*, registers without reset start at any value.
read_point() {
  local base=$WORK/$1${4:+.any} start="setundef -init -zero"
  [ -z "$4" ] || start=
  rm -f "$base.aig"
  {
    echo "read_verilog -nodpi -defer -formal -mem2reg -sv -I rtl $(sed 's|^|rtl/|' rtl/files.f | tr '\n' ' ')"
    echo "chparam $3 $2"
    echo "hierarchy -check -top $2"
    sed 's|.*/||; s|.*|setattr -set sq_file "&" A:src=*&:*/w:*|' rtl/files.f
    cat <<EOF
proc
flatten
delete t:\$assert t:\$assume t:\$cover
setundef -anyseq
select -set signals w:* w:\$* %d
tee -q -o $base.wires dump -n @signals
expose @signals
opt_clean
sim -clock clk_i -resetn rst_ni -n 0 -w
$start
async2sync
dffunmap
techmap
aigmap
opt_clean
write_aiger -zinit -map $base.map $base.raw
EOF
  } >"$base.ys"
  "$YOSYS" -q -s "$base.ys" >"$base.log" 2>&1 ||
    { echo "constants: $1: $(tail -1 "$base.log")"; return 1; }
}

# with_outputs AIG NOT OUTPUT...: that circuit with these outputs alone; NOT = 1: each is followed by
# its complement.
with_outputs() {
  local aig=$1 not=$2 m inputs latches outputs ands
  shift 2
  read -r _ m inputs latches outputs ands < <(head -1 "$aig")
  echo "aig $m $inputs $latches $(($# * (1 + not))) $ands"
  head -n $((1 + latches)) "$aig" | tail -n +2
  head -n $((1 + latches + outputs)) "$aig" | tail -n +$((2 + latches)) |
    awk -v not="$not" 'NR == FNR { want[$1]; next }
      FNR - 1 in want { print $1; if (not) print $1 % 2 ? $1 - 1 : $1 + 1 }' <(printf '%s\n' "$@") -
  tail -n +$((2 + latches + outputs)) "$aig"
}

# ask BASE [BITS]: BASE.bits (constants.awk) of the bits in the file BITS, "file signal[bit]", or of all;
# its outputs are those of BASE.aig, which is BASE.raw with these outputs after ABC.
ask() {
  local base=$1 latches outputs open
  read -r _ _ _ latches outputs _ < <(head -1 "$base.raw")
  head -n $((1 + latches + outputs)) "$base.raw" |
    awk -v wires="$base.wires" -v map="$base.map" -f "$HERE/constants.awk" |
    awk -v bits="$2" 'BEGIN { while (bits != "" && (getline line < bits) > 0) asked[line] }
      bits == "" || ($1 " " $2) in asked' >"$base.asked"
  open=$(awk '{ for (i = 4; i <= NF; i++) if ($i != "in") print $i }' "$base.asked" | sort -nu)
  with_outputs "$base.raw" 0 $open >"$base.part" && mv "$base.part" "$base.raw"
  merge "$base" '&scorr -k -C 1000' || merge "$base" '&st' || return 1
  read -r _ _ _ latches outputs _ < <(head -1 "$base.aig")
  head -n $((1 + latches + outputs)) "$base.aig" | tail -n +$((2 + latches)) |
    paste -d' ' - <(echo "$open") |
    awk 'FILENAME == "-" { if ($1 > 1) at[$2] = NR - 1; next }
      { line = $1 " " $2 " " $3
        for (i = 4; i <= NF; i++) line = line ($i == "in" ? " in" : $i in at ? " " at[$i] : "")
        print line }' - "$base.asked" >"$base.bits.new"
  mv "$base.bits.new" "$base.bits"
  rm -f "$base.raw" "$base.ys" "$base.wires" "$base.map" "$base.asked"
}

# reduce NAME TOP PARAMETERS: NAME.aig and NAME.bits; of a large point only of what no point toggled.
reduce() {
  local base=$WORK/$1 ands bits=
  read_point "$@" || return 1
  read -r _ _ _ _ _ ands < <(head -1 "$base.raw")
  [ "$ands" -le $ANDS ] || bits=$WORK/never.txt
  ask "$base" $bits >>"$base.log" 2>&1 ||
    { echo "constants: $1: $(tail -1 "$base.log")"; return 1; }
}

# still_constant NAME TOP PARAMETERS: NAME.still, those of NAME.wrong ("file signal[bit]") that are
# constants with registers at any value too.
still_constant() {
  local base=$WORK/$1.any
  read_point "$@" any && ask "$base" "$WORK/$1.wrong" >>"$base.log" 2>&1 || return 1
  awk 'NF == 3 { print $1, $2 }' "$base.bits" >"$WORK/$1.still"
  rm -f "$base".*
}

# invariants NAME: NAME.proven, the outputs of NAME.aig that are constants after all, of those that
# have a bit that no point toggled. Each is asked for alone, once as 0 and once as 1.
invariants() {
  local base=$WORK/$1 open o n=0
  [ ! -e "$base.proven" ] || return 0 # of a run that was cut
  open=$(awk 'NR == FNR { never[$1 " " $2]; next }
    ($1 " " $2) in never && !/ in( |$)/ { for (i = 4; i <= NF; i++) print $i }' \
    "$WORK/never.txt" "$base.bits" | sort -nu)
  [ -n "$open" ] || { : >"$base.proven"; return 0; }
  with_outputs "$base.aig" 1 $open >"$base.open"
  for o in $open $open; do
    printf 'read_aiger %s; cone -s -O %d; scleanup; echo output %d; pdr -F %d\n' \
      "$base.open" $n "$(sed -n $((n / 2 + 1))p <<<"$open")" "$FRAMES"
    n=$((n + 1))
  done >"$base.abc"
  (ulimit -t $SECONDS_OF_INVARIANTS; exec "$ABC" -f "$base.abc" >"$base.log" 2>&1)
  awk '/^output [0-9]+/ { o = $2 } /^Property proved/ { print o }' "$base.log" >"$base.proven.new"
  mv "$base.proven.new" "$base.proven"
  rm -f "$base.open" "$base.abc"
}

export WORK HERE YOSYS ABC FRAMES SECONDS_OF_POINT SECONDS_OF_INVARIANTS ANDS
export -f merge read_point with_outputs ask reduce still_constant invariants
"$SQSIM" cosim --block all --list --json | awk -F'"' '!/"coverage_cases":0/ {
    parameters = $0
    sub(/.*"parameters":{"/, "", parameters); sub(/}.*/, "", parameters)
    gsub(/":/, " ", parameters); gsub(/,"/, " -set ", parameters)
    print $4 "_" $12 " " $8 " -set " parameters
  }' | while read -r name top parameters; do
    [ -f "$OUT/points/${name}_coverage.dat" ] && echo "$name $top $parameters"
  done >"$WORK/points.txt"
toggles "$OUT/merged.dat" | sed -n 's/ 0$//p' | sort >"$WORK/never.txt"
sources=$(cat "$WORK/never.txt" rtl/*.sv rtl/*/*.sv rtl/*.svh "$HERE"/constants.* | sha256sum)
while read -r name top parameters; do # what was made of other sources or parameters is made again
  digest=$(sha256sum <<<"$sources $top $parameters")
  [ "$digest" = "$(cat "$WORK/$name.digest" 2>/dev/null)" ] || rm -f "$WORK/$name."*
  echo "$digest" >"$WORK/$name.digest"
  [ -e "$WORK/$name.bits" ] || printf '%s\n' "$name" "$top" "$parameters"
done <"$WORK/points.txt" | xargs -r -d '\n' -P "$JOBS" -n 3 bash -c 'reduce "$@"' reduce || exit 1

cut -d' ' -f1 "$WORK/points.txt" | xargs -P "$JOBS" -n 1 bash -c 'invariants "$1"' invariants || exit 1

# verdicts NAME: "toggled|constant|wrong|open file signal[bit]" of what the point has; wrong: both.
verdicts() {
  toggles "$OUT/points/$1_coverage.dat" | awk -v proven="$WORK/$1.proven" '
    BEGIN { while ((getline line < proven) > 0) constant[line] }
    FILENAME != "-" {
      open[$1 " " $2] = 0
      for (i = 4; i <= NF; i++) if (!($i in constant)) open[$1 " " $2]++
      next
    }
    { bit = $1 " " $2; is_constant = bit in open && open[bit] == 0
      print ($3 ? (is_constant ? "wrong" : "toggled") : is_constant ? "constant" : "open"), bit
    }' "$WORK/$1.bits" -
}
RC=0
: >"$WORK/all.txt"
while read -r name top parameters; do
  verdicts "$name" >"$WORK/verdicts.txt"
  cat "$WORK/verdicts.txt" >>"$WORK/all.txt"
  rm -f "$WORK/$name.still"
  sed -n 's/^wrong //p' "$WORK/verdicts.txt" >"$WORK/$name.wrong"
  [ ! -s "$WORK/$name.wrong" ] || printf '%s\n' "$name" "$top" "$parameters"
done <"$WORK/points.txt" >"$WORK/doubted.txt"
xargs -r -d '\n' -P "$JOBS" -n 3 bash -c 'still_constant "$@"' still_constant <"$WORK/doubted.txt" || exit 1
while read -r name _ _; do
  [ -s "$WORK/$name.still" ] || continue
  RC=1
  sed "s/^/constants: $name: toggled, and called a constant: /" "$WORK/$name.still" >&2
done <"$WORK/points.txt"
awk '$1 != "constant" { other[$2 " " $3] } { seen[$2 " " $3] }
  END { for (bit in seen) if (!(bit in other)) print bit }' "$WORK/all.txt" | sort >"$OUT/constants.txt"
exit $RC
