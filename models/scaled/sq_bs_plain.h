// SPDX-License-Identifier: Apache-2.0
// Block-scaled products element by element: what sq_bs_gemm does where its loops do not reach
// (sq_bs_panel.h), and what tests hold it to. Internal to models/ and tests/.
#pragma once

#include "models/output/sq_combine.h"
#include "models/scaled/sq_bs.h"

enum { SQ_BS_PLAIN_CHANNELS = 8 };

size_t sq_bs_plain_scratch(const struct sq_bs *w);
// Channels from c0 into scratch; then y[c] of token t and channel c0 + c, as SPEC Q.7 has it.
void sq_bs_plain_load(const struct sq_bs *w, size_t c0, void *scratch);
void sq_bs_plain(const struct sq_bs *w, size_t c0, const struct sq_bs *x, size_t t, void *scratch,
                 float y[SQ_BS_PLAIN_CHANNELS]);
