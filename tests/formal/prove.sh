# SPDX-License-Identifier: Apache-2.0
# How properties are proven. Yosys reads rtl/ and a harness of this folder and writes its assertions
# as AIGER, with every register that no reset sets at any value. ABC merges equal registers (scorr)
# and looks for an inductive invariant under which none can fail (pdr): what is proven holds for all
# inputs and all time. A wrong copy is refuted for one named property by a run that breaks it (bmc3).
# ROOT is the project's folder, W a scratch folder, HANG the seconds that count as a hang.

# aiger RTL_DIR TOP "NAME VALUE ..." PROPERTY OUT: those assertions ("*": all) into OUT.aig, their
# names into OUT.names.
aiger() {
  local rtl=$1
  timeout "$HANG" yosys -q -p "
    read_verilog -nodpi -defer -formal -sv -I $rtl $(sed "s|^|$rtl/|" "$rtl/files.f" | tr '\n' ' ') \
      $(echo "$ROOT"/tests/formal/*.sv)
    ${3:+chparam $(sed -E 's/([A-Za-z0-9]+) ([0-9]+)/-set \1 \2/g' <<<"$3") $2}
    hierarchy -check -top $2
    proc; flatten; select -assert-min 1 t:\$assert c:*$4 %i
    delete t:\$assert c:*$4 %d; tee -q -o $5.names select -list t:\$assert
    opt_clean; async2sync; memory_map; opt_clean; techmap; dffunmap; opt_clean; abc -g AND
    aigmap; opt_clean; write_aiger -zinit $5.aig" >"$5.log" 2>&1 || { cat "$5.log"; return 2; }
}

# decide ABC PROVEN REFUTED RTL_DIR TOP PARAMETERS PROPERTY OUT: 0 where these commands of ABC prove it, 1 where they
# refute it, as its log has it, 2 neither, reason on stdout
decide() {
  local abc=$1 proven=$2 refuted=$3; shift 3
  aiger "$@" || return
  timeout "$HANG" yosys-abc -c "read_aiger $5.aig; strash; orpos; $abc" >"$5.abc" 2>&1
  grep -q "$proven" "$5.abc" && return
  grep -q "$refuted" "$5.abc" && return 1
  cat "$5.abc"
  return 2
}
prove() { decide "scorr; dc2; pdr" 'Property proved' 'was asserted in frame' "$@"; }
# The same of a circuit without registers.
combinational() { decide iprove '^UNSATISFIABLE' '^SATISFIABLE' "$@"; }

# refute RTL_DIR TOP PARAMETERS PROPERTY OUT: 0 if some run breaks it
refute() {
  aiger "$@" || return
  timeout "$HANG" yosys-abc -c "read_aiger $5.aig; strash; orpos; bmc3 -F 60 -T 60" >"$5.abc" 2>&1
  grep -q 'was asserted in frame' "$5.abc"
}

# induct RTL_DIR TOP PARAMETERS PROPERTY OUT JOINED REMOVED: where an invariant is written down, one
# step of it by Yosys' SAT solver. JOINED: NAME=SIGNAL ..., wires of the harness and what they show
# of the block; REMOVED: instances whose outputs may be anything. As prove; a property is kept with
# all others, as the invariant is theirs together.
induct() {
  local rtl=$1 pair name join="" remove=""
  for pair in $6; do join+="connect -set ${pair%=*} ${pair#*=}; "; done
  for name in $7; do remove+=" */c:$name"; done
  timeout "$HANG" yosys -q -p "
    read_verilog -nodpi -defer -formal -sv -I $rtl $(sed "s|^|$rtl/|" "$rtl/files.f" | tr '\n' ' ') \
      $(echo "$ROOT"/tests/formal/*.sv)
    chparam $(sed -E 's/([A-Za-z0-9]+) ([0-9]+)/-set \1 \2/g' <<<"$3") $2
    hierarchy -check -top $2
    proc; ${remove:+delete $remove;} flatten; tee -q -o $5.names select -list t:\$assert
    $join opt_clean; async2sync; memory_map; opt_clean
    sat -verify -prove-asserts -set-assumes -tempinduct -maxsteps 2 -seq 1 -set-at 1 rst_n 0" >"$5.log" 2>&1 && return
  grep -q 'proof did fail' "$5.log" && return 1
  cat "$5.log"
  return 2
}
