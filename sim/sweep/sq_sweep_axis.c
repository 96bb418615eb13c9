// SPDX-License-Identifier: Apache-2.0
// The axes of a sweep and the point that one value of each makes (sq_sweep.h).
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/block/sq_core_run.h"
#include "sim/llm/sq_layer.h"
#include "sim/sweep/sq_sweep.h"
#include "sim/sweep/sq_sweep_spec.h"

static const char *const precisions[] = {"8/4", "8/3", "8/2", "4/3", "4/2", NULL};
static const struct {
    unsigned high, low;
} precision_bits[] = {{8, 4}, {8, 3}, {8, 2}, {4, 3}, {4, 2}};
static const char *const algorithms[] = {"rtn", "gptq", NULL};
static const char *const gathers[] = {"crossbar", "log", NULL};

// group: 0 is the whole row.
const struct sq_axis sq_axes[SQ_N_AXES] = {
    [SQ_AXIS_MODEL] = {"model", 0, 0, false, NULL, true, SQ_EMBEDDED_MODEL},
    [SQ_AXIS_WORKLOAD] = {"workload", 0, 0, false, NULL, true, NULL},
    [SQ_AXIS_MACHINE] = {"machine", 0, 0, false, NULL, true, NULL},
    [SQ_AXIS_M] = {"m", 1, 1 << 20, true, NULL, false, "32"},
    [SQ_AXIS_N] = {"n", 1, 1 << 20, true, NULL, false, NULL},
    [SQ_AXIS_K] = {"k", 1, 1 << 20, true, NULL, false, NULL},
    [SQ_AXIS_FORMAT] = {"format", 0, 0, false, sq_scheme_names, false, "sq_w"},
    [SQ_AXIS_WEIGHT_BITS] = {"weight_bits", 2, 16, true, NULL, false, NULL},
    [SQ_AXIS_PRECISION] = {"precision", 0, 0, false, precisions, false, "8/4"},
    [SQ_AXIS_BANK] = {"bank", SQ_BANK_MIN, SQ_BANK_MAX, true, NULL, false, "32"},
    [SQ_AXIS_SPARSITY] = {"sparsity", 0, .99, false, NULL, false, "0.75"},
    [SQ_AXIS_GROUP] = {"group", 0, 128, true, NULL, false, "128"},
    [SQ_AXIS_ACT_BITS] = {"act_bits", 4, 16, true, NULL, false, "8"},
    [SQ_AXIS_ALGORITHM] = {"algorithm", 0, 0, false, algorithms, false, "rtn"},
    [SQ_AXIS_GATHER] = {"gather", 0, 0, false, gathers, false, "crossbar"},
    [SQ_AXIS_ROWS] = {"rows", 1, 64, true, NULL, false, "32"},
    [SQ_AXIS_COLS] = {"cols", 1, 64, true, NULL, false, "32"},
    [SQ_AXIS_LOW_LANES] = {"low_lanes", 1, 128, true, NULL, false, "16"},
    [SQ_AXIS_HIGH_LANES] = {"high_lanes", 1, 64, true, NULL, false, "4"},
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

// ---- which axes a point has -----------------------------------------------------------------

#define BIT(axis) (UINT32_C(1) << (axis))
_Static_assert(SQ_N_AXES <= 32, "a wider set");

enum {
    SOURCES = BIT(SQ_AXIS_MODEL) | BIT(SQ_AXIS_WORKLOAD) | BIT(SQ_AXIS_M) | BIT(SQ_AXIS_N) |
              BIT(SQ_AXIS_K),
    CORE = BIT(SQ_AXIS_ROWS) | BIT(SQ_AXIS_COLS) | BIT(SQ_AXIS_LOW_LANES) | BIT(SQ_AXIS_HIGH_LANES),
    ALWAYS = SOURCES | CORE | BIT(SQ_AXIS_MACHINE) | BIT(SQ_AXIS_FORMAT),
    SQ = BIT(SQ_AXIS_PRECISION) | BIT(SQ_AXIS_BANK) | BIT(SQ_AXIS_SPARSITY) | BIT(SQ_AXIS_GROUP) |
         BIT(SQ_AXIS_ALGORITHM),
};

static const uint32_t axes_of[SQ_N_SCHEMES] = {
    [SQ_SCHEME_SQ_W] = ALWAYS | SQ | BIT(SQ_AXIS_ACT_BITS) | BIT(SQ_AXIS_GATHER),
    [SQ_SCHEME_DENSE] = ALWAYS | BIT(SQ_AXIS_WEIGHT_BITS) | BIT(SQ_AXIS_ACT_BITS) |
                        BIT(SQ_AXIS_GROUP) | BIT(SQ_AXIS_ALGORITHM),
    [SQ_SCHEME_SQ_A_STATIC] = ALWAYS | SQ | BIT(SQ_AXIS_WEIGHT_BITS),
    [SQ_SCHEME_SQ_A_DYNAMIC] = ALWAYS | SQ | BIT(SQ_AXIS_WEIGHT_BITS),
    [SQ_SCHEME_SP24] = ALWAYS | BIT(SQ_AXIS_ACT_BITS),
    [SQ_SCHEME_GQSA] = ALWAYS | BIT(SQ_AXIS_ACT_BITS) | BIT(SQ_AXIS_GROUP) | BIT(SQ_AXIS_SPARSITY),
    [SQ_SCHEME_SPQT] = ALWAYS | BIT(SQ_AXIS_ACT_BITS) | BIT(SQ_AXIS_SPARSITY),
    [SQ_SCHEME_SPQR] = ALWAYS | BIT(SQ_AXIS_ACT_BITS),
};

static uint32_t absent_axes(const struct sq_sweep_spec *s)
{
    uint32_t absent = 0;
    for (unsigned a = 0; a < SQ_N_AXES; a++)
        if (s->axis[a].n == 0)
            absent |= BIT(a);
    if (s->is_workload)
        absent |= BIT(SQ_AXIS_M);
    return absent;
}

bool sq_sweep_point_at(const struct sq_sweep_spec *s, uint64_t at, struct sq_sweep_point *p)
{
    uint32_t not_first = 0;
    memset(p, 0, sizeof *p);
    for (unsigned a = SQ_N_AXES; a-- > 0;) {
        const size_t n = s->axis[a].n;
        if (n == 0)
            continue;
        p->quantity[a] = s->axis[a].value[at % n];
        not_first |= at % n ? BIT(a) : 0;
        at /= n;
    }
    if (!s->is_gemm && !s->is_workload)
        p->model = s->axis[SQ_AXIS_MODEL].name[(size_t)p->quantity[SQ_AXIS_MODEL]];
    if (s->is_workload)
        p->workload = s->axis[SQ_AXIS_WORKLOAD].name[(size_t)p->quantity[SQ_AXIS_WORKLOAD]];
    if (s->machine) {
        p->machine_index = (size_t)p->quantity[SQ_AXIS_MACHINE];
        p->machine_name = s->axis[SQ_AXIS_MACHINE].name[p->machine_index];
    }
    p->scheme.kind = (enum sq_scheme_kind)p->quantity[SQ_AXIS_FORMAT];
    p->absent = absent_axes(s);
    p->foreign = ~axes_of[p->scheme.kind];
    return (not_first & p->foreign) == 0;
}

// ---- what follows from the axes -------------------------------------------------------------

static bool settle_format(struct sq_sweep_point *p)
{
    double *q = p->quantity;
    struct sq_format *f = &p->format;
    struct sq_scheme *s = &p->scheme;
    const unsigned pair = to_uint(q[SQ_AXIS_PRECISION]);
    const bool is_sq = axes_of[s->kind] & BIT(SQ_AXIS_PRECISION);
    s->act_bits = to_uint(q[SQ_AXIS_ACT_BITS]);
    s->weight_bits = to_uint(q[SQ_AXIS_WEIGHT_BITS]);
    s->sparsity = q[SQ_AXIS_SPARSITY];
    s->outliers = 0.01;
    s->group = p->foreign & BIT(SQ_AXIS_GROUP) ? 0 : to_uint(q[SQ_AXIS_GROUP]);
    if (is_sq) {
        *f = (struct sq_format){.high_bits = precision_bits[pair].high,
                                .low_bits = precision_bits[pair].low,
                                .bank = to_uint(q[SQ_AXIS_BANK]),
                                .group = to_uint(q[SQ_AXIS_GROUP])};
        if (sq_format_high_per_bank(f->bank, q[SQ_AXIS_SPARSITY], &f->high_per_bank, NULL) != SQ_OK)
            return false;
        s->sq = *f;
        if (s->kind != SQ_SCHEME_SQ_W)
            s->act_bits = 8; // unused: those of the two parts
    }
    if (s->kind != SQ_SCHEME_GQSA && s->group != 0 && s->group != 32 && s->group != 64 &&
        s->group != 128)
        return false;
    return sq_scheme_check(s, NULL) == SQ_OK;
}

static double equivalent_bits(const struct sq_scheme *s)
{
    switch (s->kind) {
    case SQ_SCHEME_SQ_W:
        return sq_format_equivalent_bits(&s->sq);
    case SQ_SCHEME_SP24:
        return 5;
    case SQ_SCHEME_GQSA:
        return (1 - s->sparsity) * (4 + 16. / s->group);
    case SQ_SCHEME_SPQT:
        return 4;
    case SQ_SCHEME_SPQR:
        return 4 + 32 * s->outliers;
    default:
        return s->weight_bits;
    }
}

// A core option of the specification over that of the machine.
static void take(const struct sq_sweep_point *p, unsigned axis, unsigned *value)
{
    if (!(p->absent & BIT(axis)))
        *value = to_uint(p->quantity[axis]);
}

static bool settle_core(const struct sq_sweep_spec *s, struct sq_sweep_point *p)
{
    double *q = p->quantity;
    struct sq_core_config core = sq_core_config_default();
    if (s->machine) {
        p->machine = s->machine[p->machine_index];
        core = p->machine.core;
    }
    take(p, SQ_AXIS_ROWS, &core.rows);
    take(p, SQ_AXIS_COLS, &core.cols);
    take(p, SQ_AXIS_LOW_LANES, &core.low_lanes);
    take(p, SQ_AXIS_HIGH_LANES, &core.high_lanes);
    if (!(p->absent & BIT(SQ_AXIS_GATHER)))
        core.gather = (enum sq_gather_arch)q[SQ_AXIS_GATHER];
    p->machine.core = core;
    q[SQ_AXIS_ROWS] = core.rows;
    q[SQ_AXIS_COLS] = core.cols;
    q[SQ_AXIS_LOW_LANES] = core.low_lanes;
    q[SQ_AXIS_HIGH_LANES] = core.high_lanes;
    if (p->scheme.kind != SQ_SCHEME_SQ_W)
        return true;
    p->config = core;
    p->config.act_bits = p->scheme.act_bits;
    p->config.high_bits = p->format.high_bits;
    p->config.low_bits = p->format.low_bits;
    p->config.bank = p->format.bank;
    p->config.high_per_bank = p->format.high_per_bank;
    if (s->machine &&
        sq_machine_core(&p->machine, &p->format, p->scheme.act_bits, &p->config, NULL) != SQ_OK)
        return false;
    return sq_core_config_check(&p->config, NULL) == SQ_OK;
}

bool sq_sweep_point_settle(const struct sq_sweep_spec *s, struct sq_sweep_point *p)
{
    double *q = p->quantity;
    struct sq_job job;
    p->m = (size_t)q[SQ_AXIS_M];
    p->n = s->is_gemm ? (size_t)q[SQ_AXIS_N] : 0;
    p->k = s->is_gemm ? (size_t)q[SQ_AXIS_K] : 0;
    if (!settle_format(p) || !settle_core(s, p))
        return false;
    q[SQ_HIGH_BITS] = p->format.high_bits;
    q[SQ_LOW_BITS] = p->format.low_bits;
    q[SQ_HIGH_PER_BANK] = p->format.high_per_bank;
    q[SQ_EQUIVALENT_BITS] = equivalent_bits(&p->scheme);
    if (p->scheme.kind != SQ_SCHEME_SQ_W)
        return true;
    q[SQ_LOW_STEPS] = sq_core_low_steps(&p->config);
    q[SQ_HIGH_STEPS] = sq_core_high_steps(&p->config);
    return !s->is_gemm || s->machine ||
           sq_gemm_job(&p->config, &p->format, p->m, p->n, sq_k_padded(&p->format, p->k), &job,
                       NULL) == SQ_OK;
}

static void set_system(const struct sq_scheme *s, struct sq_recipe *r)
{
    static const enum sq_system system[SQ_N_SCHEMES] = {[SQ_SCHEME_SP24] = SQ_SYSTEM_SP24,
                                                        [SQ_SCHEME_GQSA] = SQ_SYSTEM_GQSA,
                                                        [SQ_SCHEME_SPQT] = SQ_SYSTEM_SPQT,
                                                        [SQ_SCHEME_SPQR] = SQ_SYSTEM_SPQR};
    r->system = system[s->kind];
    r->prune = SQ_PRUNE_SPARSEGPT;
    r->sparsity = s->kind == SQ_SCHEME_SP24 ? 0.5 : s->sparsity;
    if (s->kind == SQ_SCHEME_SPQR) {
        r->percdamp = 1;
        r->outliers = 0.2;
    }
}

struct sq_recipe sq_sweep_recipe(const struct sq_sweep_point *p)
{
    const struct sq_scheme *s = &p->scheme;
    const struct sq_grid mixed = {SQ_GRID_OWN, p->format.high_bits, p->format.low_bits};
    const bool is_grid = s->kind < SQ_SCHEME_SP24;
    struct sq_recipe r = sq_recipe_default();
    r.weight = (struct sq_grid){SQ_GRID_DENSE, 0, is_grid ? s->weight_bits : 8};
    r.is_act_f16 = s->act_bits == 16;
    r.act = (struct sq_grid){SQ_GRID_DENSE, 0, r.is_act_f16 ? 8 : s->act_bits};
    r.group = s->group;
    r.is_gptq = !is_grid || p->quantity[SQ_AXIS_ALGORITHM] == 1; // sq_w: SQ Algorithm 1
    if (!is_grid)
        set_system(s, &r);
    else if (s->kind == SQ_SCHEME_SQ_W)
        r.weight = mixed;
    else if (s->kind != SQ_SCHEME_DENSE)
        r.act = mixed;
    if (is_grid && s->kind != SQ_SCHEME_DENSE) {
        r.bank = p->format.bank;
        r.high_per_bank = p->format.high_per_bank;
    }
    r.select = s->kind == SQ_SCHEME_SQ_A_DYNAMIC ? SQ_SELECT_DYNAMIC_FP : SQ_SELECT_STATIC;
    return r;
}

void sq_sweep_spec_point(const struct sq_sweep_spec *s, size_t i, struct sq_sweep_point *p)
{
    (void)sq_sweep_point_at(s, s->point[i], p);
    (void)sq_sweep_point_settle(s, p); // legal: it was kept
}

void sq_sweep_parameters(const struct sq_sweep_point *p, char text[SQ_PARAMETERS_SIZE])
{
    const char *const path[] = {[SQ_AXIS_MODEL] = p->model,
                                [SQ_AXIS_WORKLOAD] = p->workload,
                                [SQ_AXIS_MACHINE] = p->machine_name};
    int at = 0;
    for (unsigned a = 0; a < SQ_N_AXES; a++) {
        const struct sq_axis *axis = &sq_axes[a];
        const double v = p->quantity[a];
        char *out = text + at;
        const size_t room = SQ_PARAMETERS_SIZE - (size_t)at;
        if (p->absent & BIT(a))
            continue;
        if (p->foreign & BIT(a))
            at += snprintf(out, room, "%c\"%s\":null", at ? ',' : '{', axis->name);
        else if (axis->is_path) // no character that JSON escapes: the specification refuses them
            at += snprintf(out, room, "%c\"%s\":\"%s\"", at ? ',' : '{', axis->name, path[a]);
        else if (axis->choice)
            at += snprintf(out, room, "%c\"%s\":\"%s\"", at ? ',' : '{', axis->name,
                           axis->choice[(size_t)v]);
        else
            at += snprintf(out, room, "%c\"%s\":%.10g", at ? ',' : '{', axis->name, v);
    }
    snprintf(text + at, SQ_PARAMETERS_SIZE - (size_t)at, "}");
}
