// SPDX-License-Identifier: Apache-2.0
// GQSA (SPEC F) as a format. Values: 4 or 8 bits, or binary16. Activations: INT8, or binary16 (the
// paper's W4A16). K is padded to whole groups.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "models/gqsa/sq_gqsa_quant.h"
#include "models/number/sq_half.h"
#include "models/quant/sq_sensitivity.h"
#include "sim/block/gqsa/sq_gqsa_walk_sim.h"
#include "sim/format/gqsa/sq_gqsa_recipe.h"
#include "sim/format/sq_cells.h"
#include "sim/format/sq_demand.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_work_split.h"

// ---- what it costs -----------------------------------------------------------------------------

// GQSA on a machine: the unit, the groups that its channels keep, bytes (sq_cost.h).

static enum sq_status check_cost(const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_gqsa_recipe *o = sq_gqsa_recipe(r);
    SQ_TRY(sq_cost_check_act(r, true, err));
    SQ_FAIL_IF(r->group < 4 || r->group > 128, err, SQ_ERR_RANGE,
               "group = %u, need 4..128 for gqsa", r->group);
    SQ_FAIL_IF(!(o->sparsity >= 0 && o->sparsity < 1), err, SQ_ERR_RANGE,
               "sparsity = %g, need 0 <= sparsity < 1 for gqsa", o->sparsity);
    return SQ_OK;
}

// As many tokens as the array has rows, if that leaves multipliers for one engine.
// F.6: 4 bits, and per kept group 16 of index, 16 + 4 of scale and zero (of 8 bits 16 + 8, of 16 none); row_index, 32 a row. An engine
// steps through the kept groups.
static unsigned bits_of(const struct sq_recipe *r)
{
    const unsigned bits = sq_gqsa_recipe(r)->weight_bits;
    return bits ? bits : 4;
}

static void demand(const struct sq_recipe *r, const struct sq_core_config *has, struct sq_demand *d)
{
    struct sq_cost_unit *const u = &d->cost;
    const unsigned bits = bits_of(r);
    u->multipliers = r->group;
    const unsigned groups = sq_cost_engines(u, has, bits, sq_recipe_act_bits(r)); // in a cycle
    u->unit.kind = SQ_UNIT_ENGINES;
    u->unit.engine = &sq_engine_gqsa_unit;
    u->rows = u->weight_rows = groups < has->rows ? groups : has->rows;
    u->engines = u->rows ? groups / u->rows : 0;
    u->multipliers *= u->rows ? u->rows : 1;
    u->abreast = u->engines;
    u->lines = u->reads = 1;
    u->load = u->step = r->group;
    u->depth = r->group << 16; // an index has 16 bits (F.4)
    u->flush = 0;
    u->unit.output.lanes = u->rows;
    const struct sq_gqsa_recipe *o = sq_gqsa_recipe(r);
    const double kept = 1 - o->sparsity;
    d->of[SQ_STREAM_LO].element = bits * kept;
    d->of[SQ_STREAM_INDEX] = (struct sq_demand_bytes){.element = 16 * kept / r->group, .end = 4};
    d->of[SQ_STREAM_SCALE].element = bits == 16 ? 0 : (16 + bits) * kept / r->group;
    d->work = (struct sq_demand_work){.piece = r->group,
                                      .times = 1,
                                      .p = kept,
                                      .is_even = !o->is_slice_k,
                                      .is_fixed = o->is_row_balanced,
                                      .is_share = true,
                                      .full = 1};
}

static double equivalent_bits(const struct sq_recipe *r)
{
    return (1 - sq_gqsa_recipe(r)->sparsity) * (bits_of(r) + 16. / r->group);
}

struct state {
    struct sq_gqsa m;
    uint8_t *zeros;        // of 4 bits: packed, as stored
    struct sq_cells cells; // beside activations of int8
};

static void gqsa_free(void *context)
{
    struct state *s = context;
    if (!s)
        return;
    SQ_FREE(s->m.row_index, s->m.groups, s->m.codes, s->m.scale, s->m.zero, s->zeros,
            s->cells.cells, s);
}

static enum sq_status check(const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_gqsa_recipe *o = sq_gqsa_recipe(r);
    const unsigned g = r->group;
    SQ_FAIL_IF(!r->is_act_f16 && (r->act.kind != SQ_GRID_DENSE || r->act.low_bits != 8), err,
               SQ_ERR_UNSUPPORTED, "act-bits = %u, need 8 or 16 for gqsa", r->act.low_bits);
    SQ_FAIL_IF(bits_of(r) == 16 && !r->is_act_f16, err, SQ_ERR_UNSUPPORTED,
               "act-bits = %u, need 16 beside weights of 16 bits for gqsa", r->act.low_bits);
    SQ_FAIL_IF(g < 4 || g > 128 || (g & (g - 1)) != 0, err, SQ_ERR_UNSUPPORTED,
               "group = %u, need 4, 8, 16, 32, 64 or 128", g);
    SQ_FAIL_IF(!(o->sparsity >= 0 && o->sparsity <= 1), err, SQ_ERR_RANGE,
               "sparsity = %g, need 0..1", o->sparsity);
    SQ_FAIL_IF((unsigned)o->prune > SQ_PRUNE_SPARSEGPT, err, SQ_ERR_UNSUPPORTED,
               "prune = %s, need magnitude, wanda or sparsegpt for gqsa",
               o->prune == SQ_PRUNE_NONE ? "none" : "unknown");
    return SQ_OK;
}

static unsigned needs(const struct sq_recipe *r)
{
    const struct sq_gqsa_recipe *o = sq_gqsa_recipe(r);
    return (o->prune == SQ_PRUNE_WANDA ? SQ_NEED_HESSIAN : 0u) |
           (o->prune == SQ_PRUNE_SPARSEGPT || r->algorithm == SQ_ALGORITHM_GPTQ ||
                    r->algorithm == SQ_ALGORITHM_LITE
                ? SQ_NEED_FACTOR
                : 0u);
}

// ---- options --------------------------------------------------------------------------------

enum { CODED = SQ_IN_EVAL | SQ_IN_QUANTIZE, TIMED = SQ_IN_RUN | SQ_IN_SWEEP };

#define ALGORITHM                                                                                  \
    "rounding to nearest, compensated in one pass, or survivors and scales refitted (lite)"

static const char *const algorithm_choice[] = {"rtn", "gptq", "lite", NULL};
static const char *const prune_choice[] = {"magnitude", "wanda", "sparsegpt", NULL};
static const char *const score_choice[] = {"c0", "c1", "c2", "c3", NULL};
static const char *const scope_choice[] = {"matrix", "row", NULL};
static const char *const schedule_choice[] = {"stream_k", "slice_k", NULL};
static const char *const group_choice[] = {"4", "8", "16", "32", "64", "128", NULL};
static const char *const act_choice[] = {"8", "16", NULL};
static const char *const width_choice[] = {"4", "8", "16", NULL};
static const char *const timed_act_choice[] = {"4", "8", "16", NULL};

#define OWN(field) SQ_OWN(sq_gqsa_recipe, field)

static const struct sq_format_option options[] = {
    SQ_WORD("algorithm", CODED, CODED, algorithm_choice, 0, SQ_ALGORITHM_GPTQ, SQ_FIELD(algorithm),
            ALGORITHM),
    SQ_SAID("algorithm", SQ_IN_FILE, "file"),
    SQ_WORD("prune", CODED, CODED, prune_choice, 0, SQ_FOLLOWS, OWN(prune),
            "what is pruned first; by default sparsegpt, magnitude with --algorithm rtn"),
    SQ_REAL("sparsity", CODED, CODED, 0.01, 0.99, 0.5, OWN(sparsity),
            "fraction of the groups that is pruned"),
    SQ_NUMBER("group", CODED, CODED | SQ_IN_FILE, group_choice, 16, SQ_FIELD(group),
              "weights per group, which has one scale and is kept or not"),
    SQ_WORD("scope", CODED, CODED, scope_choice, 0, 0, OWN(is_row_balanced),
            "groups compete in the whole matrix or in their row"),
    SQ_NUMBER("weight-bits", CODED | SQ_IN_RUN, CODED | SQ_IN_FILE | SQ_IN_RUN, width_choice, 4,
              OWN(weight_bits), "bits of a value that is kept; 16 is binary16"),
    {.name = "act", .kind = SQ_OPTION_ACT, .shown = SQ_IN_EVAL | SQ_IN_FILE},
    SQ_UINT("group", TIMED, SQ_IN_RUN, 4, 128, 16, SQ_FIELD(group), "weights per group"),
    SQ_REAL("sparsity", TIMED, SQ_IN_RUN, 0, 0.99, 0.5, OWN(sparsity),
            "fraction of the groups that is pruned"),
    SQ_WORD("scope", TIMED & ~SQ_IN_SWEEP, TIMED, scope_choice, 0, 0, OWN(is_row_balanced),
            "groups compete in the whole matrix or in their row"),
    SQ_WORD("schedule", SQ_IN_RUN, SQ_IN_RUN, schedule_choice, 0, 0, OWN(is_slice_k),
            "engines share the groups evenly, or each has its own channels"),
    SQ_REAL("percdamp", CODED, 0, 0, 1, 0.01, SQ_FIELD(percdamp), "damping of the Hessian"),
    SQ_WORD("score", CODED, 0, score_choice, 0, 0, OWN(score), "sparsegpt: importance of a weight"),
    SQ_NUMBER("act-bits", SQ_IN_EVAL | SQ_IN_FILE, 0, act_choice, 8, SQ_FIELD(act.low_bits),
              "bits of an activation; 16 is binary16"),
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
        sq_gqsa_set(r)->prune =
            r->algorithm == SQ_ALGORITHM_RTN ? SQ_PRUNE_MAGNITUDE : SQ_PRUNE_SPARSEGPT;
    SQ_FAIL_IF(sq_given_text(given, "percdamp") && (needs(r) & SQ_NEED_FACTOR) != SQ_NEED_FACTOR,
               err, SQ_ERR_ARG, "percdamp: nothing here uses a damped Hessian");
    SQ_FAIL_IF(sq_given_text(given, "score") && sq_gqsa_recipe(r)->prune != SQ_PRUNE_SPARSEGPT, err,
               SQ_ERR_ARG, "score needs --prune sparsegpt");
    return SQ_OK;
}

static void text(const struct sq_recipe *r, char out[96])
{
    char width[16] = "";
    if (bits_of(r) != 4)
        snprintf(width, sizeof width, "W%u", bits_of(r));
    snprintf(out, 96, "gqsa %sA%u, %g pruned in groups of %u", width, sq_recipe_act_bits(r),
             sq_gqsa_recipe(r)->sparsity, r->group);
}

static size_t padded(const struct sq_recipe *r, size_t k_orig)
{
    return sq_gqsa_padded(k_orig, r->group);
}

// Bytes of the stored zeros.
static size_t zero_nbytes(unsigned bits, size_t nnz)
{
    return bits == 16 ? 0 : bits == 8 ? nnz : sq_gqsa_zero_nbytes(nnz);
}

static struct state *state_new(const struct sq_recipe *r, size_t n, size_t k_orig, size_t nnz)
{
    const unsigned group = r->group, bits = bits_of(r);
    struct state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->m = (struct sq_gqsa){.n = n,
                            .k = sq_gqsa_padded(k_orig, group),
                            .k_orig = k_orig,
                            .nnz = nnz,
                            .group = group,
                            .bits = bits,
                            .row_index = malloc((n + 1) * sizeof(uint32_t)),
                            .groups = malloc(nnz * sizeof(uint16_t) + 1),
                            .codes = malloc(nnz * group * bits / 8 + 1),
                            .scale = malloc(nnz * sizeof(uint16_t) + 1),
                            .zero = malloc(nnz + 1)};
    s->zeros = malloc(zero_nbytes(bits, nnz) + 1);
    if (s->m.row_index && s->m.groups && s->m.codes && s->m.scale && s->m.zero && s->zeros)
        return s;
    gqsa_free(s);
    return NULL;
}

// ---- encoding -------------------------------------------------------------------------------

// The factor of each column's importance.
static enum sq_status fill_weight_of(const struct sq_recipe *r, const struct sq_quant_input *in,
                                     size_t k, float *weight_of, struct sq_error *err)
{
    const struct sq_gqsa_recipe *o = sq_gqsa_recipe(r);
    if (o->prune == SQ_PRUNE_SPARSEGPT) {
        sq_score_weights(in->factor, o->score, weight_of);
        return SQ_OK;
    }
    for (size_t i = 0; i < k; i++)
        weight_of[i] = 1;
    if (o->prune == SQ_PRUNE_MAGNITUDE)
        return SQ_OK;
    SQ_FREED double *norm = malloc(k * sizeof *norm);
    SQ_TRY(norm ? sq_channel_norms(in->calibration, norm, err) : SQ_NO_LAYER(err, 1, k));
    for (size_t i = 0; i < k; i++)
        weight_of[i] = (float)norm[i];
    return SQ_OK;
}

static enum sq_status choose(const struct sq_recipe *r, const float *w, size_t n, size_t k,
                             const struct sq_quant_input *in, uint8_t *is_kept,
                             struct sq_error *err)
{
    const struct sq_gqsa_recipe *o = sq_gqsa_recipe(r);
    const size_t columns = sq_gqsa_padded(k, r->group) / r->group;
    SQ_FREED float *weight_of = malloc(k * sizeof *weight_of);
    SQ_FREED double *score = malloc(n * columns * sizeof *score);
    SQ_NEED_LAYER(weight_of && score, err, n, k);
    SQ_TRY(fill_weight_of(r, in, k, weight_of, err));
    sq_gqsa_saliency(w, n, k, r->group, weight_of, score);
    return sq_gqsa_prune(score, n, columns, o->sparsity, o->is_row_balanced, is_kept, err);
}

// What apply() and parts() read beside the arrays of *m.
static enum sq_status finish(struct state *s, const struct sq_recipe *r, struct sq_error *err)
{
    if (s->m.bits == 4)
        sq_gqsa_pack_zeros(s->m.zero, s->m.nnz, s->zeros);
    if (r->is_act_f16 || s->m.bits == 16)
        return SQ_OK;
    s->cells = (struct sq_cells){.w = sq_gqsa_codes(&s->m), .row = sq_gqsa_row, .from = &s->m};
    return sq_cells_init(&s->cells, err);
}

static enum sq_status init(void **state, const struct sq_recipe *r, const float *w, size_t n,
                           size_t k, const struct sq_quant_input *in, struct sq_error *err)
{
    const size_t columns = sq_gqsa_padded(k, r->group) / r->group;
    const enum sq_gqsa_method method = r->algorithm == SQ_ALGORITHM_LITE   ? SQ_GQSA_LITE
                                       : r->algorithm == SQ_ALGORITHM_GPTQ ? SQ_GQSA_SEQUENTIAL
                                                                           : SQ_GQSA_RTN;
    SQ_FREED uint8_t *is_kept = malloc(n * columns);
    SQ_NEED_LAYER(is_kept, err, n, k);
    SQ_TRY(choose(r, w, n, k, in, is_kept, err));
    struct state *const s = *state = state_new(r, n, k, sq_gqsa_count(is_kept, n, columns));
    SQ_NEED_LAYER(s, err, n, k);
    SQ_TRY(sq_gqsa_check_shape(&s->m, err));
    sq_gqsa_set_groups(&s->m, is_kept);
    SQ_TRY(sq_gqsa_encode(&s->m, w, method, in->calibration, in->factor, err));
    return finish(s, r, err);
}

// ---- multiplying ----------------------------------------------------------------------------

static enum sq_status apply_f16(const struct sq_gqsa *m, const float *x, size_t n_tokens, float *y,
                                struct sq_error *err)
{
    SQ_FREED float *tokens = malloc(n_tokens * m->k * sizeof *tokens);
    SQ_FREED void *scratch = aligned_alloc(64, (sq_gqsa_gemm_scratch(m) + 63) / 64 * 64);
    SQ_NEED_LAYER(tokens && scratch, err, n_tokens, m->k);
    SQ_TRY(sq_half_load(x, n_tokens, m->k_orig, m->k, tokens, err));
    sq_gqsa_gemm(m, tokens, n_tokens, y, scratch, 0);
    return SQ_OK;
}

static enum sq_status apply(const void *state, const struct sq_recipe *r, const float *x, size_t m,
                            float *y, struct sq_error *err)
{
    const struct state *s = state;
    return r->is_act_f16 ? apply_f16(&s->m, x, m, y, err)
                         : sq_cells_apply(&s->cells, x, m, s->m.k_orig, 8, y, err);
}

// As many groups are kept as sq_gqsa_prune keeps, whatever the weights are.
static void *outline(const struct sq_recipe *r, size_t n, size_t k)
{
    const struct sq_gqsa_recipe *o = sq_gqsa_recipe(r);
    const size_t columns = sq_gqsa_padded(k, r->group) / r->group;
    const size_t at_once = o->is_row_balanced ? columns : n * columns;
    struct state *s = calloc(1, sizeof *s);
    if (s)
        s->m = (struct sq_gqsa){.n = n,
                                .k = columns * r->group,
                                .k_orig = k,
                                .nnz = n * columns / at_once *
                                       (at_once - sq_gqsa_n_pruned(at_once, o->sparsity)),
                                .group = r->group,
                                .bits = bits_of(r)};
    return s;
}

static void decode_row(const void *state, size_t row, float *out)
{
    sq_gqsa_decode_row(&((const struct state *)state)->m, row, out);
}

// ---- training -------------------------------------------------------------------------------

static enum sq_status tune(const void *state, struct sq_tune *t, struct sq_error *err)
{
    const struct sq_gqsa *m = &((const struct state *)state)->m;
    SQ_TRY(sq_tune_init(t, m->n, m->k_orig, m->nnz, err));
    t->highest = m->bits == 16 ? 0 : (int)sq_gqsa_max_code(m);
    t->is_half = t->has_zero = true;
    for (size_t i = 0; i < m->n * m->k_orig; i++)
        t->of[i] = SQ_TUNE_PRUNED;
    for (size_t row = 0; row < m->n; row++)
        sq_gqsa_decode_row(m, row, t->w.at + row * m->k_orig);
    for (size_t row = 0; row < m->n; row++)
        for (size_t e = m->row_index[row]; e < m->row_index[row + 1]; e++) {
            t->scale.at[e] = sq_gqsa_scale(m, e);
            t->zero.at[e] = m->bits == 16 ? 0 : m->zero[e];
            for (size_t j = (size_t)m->groups[e] * m->group;
                 j < m->k_orig && j / m->group == m->groups[e]; j++)
                t->of[row * m->k_orig + j] = (uint32_t)e;
        }
    return SQ_OK;
}

static enum sq_status retune(void *state, const struct sq_recipe *r, const struct sq_tune *t,
                             struct sq_error *err)
{
    struct state *s = state;
    struct sq_gqsa *m = &s->m;
    for (size_t row = 0; row < m->n; row++)
        for (size_t e = m->row_index[row]; e < m->row_index[row + 1]; e++) {
            const bool is_half = m->bits == 16;
            m->scale[e] = sq_f32_to_f16(sq_tune_scale(t, (uint32_t)e));
            m->zero[e] = is_half ? 0 : (uint8_t)sq_tune_zero(t, (uint32_t)e);
            for (size_t i = 0; i < m->group; i++) {
                const size_t j = (size_t)m->groups[e] * m->group + i, at = row * m->k_orig + j;
                const unsigned code = j >= m->k_orig ? m->zero[e]
                                      : is_half      ? sq_f32_to_f16(t->w.at[at])
                                                     : (unsigned)sq_tune_code(t, at);
                sq_gqsa_set_code(m, e, i, code);
            }
        }
    SQ_TRY(sq_gqsa_validate(m, err));
    free(s->cells.cells);
    s->cells = (struct sq_cells){0};
    return finish(s, r, err);
}

// Groups of each row; NULL without memory.
static uint32_t *row_counts(const struct sq_gqsa *m)
{
    uint32_t *nnz = malloc(m->n * sizeof *nnz);
    for (size_t r = 0; nnz && r < m->n; r++)
        nnz[r] = m->row_index[r + 1] - m->row_index[r];
    return nnz;
}

// Makespan over ideal with 64 workers, tiles of one row (SPEC F.8); 1 where there is no work.
static double loss(enum sq_work_split_kind kind, const uint32_t *nnz, size_t n)
{
    enum { WORKERS = 64 };
    struct sq_work_split s;
    if (sq_work_split(kind, nnz, n, WORKERS, 1, &s, NULL, NULL) != SQ_OK)
        return NAN;
    return s.total > 0 ? (double)s.makespan / (double)s.ideal : 1;
}

static size_t figures(const void *state, struct sq_figure figure[SQ_FIGURES_MAX])
{
    const struct sq_gqsa *m = &((const struct state *)state)->m;
    SQ_FREED uint32_t *nnz = row_counts(m);
    if (!nnz)
        return 0;
    figure[0] = (struct sq_figure){"groups_kept", (double)m->nnz};
    figure[1] = (struct sq_figure){"slice_k_loss", loss(SQ_SLICE_K, nnz, m->n)};
    figure[2] = (struct sq_figure){"slice_k_dynamic_loss", loss(SQ_SLICE_K_DYNAMIC, nnz, m->n)};
    figure[3] = (struct sq_figure){"stream_k_loss", loss(SQ_STREAM_K, nnz, m->n)};
    return 4;
}

static enum sq_status share(const void *state, const struct sq_sharing *how,
                            struct sq_figure figure[SQ_FIGURES_MAX], size_t *n,
                            struct sq_error *err)
{
    const struct sq_gqsa *m = &((const struct state *)state)->m;
    SQ_FREED uint32_t *nnz = row_counts(m);
    SQ_NEED_LAYER(nnz, err, m->n, m->k);
    *n = 1 + SQ_WORK_SPLITS;
    for (unsigned kind = 0; kind < SQ_WORK_SPLITS; kind++) {
        struct sq_work_split s;
        SQ_TRY(sq_work_split((enum sq_work_split_kind)kind, nnz, m->n, how->workers, how->tile_rows,
                             &s, NULL, err));
        figure[0] = (struct sq_figure){"ideal", (double)s.ideal};
        figure[1 + kind] = (struct sq_figure){sq_work_split_name((enum sq_work_split_kind)kind),
                                              (double)s.makespan};
    }
    return SQ_OK;
}

// ---- files ----------------------------------------------------------------------------------

static size_t parts(const void *state, struct sq_part part[SQ_PARTS_MAX])
{
    const struct state *s = state;
    const struct sq_gqsa *m = &s->m;
    const bool is_half = m->bits == 16;
    const size_t per_group = is_half ? m->group : m->group * sq_gqsa_bits(m) / 8;
    size_t i = 0;
    part[i++] = (struct sq_part){"row_index", SQ_I32, 1, {m->n + 1}, m->row_index};
    if (!is_half)
        part[i++] = (struct sq_part){"s_w", SQ_F16, 1, {m->nnz}, m->scale};
    part[i++] = (struct sq_part){"groups", SQ_U8, 2, {m->nnz, 2}, m->groups};
    part[i++] =
        (struct sq_part){"values", is_half ? SQ_F16 : SQ_U8, 2, {m->nnz, per_group}, m->codes};
    if (!is_half)
        part[i++] = (struct sq_part){
            "zero", SQ_U8, 1, {zero_nbytes(m->bits, m->nnz)}, m->bits == 8 ? m->zero : s->zeros};
    return i;
}

static enum sq_status load(void **state, const struct sq_recipe *r,
                           const struct sq_part_source *from, struct sq_error *err)
{
    const struct sq_tensor *groups;
    SQ_TRY(sq_part_find(from, "groups", SQ_U8, 2, (size_t[]){SIZE_MAX, 2}, &groups, err));
    struct state *const s = *state = state_new(r, from->n, from->k_orig, groups->dim[0]);
    SQ_NEED_LAYER(s, err, from->n, from->k_orig);
    SQ_TRY(sq_parts_read(parts, s, from, err));
    if (s->m.bits == 4)
        SQ_TRY(sq_gqsa_unpack_zeros(s->zeros, s->m.nnz, s->m.zero, err));
    SQ_TRY(sq_gqsa_validate(&s->m, err));
    return finish(s, r, err);
}

static size_t values(struct sq_recipe *r, struct sq_metadata_value value[SQ_VALUES_MAX])
{
    value[0] = (struct sq_metadata_value){"group", &r->group, 4, 128};
    return 1;
}

static size_t more_values(struct sq_recipe *r, struct sq_metadata_value value[SQ_VALUES_MAX])
{
    sq_gqsa_set(r)->weight_bits = bits_of(r);
    value[0] = (struct sq_metadata_value){"weight_bits", &sq_gqsa_set(r)->weight_bits, 4, 16};
    return 1;
}

const struct sq_gqsa *sq_gqsa_encoded(const void *state)
{
    return &((const struct state *)state)->m;
}

// ---- time and traffic -----------------------------------------------------------------------

static bool is_record(const struct sq_recipe *r, const struct sq_gpu_sample *s)
{
    return sq_gpu_is_f16(s) == (sq_recipe_act_bits(r) == 16) &&
           sq_gpu_is_share(s, sq_gqsa_recipe(r)->sparsity);
}

extern const struct sq_format_routes sq_gqsa_routes;

static enum sq_status own(const void *state, struct sq_own *out, struct sq_recipe *r,
                          struct sq_error *err)
{
    const struct sq_gqsa *m = &((const struct state *)state)->m;
    SQ_TRY(sq_cost_own_new(out, m->n, m->k / m->group, m->group, err));
    for (size_t row = 0; row < m->n; row++)
        for (uint32_t e = m->row_index[row]; e < m->row_index[row + 1]; e++)
            sq_cost_own_count(out, row, m->groups[e]);
    r->group = m->group;
    sq_gqsa_set(r)->sparsity = 1 - sq_cost_own_sum(out) / (double)(m->n * out->n_pieces);
    return SQ_OK;
}

// The PE of the array of an engine; the engine's walker and scales are not in it.
static void make_pe(const struct sq_recipe *r, const struct sq_cost_unit *u, struct sq_cost_pe *pe)
{
    sq_cost_pe_dense(pe, u->low_lanes, sq_recipe_act_bits(r), bits_of(r));
}

static double *share_of(struct sq_recipe *r)
{
    return &sq_gqsa_set(r)->sparsity;
}

const struct sq_format_ops sq_format_gqsa = {
    .name = "gqsa",
    .option = options,
    .uncalibrated = "--prune magnitude --algorithm rtn",
    .settle = settle,
    .text = text,
    .values =
        &(const struct sq_format_values){
            .check = check,
            .needs = needs,
            .init = init,
            .free = gqsa_free,
            .apply = apply,
            .padded = padded,
            .tune = tune,
            .retune = retune,
            .decode_row = decode_row,
            .figures = figures,
        },
    .file =
        &(const struct sq_format_file){
            .outline = outline,
            .parts = parts,
            .load = load,
            .numbers = values,
            .optional = more_values,
        },
    .share =
        &(const struct sq_format_share){
            .loads = share,
            .unit = "groups",
        },
    .cost =
        &(const struct sq_format_cost){
            .check = check_cost,
            .pe = make_pe,
            .demand = demand,
            .law = "groups of a row binomial (scope row: the same in all), tiles of columns drawn "
                   "by seed",
            .equivalent_bits = equivalent_bits,
            .own =
                &(const struct sq_format_own){
                    .share = share_of,
                    .weights = own,
                    .text = "kept groups",
                },
        },
    .gpu =
        &(const struct sq_format_gpu){
            .product = sq_gpu_product_bf16,
            .is_record = is_record,
        },
    .routes = &sq_gqsa_routes,
};
