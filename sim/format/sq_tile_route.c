// SPDX-License-Identifier: Apache-2.0
#include "sim/format/sq_tile_route.h"

#include "models/sq_format.h"

void sq_route_set_all(struct sq_route_work *w, const unsigned *value, const char *const *name)
{
    for (; *name; name++, value++)
        sq_route_set(w, *name, *value);
}

void sq_route_set_array(struct sq_route_work *w, enum sq_array_format format, unsigned bank,
                        unsigned high, bool on_acts, unsigned plain_bits, unsigned low_bits,
                        unsigned high_bits)
{
    static const char *const name[] = {"Rows",    "Cols",   "Banks",  "BankLen", "HighPerBank",
                                       "HighLen", "Format", "OnActs", "OneAcc",  "PlainW",
                                       "LowW",    "HighW",  "Gather", NULL};
    const unsigned value[] = {w->array_rows,
                              w->array_cols,
                              1,
                              bank,
                              high,
                              high,
                              format,
                              on_acts,
                              format != SQ_ARRAY_COMPACT,
                              plain_bits,
                              low_bits,
                              high_bits,
                              SQ_GATHER_CROSSBAR};
    sq_route_set_all(w, value, name);
}

enum sq_status sq_tiles_begin(struct sq_route_work *w, struct sq_tiles *t, struct sq_error *err)
{
    t->rows = sq_route_get(w, "Rows");
    t->cols = sq_route_get(w, "Cols");
    t->bank = sq_route_get(w, "BankLen");
    if (w->r->k % t->bank != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "%s: metadata K = %zu, need a multiple of %u for %s",
                       sq_path_tail(w->r->path), w->r->k, t->bank, w->stream->block->name);
    t->m = (w->r->m + t->rows - 1) / t->rows;
    t->n = (w->r->n + t->cols - 1) / t->cols;
    t->banks = w->r->k / t->bank;
    SQ_TRY(sq_route_begin(w, t->m * t->n, t->m * t->n * t->banks, err));
    for (size_t g = 0; g < t->m * t->n; g++)
        w->stream->len[g][0] = (uint32_t)t->banks;
    return SQ_OK;
}

int32_t *sq_tiles_beat(struct sq_route_work *w, const struct sq_tiles *t, size_t g, size_t bank)
{
    int32_t *beat = w->stream->beats + (g * t->banks + bank) * w->len;
    beat[sq_route_field(w, "last")] = bank + 1 == t->banks;
    return beat;
}

size_t sq_tiles_token(const struct sq_tiles *t, size_t g, size_t row)
{
    return g % t->m * t->rows + row;
}

size_t sq_tiles_channel(const struct sq_tiles *t, size_t g, size_t col)
{
    return g / t->m * t->cols + col;
}

void sq_route_copy(int32_t *to, const int8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from[i];
}

void sq_tiles_put(struct sq_route_work *w, const struct sq_tiles *t, size_t g, size_t bank,
                  const int8_t *x, int32_t *rows, const int8_t *weight, int32_t *cols)
{
    const size_t b = t->bank, k = w->r->k;
    for (size_t i = 0; x && i < t->rows; i++)
        if (sq_tiles_token(t, g, i) < w->r->m)
            sq_route_copy(rows + i * b, x + sq_tiles_token(t, g, i) * k + bank * b, b);
    for (size_t i = 0; weight && i < t->cols; i++)
        if (sq_tiles_channel(t, g, i) < w->r->n)
            sq_route_copy(cols + i * b, weight + sq_tiles_channel(t, g, i) * k + bank * b, b);
}

enum sq_status sq_tiles_check(struct sq_route_work *w, struct sq_error *err)
{
    struct sq_replay *r = w->r;
    const size_t rows = sq_route_get(w, "Rows"), cols = sq_route_get(w, "Cols");
    const size_t tiles_m = (r->m + rows - 1) / rows;
    const int32_t *p_lo, *p_hi = NULL;
    SQ_REPLAY_TENSOR(r, "p_lo", SQ_I32, r->m * r->n, p_lo);
    if (!sq_route_get(w, "OneAcc"))
        SQ_REPLAY_TENSOR(r, "p_hi", SQ_I32, r->m * r->n, p_hi);
    const struct sq_case *c = w->stream;
    for (size_t g = 0, first = 0; g < c->n_groups; first += c->len[g++][0]) {
        (void)sq_route_golden(w, g, first);
        for (size_t pe = 0; pe < rows * cols; pe++) {
            const size_t token = g % tiles_m * rows + pe / cols;
            const size_t channel = g / tiles_m * cols + pe % cols;
            if (token >= r->m || channel >= r->n)
                continue;
            const size_t at = token * r->n + channel;
            sq_route_expect(w, "p_lo", at, p_lo[at], w->golden[pe]);
            if (p_hi)
                sq_route_expect(w, "p_hi", at, p_hi[at], w->golden[rows * cols + pe]);
        }
    }
    return SQ_OK;
}
