#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the project says of itself: every section and point of README.md has tests (tests/README.md), it fits one sitting, the
# table of formats in sim/format/README.md is what the program does, the tables of sim/sweeps/README.md are those of docs/, one
# version and one licence everywhere. UPDATE=1 copies the tables.
. "$(dirname "$0")/../cli/lib.sh"

# ---- README.md --------------------------------------------------------------------------------
{ sed -n 's/^## //p' README.md; grep -oiE '\*\*[^*]+\*\*' README.md; } | sort >"$W/said"
rows() { awk -v mark="<!-- $2 -->" '$0 == mark {on = 1; next} on && /^\|/ {print; next} on {exit}' "$1" | sed 1,2d; }
rows tests/README.md claims >"$W/claims"
ok "sections and points are those of tests/README.md" diff "$W/said" <(sed 's/^| \([^|]*\) |.*/\1/' "$W/claims" | sort)
ok "README.md has at most 160 lines and 12 kB" [ "$(wc -l <README.md)" -le 160 -a "$(wc -c <README.md)" -le 12288 ]
ok "there are some" [ "$(wc -l <"$W/claims")" -ge 15 ]
ok "their tests exist" [ -z "$(grep -oE '`[a-z]+/[a-z_0-9]+\.(c|t)`' "$W/claims" | tr -d '`' | while read -r t; do
  [ -f "tests/$t" ] || echo "# no tests/$t"; done | tee >(cat >&2))" ]
ok "every row names one" [ -z "$(grep -v '`' "$W/claims")" ]

# ---- the gate of cycles is 0 ------------------------------------------------------------------
gate=$(sed -n '/^the gate is 0/,/^## /s/^<!-- run: sqsim \(.*\) -->$/\1/p' README.md)
ok "README.md names the command of its gate" [ -n "$gate" ]
sq $gate
ok "it compares cycles, and none differs" grep -qE 'compared with RTL: [1-9][0-9]{5,} cycles.* 0 cycle mismatches' "$W.out"
mkdir -p "$W/late/build" "$W/late/sim/cosim" && cp -r rtl "$W/late/" && cp sim/cosim/sq_{bridge,rtl}.h "$W/late/sim/cosim/"
# A step that is a cycle late once in 256 banks.
sed -i "s/assign low_blocked = /assign low_blocked = low_bank_q[7:0] == 8'd255 \&\& !bank_full_q \&\& l1_valid_q || /" "$W/late/rtl/core/sq_core_ctl.sv"
SQSIM_HOME=$W/late sq $gate
ok "one late cycle in 256 banks exits 1" [ "$RC" = 1 ]

# ---- formats ----------------------------------------------------------------------------------
rows sim/format/README.md formats >"$W/formats"
all=$(sed -n 's/^| `\([a-z0-9_]*\)` .*/\1/p' "$W/formats")
ok "formats of sim/format/README.md" diff <(sort <<<"$all") <("$SQSIM" run --complete |
  awk -F '\t' '$1 == "--format" {print $3}' | tr ' ' '\n' | sort)
ok "families of README.md" diff <(sort <<<"$all") <(sed -n '/^| family /,/^$/s/^|[^|]*|\([^|]*\)|.*/\1/p' README.md | grep -o '`[^`]*`' | tr -d '`' | sort)
ok "README.md counts them" grep -q "\b$(wc -l <<<"$all") formats are built in" README.md
blocks=$("$SQSIM" cosim --block all --list --json 2>/dev/null | grep -o '"block":"[a-z_0-9]*"' | cut -d'"' -f4 | sort -u)
while IFS='|' read -r _ name _ _ files rtl _; do
  name=$(tr -d ' `' <<<"$name")
  for c in eval run; do
    sq "$c" --format "$name" /nowhere
    ok "$c takes $name" grep -qv -- '--format' "$W.err"
  done
  sq quantize --format "$name" /nowhere
  if [ -n "${files// /}" ]; then ok "quantize takes $name" grep -q "cannot" "$W.err"
  else ok "quantize refuses $name" grep -q -- "--format = $name, need" "$W.err"; fi
  ok "$name says its RTL" [ -n "${rtl// /}" ]
  if [ "$rtl" = " not yet " ]; then
    sq cosim --layers --format "$name"
    ok "cosim --layers refuses $name" [ "$RC" = 2 ]
    continue
  fi
  for b in $(tr -d '`,' <<<"$rtl"); do ok "cosim has $b" grep -qx "$b" <<<"$blocks"; done
done <"$W/formats"

# ---- sim/sweeps/README.md ---------------------------------------------------------------------
S=sim/sweeps/README.md
for t in axes derived measures; do
  rows docs/files.md $t | sed 's,(#machines),(../../docs/files.md#machines),' >"$W/want"
  if [ "${UPDATE:-0}" = 1 ]; then
    awk -v mark="<!-- $t -->" -v want="$W/want" '$0 == mark {on = 3}
      on > 0 && /^\|/ {if (--on > 0) print; else while ((getline line < want) > 0) print line; if (!on) on = -1; next}
      on == -1 && /^\|/ {next} {if (on == -1) on = 0; print}' $S >"$W/new" && cp "$W/new" $S
  fi
  ok "table $t of $S" diff "$W/want" <(rows $S $t)
done
for f in sim/sweeps/*; do
  f=${f##*/}
  ok "$S names $f" [ "$f" = README.md -o -n "$(grep -F "\`$f\`" $S)" ]
done

# ---- version and licence --------------------------------------------------------------------------
version=$("$SQSIM" --version | sed -n '1s/sqsim //p')
ok "CHANGELOG.md begins with $version" [ "$(sed -n 's/^## \([0-9][0-9.]*\).*/\1/p' CHANGELOG.md | head -1)" = "$version" ]
ok "its versions fall" [ "$(sed -n 's/^## \([0-9][0-9.]*\).*/\1/p' CHANGELOG.md)" = \
  "$(sed -n 's/^## \([0-9][0-9.]*\).*/\1/p' CHANGELOG.md | sort -rV | uniq)" ]
for tag in $(git tag -l 'v[0-9]*' 2>/dev/null); do ok "CHANGELOG.md has $tag" grep -q "^## ${tag#v}\b" CHANGELOG.md; done
ok "CITATION.cff has it" grep -qx "version: $version" CITATION.cff
ok "CITATION.cff has what the format wants" [ "$(grep -cE '^(cff-version|message|title|authors):' CITATION.cff)" = 4 ]
ok "one licence" [ "$(grep -hoE 'Apache-2.0' README.md CITATION.cff | sort -u)" = Apache-2.0 -a \
  -n "$(grep 'Version 2.0, January 2004' LICENSE)" ]
ok "sources say it" [ -z "$(find models sim lib rtl gpu tests python -name '*.[ch]' -o -name '*.sv' -o -name '*.svh' \
  -o -name '*.cu' -o -name '*.cuh' -o -name '*.py' | while read -r f; do head -3 "$f" | grep -q Apache-2.0 || echo "$f"; done |
  tee >(cat >&2))" ]
finish
