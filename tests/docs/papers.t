#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The five papers (make papers): every item has a command and a verdict, or says why not; the pages have all items; rows that
# take seconds print what stands on their page, pictures show it; a rule gives another verdict for another figure; what cannot be is refused.
. "$(dirname "$0")/../cli/lib.sh"
P=$ROOT/reports/papers
ok "98 items with class, claim and verdict, and a command unless open" [ "$("$P/papers.py" check)" = "98 items" ]
ok "the pages have them all, each with a verdict" [ "$(cat "$P"/{sq,gqsa,spqt,spqr,sp24}.md | grep -cE '^\|.*\| [ABCD] \|.*\| (holds|part|no|open|not here): .*\|$')" = 98 ]
ok "no command of theirs failed" [ "$(cat "$P"/*.md | grep -c 'open: failed')" = 0 ]
ok "the counts add up to them" grep -q '^| all | 98 |' "$P/README.md"
printed() { "$P/papers.py" "$SQSIM" test "$W/out" "$1" "$2" 2>&1; }
while IFS='|' read -r paper item; do
  line=$(printed "$paper" "$item")
  ok "$paper, $item: its command prints the figure of the page" grep -qF "| ${line#* | ours } |" "$P/$paper.md"
done <<'END'
sq|Fig. 2a
sq|Fig. 5
sq|Table 1
gqsa|Fig. 6
gqsa|Table 13
spqt|Fig. 8
spqr|Table 1.1
sp24|Storage
END
# The pictures have the figures of the pages, in a copy also one that moves.
mkdir -p "$W/copy/reports/papers" "$W/drawn"
cp "$P/papers.py" "$P/items.txt" "$P"/*.md "$W/copy/reports/papers/"; cp "$P/../svg.sh" "$W/copy/reports/"
"$P/papers.py" pictures "$W/drawn" >"$W/points.csv"
for p in sq gqsa spqt spqr sp24; do
  ok "$p: its picture is that of its page (make papers-pictures)" cmp "$W/drawn/$p.svg" "$P/$p.svg"
  ok "$p: its page shows it, and says what is whose" [ "$(sed -n 6,8p "$P/$p.md" | grep -cE "^!\[.*\]\($p.svg\)|Theirs.*Ours")" = 2 ]
done
ys() { awk -F, -v p="$1,$2,$3" 'index($0, p) == 1 { print $(NF - 2) + 0 }' "$W/points.csv" | xargs; }
in_cell() { awk -F' [|] ' -v i="| $2" -v c="$3" '$1 == i { print $c }' "$P/$1.md" | grep -oE "$4[0-9., ]+" | tail -1 | sed "s/^$4//" | tr -d , | xargs printf '%g\n' | xargs; }
ok "spqt, Fig. 8: ours" [ "$(ys spqt '"Fig. 8: GEMV"' '"ours: 4096 x 4096"')" = "$(in_cell spqt "Fig. 8" 5 '^')" ]
ok "sp24, batches: theirs" [ "$(ys sp24 '"Speed by batch"' '"theirs: INT8 2:4"')" = "$(in_cell sp24 "Speed by batch" 4 '^')" ]
ok "gqsa, Fig. 6: ours" [ "$(ys gqsa '"Fig. 6: one token, 4096 x 4096"' '"ours: 32"')" = "$(in_cell gqsa "Fig. 6" 5 'of 32: ')" ]
sed -i '/^| Fig. 8 /s/1\.47/1.57/' "$W/copy/reports/papers/spqt.md"
"$W/copy/reports/papers/papers.py" pictures "$W/copy" >"$W/moved.csv"
ok "a figure that moves moves its point, and no other" eval '! cmp -s "$W/copy/spqt.svg" "$P/spqt.svg" && [ "$(diff "$W/points.csv" "$W/moved.csv" | grep -c "^>")" = 1 ]'
sed -i '/^| Fig. 8 /s/1\.57/-/' "$W/copy/reports/papers/spqt.md"
ok "a figure that is gone is refused" eval '! "$W/copy/reports/papers/papers.py" pictures "$W/copy" >/dev/null 2>"$W.err" && grep -q "^papers: Fig. 8: ours has no 3 figures behind" "$W.err"'
rm "$W/copy/reports/papers"/*.md
# In a copy: a rule, and what is refused.
items() { printf "$1" >"$W/copy/reports/papers/items.txt"; "$W/copy/reports/papers/papers.py" "$SQSIM" test "$W/more" x One 2>&1; }
one='[x] X\nOne | A | claim | 3\n'
ok "a rule that is true" [ "$(items "$one"'  $ echo "{\\"v\\": 4}"\n  = {a.v}\n  ? holds if a.v > 3 else no: why {a.v}\n')" = "x | One | theirs 3 | ours 4 | holds: why 4" ]
ok "and one that is not" [ "$(items "$one"'  $ echo "{\\"v\\": 2}"\n  = {a.v}\n  ? holds if a.v > 3 else no: why {a.v}\n')" = "x | One | theirs 3 | ours 2 | no: why 2" ]
stays() { # FILE: with no time for a command, a row stays if the page has it with that command
  : >"$W/copy/reports/papers/README.md"; printf '| One | A | claim | 3 | 4 | holds: once | `%s` | old |\n' "$1" >"$W/copy/reports/papers/x.md"
  PAPERS_SECONDS=0 "$W/copy/reports/papers/papers.py" "$SQSIM" later "$W/more" x | grep -qF "ours $2"
}
printf "$one"'  $ echo 4\n  = {a.v}\n  ? holds: why\n' >"$W/copy/reports/papers/items.txt"
ok "a row that is not run again stays, with its revision" eval 'stays "echo 4" "4 | holds: why" && grep -q "| old |$" "$W/copy/reports/papers/x.md"'
ok "but not that of another command" stays "echo 3" "- | open: not run yet"
ok "make papers ends with the last item, where SECONDS are not said" eval '[ "$(cd "$ROOT" && env -u SECONDS make -n papers | grep -o "PAPERS_SECONDS=[0-9]*")" = PAPERS_SECONDS= ]'
says() { items "$one$2" | grep -q "$1"; }
ok "a command that fails is no verdict" says "open: failed" '  $ sqsim run --format none\n  = {a.v}\n  ? holds: why\n'
ok "a verdict without a command is refused" says "'holds' needs a command" '  ? holds: why\n'
ok "a verdict that is none is refused" says "a verdict of holds, part, no, open, not here" '  $ true\n  ? maybe: why\n'
"$P/papers.py" "$SQSIM" test "$W/out" gptq >"$W.out" 2>"$W.err"
ok "a paper that is none is refused" [ "$? $(cat "$W.err")" = "2 papers: R = gptq, need one of sq, gqsa, spqt, spqr, sp24, widths" ]
finish
