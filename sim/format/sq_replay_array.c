// SPDX-License-Identifier: Apache-2.0
// Traces of products as tiles of the arrays: tokens are rows, output channels columns; tiles go
// down the tokens first. Lines beyond the last token or channel carry zeros.
#include "models/sq_array.h"
#include "models/sq_config.h"
#include "models/sq_format.h"
#include "sim/format/sq_replay_plan.h"

// Beats of a product: all banks of K for every tile.
struct tiles {
    size_t rows, cols, m, n; // of the array, in tiles
    size_t banks;            // of a tile, a beat each
    unsigned bank;
};

static void set_point(struct sq_replay_work *w, const unsigned *value, const char *const *name)
{
    for (; *name; name++, value++)
        sq_replay_set(w, *name, *value);
}

static void set_array(struct sq_replay_work *w, enum sq_array_format format, unsigned bank,
                      unsigned high, bool on_acts, unsigned plain_bits, unsigned low_bits,
                      unsigned high_bits)
{
    static const char *const name[] = {"Rows",    "Cols",   "Banks",  "BankLen", "HighPerBank",
                                       "HighLen", "Format", "OnActs", "OneAcc",  "PlainW",
                                       "LowW",    "HighW",  "Gather", NULL};
    const unsigned value[] = {w->o->array_rows,
                              w->o->array_cols,
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
    set_point(w, value, name);
}

// Room for all tiles; every group is a tile.
static enum sq_status begin_tiles(struct sq_replay_work *w, struct tiles *t, struct sq_error *err)
{
    t->rows = sq_replay_get(w, "Rows");
    t->cols = sq_replay_get(w, "Cols");
    t->bank = sq_replay_get(w, "BankLen");
    if (w->r->k % t->bank != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "%s: metadata K = %zu, need a multiple of %u for %s",
                       sq_path_tail(w->r->path), w->r->k, t->bank, w->out->block);
    t->m = (w->r->m + t->rows - 1) / t->rows;
    t->n = (w->r->n + t->cols - 1) / t->cols;
    t->banks = w->r->k / t->bank;
    SQ_TRY(sq_replay_begin(w, t->m * t->n, t->m * t->n * t->banks, err));
    for (size_t g = 0; g < t->m * t->n; g++)
        w->out->stream.len[g][0] = (uint32_t)t->banks;
    return SQ_OK;
}

// Beat `bank` of tile g; its `last` is set.
static int32_t *beat_of(struct sq_replay_work *w, const struct tiles *t, size_t g, size_t bank)
{
    int32_t *beat = w->out->stream.beats + (g * t->banks + bank) * w->len;
    beat[sq_replay_field(w, "last")] = bank + 1 == t->banks;
    return beat;
}

static size_t token_of(const struct tiles *t, size_t g, size_t row)
{
    return g % t->m * t->rows + row;
}

static size_t channel_of(const struct tiles *t, size_t g, size_t col)
{
    return g / t->m * t->cols + col;
}

static void copy(int32_t *to, const int8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from[i];
}

// Codes of all tokens and of all channels of bank `bank`: x[m][k], weight[n][k].
static void put_lines(struct sq_replay_work *w, const struct tiles *t, size_t g, size_t bank,
                      const int8_t *x, int32_t *rows, const int8_t *weight, int32_t *cols)
{
    const size_t b = t->bank, k = w->r->k;
    for (size_t i = 0; x && i < t->rows; i++)
        if (token_of(t, g, i) < w->r->m)
            copy(rows + i * b, x + token_of(t, g, i) * k + bank * b, b);
    for (size_t i = 0; weight && i < t->cols; i++)
        if (channel_of(t, g, i) < w->r->n)
            copy(cols + i * b, weight + channel_of(t, g, i) * k + bank * b, b);
}

// p_lo, and p_hi where the array has it, of every tile against the kernel's.
static enum sq_status check_tiles(struct sq_replay_work *w, struct sq_error *err)
{
    struct sq_replay *r = w->r;
    const size_t rows = sq_replay_get(w, "Rows"), cols = sq_replay_get(w, "Cols");
    const size_t tiles_m = (r->m + rows - 1) / rows;
    const int32_t *p_lo, *p_hi = NULL;
    SQ_REPLAY_TENSOR(r, "p_lo", SQ_I32, r->m * r->n, p_lo);
    if (!sq_replay_get(w, "OneAcc"))
        SQ_REPLAY_TENSOR(r, "p_hi", SQ_I32, r->m * r->n, p_hi);
    const struct sq_case *c = &w->out->stream;
    for (size_t g = 0, first = 0; g < c->n_groups; first += c->len[g++][0]) {
        (void)sq_replay_golden(w, g, first);
        for (size_t pe = 0; pe < rows * cols; pe++) {
            const size_t token = g % tiles_m * rows + pe / cols;
            const size_t channel = g / tiles_m * cols + pe % cols;
            if (token >= r->m || channel >= r->n)
                continue;
            const size_t at = token * r->n + channel;
            sq_replay_expect(w, "p_lo", at, p_lo[at], w->golden[pe]);
            if (p_hi)
                sq_replay_expect(w, "p_hi", at, p_hi[at], w->golden[rows * cols + pe]);
        }
    }
    return SQ_OK;
}

// ---- dense ----------------------------------------------------------------------------------

enum { DENSE_BANK = 16 };

static enum sq_status make_dense(struct sq_replay_work *w, struct sq_error *err)
{
    struct tiles t;
    const int8_t *x, *weight;
    size_t act_bits, weight_bits;
    SQ_TRY(sq_replay_number(w->r, "act_bits", 4, 8, &act_bits, err));
    SQ_TRY(sq_replay_number(w->r, "weight_bits", 4, 8, &weight_bits, err));
    SQ_REPLAY_TENSOR(w->r, "code", SQ_I8, w->r->m * w->r->k, x);
    SQ_REPLAY_TENSOR(w->r, "w", SQ_I8, w->r->n * w->r->k, weight);
    set_array(w, SQ_ARRAY_DENSE, DENSE_BANK, 1, false, (unsigned)act_bits, (unsigned)weight_bits,
              4);
    SQ_TRY(begin_tiles(w, &t, err));
    for (size_t g = 0; g < t.m * t.n; g++)
        for (size_t b = 0; b < t.banks; b++) {
            int32_t *beat = beat_of(w, &t, g, b);
            put_lines(w, &t, g, b, x, beat + sq_replay_field(w, "plain"), weight,
                      beat + sq_replay_field(w, "low"));
        }
    return SQ_OK;
}

// ---- 2:4 ------------------------------------------------------------------------------------

enum { NIBBLES = DENSE_BANK / 4, FIRST_TWO = 0x4 }; // of a bank; SPEC E.2

static enum sq_status make_sp24(struct sq_replay_work *w, struct sq_error *err)
{
    struct tiles t;
    const size_t k = w->r->k, half = DENSE_BANK / 2;
    const int8_t *x, *values;
    const uint8_t *meta;
    SQ_REPLAY_TENSOR(w->r, "x", SQ_I8, w->r->m * k, x);
    SQ_REPLAY_TENSOR(w->r, "values", SQ_I8, w->r->n * k / 2, values);
    SQ_REPLAY_TENSOR(w->r, "meta", SQ_U8, w->r->n * k / 8, meta);
    set_array(w, SQ_ARRAY_SP24, DENSE_BANK, 1, false, 8, 8, 8);
    SQ_TRY(begin_tiles(w, &t, err));
    const size_t low = sq_replay_field(w, "low"), mask = sq_replay_field(w, "mask");
    for (size_t g = 0; g < t.m * t.n; g++)
        for (size_t b = 0; b < t.banks; b++) {
            int32_t *beat = beat_of(w, &t, g, b);
            put_lines(w, &t, g, b, x, beat + sq_replay_field(w, "plain"), NULL, NULL);
            for (size_t c = 0; c < t.cols; c++) {
                const size_t channel = channel_of(&t, g, c);
                const bool is_there = channel < w->r->n;
                if (is_there)
                    copy(beat + low + c * half, values + channel * k / 2 + b * half, half);
                for (size_t i = 0; i < NIBBLES; i++) {
                    const size_t at = (channel * k + b * DENSE_BANK) / 4 + i;
                    beat[mask + c * NIBBLES + i] =
                        is_there ? meta[at / 2] >> (4 * (at % 2)) & 15 : FIRST_TWO;
                }
            }
        }
    return SQ_OK;
}

// ---- SQ on activations ----------------------------------------------------------------------

// Low and high codes of one token's bank, in order; what is high says the mask.
static void split(const int8_t *code, const uint8_t *mask, unsigned bank, int32_t *low,
                  int32_t *high)
{
    for (unsigned i = 0; i < bank; i++)
        *(mask[i] ? high++ : low++) = code[i];
}

static enum sq_status make_compact(struct sq_replay_work *w, struct sq_error *err)
{
    struct tiles t;
    unsigned bank, high;
    const size_t k = w->r->k;
    const int8_t *code, *weight;
    const uint8_t *mask;
    SQ_TRY(sq_replay_bank(w->r, &bank, &high, err));
    SQ_REPLAY_TENSOR(w->r, "code", SQ_I8, w->r->m * k, code);
    SQ_REPLAY_TENSOR(w->r, "mask", SQ_U8, w->r->m * k, mask);
    SQ_REPLAY_TENSOR(w->r, "w", SQ_I8, w->r->n * k, weight);
    set_array(w, SQ_ARRAY_COMPACT, bank, high, true, 4, 4, 8);
    SQ_TRY(begin_tiles(w, &t, err));
    const size_t low_at = sq_replay_field(w, "low"), high_at = sq_replay_field(w, "high"),
                 mask_at = sq_replay_field(w, "mask");
    for (size_t g = 0; g < t.m * t.n; g++)
        for (size_t b = 0; b < t.banks; b++) {
            int32_t *beat = beat_of(w, &t, g, b);
            put_lines(w, &t, g, b, NULL, NULL, weight, beat + sq_replay_field(w, "plain"));
            for (size_t row = 0; row < t.rows; row++) {
                const size_t token = token_of(&t, g, row), at = token * k + b * bank;
                for (unsigned i = 0; i < bank; i++)
                    beat[mask_at + row * bank + i] = token < w->r->m ? mask[at + i] : i < high;
                if (token < w->r->m)
                    split(code + at, mask + at, bank, beat + low_at + row * (bank - high),
                          beat + high_at + row * high);
            }
        }
    return SQ_OK;
}

static enum sq_status make_static(struct sq_replay_work *w, struct sq_error *err)
{
    static const char *const name[] = {"Rows",   "Cols",    "Banks", "BankLen", "HighPerBank",
                                       "OneAcc", "WeightW", "LowW",  "HighW",   NULL};
    struct tiles t;
    unsigned bank, high;
    const size_t k = w->r->k;
    const int8_t *code, *weight;
    const uint8_t *mask;
    SQ_TRY(sq_replay_bank(w->r, &bank, &high, err));
    SQ_REPLAY_TENSOR(w->r, "code", SQ_I8, w->r->m * k, code);
    SQ_REPLAY_TENSOR(w->r, "mask", SQ_U8, k, mask);
    SQ_REPLAY_TENSOR(w->r, "w", SQ_I8, w->r->n * k, weight);
    set_point(w, (const unsigned[]){w->o->array_rows, w->o->array_cols, 1, bank, high, 0, 4, 4, 8},
              name);
    SQ_TRY(begin_tiles(w, &t, err));
    const size_t low_at = sq_replay_field(w, "low"), high_at = sq_replay_field(w, "high"),
                 weight_at = sq_replay_field(w, "weight"), low = bank - high;
    for (size_t g = 0; g < t.m * t.n; g++)
        for (size_t b = 0; b < t.banks; b++) {
            int32_t *beat = beat_of(w, &t, g, b);
            const uint8_t *const m = mask + b * bank;
            for (size_t row = 0; row < t.rows; row++)
                if (token_of(&t, g, row) < w->r->m)
                    split(code + token_of(&t, g, row) * k + b * bank, m, bank,
                          beat + low_at + row * low, beat + high_at + row * high);
            for (size_t c = 0; c < t.cols; c++) // the weights in the order of the codes
                if (channel_of(&t, g, c) < w->r->n)
                    split(weight + channel_of(&t, g, c) * k + b * bank, m, bank,
                          beat + weight_at + c * bank, beat + weight_at + c * bank + low);
        }
    return SQ_OK;
}

// ---- GQSA -----------------------------------------------------------------------------------

enum { GQSA_LOW_BITS = 6 }; // code - zero: -15..15

// Groups of the case: (channel, tile of tokens) in this order, channels without groups left out.
static enum sq_status make_gqsa(struct sq_replay_work *w, struct sq_error *err)
{
    struct sq_replay *r = w->r;
    const size_t b = SQ_REPLAY_GQSA_GROUP, k = r->k, rows = w->o->array_rows;
    const size_t nnz = sq_replay_count(r, "s_w"), tiles_m = (r->m + rows - 1) / rows;
    const uint32_t *row_index;
    const uint16_t *groups;
    const uint8_t *values, *zero;
    const int8_t *x;
    size_t n_used = 0;
    SQ_REPLAY_TENSOR(r, "row_index", SQ_I32, r->n + 1, row_index);
    SQ_REPLAY_TENSOR(r, "groups", SQ_U8, 2 * nnz, groups);
    SQ_REPLAY_TENSOR(r, "values", SQ_U8, b / 2 * nnz, values);
    SQ_REPLAY_TENSOR(r, "zero", SQ_U8, (nnz + 1) / 2, zero);
    SQ_REPLAY_TENSOR(r, "x", SQ_I8, r->m * k, x);
    set_array(w, SQ_ARRAY_DENSE, SQ_REPLAY_GQSA_GROUP, 1, false, 8, GQSA_LOW_BITS, 4);
    sq_replay_set(w, "Cols", 1);
    for (size_t n = 0; n < r->n; n++)
        n_used += row_index[n + 1] > row_index[n];
    SQ_TRY(sq_replay_begin(w, n_used * tiles_m, nnz * tiles_m, err));
    const size_t plain = sq_replay_field(w, "plain"), low = sq_replay_field(w, "low");
    int32_t *beat = w->out->stream.beats;
    uint32_t(*len)[SQ_STREAMS_MAX] = w->out->stream.len;
    for (size_t n = 0; n < r->n; n++)
        for (size_t tile = 0; tile < tiles_m && row_index[n + 1] > row_index[n]; tile++) {
            (*len++)[0] = row_index[n + 1] - row_index[n];
            for (size_t e = row_index[n]; e < row_index[n + 1]; e++, beat += w->len) {
                const int z = zero[e / 2] >> (4 * (e % 2)) & 15;
                beat[sq_replay_field(w, "last")] = e + 1 == row_index[n + 1];
                for (size_t i = 0; i < b; i++)
                    beat[low + i] = (values[(e * b + i) / 2] >> (4 * (i % 2)) & 15) - z;
                for (size_t row = 0; row < rows && tile * rows + row < r->m; row++)
                    copy(beat + plain + row * b, x + (tile * rows + row) * k + groups[e] * b, b);
            }
        }
    return SQ_OK;
}

static enum sq_status check_gqsa(struct sq_replay_work *w, struct sq_error *err)
{
    struct sq_replay *r = w->r;
    const size_t rows = sq_replay_get(w, "Rows"), tiles_m = (r->m + rows - 1) / rows;
    const struct sq_case *c = &w->out->stream;
    const uint32_t *row_index;
    const int32_t *p_lo;
    size_t g = 0, first = 0;
    SQ_REPLAY_TENSOR(r, "row_index", SQ_I32, r->n + 1, row_index);
    SQ_REPLAY_TENSOR(r, "p_lo", SQ_I32, r->m * r->n, p_lo);
    for (size_t n = 0; n < r->n; n++)
        for (size_t tile = 0; tile < tiles_m; tile++) {
            const bool has_groups = row_index[n + 1] > row_index[n];
            if (has_groups) {
                (void)sq_replay_golden(w, g, first);
                first += c->len[g++][0];
            }
            for (size_t row = 0; row < rows && tile * rows + row < r->m; row++) {
                const size_t at = (tile * rows + row) * r->n + n;
                sq_replay_expect(w, "p_lo", at, p_lo[at], has_groups ? w->golden[row] : 0);
            }
        }
    return SQ_OK;
}

const struct sq_replay_plan sq_replay_array_plans[] = {
    {SQ_REPLAY_SQ_A_STATIC, &sq_array_static_block, make_static, check_tiles},
    {SQ_REPLAY_SQ_A_DYNAMIC, &sq_array_block, make_compact, check_tiles},
    {SQ_REPLAY_DENSE, &sq_array_block, make_dense, check_tiles},
    {SQ_REPLAY_SP24, &sq_array_block, make_sp24, check_tiles},
    {SQ_REPLAY_GQSA, &sq_array_block, make_gqsa, check_gqsa},
};
