#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# No report under git names a "-dirty" revision in its first line (that of a CSV of a sweep is in the .json
# beside it): nobody could make it again. What fails is made anew from a clean checkout by its make target.
. "$(dirname "$0")/../cli/lib.sh"
dirty=$(git ls-files reports 2>/dev/null | grep -E '\.(csv|csv\.json|jsonl|md|txt|svg)$' | while read -r f; do
  head -1 "$f" | grep -qE -- '-dirty\b' && echo "$f"; done)
if ! git rev-parse -q --verify HEAD >/dev/null 2>&1; then
  skip "no report of a dirty revision" "no git"
else
  ok "no report of a dirty revision" [ -z "$dirty" ]
  [ -z "$dirty" ] || sed 's/^/# dirty: /' <<<"$dirty" | head -40
fi
finish
