// SPDX-License-Identifier: Apache-2.0
// SQ Algorithm 2: which activation channels are high for every token (SPEC B.5).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "models/sq_status.h"

// Importance of channel k: Abar[k] * wbar[k], the means of |x| over tokens and of |w| over output
// channels, both after smoothing (K5).

// abar[k] from the sums of a calibration, of inputs divided by sigma[k] (NULL: as they are).
void sq_mean_act(const double *abs_sum, size_t n_tokens, const float *sigma, size_t k, float *abar);
// wbar[k] of w[n][k], after smoothing.
void sq_mean_weight(const float *w, size_t n, size_t k, float *wbar);

// mask[k] = 1 for the high_per_bank most important channels of each bank, ties to the lowest;
// k_orig of the k channels are real, padding is chosen last. wbar may be NULL: abar alone.
// SQ_ERR_MEMORY.
enum sq_status sq_static_mask(const float *abar, const float *wbar, size_t k_orig, size_t k,
                              unsigned bank, unsigned high_per_bank, uint8_t *mask,
                              struct sq_error *err);

// The stable reordering: perm_hi lists the channels of the mask, perm_lo the others, both
// ascending, so bank after bank (K9). Returns how many are high.
size_t sq_static_order(const uint8_t *mask, size_t k, uint32_t *perm_hi, uint32_t *perm_lo);

// Mask recall against per-token masks is_high[m][k] (SPEC J.4): mean over tokens and banks of
// |static and dynamic| / high_per_bank.
double sq_mask_recall(const uint8_t *mask, const uint8_t *is_high, size_t m, size_t k);
