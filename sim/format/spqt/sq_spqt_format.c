// SPDX-License-Identifier: Apache-2.0
// SpQt (SPEC G) as a format: Q4_K superblocks down the columns, and one threshold per
// input, the quantile of |x| over the calibration sample, or one per layer (sq_sparsity_scan.h).
// Rows are padded to superblocks of 256.
//
// SpQt is a decode format. Here every token is thresholded, as if each were decoded on its own;
// with is_prefill_dense, or a sparsity of 0, none is, as in prefill. Activations are binary32.
//
// Files: `theta` F32 [1], `superblocks` U8 [ceil(N / 256)][K][144].
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "models/quant/sq_threshold.h"
#include "models/spqt/sq_spqt.h"
#include "sim/block/spqt/sq_spqt_idx_block.h"
#include "sim/format/spqt/sq_spqt_cost.h"
#include "sim/format/spqt/sq_spqt_recipe.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_work_split.h"

struct state {
    struct sq_spqt m;
    float theta;
    float *plane; // decoded
};

static void spqt_free(void *context)
{
    struct state *s = context;
    if (!s)
        return;
    SQ_FREE(s->m.block, s->plane, s);
}

static enum sq_status check(const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_spqt_recipe *o = sq_spqt_recipe(r);
    SQ_FAIL_IF(!(o->sparsity >= 0 && o->sparsity <= 0.95), err, SQ_ERR_RANGE,
               "sparsity = %g, need 0..0.95 for spqt", o->sparsity);
    SQ_FAIL_IF(o->workers > 1024, err, SQ_ERR_RANGE, "workers = %u, need 1..1024", o->workers);
    return SQ_OK;
}

static unsigned needs(const struct sq_recipe *r)
{
    return sq_spqt_recipe(r)->sparsity > 0 ? SQ_NEED_SAMPLE : 0u;
}

// ---- options --------------------------------------------------------------------------------

enum { CODED = SQ_IN_EVAL | SQ_IN_QUANTIZE, TIMED = SQ_IN_RUN | SQ_IN_SWEEP };

#define PADDING "rows padded to superblocks of 256"

static const char *const prefill_choice[] = {"sparse", "dense", NULL};
static const char *const thresholds_choice[] = {"uniform", "greedy", NULL};
static const char *const timed_act_choice[] = {"4", "8", "16", NULL};

#define OWN(field) SQ_OWN(sq_spqt_recipe, field)

static const struct sq_format_option options[] = {
    SQ_SAID("padding", CODED | SQ_IN_FILE, PADDING),
    SQ_SAID("algorithm", CODED, "q4_k"),
    SQ_SAID("algorithm", SQ_IN_FILE, "file"),
    SQ_REAL("sparsity", CODED, CODED, 0, 0.95, 0.5, OWN(sparsity),
            "fraction of the activations below the threshold"),
    SQ_WORD("prefill", CODED, CODED | SQ_IN_FILE, prefill_choice, 0, 0, OWN(is_prefill_dense),
            "sparse thresholds every token, dense none, as in prefill"),
    SQ_WORD("thresholds", CODED, CODED, thresholds_choice, 0, 0, OWN(is_greedy),
            "uniform: the sparsity is of every input; greedy: of every layer, shared out in each "
            "block where it costs least"),
    SQ_UINT("workers", CODED, CODED | SQ_IN_FILE, 1, 1024, SQ_SPQT_WORKERS, OWN(workers),
            "workers that share the active columns"),
    {.name = "act", .kind = SQ_OPTION_ACT, .shown = SQ_IN_EVAL | SQ_IN_FILE, .text = "binary32"},
    SQ_REAL("sparsity", TIMED, SQ_IN_RUN, 0, 0.99, 0.5, OWN(sparsity),
            "fraction of the activations that is skipped"),
    SQ_WORD("layout", SQ_IN_RUN, SQ_IN_RUN, sq_spqt_layout_names, 0, 0, OWN(layout),
            "superblocks down the columns (zigzag) or along the rows"),
    SQ_NUMBER("act-bits", TIMED, SQ_IN_RUN, timed_act_choice, 16, SQ_FIELD(act.low_bits),
              "bits of an activation"),
    SQ_REFUSED("act-bits", SQ_IN_EVAL, "spqt multiplies binary32 activations"),
    SQ_REFUSED("act-bits", SQ_IN_FILE, "spqt has binary32 activations"),
    SQ_REFUSED("algorithm", CODED, "spqt has one algorithm"),
    SQ_REFUSED("score", CODED, "spqt does not choose weights by importance"),
    SQ_REFUSED("group", CODED, "the groups of spqt are fixed"),
    SQ_REFUSED("percdamp", CODED, "nothing here uses a damped Hessian"),
    {0}};

static enum sq_status settle(struct sq_recipe *r, unsigned scope, const struct sq_given *given,
                             struct sq_error *err)
{
    const char *sparsity = sq_given_text(given, "sparsity");
    if (scope & (CODED | SQ_IN_FILE))
        r->act.low_bits = 32; // it multiplies them as they are
    if (!(scope & CODED) || !sq_spqt_recipe(r)->is_prefill_dense)
        return SQ_OK;
    SQ_FAIL_IF(sparsity, err, SQ_ERR_ARG, "sparsity = %.40s: dense prefill skips nothing",
               sparsity);
    SQ_FAIL_IF(sq_given_text(given, "thresholds"), err, SQ_ERR_ARG,
               "thresholds: dense prefill skips nothing");
    sq_spqt_set(r)->sparsity = 0;
    return SQ_OK;
}

static void text(const struct sq_recipe *r, char out[96])
{
    const struct sq_spqt_recipe *o = sq_spqt_recipe(r);
    snprintf(out, 96, "spqt A%u, %g of the activations skipped, %s layout", sq_recipe_act_bits(r),
             o->sparsity, sq_spqt_layout_names[o->layout]);
}

static struct state *state_new(size_t n, size_t k)
{
    const size_t n_blocks = sq_spqt_n_blocks(n, k);
    struct state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->m = (struct sq_spqt){n, k, malloc(n_blocks * SQ_Q4K_NBYTES)};
    s->plane = aligned_alloc(64, n_blocks * SQ_Q4K_LEN * sizeof *s->plane);
    if (s->m.block && s->plane)
        return s;
    spqt_free(s);
    return NULL;
}

static void set_threshold(void *state, float theta)
{
    ((struct state *)state)->theta = theta;
}

static enum sq_status fill_theta(struct state *s, const struct sq_recipe *r,
                                 const struct sq_quant_input *in, struct sq_error *err)
{
    const double sparsity = in->sparsity ? *in->sparsity : sq_spqt_recipe(r)->sparsity;
    SQ_CLOSED(sq_histogram_free) struct sq_histogram h = {0};
    if (sparsity == 0)
        return SQ_OK;
    SQ_FAIL_IF(!in->sample, err, SQ_ERR_ARG, "spqt needs a calibration sample for its threshold");
    SQ_TRY(sq_histogram_init(&h, err));
    SQ_TRY(sq_histogram_add(&h, in->sample, in->n_sample * s->m.k, err));
    return sq_threshold(&h, sparsity, &s->theta, err);
}

static enum sq_status init(void **state, const struct sq_recipe *r, const float *w, size_t n,
                           size_t k, const struct sq_quant_input *in, struct sq_error *err)
{
    struct state *const s = *state = state_new(n, k);
    SQ_TRY(s ? sq_spqt_encode(w, &s->m, err) : SQ_NO_LAYER(err, n, k));
    SQ_TRY(fill_theta(s, r, in, err));
    sq_spqt_decode(&s->m, s->plane);
    return SQ_OK;
}

static enum sq_status apply(const void *state, const struct sq_recipe *r, const float *x, size_t m,
                            float *y, struct sq_error *err)
{
    const struct sq_spqt_recipe *o = sq_spqt_recipe(r);
    const struct state *s = state;
    const size_t n = s->m.n, k = s->m.k;
    const bool is_dense = o->is_prefill_dense || s->theta == 0;
    SQ_FREED uint32_t *idx = is_dense ? NULL : malloc(m * k * sizeof *idx);
    SQ_FREED size_t *n_idx = malloc(m * sizeof *n_idx);
    SQ_NEED_LAYER(n_idx && (idx || is_dense), err, n, k);
    for (size_t t = 0; t < m; t++)
        SQ_TRY(sq_spqt_check(x + t * k, k, s->theta, err));
    for (size_t t = 0; !is_dense && t < m; t++)
        n_idx[t] = sq_spqt_select(x + t * k, k, s->theta, idx + t * k);
    sq_spqt_gemm(&(struct sq_spqt_gemm){.m = &s->m,
                                        .plane = s->plane,
                                        .x = x,
                                        .idx = idx,
                                        .n_idx = n_idx,
                                        .workers = o->workers ? o->workers : SQ_SPQT_WORKERS,
                                        .y = y},
                 m);
    return SQ_OK;
}

static void *outline(const struct sq_recipe *r, size_t n, size_t k)
{
    struct state *s = calloc(1, sizeof *s);
    (void)r;
    if (s)
        s->m = (struct sq_spqt){n, k, NULL};
    return s;
}

static void decode_row(const void *state, size_t row, float *out)
{
    const struct state *s = state;
    const size_t k = s->m.k;
    for (size_t c = 0; c < k; c++)
        out[c] = s->plane[(row / SQ_Q4K_LEN * k + c) * SQ_Q4K_LEN + row % SQ_Q4K_LEN];
}

static enum sq_status share(const void *state, const struct sq_sharing *how,
                            struct sq_figure figure[SQ_FIGURES_MAX], size_t *n,
                            struct sq_error *err)
{
    const struct state *s = state;
    const size_t k = s->m.k, workers = how->workers;
    SQ_FREED uint32_t *idx = malloc(k * sizeof *idx);
    SQ_NEED_LAYER(idx, err, s->m.n, k);
    figure[0] = (struct sq_figure){"ideal", 0};
    figure[1] = (struct sq_figure){"balanced", 0};
    figure[2] = (struct sq_figure){"static", 0};
    *n = 3;
    for (size_t t = 0; t < how->m; t++) {
        const size_t n_idx = sq_spqt_active(how->x + t * k, k, s->theta, SQ_SPQT_SEGMENT, idx);
        figure[0].value += (double)((n_idx + workers - 1) / workers);
        figure[1].value += (double)sq_work_split_columns(idx, n_idx, k, workers, false);
        figure[2].value += (double)sq_work_split_columns(idx, n_idx, k, workers, true);
    }
    return SQ_OK;
}

const struct sq_spqt *sq_spqt_encoded(const void *state, float *theta)
{
    const struct state *s = state;
    *theta = s->theta;
    return &s->m;
}

// ---- files ----------------------------------------------------------------------------------

static size_t parts(const void *state, struct sq_part part[SQ_PARTS_MAX])
{
    const struct state *s = state;
    const size_t n_rows = sq_spqt_n_rows(s->m.n);
    part[0] = (struct sq_part){"theta", SQ_F32, 1, {1}, &s->theta};
    part[1] =
        (struct sq_part){"superblocks", SQ_U8, 3, {n_rows, s->m.k, SQ_Q4K_NBYTES}, s->m.block};
    return 2;
}

static enum sq_status load(void **state, const struct sq_recipe *r,
                           const struct sq_part_source *from, struct sq_error *err)
{
    const size_t n = from->n, k = from->k_orig;
    struct state *const s = *state = state_new(n, k);
    (void)r;
    SQ_TRY(s ? sq_parts_read(parts, s, from, err) : SQ_NO_LAYER(err, n, k));
    SQ_TRY(sq_spqt_validate(&s->m, sq_spqt_n_blocks(n, k) * SQ_Q4K_NBYTES, err));
    SQ_TRY(sq_spqt_check(NULL, 0, s->theta, err));
    sq_spqt_decode(&s->m, s->plane);
    return SQ_OK;
}

static size_t values(struct sq_recipe *r, struct sq_metadata_value value[SQ_VALUES_MAX])
{
    const struct sq_spqt_recipe *o = sq_spqt_recipe(r);
    sq_spqt_set(r)->workers = o->workers ? o->workers : SQ_SPQT_WORKERS;
    value[0] = (struct sq_metadata_value){"workers", &sq_spqt_set(r)->workers, 1, 1024};
    return 1;
}

// ---- time and traffic -----------------------------------------------------------------------

static enum sq_status check_cost(const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_spqt_recipe *o = sq_spqt_recipe(r);
    SQ_TRY(sq_cost_check_act(r, true, err));
    SQ_FAIL_IF(!(o->sparsity >= 0 && o->sparsity < 1), err, SQ_ERR_RANGE,
               "sparsity = %g, need 0 <= sparsity < 1 for spqt", o->sparsity);
    return SQ_OK;
}

// Share of the columns that at least one of m tokens has.
static double active(const struct sq_recipe *r, uint64_t m)
{
    return 1 - pow(sq_spqt_recipe(r)->sparsity, (double)m);
}

// The share of columns that are active for any of all tokens.
static double active_of_all(const struct sq_recipe *r, uint64_t m)
{
    return r->rows ? sq_spqt_recipe(r)->of_all : active(r, m);
}

// Tokens side by side, as many as there are and the machine has rows; each has engines of its own, which step
// through its active columns. 4 + 0.5 bits a weight, of the columns any token has, in whole superblocks (G.3);
// zigzag has 256 output channels in one, and rounds them up.
static void demand(const struct sq_recipe *r, const struct sq_core_config *has, struct sq_demand *d)
{
    enum { WEIGHT = 24, ACT = 11 }; // bits of what binary32 and binary16 multiply
    const struct sq_spqt_recipe *const o = sq_spqt_recipe(r);
    struct sq_cost_unit *const u = &d->cost;
    const double one = active(r, 1), all = active_of_all(r, d->m);
    u->multipliers = 2 * SQ_ENGINE_SPQT_BYTES;
    const unsigned engines = sq_cost_engines(u, has, WEIGHT, ACT), of_tokens = has->rows;
    u->unit.kind = SQ_UNIT_ENGINES;
    u->unit.engine = &sq_engine_spqt_unit;
    u->rows = d->m < of_tokens ? (unsigned)d->m : of_tokens;
    u->rows = engines < u->rows ? engines : u->rows;
    u->engines = u->rows;
    u->abreast = u->rows ? engines / u->rows : 0;
    u->weight_rows = 1;
    u->lines = u->reads = SQ_Q4K_LEN;
    u->load = u->step = SQ_ENGINE_SPQT_SEG;
    u->depth = 1 << 16;
    u->flush = 0;
    u->low = one;
    u->weight_share = all > 0 ? one / all : 1;
    u->unit.output.lanes = u->rows * u->multipliers;

    const double fetched = sq_spqt_fetched(o->layout, d->burst_nbytes, all);
    d->channels = o->layout == SQ_SPQT_ZIGZAG ? SQ_Q4K_LEN : 1;
    d->is_joint = true;
    d->of[SQ_STREAM_LO].element = 4 * fetched;
    d->of[SQ_STREAM_SCALE].element = 0.5 * fetched;
    d->work =
        (struct sq_demand_work){.piece = 1, .times = 1, .p = one, .is_share = true, .full = one};
    d->lead_in = sq_spqt_index_cycles(d->k, one);
}

static enum sq_status own_tokens(const void *state, const float *x, size_t m, struct sq_own *out,
                                 struct sq_recipe *r, struct sq_error *err)
{
    enum { PIECE = SQ_ENGINE_SPQT_SEG };
    const struct state *s = state;
    const size_t k = s->m.k;
    SQ_FREED uint32_t *idx = malloc(k * sizeof *idx);
    SQ_FREED bool *any = calloc(k, sizeof *any);
    double all = 0;
    SQ_NEED_LAYER(idx && any, err, s->m.n, k);
    SQ_TRY(sq_cost_own_new(out, m, (k + PIECE - 1) / PIECE, PIECE, err));
    for (size_t t = 0; t < m; t++) {
        SQ_TRY(sq_spqt_check(x + t * k, k, s->theta, err));
        const size_t n = sq_spqt_active(x + t * k, k, s->theta, SQ_SPQT_SEGMENT, idx);
        for (size_t i = 0; i < n; i++) {
            sq_cost_own_count(out, t, idx[i] / PIECE);
            any[idx[i]] = true;
        }
    }
    for (size_t i = 0; i < k; i++)
        all += any[i];
    sq_spqt_set(r)->sparsity = 1 - sq_cost_own_sum(out) / (double)(m * k);
    sq_spqt_set(r)->of_all = all / (double)k;
    return SQ_OK;
}

static double equivalent_bits(const struct sq_recipe *r)
{
    (void)r;
    return 4;
}

// It multiplies floating point whatever its activations were stored as.
static bool is_record(const struct sq_recipe *r, const struct sq_gpu_sample *s)
{
    return sq_gpu_is_share(s, sq_spqt_recipe(r)->sparsity);
}

extern const struct sq_format_routes sq_spqt_routes;

// The sums of an engine; what finds columns and decodes superblocks is not in it.
static void make_pe(const struct sq_recipe *r, const struct sq_cost_unit *u, struct sq_cost_pe *pe)
{
    (void)r;
    sq_cost_pe_fp_mac(pe, u->low_lanes, false);
}

static enum sq_scan scan_of(const struct sq_recipe *r, double *share)
{
    *share = sq_spqt_recipe(r)->sparsity;
    return sq_spqt_recipe(r)->is_greedy ? SQ_SCAN_SPARSITY : SQ_SCAN_NOTHING;
}

static double *share_of(struct sq_recipe *r)
{
    return &sq_spqt_set(r)->sparsity;
}

const struct sq_format_ops sq_format_spqt = {
    .name = "spqt",
    .option = options,
    .padding = PADDING,
    .uncalibrated = "--prefill dense",
    .settle = settle,
    .text = text,
    .values =
        &(const struct sq_format_values){
            .scan = scan_of,
            .set_threshold = set_threshold,
            .check = check,
            .needs = needs,
            .init = init,
            .free = spqt_free,
            .apply = apply,
            .decode_row = decode_row,
        },
    .file =
        &(const struct sq_format_file){
            .outline = outline,
            .parts = parts,
            .load = load,
            .numbers = values,
        },
    .share =
        &(const struct sq_format_share){
            .loads = share,
            .unit = "columns",
            .needs_tokens = true,
        },
    .cost =
        &(const struct sq_format_cost){
            .check = check_cost,
            .pe = make_pe,
            .demand = demand,
            .law = "active columns of a token binomial, tokens independent, drawn by seed",
            .equivalent_bits = equivalent_bits,
            .own =
                &(const struct sq_format_own){
                    .share = share_of,
                    .tokens = own_tokens,
                    .text = "active columns",
                },
        },
    .gpu =
        &(const struct sq_format_gpu){
            .product = sq_gpu_product_bf16,
            .is_record = is_record,
        },
    .routes = &sq_spqt_routes,
};
