// SPDX-License-Identifier: Apache-2.0
// 2:4 (SPEC E) as a format: values of 4 to 8 bits with a scale a row or a group, or binary16. K is padded
// to whole hardware tiles of 64 columns, and to whole groups. `values`: I8 [N][K/2]; with fewer than 8 bits U8,
// packed; F16. A layer that stays dense (selective sparsity) holds its INT8 codes in `values` [N][K], without
// `meta`.
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_format.h"
#include "models/number/sq_bits.h"
#include "models/number/sq_half.h"
#include "models/quant/sq_sensitivity.h"
#include "models/sp24/sq_prune24.h"
#include "sim/format/sp24/sq_sp24_recipe.h"
#include "sim/format/sq_cells.h"
#include "sim/format/sq_demand.h"
#include "sim/format/sq_format_ops.h"

struct state {
    struct sq_sp24 m;
    int8_t *dense;   // [n][k_orig], NULL where the layer is pruned
    uint8_t *packed; // of fewer than 8 bits: values as stored
    struct sq_cells cells;
};

static void sp24_free(void *context)
{
    struct state *s = context;
    if (!s)
        return;
    SQ_FREE(s->m.value, s->m.half, s->packed, s->m.meta, s->m.scale, s->dense, s->cells.cells, s);
}

static unsigned bits_of(const struct sq_recipe *r)
{
    const unsigned bits = sq_sp24_recipe(r)->weight_bits;
    return bits ? bits : 8;
}

static enum sq_status check(const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_sp24_recipe *o = sq_sp24_recipe(r);
    const bool is_half = bits_of(r) == 16;
    SQ_FAIL_IF(!r->is_act_f16 && (r->act.kind != SQ_GRID_DENSE || r->act.low_bits != 8 || is_half),
               err, SQ_ERR_UNSUPPORTED, "act-bits = %u, need %s for sp24", r->act.low_bits,
               is_half ? "16 beside weights of 16 bits" : "8 or 16");
    SQ_FAIL_IF(is_half && r->group != 0, err, SQ_ERR_UNSUPPORTED,
               "group = %u: weights of 16 bits have no scales", r->group);
    SQ_FAIL_IF(o->dense_fraction > 0 && (bits_of(r) != 8 || r->group != 0 || r->is_act_f16), err,
               SQ_ERR_UNSUPPORTED,
               "dense-layers = %g needs 8 bits, a scale a row and activations of 8 bits",
               o->dense_fraction);
    SQ_FAIL_IF((unsigned)o->prune >= SQ_PRUNES, err, SQ_ERR_UNSUPPORTED, "prune = %u, need 0..%d",
               (unsigned)o->prune, SQ_PRUNES - 1);
    SQ_FAIL_IF(o->prune == SQ_PRUNE_NONE && r->algorithm == SQ_ALGORITHM_GPTQ, err,
               SQ_ERR_UNSUPPORTED, "prune = none needs algorithm rtn");
    SQ_FAIL_IF(!(o->dense_fraction >= 0 && o->dense_fraction <= 1), err, SQ_ERR_RANGE,
               "dense-layers = %g, need 0..1", o->dense_fraction);
    return SQ_OK;
}

static struct sq_prune24 options_of(const struct sq_recipe *r)
{
    return (struct sq_prune24){.criterion = sq_sp24_recipe(r)->prune,
                               .is_joint = r->algorithm == SQ_ALGORITHM_GPTQ};
}

static unsigned needs(const struct sq_recipe *r)
{
    const struct sq_prune24 o = options_of(r);
    return (sq_prune24_needs_norm(&o) ? SQ_NEED_HESSIAN : 0u) |
           (sq_prune24_needs_factor(&o) ? SQ_NEED_FACTOR : 0u) |
           (sq_sp24_recipe(r)->dense_fraction > 0 ? SQ_NEED_HESSIAN : 0u);
}

// ---- options --------------------------------------------------------------------------------

enum { CODED = SQ_IN_EVAL | SQ_IN_QUANTIZE, TIMED = SQ_IN_RUN | SQ_IN_SWEEP };

#define ALGORITHM "rounding to nearest, or pruning and rounding compensated in one pass"

static const char *const algorithm_choice[] = {"rtn", "gptq", NULL};
static const char *const prune_choice[] = {"magnitude", "wanda", "sparsegpt", "none", NULL};
static const char *const group_choice[] = {"row", "16", "32", "64", "128", NULL};
static const char *const act_choice[] = {"8", "16", NULL};
static const char *const timed_act_choice[] = {"4", "8", "16", NULL};

#define OWN(field) SQ_OWN(sq_sp24_recipe, field)

static const struct sq_format_option options[] = {
    SQ_WORD("algorithm", CODED, CODED, algorithm_choice, 0, SQ_ALGORITHM_GPTQ, SQ_FIELD(algorithm),
            ALGORITHM),
    SQ_SAID("algorithm", SQ_IN_FILE, "file"),
    SQ_WORD("prune", CODED, CODED, prune_choice, 0, SQ_FOLLOWS, OWN(prune),
            "what is pruned first; by default sparsegpt, magnitude with --algorithm rtn"),
    SQ_REAL("sparsity", CODED, CODED, 0.5, 0.5, 0.5, OWN(sparsity), "share that is pruned",
            .text = "sp24 keeps two of four"),
    SQ_NUMBER("group", CODED | SQ_IN_RUN, CODED | SQ_IN_FILE | SQ_IN_RUN, group_choice, 0,
              SQ_FIELD(group), "weights per scale, pruned ones counted"),
    SQ_REAL("dense-layers", CODED, CODED, 0, 1, 0, OWN(dense_fraction),
            "the fraction of layers, most sensitive first, that stays dense INT8",
            .key = "dense_fraction"),
    SQ_UINT("weight-bits", CODED | SQ_IN_RUN, CODED | SQ_IN_FILE | SQ_IN_RUN, 4, 8, 8,
            OWN(weight_bits), "bits of a value that is kept; 16 is binary16", .also = 16),
    {.name = "act", .kind = SQ_OPTION_ACT, .shown = SQ_IN_EVAL | SQ_IN_FILE},
    SQ_REAL("percdamp", CODED, 0, 0, 1, 0.01, SQ_FIELD(percdamp), "damping of the Hessian"),
    SQ_REFUSED("score", CODED, "sp24 has --prune"),
    SQ_NUMBER("act-bits", SQ_IN_EVAL | SQ_IN_FILE, 0, act_choice, 8, SQ_FIELD(act.low_bits),
              "bits of an activation"),
    SQ_NUMBER("act-bits", TIMED, SQ_IN_RUN, timed_act_choice, 8, SQ_FIELD(act.low_bits),
              "bits of an activation"),
    {0}};

static enum sq_status settle(struct sq_recipe *r, unsigned scope, const struct sq_given *given,
                             struct sq_error *err)
{
    if (bits_of(r) == 16 && !sq_given_text(given, "act-bits")) {
        r->is_act_f16 = true;
        r->act.low_bits = 16;
    }
    if (!(scope & (CODED | SQ_IN_SWEEP)))
        return SQ_OK;
    if (!sq_given_text(given, "prune"))
        sq_sp24_set(r)->prune =
            r->algorithm == SQ_ALGORITHM_RTN ? SQ_PRUNE_MAGNITUDE : SQ_PRUNE_SPARSEGPT;
    SQ_FAIL_IF(sq_given_text(given, "percdamp") && (needs(r) & SQ_NEED_FACTOR) != SQ_NEED_FACTOR,
               err, SQ_ERR_ARG, "percdamp: nothing here uses a damped Hessian");
    return SQ_OK;
}

// Without its arrays; NULL without memory.
static struct state *state_shape(const struct sq_recipe *r, size_t n, size_t k_orig)
{
    struct state *s = calloc(1, sizeof *s);
    if (s)
        s->m = (struct sq_sp24){.n = n,
                                .k = sq_sp24_padded(k_orig, r->group),
                                .k_orig = k_orig,
                                .bits = bits_of(r),
                                .group = r->group};
    return s;
}

static struct state *state_new(const struct sq_recipe *r, size_t n, size_t k_orig, bool is_dense)
{
    struct state *s = state_shape(r, n, k_orig);
    if (!s)
        return NULL;
    const unsigned bits = bits_of(r);
    const size_t k = s->m.k;
    s->m.scale = malloc(n * sq_sp24_groups(&s->m) * sizeof(float) + 1);
    if (is_dense) {
        s->dense = malloc(n * k_orig);
    } else {
        s->m.value = bits == 16 ? NULL : malloc(n * (k / 2));
        s->m.half = bits == 16 ? malloc(n * (k / 2) * sizeof *s->m.half) : NULL;
        s->packed = bits < 8 ? malloc(n * (k / 2) * bits / 8) : NULL;
        s->m.meta = malloc(n * (k / 8));
    }
    if (s->m.scale &&
        (is_dense ? s->dense != NULL
                  : (s->m.value || s->m.half) && s->m.meta && (bits >= 8 || s->packed)))
        return s;
    sp24_free(s);
    return NULL;
}

static enum sq_status encode(struct state *s, const struct sq_recipe *r, const float *w,
                             const struct sq_quant_input *in, struct sq_error *err)
{
    const struct sq_prune24 o = options_of(r);
    const size_t n = s->m.n, k = s->m.k_orig;
    if (s->dense) {
        for (size_t row = 0; row < n; row++)
            s->m.scale[row] = sq_dense8_encode_row(w + row * k, k, s->dense + row * k);
        return SQ_OK;
    }
    SQ_FREED int8_t *codes = malloc(n * k);
    SQ_FREED double *norm = malloc(k * sizeof *norm);
    SQ_NEED_LAYER(codes && norm, err, n, k);
    if (sq_prune24_needs_norm(&o))
        SQ_TRY(sq_channel_norms(in->calibration, norm, err));
    return sq_prune24_encode(&s->m, w, &o, norm, in->factor, codes, NULL, err);
}

// The rows of a layer that stays dense.
static void dense_row(const void *from, size_t row, int16_t *plane, size_t stride, float *s_lo,
                      float *s_hi)
{
    const struct state *s = from;
    (void)stride;
    for (size_t i = 0; i < s->m.k_orig; i++)
        plane[i] = s->dense[row * s->m.k_orig + i];
    *s_lo = *s_hi = s->m.scale[row];
}

// What apply() and parts() read.
static enum sq_status finish(struct state *s, struct sq_error *err)
{
    const struct sq_sp24 *m = &s->m;
    if (s->packed)
        memset(s->packed, 0, m->n * (m->k / 2) * m->bits / 8);
    for (size_t i = 0; s->packed && i < m->n * (m->k / 2); i++)
        sq_bits_put(s->packed, i, m->bits, m->value[i]);
    if (m->half)
        return SQ_OK;
    s->cells = (struct sq_cells){.w = sq_sp24_codes(&s->m),
                                 .row = s->dense ? dense_row : sq_sp24_row,
                                 .from = s->dense ? (const void *)s : &s->m};
    return sq_cells_init(&s->cells, err);
}

static enum sq_status init(void **state, const struct sq_recipe *r, const float *w, size_t n,
                           size_t k, const struct sq_quant_input *in, struct sq_error *err)
{
    SQ_FAIL_IF(n == 0 || k == 0 || k % 4 != 0, err, SQ_ERR_SHAPE,
               "N x K = %zu x %zu: 2:4 needs K to be a multiple of 4", n, k);
    struct state *const s = *state = state_new(r, n, k, in->is_dense);
    SQ_TRY(s ? encode(s, r, w, in, err) : SQ_NO_LAYER(err, n, k));
    return finish(s, err);
}

static enum sq_status apply(const void *state, const struct sq_recipe *r, const float *x, size_t m,
                            float *y, struct sq_error *err)
{
    const struct state *s = state;
    if (!r->is_act_f16)
        return sq_cells_apply(&s->cells, x, m, s->m.k_orig, r->act.low_bits, y, err);
    SQ_FAIL_IF(s->dense, err, SQ_ERR_UNSUPPORTED, "act-bits = 16, need 8 beside dense layers");
    SQ_FREED float *tokens = malloc(m * s->m.k * sizeof *tokens);
    SQ_TRY(tokens ? sq_half_load(x, m, s->m.k_orig, s->m.k, tokens, err)
                  : SQ_NO_LAYER(err, m, s->m.k));
    sq_gemm_sp24_f16(&s->m, tokens, m, y);
    return SQ_OK;
}

static size_t padded(const struct sq_recipe *r, size_t k_orig)
{
    return sq_sp24_padded(k_orig, r->group);
}

// Outlines a pruned layer: which layers stay dense is known only from the sensitivity of all of them.
static void *outline(const struct sq_recipe *r, size_t n, size_t k)
{
    return state_shape(r, n, k);
}

static const char *sized_by(const struct sq_recipe *r)
{
    return sq_sp24_recipe(r)->dense_fraction > 0 ? "dense layers" : NULL;
}

static void decode_row(const void *state, size_t row, float *out)
{
    const struct state *s = state;
    const size_t k = s->m.k_orig;
    if (s->dense) {
        for (size_t i = 0; i < k; i++)
            out[i] = (float)s->dense[row * k + i] * s->m.scale[row];
        return;
    }
    sq_sp24_decode_row(&s->m, row, out);
}

// ---- training -------------------------------------------------------------------------------

// Columns of the two stored values of group g of a row.
static void columns_of(const struct sq_sp24 *m, size_t row, size_t g, unsigned at[2])
{
    at[0] = 0, at[1] = 1;
    sq_meta24_decode((unsigned)m->meta[row * (m->k / 8) + g / 2] >> (g % 2 * 4), &at[0], &at[1]);
}

static enum sq_status tune(const void *state, struct sq_tune *t, struct sq_error *err)
{
    const struct state *s = state;
    const struct sq_sp24 *m = &s->m;
    const size_t scales = sq_sp24_groups(m);
    SQ_FAIL_IF(s->dense, err, SQ_ERR_UNSUPPORTED, "a layer that stays dense is not trained");
    SQ_TRY(sq_tune_init(t, m->n, m->k_orig, m->n * scales, err));
    t->highest = scales ? sq_qmax(m->bits) : 0;
    t->lowest = -t->highest;
    for (size_t i = 0; i < m->n * scales; i++)
        t->scale.at[i] = m->scale[i];
    for (size_t i = 0; i < m->n * m->k_orig; i++)
        t->of[i] = SQ_TUNE_PRUNED;
    for (size_t row = 0; row < m->n; row++) {
        sq_sp24_decode_row(m, row, t->w.at + row * m->k_orig);
        for (size_t g = 0; g < m->k_orig / 4; g++) {
            unsigned at[2];
            columns_of(m, row, g, at);
            for (unsigned i = 0; i < 2; i++)
                t->of[row * m->k_orig + 4 * g + at[i]] =
                    (uint32_t)(row * scales + 4 * g * scales / m->k);
        }
    }
    return SQ_OK;
}

static enum sq_status retune(void *state, const struct sq_recipe *r, const struct sq_tune *t,
                             struct sq_error *err)
{
    struct state *s = state;
    struct sq_sp24 *m = &s->m;
    const size_t scales = sq_sp24_groups(m), half = m->k / 2;
    (void)r;
    for (size_t i = 0; i < m->n * scales; i++)
        m->scale[i] = sq_tune_scale(t, (uint32_t)i);
    for (size_t row = 0; row < m->n; row++)
        for (size_t i = 0; i < m->k_orig / 2; i++) {
            unsigned column[2];
            columns_of(m, row, i / 2, column);
            const size_t at = row * m->k_orig + i / 2 * 4 + column[i % 2];
            if (m->half)
                m->half[row * half + i] = sq_f32_to_f16(t->w.at[at]);
            else
                m->value[row * half + i] = (int8_t)sq_tune_code(t, at);
        }
    SQ_TRY(sq_sp24_validate(m, m->n * half, m->n * m->k / 8, m->n * scales, err));
    free(s->cells.cells);
    s->cells = (struct sq_cells){0};
    return finish(s, err);
}

// ---- files ----------------------------------------------------------------------------------

static size_t parts(const void *state, struct sq_part part[SQ_PARTS_MAX])
{
    const struct state *s = state;
    const size_t n = s->m.n, k = s->m.k, scales = sq_sp24_groups(&s->m);
    const unsigned bits = sq_sp24_bits(&s->m);
    if (s->dense) {
        part[0] = (struct sq_part){"s_w", SQ_F32, 1, {n}, s->m.scale};
        part[1] = (struct sq_part){"values", SQ_I8, 2, {n, s->m.k_orig}, s->dense};
        return 2;
    }
    const size_t at = scales > 0;
    if (scales)
        part[0] = (struct sq_part){"s_w", SQ_F32, s->m.group ? 2 : 1, {n, scales}, s->m.scale};
    part[at] = bits == 16  ? (struct sq_part){"values", SQ_F16, 2, {n, k / 2}, s->m.half}
               : bits == 8 ? (struct sq_part){"values", SQ_I8, 2, {n, k / 2}, s->m.value}
                           : (struct sq_part){"values", SQ_U8, 2, {n, k / 2 * bits / 8}, s->packed};
    part[at + 1] = (struct sq_part){"meta", SQ_U8, 2, {n, k / 8}, s->m.meta};
    return at + 2;
}

static enum sq_status load(void **state, const struct sq_recipe *r,
                           const struct sq_part_source *from, struct sq_error *err)
{
    const struct sq_tensor *meta;
    SQ_FAIL_IF(from->k_orig % 4 != 0, err, SQ_ERR_SHAPE, "K = %zu, need a multiple of 4",
               from->k_orig);
    // A layer that stays dense has none; with other bits, or with groups, none does.
    const bool is_dense = bits_of(r) == 8 && r->group == 0 &&
                          sq_part_find(from, "meta", SQ_U8, 2, (size_t[]){SIZE_MAX, SIZE_MAX},
                                       &meta, NULL) == SQ_ERR_DAMAGED;
    struct state *const s = *state = state_new(r, from->n, from->k_orig, is_dense);
    SQ_NEED_LAYER(s, err, from->n, from->k_orig);
    SQ_TRY(sq_parts_read(parts, s, from, err));
    const struct sq_sp24 *const m = &s->m;
    const size_t n_values = m->n * (m->k / 2);
    SQ_FAIL_IF(is_dense && memchr(s->dense, -128, m->n * m->k_orig), err, SQ_ERR_CODE,
               "values hold code -128, need -127..127");
    for (size_t i = 0; s->packed && i < n_values; i++)
        m->value[i] = sq_bits_get(s->packed, i, m->bits);
    if (!is_dense)
        SQ_TRY(sq_sp24_validate(m, n_values, m->n * (m->k / 8), m->n * sq_sp24_groups(m), err));
    return finish(s, err);
}

static size_t numbers(struct sq_recipe *r, struct sq_metadata_value value[SQ_VALUES_MAX])
{
    sq_sp24_set(r)->weight_bits = bits_of(r);
    value[0] = (struct sq_metadata_value){"weight_bits", &sq_sp24_set(r)->weight_bits, 4, 16};
    value[1] = (struct sq_metadata_value){"group", &r->group, 16, 128};
    return 2;
}

const struct sq_sp24 *sq_sp24_encoded(const void *state)
{
    const struct state *s = state;
    return s->dense ? NULL : &s->m;
}

// ---- time and traffic -----------------------------------------------------------------------

static enum sq_status check_cost(const struct sq_recipe *r, struct sq_error *err)
{
    return sq_cost_check_act(r, true, err);
}

// The two values of each four; a row or a group has one scale, binary16 none. 4 bits of metadata for four.
static void demand(const struct sq_recipe *r, const struct sq_core_config *has, struct sq_demand *d)
{
    struct sq_cost_unit *const u = &d->cost;
    const unsigned bits = bits_of(r);
    u->low_lanes = sq_cost_products(has, bits, sq_recipe_act_bits(r));
    u->low = 0.5;
    u->flush = 0;
    sq_cost_pieces(u, 4, 2. * u->low_lanes);
    d->of[SQ_STREAM_LO].element = bits / 2.;
    d->of[SQ_STREAM_INDEX].element = 1;
    d->of[SQ_STREAM_SCALE].group = bits == 16 ? 0 : 4;
}

static double equivalent_bits(const struct sq_recipe *r)
{
    return bits_of(r) / 2. + 1;
}

static bool always(const struct sq_recipe *r)
{
    (void)r;
    return true;
}

extern const struct sq_format_routes sq_sp24_routes;

// Two products for each four elements.
static void make_pe(const struct sq_recipe *r, const struct sq_cost_unit *u, struct sq_cost_pe *pe)
{
    const struct sq_synth_block block = {
        .top = "sq_pe_24",
        .n_params = 3,
        .param = {{"BankLen", u->span}, {"PlainW", sq_recipe_act_bits(r)}, {"ValueW", bits_of(r)}}};
    if (u->span_beats == 1 && sq_recipe_act_bits(r) <= 8 && bits_of(r) <= 8)
        sq_cost_pe_add(pe, 1, &block);
}

static enum sq_scan scan(const struct sq_recipe *r, double *share)
{
    *share = sq_sp24_recipe(r)->dense_fraction;
    return *share > 0 ? SQ_SCAN_DENSE : SQ_SCAN_NOTHING;
}

const struct sq_format_ops sq_format_sp24 = {
    .name = "sp24",
    .option = options,
    .uncalibrated = "--prune magnitude --algorithm rtn",
    .settle = settle,
    .values =
        &(const struct sq_format_values){
            .scan = scan,
            .check = check,
            .needs = needs,
            .init = init,
            .free = sp24_free,
            .apply = apply,
            .padded = padded,
            .tune = tune,
            .retune = retune,
            .decode_row = decode_row,
        },
    .file =
        &(const struct sq_format_file){
            .outline = outline,
            .sized_by = sized_by,
            .parts = parts,
            .load = load,
            .optional = numbers,
        },
    .cost =
        &(const struct sq_format_cost){
            .check = check_cost,
            .pe = make_pe,
            .demand = demand,
            .equivalent_bits = equivalent_bits,
        },
    .gpu =
        &(const struct sq_format_gpu){
            .is_sparse = true,
            .product = sq_gpu_product_int8,
            .is_library = always,
        },
    .routes = &sq_sp24_routes,
};
