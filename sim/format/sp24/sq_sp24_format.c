// SPDX-License-Identifier: Apache-2.0
// 2:4 + INT8 (SPEC E) as a format. K is padded to whole hardware tiles of 64 columns. A
// layer that stays dense (selective sparsity) holds its INT8 codes in `values` [N][K], without
// `meta`.
#include <stdlib.h>
#include <string.h>

#include "models/quant/sq_sensitivity.h"
#include "models/sp24/sq_prune24.h"
#include "sim/format/sp24/sq_sp24_recipe.h"
#include "sim/format/sq_cells.h"
#include "sim/format/sq_format_ops.h"

struct state {
    struct sq_sp24 m;
    int8_t *dense; // [n][k_orig], NULL where the layer is pruned
    struct sq_cells cells;
};

static void sp24_free(void *context)
{
    struct state *s = context;
    if (!s)
        return;
    free(s->m.value);
    free(s->m.meta);
    free(s->m.scale);
    free(s->dense);
    free(s->cells.cells);
    free(s);
}

static enum sq_status check(const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_sp24_recipe *o = sq_sp24_recipe(r);
    if (r->is_act_f16 || r->act.kind != SQ_GRID_DENSE || r->act.low_bits != 8)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "act-bits = %u, need 8 for sp24",
                       r->is_act_f16 ? 16 : r->act.low_bits);
    if ((unsigned)o->prune >= SQ_PRUNES)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "prune = %u, need 0..%d", (unsigned)o->prune,
                       SQ_PRUNES - 1);
    if (o->prune == SQ_PRUNE_NONE && r->algorithm == SQ_ALGORITHM_GPTQ)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "prune = none needs algorithm rtn");
    if (!(o->dense_fraction >= 0 && o->dense_fraction <= 1))
        return SQ_FAIL(err, SQ_ERR_RANGE, "dense-layers = %g, need 0..1", o->dense_fraction);
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
static const char *const row_choice[] = {"row", NULL};
static const char *const act_choice[] = {"8", NULL}, *const timed_act_choice[] = {"4", "8", NULL};

#define OWN(field) SQ_OWN(sq_sp24_recipe, field)

static const struct sq_format_option options[] = {
    SQ_WORD("algorithm", CODED, CODED, algorithm_choice, 0, SQ_ALGORITHM_GPTQ, SQ_FIELD(algorithm),
            ALGORITHM),
    SQ_SAID("algorithm", SQ_IN_FILE, "file"),
    SQ_WORD("prune", CODED, CODED, prune_choice, 0, SQ_FOLLOWS, OWN(prune),
            "what is pruned first; by default sparsegpt, magnitude with --algorithm rtn"),
    SQ_REAL("sparsity", CODED, CODED, 0.5, 0.5, 0.5, OWN(sparsity), "share that is pruned",
            .text = "sp24 keeps two of four"),
    SQ_NUMBER("group", CODED, CODED, row_choice, 0, SQ_FIELD(group), "weights per scale",
              .text = "sp24 has a scale per row"),
    SQ_REAL("dense-layers", CODED, CODED, 0, 1, 0, OWN(dense_fraction),
            "the fraction of layers, most sensitive first, that stays dense INT8",
            .key = "dense_fraction"),
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
    if (!(scope & (CODED | SQ_IN_SWEEP)))
        return SQ_OK;
    if (!sq_given_text(given, "prune"))
        sq_sp24_set(r)->prune =
            r->algorithm == SQ_ALGORITHM_RTN ? SQ_PRUNE_MAGNITUDE : SQ_PRUNE_SPARSEGPT;
    if (sq_given_text(given, "percdamp") && (needs(r) & SQ_NEED_FACTOR) != SQ_NEED_FACTOR)
        return SQ_FAIL(err, SQ_ERR_ARG, "percdamp: nothing here uses a damped Hessian");
    return SQ_OK;
}

static enum sq_status no_memory(size_t n, size_t k, struct sq_error *err)
{
    return SQ_NO_MEMORY(err, "a layer of %zu x %zu", n, k);
}

static struct state *state_new(size_t n, size_t k_orig, bool is_dense)
{
    const size_t k = sq_sp24_padded(k_orig);
    struct state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->m = (struct sq_sp24){.n = n, .k = k, .k_orig = k_orig, .scale = malloc(n * sizeof(float))};
    if (is_dense) {
        s->dense = malloc(n * k_orig);
    } else {
        s->m.value = malloc(n * (k / 2));
        s->m.meta = malloc(n * (k / 8));
    }
    if (s->m.scale && (is_dense ? s->dense != NULL : s->m.value && s->m.meta))
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
    int8_t *codes = malloc(n * k);
    double *norm = malloc(k * sizeof *norm);
    enum sq_status status = codes && norm ? SQ_OK : no_memory(n, k, err);
    if (status == SQ_OK && sq_prune24_needs_norm(&o))
        status = sq_channel_norms(in->calibration, norm, err);
    if (status == SQ_OK)
        status = sq_prune24_encode(&s->m, w, &o, norm, in->factor, codes, NULL, err);
    free(codes);
    free(norm);
    return status;
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

// What apply() reads.
static enum sq_status finish(struct state *s, struct sq_error *err)
{
    s->cells = (struct sq_cells){.w = sq_sp24_codes(&s->m),
                                 .row = s->dense ? dense_row : sq_sp24_row,
                                 .from = s->dense ? (const void *)s : &s->m};
    return sq_cells_init(&s->cells, err);
}

static enum sq_status init(void **state, const struct sq_recipe *r, const float *w, size_t n,
                           size_t k, const struct sq_quant_input *in, struct sq_error *err)
{
    *state = NULL;
    if (n == 0 || k == 0 || k % 4 != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "N x K = %zu x %zu: 2:4 needs K to be a multiple of 4", n,
                       k);
    struct state *s = state_new(n, k, in->is_dense);
    enum sq_status status = s ? encode(s, r, w, in, err) : no_memory(n, k, err);
    if (status == SQ_OK)
        status = finish(s, err);
    if (status != SQ_OK)
        sp24_free(s);
    else
        *state = s;
    return status;
}

static enum sq_status apply(const void *state, const struct sq_recipe *r, const float *x, size_t m,
                            float *y, struct sq_error *err)
{
    const struct state *s = state;
    return sq_cells_apply(&s->cells, x, m, s->m.k_orig, r->act.low_bits, y, err);
}

static size_t padded(const struct sq_recipe *r, size_t k_orig)
{
    (void)r;
    return sq_sp24_padded(k_orig);
}

// Outlines a pruned layer: which layers stay dense is known only from the sensitivity of all of them.
static void *outline(const struct sq_recipe *r, size_t n, size_t k)
{
    struct state *s = calloc(1, sizeof *s);
    (void)r;
    if (s)
        s->m = (struct sq_sp24){.n = n, .k = sq_sp24_padded(k), .k_orig = k};
    return s;
}

static const char *sized_by(const struct sq_recipe *r)
{
    return sq_sp24_recipe(r)->dense_fraction > 0 ? "dense layers" : NULL;
}

static void decode_row(const void *state, size_t row, float *out)
{
    const struct state *s = state;
    const size_t k = s->m.k_orig;
    memset(out, 0, k * sizeof *out);
    if (s->dense) {
        for (size_t i = 0; i < k; i++)
            out[i] = (float)s->dense[row * k + i] * s->m.scale[row];
        return;
    }
    for (size_t g = 0; g < k / 4; g++) {
        unsigned i0 = 0, i1 = 1;
        const int8_t *value = s->m.value + row * (s->m.k / 2) + 2 * g;
        sq_meta24_decode((unsigned)s->m.meta[row * (s->m.k / 8) + g / 2] >> (g % 2 * 4), &i0, &i1);
        out[4 * g + i0] = (float)value[0] * s->m.scale[row];
        out[4 * g + i1] = (float)value[1] * s->m.scale[row];
    }
}

// ---- files ----------------------------------------------------------------------------------

static size_t parts(const void *state, struct sq_part part[SQ_PARTS_MAX])
{
    const struct state *s = state;
    const size_t n = s->m.n, k = s->m.k;
    part[0] = (struct sq_part){"s_w", SQ_F32, 1, {n}, s->m.scale};
    if (s->dense) {
        part[1] = (struct sq_part){"values", SQ_I8, 2, {n, s->m.k_orig}, s->dense};
        return 2;
    }
    part[1] = (struct sq_part){"values", SQ_I8, 2, {n, k / 2}, s->m.value};
    part[2] = (struct sq_part){"meta", SQ_U8, 2, {n, k / 8}, s->m.meta};
    return 3;
}

static enum sq_status copy(struct state *s, const struct sq_part_source *from,
                           const struct sq_tensor *values, struct sq_error *err)
{
    const struct sq_tensor *meta, *scale;
    SQ_TRY(sq_part_find(from, "s_w", SQ_F32, 1, (size_t[]){from->n}, &scale, err));
    memcpy(s->m.scale, scale->data, scale->nbytes);
    if (s->dense) {
        memcpy(s->dense, values->data, values->nbytes);
        if (memchr(s->dense, -128, values->nbytes))
            return SQ_FAIL(err, SQ_ERR_CODE, "values hold code -128, need -127..127");
        return SQ_OK;
    }
    SQ_TRY(sq_part_find(from, "meta", SQ_U8, 2, (size_t[]){from->n, s->m.k / 8}, &meta, err));
    memcpy(s->m.value, values->data, values->nbytes);
    memcpy(s->m.meta, meta->data, meta->nbytes);
    return sq_sp24_validate(&s->m, values->nbytes, meta->nbytes, from->n, err);
}

static enum sq_status load(void **state, const struct sq_recipe *r,
                           const struct sq_part_source *from, struct sq_error *err)
{
    const struct sq_tensor *values, *meta;
    (void)r;
    *state = NULL;
    if (from->k_orig % 4 != 0)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "K = %zu, need a multiple of 4", from->k_orig);
    const bool is_dense = sq_part_find(from, "meta", SQ_U8, 2, (size_t[]){SIZE_MAX, SIZE_MAX},
                                       &meta, NULL) == SQ_ERR_DAMAGED;
    const size_t k = sq_sp24_padded(from->k_orig);
    SQ_TRY(sq_part_find(from, "values", SQ_I8, 2,
                        (size_t[]){from->n, is_dense ? from->k_orig : k / 2}, &values, err));
    struct state *s = state_new(from->n, from->k_orig, is_dense);
    enum sq_status status = s ? copy(s, from, values, err) : no_memory(from->n, from->k_orig, err);
    if (status == SQ_OK)
        status = finish(s, err);
    if (status != SQ_OK)
        sp24_free(s);
    else
        *state = s;
    return status;
}

const struct sq_sp24 *sq_sp24_encoded(const void *state)
{
    const struct state *s = state;
    return s->dense ? NULL : &s->m;
}

// ---- time and traffic -----------------------------------------------------------------------

static enum sq_status check_cost(const struct sq_recipe *r, struct sq_error *err)
{
    return sq_cost_check_act(r, false, err);
}

// The two values of each four; a row has one scale.
// 8 bits for each second element, 4 bits of metadata for four.
static void demand(const struct sq_recipe *r, const struct sq_core_config *has, struct sq_demand *d)
{
    struct sq_cost_unit *const u = &d->cost;
    u->low_lanes = sq_cost_products(has, 8, sq_recipe_act_bits(r));
    u->low = 0.5;
    u->flush = 0;
    sq_cost_pieces(u, 4, 2. * u->low_lanes);
    d->of[SQ_STREAM_LO].element = 4;
    d->of[SQ_STREAM_INDEX].element = 1;
    d->of[SQ_STREAM_SCALE].group = 4;
}

static double equivalent_bits(const struct sq_recipe *r)
{
    (void)r;
    return 5;
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
        .param = {{"BankLen", u->span}, {"PlainW", sq_recipe_act_bits(r)}, {"ValueW", 8}}};
    if (u->span_beats == 1 && sq_recipe_act_bits(r) <= 8)
        sq_cost_pe_add(pe, 1, &block);
}

static enum sq_scan scan(const struct sq_recipe *r, double *share)
{
    *share = sq_sp24_recipe(r)->dense_fraction;
    return *share > 0 ? SQ_SCAN_DENSE : SQ_SCAN_NOTHING;
}

static const struct sq_format_values coded = {
    .scan = scan,
    .check = check,
    .needs = needs,
    .init = init,
    .free = sp24_free,
    .apply = apply,
    .padded = padded,
    .decode_row = decode_row,
};

static const struct sq_format_file stored = {
    .outline = outline,
    .sized_by = sized_by,
    .parts = parts,
    .load = load,
};

static const struct sq_format_cost timed = {
    .check = check_cost,
    .pe = make_pe,
    .demand = demand,
    .equivalent_bits = equivalent_bits,
};

static const struct sq_format_gpu on_gpu = {
    .is_sparse = true,
    .product = sq_gpu_product_int8,
    .is_library = always,
};

const struct sq_format_ops sq_format_sp24 = {
    .name = "sp24",
    .option = options,
    .uncalibrated = "--prune magnitude --algorithm rtn",
    .settle = settle,
    .values = &coded,
    .file = &stored,
    .cost = &timed,
    .gpu = &on_gpu,
    .routes = &sq_sp24_routes,
};
