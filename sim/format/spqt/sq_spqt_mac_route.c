// SPDX-License-Identifier: Apache-2.0
// Layers of spqt behind the decoder of superblocks.
#include <string.h>

#include "models/sq_half.h"
#include "models/sq_q4k_dec.h"
#include "models/sq_spqt.h"
#include "sim/format/spqt/sq_spqt_route.h"

enum { BYTES = 16, CODES = 2 * BYTES, CODE_BYTES = SQ_Q4K_LEN / 2, BEATS = CODE_BYTES / BYTES };

bool sq_spqt_is_layer(const struct sq_product *p)
{
    return !p->file;
}

enum sq_status sq_spqt_take_columns(struct sq_product *p, struct sq_spqt_columns *a,
                                    struct sq_error *err)
{
    const size_t nbytes = sq_product_count(p, "superblocks");
    SQ_PRODUCT_TENSOR(p, "n_active", SQ_I32, p->m, a->n_active);
    SQ_PRODUCT_TENSOR(p, "index", SQ_I32, p->m * p->k, a->index);
    SQ_PRODUCT_TENSOR(p, "superblocks", SQ_U8, nbytes, a->blocks);
    a->rows = sq_spqt_n_rows(p->n);
    a->k = nbytes / SQ_Q4K_NBYTES / a->rows;
    return SQ_OK;
}

size_t sq_spqt_n_columns(const struct sq_product *p, const struct sq_spqt_columns *a, size_t t)
{
    size_t n = (size_t)a->n_active[t];
    while (n > 0 && (size_t)a->index[t * p->k + n - 1] >= a->k)
        n--;
    return n;
}

static int32_t bits_of(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

// ---- q4k_weight ------------------------------------------------------------------------------

// Element of a superblock that is code i of beat b: of two blocks, 16 of each.
static size_t element_of(size_t b, size_t i)
{
    const size_t byte = b * BYTES, pair = byte / SQ_Q4K_BLOCK_LEN;
    return (2 * pair + i / BYTES) * SQ_Q4K_BLOCK_LEN + byte % SQ_Q4K_BLOCK_LEN + i % BYTES;
}

static void put_superblock(const struct sq_route_work *w, const uint8_t *block, int32_t *beat)
{
    struct sq_q4k_dec d;
    sq_q4k_dec(block, &d);
    for (size_t b = 0; b < BEATS; b++, beat += w->len) {
        beat[sq_route_field(w, "last")] = b + 1 == BEATS;
        for (size_t i = 0; i < CODES; i++)
            beat[sq_route_field(w, "code") + i] = d.code[element_of(b, i)];
        for (size_t i = 0; i < 2; i++) {
            const size_t j = element_of(b, i * BYTES) / SQ_Q4K_BLOCK_LEN;
            beat[sq_route_field(w, "step") + i] = (int32_t)d.step[j];
            beat[sq_route_field(w, "min") + i] = (int32_t)d.min[j];
        }
    }
}

enum sq_status sq_spqt_make_weight(struct sq_route_work *w, struct sq_error *err)
{
    struct sq_product *p = w->p;
    struct sq_spqt_columns a;
    size_t n = 0, g = 0;
    SQ_TRY(sq_spqt_take_columns(p, &a, err));
    for (size_t t = 0; t < p->m; t++)
        n += a.rows * sq_spqt_n_columns(p, &a, t);
    sq_route_set(w, "Bytes", BYTES);
    SQ_TRY(sq_route_begin(w, n, n * BEATS, err));
    for (size_t t = 0; t < p->m; t++)
        for (size_t row = 0; row < a.rows; row++)
            for (size_t i = 0; i < sq_spqt_n_columns(p, &a, t); i++, g++) {
                const size_t column = (size_t)a.index[t * p->k + i];
                w->stream->len[g][0] = BEATS;
                put_superblock(w, a.blocks + sq_spqt_address(a.k, row, column),
                               w->stream->beats + g * BEATS * w->len);
            }
    return SQ_OK;
}

enum sq_status sq_spqt_check_weight(struct sq_route_work *w, struct sq_error *err)
{
    struct sq_product *p = w->p;
    struct sq_spqt_columns a;
    size_t g = 0;
    SQ_TRY(sq_spqt_take_columns(p, &a, err));
    for (size_t t = 0; t < p->m; t++)
        for (size_t row = 0; row < a.rows; row++)
            for (size_t i = 0; i < sq_spqt_n_columns(p, &a, t); i++, g++) {
                const size_t at = sq_spqt_address(a.k, row, (size_t)a.index[t * p->k + i]);
                struct sq_q4k s;
                float value[SQ_Q4K_LEN];
                sq_q4k_unpack(a.blocks + at, &s);
                sq_q4k_decode(&s, value);
                (void)sq_route_golden(w, g, g * BEATS);
                for (size_t c = 0; c < BEATS * CODES; c++)
                    sq_route_expect(w, "superblocks", at,
                                    bits_of(value[element_of(c / CODES, c % CODES)]),
                                    w->golden[c / CODES * w->out_len + c % CODES]);
            }
    return SQ_OK;
}

// ---- fp_mac ----------------------------------------------------------------------------------

enum { LANES = SQ_Q4K_BLOCK_LEN }; // rows at a time

// The steps of `LANES` rows of token t, worker by worker; a step of zeros where no column is
// active. How many (beat NULL: only counted).
static size_t put_rows(const struct sq_route_work *w, const struct sq_spqt_columns *a,
                       const float *plane, const uint16_t *x, size_t workers, size_t t, size_t row,
                       int32_t *beat)
{
    const struct sq_product *p = w->p;
    const size_t n = sq_spqt_n_columns(p, a, t);
    size_t at = 0;
    for (unsigned u = 0; beat && u < workers; u++) {
        size_t begin, end;
        sq_spqt_share(n, (unsigned)workers, u, &begin, &end);
        for (size_t i = begin; i < end; i++, at++, beat += w->len) {
            const size_t column = (size_t)a->index[t * p->k + i];
            const float *const weight = plane + row / SQ_Q4K_LEN * a->k * SQ_Q4K_LEN +
                                        column * SQ_Q4K_LEN + row % SQ_Q4K_LEN;
            beat[sq_route_field(w, "end")] = i + 1 == end;
            for (size_t l = 0; l < LANES; l++) {
                beat[sq_route_field(w, "w") + l] = bits_of(weight[l]);
                beat[sq_route_field(w, "x") + l] = bits_of(sq_half_to_float(x[t * p->k + column]));
            }
        }
    }
    if (beat)
        (at > 0 ? beat - w->len : beat)[sq_route_field(w, "last")] = 1;
    return n > 0 ? n : 1;
}

enum sq_status sq_spqt_make_mac(struct sq_route_work *w, struct sq_error *err)
{
    struct sq_product *p = w->p;
    struct sq_spqt_columns a;
    struct sq_spqt m = {.n = p->n};
    const uint16_t *x;
    float *plane;
    size_t workers, n = 0, g = 0;
    SQ_TRY(sq_spqt_take_columns(p, &a, err));
    SQ_TRY(sq_product_number(p, "workers", 1, SQ_SPQT_WORKERS_MAX, &workers, err));
    SQ_PRODUCT_TENSOR(p, "x", SQ_F16, p->m * p->k, x);
    m.k = a.k;
    SQ_PRODUCT_KEEP(p, m.block, a.rows * a.k * SQ_Q4K_NBYTES);
    SQ_PRODUCT_KEEP(p, plane, a.rows * a.k * SQ_Q4K_LEN);
    memcpy(m.block, a.blocks, a.rows * a.k * SQ_Q4K_NBYTES);
    sq_spqt_decode(&m, plane);
    const size_t groups = (p->n + LANES - 1) / LANES;
    for (size_t t = 0; t < p->m; t++)
        n += groups * put_rows(w, &a, plane, x, workers, t, 0, NULL);
    sq_route_set(w, "Lanes", LANES);
    sq_route_set(w, "IsHalf", 0);
    sq_route_set(w, "Turns", 1);
    SQ_TRY(sq_route_begin(w, p->m * groups, n, err));
    int32_t *beat = w->stream->beats;
    for (size_t t = 0; t < p->m; t++)
        for (size_t i = 0; i < groups; i++, g++) {
            const size_t steps = put_rows(w, &a, plane, x, workers, t, i * LANES, beat);
            w->stream->len[g][0] = (uint32_t)steps;
            beat += steps * w->len;
        }
    return SQ_OK;
}

enum sq_status sq_spqt_check_mac(struct sq_route_work *w, struct sq_error *err)
{
    const size_t groups = (w->p->n + LANES - 1) / LANES;
    const float *y;
    SQ_PRODUCT_TENSOR(w->p, "y", SQ_F32, w->p->m * w->p->n, y);
    for (size_t g = 0, first = 0; g < w->stream->n_groups; first += w->stream->len[g++][0]) {
        const size_t row = g % groups * LANES;
        (void)sq_route_golden(w, g, first);
        for (size_t l = 0; l < LANES && row + l < w->p->n; l++) {
            const size_t at = g / groups * w->p->n + row + l;
            sq_route_expect(w, "y", at, bits_of(y[at]), w->golden[l]);
        }
    }
    return SQ_OK;
}
