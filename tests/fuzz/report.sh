#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# report.sh DIR: build/verification/fuzz.md, from the logs that fuzz.sh left in DIR, and from
# the committed corpora.
set -eu
dir=$1
ls "$dir"/*.log >/dev/null 2>&1 || { echo "fuzz-report: skipped: no logs in $dir; make fuzz leaves them" >&2; exit 3; }
revisions=$(grep -aho '^fuzz.sh: .*revision .*' "$dir"/*.log | sed 's/.*revision //' | sort -u)
case $revisions in
*-dirty* | *unknown*) echo "fuzz-report: refused: runs of a changed checkout: $(echo $revisions)" >&2; exit 1 ;;
esac
[ "$(wc -l <<<"$revisions")" = 1 ] || { echo "fuzz-report: refused: runs of several revisions: $(echo $revisions)" >&2; exit 1; }
echo "<!-- make fuzz-report; $(reports/revision.sh); $(clang --version | head -1) -->"
cat <<'END'
# Fuzzing of the readers

libFuzzer with AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer on the harnesses of
`tests/fuzz/`, which read from memory and also check what must hold of what was accepted. `make fuzz`
makes the logs, `make fuzz-report` this page; `make test` replays the corpus. Edges are those of the
harness, `models/` and `sim/` together; flat: seconds since the last new edge when the target was
stopped; slowest: seconds of wall time of one execution.

END
echo "Revision that ran: $revisions."
echo
echo '| target | executions | per second | edges | flat, s | slowest, s | inputs kept | kB packed | crashes, leaks, hangs |'
echo '|---|---|---|---|---|---|---|---|---|'
for log in "$dir"/*.log; do
  name=$(basename "$log" .log)
  archive=tests/fuzz/corpus/$name.tar.xz
  kept=$(tar tf "$archive" | grep -vc '/$') packed=$(stat -c %s "$archive")
  grep -a '^fuzz.sh:\|cov:\|^stat::number_of_executed\|^stat::slowest\|^SUMMARY' "$log" |
    awk -v name="$name" -v kept="$kept" -v packed="$packed" '
      /^stat::number/ { runs += $2 }
      /^stat::slowest/ { if ($2 > slowest) slowest = $2 }
      /^fuzz.sh:/ { seconds += $3; flat = $5 }
      /^SUMMARY/ { found++ }
      / cov: / { for (i = 1; i < NF; i++) if ($i == "cov:" && $(i + 1) > edges) edges = $(i + 1) }
      END { printf "| %s | %d | %.0f | %d | %d | %d | %d | %.1f | %d |\n", name, runs,
              runs / (seconds ? seconds : 1), edges, flat, slowest, kept, packed / 1000, found }'
done | awk -F'|' '{ print; runs += $3; kept += $8; packed += $9; found += $10 }
    END { printf "| **all** | %d | | | | | %d | %.1f | %d |\n", runs, kept, packed, found }'
