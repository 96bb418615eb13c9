// SPDX-License-Identifier: Apache-2.0
// Decides which step of sq_engine_spqr goes next, and steps its parts (sq_engine_spqr_sim.h).
#include "sim/block/spqr/sq_engine_spqr_sim.h"

#include <stddef.h>

#include "models/spqr/sq_spqr.h"
#include "sim/block/flow/sq_line.h"
#include "sim/block/flow/sq_pipeline.h"
#include "sim/block/spqr/sq_spqr_dec_sim.h"

enum { T = SQ_SPQR_TILE };
enum { TILE_W, OUTLIER_W };             // parameters
enum { JOB, ACT, TILE, OFFSET, ENTRY }; // streams

// Two tiles: one is filled row by row, the other leaves column by column.
struct turn {
    bool is_full[2];
    unsigned fill, drain, row, column;
};

static void turn_comb(const void *state, const struct sq_offer *in, bool out_ready,
                      struct sq_handshake *out)
{
    const struct turn *const s = state;
    (void)in, (void)out_ready;
    out->out_valid = s->is_full[s->drain];
    out->in_ready[0] = !s->is_full[s->fill];
}

static void turn_clock(void *state, const struct sq_offer *in, bool out_ready)
{
    struct turn *const s = state;
    const bool leaves = s->is_full[s->drain] && out_ready;
    if (in->valid && !s->is_full[s->fill] && ++s->row == T) {
        s->row = 0;
        s->is_full[s->fill] = true;
        s->fill = !s->fill;
    }
    if (leaves && ++s->column == T) {
        s->column = 0;
        s->is_full[s->drain] = false;
        s->drain = !s->drain;
    }
}

static const struct sq_timing turn_timing = {sizeof(struct turn), turn_comb, turn_clock};

enum phase { IDLE, LOADING, OFFSETS, ENTRIES, DENSE, SPARSE };
struct state {
    struct sq_line line;
    struct sq_spqr_dec_sim dec;
    struct sq_chain scale;
    struct turn turn;
    struct sq_chain mac;
    struct sq_offer step; // in front of mac
    unsigned outlier_bits;
    enum phase phase;
    bool has_base;
    uint32_t tiles, workers, rows; // of the job; rows to come
    uint32_t loads, entries;       // to come
    uint32_t base, before, end[T], offset;
    uint32_t worker, tile, column, row, scan; // of the next step
};

void sq_engine_spqr_init(const unsigned *v, void *state)
{
    const unsigned one_word = 1, mac[3] = {T, 1, 1};
    struct state *const s = state;
    s->outlier_bits = v[OUTLIER_W];
    sq_spqr_dec_block.init(&one_word, &s->dec);
    sq_spqr_scale_block.init(&one_word, &s->scale);
    sq_fp_mac_block.init(mac, &s->mac);
    SQ_LINE_ADD(s, dec, sq_spqr_dec_block.timing, NULL, TILE);
    SQ_LINE_ADD(s, scale, sq_spqr_scale_block.timing, NULL, SQ_LINE_FRONT);
    SQ_LINE_ADD(s, turn, &turn_timing, NULL, SQ_LINE_FRONT + 1);
}

// What a cycle shows: whether a step may go, and what the parts say.
struct seen {
    bool moves;
    struct sq_handshake line, mac;
};

static struct seen see(const struct state *s, const struct sq_offer *in, bool out_ready)
{
    struct seen c = {.moves = true};
    sq_fp_mac_block.timing->comb(&s->mac, &s->step, out_ready, &c.mac);
    c.moves = !s->step.valid || c.mac.in_ready[0];
    sq_line_comb(&s->line, in, s->phase == DENSE && c.moves, &c.line);
    return c;
}

static void comb(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out)
{
    const struct state *const s = state;
    const struct seen c = see(s, in, out_ready);
    out->in_ready[JOB] = s->phase == IDLE;
    out->in_ready[ACT] = s->phase == LOADING;
    out->in_ready[TILE] = c.line.in_ready[TILE];
    out->in_ready[OFFSET] = s->phase == OFFSETS;
    out->in_ready[ENTRY] = s->phase == ENTRIES;
    out->out_valid = c.mac.out_valid;
}

static void take_offset(struct state *s, uint32_t at)
{
    const uint32_t most = UINT32_C(1) << s->outlier_bits;
    if (!s->has_base) {
        s->has_base = true;
        s->base = s->before = at;
        s->offset = 0;
        return;
    }
    s->before = at < s->before ? s->before : at - s->base > most ? s->base + most : at;
    s->end[s->offset] = s->before - s->base;
    if (++s->offset < T)
        return;
    s->offset = 0;
    s->entries = s->end[T - 1];
    s->base = s->before;
    s->phase = s->entries > 0 ? ENTRIES : DENSE;
}

// A share has ended with a step of zeros.
static void end_share(struct state *s)
{
    s->phase = DENSE;
    s->tile = ++s->worker;
    if (s->worker < s->workers)
        return;
    s->worker = s->tile = 0;
    s->phase = --s->rows > 0 ? OFFSETS : IDLE;
}

// The step that goes into the register in this cycle, if one does.
static struct sq_offer next_step(struct state *s, const struct seen *c)
{
    struct sq_offer step = {.valid = false};
    if (s->phase == DENSE) {
        step.valid = c->moves && c->line.out_valid;
        if (step.valid && ++s->column == T) {
            s->column = 0;
            s->tile += s->workers;
            if (s->tile >= s->tiles) {
                s->phase = SPARSE;
                s->row = 0;
                s->scan = s->worker;
            }
        }
    } else if (s->phase == SPARSE && s->row < T && s->scan >= s->end[s->row]) {
        s->scan = s->end[s->row++] + s->worker;
    } else if (s->phase == SPARSE && c->moves) {
        step.valid = true;
        if (s->row < T) {
            s->scan += s->workers;
        } else {
            step.last = s->worker + 1 == s->workers;
            end_share(s);
        }
    }
    return step;
}

static void clock(void *state, const struct sq_offer *in, bool out_ready)
{
    struct state *const s = state;
    const struct seen c = see(s, in, out_ready);
    const enum phase phase = s->phase;
    sq_line_clock(&s->line, in, phase == DENSE && c.moves);
    sq_fp_mac_block.timing->clock(&s->mac, &s->step, out_ready);
    const struct sq_offer step = next_step(s, &c);
    if (c.moves)
        s->step = step;
    if (phase == OFFSETS && in[OFFSET].valid)
        take_offset(s, in[OFFSET].n);
    if (phase == ENTRIES && in[ENTRY].valid && --s->entries == 0)
        s->phase = DENSE;
    if (phase == LOADING && in[ACT].valid && --s->loads == 0)
        s->phase = OFFSETS;
    if (phase == IDLE && in[JOB].valid) {
        s->phase = LOADING;
        s->has_base = false;
        s->tiles = s->loads = in[JOB].job.group_banks;
        s->rows = in[JOB].job.groups;
        s->workers = in[JOB].n;
    }
}

const struct sq_timing sq_engine_spqr_timing = {sizeof(struct state), comb, clock};

enum sq_cause sq_engine_spqr_cause(const void *state, const struct sq_offer *in, bool out_ready)
{
    const struct state *const s = state;
    const struct seen c = see(s, in, out_ready);
    switch (s->phase) {
    case IDLE:
        return in[JOB].valid ? SQ_CAUSE_FILLING : SQ_CAUSE_DRAINING;
    case LOADING:
        return SQ_CAUSE_FILLING;
    case OFFSETS:
    case ENTRIES:
        return SQ_CAUSE_WAIT_INDEX;
    case DENSE:
        return !c.moves           ? SQ_CAUSE_BLOCKED_OUTPUT
               : c.line.out_valid ? SQ_CAUSE_BUSY
                                  : SQ_CAUSE_WAIT_WEIGHT;
    case SPARSE:
        break;
    }
    if (s->row < T && s->scan >= s->end[s->row])
        return SQ_CAUSE_WAIT_INDEX;
    return !c.moves ? SQ_CAUSE_BLOCKED_OUTPUT : s->row < T ? SQ_CAUSE_BUSY : SQ_CAUSE_WAIT_INDEX;
}
