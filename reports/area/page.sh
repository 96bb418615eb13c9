#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# page.sh FIGURES PAGE: copies every table of FIGURES into the page, which keeps its text, and the first
# line if it names the same command; --check instead fails with one line where they differ.
set -e -o pipefail
check=
[ "$1" != --check ] || { check=1; shift; }
new=$(mktemp)
trap 'rm -f "$new"' EXIT
awk -v figures="$1" '
  BEGIN {
    while ((getline line < figures) > 0) {
      if (head == "") head = line
      if (line ~ /^<!-- table: /) { name = line; continue }
      if (line == "<!-- end -->") name = ""
      if (name != "") text[name] = text[name] line "\n"
    }
  }
  function command(line) { sub(/ \| .*/, "", line); return line }
  FNR == 1 { print command($0) == command(head) ? head : $0; next }
  on && $0 == "<!-- end -->" { on = 0 }
  !on { print }
  $0 in text { printf "%s", text[$0]; on = 1 }
' "$2" >"$new"
if [ -n "$check" ]; then
  cmp -s "$new" "$2" || { echo "page.sh: $2 does not show the tables of $1"; exit 1; }
else
  cat "$new" >"$2.new"
  mv "$2.new" "$2"
fi
