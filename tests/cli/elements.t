#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Elements of the block-scaled formats (SPEC Q.1) against PyPI ml_dtypes, which SQ_PYTHON (python3)
# must have: every code, every tie and its neighbours, 10^7 random binary32. `make element-check` takes
# all 2^32 of E2M1 and E4M3. tests/unit/scaled/test_element.c judges the same without ml_dtypes.
. "$(dirname "$0")/lib.sh"
PYTHON=${SQ_PYTHON:-python3}
timeout $HANG "$PYTHON" "$ROOT/tests/cli/elements.py" "$(dirname "$SQSIM")/tests/cli/element_codes" >"$W.out" 2>"$W.err"
RC=$?
if [ $RC = 77 ] || ! command -v "$PYTHON" >/dev/null; then
  skip "elements equal ml_dtypes" "$PYTHON has no ml_dtypes"
else
  sed 's/^/# /' "$W.out" "$W.err"
  ok "elements equal ml_dtypes" [ $RC = 0 ]
fi
finish
