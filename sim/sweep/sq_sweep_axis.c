// SPDX-License-Identifier: Apache-2.0
// The axes of a sweep and the point that one value of each makes (sq_sweep.h).
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/block/core/sq_core_run.h"
#include "sim/sweep/sq_sweep.h"
#include "sim/sweep/sq_sweep_grid.h"

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
    [SQ_AXIS_FORMAT] = {"format", 0, 0, false, sq_format_names, false, ""},
    [SQ_AXIS_WEIGHT_BITS] = {"weight_bits", 2, 16, true, NULL, false, NULL,
                             .option = "weight-bits"},
    [SQ_AXIS_PRECISION] = {"precision", 0, 0, false, precisions, false, NULL,
                           .option = "high-bits"},
    [SQ_AXIS_BANK] = {"bank", SQ_BANK_MIN, SQ_BANK_MAX, true, NULL, false, NULL, .option = "bank"},
    [SQ_AXIS_HIGH_PER_BANK] = {"high_per_bank", 1, 16, true, NULL, false, NULL,
                               .option = "high-per-bank", .is_optional = true},
    [SQ_AXIS_CODES] = {"codes", 0, 0, false, sq_b_codes_choice, false, NULL, .option = "codes",
                       .is_optional = true},
    [SQ_AXIS_SPARSITY] = {"sparsity", 0, .99, false, NULL, false, NULL, .option = "sparsity"},
    [SQ_AXIS_GROUP] = {"group", 0, 128, true, NULL, false, NULL, .option = "group"},
    [SQ_AXIS_ACT_BITS] = {"act_bits", 4, 16, true, NULL, false, NULL, .option = "act-bits"},
    [SQ_AXIS_ALGORITHM] = {"algorithm", 0, 0, false, algorithms, false, NULL,
                           .option = "algorithm"},
    [SQ_AXIS_TOPK] = {"topk", 0, 0, false, sq_topk_choice, false, NULL, .option = "topk",
                      .is_optional = true},
    [SQ_AXIS_GATHER] = {"gather", 0, 0, false, gathers, false, "crossbar"},
    [SQ_AXIS_ROWS] = {"rows", 1, 64, true, NULL, false, "32"},
    [SQ_AXIS_COLS] = {"cols", 1, 64, true, NULL, false, "32"},
    [SQ_AXIS_LOW_LANES] = {"low_lanes", 1, 128, true, NULL, false, "16"},
    [SQ_AXIS_HIGH_LANES] = {"high_lanes", 1, 64, true, NULL, false, "4"},
    [SQ_AXIS_CORES] = {"cores", 1, 1024, true, NULL, false, NULL, .is_optional = true},
    [SQ_AXIS_CLOCK] = {"clock_ghz", .001, 10, false, NULL, false, NULL, .is_optional = true},
    [SQ_AXIS_BANDWIDTH] = {"bandwidth_gb_s", .001, 1e6, false, NULL, false, NULL,
                           .is_optional = true},
    [SQ_AXIS_DEVICE] = {"device", 0, 0, false, sq_dram_device_names, false, NULL,
                        .is_optional = true},
    [SQ_AXIS_CHANNELS] = {"channels", 1, SQ_DRAM_CHANNELS_MAX, true, NULL, false, NULL,
                          .is_optional = true},
    [SQ_AXIS_MAP] = {"map", 0, 0, false, sq_dram_map_names, false, NULL, .is_optional = true},
    [SQ_AXIS_PAGE] = {"page", 0, 0, false, sq_dram_page_names, false, NULL, .is_optional = true},
    [SQ_AXIS_OUTPUT] = {"output_bytes", 1, 8192, true, NULL, false, NULL, .is_optional = true},
    [SQ_AXIS_ACT_BUFFER] = {"act_buffer_kib", 1, 1 << 20, true, NULL, false, NULL,
                            .is_optional = true},
    [SQ_AXIS_WEIGHT_BUFFER] = {"weight_buffer_kib", 1, 1 << 20, true, NULL, false, NULL,
                               .is_optional = true},
    [SQ_AXIS_OUT_BUFFER] = {"out_buffer_kib", 1, 1 << 20, true, NULL, false, NULL,
                            .is_optional = true},
    [SQ_AXIS_FAIR] = {"fair", 0, 0, false, sq_fair_names, false, NULL, .is_optional = true},
    [SQ_AXIS_CONTEXT] = {"context", 1, 1 << 24, true, NULL, false, NULL, .is_optional = true},
    [SQ_AXIS_BATCH] = {"batch", 1, 1 << 20, true, NULL, false, NULL, .is_optional = true},
    [SQ_AXIS_KV_BITS] = {"kv_bits", 4, 16, true, NULL, false, NULL, .is_optional = true},
};

static const char *const derived[] = {"high_bits", "low_bits", "equivalent_bits", "low_steps",
                                      "high_steps"};

const char *sq_quantity_name(enum sq_quantity q)
{
    return q < SQ_N_AXES ? sq_axes[q].name : derived[q - SQ_N_AXES];
}

static unsigned to_uint(double v)
{
    return (unsigned)v;
}

// ---- which axes a point has -----------------------------------------------------------------

#define BIT(axis) (UINT64_C(1) << (axis))
_Static_assert(SQ_N_AXES <= 64, "a wider set");

enum sq_status sq_sweep_resolve_formats(struct sq_sweep_grid *s, struct sq_error *err)
{
    s->of_format = calloc(sq_n_formats(), sizeof *s->of_format);
    SQ_NEED(s->of_format, err, "axes");
    for (size_t i = 0; sq_formats[i]; i++) {
        struct sq_sweep_format *f = &s->of_format[i];
        for (unsigned a = 0; a < SQ_N_AXES; a++) {
            if (sq_axes[a].option)
                f->option[a] = sq_option_find(sq_formats[i], SQ_IN_SWEEP, sq_axes[a].option);
            if (a == SQ_AXIS_GATHER ? sq_formats[i]->cost->is_core
                                    : !sq_axes[a].option || f->option[a])
                f->axes |= BIT(a);
        }
        f->second = sq_option_find(sq_formats[i], SQ_IN_SWEEP, "low-bits");
    }
    return SQ_OK;
}

static uint64_t absent_axes(const struct sq_sweep_grid *s)
{
    uint64_t absent = 0;
    for (unsigned a = 0; a < SQ_N_AXES; a++)
        if (s->axis[a].n == 0)
            absent |= BIT(a);
    return absent;
}

bool sq_sweep_point_at(const struct sq_sweep_grid *s, uint64_t at, struct sq_sweep_point *p)
{
    uint64_t not_first = 0;
    memset(p, 0, sizeof *p);
    for (unsigned a = SQ_N_AXES; a-- > 0;) {
        const size_t n = s->axis[a].n;
        if (n == 0)
            continue;
        p->quantity[a] = s->axis[a].value[at % n];
        not_first |= at % n ? BIT(a) : 0;
        at /= n;
    }
    if (s->axis[SQ_AXIS_MODEL].n > 0)
        p->model = s->axis[SQ_AXIS_MODEL].name[(size_t)p->quantity[SQ_AXIS_MODEL]];
    if (s->is_workload)
        p->workload = s->axis[SQ_AXIS_WORKLOAD].name[(size_t)p->quantity[SQ_AXIS_WORKLOAD]];
    if (s->machine) {
        p->machine_index = (size_t)p->quantity[SQ_AXIS_MACHINE];
        p->machine_name = s->axis[SQ_AXIS_MACHINE].name[p->machine_index];
    }
    p->absent = absent_axes(s);
    p->foreign = ~s->of_format[(size_t)p->quantity[SQ_AXIS_FORMAT]].axes;
    return (not_first & p->foreign) == 0;
}

// ---- what follows from the axes -------------------------------------------------------------

// The pair of a format's defaults.
static double pair_of(const struct sq_format_option *high, const struct sq_format_option *low)
{
    size_t i = 0;
    while (precision_bits[i].high != high->fallback || precision_bits[i].low != low->fallback) {
        i++;
        assert(i < sizeof precision_bits / sizeof precision_bits[0]); // a test asks every format
    }
    return (double)i;
}

static enum sq_status refuse_value(const struct sq_format_option *o, unsigned a, double v,
                                   const char *format, struct sq_error *err)
{
    char range[80], word[40];
    if (!err)
        return SQ_ERR_RANGE;
    sq_option_range(o, range, sizeof range);
    sq_option_word(o, v, word, sizeof word);
    return SQ_FAIL(err, SQ_ERR_RANGE, "axis %s = %s, format %s takes %s", sq_axes[a].name, word,
                   format, range);
}

// Axes that are left out (NaN) become what the format takes without them, in every command.
static enum sq_status settle_format(const struct sq_sweep_grid *s, struct sq_sweep_point *p,
                                    struct sq_error *err)
{
    double *q = p->quantity;
    const size_t format = (size_t)q[SQ_AXIS_FORMAT];
    const struct sq_sweep_format *of = &s->of_format[format];
    struct sq_recipe *r = &p->recipe;
    sq_format_defaults(sq_formats[format], SQ_IN_EVAL | SQ_IN_RUN | SQ_IN_SWEEP, r);
    for (unsigned a = 0; a < SQ_N_AXES; a++) {
        const struct sq_format_option *o = of->option[a];
        if (!o || s->axis[a].n == 0)
            continue;
        if (isnan(q[a])) {
            q[a] = a == SQ_AXIS_PRECISION ? pair_of(o, of->second) : o->fallback;
            continue;
        }
        const double v = a == SQ_AXIS_PRECISION ? precision_bits[(size_t)q[a]].high : q[a];
        if (!sq_option_accepts(o, v))
            return refuse_value(o, a, v, sq_formats[format]->name, err);
        sq_option_put(o, v, r);
        if (a == SQ_AXIS_PRECISION)
            sq_option_put(of->second, precision_bits[(size_t)q[a]].low, r);
    }
    SQ_TRY(sq_format_settle(SQ_IN_SWEEP, NULL, r, err));
    return sq_cost_check(r, err);
}

// A core option of the specification over that of the machine.
static void take(const struct sq_sweep_point *p, unsigned axis, unsigned *value)
{
    if (!(p->absent & BIT(axis)))
        *value = to_uint(p->quantity[axis]);
}

static void take_size(const struct sq_sweep_point *p, unsigned axis, uint64_t *nbytes)
{
    if (!(p->absent & BIT(axis)))
        *nbytes = 1024 * (uint64_t)p->quantity[axis];
}

static enum sq_status settle_dram(struct sq_sweep_point *p, struct sq_error *err)
{
    const double *q = p->quantity;
    struct sq_dram_options o = {.channels = 1, .map = sq_dram_map_names[0]};
    if (p->absent & BIT(SQ_AXIS_DEVICE))
        return SQ_OK;
    take(p, SQ_AXIS_CHANNELS, &o.channels);
    if (!(p->absent & BIT(SQ_AXIS_MAP)))
        o.map = sq_dram_map_names[to_uint(q[SQ_AXIS_MAP])];
    if (!(p->absent & BIT(SQ_AXIS_PAGE)))
        o.page = (enum sq_dram_page)q[SQ_AXIS_PAGE];
    return sq_machine_set_dram(&p->machine, sq_dram_device_names[to_uint(q[SQ_AXIS_DEVICE])], &o,
                               err);
}

// What is around the cores.
static void settle_machine(struct sq_sweep_point *p)
{
    const double *q = p->quantity;
    struct sq_machine *m = &p->machine;
    take(p, SQ_AXIS_CORES, &m->cores);
    take_size(p, SQ_AXIS_ACT_BUFFER, &m->act_nbytes);
    take_size(p, SQ_AXIS_WEIGHT_BUFFER, &m->weight_nbytes);
    take_size(p, SQ_AXIS_OUT_BUFFER, &m->out_nbytes);
    if (!(p->absent & BIT(SQ_AXIS_OUTPUT)))
        m->port_nbits = 8 * to_uint(q[SQ_AXIS_OUTPUT]);
    if (!(p->absent & BIT(SQ_AXIS_BANDWIDTH)))
        m->dram_bytes_per_s = 1e9 * q[SQ_AXIS_BANDWIDTH];
    sq_machine_set_clock(m, p->absent & BIT(SQ_AXIS_CLOCK) ? m->clock_hz : 1e9 * q[SQ_AXIS_CLOCK]);
}

static enum sq_status settle_core(const struct sq_sweep_grid *s, struct sq_sweep_point *p,
                                  struct sq_error *err)
{
    double *q = p->quantity;
    struct sq_core_config core = sq_core_config_default();
    if (s->machine) {
        p->machine = s->machine[p->machine_index];
        settle_machine(p);
        const bool has_rate = !(p->absent & BIT(SQ_AXIS_BANDWIDTH));
        SQ_TRY(settle_dram(p, err));
        if (has_rate && p->machine.timed.is_timed)
            return SQ_FAIL(err, SQ_ERR_ARG,
                           "axis bandwidth_gb_s: the DRAM of machine %.40s keeps time",
                           p->machine_name);
        core = p->machine.core;
    }
    take(p, SQ_AXIS_ROWS, &core.rows);
    take(p, SQ_AXIS_COLS, &core.cols);
    take(p, SQ_AXIS_LOW_LANES, &core.low_lanes);
    take(p, SQ_AXIS_HIGH_LANES, &core.high_lanes);
    if (!(p->absent & BIT(SQ_AXIS_GATHER)))
        core.gather = (enum sq_gather_arch)q[SQ_AXIS_GATHER];
    p->machine.core = core;
    if (p->machine.chip.bus_nbytes && !(p->absent & BIT(SQ_AXIS_LOW_LANES)))
        p->machine.chip.has_lanes = true;
    q[SQ_AXIS_ROWS] = core.rows;
    q[SQ_AXIS_COLS] = core.cols;
    q[SQ_AXIS_LOW_LANES] = core.low_lanes;
    q[SQ_AXIS_HIGH_LANES] = core.high_lanes;
    if (!sq_cost_is_core(&p->recipe))
        return SQ_OK;
    const struct sq_format banks = sq_recipe_banks(&p->recipe);
    p->config = core;
    p->config.act_bits = sq_recipe_act_bits(&p->recipe);
    p->config.high_bits = banks.high_bits;
    p->config.low_bits = banks.low_bits;
    p->config.bank = banks.bank;
    p->config.high_per_bank = banks.high_per_bank;
    if (s->machine)
        SQ_TRY(sq_machine_core(&p->machine, &banks, p->config.act_bits, &p->config, err));
    return sq_core_config_check(&p->config, err);
}

enum sq_status sq_sweep_point_settle(const struct sq_sweep_grid *s, struct sq_sweep_point *p,
                                     struct sq_error *err)
{
    double *q = p->quantity;
    struct sq_job job;
    p->m = (size_t)q[SQ_AXIS_M];
    p->n = s->is_gemm ? (size_t)q[SQ_AXIS_N] : 0;
    p->k = s->is_gemm ? (size_t)q[SQ_AXIS_K] : 0;
    SQ_TRY(settle_format(s, p, err));
    SQ_TRY(settle_core(s, p, err));
    const struct sq_format banks = sq_recipe_banks(&p->recipe);
    const bool has_banks = s->of_format[(size_t)q[SQ_AXIS_FORMAT]].option[SQ_AXIS_PRECISION];
    q[SQ_HIGH_BITS] = has_banks ? banks.high_bits : 0;
    q[SQ_LOW_BITS] = has_banks ? banks.low_bits : 0;
    q[SQ_AXIS_HIGH_PER_BANK] = p->recipe.high_per_bank;
    q[SQ_EQUIVALENT_BITS] = p->recipe.format->cost->equivalent_bits(&p->recipe);
    if (!sq_cost_is_core(&p->recipe))
        return SQ_OK;
    struct sq_core_config core = p->config;
    (void)sq_core_join_banks(&core, banks.group);
    q[SQ_LOW_STEPS] = sq_core_low_steps(&core);
    q[SQ_HIGH_STEPS] = sq_core_high_steps(&core);
    if (!s->is_gemm || s->machine)
        return SQ_OK;
    const size_t k_padded = sq_k_padded(&banks, p->k);
    core = sq_gemm_core(&p->config, &banks, k_padded);
    return sq_gemm_job(&core, &banks, p->m, p->n, k_padded, &job, err);
}

void sq_sweep_grid_point(const struct sq_sweep_grid *s, size_t i, struct sq_sweep_point *p)
{
    (void)sq_sweep_point_at(s, s->point[i], p);
    (void)sq_sweep_point_settle(s, p, NULL); // legal: it was kept
}

void sq_sweep_grid_illegal(const struct sq_sweep_grid *s, size_t i, struct sq_sweep_point *p)
{
    (void)sq_sweep_point_at(s, s->last[-(ptrdiff_t)i], p);
    (void)sq_sweep_point_settle(s, p, NULL);
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
