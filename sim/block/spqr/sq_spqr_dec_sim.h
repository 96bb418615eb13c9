// SPDX-License-Identifier: Apache-2.0
// The cycle model of sq_spqr_dec, for the engine that has one.
#pragma once

#include <stdbool.h>

// `depth` beats are collected, then leave one by one, each as soon as it may; the next tile follows
// into the places that become free.
struct sq_spqr_dec_sim {
    unsigned depth;
    bool is_reading;      // a whole tile is inside
    unsigned write, read; // beats of the tile arriving, leaving
};
