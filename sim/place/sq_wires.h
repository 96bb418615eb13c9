// SPDX-License-Identifier: Apache-2.0
// Delays of a block with the wires of its placed netlist, in place of the wire load that a library guesses: what
// struct sq_synth calls as on_area.
#pragma once

#include "sim/place/sq_spef.h"
#include "sim/synth/sq_synth.h"

struct sq_wires {
    const struct sq_lef *lef;
    struct sq_spef_layer layer;
    double utilisation; // 0.1..0.95
    uint64_t seed;
    bool is_later; // sq_wires_on_area places nothing: its caller does, by sq_wires_place
};

// Places the netlist of the result into *p, and gives the result the delays that OpenSTA finds with and without its
// wires. With block->period_ns it first gets larger cells and buffers until it meets that or nothing helps; *p, cells and area have them. s->on_area_context is a struct sq_wires. Thread-safe. Errors of sq_synth_mapped, sq_place_read, sq_synth_time.
// *report: OpenSTA's of the longest path, in the names of sq_spef.h. The caller frees both.
enum sq_status sq_wires_place(const struct sq_synth *s, const struct sq_synth_block *block,
                              struct sq_synth_result *result, struct sq_place *p, char **report,
                              struct sq_error *err);
// The same for struct sq_synth: what it leaves is in the result.
enum sq_status sq_wires_on_area(const struct sq_synth *s, const struct sq_synth_block *block,
                                struct sq_synth_result *result, struct sq_error *err);
