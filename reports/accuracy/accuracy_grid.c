// SPDX-License-Identifier: Apache-2.0
// The accuracy grid behind reports/accuracy: one CSV line per recipe on stdout, progress on stderr.
//
//   accuracy_grid MODEL_DIR [SEQUENCES]   loss of a model; calibration is done once for all recipes
//   accuracy_grid --profile FILE          relative output error of synthetic layers whose inputs
//                                         have the per-channel maxima stored in FILE (act_scales)
//
// Columns:
// family,format,variant,high,low,bank,sparsity,weight_bits,act_bits,algorithm,score,smooth,
// bits,value,seconds. `bits` is of the sparse-quantized operand (SPEC A.5: masks of activations are
// not counted, that of split weights is), of the weights where both are dense. `value` is
// nats per token, or the root mean square over the layers of |XW' - Y| / |XW'|.
#include <omp.h>
#include <stdio.h>

#include "reports/accuracy/subject.h"
#include "sim/format/core/sq_grid_recipe.h"
#include "sim/format/sq_format_ops.h"

// ---- one line ---------------------------------------------------------------------------------

static unsigned n_lines;

static double operand_bits(const struct sq_recipe *r, const struct sq_grid *g, bool is_act)
{
    const double high = (double)r->high_per_bank / r->bank; // share of high elements
    if (!sq_grid_is_mixed(g))
        return g->low_bits;
    if (g->kind == SQ_GRID_SPLIT)
        return g->low_bits + high * (g->high_bits - g->low_bits) + !is_act;
    return (is_act ? 1 - high : 1) * g->low_bits + high * g->high_bits;
}

static void line(const struct subject *s, const char *family, const struct sq_recipe *r)
{
    static const char *const score[] = {"c0", "c1", "c2", "c3"};
    const bool is_act = !r->is_act_f16 && sq_grid_is_mixed(&r->act);
    const struct sq_grid_recipe *o = sq_grid_recipe(r);
    const struct sq_grid *g = is_act ? &r->act : &o->weight;
    const bool is_mixed = sq_grid_is_mixed(g);
    const double start = omp_get_wtime(), value = subject_measure(s, r);
    printf("%s,%s%s,%s,%u,%u,%u,%g,%u,%u,%s,", family, r->format->name,
           is_act && o->select == SQ_SELECT_DYNAMIC_INT8 ? "_int8" : "", sq_grid_name(g->kind),
           is_mixed ? g->high_bits : 0, g->low_bits, is_mixed ? r->bank : 0,
           is_mixed ? 1 - (double)r->high_per_bank / r->bank : 0, o->weight.low_bits,
           r->is_act_f16 ? 16 : r->act.low_bits,
           r->algorithm == SQ_ALGORITHM_GPTQ ? "gptq" : "rtn");
    printf("%s%s,%g,%g,%.6f,%.2f\n", o->is_mask_by_act ? "act" : score[o->gptq.score],
           o->gptq.is_lazy ? "_lazy" : "", r->is_smooth ? r->alpha : -1, operand_bits(r, g, is_act),
           value, omp_get_wtime() - start);
    fflush(stdout);
    fprintf(stderr, "\r%u recipes", ++n_lines);
}

// ---- families ---------------------------------------------------------------------------------

static const struct sq_grid pairs[] = {
    {SQ_GRID_OWN, 8, 4}, {SQ_GRID_OWN, 8, 3}, {SQ_GRID_OWN, 8, 2}, {SQ_GRID_OWN, 4, 2}};
static const double sparsities[] = {.5, .75, .875, .9375};

// Calls fn with every legal bank and sparsity set in a copy of *r.
typedef void family_fn(const struct subject *s, struct sq_recipe *r);
static void for_banks(const struct subject *s, const struct sq_recipe *r, double only,
                      family_fn *fn)
{
    for (unsigned bank = 4; bank <= 128; bank *= 2)
        for (size_t i = 0; i < 4; i++) {
            struct sq_recipe copy = *r;
            copy.bank = bank;
            if ((only > 0 && sparsities[i] != only) ||
                sq_format_high_per_bank(bank, sparsities[i], &copy.high_per_bank, NULL) != SQ_OK)
                continue;
            fn(s, &copy);
        }
}

static void grid_line(const struct subject *s, struct sq_recipe *r)
{
    line(s, "grid", r);
}

static struct sq_recipe weights(struct sq_grid grid, unsigned act_bits)
{
    struct sq_recipe r = sq_recipe_default();
    r.format = sq_grid_is_mixed(&grid) ? &sq_format_sq_w : &sq_format_dense;
    sq_grid_set(&r)->weight = grid;
    r.act.low_bits = act_bits;
    return r;
}

static struct sq_recipe activations(struct sq_grid grid, enum sq_select select)
{
    struct sq_recipe r = sq_recipe_default();
    r.format = select == SQ_SELECT_STATIC ? &sq_format_sq_a_static : &sq_format_sq_a_dynamic;
    r.act = grid;
    sq_grid_set(&r)->select = select;
    return r;
}

static void baselines(const struct subject *s)
{
    static const unsigned bits[][2] = {{8, 8}, {6, 8}, {5, 8}, {4, 8}, {4, 16}, {6, 6},
                                       {4, 6}, {4, 5}, {6, 4}, {5, 4}, {4, 4},  {8, 4}};
    for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++)
        for (unsigned smooth = 0; smooth < 2; smooth++)
            for (unsigned gptq = 0; gptq < 2; gptq++) {
                struct sq_recipe r =
                    weights((struct sq_grid){SQ_GRID_DENSE, 0, bits[i][0]}, bits[i][1]);
                r.is_act_f16 = bits[i][1] == 16;
                r.algorithm = gptq ? SQ_ALGORITHM_GPTQ : SQ_ALGORITHM_RTN;
                r.is_smooth = smooth;
                line(s, "baseline", &r);
            }
}

static void smooth_and_rtn(const struct subject *s, struct sq_recipe *r)
{
    r->algorithm = SQ_ALGORITHM_RTN;
    line(s, "rtn", r);
    r->algorithm = SQ_ALGORITHM_GPTQ;
    r->is_smooth = true;
    line(s, "smooth", r);
}

static void scores(const struct subject *s, struct sq_recipe *r)
{
    for (unsigned score = 1; score < SQ_SCORES; score++) { // C0 is in the grid
        sq_grid_set(r)->gptq.score = (enum sq_score)score;
        line(s, "score", r);
    }
    sq_grid_set(r)->gptq.score = SQ_SCORE_C0;
    sq_grid_set(r)->gptq.is_lazy = true;
    line(s, "score", r);
}

static void mask_scores(const struct subject *s, struct sq_recipe *r)
{
    sq_grid_set(r)->select = SQ_SELECT_STATIC;
    sq_grid_set(r)->is_mask_by_act = true;
    line(s, "mask", r);
    sq_grid_set(r)->select = SQ_SELECT_DYNAMIC_INT8;
    sq_grid_set(r)->is_mask_by_act = false;
    line(s, "mask", r);
}

static void variants(const struct subject *s)
{
    static const enum sq_grid_kind kind[] = {SQ_GRID_TIED, SQ_GRID_SPLIT};
    for (size_t i = 0; i < 2; i++) {
        const struct sq_grid g = {kind[i], 8, 4};
        for (unsigned act = 4; act <= 8; act += 4) {
            const struct sq_recipe r = weights(g, act);
            for_banks(s, &r, .75, grid_line);
        }
        for (unsigned dynamic = 0; dynamic < 2; dynamic++) {
            const struct sq_recipe r =
                activations(g, dynamic ? SQ_SELECT_DYNAMIC_FP : SQ_SELECT_STATIC);
            for_banks(s, &r, .75, grid_line);
        }
    }
    struct sq_recipe fp = weights((struct sq_grid){SQ_GRID_FP, 8, 4}, 8);
    fp.act = (struct sq_grid){SQ_GRID_FP8, 0, 8};
    for_banks(s, &fp, .875, grid_line);
}

static void run(const struct subject *s)
{
    printf("family,format,variant,high,low,bank,sparsity,weight_bits,act_bits,algorithm,score,"
           "smooth,bits,value,seconds\n");
    if (s->is_model)
        printf("reference,dense,none,0,0,0,0,32,32,none,none,-1,32,%.6f,0\n",
               subject_measure(s, NULL));
    baselines(s);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        for (unsigned act = 4; act <= 8; act += 4) {
            const struct sq_recipe w = weights(pairs[i], act);
            const struct sq_recipe a =
                activations(pairs[i], act == 4 ? SQ_SELECT_STATIC : SQ_SELECT_DYNAMIC_FP);
            for_banks(s, &a, 0, grid_line);
            if (act == 4 || i == 0) // W(SQ)A8 for the default pair only
                for_banks(s, &w, 0, grid_line);
            if (i > 0)
                continue;
            for_banks(s, &w, .75, smooth_and_rtn);
            for_banks(s, &a, .75, smooth_and_rtn);
        }
    const struct sq_recipe w = weights(pairs[0], 4), a = activations(pairs[0], SQ_SELECT_STATIC);
    for_banks(s, &w, .75, scores);
    for_banks(s, &a, .75, mask_scores);
    variants(s);
}

int main(int argc, char **argv)
{
    struct subject s;
    subject_load(&s, argc, argv);
    const double start = omp_get_wtime();
    run(&s);
    fprintf(stderr, "\r%u recipes in %.0f s\n", n_lines, omp_get_wtime() - start);
    return 0;
}
