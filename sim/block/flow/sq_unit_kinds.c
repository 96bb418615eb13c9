// SPDX-License-Identifier: Apache-2.0
// The kinds of units, a cycle at a time (sq_unit.h).

#include <string.h>

#include "sim/block/flow/sq_unit_engine.h"
#include "sim/block/flow/sq_unit_state.h"

const char *sq_unit_name(const struct sq_unit *unit)
{
    static const char *const name[SQ_UNIT_ENGINES] = {"core", "core_act", "array"};
    return unit->engine ? unit->engine->block->name : name[unit->kind];
}

void sq_unit_count(struct sq_unit_stats *stats, enum sq_cause cause)
{
    stats->cycles++;
    stats->low[cause]++;
    stats->high[cause]++;
}

// ---- the output stage -----------------------------------------------------------------------

static uint32_t reads_of_tile(const struct sq_unit_job_run *r)
{
    return r->job->flushes * (r->unit->output.pes ? r->unit->output.pairs : 1);
}

static void stage_start(struct sq_unit_job_run *r)
{
    const struct sq_unit_output *const o = &r->unit->output;
    const struct sq_output_config c = {.rows = 1,
                                       .cols = o->pes,
                                       .lanes = o->lanes,
                                       .form = (enum sq_combine_form)o->form,
                                       .kind = SQ_OUTPUT_BFLOAT16,
                                       .port_len = o->lanes,
                                       .depth = o->depth,
                                       .hold = o->hold};
    r->w.outputs = r->job->tiles * r->job->passes;
    if (o->pes == 0)
        return;
    sq_output_init(&r->w.stage, &c);
    r->w.stage.words = r->job->words ? r->job->words : 1;
}

// The stage takes the tile of sums that is offered, or would.
static bool stage_ready(const struct sq_unit_job_run *r)
{
    const struct sq_output_in in = {.scale_valid = true, .out_ready = true};
    struct sq_output_out out;
    if (r->unit->output.pes == 0)
        return true;
    sq_output_comb(&r->w.stage, &in, &out);
    return out.tile_ready && r->w.pair + 1 == r->unit->output.pairs;
}

// A tile was read once more; whether that ended a tile of outputs, as far as its sums go.
static void end_read(struct sq_unit_job_run *r)
{
    r->w.read = r->w.read + 1 < reads_of_tile(r) ? r->w.read + 1 : 0;
    r->w.outputs -= r->w.read == 0 && (r->unit->output.pes == 0 || r->job->words == 0);
    r->level = r->w.read > 0 ? SQ_LEVEL_FLUSH : SQ_LEVEL_PASS;
}

// The edge; sets the level for kinds that have no better one.
static void stage_clock(struct sq_unit_job_run *r, bool offered)
{
    struct sq_output_sim *const s = &r->w.stage;
    struct sq_output_in in = {.tile_valid = offered, .scale_valid = true, .out_ready = true};
    struct sq_output_out out;
    r->level = SQ_LEVEL_CYCLE;
    if (r->unit->output.pes == 0) {
        if (offered)
            end_read(r);
        return;
    }
    in.scale_last = r->job->words > 0 && r->w.read + 1 == reads_of_tile(r);
    sq_output_comb(s, &in, &out);
    if (out.out_valid && s->word + 1 == s->words && ++r->w.gone == s->slots) {
        r->w.gone = 0;
        r->w.outputs--;
    }
    sq_output_clock(s, &in);
    if (offered && out.tile_ready)
        r->w.pair = r->w.pair + 1 < r->unit->output.pairs ? r->w.pair + 1 : 0;
    if (out.scale_ready)
        end_read(r);
}

static void stage_counters(struct sq_unit_job_run *r, struct sq_skip_here *h)
{
    struct sq_output_sim *const s = &r->w.stage;
    if (r->level == SQ_LEVEL_CYCLE) {
        if (r->unit->output.pes == 0)
            return;
        sq_skip_add(h, SQ_COUNTS_UP(s->slot, s->slots));
        sq_skip_add(h, SQ_COUNTS_UP(s->word, s->words));
        sq_skip_add(h, SQ_COUNTS_UP(r->w.gone, s->slots));
        return;
    }
    if (r->level == SQ_LEVEL_FLUSH)
        sq_skip_add(h, SQ_COUNTS_UP(r->w.read, reads_of_tile(r)));
    sq_skip_add(h, SQ_COUNTS_DOWN(r->w.outputs));
}

// ---- core -----------------------------------------------------------------------------------

static struct sq_job core_job(const struct sq_unit_job_run *r)
{
    const struct sq_unit_job *j = r->job;
    return (struct sq_job){j->beats, j->tiles * j->passes * j->flushes};
}

static struct sq_core_stats *core_stats(struct sq_unit_state *w)
{
    return &w->block.core.stats;
}

static void step_core(struct sq_unit_job_run *r, bool is_new)
{
    struct sq_core_sim *core = &r->w.block.core;
    struct sq_core_in in = {.job_valid = is_new,
                            .act_valid = true,
                            .lo_valid = true,
                            .hi_valid = true,
                            .out_ready = stage_ready(r)};
    struct sq_core_out out;
    if (is_new)
        in.job = core_job(r);
    else if (!sq_core_active(core))
        sq_unit_count(&r->stats, SQ_CAUSE_DRAINING);
    sq_core_comb(core, &in, &out);
    stage_clock(r, out.out_valid);
    sq_core_clock(core, &in);
}

static void core_start(struct sq_unit_job_run *r)
{
    sq_core_reset(&r->w.block.core, &r->unit->core);
    stage_start(r);
    step_core(r, true);
}

static void core_clock(struct sq_unit_job_run *r)
{
    step_core(r, false);
}

static void path_counters(struct sq_unit_job_run *r, struct sq_core_sim *core,
                          struct sq_skip_here *h)
{
    struct sq_core_state *s = &core->state;
    stage_counters(r, h);
    if (r->level == SQ_LEVEL_CYCLE) {
        sq_skip_add(h, SQ_COUNTS_UP(s->low_bank, s->group_banks));
        sq_skip_add(h, SQ_COUNTS_UP(s->high_bank, s->group_banks));
        return;
    }
    sq_skip_add(h, SQ_COUNTS_DOWN(s->low_groups));
    sq_skip_add(h, SQ_COUNTS_DOWN(s->high_groups));
    sq_skip_add(h, SQ_COUNTS_DOWN(s->out_groups));
}

static void core_counters(struct sq_unit_job_run *r, struct sq_skip_here *h)
{
    path_counters(r, &r->w.block.core, h);
}

// ---- core_act -------------------------------------------------------------------------------

static struct sq_core_stats *act_stats(struct sq_unit_state *w)
{
    return &w->block.act.core.stats;
}

// A beat of the tile that goes in was taken.
static void source_clock(struct sq_unit_job_run *r, bool fired, uint32_t beats)
{
    struct sq_unit_state *w = &r->w;
    if (!fired || --w->beats > 0)
        return;
    w->tiles--;
    w->beats = w->tiles > 0 ? beats : 0;
}

static enum sq_unit_level store_level(const struct sq_buffer_sim *old,
                                      const struct sq_buffer_sim *now)
{
    return now->out != old->out     ? SQ_LEVEL_TILE
           : now->pass != old->pass ? SQ_LEVEL_PASS
                                    : SQ_LEVEL_CYCLE;
}

static void step_act(struct sq_unit_job_run *r, bool is_new)
{
    struct sq_core_act_sim *s = &r->w.block.act;
    const struct sq_buffer_sim store = s->lo;
    const uint32_t groups = s->core.state.low_groups;
    struct sq_core_act_in in = {.act_valid =
                                    r->w.tiles > 0 && !is_new, // an engine counts them for a job
                                .act_last = r->w.beats == 1,
                                .act_passes = r->job->passes,
                                .weight_valid = true,
                                .job_valid = is_new,
                                .out_ready = stage_ready(r)};
    struct sq_core_act_out out;
    if (is_new)
        in.job = core_job(r);
    else if (!sq_core_active(&s->core))
        sq_unit_count(&r->stats, SQ_CAUSE_DRAINING);
    sq_core_act_comb(s, &in, &out);
    stage_clock(r, out.out_valid);
    source_clock(r, in.act_valid && out.act_ready, r->job->beats * r->job->flushes);
    sq_core_act_clock(s, &in);
    r->level = store_level(&store, &s->lo);
    if (r->level == SQ_LEVEL_CYCLE && s->core.state.low_groups != groups)
        r->level = SQ_LEVEL_FLUSH;
}

static void act_start(struct sq_unit_job_run *r)
{
    struct sq_pipeline topk;
    sq_topk_pipeline(&topk, r->unit->topk, r->unit->core.high_bits - 1);
    sq_core_act_init(&r->w.block.act, &r->unit->core, topk.kind, topk.depth);
    stage_start(r);
    r->w.tiles = r->job->tiles;
    r->w.beats = r->job->beats * r->job->flushes;
    step_act(r, true);
}

static void act_clock(struct sq_unit_job_run *r)
{
    step_act(r, false);
}

// A store: what is given, and what is written at the same time.
static void store_counters(struct sq_buffer_sim *s, enum sq_unit_level level,
                           struct sq_skip_here *h)
{
    if (level == SQ_LEVEL_TILE)
        return;
    sq_skip_add(h, SQ_COUNTS_UP(s->written, UINT32_MAX));
    if (level == SQ_LEVEL_PASS)
        sq_skip_add(h, SQ_COUNTS_UP(s->pass, s->passes[s->out]));
    else
        sq_skip_add(h, SQ_COUNTS_UP(s->given, s->len[s->out]));
}

static void act_counters(struct sq_unit_job_run *r, struct sq_skip_here *h)
{
    struct sq_core_act_sim *s = &r->w.block.act;
    path_counters(r, &s->core, h);
    store_counters(&s->lo, r->level, h);
    store_counters(&s->hi, r->level, h);
    if (r->level == SQ_LEVEL_TILE)
        sq_skip_add(h, SQ_COUNTS_DOWN(r->w.tiles));
    else
        sq_skip_add(h, SQ_COUNTS_DOWN(r->w.beats));
}

// ---- array ----------------------------------------------------------------------------------

static void array_start(struct sq_unit_job_run *r)
{
    sq_pipeline_init(&r->w.block.array, SQ_TIMING_ARRAY, r->unit->stages);
    r->w.tiles = r->job->tiles;
    stage_start(r);
    r->w.beats = r->job->beats;
}

static void array_clock(struct sq_unit_job_run *r)
{
    struct sq_unit_state *w = &r->w;
    const bool ready = stage_ready(r), valid = w->tiles > 0, last = w->beats == 1;
    struct sq_pipeline_out out;
    sq_pipeline_comb(&w->block.array, ready, &out);
    const bool fired = valid && out.in_ready;
    sq_unit_count(&r->stats, !valid  ? SQ_CAUSE_DRAINING
                             : fired ? SQ_CAUSE_BUSY
                                     : SQ_CAUSE_BLOCKED_OUTPUT);
    stage_clock(r, out.out_valid);
    sq_pipeline_clock(&w->block.array, valid, last, ready);
    r->level = SQ_LEVEL_CYCLE;
    w->beats -= fired;
    if (fired && last) {
        w->group = w->group + 1 < r->job->flushes ? w->group + 1 : 0;
        r->level = w->group > 0                   ? SQ_LEVEL_FLUSH
                   : w->pass + 1 < r->job->passes ? SQ_LEVEL_PASS
                                                  : SQ_LEVEL_TILE;
        w->pass = r->level == SQ_LEVEL_TILE ? 0 : w->pass + (r->level == SQ_LEVEL_PASS);
        w->tiles -= r->level == SQ_LEVEL_TILE;
        w->beats = r->job->beats;
    }
}

static void array_counters(struct sq_unit_job_run *r, struct sq_skip_here *h)
{
    struct sq_unit_state *w = &r->w;
    stage_counters(r, h);
    if (r->level == SQ_LEVEL_CYCLE) {
        sq_skip_add(h, SQ_COUNTS_DOWN(w->beats));
        return;
    }
    if (r->level == SQ_LEVEL_FLUSH)
        sq_skip_add(h, SQ_COUNTS_UP(w->group, r->job->flushes));
    else if (r->level == SQ_LEVEL_PASS)
        sq_skip_add(h, SQ_COUNTS_UP(w->pass, r->job->passes));
    else if (r->level == SQ_LEVEL_TILE)
        sq_skip_add(h, SQ_COUNTS_DOWN(w->tiles));
}

const struct sq_unit_ops sq_unit_ops[SQ_UNIT_ENGINES] = {
    [SQ_UNIT_CORE] = {core_start, core_clock, core_counters, core_stats},
    [SQ_UNIT_CORE_ACT] = {act_start, act_clock, act_counters, act_stats},
    [SQ_UNIT_ARRAY] = {array_start, array_clock, array_counters, NULL},
};
