# SPDX-License-Identifier: Apache-2.0
# Which outputs of an AIGER file each bit of the RTL is, and which of them are no constants.
#
#   head -n (1 + LATCHES + OUTPUTS) FILE.aig | awk -v wires=FILE.wires -v map=FILE.map -f constants.awk
#
# wires is what Yosys dumps of the wires, with attribute sq_file; map is what it writes beside the
# AIGER. Prints "file signal[bit] COPIES OUTPUT ..." for every bit of every signal: how many there
# are in the point, and the outputs that are no constants; "in" for an input of the point. An element
# of one bit has both its names: "file signal[element]" if it is a scalar.
BEGIN {
  while ((getline line < wires) > 0) {
    if (line ~ /attribute \\sq_file /) { split(line, part, "\""); file = part[2] }
    else if (line ~ /^ *wire /) {
      name = line; sub(/.* \\/, "", name)
      signal = name; sub(/.*\./, "", signal)
      of[name] = file " " signal; width[name] = 1; file = ""
      if (match(line, / width [0-9]+/)) width[name] = substr(line, RSTART + 7, RLENGTH - 7) + 0
    }
  }
  while ((getline line < map) > 0) {
    split(line, word, " ")
    if (word[1] == "output") output[word[4], word[3]] = word[2]
    if (word[1] == "input") input[word[4], word[3]] = 1
  }
}
NR == 1 { latches = $4; next }
NR > 1 + latches { literal[NR - 2 - latches] = $1 }
function count(key, name, b,    o) {
  copies[key]++
  if ((name, b) in input) open[key] = open[key] " in"
  else if ((name, b) in output) { # what is none is tied to a constant
    o = output[name, b]
    if (literal[o] > 1) open[key] = open[key] " " o
  }
}
END {
  for (name in of) {
    for (b = 0; b < width[name]; b++) count(of[name] "[" b "]", name, b)
    if (width[name] == 1 && of[name] ~ /\]$/) count(of[name], name, 0)
  }
  for (key in copies) print key, copies[key] open[key]
}
