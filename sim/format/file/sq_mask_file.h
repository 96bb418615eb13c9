// SPDX-License-Identifier: Apache-2.0
// Static activation masks of SQ Algorithm 2 in a safetensors file (SPEC B.5, O.1).
//
// Per layer, prefixed by its name: `mask` U8 [ceil(K/8)], bit i of the stream = channel i is high,
// padding bits 0; `perm_hi`, `perm_lo` I32, the channels of each part, ascending: the stable
// reordering, bank after bank. K is padded to whole banks. Metadata, strings: system = sq_a,
// version = 1, bank, k (high channels per bank), producer, source; per layer `K` and `k_orig`.
#pragma once

#include "sim/io/sq_safetensors.h"

#define SQ_MASK_SYSTEM "sq_a" // of the metadata

struct sq_mask {
    char name[96];
    size_t k, k_orig;
    uint8_t *mask; // [k], 0 or 1
};

// `source` is "real" or "synthetic". SQ_ERR_IO, SQ_ERR_MEMORY; SQ_ERR_MASK_COUNT for a mask that
// has not exactly high_per_bank ones in every bank.
enum sq_status sq_masks_write(const char *path, const struct sq_mask *mask, size_t n, unsigned bank,
                              unsigned high_per_bank, const char *source, struct sq_error *err);
