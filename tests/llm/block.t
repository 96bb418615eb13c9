#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A whole block of the program of a token on drawn models of one block, judged by a plain account from SPEC: all logits by their
# digest (block.py). 12 models in `make test`, else 200, or BLOCKS.
. "$(dirname "$0")/../cli/lib.sh"
[ "$SQ_TIER" = test ] && n=12 || n=200
python3 "$ROOT/tests/llm/block.py" "$SQSIM" "$W" "${SQ_SEED:-1}" "${BLOCKS:-$n}"
