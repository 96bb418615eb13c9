#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The documents are true: every output in a README is what its command prints, every link leads
# somewhere, every make target that is named exists.
. "$(dirname "$0")/../cli/lib.sh"

# Blocks "<!-- run: sqsim ... -->" followed by a text fence. With UPDATE=1 they are rewritten.
check_block() { # FILE COMMAND
  awk -v want="<!-- run: $2 -->" '$0 == want {hit = 1; next} hit && /^```text/ {on = 1; next}
    on && /^```/ {exit} on' "$1" >"$W/want"
  (cd "$W" && eval "timeout $HANG $SQSIM ${2#sqsim }" >"$W/got" 2>/dev/null </dev/null)
  if [ "${UPDATE:-0}" = 1 ]; then
    awk -v want="<!-- run: $2 -->" -v got="$W/got" '{if (!on) print} $0 == want {hit = 1}
      hit && /^```text/ {on = 1; hit = 0; while ((getline line < got) > 0) print line; next}
      on && /^```/ {on = 0; print}' "$1" >"$W/new" && cp "$W/new" "$1"
    return
  fi
  [ -s "$W/got" ] || { echo "# it printed nothing"; return 1; }
  cmp -s "$W/want" "$W/got" && return
  diff "$W/want" "$W/got" | head -5 | sed 's/^/# /'
  return 1
}
ln -s "$ROOT/traces" "$ROOT/sim" "$W" # the paths that commands name
for doc in $(git -C "$ROOT" ls-files '*.md' 2>/dev/null || find . -name '*.md'); do
  files_of "$ROOT/$doc"
  while read -r command; do
    [[ $command != *"--format all"* ]] || daily "$doc: $command" || continue
    ok "$doc: $command" check_block "$ROOT/$doc" "$command"
  # (a capture of C++, [&](, is no link)
  done < <(sed -n 's/^<!-- run: \(.*\) -->$/\1/p' "$ROOT/$doc")
  while read -r link; do
    ok "$doc: link $link" [ -e "$ROOT/$(dirname "$doc")/$link" ]
  done < <(grep -o '[^&]](\([^)#]*\))' "$ROOT/$doc" | sed 's/^.](//; s/)$//' | grep -v '^https\?:' | sort -u)
  while read -r target; do
    ok "$doc: make $target" grep -qs "^$target:\|[. ]$target\( \|:\|$\)" "$ROOT/Makefile" "$ROOT"/*/rules.mk "$ROOT"/{reports,tests,sim}/*/rules.mk
  done < <(grep -o '`make [a-z-]*`' "$ROOT/$doc" | tr -d '`' | awk '{print $2}' | sort -u)
done
ok "some outputs were compared" [ "$(cd "$ROOT" && cat README.md sim/{cosim,machine}/README.md reports/gpu/README.md | grep -c '^<!-- run: ')" -ge 4 ]
# make test ends with 0 where all tests passed, and else with another status and a line for each that failed.
printf 'include Makefile\nreport:\n\t$(call proven,$(T))\n' >"$W/report.mk"
reported() { make -sC "$ROOT" -f "$W/report.mk" TAP="$W/tap" T="$W/$1.t" report >"$W/reported" 2>&1; }
printf '#!/bin/sh\necho ok 1; echo 1..1\n' >"$W/good.t"
printf '#!/bin/sh\necho ok 1; echo not ok 2 - it broke; echo 1..2\n' >"$W/broken.t"
printf '#!/bin/sh\necho ok 1; echo 1..1; exit 3\n' >"$W/ended.t"
ok "make test: 0 where all passed" reported good
ok "make test: not 0 where one failed" eval "! reported broken"
ok "make test: the last line names it" grep -q '^failed: .*not ok 2 - it broke' "$W/reported"
ok "make test: not 0 where a program failed" eval "! reported ended"
ok "make test: the report names its status" grep -q 'exit status: 3' "$W/reported"
finish
