#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Faults in C that once nobody found are found, and a dozen of the day's; a fault that no test finds fails `make survivors`.
. "$(dirname "$0")/../cli/lib.sh"
daily "faults in C" || finish
MUTATE="python3 $ROOT/tests/mutate/mutate.py -j 2 -o $W/found"
found() { "$@" >"$W.out" 2>&1 && return; sed 's/^/# /' "$W.out"; return 1; }
ok "faults that once were missed" found $MUTATE -f "$ROOT/tests/mutate/missed.txt"
ok "a dozen of today" found $MUTATE -n 12 -s "$DAY"
finish
