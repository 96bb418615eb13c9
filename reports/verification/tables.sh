#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A page of reports/verification from what its campaign left:
# tables.sh SQSIM coverage COVERAGE_DIR | mutants MUTANTS_DIR | cosim COSIM_JSONL
set -euo pipefail
SQSIM=$(readlink -f "$1")
PART=$2 FROM=$3

# rows PROGRAM FILE...: awk over JSON lines; get(key) is the value of a number or a string.
rows() {
  local program=$1; shift
  awk 'function get(key,    at, rest) {
         at = index($0, "\"" key "\":")
         if (at == 0) return ""
         rest = substr($0, at + length(key) + 3)
         sub(/^ *"?/, "", rest)
         sub(/["},].*/, "", rest)
         return rest
       }
       function percent(n, of) { return of > 0 ? sprintf("%.2f %%", 100 * n / of) : "none" }
       '"$program" "$@"
}
table() { # HEAD...: the head of a Markdown table
  local IFS='|'
  printf '|%s|\n|' "$*"
  printf -- '---|%.0s' "$@"
  printf '\n'
}

echo "<!-- make verification-$PART; $("$SQSIM" --version | head -1);" \
  "$(${VERILATOR:-verilator} --version | cut -d' ' -f1,2);" \
  "$(${YOSYS:-yosys} -V | cut -d' ' -f1,2);" \
  "revision $(reports/revision.sh) -->"

coverage() {
  printf '\n# Lines and toggled bits of rtl/\n\n'
  table file lines covered "waived lines" bits toggled constant "waived bits"
  rows '{ printf "|%s|%d|%s|%d|%d|%s|%d|%d|\n", get("file") == "" ? "total" : "`" get("file") "`",
                 get("lines"), percent(get("lines_covered"), get("lines")), get("lines_waived"),
                 get("bits"), percent(get("bits_toggled"), get("bits")), get("bits_constant"),
                 get("bits_waived") }
        get("file") == "" {
          free = get("bits") + get("bits_waived")
          all = free + get("bits_constant")
          printf "\nWithout the waivers %s of the bits that are not proven constant, %s of all.\n",
                 percent(get("bits_toggled"), free), percent(get("bits_toggled"), all)
        }' "$FROM/coverage.jsonl"
}
mutants() {
  printf '\n# Faults in the netlists of the blocks\n\n'
  table block points mutants found "proven equal" other
  rows '/"summary":true/ && get("block") != "" {
          block = get("block")
          if (!(block in n)) name[n_blocks++] = block
          if (!((block, get("point")) in seen)) points[block]++
          seen[block, get("point")]
          n[block] += get("mutants"); killed[block] += get("killed")
          equal[block] += get("proven_equal")
        }
        /"summary":true/ && get("block") == "" {
          for (i = 0; i < n_blocks; i++) {
            b = name[i]
            printf "|%s|%d|%d|%d|%d|%d|\n", b, points[b], n[b], killed[b], equal[b],
                   n[b] - killed[b] - equal[b]
          }
          printf "|total| |%d|%d|%d|%d|\n\n", get("mutants"), get("killed"), get("proven_equal"),
                 get("mutants") - get("killed") - get("proven_equal")
          seeds = $0
          sub(/.*"seeds":"/, "", seeds); sub(/".*/, "", seeds)
          printf "%.2f %% found or proven equal, %d explained, seeds %s. Neither found nor proven:\n\n",
                 100 * (get("killed") + get("proven_equal")) / get("mutants"), get("explained"), seeds
        }' "$FROM/mutants.jsonl"
  table block point "seed, number" fault verdict
  awk '!/: proven equal$/ { # block point seed-number: -mode ... -port ...[ at source]: verdict
    port = substr($0, index($0, "-port "))
    verdict = substr(port, index(port, ": ") + 2)
    port = substr(port, 1, index(port, ": ") - 1)
    source = sub(/ at [^ ]*$/, "", port) ? substr($0, index($0, port) + length(port)) : "" # Yosys made some cells itself
    sub(/: .*/, "", source)
    sub(/:$/, "", $3)
    printf "|%s|%s|%s|`-mode %s %s`%s|%s|\n", $1, $2, $3, $5, port, source, verdict
  }' "$FROM/survivors.txt"
}
cosim() {
  printf '\n# Co-simulation of every block at every point\n\n'
  table block points cases cycles handshakes tiles integers "value mismatches" "cycle mismatches"
  rows '!/"summary":true/ {
          block = get("block")
          if (!(block in points)) name[n++] = block
          points[block]++; cases[block] += get("cases"); beats[block] += get("beats")
          cycles[block] += get("cycles"); tiles[block] += get("tiles")
          integers[block] += get("integers")
          value[block] += get("value_mismatches"); cycle[block] += get("cycle_mismatches")
        }
        /"summary":true/ {
          for (i = 0; i < n; i++)
            printf "|%s|%d|%d|%d|%d|%d|%d|%d|%d|\n", name[i], points[name[i]], cases[name[i]],
                   cycles[name[i]], beats[name[i]], tiles[name[i]], integers[name[i]],
                   value[name[i]], cycle[name[i]]
          printf "|total|%d|%d|%d|%d|%d|%d|%d|%d|\n\nSeed %d.\n", get("points"), get("cases"),
                 get("cycles"), get("beats"), get("tiles"), get("integers"), get("value_mismatches"), get("cycle_mismatches"), get("seed")
        }' "$FROM"
  printf '\n## Sums\n\n'
  printf 'The highest |sum| that left, of the smaller one of both signs, over the largest that it must\n'
  printf 'hold; the least of all points.\n\n'
  awk -v markdown=1 -f tests/rtl/coverage/reach.awk "$FROM"
}
case $PART in coverage | mutants | cosim) "$PART" ;; *) echo "tables.sh: no part $PART" >&2; exit 2 ;; esac
