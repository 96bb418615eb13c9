// SPDX-License-Identifier: Apache-2.0
// From the integers of a group to outputs, for tokens by a block of channels: the FP32 roundings of
// sq_codes.h. Internal to models/.
#pragma once

#include "models/number/sq_codes_dot.h"

typedef int32_t sq_codes_sums[SQ_CODES_CHANNELS];  // of a token
typedef float sq_codes_outputs[SQ_CODES_CHANNELS]; // on their way

// One group of n tokens from `token` on, y[t] with it; s_lo, s_hi[SQ_CODES_CHANNELS].
typedef void sq_codes_combine_fn(const struct sq_gemm_codes *j, size_t token, unsigned n,
                                 const float *s_lo, const float *s_hi, sq_codes_sums *lo,
                                 sq_codes_sums *hi, sq_codes_outputs *y);
sq_codes_combine_fn *sq_codes_combine_of(void);

// The last product, with the token's scale, into j->y: n_tokens from `token` on, n_channels from
// `channel` on.
typedef void sq_codes_finish_fn(const struct sq_gemm_codes *j, size_t token, size_t n_tokens,
                                size_t channel, unsigned n_channels, sq_codes_outputs *y);
sq_codes_finish_fn *sq_codes_finish_of(void);
