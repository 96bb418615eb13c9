// SPDX-License-Identifier: Apache-2.0
// Draws cases from a seed and a number, and makes those whose sums reach the ends of 32 bits
// (sq_case.h).
#include "sim/block/flow/sq_case.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum sq_status sq_case_alloc(struct sq_case *c, struct sq_error *err)
{
    const struct sq_ports p = sq_ports_of(c->block, c->point->value);
    // One more: the work of a case may be its environment's.
    c->len = calloc(c->n_groups + 1, sizeof *c->len);
    c->beats = calloc(c->n_beats + 1, (sq_field_offset(p.in, p.n_in) + 1) * sizeof *c->beats);
    if (c->len && c->beats)
        return SQ_OK;
    sq_case_free(c);
    return SQ_NO_MEMORY(err, "%zu beats", c->n_beats);
}

enum sq_status sq_case_room(struct sq_case *c, size_t n_groups, size_t records,
                            struct sq_error *err)
{
    c->n_groups = n_groups;
    c->n_beats = n_groups * records;
    return sq_case_alloc(c, err);
}

void sq_case_free(struct sq_case *c)
{
    free(c->len);
    free(c->beats);
    c->len = NULL;
    c->beats = NULL;
}

enum sq_status sq_case_append(struct sq_case *c, const struct sq_case *more, struct sq_error *err)
{
    const struct sq_ports p = sq_ports_of(c->block, c->point->value);
    const size_t len = sq_field_offset(p.in, p.n_in);
    void *lens = realloc(c->len, (c->n_groups + more->n_groups) * sizeof *c->len);
    if (lens)
        c->len = lens;
    void *beats = realloc(c->beats, (c->n_beats + more->n_beats) * len * sizeof *c->beats);
    if (beats)
        c->beats = beats;
    if (!lens || !beats)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu beats",
                       c->n_beats + more->n_beats);
    memcpy(c->len + c->n_groups, more->len, more->n_groups * sizeof *c->len);
    memcpy(c->beats + c->n_beats * len, more->beats, more->n_beats * len * sizeof *c->beats);
    c->n_groups += more->n_groups;
    c->n_beats += more->n_beats;
    c->max_outputs = more->max_outputs > c->max_outputs ? more->max_outputs : c->max_outputs;
    return SQ_OK;
}

size_t sq_case_records(const struct sq_case *c, size_t g)
{
    uint32_t n = 0;
    for (unsigned s = 0; s < SQ_STREAMS_MAX; s++) {
        const uint32_t len = c->len[g][s], wrap = c->wrap[s];
        const uint32_t stored = wrap > 0 && len > wrap ? wrap : len;
        n = stored > n ? stored : n;
    }
    return n;
}

enum { DISTURB_WAIT = 2, DISTURB_WAIT_MAX = 40, DISTURB_RESETS = 2 };

// Output beats of the first group for each beat of its longest stream, times `beats`.
static enum sq_status outputs_of(const struct sq_case *c, uint64_t beats, uint64_t *outputs,
                                 struct sq_error *err)
{
    const struct sq_ports p = sq_ports_of(c->block, c->point->value);
    const size_t room = p.outputs > c->max_outputs ? p.outputs : c->max_outputs;
    SQ_FREED int32_t *const out = calloc(room + 1, sq_field_offset(p.out, p.n_out) * sizeof *out);
    const struct sq_group first = {.record = c->beats, .len = c->len[0], .wrap = c->wrap};
    if (!out)
        return SQ_NO_MEMORY(err, "%zu outputs", room);
    *outputs = c->block->golden(c->point->value, &first, out) * beats / sq_case_records(c, 0);
    return SQ_OK;
}

static void disturb_env(struct sq_case *c, uint64_t seed)
{
    struct sq_rng r = {seed * UINT64_C(0x100000001b3)};
    (void)sq_rng_next(&r);
    const uint64_t cycles = c->block->env->disturb(c->point->value, &r, DISTURB_RESETS, &c->env);
    c->reset_every = 1 + sq_rng_below(&r, cycles < UINT32_MAX ? (uint32_t)cycles : UINT32_MAX);
    c->resets = DISTURB_RESETS;
}

enum sq_status sq_case_disturb(struct sq_case *c, uint64_t seed, struct sq_error *err)
{
    if (c->block->env && c->block->env->disturb) {
        disturb_env(c, seed);
        return SQ_OK;
    }
    uint64_t beats[SQ_SIDES] = {0}, most = 1;
    for (size_t g = 0; g < c->n_groups; g++)
        for (unsigned s = 0; s < SQ_STREAMS_MAX; s++)
            beats[s] += c->len[g][s];
    for (unsigned s = 0; s < SQ_STREAMS_MAX; s++)
        most = beats[s] > most ? beats[s] : most;
    SQ_TRY(outputs_of(c, most, &beats[SQ_SINK], err));
    struct sq_rng r = {(seed * UINT64_C(0x100000001b3)) ^ most};
    (void)sq_rng_next(&r);
    for (unsigned i = 0; i < SQ_SIDES; i++) {
        const uint64_t wait = DISTURB_WAIT * (beats[i] > 0 ? most / beats[i] + 1 : 1);
        const uint32_t n = wait < DISTURB_WAIT_MAX ? (uint32_t)wait : DISTURB_WAIT_MAX;
        c->stall[i] = (struct sq_stall){SQ_STALL_RANDOM, 1 + sq_rng_below(&r, n)};
        c->stall_seed[i] = sq_rng_next(&r);
    }
    c->reset_every = 1 + sq_rng_below(&r, most < UINT32_MAX ? (uint32_t)most : UINT32_MAX);
    c->resets = DISTURB_RESETS;
    return SQ_OK;
}

// ---- drawing --------------------------------------------------------------------------------

// Free, one side stalled, or both.
static void draw_stalls(struct sq_rng *r, struct sq_stall *in, struct sq_stall *out)
{
    const uint32_t mode = sq_rng_below(r, 4);
    for (unsigned i = 0; i < 2; i++) {
        struct sq_stall *stall = i == 0 ? in : out;
        if (!(mode >> i & 1))
            continue;
        stall->kind = (enum sq_stall_kind)sq_rng_below(r, SQ_N_STALL_KINDS);
        stall->n = 1 + sq_rng_below(r, sq_rng_below(r, 2) ? 4 : 40);
    }
}

// Draws how an input stream behind the first one stalls.
static struct sq_stall draw_other_stall(const struct sq_port *port, struct sq_rng *r)
{
    struct sq_stall stall = {SQ_STALL_FREE, 1};
    if (port->n_fields > 0 && sq_rng_below(r, 2)) {
        stall.kind = (enum sq_stall_kind)sq_rng_below(r, SQ_N_STALL_KINDS);
        stall.n = 1 + sq_rng_below(r, 8);
    }
    return stall;
}

static enum sq_stimulus draw_kind(struct sq_rng *r, bool is_all)
{
    if (is_all)
        return SQ_STIMULUS_ALL;
    const bool is_mixed = sq_rng_below(r, 5) == 0;
    return is_mixed ? SQ_STIMULUS_MIXED : (enum sq_stimulus)sq_rng_below(r, SQ_STIMULUS_RANDOM);
}

// The kind of one beat or group.
static enum sq_stimulus kind_of(struct sq_rng *r, enum sq_stimulus kind)
{
    return kind == SQ_STIMULUS_MIXED ? (enum sq_stimulus)sq_rng_below(r, SQ_STIMULUS_RANDOM) : kind;
}

// Groups of single beats, or with has_last of 1 to 24, beat by beat.
static enum sq_status draw_beats(struct sq_case *c, const struct sq_ports *p, struct sq_rng *r,
                                 bool is_all, struct sq_error *err)
{
    const uint32_t most = p->has_last ? 1 + sq_rng_below(r, sq_rng_below(r, 4) ? 5 : 24) : 1;
    const size_t len = sq_field_offset(p->in, p->n_in);
    SQ_TRY(sq_case_room(c, is_all ? p->n_all : 1 + sq_rng_below(r, sq_rng_below(r, 4) ? 40 : 400),
                        most, err));
    c->n_beats = 0;
    for (size_t g = 0; g < c->n_groups; g++) {
        c->len[g][0] = most == 1 ? 1 : 1 + sq_rng_below(r, most);
        c->n_beats += c->len[g][0];
    }
    const enum sq_stimulus kind = draw_kind(r, is_all);
    int32_t *beat = c->beats;
    for (size_t g = 0; g < c->n_groups; g++)
        for (uint32_t b = 0; b < c->len[g][0]; b++, beat += len) {
            c->block->draw_beat(c->point->value, r, kind_of(r, kind), g, beat);
            if (p->has_last)
                beat[0] = b + 1 == c->len[g][0];
        }
    return SQ_OK;
}

static enum sq_status draw_groups(struct sq_case *c, const struct sq_ports *p, struct sq_rng *r,
                                  bool is_all, struct sq_error *err)
{
    const size_t len = sq_field_offset(p->in, p->n_in);
    const enum sq_stimulus kind = draw_kind(r, is_all);
    c->n_groups = is_all ? p->n_all : 1 + sq_rng_below(r, sq_rng_below(r, 4) ? 8 : 40);
    for (unsigned s = 1; s < SQ_STREAMS_MAX; s++)
        c->stall[s] = draw_other_stall(&p->stream[s], r);
    c->n_beats = c->n_groups * p->records; // an upper bound
    SQ_TRY(sq_case_alloc(c, err));
    c->n_beats = 0;
    for (size_t g = 0; g < c->n_groups; g++) {
        c->block->draw_group(c->point->value, r, kind_of(r, kind), g, c->beats + c->n_beats * len,
                             c->len[g]);
        assert(c->len[g][0] >= 1 && sq_case_records(c, g) <= p->records);
        c->n_beats += sq_case_records(c, g);
    }
    return SQ_OK;
}

// A hash of the block's name and of the values of its parameters (FNV-1a).
static uint64_t hash_of(const struct sq_block *block, const struct sq_point *point)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *s = block->name; *s; s++)
        hash = (hash ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
    for (size_t i = 0; block->param[i]; i++)
        hash = (hash ^ point->value[i]) * UINT64_C(0x100000001b3);
    return hash;
}

uint64_t sq_case_n_fixed(const struct sq_block *block, const struct sq_point *point)
{
    return (sq_ports_of(block, point->value).n_all > 0) + block->n_directed;
}

static enum sq_status draw_random(struct sq_case *c, const struct sq_ports *p, struct sq_rng *r,
                                  bool is_all, struct sq_error *err)
{
    if (c->block->draw_case)
        return c->block->draw_case(c, r, err);
    draw_stalls(r, &c->stall[0], &c->stall[SQ_SINK]);
    return c->block->draw_group ? draw_groups(c, p, r, is_all, err)
                                : draw_beats(c, p, r, is_all, err);
}

enum { RESET_ONE_IN = 6 };

enum sq_status sq_case_draw(const struct sq_block *block, const struct sq_point *point,
                            uint64_t seed, uint64_t number, struct sq_case *c, struct sq_error *err)
{
    struct sq_rng r = {(seed * UINT64_C(0x100000001b3) + number) ^ hash_of(block, point)};
    const struct sq_ports p = sq_ports_of(block, point->value);
    const uint64_t n_fixed = sq_case_n_fixed(block, point), n_all = p.n_all > 0;
    (void)sq_rng_next(&r);
    memset(c, 0, sizeof *c);
    c->block = block;
    c->point = point;
    c->seed = sq_rng_next(&r);
    for (unsigned i = 0; i < SQ_SIDES; i++) {
        c->stall[i] = (struct sq_stall){SQ_STALL_FREE, 1};
        c->stall_seed[i] = i == SQ_SINK ? c->seed + 1 : c->seed + 2 * i;
    }
    if (number >= n_all && number < n_fixed)
        return block->draw_directed(c, (unsigned)(number - n_all), &r, err);
    SQ_TRY(draw_random(c, &p, &r, number < n_all, err));
    if (block->env)
        block->env->draw(&r, &c->env);
    if (number >= n_fixed && sq_rng_below(&r, RESET_ONE_IN) == 0)
        c->reset_every = 8 + sq_rng_below(&r, UINT32_C(1) << (3 + sq_rng_below(&r, 6)));
    return SQ_OK;
}

enum sq_status sq_case_sums(struct sq_case *c, uint32_t n,
                            void (*fill)(const unsigned *value, int sign, int32_t *beat),
                            struct sq_error *err)
{
    const struct sq_ports p = sq_ports_of(c->block, c->point->value);
    const size_t len = sq_field_offset(p.in, p.n_in);
    assert(p.has_last);
    SQ_TRY(sq_case_room(c, 2, (size_t)n, err));
    for (size_t i = 0; i < c->n_beats; i++) {
        fill(c->point->value, i < n ? 1 : -1, c->beats + i * len);
        c->beats[i * len] = (i + 1) % n == 0;
    }
    c->len[0][0] = c->len[1][0] = n;
    return SQ_OK;
}

enum { SUM_BEATS_MAX = 1 << 16 };

uint32_t sq_case_sum_beats(int64_t need, int64_t most)
{
    int64_t full = SQ_SUM_FULL / most + 2; // the one before the last goes beyond it, too
    full = full < SUM_BEATS_MAX ? full : SUM_BEATS_MAX;
    return (uint32_t)(need > full ? need : full);
}

bool sq_cut_to_last(size_t record_len, int32_t *record, uint32_t *len)
{
    if (len[0] == 1)
        return false;
    memmove(record, record + (len[0] - 1) * record_len, record_len * sizeof *record);
    len[0] = 1;
    return true;
}
