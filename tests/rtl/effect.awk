# SPDX-License-Identifier: Apache-2.0
# What faults do to a netlist, as a circuit with an output for every fault.
#
#   awk -v faults="3 7" -v map=FILE.map [-v own=1] -f effect.awk FILE.aag >FILE.blif
#
# FILE.aag and its map are of Yosys; input mutsel = i turns on fault i, latches start at 0.
# An output is 1 where the fault changes an output or a next state of the netlist, in the state and
# for the inputs of this cycle. The registers are those of the netlist without faults: if it is
# 0 in every state that they reach, they are always the same with the fault, and no input shows it.
# own: each fault has registers of its own, and only outputs count.
# Only what out_valid_o says to be there counts on the outputs out_<name>_o of a stream.
BEGIN {
  n_faults = split(faults, fault, " ")
  while ((getline line < map) > 0) {
    split(line, word, " ")
    if (word[1] == "input" && word[4] == "mutsel") select_bit[word[2]] = word[3]
    if (word[1] == "output") name_of[word[2]] = word[4]
    if (word[1] == "output" && word[4] == "out_valid_o") valid = word[2]
  }
}
# Literals are those of AIGER: 2 v, 2 v + 1 for not v, 0 and 1.
function not_of(a) { return a % 2 ? a - 1 : a + 1 }
function and_of(a, b,    t) {
  if (a > b) { t = a; a = b; b = t }
  if (a == 0 || a == not_of(b)) return 0
  if (a == 1 || a == b) return b
  if (!((a, b) in known)) {
    known[a, b] = 2 * ++top
    print ".names", name(a), name(b), "n" top "\n11 1"
  }
  return known[a, b]
}
function or_of(a, b) { return not_of(and_of(not_of(a), not_of(b))) }
function xor_of(a, b) { return or_of(and_of(a, not_of(b)), and_of(not_of(a), b)) }
# Its name in the BLIF, which has no inverted inputs.
function name(a) {
  if (a % 2 == 0) return "n" a / 2
  if (!(a in inverted)) { inverted[a]; print ".names n" (a - 1) / 2, "i" (a - 1) / 2 "\n0 1" }
  return "i" (a - 1) / 2
}
function put(a, to) { print a < 2 ? ".names " to (a ? "\n1" : "") : ".names " name(a) " " to "\n1 1" }

function at(literal) { return literal % 2 ? not_of(value[literal - 1]) : value[literal] }
# All gates with fault f, 0 for none: next states and outputs into result[].
function evaluate(f, result,    i) {
  for (i in select_bit) value[input[i]] = int(f / 2 ^ select_bit[i]) % 2
  for (i = 1; i <= n_gates; i++) value[gate[i]] = and_of(at(left[i]), at(right[i]))
  for (i = 1; i <= n_outs; i++) result[i] = at(out[i])
  for (i = n_latches + 1; i <= n_outs; i++)
    if (valid != "" && i - n_latches - 1 != valid && name_of[i - n_latches - 1] ~ /^out_/)
      result[i] = and_of(result[i], result[n_latches + 1 + valid])
}
# Latches for what is evaluated next; their next states are called next<copy>_1 and so on.
function latches(copy,    i) {
  for (i = 1; i <= n_latches; i++) {
    value[latch[i]] = 2 * ++top
    print ".latch next" copy "_" i, "n" top, 0
  }
}
function put_next(copy, result,    i) { for (i = 1; i <= n_latches; i++) put(result[i], "next" copy "_" i) }

NR == 1 { n_inputs = $3; n_latches = $4; n_outs = $4 + $5; n_gates = $6; value[0] = 0; next }
NR - 1 <= n_inputs { input[NR - 2] = $1; next }
{ row = NR - 1 - n_inputs }
row <= n_latches { latch[row] = $1; out[row] = $2; next }
row <= n_outs { out[row] = $1; next }
row <= n_outs + n_gates { row -= n_outs; gate[row] = $1; left[row] = $2; right[row] = $3 }
END {
  printf ".model effect\n.inputs"
  for (i = 0; i < n_inputs; i++)
    if (!(i in select_bit)) { value[input[i]] = 2 * ++top; printf " n%d", top }
  printf "\n.outputs"
  for (k = 1; k <= n_faults; k++) printf " bad%d", fault[k]
  print ""
  latches(0)
  evaluate(0, good)
  put_next(0, good)
  for (k = 1; k <= n_faults; k++) {
    if (own) latches(k)
    evaluate(fault[k], bad)
    if (own) put_next(k, bad)
    differs = 0
    for (i = own ? n_latches + 1 : 1; i <= n_outs; i++) differs = or_of(differs, xor_of(good[i], bad[i]))
    put(differs, "bad" fault[k])
  }
  print ".end"
}
