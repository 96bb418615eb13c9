// SPDX-License-Identifier: Apache-2.0
// The axes of a sweep and the point that one value of each makes (sq_sweep.h).
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sq_core_run.h"
#include "sq_layer.h"
#include "sq_sweep.h"
#include "sq_sweep_spec.h"

static const char *const precisions[] = {"8/4", "8/3", "8/2", "4/3", "4/2", NULL};
static const struct {
    unsigned high, low;
} precision_bits[] = {{8, 4}, {8, 3}, {8, 2}, {4, 3}, {4, 2}};
static const char *const algorithms[] = {"rtn", "gptq", NULL};
static const char *const gathers[] = {"crossbar", "log", NULL};

// model: the names are the specification's own. group: 0 is the whole row.
const struct sq_axis sq_axes[SQ_N_AXES] = {
    [SQ_AXIS_MODEL] = {"model", 0, 0, false, NULL, SQ_EMBEDDED_MODEL},
    [SQ_AXIS_M] = {"m", 1, 1 << 20, true, NULL, "32"},
    [SQ_AXIS_N] = {"n", 1, 1 << 20, true, NULL, NULL},
    [SQ_AXIS_K] = {"k", 1, 1 << 20, true, NULL, NULL},
    [SQ_AXIS_PRECISION] = {"precision", 0, 0, false, precisions, "8/4"},
    [SQ_AXIS_BANK] = {"bank", SQ_BANK_MIN, SQ_BANK_MAX, true, NULL, "32"},
    [SQ_AXIS_SPARSITY] = {"sparsity", .5, .9375, false, NULL, "0.75"},
    [SQ_AXIS_GROUP] = {"group", 0, 128, true, NULL, "128"},
    [SQ_AXIS_ACT_BITS] = {"act_bits", 4, 8, true, NULL, "8"},
    [SQ_AXIS_ALGORITHM] = {"algorithm", 0, 0, false, algorithms, "rtn"},
    [SQ_AXIS_GATHER] = {"gather", 0, 0, false, gathers, "crossbar"},
    [SQ_AXIS_ROWS] = {"rows", 1, 64, true, NULL, "32"},
    [SQ_AXIS_COLS] = {"cols", 1, 64, true, NULL, "32"},
    [SQ_AXIS_LOW_LANES] = {"low_lanes", 1, 128, true, NULL, "16"},
    [SQ_AXIS_HIGH_LANES] = {"high_lanes", 1, 64, true, NULL, "4"},
};

static const char *const derived[] = {"high_bits",       "low_bits",  "high_per_bank",
                                      "equivalent_bits", "low_steps", "high_steps"};

const char *sq_quantity_name(enum sq_quantity q)
{
    return q < SQ_N_AXES ? sq_axes[q].name : derived[q - SQ_N_AXES];
}

static unsigned to_uint(double v)
{
    return (unsigned)v;
}

// Quantities and structures from the values of the axes; false where no legal format or core has
// them.
bool sq_sweep_point_settle(struct sq_sweep_point *p, bool is_gemm)
{
    double *q = p->quantity;
    struct sq_job job;
    const unsigned pair = to_uint(q[SQ_AXIS_PRECISION]);
    p->m = (size_t)q[SQ_AXIS_M];
    p->n = is_gemm ? (size_t)q[SQ_AXIS_N] : 0;
    p->k = is_gemm ? (size_t)q[SQ_AXIS_K] : 0;
    p->format = (struct sq_format){.high_bits = precision_bits[pair].high,
                                   .low_bits = precision_bits[pair].low,
                                   .bank = to_uint(q[SQ_AXIS_BANK]),
                                   .group = to_uint(q[SQ_AXIS_GROUP])};
    if (sq_format_high_per_bank(p->format.bank, q[SQ_AXIS_SPARSITY], &p->format.high_per_bank,
                                NULL) != SQ_OK ||
        sq_format_check(&p->format, NULL) != SQ_OK)
        return false;
    p->config = (struct sq_core_config){.rows = to_uint(q[SQ_AXIS_ROWS]),
                                        .cols = to_uint(q[SQ_AXIS_COLS]),
                                        .low_lanes = to_uint(q[SQ_AXIS_LOW_LANES]),
                                        .high_lanes = to_uint(q[SQ_AXIS_HIGH_LANES]),
                                        .act_bits = to_uint(q[SQ_AXIS_ACT_BITS]),
                                        .high_bits = p->format.high_bits,
                                        .low_bits = p->format.low_bits,
                                        .bank = p->format.bank,
                                        .high_per_bank = p->format.high_per_bank,
                                        .gather = (enum sq_gather_arch)q[SQ_AXIS_GATHER]};
    q[SQ_HIGH_BITS] = p->format.high_bits;
    q[SQ_LOW_BITS] = p->format.low_bits;
    q[SQ_HIGH_PER_BANK] = p->format.high_per_bank;
    q[SQ_EQUIVALENT_BITS] = sq_format_equivalent_bits(&p->format);
    if (sq_core_config_check(&p->config, NULL) != SQ_OK)
        return false;
    q[SQ_LOW_STEPS] = sq_core_low_steps(&p->config);
    q[SQ_HIGH_STEPS] = sq_core_high_steps(&p->config);
    return !is_gemm || sq_gemm_job(&p->config, &p->format, p->m, p->n,
                                   sq_k_padded(&p->format, p->k), &job, NULL) == SQ_OK;
}

void sq_sweep_point_at(const struct sq_sweep_spec *s, uint64_t at, struct sq_sweep_point *p)
{
    memset(p, 0, sizeof *p);
    for (unsigned a = SQ_N_AXES; a-- > 0;) {
        const size_t n = s->axis[a].n;
        if (n == 0) // n and k of a model, model of a GEMM
            continue;
        p->quantity[a] = s->axis[a].value[at % n];
        at /= n;
    }
    p->model = s->is_gemm ? NULL : s->model[(size_t)p->quantity[SQ_AXIS_MODEL]];
}

void sq_sweep_spec_point(const struct sq_sweep_spec *s, size_t i, struct sq_sweep_point *p)
{
    sq_sweep_point_at(s, s->point[i], p);
    (void)sq_sweep_point_settle(p, s->is_gemm); // legal: it was kept
}

void sq_sweep_parameters(const struct sq_sweep_point *p, char text[SQ_PARAMETERS_SIZE])
{
    int at = 0;
    for (unsigned a = 0; a < SQ_N_AXES; a++) {
        const struct sq_axis *axis = &sq_axes[a];
        const double v = p->quantity[a];
        const bool is_absent = p->model ? a == SQ_AXIS_N || a == SQ_AXIS_K : a == SQ_AXIS_MODEL;
        char *out = text + at;
        const size_t room = SQ_PARAMETERS_SIZE - (size_t)at;
        if (is_absent)
            continue;
        if (a == SQ_AXIS_MODEL) // no character that JSON escapes: the specification refuses them
            at += snprintf(out, room, "%c\"model\":\"%s\"", at ? ',' : '{', p->model);
        else if (axis->choice)
            at += snprintf(out, room, "%c\"%s\":\"%s\"", at ? ',' : '{', axis->name,
                           axis->choice[(size_t)v]);
        else
            at += snprintf(out, room, "%c\"%s\":%.10g", at ? ',' : '{', axis->name, v);
    }
    snprintf(text + at, SQ_PARAMETERS_SIZE - (size_t)at, "}");
}
