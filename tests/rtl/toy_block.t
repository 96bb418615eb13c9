#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What it takes to add a block: a copy of the sources gets a toy block (Gray code) as new files and
# one line in each of two existing ones. The program built from the copy lists it, runs it against
# its RTL, finds a fault in it, and prices it.
. "$(dirname "$0")/lib.sh"
daily "a block added to a copy" || finish
D=$W/toy
mkdir -p "$D/build" "$D/traces"
cp -r "$ROOT/rtl" "$ROOT/sim" "$ROOT/models" "$ROOT/lib" "$ROOT/tests" "$ROOT/Makefile" "$D/"

cat >"$D/rtl/sq_toy.sv" <<'END'
// SPDX-License-Identifier: Apache-2.0
// Gray code of a number: latency 1, one per cycle.
module sq_toy #(
  parameter int unsigned Width = 8
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  logic [Width-1:0] in_x_i,
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic [Width-1:0] out_gray_o
);
  assign in_ready_o = !out_valid_o || out_ready_i;
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) out_valid_o <= 1'b0;
    else if (in_ready_o) out_valid_o <= in_valid_i;
  always_ff @(posedge clk_i)
    if (in_ready_o) out_gray_o <= in_x_i ^ (in_x_i >> 1);
endmodule
END
cat >"$D/models/sq_toy.h" <<'END'
// SPDX-License-Identifier: Apache-2.0
#ifndef SQ_TOY_H
#define SQ_TOY_H

#include <stdint.h>

uint32_t sq_toy(uint32_t x); // Gray code

#endif
END
cat >"$D/models/sq_toy.c" <<'END'
// SPDX-License-Identifier: Apache-2.0
#include "models/sq_toy.h"

uint32_t sq_toy(uint32_t x)
{
    return x ^ x >> 1;
}
END
cat >"$D/sim/block/flow/sq_toy.block" <<'END'
param Width=8
quick w8
point w32 Width=32
stream in x:uWidth
out gray:uWidth
group number all=Width==8?256:0
stages pipe 1
area toy_w8 sq_toy 1 Width=8
code draw_beat golden
END
cat >"$D/sim/block/flow/sq_toy_block.c" <<'END'
// SPDX-License-Identifier: Apache-2.0
// sq_toy: Gray code.
#include "models/sq_toy.h"
#include "sim/block/flow/sq_toy.block.h"

static void draw_beat(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind, uint64_t number,
                      int32_t *beat)
{
    const uint32_t x = kind == SQ_STIMULUS_ALL ? (uint32_t)number : (uint32_t)sq_rng_next(rng);
    beat[0] = sq_field_unsigned(x, v[WIDTH]);
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    (void)v;
    out[0] = (int32_t)sq_toy((uint32_t)in->record[0]);
    return 1;
}
END
echo sq_toy.sv >>"$D/rtl/files.f"
sed -i 's/^    X(\([a-z0-9_]*\))$/    X(\1) X(toy)/' "$D/sim/block/flow/sq_block.h"

changed() { diff -rq "$ROOT/$1" "$D/$1" | grep -v '^Only in'; }
lines() { diff "$ROOT/$1" "$D/$1" | grep -c '^>'; }
ok "two existing files are edited" \
  [ "$(for d in rtl sim models; do changed $d; done | wc -l)" = 2 ]
ok "a line each" [ "$(lines rtl/files.f)" = 1 -a "$(lines sim/block/flow/sq_block.h)" = 1 ]
sed 's/uWidth/uWidht/' "$D/sim/block/flow/sq_toy.block" >"$W.block"
awk -f "$ROOT/sim/block/table.awk" "$W.block" >"$W.out" 2>"$W.err"
ok "a name in the table that is no parameter is named with its line" grep -q '\.block:4: no parameter Widht$' "$W.err"
ok "the program builds" make -s -C "$D" build/sqsim
SQSIM=$D/build/sqsim
export SQSIM_HOME=$D

sq cosim --block all --list --json
ok "the block is listed" grep -q '"block":"toy","top":"sq_toy","point":"w8"' "$W.out"
sq cosim --block toy --cases 20 --seed "$SEED" --json
ok "RTL and models agree" clean 500
ok "every number of 8 bits" grep -q '"exhausted":true' "$W.out"
sq cosim --netlist --block toy --point w8 --cases 2 --seed "$SEED" --json
ok "the netlist, too" clean 500
if [ -e /usr/share/qflow/tech/osu018/osu018_stdcells.lib ]; then
  sq area --block toy_w8 --json
  ok "it has an area" bash -c "[ $RC = 0 ] && grep -Eq '\"block\": *\"toy_w8\"' '$W.out'"
else
  skip "it has an area" "no cell library"
fi
sed -i 's/in_x_i >> 1/in_x_i >> 2/' "$D/rtl/sq_toy.sv"
sq cosim --block toy --point w8 --cases 2 --seed "$SEED" --json
ok "a wrong bit is found" fails value
finish
