// SPDX-License-Identifier: Apache-2.0
// Cuts products into tiles, and puts codes, masks, scales and outputs into records
// (sq_tile_route.h).
#include "sim/format/sq_tile_route.h"

#include <string.h>

#include "models/core/sq_format.h"
#include "sim/block/output/sq_output_sim.h"

void sq_route_set_all(struct sq_route_work *w, const unsigned *value, const char *const *name)
{
    for (; *name; name++, value++)
        sq_route_set(w, *name, *value);
}

void sq_route_set_array(struct sq_route_work *w, enum sq_array_layout format, unsigned bank,
                        unsigned high, bool on_acts, unsigned plain_bits, unsigned low_bits,
                        unsigned high_bits)
{
    static const char *const name[] = {"Rows",    "Cols",   "Banks",  "BankLen", "HighPerBank",
                                       "HighLen", "Layout", "OnActs", "OneAcc",  "PlainW",
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

// ---- scales and outputs ---------------------------------------------------------------------

bool sq_tiles_has_scales(const struct sq_product *p)
{
    return sq_product_count(p, "row_lo") != SIZE_MAX;
}

bool sq_tiles_has_no_scales(const struct sq_product *p)
{
    return !sq_tiles_has_scales(p);
}

// A copy that lives as long as the product.
static enum sq_status put_scale(struct sq_product *p, const char *name, size_t n, const float *from,
                                struct sq_error *err)
{
    float *to;
    if (!from)
        return SQ_OK;
    SQ_PRODUCT_KEEP(p, to, n);
    memcpy(to, from, n * sizeof *to);
    sq_product_put(p, name, SQ_F32, n, to);
    return SQ_OK;
}

enum sq_status sq_tiles_put_scales(struct sq_product *p, unsigned form, const float *col_lo,
                                   const float *col_hi, const float *row_lo, const float *row_hi,
                                   struct sq_error *err)
{
    size_t groups;
    SQ_TRY(sq_product_groups(p, &groups, err));
    sq_product_put_number(p, "form", form);
    SQ_TRY(put_scale(p, "col_lo", p->n * groups, col_lo, err));
    SQ_TRY(put_scale(p, "col_hi", p->n * groups, col_hi, err));
    SQ_TRY(put_scale(p, "row_lo", p->m, row_lo, err));
    return put_scale(p, "row_hi", p->m, row_hi, err);
}

enum sq_status sq_route_set_output(struct sq_route_work *w, unsigned rows, unsigned cols,
                                   unsigned hold, struct sq_error *err)
{
    static const char *const name[] = {SQ_OUTPUT_PARAM_NAMES, NULL};
    size_t form;
    SQ_TRY(sq_product_number(w->p, "form", SQ_COMBINE_ONE, SQ_COMBINE_SCALED, &form, err));
    const unsigned port = w->engine_port; // of a chip, whose stage never stops
    const unsigned value[] = {cols, (unsigned)form,      SQ_OUTPUT_BINARY32,
                              cols, rows < 2 ? 2 : rows, hold};
    const unsigned on_chip[] = {port,
                                (unsigned)form,
                                SQ_OUTPUT_BINARY32,
                                port,
                                sq_combine_queue((enum sq_combine_form)form, false),
                                2};
    sq_route_set_all(w, port ? on_chip : value, name);
    return SQ_OK;
}

enum sq_status sq_tile_scales_of(struct sq_product *p, struct sq_tile_scales *s,
                                 struct sq_error *err)
{
    *s = (struct sq_tile_scales){0};
    SQ_TRY(sq_product_groups(p, &s->groups, err));
    SQ_PRODUCT_TENSOR(p, "col_lo", SQ_F32, p->n * s->groups, s->col_lo);
    SQ_PRODUCT_TENSOR(p, "row_lo", SQ_F32, p->m, s->row_lo);
    if (sq_product_count(p, "col_hi") != SIZE_MAX)
        SQ_PRODUCT_TENSOR(p, "col_hi", SQ_F32, p->n * s->groups, s->col_hi);
    if (sq_product_count(p, "row_hi") != SIZE_MAX)
        SQ_PRODUCT_TENSOR(p, "row_hi", SQ_F32, p->m, s->row_hi);
    return SQ_OK;
}

void sq_tile_scales_put(const struct sq_tile_scales *s, const struct sq_product *p, size_t token,
                        size_t rows, size_t channel, size_t cols, size_t group, int32_t *scale)
{
    int32_t *const row = scale + 2 * cols;
    for (size_t i = 0; i < 2 * (cols + rows); i++)
        scale[i] =
            sq_float_word(1.0f); // of lines that are not there, and where the form reads none
    for (size_t i = 0; i < cols && channel + i < p->n; i++) {
        const size_t at = (channel + i) * s->groups + group;
        scale[i] = sq_float_word(s->col_lo[at]);
        if (s->col_hi)
            scale[cols + i] = sq_float_word(s->col_hi[at]);
    }
    for (size_t i = 0; i < rows && token + i < p->m; i++) {
        row[i] = sq_float_word(s->row_lo[token + i]);
        if (s->row_hi)
            row[rows + i] = sq_float_word(s->row_hi[token + i]);
    }
}

void sq_tiles_expect_words(struct sq_route_work *w, const float *y, size_t token, size_t rows,
                           size_t channel, size_t cols, const int32_t *out)
{
    const size_t word = w->shape.out[0].count; // outputs of a beat, in front of the error
    for (size_t pe = 0; pe < rows * cols; pe++) {
        const size_t t = token + pe / cols, c = channel + pe % cols, at = t * w->p->n + c;
        if (t < w->p->m && c < w->p->n)
            sq_route_expect(w, "y", at, sq_float_word(y[at]),
                            out[pe / word * w->out_len + pe % word]);
    }
    for (size_t i = 0; w->out_len > word && i < rows * cols / word; i++) // nothing is wrong
        sq_route_expect(w, "error", i, 0, out[(i + 1) * w->out_len - 1]);
}

// ---- tiles ----------------------------------------------------------------------------------

static bool has_output(const struct sq_route_work *w)
{
    return sq_route_has(w, "PortLen");
}

// An engine takes jobs; the others take `last` with the last beat of a scale group and of a tile.
static bool is_engine(const struct sq_route_work *w)
{
    return w->shape.has_jobs;
}

// Tiles of a group of the case: a job is a column of tiles.
static size_t group_tiles(const struct sq_route_work *w, const struct sq_tiles *t)
{
    return is_engine(w) && !t->is_diagonal ? t->m : 1;
}

static enum sq_status put_scales(struct sq_route_work *w, const struct sq_tiles *t,
                                 struct sq_error *err)
{
    const size_t groups = group_tiles(w, t) * t->groups;
    struct sq_tile_scales s;
    SQ_TRY(sq_tile_scales_of(w->p, &s, err));
    for (size_t g = 0; g < t->all; g++) {
        const size_t record = g / groups * groups * t->banks + g % groups;
        int32_t *const to = w->stream->beats + record * w->len + sq_route_field(w, "col_lo");
        sq_tile_scales_put(&s, w->p, sq_tiles_token(t, g, 0), t->rows, sq_tiles_channel(t, g, 0),
                           t->cols, g % t->groups, to);
        if (!is_engine(w))
            to[-1] = (g + 1) % t->groups == 0; // the last of its tile
    }
    return SQ_OK;
}

// Lengths of the streams, in their order; and what stands in a job.
static void put_lengths(struct sq_route_work *w, const struct sq_tiles *t)
{
    const uint32_t tiles = (uint32_t)group_tiles(w, t), groups = (uint32_t)t->groups,
                   beats = (uint32_t)t->banks, all = tiles * groups * beats;
    for (size_t i = 0; i < w->stream->n_groups; i++) {
        uint32_t *const len = w->stream->len[i];
        if (!is_engine(w)) {
            len[0] = all;
            len[1] = groups;
            continue;
        }
        int32_t *const job = w->stream->beats + i * all * w->len;
        job[sq_route_field(w, "beats")] = (int32_t)beats;
        job[sq_route_field(w, "groups")] = (int32_t)groups;
        job[sq_route_field(w, "tiles")] = (int32_t)tiles;
        len[0] = 1;
        len[1] = len[2] = all;
        len[3] = tiles * groups;
    }
}

// Jobs, where the block takes them, as far as its counts go.
static enum sq_status begin_output(struct sq_route_work *w, struct sq_tiles *t,
                                   struct sq_error *err)
{
    enum { COUNT_MAX = 65535 };
    SQ_TRY(sq_route_set_output(w, (unsigned)t->rows, (unsigned)t->cols, 0, err));
    w->shape = sq_ports_of(w->stream->block, w->point->value);
    SQ_FAIL_IF(is_engine(w) && (t->m > COUNT_MAX || t->groups > COUNT_MAX || t->banks > COUNT_MAX),
               err, SQ_ERR_RANGE,
               "%s: %zu tiles of %zu scale groups of %zu banks in a job of %s, need at "
               "most %d each",
               sq_path_tail(w->p->source), t->m, t->groups, t->banks, w->stream->block->name,
               COUNT_MAX);
    const size_t tiles = group_tiles(w, t);
    w->stream->max_outputs = tiles * t->rows * t->cols / w->shape.out[0].count;
    SQ_TRY(sq_route_begin(w, t->all / t->groups / tiles, t->all * t->banks, err));
    put_lengths(w, t);
    return put_scales(w, t, err);
}

enum sq_status sq_tiles_begin(struct sq_route_work *w, struct sq_tiles *t, struct sq_error *err)
{
    t->rows = sq_route_get(w, "Rows");
    t->cols = sq_route_get(w, "Cols");
    t->bank = sq_route_get(w, "BankLen");
    SQ_TRY(sq_product_groups(w->p, &t->groups, err));
    SQ_FAIL_IF(w->p->k / t->groups % t->bank != 0, err, SQ_ERR_SHAPE,
               "%s: metadata K = %zu, need a multiple of %u for %s", sq_path_tail(w->p->source),
               w->p->k, t->bank, w->stream->block->name);
    t->m = (w->p->m + t->rows - 1) / t->rows;
    t->n = (w->p->n + t->cols - 1) / t->cols;
    t->banks = w->p->k / t->groups / t->bank;
    t->is_diagonal = w->is_diagonal;
    t->all = (!t->is_diagonal ? t->m * t->n : t->m > t->n ? t->m : t->n) * t->groups;
    if (has_output(w))
        return begin_output(w, t, err);
    SQ_TRY(sq_route_begin(w, t->all, t->all * t->banks, err));
    for (size_t g = 0; g < t->all; g++)
        w->stream->len[g][0] = (uint32_t)t->banks;
    return SQ_OK;
}

int32_t *sq_tiles_beat(struct sq_route_work *w, const struct sq_tiles *t, size_t g, size_t bank)
{
    int32_t *beat = w->stream->beats + (g * t->banks + bank) * w->len;
    if (!is_engine(w))
        beat[sq_route_field(w, "last")] = bank + 1 == t->banks;
    return beat;
}

int32_t *sq_tiles_plain(const struct sq_route_work *w, const char *name, int32_t *beat)
{
    return beat + sq_route_field(w, is_engine(w) ? "code" : name);
}

size_t sq_tiles_token(const struct sq_tiles *t, size_t g, size_t row)
{
    const size_t tile = g / t->groups;
    return (!t->is_diagonal ? tile % t->m : tile < t->m ? tile : t->m - 1) * t->rows + row;
}

size_t sq_tiles_channel(const struct sq_tiles *t, size_t g, size_t col)
{
    const size_t tile = g / t->groups;
    return (!t->is_diagonal ? tile / t->m : tile < t->n ? tile : t->n - 1) * t->cols + col;
}

size_t sq_tiles_column(const struct sq_tiles *t, size_t g, size_t bank)
{
    return (g % t->groups * t->banks + bank) * t->bank;
}

void sq_route_copy(int32_t *to, const int8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from[i];
}

void sq_tiles_put(struct sq_route_work *w, const struct sq_tiles *t, size_t g, size_t bank,
                  const int8_t *x, int32_t *rows, const int8_t *weight, int32_t *cols)
{
    const size_t b = t->bank, k = w->p->k, at = sq_tiles_column(t, g, bank);
    for (size_t i = 0; x && i < t->rows; i++)
        if (sq_tiles_token(t, g, i) < w->p->m)
            sq_route_copy(rows + i * b, x + sq_tiles_token(t, g, i) * k + at, b);
    for (size_t i = 0; weight && i < t->cols; i++)
        if (sq_tiles_channel(t, g, i) < w->p->n)
            sq_route_copy(cols + i * b, weight + sq_tiles_channel(t, g, i) * k + at, b);
}

// ---- coded lines ----------------------------------------------------------------------------

enum sq_status sq_planes_of(struct sq_product *p, size_t lines, struct sq_planes *planes,
                            struct sq_error *err)
{
    const bool is_one = sq_product_count(p, "code") != SIZE_MAX;
    SQ_PRODUCT_TENSOR(p, is_one ? "code" : "low", SQ_I8, lines * p->k, planes->low);
    planes->high = planes->low;
    if (!is_one)
        SQ_PRODUCT_TENSOR(p, "high", SQ_I8, lines * p->k, planes->high);
    return SQ_OK;
}

void sq_planes_split(const struct sq_planes *planes, size_t at, const uint8_t *mask, unsigned bank,
                     bool is_all, int32_t *low, int32_t *high)
{
    for (unsigned i = 0; i < bank; i++) {
        if (is_all || !mask[i])
            *low++ = planes->low[at + i];
        if (mask[i])
            *high++ = planes->high[at + i];
    }
}

// What a line carries in an array of this layout, and where.
struct coded {
    struct sq_planes planes;
    const uint8_t *mask;
    size_t mask_len; // [lines][K], or [K]: one for all lines
    enum sq_array_layout layout;
    unsigned bank, high, low_lanes;
    int32_t mask_code;
    size_t low_at, high_at, mask_at;
    bool has_mask; // the block reads it
};

// A bank of one line, whose first element is `at`; is_there: it is one of the product's.
static void put_coded(const struct coded *c, size_t line, bool is_there, size_t at, int32_t *beat)
{
    int32_t *low = beat + c->low_at + line * c->low_lanes;
    int32_t *mask = beat + c->mask_at + line * c->bank; // unused by sentinels
    const bool is_sentinel = c->layout == SQ_ARRAY_SENTINEL;
    const uint8_t *ones = c->mask + at % c->mask_len;
    for (unsigned i = 0; i < c->bank; i++) {
        const int32_t bit = is_there ? ones[i] : i < c->high;
        if (!is_sentinel && c->has_mask)
            mask[i] = bit;
        else if (is_sentinel && bit)
            low[i] = c->mask_code;
        else if (is_sentinel && is_there)
            low[i] = c->planes.low[at + i];
    }
    if (!is_there)
        return;
    int32_t *high = beat + c->high_at + line * c->high, none[SQ_BANK_MAX];
    sq_planes_split(&c->planes, at, ones, c->bank, c->layout == SQ_ARRAY_SPLIT,
                    is_sentinel ? none : low, high);
}

enum sq_status sq_route_make_coded(struct sq_route_work *w, enum sq_array_layout layout,
                                   bool on_acts, const char *plain, struct sq_error *err)
{
    struct sq_tiles t;
    struct coded c = {.layout = layout};
    struct sq_product *p = w->p;
    const size_t k = p->k, lines = on_acts ? p->m : p->n;
    const int8_t *other;
    size_t plain_bits, high_bits, low_bits, one_acc;
    SQ_TRY(sq_product_bank(p, &c.bank, &c.high, err));
    SQ_TRY(sq_product_option(p, on_acts ? "weight_bits" : "act_bits", 2, 8, on_acts ? 4 : 8,
                             &plain_bits, err));
    SQ_TRY(sq_product_option(p, "high_bits", 4, 8, 8, &high_bits, err));
    SQ_TRY(sq_product_option(p, "low_bits", 2, 4, 4, &low_bits, err));
    SQ_TRY(sq_product_option(p, "one_acc", 0, 1, 0, &one_acc, err));
    SQ_TRY(sq_planes_of(p, lines, &c.planes, err));
    c.mask_len = sq_product_count(p, "mask") == k ? k : lines * k;
    SQ_PRODUCT_TENSOR(p, "mask", SQ_U8, c.mask_len, c.mask);
    SQ_PRODUCT_TENSOR(p, plain, SQ_I8, (on_acts ? p->n : p->m) * k, other);
    sq_route_set_array(w, layout, c.bank, c.high, on_acts, (unsigned)plain_bits, (unsigned)low_bits,
                       (unsigned)(layout == SQ_ARRAY_SPLIT ? high_bits - low_bits : high_bits));
    sq_route_set(w, "OneAcc", (unsigned)one_acc);
    SQ_TRY(sq_tiles_begin(w, &t, err));
    c.low_lanes = layout == SQ_ARRAY_COMPACT ? c.bank - c.high : c.bank;
    c.mask_code = sq_mask_code((unsigned)low_bits);
    c.low_at = sq_route_field(w, "low");
    c.high_at = sq_route_field(w, "high");
    c.has_mask = !sq_route_has(w, "MagW"); // or it is made inside
    c.mask_at = c.has_mask ? sq_route_field(w, "mask") : 0;
    for (size_t g = 0; g < t.all; g++)
        for (size_t b = 0; b < t.banks; b++) {
            int32_t *const beat = sq_tiles_beat(w, &t, g, b), *const to =
                                                                  sq_tiles_plain(w, "plain", beat);
            sq_tiles_put(w, &t, g, b, on_acts ? NULL : other, to, on_acts ? other : NULL, to);
            for (size_t i = 0; i < (on_acts ? t.rows : t.cols); i++) {
                const size_t line = on_acts ? sq_tiles_token(&t, g, i) : sq_tiles_channel(&t, g, i);
                put_coded(&c, i, line < lines, line * k + sq_tiles_column(&t, g, b), beat);
            }
        }
    return SQ_OK;
}

// ---- check ----------------------------------------------------------------------------------

static enum sq_status check_outputs(struct sq_route_work *w, struct sq_tiles *t,
                                    struct sq_error *err)
{
    const struct sq_case *c = w->stream;
    const size_t tiles = group_tiles(w, t),
                 tile = t->rows * t->cols / w->shape.out[0].count * w->out_len;
    const float *y;
    SQ_PRODUCT_TENSOR(w->p, "y", SQ_F32, w->p->m * w->p->n, y);
    for (size_t g = 0, first = 0; g < c->n_groups; first += sq_case_records(c, g++)) {
        (void)sq_route_golden(w, g, first);
        for (size_t i = 0; i < tiles; i++) {
            const size_t group = (g * tiles + i) * t->groups;
            sq_tiles_expect_words(w, y, sq_tiles_token(t, group, 0), t->rows,
                                  sq_tiles_channel(t, group, 0), t->cols, w->golden + i * tile);
        }
    }
    return SQ_OK;
}

enum sq_status sq_tiles_check(struct sq_route_work *w, struct sq_error *err)
{
    struct sq_product *p = w->p;
    struct sq_tiles t = {.rows = sq_route_get(w, "Rows"), .cols = sq_route_get(w, "Cols")};
    const int32_t *p_lo, *p_hi = NULL;
    SQ_TRY(sq_product_groups(p, &t.groups, err));
    t.m = (p->m + t.rows - 1) / t.rows;
    if (has_output(w))
        return check_outputs(w, &t, err);
    const size_t n_p = p->m * p->n * t.groups;
    SQ_PRODUCT_TENSOR(p, "p_lo", SQ_I32, n_p, p_lo);
    if (!sq_route_get(w, "OneAcc"))
        SQ_PRODUCT_TENSOR(p, "p_hi", SQ_I32, n_p, p_hi);
    const struct sq_case *c = w->stream;
    for (size_t g = 0, first = 0; g < c->n_groups; first += c->len[g++][0]) {
        (void)sq_route_golden(w, g, first);
        for (size_t pe = 0; pe < t.rows * t.cols; pe++) {
            const size_t token = sq_tiles_token(&t, g, pe / t.cols);
            const size_t channel = sq_tiles_channel(&t, g, pe % t.cols);
            if (token >= p->m || channel >= p->n)
                continue;
            const size_t at = (token * p->n + channel) * t.groups + g % t.groups;
            sq_route_expect(w, "p_lo", at, p_lo[at], w->golden[pe]);
            if (p_hi)
                sq_route_expect(w, "p_hi", at, p_hi[at], w->golden[t.rows * t.cols + pe]);
        }
    }
    return SQ_OK;
}
