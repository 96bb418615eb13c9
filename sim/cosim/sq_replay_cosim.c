// SPDX-License-Identifier: Apache-2.0
// Running; which operands go where is in sim/format/sq_*_trace.c.
#include "sim/cosim/sq_replay_cosim.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/block/sq_core_run.h"
#include "sim/cosim/sq_rtl_build.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_kernel_trace.h"
#include "sim/format/sq_trace.h"

size_t sq_replay_n_blocks(const struct sq_replay *r)
{
    return r->format->trace->n_routes;
}

// ---- core -----------------------------------------------------------------------------------

static enum sq_status take_operand(struct sq_replay *r, struct sq_operand *w, struct sq_error *err)
{
    const uint8_t *lo, *hi;
    const float *s_lo, *s_hi;
    SQ_REPLAY_TENSOR(r, "lo", SQ_U8, w->lo_nbytes, lo);
    SQ_REPLAY_TENSOR(r, "hi", SQ_U8, w->hi_nbytes, hi);
    SQ_REPLAY_TENSOR(r, "s_lo", SQ_F32, w->n_scales, s_lo);
    SQ_REPLAY_TENSOR(r, "s_hi", SQ_F32, w->n_scales, s_hi);
    memcpy(w->m.lo, lo, w->lo_nbytes);
    memcpy(w->m.hi, hi, w->hi_nbytes);
    memcpy(w->m.s_lo, s_lo, w->n_scales * sizeof *s_lo);
    memcpy(w->m.s_hi, s_hi, w->n_scales * sizeof *s_hi);
    return sq_matrix_validate(&w->m, w->lo_nbytes, w->hi_nbytes, w->n_scales, err);
}

// The trace as a layer whose integers are the kernel's. What it points to stays the trace's.
static enum sq_status take_layer(struct sq_replay *r, const struct sq_format *f,
                                 const struct sq_core_config *config, struct sq_operand *w,
                                 struct sq_layer_codes *layer, struct sq_error *err)
{
    static const struct sq_rates free_streams = {1, 1, 1, 1};
    const size_t n_p = r->m * r->n * sq_n_groups(f, r->k);
    SQ_TRY(take_operand(r, w, err));
    SQ_REPLAY_TENSOR(r, "x", SQ_I8, r->m * r->k, layer->act);
    SQ_REPLAY_TENSOR(r, "p_lo", SQ_I32, n_p, layer->p_lo);
    SQ_REPLAY_TENSOR(r, "p_hi", SQ_I32, n_p, layer->p_hi);
    layer->m = r->m;
    layer->w = &w->m;
    SQ_TRY(sq_gemm_job(config, f, r->m, r->n, r->k, &layer->job, err));
    layer->cycles = sq_core_run_fast(config, &layer->job, &free_streams).cycles;
    return SQ_OK;
}

static enum sq_status run_layer(const struct sq_layer_codes *layer,
                                const struct sq_core_config *config,
                                const struct sq_replay_options *o, struct sq_replay_outcome *out,
                                struct sq_error *err)
{
    struct sq_layer_cosim l = {0};
    struct sq_rtl rtl;
    bool built;
    out->point = sq_core_point(config);
    const struct sq_rtl_point point = {
        .block = &sq_core_block, .point = &out->point, .netlist = o->netlist};
    SQ_TRY(sq_rtl_load(&rtl, &point, o->home, &built, err));
    const enum sq_status status =
        sq_layer_cosim_run(layer, config, rtl.api, o->seed, true, &l, err);
    sq_rtl_unload(&rtl);
    out->beats = l.beats;
    out->cycles = l.cycles;
    out->value_mismatches = l.value_mismatches;
    out->cycle_mismatches = l.cycle_mismatches;
    out->result = l.result;
    out->failing_tile = l.failing_tile;
    out->stream = l.failing;
    out->stream.point = &out->point;
    if (l.value_mismatches > 0 && l.result.mismatch.kind == SQ_MISMATCH_NONE)
        snprintf(out->difference, sizeof out->difference, "%" PRIu64 " of p_lo, p_hi",
                 l.value_mismatches);
    return status;
}

static enum sq_status run_core(struct sq_replay *r, const struct sq_replay_options *o,
                               struct sq_replay_outcome *out, struct sq_error *err)
{
    struct sq_core_config config = o->config;
    struct sq_layer_codes layer;
    struct sq_operand w;
    struct sq_format f;
    SQ_TRY(sq_replay_format(r, &f, err));
    config.act_bits = 8;
    config.high_bits = f.high_bits;
    config.low_bits = f.low_bits;
    config.bank = f.bank;
    config.high_per_bank = f.high_per_bank;
    SQ_TRY(sq_core_config_check(&config, err));
    out->block = "core";
    snprintf(out->shape, sizeof out->shape, "%ux%u PEs, L=%u H=%u b=%u k=%u", config.rows,
             config.cols, config.low_lanes, config.high_lanes, config.bank, config.high_per_bank);
    out->values = 2 * r->m * r->n * sq_n_groups(&f, r->k);
    SQ_TRY(sq_operand_alloc(&w, &f, r->n, r->k, err));
    enum sq_status status = take_layer(r, &f, &config, &w, &layer, err);
    if (status == SQ_OK)
        status = run_layer(&layer, &config, o, out, err);
    sq_operand_free(&w);
    return status;
}

// ---- stream blocks --------------------------------------------------------------------------

// A point of the table with the same parameters lends its name, and so its compiled RTL.
static void name_point(const struct sq_block *b, struct sq_point *p)
{
    size_t n = 0;
    while (b->param[n])
        n++;
    p->name = "trace";
    for (size_t i = 0; i < b->n_points; i++)
        if (memcmp(b->points[i].value, p->value, n * sizeof p->value[0]) == 0)
            p->name = b->points[i].name;
}

static void describe(struct sq_replay_outcome *out)
{
    const struct sq_block *b = out->stream.block;
    size_t at = 0;
    for (size_t i = 0; b->param[i] && at < sizeof out->shape; i++)
        at += (size_t)snprintf(out->shape + at, sizeof out->shape - at, "%s%u", i ? "," : "",
                               out->point.value[i]);
}

static enum sq_status run_stream(const struct sq_replay_options *o, struct sq_replay_outcome *out,
                                 struct sq_error *err)
{
    const struct sq_rtl_point point = {
        .block = out->stream.block, .point = &out->point, .netlist = o->netlist};
    struct sq_rtl rtl;
    bool built;
    SQ_TRY(sq_rtl_load(&rtl, &point, o->home, &built, err));
    enum sq_status status = sq_lockstep_run(&out->stream, rtl.api, NULL, 0, &out->result, err);
    const enum sq_mismatch_kind kind = out->result.mismatch.kind;
    out->beats = out->result.beats;
    out->cycles = out->result.cycles;
    out->value_mismatches += sq_mismatch_is_value(&out->result.mismatch);
    out->cycle_mismatches +=
        kind != SQ_MISMATCH_NONE && !sq_mismatch_is_value(&out->result.mismatch);
    if (status == SQ_OK && kind != SQ_MISMATCH_NONE)
        status = sq_shrink(&out->stream, rtl.api, &out->result, err);
    sq_rtl_unload(&rtl);
    return status;
}

enum sq_status sq_replay_cosim(struct sq_replay *r, size_t index, const struct sq_replay_options *o,
                               struct sq_replay_outcome *out, struct sq_error *err)
{
    const struct sq_route *route = &r->format->trace->route[index];
    struct sq_route_work work = {.r = r,
                                 .array_rows = o->array_rows,
                                 .array_cols = o->array_cols,
                                 .point = &out->point,
                                 .stream = &out->stream};
    memset(out, 0, sizeof *out);
    if (!route->block)
        return run_core(r, o, out, err);
    out->block = route->block->name;
    out->stream = (struct sq_case){.block = route->block, .point = &out->point, .seed = o->seed};
    SQ_TRY(route->make(&work, err));
    name_point(route->block, &out->point);
    describe(out);
    SQ_TRY(route->check(&work, err));
    out->values = work.values;
    out->value_mismatches = work.value_mismatches;
    memcpy(out->difference, work.difference, sizeof out->difference);
    return run_stream(o, out, err);
}

void sq_replay_outcome_free(struct sq_replay_outcome *out)
{
    sq_case_free(&out->stream);
}
