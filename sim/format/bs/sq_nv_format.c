// SPDX-License-Identifier: Apache-2.0
// NVFP4, 4/6, NVINT4 and NVINT5 (SPEC Q.3): blocks of 16 at an E4M3 scale times a global one.
#include "sim/format/bs/sq_bs_format.h"

static const struct sq_format_option options[] = {SQ_BS_HEAD, SQ_BS_ACT_SCALE, SQ_BS_TAIL, {0}};

static size_t numbers(struct sq_recipe *r, struct sq_metadata_value *value)
{
    value[0] =
        (struct sq_metadata_value){"act_scale", &sq_bs_set(r)->act_scale, 0, SQ_BS_ACT_TOKEN2};
    return 1;
}

#define NV(name_, kind_, element_)                                                                 \
    SQ_BS_FORMAT(name_, options, .blocks = {.kind = (kind_), .element = (element_), .block = 16},  \
                 .numbers = numbers)
NV(nvfp4, SQ_BS_NV, SQ_ELEMENT_E2M1);
NV(nvfp4_46, SQ_BS_FOUR_SIX, SQ_ELEMENT_E2M1);
NV(nvint4, SQ_BS_NV, SQ_ELEMENT_INT4);
NV(nvint5, SQ_BS_NV, SQ_ELEMENT_INT5);
