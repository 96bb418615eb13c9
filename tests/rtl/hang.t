#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The hang guard: of every block a copy of the RTL in which valid of the output is tied to 0. The
# program must say that nothing moves any more and for how many cycles, with the seed of the case,
# and leave a waveform. Sampled: the first quick point of each block. And a test program whose model never ends, or
# waits for ever: its own limits end it and name the test.
. "$(dirname "$0")/lib.sh"

# tie FILE: out_valid_o of the module is 0, or what it answers to its host; the value that it makes itself goes nowhere.
tie() {
  local port=out_valid_o
  grep -q "logic *$port" "$1" || port=s_axil_bvalid
  sed -i -e "s/\.$port\b\([^(]\|$\)/.$port(unused_$port)\1/g" \
    -e "s/\(^\|[^.]\)\b$port\b/\1unused_$port/g" -e "s/^\( *output logic.*\)unused_$port/\1$port/" \
    -e "0,/^);/s/^);/);\n  logic unused_$port;\n  assign $port = 1'b0;/" "$1"
}

hang() { # BLOCK POINT
  local dir=$W/$1
  sources "$dir"
  tie "$(find "$dir/rtl" -name "sq_$1.sv")"
  sq_of "$dir" cosim --block "$1" --point "$2" --case 1 --seed "$SEED" --output "$dir/waves"
}
reported() { # exit 1, the sentence, the seed
  [ "$RC" = 1 ] && grep -q "MISMATCH.*no progress for [1-9][0-9]* cycles" "$W.out" &&
    grep -q "seed $SEED\$" "$W.out" && grep -q "shrunk to .*; seed [0-9]" "$W.out" && return
  echo "# exit $RC"; tail -4 "$W.out" | sed 's/^/# /'; head -3 "$W.err" | sed 's/^/# /'
  return 1
}

sq cosim --block all --list --json
ok "the list of blocks" [ "$RC" = 0 ]
sed -n 's/^{"block":"\([^"]*\)".*"point":"\([^"]*\)","quick":true.*/\1 \2/p' "$W.out" |
  sort -u -k1,1 >"$W/blocks"
n=0
while read -r block point; do
  n=$((n + 1))
  tried "$block: no progress" || continue
  hang "$block" "$point"
  ok "$block: no progress, with its seed" reported
  wave=$(find "$W/$block/waves" -name wave.fst 2>/dev/null | head -1)
  ok "$block: a waveform and its save file" [ -s "$wave" -a -s "${wave%fst}gtkw" ]
  rm -rf "${W:?}/$block"
done <"$W/blocks"
ok "every block" [ "$n" -ge 15 ]

cat >"$W/ends.c" <<'END'
#include "tests/test.h"
SQ_TEST(that_ends) {}
SQ_TEST(model_without_end)
{
    for (volatile unsigned n = 0;; n++)
        ;
}
SQ_TEST(that_waits)
{
    for (;;)
        pause();
}
END
${CC:-gcc} -std=c11 -D_GNU_SOURCE -DSQ_TEST_SECONDS=1 -I"$ROOT" "$W/ends.c" -lcmocka -o "$W/ends"
ended() { # TEST: it fails, and says which
  timeout $HANG "$W/ends" "$1" >"$W.out" 2>&1
  [ $? = 1 ] && grep -q "^not ok - $1 has no end" "$W.out"
}
ok "a model that never ends fails its test" ended model_without_end
ok "... and one that waits for ever" ended that_waits
ok "... whose limits end no other" bash -c "'$W/ends' that_ends >/dev/null"
ok "shell tests have a limit of the processor" [ "$(ulimit -t)" != unlimited ]
finish
