// SPDX-License-Identifier: Apache-2.0
// The cycle model of sq_q4k_dec, for the engine that has one.
#pragma once

#include <stdbool.h>

// The beats of the header stay inside; a beat of codes is an output a cycle later.
struct sq_q4k_dec_sim {
    unsigned head, beats; // of a superblock
    unsigned place;       // of the next beat
    bool has_out;
};
