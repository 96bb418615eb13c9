#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Figures that people quote, computed anew by a plain account from the documents on drawn machines and models of unequal
# sides, and parts that must add up in every JSON object (figures.py).
. "$(dirname "$0")/../cli/lib.sh"
. "$ROOT/tests/docs/energy_table.sh"
{ table 320000 640000; vector_line; } >"$W/t.jsonl"
sed 's/"switching":/"switching":0,"wires":/g' "$W/t.jsonl" >"$W/wires.jsonl"
printf 'name: m\ndram: [{type: one, low: 5 pJ/bit, high: 9 pJ/bit, source: s}]\nsram: {read_low: 1 pJ/bit, read_high: 2 pJ/bit, write_low: 3 pJ/bit, write_high: 4 pJ/bit, leak_low: 10 pW/bit, leak_high: 10 pW/bit, source: s}\n' >"$W/memory.yaml"
{ cat "$ROOT/sim/machines/chip.yaml"; printf '  encoder: yes\n  vector: yes\n  attend: 2\n  head: 32\n'; } >"$W/token.yaml"
token_table 10 >"$W/token.jsonl"
python3 "$ROOT/tests/llm/figures.py" "$SQSIM" "$W" "${SQ_SEED:-1}" "${FIGURES:-12}" ${FIGURES_TOOLS-tools}
