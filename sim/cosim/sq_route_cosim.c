// SPDX-License-Identifier: Apache-2.0
// Running; which operands go where is in sim/format/sq_*_route.c.
#include "sim/cosim/sq_route_cosim.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/block/core/sq_core_run.h"
#include "sim/cosim/sq_rtl_build.h"
#include "sim/format/core/sq_w_route.h"
#include "sim/format/sq_tile_route.h"

// As many multiplications in each PE take less time than the compiler's passes over their RTL.
#define BRIEF_MACS (UINT64_C(1) << 19)

static uint64_t macs_of(const struct sq_product *p)
{
    return (uint64_t)p->m * p->n * p->k;
}

// Whether the multiplications of the run, or those of a product that comes alone, are few.
static bool is_brief(const struct sq_route_options *o, uint64_t macs, uint64_t n_pes)
{
    return (o->macs ? o->macs : macs) <= BRIEF_MACS * n_pes;
}

// ---- core -----------------------------------------------------------------------------------

// The product as the core's. What it points to stays the product's.
static enum sq_status take_layer(struct sq_product *p, const struct sq_core_config *config,
                                 const struct sq_operand *w, struct sq_layer_codes *layer,
                                 struct sq_error *err)
{
    static const struct sq_rates free_streams = {1, 1, 1, 1};
    const struct sq_format *f = &w->m.format;
    const size_t n_p = p->m * p->n * sq_n_groups(f, p->k);
    SQ_PRODUCT_TENSOR(p, "x", SQ_I8, p->m * p->k, layer->act);
    SQ_PRODUCT_TENSOR(p, "p_lo", SQ_I32, n_p, layer->p_lo);
    SQ_PRODUCT_TENSOR(p, "p_hi", SQ_I32, n_p, layer->p_hi);
    layer->m = p->m;
    layer->w = &w->m;
    SQ_TRY(sq_gemm_job(config, f, p->m, p->n, p->k, &layer->job, err));
    layer->cycles = sq_core_run_fast(config, &layer->job, &free_streams).cycles;
    return SQ_OK;
}

static enum sq_status run_layer(const struct sq_layer_codes *layer,
                                const struct sq_core_config *config,
                                const struct sq_route_options *o, struct sq_route_outcome *out,
                                struct sq_error *err)
{
    struct sq_layer_cosim l = {0};
    struct sq_rtl rtl;
    bool built;
    out->point = sq_core_point(config);
    const struct sq_rtl_point point = {
        .block = &sq_core_block,
        .point = &out->point,
        .netlist = o->netlist,
        .is_brief = is_brief(o, (uint64_t)layer->m * layer->w->n * layer->w->k,
                             (uint64_t)config->rows * config->cols)};
    SQ_TRY(sq_rtl_load(&rtl, &point, o->home, &built, err));
    const enum sq_status status =
        sq_layer_cosim_run(layer, config, rtl.api, o->seed, o->is_free, true, &l, err);
    sq_rtl_unload(&rtl);
    out->compared = l.compared;
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

// Tiles of the layer, at most `most`, spread over it evenly: a job each.
static enum sq_status put_tiles(const struct sq_layer_codes *layer,
                                const struct sq_core_config *config,
                                const struct sq_route_options *o, uint32_t most,
                                struct sq_route_outcome *out, struct sq_error *err)
{
    const struct sq_matrix *w = layer->w;
    const uint32_t tiles = layer->job.groups / (uint32_t)sq_n_groups(&w->format, w->k);
    const uint32_t n = tiles < most ? tiles : most;
    out->point = sq_core_point(config);
    out->stream = (struct sq_case){.block = &sq_core_block, .point = &out->point, .seed = o->seed};
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t tile = (uint32_t)((uint64_t)i * tiles / n);
        struct sq_case one = {.point = &out->point};
        uint64_t differences;
        SQ_TRY(sq_layer_case(layer, config, tile, 1, o->seed + i, &one, &differences, err));
        out->value_mismatches += differences;
        const enum sq_status status = sq_case_append(&out->stream, &one, err);
        sq_case_free(&one);
        SQ_TRY(status);
    }
    out->values = 2 * (uint64_t)n * config->rows * config->cols * sq_n_groups(&w->format, w->k);
    return SQ_OK;
}

// tiles = 0: all of them, through the RTL; else as many of them as out->stream.
static enum sq_status run_core(struct sq_product *p, const struct sq_route_options *o,
                               uint32_t tiles, struct sq_route_outcome *out, struct sq_error *err)
{
    struct sq_core_config config;
    struct sq_layer_codes layer;
    SQ_CLOSED(sq_operand_free) struct sq_operand w = {0};
    SQ_TRY(sq_w_config(p, &o->config, &config, err));
    out->block = sq_core_block.name;
    snprintf(out->shape, sizeof out->shape, "%ux%u PEs, L=%u H=%u b=%u k=%u", config.rows,
             config.cols, config.low_lanes, config.high_lanes, config.bank, config.high_per_bank);
    SQ_TRY(sq_w_operand(p, &w, err));
    out->values = 2 * p->m * p->n * sq_n_groups(&w.m.format, p->k);
    SQ_TRY(take_layer(p, &config, &w, &layer, err));
    return tiles > 0 ? put_tiles(&layer, &config, o, tiles, out, err)
                     : run_layer(&layer, &config, o, out, err);
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

// Parameters by name but for those that are 0 and those without a name.
static void describe(struct sq_route_outcome *out)
{
    const struct sq_block *b = out->stream.block;
    size_t at = 0;
    for (size_t i = 0; b->param[i] && at < sizeof out->shape; i++)
        if (*b->param[i] && out->point.value[i] != 0)
            at += (size_t)snprintf(out->shape + at, sizeof out->shape - at, "%s%s=%u",
                                   at ? " " : "", b->param[i], out->point.value[i]);
}

static enum sq_status run_stream(const struct sq_route_options *o, uint64_t macs,
                                 struct sq_route_outcome *out, struct sq_error *err)
{
    const struct sq_rtl_point point = {
        .block = out->stream.block,
        .point = &out->point,
        .netlist = o->netlist,
        .is_brief = is_brief(o, macs, (uint64_t)o->array_rows * o->array_cols)};
    SQ_CLOSED(sq_rtl_unload) struct sq_rtl rtl = {0};
    bool built;
    SQ_TRY(sq_rtl_load(&rtl, &point, o->home, &built, err));
    enum sq_status status = sq_lockstep_run(&out->stream, rtl.api, NULL, &out->result, err);
    const enum sq_mismatch_kind kind = out->result.mismatch.kind;
    out->compared = out->result.compared;
    out->cycles = out->result.end;
    out->value_mismatches += sq_mismatch_is_value(&out->result.mismatch);
    out->cycle_mismatches +=
        kind != SQ_MISMATCH_NONE && !sq_mismatch_is_value(&out->result.mismatch);
    if (status == SQ_OK && kind != SQ_MISMATCH_NONE)
        status = sq_shrink(&out->stream, rtl.api, &out->result, err);
    return status;
}

// The case of a stream block, which is compared with the product.
static enum sq_status put_stream(const struct sq_route *route, struct sq_product *p,
                                 const struct sq_route_options *o, struct sq_route_outcome *out,
                                 struct sq_error *err)
{
    struct sq_route_work work = {.p = p,
                                 .core = &o->config,
                                 .array_rows = o->array_rows,
                                 .array_cols = o->array_cols,
                                 .chip = &o->chip,
                                 .point = &out->point,
                                 .stream = &out->stream};
    out->block = route->block->name;
    out->stream = (struct sq_case){.block = route->block, .point = &out->point, .seed = o->seed};
    SQ_TRY(route->make(&work, err));
    name_point(route->block, &out->point);
    describe(out);
    SQ_TRY(route->check(&work, err));
    out->values = work.values;
    out->value_mismatches = work.value_mismatches;
    memcpy(out->difference, work.difference, sizeof out->difference);
    return SQ_OK;
}

// How the outputs of the engine are compared: as the format's own route to it, else as tiles.
static enum sq_status check_engine(const struct sq_format_routes *routes, struct sq_route_work *w,
                                   struct sq_error *err)
{
    for (size_t i = 0; i < routes->n_routes; i++)
        if (routes->route[i].block == w->stream->block)
            return routes->route[i].check(w, err);
    return sq_tiles_check(w, err);
}

enum sq_status sq_route_engine(const struct sq_format_routes *routes, struct sq_product *p,
                               const struct sq_route_options *o, struct sq_route_outcome *out,
                               struct sq_error *err)
{
    memset(out, 0, sizeof *out);
    struct sq_route_work work = {.p = p,
                                 .core = &o->config,
                                 .array_rows = o->array_rows,
                                 .array_cols = o->array_cols,
                                 .chip = &o->chip,
                                 .is_engine = true,
                                 .point = &out->point,
                                 .stream = &out->stream};
    out->stream =
        (struct sq_case){.block = routes->chip->block, .point = &out->point, .seed = o->seed};
    SQ_TRY(routes->chip->make(&work, err));
    out->block = out->stream.block->name;
    name_point(out->stream.block, &out->point);
    describe(out);
    SQ_TRY(check_engine(routes, &work, err));
    out->values = work.values;
    out->value_mismatches = work.value_mismatches;
    memcpy(out->difference, work.difference, sizeof out->difference);
    return SQ_OK;
}

enum sq_status sq_route_operands(const struct sq_route *route, struct sq_product *p,
                                 const struct sq_route_options *o, uint32_t tiles,
                                 struct sq_route_outcome *out, struct sq_error *err)
{
    memset(out, 0, sizeof *out);
    return route->block ? put_stream(route, p, o, out, err) : run_core(p, o, tiles, out, err);
}

enum sq_status sq_route_cosim(const struct sq_route *route, struct sq_product *p,
                              const struct sq_route_options *o, struct sq_route_outcome *out,
                              struct sq_error *err)
{
    memset(out, 0, sizeof *out);
    if (!route->block)
        return run_core(p, o, 0, out, err);
    SQ_TRY(put_stream(route, p, o, out, err));
    if (!o->is_free)
        SQ_TRY(sq_case_disturb(&out->stream, o->seed, err));
    return run_stream(o, macs_of(p), out, err);
}

enum sq_status sq_route_cosim_ring(const struct sq_chip_program *g,
                                   const struct sq_route_options *o, struct sq_route_outcome *out,
                                   struct sq_error *err)
{
    memset(out, 0, sizeof *out);
    out->block = sq_top_block.name;
    out->point = g->point;
    out->stream = (struct sq_case){
        .block = &sq_top_block, .point = &out->point, .seed = o->seed, .env = g->memory};
    out->stream.env.given = &g->ring;
    out->stream.env.what = (uint32_t)SQ_HOST_RINGS + SQ_RING_GIVEN;
    SQ_TRY(sq_case_alloc(&out->stream, err));
    name_point(&sq_top_block, &out->point);
    describe(out);
    out->values = g->values;
    out->value_mismatches = g->value_mismatches;
    memcpy(out->difference, g->difference, sizeof out->difference);
    if (!o->is_free)
        SQ_TRY(sq_case_disturb(&out->stream, o->seed, err));
    uint64_t macs = 0;
    for (size_t i = 0; i < SQ_LEN(g->layer); i++)
        macs += macs_of(&g->layer[i].p);
    return run_stream(o, macs, out, err);
}

void sq_route_outcome_free(struct sq_route_outcome *out)
{
    sq_case_free(&out->stream);
}
