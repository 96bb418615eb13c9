// SPDX-License-Identifier: Apache-2.0
// Layers of spqr behind the decoder.
#include <string.h>

#include "models/sq_fp.h"
#include "models/sq_half.h"
#include "sim/format/spqr/sq_spqr_route.h"

enum { TILE = SQ_SPQR_TILE, WORDS = 4, BEATS = TILE / WORDS };

// The matrix without its dense part.
enum sq_status sq_spqr_take_matrix(struct sq_product *p, struct sq_spqr *m, struct sq_error *err)
{
    const size_t nnz = sq_product_count(p, "col_val");
    const uint32_t *row_offsets, *col_val;
    const uint8_t *perm;
    *m = (struct sq_spqr){.n = p->n, .k = p->k};
    SQ_PRODUCT_TENSOR(p, "row_offsets", SQ_I32, p->n + 1, row_offsets);
    SQ_PRODUCT_TENSOR(p, "col_val", SQ_I32, nnz, col_val);
    m->outliers = (struct sq_spqr_csr){.n = p->n, .nnz = nnz};
    SQ_PRODUCT_KEEP(p, m->outliers.row_offsets, p->n + 1);
    SQ_PRODUCT_KEEP(p, m->outliers.col_val, nnz);
    memcpy(m->outliers.row_offsets, row_offsets, (p->n + 1) * sizeof *row_offsets);
    memcpy(m->outliers.col_val, col_val, nnz * sizeof *col_val);
    if (sq_product_count(p, "in_perm") == SIZE_MAX)
        return SQ_OK;
    SQ_PRODUCT_TENSOR(p, "in_perm", SQ_U8, 2 * p->k, perm);
    SQ_PRODUCT_KEEP(p, m->in_perm, p->k);
    for (size_t j = 0; j < p->k; j++)
        m->in_perm[j] = (uint16_t)(perm[2 * j] | perm[2 * j + 1] << 8);
    return SQ_OK;
}

// x of token t in the order of the words, padded.
enum sq_status sq_spqr_load_token(const struct sq_spqr *m, const uint16_t *x, size_t t,
                                  float *values, float *loaded, struct sq_error *err)
{
    for (size_t i = 0; i < m->k; i++)
        values[i] = sq_half_to_float(x[t * m->k + i]);
    return sq_spqr_load(m, values, loaded, err);
}

bool sq_spqr_is_layer(const struct sq_product *p)
{
    return !p->file;
}

// ---- spqr_scale: decoded rows to weights -----------------------------------------------------

static void put_rows(const struct sq_route_work *w, const struct sq_spqr_tile *tile, size_t b,
                     int32_t *beat)
{
    for (size_t i = 0; i < WORDS; i++) {
        const size_t row = b * WORDS + i;
        for (size_t j = 0; j < TILE; j++)
            beat[sq_route_field(w, "code") + i * TILE + j] = tile->code[row][j];
        beat[sq_route_field(w, "scale") + i] = tile->scale[row];
        beat[sq_route_field(w, "zero") + i] = tile->zero[row];
    }
    for (size_t i = 0; i < 2; i++)
        beat[sq_route_field(w, "second") + i] =
            (int32_t)(tile->second[2 * i] | (uint32_t)tile->second[2 * i + 1] << 16);
    beat[sq_route_field(w, "last")] = b + 1 == BEATS;
}

enum sq_status sq_spqr_make_scale(struct sq_route_work *w, struct sq_error *err)
{
    const size_t n_words = sq_spqr_n_words(w->p->n, w->p->k), n_tiles = n_words / TILE;
    const uint64_t *words;
    SQ_PRODUCT_TENSOR(w->p, "words", SQ_I64, n_words, words);
    sq_route_set(w, "Words", WORDS);
    SQ_TRY(sq_route_begin(w, n_tiles, n_tiles * BEATS, err));
    for (size_t t = 0; t < n_tiles; t++) {
        struct sq_spqr_tile tile;
        sq_spqr_dec_tile(words + t * TILE, &tile);
        w->stream->len[t][0] = BEATS;
        for (size_t b = 0; b < BEATS; b++)
            put_rows(w, &tile, b, w->stream->beats + (t * BEATS + b) * w->len);
    }
    return SQ_OK;
}

// The dense part of the layer as the golden model decodes it: tiles, columns, 16 rows.
static enum sq_status decode(struct sq_product *p, float **plane, struct sq_error *err)
{
    struct sq_spqr m = {.n = p->n, .k = p->k};
    const size_t n_words = sq_spqr_n_words(p->n, p->k);
    const uint64_t *words;
    SQ_PRODUCT_TENSOR(p, "words", SQ_I64, n_words, words);
    SQ_PRODUCT_KEEP(p, m.dense, n_words);
    memcpy(m.dense, words, n_words * sizeof *words);
    SQ_PRODUCT_KEEP(p, *plane, n_words * TILE);
    sq_spqr_decode_dense(&m, *plane);
    return SQ_OK;
}

enum sq_status sq_spqr_check_scale(struct sq_route_work *w, struct sq_error *err)
{
    float *plane;
    SQ_TRY(decode(w->p, &plane, err));
    for (size_t t = 0; t < w->stream->n_groups; t++) {
        (void)sq_route_golden(w, t, t * BEATS);
        for (size_t r = 0; r < TILE; r++)
            for (size_t j = 0; j < TILE; j++)
                sq_route_expect(w, "words", t * TILE + r,
                                sq_f32_to_f16(plane[(t * TILE + j) * TILE + r]),
                                w->golden[r / WORDS * w->out_len + r % WORDS * TILE + j]);
    }
    return SQ_OK;
}

// ---- fp_mac: weights times tokens --------------------------------------------------------------

// One tile row of one token: its shares, worker by worker, dense columns, then outliers.
struct share {
    const struct sq_spqr *m;
    const float *plane, *x;
    size_t row, k; // first row; padded columns
    unsigned workers;
};

// Outliers that worker u has of row r.
static size_t n_entries(const struct share *s, unsigned u, size_t r)
{
    const uint32_t *const at = s->m->outliers.row_offsets + s->row + r;
    const size_t n = s->row + r < s->m->n ? at[1] - at[0] : 0;
    return n > u ? (n - u + s->workers - 1) / s->workers : 0;
}

static size_t n_steps(const struct share *s, unsigned u)
{
    size_t most = 0;
    for (size_t r = 0; r < TILE; r++)
        most = n_entries(s, u, r) > most ? n_entries(s, u, r) : most;
    return s->k / s->workers + most;
}

// Step i of worker u.
static void put_step(const struct share *s, unsigned u, size_t i, int32_t *weight, int32_t *x)
{
    const size_t dense = s->k / s->workers;
    for (size_t r = 0; r < TILE; r++) {
        if (i < dense) {
            const size_t j = (i / TILE * s->workers + u) * TILE + i % TILE;
            weight[r] = sq_f32_to_f16(s->plane[s->row * s->k + TILE * j + r]);
            x[r] = sq_f32_to_f16(s->x[j]);
        } else if (i - dense < n_entries(s, u, r)) {
            const struct sq_spqr_csr *const c = &s->m->outliers;
            const size_t e = c->row_offsets[s->row + r] + (i - dense) * s->workers + u;
            weight[r] = (int32_t)(c->col_val[e] >> 16);
            x[r] = sq_f32_to_f16(s->x[c->col_val[e] & 0xffffu]);
        }
    }
}

// All steps of a tile row into beats (NULL: only counted); how many.
static size_t put_steps(const struct sq_route_work *w, const struct share *s, int32_t *beat)
{
    size_t n = 0;
    for (unsigned u = 0; u < s->workers; u++) {
        const size_t steps = n_steps(s, u);
        for (size_t i = 0; beat && i < steps; i++, beat += w->len) {
            put_step(s, u, i, beat + sq_route_field(w, "w"), beat + sq_route_field(w, "x"));
            beat[sq_route_field(w, "end")] = i + 1 == steps;
            beat[sq_route_field(w, "last")] = i + 1 == steps && u + 1 == s->workers;
        }
        n += steps;
    }
    return n;
}

enum sq_status sq_spqr_make_mac(struct sq_route_work *w, struct sq_error *err)
{
    struct sq_product *p = w->p;
    struct sq_spqr m;
    const uint16_t *x;
    float *plane, *values, *loaded;
    size_t n = 0, g = 0;
    SQ_TRY(sq_spqr_take_matrix(p, &m, err));
    SQ_TRY(decode(p, &plane, err));
    SQ_PRODUCT_TENSOR(p, "x", SQ_F16, p->m * p->k, x);
    SQ_PRODUCT_KEEP(p, values, p->k);
    SQ_PRODUCT_KEEP(p, loaded, sq_spqr_padded(p->k));
    struct share s = {.m = &m,
                      .plane = plane,
                      .x = loaded,
                      .k = sq_spqr_padded(p->k),
                      .workers = sq_spqr_workers(p->k)};
    for (s.row = 0; s.row < p->n; s.row += TILE)
        n += put_steps(w, &s, NULL);
    sq_route_set(w, "Lanes", TILE);
    sq_route_set(w, "IsHalf", 1);
    sq_route_set(w, "Turns", 1);
    SQ_TRY(sq_route_begin(w, p->m * (sq_spqr_padded(p->n) / TILE), p->m * n, err));
    int32_t *beat = w->stream->beats;
    for (size_t t = 0; t < p->m; t++) {
        SQ_TRY(sq_spqr_load_token(&m, x, t, values, loaded, err));
        for (s.row = 0; s.row < p->n; s.row += TILE, g++) {
            const size_t steps = put_steps(w, &s, beat);
            w->stream->len[g][0] = (uint32_t)steps;
            beat += steps * w->len;
        }
    }
    return SQ_OK;
}

enum sq_status sq_spqr_check_mac(struct sq_route_work *w, struct sq_error *err)
{
    const size_t tiles = sq_spqr_padded(w->p->n) / TILE;
    const uint16_t *y;
    SQ_PRODUCT_TENSOR(w->p, "y", SQ_F16, w->p->m * w->p->n, y);
    for (size_t g = 0, first = 0; g < w->stream->n_groups; first += w->stream->len[g++][0]) {
        (void)sq_route_golden(w, g, first);
        for (size_t r = 0; r < TILE && g % tiles * TILE + r < w->p->n; r++) {
            const size_t at = g / tiles * w->p->n + g % tiles * TILE + r;
            sq_route_expect(w, "y", at, y[at], w->golden[r]);
        }
    }
    return SQ_OK;
}
