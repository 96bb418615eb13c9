// SPDX-License-Identifier: Apache-2.0
// SpQR (SPEC H) as a format. N and K are padded to tiles of 16. Activations and outputs
// are binary16.
//
// Files: `dense64` I64 [N / 16][K / 16][16], the words, whose bits 63:62 are 0; `row_offsets` I32
// [N + 1] and `col_val` I32 [outliers], bit patterns, or with ptcsr = 1 in the metadata
// [ceil(N / 16) + 1] and [words] (SPEC H.4); `in_perm` U8 [K][2], little-endian.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "models/spqr/sq_spqr_dec.h"
#include "models/spqr/sq_spqr_quant.h"
#include "sim/block/spqr/sq_engine_spqr_sim.h"
#include "sim/format/spqr/sq_spqr_recipe.h"
#include "sim/format/sq_format_ops.h"

enum { T = SQ_SPQR_TILE };

struct state {
    struct sq_spqr m;
    bool is_ptcsr; // how outliers are stored: as *p, else as CSR
    struct sq_spqr_ptcsr p;
    float *plane; // dense part, decoded
};

static void spqr_free(void *context)
{
    struct state *s = context;
    if (!s)
        return;
    sq_spqr_free(&s->m);
    SQ_FREE(s->p.offsets, s->p.word, s->plane, s);
}

static enum sq_status check(const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_spqr_recipe *o = sq_spqr_recipe(r);
    SQ_FAIL_IF(!(o->outliers >= 0), err, SQ_ERR_RANGE, "outliers = %g, need a threshold above 0",
               o->outliers);
    return SQ_OK;
}

static unsigned needs(const struct sq_recipe *r)
{
    (void)r;
    return SQ_NEED_HESSIAN;
}

// ---- options --------------------------------------------------------------------------------

enum { CODED = SQ_IN_EVAL | SQ_IN_QUANTIZE, TIMED = SQ_IN_RUN | SQ_IN_SWEEP };

#define PADDING "rows and columns padded to tiles of 16"

static const char *const form_choice[] = {"relative", "absolute", NULL};
static const char *const layout_choice[] = {"csr", "ptcsr", NULL};
static const char *const act_choice[] = {"16", NULL};
static const char *const timed_act_choice[] = {"4", "8", "16", NULL};

#define OWN(field) SQ_OWN(sq_spqr_recipe, field)

static const struct sq_format_option options[] = {
    SQ_SAID("padding", CODED | SQ_IN_FILE, PADDING),
    SQ_SAID("algorithm", CODED, "spqr"),
    SQ_SAID("algorithm", SQ_IN_FILE, "file"),
    SQ_REAL("outliers", CODED, CODED, 1e-6, 1e6, SQ_SPQR_RELATIVE, OWN(outliers),
            "a weight is one whose squared error exceeds this many times the mean variance of a "
            "column; 1e6 leaves none"),
    SQ_WORD("outlier-form", CODED, CODED | SQ_IN_FILE, form_choice, 0, 0, OWN(is_absolute),
            "relative stores w - dense, absolute w, as published"),
    SQ_WORD("outlier-layout", CODED, CODED | SQ_IN_FILE, layout_choice, 0, 0, OWN(is_ptcsr),
            "how outliers are stored"),
    SQ_REAL("percdamp", CODED, CODED, 0, 1, SQ_SPQR_PERCDAMP, SQ_FIELD(percdamp),
            "damping of the Hessian"),
    {.name = "act", .kind = SQ_OPTION_ACT, .shown = SQ_IN_EVAL | SQ_IN_FILE},
    SQ_REAL("outliers", SQ_IN_RUN, SQ_IN_RUN, 0, 0.25, 0.01, OWN(outlier_share),
            "share of outliers"),
    SQ_NUMBER("act-bits", SQ_IN_EVAL, 0, act_choice, 16, SQ_FIELD(act.low_bits),
              "activations are binary16"),
    SQ_REFUSED("act-bits", SQ_IN_FILE, "spqr has binary16 activations"),
    SQ_NUMBER("act-bits", TIMED, SQ_IN_RUN, timed_act_choice, 16, SQ_FIELD(act.low_bits),
              "bits of an activation"),
    SQ_REFUSED("sparsity", CODED, "spqr has --outliers"),
    SQ_REFUSED("algorithm", CODED, "spqr has one algorithm"),
    SQ_REFUSED("score", CODED, "spqr does not choose weights by importance"),
    SQ_REFUSED("group", CODED, "the groups of spqr are fixed"),
    {0}};

static enum sq_status settle(struct sq_recipe *r, unsigned scope, const struct sq_given *given,
                             struct sq_error *err)
{
    (void)given, (void)err;
    if (scope & (CODED | SQ_IN_FILE)) {
        r->is_act_f16 = true;
        r->act.low_bits = 16;
    }
    return SQ_OK;
}

static void text(const struct sq_recipe *r, char out[96])
{
    snprintf(out, 96, "spqr A%u, outliers %g", sq_recipe_act_bits(r),
             sq_spqr_recipe(r)->outlier_share);
}

// What apply() reads beside the matrix.
static enum sq_status finish(struct state *s, struct sq_error *err)
{
    s->plane = malloc(T * sq_spqr_n_words(s->m.n, s->m.k) * sizeof *s->plane);
    SQ_NEED_LAYER(s->plane, err, s->m.n, s->m.k);
    sq_spqr_decode_dense(&s->m, s->plane);
    return SQ_OK;
}

static enum sq_status ptcsr_alloc(struct state *s, size_t n_words, struct sq_error *err)
{
    s->p = (struct sq_spqr_ptcsr){
        .n = s->m.n,
        .n_words = n_words,
        .offsets = malloc((sq_spqr_padded(s->m.n) / T + 1) * sizeof *s->p.offsets),
        .word = malloc((n_words + 1) * sizeof *s->p.word)};
    SQ_NEED_LAYER(s->p.offsets && s->p.word, err, s->m.n, s->m.k);
    return SQ_OK;
}

static enum sq_status init(void **state, const struct sq_recipe *r, const float *w, size_t n,
                           size_t k, const struct sq_quant_input *in, struct sq_error *err)
{
    const struct sq_spqr_options o = {r->percdamp,
                                      sq_spqr_recipe(r)->outliers > 0 ? sq_spqr_recipe(r)->outliers
                                                                      : SQ_SPQR_RELATIVE,
                                      sq_spqr_recipe(r)->is_absolute};
    struct state *const s = *state = calloc(1, sizeof *s);
    SQ_NEED_LAYER(s, err, n, k);
    SQ_TRY(sq_spqr_encode(&s->m, w, n, k, in->calibration, &o, NULL, err));
    s->is_ptcsr = sq_spqr_recipe(r)->is_ptcsr;
    if (s->is_ptcsr) {
        SQ_TRY(ptcsr_alloc(s, sq_spqr_ptcsr_words(&s->m.outliers), err));
        SQ_TRY(sq_spqr_to_ptcsr(&s->m.outliers, &s->p, err));
    }
    return finish(s, err);
}

static enum sq_status apply(const void *state, const struct sq_recipe *r, const float *x, size_t m,
                            float *y, struct sq_error *err)
{
    const struct state *s = state;
    const size_t k = sq_spqr_padded(s->m.k);
    SQ_FREED float *rows = malloc(m * k * sizeof *rows);
    SQ_FREED void *scratch = aligned_alloc(64, (sq_spqr_gemm_scratch(&s->m) + 63) / 64 * 64);
    const struct sq_spqr_gemm g = {.m = &s->m, .plane = s->plane, .x = rows, .y = y};
    struct sq_error after;
    enum sq_status status = SQ_OK;
    size_t n = 0; // tokens that could be loaded
    (void)r;
    SQ_NEED_LAYER(rows && scratch, err, s->m.n, s->m.k);
    while (n < m && (status = sq_spqr_load(&s->m, x + n * s->m.k, rows + n * k, &after)) == SQ_OK)
        n++;
    SQ_TRY(sq_spqr_gemm(&g, n, scratch, err)); // an earlier token's error comes first
    if (status != SQ_OK && err)
        *err = after;
    return status;
}

static size_t padded(const struct sq_recipe *r, size_t k_orig)
{
    (void)r;
    return sq_spqr_padded(k_orig);
}

// With as many outliers as their share says; as PTCSR, which pads to the fullest of 16 rows, with
// as many in every row.
static void *outline(const struct sq_recipe *r, size_t n, size_t k)
{
    const struct sq_spqr_recipe *o = sq_spqr_recipe(r);
    const double nnz = o->outlier_share * (double)n * (double)k;
    struct state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->m.n = n;
    s->m.k = k;
    s->m.outliers.nnz = (size_t)llround(nnz);
    s->is_ptcsr = o->is_ptcsr;
    s->p.n_words = sq_spqr_padded(n) * (size_t)ceil(nnz / (double)n - 1e-9);
    return s;
}

static const char *sized_by(const struct sq_recipe *r)
{
    (void)r;
    return "outliers";
}

static void decode_row(const void *state, size_t row, float *out)
{
    const struct state *s = state;
    sq_spqr_decode_row(&s->m, s->plane, row, false, out);
}

// Bytes of the outliers: CSR 4 an outlier and 4 a row; PTCSR 4 a word, padded to the fullest of 16
// rows, and 4 a block (SPEC H.4).
static enum sq_status share(const void *state, const struct sq_sharing *how,
                            struct sq_figure figure[SQ_FIGURES_MAX], size_t *n,
                            struct sq_error *err)
{
    const struct state *s = state;
    const uint32_t *at = s->m.outliers.row_offsets;
    const size_t rows = s->m.n;
    double padded = 0;
    (void)how;
    SQ_FAIL_IF(s->is_ptcsr, err, SQ_ERR_UNSUPPORTED, "it holds PTCSR, need CSR");
    for (size_t i = 0; i < rows; i += T) {
        uint32_t most = 0;
        for (size_t r = i; r < rows && r < i + T; r++)
            most = at[r + 1] - at[r] > most ? at[r + 1] - at[r] : most;
        padded += T * most;
    }
    const double total = at[rows];
    figure[0] = (struct sq_figure){"outlier_bytes", 4 * total};
    figure[1] = (struct sq_figure){"csr", 4 * total + 4 * (double)(rows + 1)};
    figure[2] = (struct sq_figure){"ptcsr", 4 * padded + 4 * (double)((rows + T - 1) / T + 1)};
    *n = 3;
    return SQ_OK;
}

// Groups of 16 neighbouring weights of a row that hold an outlier.
static size_t groups_in_row(const struct sq_spqr *m, size_t row)
{
    uint8_t is_seen[SQ_SPQR_K_MAX / T] = {0};
    size_t n = 0;
    for (uint32_t i = m->outliers.row_offsets[row]; i < m->outliers.row_offsets[row + 1]; i++) {
        const uint32_t j = m->outliers.col_val[i] & UINT16_MAX;
        uint8_t *const seen = &is_seen[(m->in_perm ? m->in_perm[j] : j) / T];
        n += !*seen;
        *seen = 1;
    }
    return n;
}

// The fewest rows that hold half of the outliers: from the fullest one down.
static size_t rows_of_half(const struct sq_spqr_csr *c)
{
    size_t rows = 0, held = 0;
    for (size_t of_row = SQ_SPQR_K_MAX; of_row > 0 && 2 * held < c->nnz; of_row--)
        for (size_t r = 0; r < c->n && 2 * held < c->nnz; r++)
            if (c->row_offsets[r + 1] - c->row_offsets[r] == of_row) {
                held += of_row;
                rows++;
            }
    return rows;
}

static size_t figures(const void *state, struct sq_figure figure[SQ_FIGURES_MAX])
{
    const struct state *s = state;
    const double all = (double)s->m.n * ceil((double)s->m.k / T), nnz = (double)s->m.outliers.nnz;
    size_t groups = 0;
    if (s->is_ptcsr)
        return 0;
    for (size_t r = 0; r < s->m.n; r++)
        groups += groups_in_row(&s->m, r);
    figure[0] = (struct sq_figure){"outlier_count", nnz};
    figure[1] = (struct sq_figure){"rows_of_half", (double)rows_of_half(&s->m.outliers)};
    figure[2] = (struct sq_figure){"groups_of_16", (double)groups};
    figure[3] = (struct sq_figure){"groups_of_16_random", all * (1 - pow(1 - 1 / all, nnz))};
    return 4;
}

const struct sq_spqr *sq_spqr_encoded(const void *state)
{
    return &((const struct state *)state)->m;
}

// ---- files ----------------------------------------------------------------------------------

static size_t parts(const void *state, struct sq_part part[SQ_PARTS_MAX])
{
    const struct state *s = state;
    const size_t rows = sq_spqr_padded(s->m.n) / T, tiles = sq_spqr_padded(s->m.k) / T;
    const struct sq_spqr_csr *c = &s->m.outliers;
    part[0] = (struct sq_part){"dense64", SQ_I64, 3, {rows, tiles, T}, s->m.dense};
    if (s->is_ptcsr) {
        part[1] = (struct sq_part){"row_offsets", SQ_I32, 1, {rows + 1}, s->p.offsets};
        part[2] = (struct sq_part){"col_val", SQ_I32, 1, {s->p.n_words}, s->p.word};
    } else {
        part[1] = (struct sq_part){"row_offsets", SQ_I32, 1, {s->m.n + 1}, c->row_offsets};
        part[2] = (struct sq_part){"col_val", SQ_I32, 1, {c->nnz}, c->col_val};
    }
    part[3] = (struct sq_part){"in_perm", SQ_U8, 2, {s->m.k, 2}, s->m.in_perm};
    return 4;
}

// Outliers as stored, as CSR in s->m.
static enum sq_status read_ptcsr(struct state *s, struct sq_error *err)
{
    const size_t n_offsets = sq_spqr_padded(s->m.n) / T + 1;
    SQ_TRY(sq_spqr_ptcsr_validate(&s->p, n_offsets, s->p.n_words, s->m.k, err));
    free(s->m.outliers.col_val);
    s->m.outliers.col_val = malloc((sq_spqr_csr_entries(&s->p) + 1) * sizeof(uint32_t));
    SQ_NEED_LAYER(s->m.outliers.col_val, err, s->m.n, s->m.k);
    sq_spqr_to_csr(&s->p, &s->m.outliers);
    return SQ_OK;
}

static enum sq_status load(void **state, const struct sq_recipe *r,
                           const struct sq_part_source *from, struct sq_error *err)
{
    const size_t n = from->n, k = from->k_orig;
    const struct sq_tensor *entries;
    struct state *const s = *state = calloc(1, sizeof *s);
    SQ_NEED_LAYER(s, err, n, k);
    SQ_TRY(sq_part_find(from, "col_val", SQ_I32, 1, (size_t[]){SIZE_MAX}, &entries, err));
    s->is_ptcsr = sq_spqr_recipe(r)->is_ptcsr;
    SQ_TRY(sq_spqr_alloc(&s->m, n, k, s->is_ptcsr ? 0 : entries->n_elements, err));
    s->m.is_absolute = sq_spqr_recipe(r)->is_absolute;
    if (s->is_ptcsr)
        SQ_TRY(ptcsr_alloc(s, entries->n_elements, err));
    SQ_TRY(sq_parts_read(parts, s, from, err));
    if (s->is_ptcsr)
        SQ_TRY(read_ptcsr(s, err));
    SQ_FREED uint8_t *seen = malloc(k);
    SQ_TRY(seen
               ? sq_spqr_validate(&s->m, sq_spqr_n_words(n, k), n + 1, s->m.outliers.nnz, seen, err)
               : SQ_NO_LAYER(err, s->m.n, s->m.k));
    return finish(s, err);
}

static size_t values(struct sq_recipe *r, struct sq_metadata_value value[SQ_VALUES_MAX])
{
    value[0] = (struct sq_metadata_value){"absolute", &sq_spqr_set(r)->is_absolute, 0, 1};
    value[1] = (struct sq_metadata_value){"ptcsr", &sq_spqr_set(r)->is_ptcsr, 0, 1};
    return 2;
}

// ---- time and traffic -----------------------------------------------------------------------

static enum sq_status check_cost(const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_spqr_recipe *o = sq_spqr_recipe(r);
    SQ_TRY(sq_cost_check_act(r, true, err));
    SQ_FAIL_IF(!(o->outlier_share >= 0 && o->outlier_share <= 0.25), err, SQ_ERR_RANGE,
               "outliers = %g, need 0..0.25", o->outlier_share);
    return SQ_OK;
}

// Tokens side by side, as many as there are and the machine has rows, all with the same channels. An engine
// steps through the outliers of its 16 rows. H.6: 64 bits per 16, and 32 an outlier; row_offsets, 32 a row.
static void demand(const struct sq_recipe *r, const struct sq_core_config *has, struct sq_demand *d)
{
    enum { BITS = 11 }; // of what binary16 multiplies
    const double share = sq_spqr_recipe(r)->outlier_share;
    struct sq_cost_unit *const u = &d->cost;
    u->multipliers = T;
    const unsigned engines = sq_cost_engines(u, has, BITS, BITS);
    u->unit.kind = SQ_UNIT_ENGINES;
    u->unit.engine = &sq_engine_spqr_unit;
    u->rows = d->m < has->rows ? (unsigned)d->m : has->rows;
    u->rows = engines < u->rows ? engines : u->rows;
    u->engines = u->rows ? engines / u->rows : 0;
    u->abreast = u->engines;
    u->lines = u->reads = u->load = u->step = T;
    u->weight_rows = 1;
    u->depth = (1 << SQ_ENGINE_SPQR_OUTLIER_W) / T; // whatever its 16 rows have
    u->flush = 0;
    u->unit.output.lanes = u->rows * T;

    d->of[SQ_STREAM_LO].element = 4;
    d->of[SQ_STREAM_INDEX] = (struct sq_demand_bytes){.element = 32 * share, .end = 4};
    d->work = (struct sq_demand_work){.piece = 1, .times = T, .p = share};
}

static enum sq_status own(const void *state, struct sq_own *out, struct sq_recipe *r,
                          struct sq_error *err)
{
    const struct sq_spqr *m = &((const struct state *)state)->m;
    SQ_TRY(sq_cost_own_new(out, m->n, (m->k + T - 1) / T, T, err));
    for (size_t row = 0; row < m->n; row++)
        for (uint32_t e = m->outliers.row_offsets[row]; e < m->outliers.row_offsets[row + 1]; e++)
            sq_cost_own_count(out, row, (m->outliers.col_val[e] & 0xffffu) / T);
    sq_spqr_set(r)->outlier_share = sq_cost_own_sum(out) / (double)(m->n * m->k);
    return SQ_OK;
}

static double equivalent_bits(const struct sq_recipe *r)
{
    return 4 + 32 * sq_spqr_recipe(r)->outlier_share;
}

extern const struct sq_format_routes sq_spqr_routes;

// The sums of an engine; decoder and outliers are not in it.
static void make_pe(const struct sq_recipe *r, const struct sq_cost_unit *u, struct sq_cost_pe *pe)
{
    (void)r;
    sq_cost_pe_fp_mac(pe, u->low_lanes, true);
}

static double *share_of(struct sq_recipe *r)
{
    return &sq_spqr_set(r)->outlier_share;
}

const struct sq_format_ops sq_format_spqr = {
    .name = "spqr",
    .option = options,
    .padding = PADDING,
    .settle = settle,
    .text = text,
    .values =
        &(const struct sq_format_values){
            .check = check,
            .needs = needs,
            .init = init,
            .free = spqr_free,
            .apply = apply,
            .padded = padded,
            .decode_row = decode_row,
            .figures = figures,
        },
    .file =
        &(const struct sq_format_file){
            .outline = outline,
            .sized_by = sized_by,
            .parts = parts,
            .load = load,
            .numbers = values,
        },
    .share =
        &(const struct sq_format_share){
            .loads = share,
            .unit = "bytes",
            .text =
                "bytes of the outliers: values and columns alone, with the offsets of CSR, padded "
                "as PTCSR",
        },
    .cost =
        &(const struct sq_format_cost){
            .check = check_cost,
            .pe = make_pe,
            .demand = demand,
            .law = "outliers of 16 rows binomial, tiles of columns drawn by seed",
            .equivalent_bits = equivalent_bits,
            .own =
                &(const struct sq_format_own){
                    .share = share_of,
                    .weights = own,
                    .text = "outliers",
                },
        },
    .gpu =
        &(const struct sq_format_gpu){
            .product = sq_gpu_product_bf16,
        },
    .routes = &sq_spqr_routes,
};
