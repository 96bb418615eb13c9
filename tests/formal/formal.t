#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The proofs of proofs.sh, each also tried on wrong copies, where it must fail: every property of a
# harness has one. FORMAL=all runs all of them with all wrong copies (`make formal`, which names a
# TABLE); otherwise the quick ones, with the first wrong copy of each, which `make test` leaves out.
. "$(dirname "$0")/../rtl/lib.sh"
. "$ROOT/tests/formal/prove.sh"
FORMAL=${FORMAL:-quick}

# CPU seconds of all children since the call before.
cpu_seconds() {
  local now
  times >"$W/times" # of this shell: not in a pipe
  now=$(tail -1 "$W/times" | tr 'ms' '  ' | awk '{print $1 * 60 + $2 + $3 * 60 + $4}')
  SECONDS_CPU=$(awk "BEGIN { printf \"%.1f\", $now - ${CPU_BEFORE:-0} }")
  CPU_BEFORE=$now
}

# proof quick|daily|full BLOCK TOP PARAMETERS SENTENCE [pdr|sat|induction [JOINED [REMOVED]]]
proof() {
  close_proof
  TOP='' # an own wrong copy belongs to the proof before it
  [ "$FORMAL" = all ] || [ "$1" != full ] || return
  [ "$1" != daily ] || daily "$2 ($4): $5" || return
  BLOCK=$2 TOP=$3 PARAMETERS=$4 SENTENCE=$5 METHOD=${6:-pdr} JOINED=${7:-} REMOVED=${8:-}
  [ "$TOP" = "${HARNESS:-}" ] || TRIED=""
  HARNESS=$TOP BROKEN=""
  ok "$BLOCK ($PARAMETERS): $SENTENCE" proven
}
proven() {
  cpu_seconds
  run "$ROOT/rtl" "$PARAMETERS" '*'; local rc=$?
  cpu_seconds
  PROOF_SECONDS=$SECONDS_CPU
  sed -E 's|.*/||' "$W/proof.names" | sort -u >"$W/properties"
  return $rc
}
run() { # RTL_DIR PARAMETERS PROPERTY
  case $METHOD in
    pdr) prove "$1" "$TOP" "$2" "$3" "$W/proof" ;;
    sat) combinational "$1" "$TOP" "$2" "$3" "$W/proof" ;;
    induction) induct "$1" "$TOP" "$2" "$3" "$W/proof" "$JOINED" "$REMOVED" ;;
  esac
}
broken() { # RTL_DIR PARAMETERS PROPERTY
  if [ "$METHOD" = pdr ]; then refute "$1" "$TOP" "$2" "$3" "$W/proof"
  else run "$1" "$2" "$3"; [ $? = 1 ]; fi
}

wanted() { [ -n "$TOP" ] && [ "$SQ_TIER" != test ] && { [ "$FORMAL" = all ] || [ -z "$BROKEN" ]; }; }
# Whether its edit finds its lines is asked of every wrong copy, also of those that are not run.
fault() { # PROPERTY FILE SED
  edited wrong "rtl/$2" "$3" || ok "$1: a wrong $2 differs" false
  wanted || return
  rm -rf "$W/rtl"
  cp -r "$ROOT/rtl" "$W/rtl"
  mv "$W/wrong.edited" "$W/rtl/$2"
  BROKEN+="$1 "
  ok "$BLOCK: a wrong $2 breaks $1" broken "$W/rtl" "$PARAMETERS" "$1"
}
tight() { # PROPERTY PARAMETERS
  wanted || return
  BROKEN+="$1 "
  ok "$BLOCK: $1 is sharp: not with $2" broken "$ROOT/rtl" "$2" "$1"
}

# The row of the table; and that no property of the harness, at its first parameters, is without a
# wrong copy.
close_proof() {
  [ -n "${TOP:-}" ] || return
  cpu_seconds
  local own
  own=$(grep -v 'dut\.' "$W/properties" | tr '\n' ' ')
  # (By induction properties hold together, and fail together.)
  if [ "$FORMAL" = all ] && [ -n "$BROKEN" ] && [ "$METHOD" != induction ]; then
    ok "$BLOCK: every property has a wrong copy" all_broken "$own"
  fi
  TRIED+=$BROKEN
  [ -n "${TABLE:-}" ] || return
  echo "| $BLOCK | $PARAMETERS | $SENTENCE | $(names) | $METHOD" \
    "| $PROOF_SECONDS | $(wc -w <<<"$BROKEN") | ${SECONDS_CPU} |" >>"$TABLE"
}
names() { sed -E 's/^(dut|u_rules)\.//' "$W/properties" | sort -u | tr '\n' ' ' | sed 's/ $//; s/ /, /g'; }
all_broken() {
  local property
  for property in $1; do
    grep -qwF -- "$property" <<<"$TRIED$BROKEN" || { echo "# $property"; return 1; }
  done
}

. "$ROOT/tests/formal/proofs.sh"
close_proof
daily "wrong copies"
finish
