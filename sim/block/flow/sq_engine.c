// SPDX-License-Identifier: Apache-2.0
// Checks scales and forms words of outputs of an engine (sq_engine.h).
#include "sim/block/flow/sq_engine.h"

#include <stdlib.h>
#include <string.h>

void sq_engine_word_fields(struct sq_field *field)
{
    field[0] = (struct sq_field){"last", 1, 1, true};
    field[1] = (struct sq_field){"error", 1, SQ_SCALED_ERRORS, true};
}

bool sq_engine_wrong_scale(const struct sq_output_config *c, const int32_t *scale, bool is_last)
{
    const bool two = c->form == SQ_COMBINE_TWO, scaled = c->form == SQ_COMBINE_SCALED;
    const int32_t *const row = scale + 2 * c->cols;
    for (size_t i = 0; i < c->cols; i++)
        if (!sq_engine_is_scale(scale[i]) || (two && !sq_engine_is_scale(scale[c->cols + i])))
            return true;
    for (size_t i = 0; i < c->rows && (is_last || scaled); i++)
        if (!sq_engine_is_scale(row[i]) || (scaled && !sq_engine_is_scale(row[c->rows + i])))
            return true;
    return false;
}

size_t sq_engine_end(const struct sq_output_config *c, const int32_t *scale, float *y,
                     bool ends_job, int32_t error, int32_t *out)
{
    const size_t words = sq_output_end(c, scale, y, out), len = c->port_len;
    for (size_t w = words; w-- > 0;) { // spread from the back, in place
        int32_t *const to = out + w * (len + SQ_ENGINE_WORD_FIELDS);
        memmove(to, out + w * len, len * sizeof *out);
        to[len] = ends_job && w + 1 == words;
        to[len + 1] = error;
    }
    return words;
}

void sq_engine_sums_free(const struct sq_engine_sums *s)
{
    free(s->tile);
    free(s->scale);
    free(s->y);
}

struct sq_engine_sums sq_engine_sums(const struct sq_output_config *c)
{
    const size_t pes = (size_t)c->rows * c->cols;
    const struct sq_engine_sums s = {calloc(2 * pes + 1, sizeof *s.tile),
                                     calloc(sq_output_scale_len(c), sizeof *s.scale),
                                     calloc(pes, sizeof *s.y)};
    if (!s.tile || !s.scale || !s.y) {
        sq_engine_sums_free(&s);
        abort();
    }
    return s;
}
