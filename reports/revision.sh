#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The revision that made a number: the commit, "-dirty" behind it where a tracked file differs from
# it. Files under reports/ that commands write do not count: a command that writes several would
# find its own first one changed. A tarball has its revision in the file REVISION.
cat REVISION 2>/dev/null && exit
revision=$(git describe --always 2>/dev/null) || { echo unknown; exit; }
git diff --quiet HEAD -- . ':!reports/*.csv' ':!reports/*.json' ':!reports/*.jsonl' \
  ':!reports/*.md' ':!reports/*.png' ':!reports/*.svg' ':!reports/*.txt' || revision=$revision-dirty
echo "$revision"
