// SPDX-License-Identifier: Apache-2.0
// NVFP4, 4/6, NVINT4 and NVINT5 (SPEC Q.3): blocks of 16 at an E4M3 scale times a global one.
#include "sim/format/bs/sq_bs_format.h"

static const struct sq_format_option options[] = {SQ_BS_HEAD, SQ_BS_ACT_SCALE, SQ_BS_TAIL, {0}};

#define NV(name_)                                                                                  \
    const struct sq_format_ops sq_format_##name_ = {                                               \
        .name = #name_,                                                                            \
        .option = options,                                                                         \
        .values = sq_bs_values,                                                                    \
        SQ_BS_MEMBERS,                                                                             \
    }
extern const struct sq_format_ops sq_format_nvfp4_46, sq_format_nvint5;
NV(nvfp4);
NV(nvfp4_46);
NV(nvint4);
NV(nvint5);
