// SPDX-License-Identifier: Apache-2.0
// The accuracy half of reports/formats: every format at its usual settings, one CSV line each on
// stdout, progress on stderr.
//
//   format_sheet MODEL_DIR [SEQUENCES]   loss of a model
//   format_sheet --profile FILE          relative output error of synthetic layers (subject.h)
//
// Columns: class,name,weights,activations,stored_bits,value. `class` is about the stored bits per
// weight, every index and scale counted; `value` as subject_measure.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/quant/sq_gptq.h"
#include "reports/accuracy/subject.h"
#include "sim/format/core/sq_grid_recipe.h"
#include "sim/format/sq_format_ops.h"

static const struct subject *subject;
static unsigned n_lines;

static void put(const char *class, const char *name, const char *weights, const char *act,
                const struct sq_recipe *r)
{
    double stored;
    const double value = subject_measure_stored(subject, r, &stored);
    printf("%s,%s,%s,%s,", class, name, weights, act);
    printf(isfinite(stored) ? "%.3f,%.6f\n" : "-,%.6f\n", isfinite(stored) ? stored : value, value);
    fflush(stdout);
    fprintf(stderr, "\r%u recipes", ++n_lines);
}

// ---- plain integers and SQ --------------------------------------------------------------------

// Groups of 64, so that the narrow layers of stories260K (K = 64, 172) are hardly padded.
static struct sq_recipe base(void)
{
    struct sq_recipe r = sq_recipe_default();
    r.group = 64;
    return r;
}

static struct sq_recipe dense(unsigned weight_bits, unsigned act_bits)
{
    struct sq_recipe r = base();
    sq_grid_set(&r)->weight = (struct sq_grid){SQ_GRID_DENSE, 0, weight_bits};
    r.is_act_f16 = act_bits == 16;
    r.act = (struct sq_grid){SQ_GRID_DENSE, 0, act_bits == 16 ? 8 : act_bits};
    return r;
}

static void put_dense(const char *class, const char *name, unsigned weight_bits, unsigned act_bits)
{
    const struct sq_recipe r = dense(weight_bits, act_bits);
    put(class, name, "gptq", act_bits == 16 ? "fp16" : act_bits == 4 ? "int4" : "int8", &r);
}

static void put_sq(const char *class, unsigned high_bits, unsigned low_bits, double sparsity)
{
    struct sq_recipe r = base();
    char name[32];
    r.format = &sq_format_sq_w;
    sq_grid_set(&r)->weight = (struct sq_grid){SQ_GRID_OWN, high_bits, low_bits};
    r.bank = 32;
    r.high_per_bank = (unsigned)(32 * (1 - sparsity));
    snprintf(name, sizeof name, "sq_w %u/%u s=%g", high_bits, low_bits, sparsity);
    put(class, name, "algorithm 1", "int8", &r);
}

static void put_sq_a(const char *class, enum sq_select select)
{
    struct sq_recipe r = base();
    r.format = select == SQ_SELECT_STATIC ? &sq_format_sq_a_static : &sq_format_sq_a_dynamic;
    r.act = (struct sq_grid){SQ_GRID_OWN, 8, 4};
    r.bank = 32;
    r.high_per_bank = 8;
    sq_grid_set(&r)->select = select;
    put(class, select == SQ_SELECT_STATIC ? "sq_a_static 8/4 s=.75" : "sq_a_dynamic 8/4 s=.75",
        "gptq", "sq 8/4", &r);
}

// ---- the other formats ------------------------------------------------------------------------

// False where there is no format of that name: its lines are left out.
static bool of_format(const char *name, struct sq_recipe *r)
{
    const struct sq_format_ops *const format = sq_format_find(name);
    if (!format)
        return false;
    *r = sq_recipe_of(format);
    r->algorithm = SQ_ALGORITHM_GPTQ;
    r->group = strcmp(name, "gqsa") == 0 ? 16 : 0;
    return true;
}

static void set(struct sq_recipe *r, const char *option, double value)
{
    sq_option_put(sq_option_find(r->format, SQ_IN_EVAL, option), value, r);
}

static void put_sp24(const char *class, enum sq_prune prune, bool is_joint, const char *how)
{
    struct sq_recipe r;
    if (!of_format("sp24", &r))
        return;
    set(&r, "prune", prune);
    r.algorithm = is_joint ? SQ_ALGORITHM_GPTQ : SQ_ALGORITHM_RTN;
    put(class, "sp24", how, "int8", &r);
}

static void put_gqsa(const char *class, double sparsity, bool is_gptq, bool is_lite,
                     const char *how)
{
    struct sq_recipe r;
    char name[32];
    if (!of_format("gqsa", &r))
        return;
    r.algorithm = is_lite ? SQ_ALGORITHM_LITE : is_gptq ? SQ_ALGORITHM_GPTQ : SQ_ALGORITHM_RTN;
    set(&r, "sparsity", sparsity);
    set(&r, "prune", SQ_PRUNE_SPARSEGPT);
    snprintf(name, sizeof name, "gqsa g16 s=%g", sparsity);
    put(class, name, how, "int8", &r);
}

static void put_spqt(const char *class, double sparsity)
{
    struct sq_recipe r;
    char name[32];
    if (!of_format("spqt", &r))
        return;
    set(&r, "sparsity", sparsity == 0 ? 0.5 : sparsity);
    set(&r, "prefill", sparsity == 0);
    snprintf(name, sizeof name, "spqt s=%g", sparsity);
    put(class, name, "q4_k", "fp32", &r);
}

static void put_spqr(const char *class, double outliers, bool is_absolute, const char *how)
{
    struct sq_recipe r;
    if (!of_format("spqr", &r))
        return;
    r.percdamp = 1;
    set(&r, "outliers", outliers);
    set(&r, "outlier-form", is_absolute);
    put(class, "spqr", how, "fp16", &r);
}

int main(int argc, char **argv)
{
    struct subject s;
    subject_load(&s, argc, argv);
    subject = &s;
    printf("class,name,weights,activations,stored_bits,value\n");
    if (s.is_model)
        printf("-,reference,binary32,binary32,32,%.6f\n", subject_measure(&s, NULL));
    put_dense("8", "dense W8A8", 8, 8);

    put_sq("6", 8, 4, 0.75);
    put_dense("6", "dense W6A8", 6, 8);

    put_sq("5", 8, 3, 0.75);
    put_dense("5", "dense W5A8", 5, 8);
    put_sp24("5", SQ_PRUNE_SPARSEGPT, true, "joint sparsegpt");
    put_sp24("5", SQ_PRUNE_WANDA, false, "wanda then int8");
    put_sp24("5", SQ_PRUNE_MAGNITUDE, false, "magnitude");
    put_gqsa("5", 0.2, false, true, "lite");

    put_sq("4", 8, 2, 0.75);
    put_dense("4", "dense W4A8", 4, 8);
    put_dense("4", "dense W4A16", 4, 16);
    put_dense("4", "dense W4A4", 4, 4);
    put_sq_a("4", SQ_SELECT_STATIC);
    put_sq_a("4", SQ_SELECT_DYNAMIC_FP);
    put_spqt("4", 0);
    put_spqt("4", 0.25);
    put_spqt("4", 0.5);
    put_spqr("4", 0.2, false, "relative outliers");
    put_spqr("4", 0.2, true, "absolute outliers");
    put_spqr("4", 1e6, false, "no outliers");

    put_sq("3", 4, 2, 0.75);
    put_dense("3", "dense W3A8", 3, 8);
    put_gqsa("3", 0.5, false, false, "rtn");
    put_gqsa("3", 0.5, true, false, "compensated");
    put_gqsa("3", 0.5, false, true, "lite");
    fprintf(stderr, "\r%u recipes\n", n_lines);
    return 0;
}
