// SPDX-License-Identifier: Apache-2.0
// Tries blocks, orders and chunks, and keeps the tiling with the lowest estimate (sq_chip_plan.h).
#include "sim/format/top/sq_chip_plan.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "sim/io/sq_checked.h"

enum { ROWS, COLS, AXES };
// Cycles between two steps where the engine is what takes long, and where the loads are; between a burst and its
// first beat, beside the latency of the memory.
enum { WORK_CYCLES = 1, LOAD_CYCLES = 20, BURST_CYCLES = 4 };

struct costs {
    struct sq_top_room room;
    uint64_t latency, num, den, burst; // of the memory (sq_axi_memory.h)
    uint64_t max_burst, outstanding;
    uint64_t sums; // cycles in which the sums of a tile come or go
    bool is_scaled;
};

static struct costs costs_of(const unsigned *v, const struct sq_env_choice *memory)
{
    const struct sq_top_shape s = sq_top_shape(v);
    return (struct costs){.room = sq_top_room(v),
                          .latency = memory->n[0],
                          .num = memory->n[1],
                          .den = memory->n[2],
                          .burst = memory->n[3],
                          .max_burst = v[SQ_TOP_MAX_BURST],
                          .outstanding = v[SQ_TOP_OUTSTANDING],
                          .sums = s.pairs * v[SQ_TOP_ROWS] * v[SQ_TOP_COLS] / v[SQ_TOP_PORT_LEN],
                          .is_scaled = s.is_scaled};
}

static uint32_t smaller(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

// ---- a step -----------------------------------------------------------------------------------------

// Cycles of the memory for n beats of a part: a burst of the bus takes whole ones of the memory.
static uint64_t memory_cycles(const struct costs *c, uint64_t n, unsigned part)
{
    const uint64_t beats = sq_top_transfer(&c->room, part, n), nbytes = c->room.nbytes;
    const uint64_t bursts = beats / c->max_burst * sq_ceil_div(c->max_burst * nbytes, c->burst) +
                            sq_ceil_div(beats % c->max_burst * nbytes, c->burst);
    return bursts * c->num / c->den;
}

// Cycles until they are in their buffer: of the bus, of the memory, or of as many bursts as are under way.
static uint64_t load_cycles(const struct costs *c, uint64_t n, unsigned part)
{
    const uint64_t beats = sq_top_transfer(&c->room, part, n);
    const uint64_t bursts = sq_ceil_div(beats, c->max_burst);
    return sq_larger(sq_larger(sq_larger(beats, n), memory_cycles(c, n, part)),
                     bursts * (c->latency + BURST_CYCLES) / c->outstanding);
}

// Tiles of a block, scale groups of a chunk.
struct step {
    uint64_t tiles[AXES], groups;
    bool is_whole, is_last; // one chunk; the last one
    bool is_part;           // of a group, so that most chunks load no scales
};

static uint64_t operand_cycles(const struct costs *c, const struct sq_top_layer *l,
                               const struct step *s, unsigned axis)
{
    const unsigned part = axis == ROWS ? SQ_TOP_ACT : SQ_TOP_WEIGHT, scale = part + 1;
    const uint64_t n = s->tiles[axis];
    const bool by_group = axis == COLS && !c->is_scaled && !s->is_part;
    return load_cycles(c, n * s->groups * l->beats, part) +
           (by_group || s->is_whole ? load_cycles(c, by_group ? n * s->groups : n, scale) : 0);
}

static uint64_t step_cycles(const struct costs *c, const struct sq_top_layer *l,
                            const struct step *s, const bool *loads)
{
    const uint64_t tiles = s->tiles[ROWS] * s->tiles[COLS], beats = s->groups * l->beats;
    uint64_t load = 0, memory = s->is_last ? memory_cycles(c, tiles, SQ_TOP_STORE) : 0;
    for (unsigned axis = 0; axis < AXES; axis++)
        if (loads[axis]) {
            load += operand_cycles(c, l, s, axis);
            memory +=
                memory_cycles(c, s->tiles[axis] * beats, axis == ROWS ? SQ_TOP_ACT : SQ_TOP_WEIGHT);
        }
    const uint64_t work = tiles * (s->is_whole ? beats : sq_larger(beats, c->sums));
    return sq_larger(work + WORK_CYCLES, sq_larger(load, memory) + LOAD_CYCLES);
}

// ---- a layer ----------------------------------------------------------------------------------------

static uint64_t size_of(uint64_t all, uint64_t block, bool is_last)
{
    return is_last ? all - (sq_ceil_div(all, block) - 1) * block : block;
}

// All blocks alike: of those of the inner operand the first one also loads the outer.
static uint64_t blocks_cycles(const struct costs *c, const struct sq_top_layer *l,
                              const struct step *s, const uint64_t *n, bool has_first)
{
    const unsigned outer = l->cols_outer ? COLS : ROWS, inner = !outer;
    const bool all[AXES] = {true, true};
    bool later[AXES] = {false, false}, first[AXES];
    if (!s->is_whole)
        return n[ROWS] * n[COLS] * step_cycles(c, l, s, all);
    later[inner] = l->block[inner] < l->tiles[inner]; // or it is loaded once
    first[inner] = later[inner];
    first[outer] = true;
    return n[outer] * ((n[inner] - has_first) * step_cycles(c, l, s, later) +
                       (has_first ? step_cycles(c, l, s, first) : 0));
}

// Parts of groups count as chunks of groups of a beat.
static uint64_t layer_cycles(const struct costs *c, const struct sq_top_layer *of)
{
    struct sq_top_layer by_beat = *of;
    const struct sq_top_layer *const l = of->part ? &by_beat : of;
    by_beat.groups = of->groups * of->beats;
    by_beat.beats = 1;
    by_beat.chunk = of->part;
    const unsigned outer = l->cols_outer ? COLS : ROWS, inner = !outer;
    const uint64_t chunks = sq_ceil_div(l->groups, l->chunk);
    uint64_t blocks[AXES], cycles = 0;
    for (unsigned axis = 0; axis < AXES; axis++) {
        const uint64_t first = (uint64_t)l->block[axis] * l->chunk * l->beats;
        blocks[axis] = sq_ceil_div(l->tiles[axis], l->block[axis]);
        cycles += load_cycles(c, first, axis == ROWS ? SQ_TOP_ACT : SQ_TOP_WEIGHT);
    }
    for (unsigned i = 0; i < 8; i++) { // the last one or not: of rows, of columns, of chunks
        const bool is_last[AXES] = {i & 1, i & 2};
        struct step s = {.groups = size_of(l->groups, l->chunk, i & 4),
                         .is_whole = chunks == 1,
                         .is_part = of->part > 0,
                         .is_last = i & 4};
        uint64_t n[AXES];
        for (unsigned axis = 0; axis < AXES; axis++) {
            n[axis] = is_last[axis] ? 1 : blocks[axis] - 1;
            s.tiles[axis] = size_of(l->tiles[axis], l->block[axis], is_last[axis]);
        }
        const uint64_t times = s.is_last ? 1 : chunks - 1;
        if (n[ROWS] > 0 && n[COLS] > 0 && times > 0)
            cycles += times * blocks_cycles(c, l, &s, n, is_last[inner] == (blocks[inner] == 1));
    }
    return cycles;
}

// ---- the search -------------------------------------------------------------------------------------

// The next power of two, then the most; 0: after that.
static uint32_t next_block(uint32_t block, uint32_t most)
{
    return block == most ? 0 : smaller(2 * (uint64_t)block, most);
}

// The tilings of the least estimates, in their order.
enum { CANDIDATES = 16 };
enum { SHORT_CYCLES = 1 << 14, LONG_CYCLES = 1 << 19 }; // of a layer
struct search {
    struct costs c;
    struct sq_top_layer l;
    unsigned n;
    struct candidate {
        struct sq_top_layer l;
        uint64_t score;
    } best[CANDIDATES];
};

// A power of two, or all.
static bool is_even(uint32_t block, uint32_t all)
{
    return (block & (block - 1)) == 0 || block == all;
}

// What repeats evenly is also quick to simulate.
static bool all_even(const struct sq_top_layer *l)
{
    return is_even(l->chunk, l->groups) && is_even(l->part, l->beats) &&
           is_even(l->block[ROWS], l->tiles[ROWS]) && is_even(l->block[COLS], l->tiles[COLS]);
}

// The estimate; others than even blocks and chunks must be 2 % better: the estimate is no better than that.
static uint64_t score_of(const struct search *s)
{
    const uint64_t cycles = layer_cycles(&s->c, &s->l);
    return cycles + (all_even(&s->l) ? 0 : cycles / 50);
}

static bool is_kept(const struct search *s)
{
    for (unsigned i = 0; i < s->n; i++) {
        const struct sq_top_layer *const l = &s->best[i].l;
        if (l->block[ROWS] == s->l.block[ROWS] && l->block[COLS] == s->l.block[COLS] &&
            l->chunk == s->l.chunk && l->part == s->l.part && l->cols_outer == s->l.cols_outer)
            return true;
    }
    return false;
}

// Among the best; of the same score the first stays in front.
static void keep(struct search *s, uint64_t score)
{
    if ((s->n == CANDIDATES && score >= s->best[CANDIDATES - 1].score) || is_kept(s))
        return;
    unsigned at = s->n < CANDIDATES ? s->n++ : CANDIDATES - 1;
    for (; at > 0 && s->best[at - 1].score > score; at--)
        s->best[at] = s->best[at - 1];
    s->best[at] = (struct candidate){s->l, score};
}

// Whether a tile of rows lies in one piece, which begins a beat of the bus, in the activations, their scales and the
// outputs: what an encoder reads and writes.
static bool has_rows_apart(const struct sq_top_room *room, const struct sq_top_layer *l)
{
    const bool by_row = l->block[ROWS] == 1 || l->tiles[ROWS] == 1;
    const bool is_whole = sq_block_walk_is_whole(l), is_wide = l->block[COLS] >= l->tiles[COLS];
    const uint64_t act = room->beat_nbytes[SQ_TOP_ACT], out = room->beat_nbytes[SQ_TOP_STORE];
    const uint64_t all = (uint64_t)l->groups * l->beats * act, nbytes = room->nbytes;
    const uint64_t chunk = (l->part ? l->part : (uint64_t)l->chunk * l->beats) * act;
    const bool acts =
        is_whole ? by_row || all % nbytes == 0
                 : by_row && chunk % nbytes == 0 && (l->part == 0 || l->beats * act % nbytes == 0);
    const bool outs = is_wide ? by_row || l->tiles[COLS] * out % nbytes == 0
                              : by_row && (!l->cols_outer || l->tiles[ROWS] == 1) &&
                                    l->block[COLS] * out % nbytes == 0;
    return acts && outs && (by_row || room->beat_nbytes[SQ_TOP_ROW_SCALE] % nbytes == 0);
}

// Tiles of a block that half a buffer holds; of both axes.
struct fit {
    uint32_t most[AXES];
    uint64_t tiles;
};

static struct fit fit_of(const struct search *s)
{
    const struct sq_top_room *const has = &s->c.room;
    const uint32_t beats = s->l.part ? s->l.part : s->l.chunk * s->l.beats;
    const uint32_t scales = has->scale_once ? 1 : s->l.chunk;
    const bool is_whole = sq_block_walk_is_whole(&s->l);
    return (struct fit){{smaller(s->l.tiles[ROWS], smaller(has->depth[SQ_TOP_ACT] / beats,
                                                           has->depth[SQ_TOP_ROW_SCALE])),
                         smaller(s->l.tiles[COLS], smaller(has->depth[SQ_TOP_WEIGHT] / beats,
                                                           has->depth[SQ_TOP_COL_SCALE] / scales))},
                        is_whole ? UINT16_MAX : has->sum_tiles};
}

static void try_block(struct search *s, uint32_t rows, uint32_t cols)
{
    s->l.block[ROWS] = rows;
    s->l.block[COLS] = cols;
    if (!s->c.room.has_encoder || has_rows_apart(&s->c.room, &s->l))
        keep(s, score_of(s));
}

static void try_blocks(struct search *s)
{
    const struct fit fit = fit_of(s);
    const uint32_t rows = smaller(fit.most[ROWS], fit.tiles);
    if (fit.most[ROWS] == 0 || fit.most[COLS] == 0)
        return;
    for (uint32_t r = 1; r > 0; r = next_block(r, rows)) {
        const uint32_t cols = smaller(fit.most[COLS], fit.tiles / r);
        for (uint32_t c = 1; c > 0; c = next_block(c, cols))
            try_block(s, r, c);
    }
}

// part: 0, or beats of a group.
static void try_chunk(struct search *s, uint32_t chunk, uint32_t part)
{
    const bool rows_are_more = s->l.tiles[ROWS] >= s->l.tiles[COLS];
    const bool is_whole = chunk == s->l.groups && part == 0;
    if (part == 0 && (uint64_t)chunk * s->l.beats > UINT16_MAX)
        return;
    s->l.chunk = chunk;
    s->l.part = part;
    s->l.cols_outer = rows_are_more;
    try_blocks(s);
    s->l.cols_outer = !rows_are_more;
    if (is_whole) // of chunks both operands are loaded for every step, whatever stays
        try_blocks(s);
}

// The smallest block with which `all` tiles make no more blocks than with `block`.
static uint32_t even_block(uint32_t block, uint32_t all)
{
    return (uint32_t)sq_ceil_div(all, sq_ceil_div(all, block));
}

// Blocks from half of those of the first tilings to twice as large.
static void try_between(struct search *s)
{
    enum { FIRST = 4 };
    const struct search found = *s;
    for (unsigned i = 0; i < found.n && i < FIRST; i++) {
        const struct sq_top_layer *const l = &found.best[i].l;
        s->l = *l;
        const struct fit fit = fit_of(s);
        const uint32_t rows = smaller(2 * l->block[ROWS], smaller(fit.most[ROWS], fit.tiles));
        for (uint32_t r = (l->block[ROWS] + 1) / 2; r <= rows; r++) {
            if (r < rows && r != even_block(r, l->tiles[ROWS]))
                continue;
            const uint32_t cols =
                smaller(2 * l->block[COLS], smaller(fit.most[COLS], fit.tiles / r));
            for (uint32_t c = (l->block[COLS] + 1) / 2; c <= cols; c++)
                if (c == cols || c == even_block(c, l->tiles[COLS]))
                    try_block(s, r, c);
        }
    }
}

// ---- what is quick to simulate -----------------------------------------------------------------------

enum { PAGE = 4096, PARTS = 8, FEW_CYCLES = 1 << 17, MANY_CYCLES = 1 << 22 };
enum { MANY_STEPS = 30000 }; // a second

// Bytes of the transfers of an operand for a block and all of K.
static uint64_t block_nbytes(const struct costs *c, const struct sq_top_layer *l, unsigned axis)
{
    const uint64_t n = l->part ? l->beats : l->groups, each = l->part ? l->part : l->chunk;
    const uint64_t chunks = sq_ceil_div(n, each), tiles = l->block[axis];
    const uint64_t beats = l->part ? 1 : l->beats, times = l->part ? l->groups : 1;
    const unsigned part = axis == ROWS ? SQ_TOP_ACT : SQ_TOP_WEIGHT;
    const uint64_t whole = sq_top_transfer(&c->room, part, tiles * each * beats);
    const uint64_t rest = sq_top_transfer(&c->room, part, tiles * size_of(n, each, true) * beats);
    return times * ((chunks - 1) * whole + rest) * c->room.nbytes;
}

// One in so many blocks begins at a place within a page at which none began before.
static uint64_t repeats(const struct costs *c, const struct sq_top_layer *l)
{
    uint64_t all = 1, places = 1;
    for (unsigned axis = 0; axis < AXES; axis++) {
        const uint64_t blocks = sq_ceil_div(l->tiles[axis], l->block[axis]);
        const uint64_t n = PAGE / sq_gcd(PAGE, block_nbytes(c, l, axis));
        all *= blocks;
        places *= n < blocks ? n : blocks;
    }
    return all / places;
}

// Cycles that a run cannot look up, about. With chunks of a power of two, parts of steps are alike.
static uint64_t unlike(const struct search *s, unsigned i)
{
    const struct sq_top_layer *const l = &s->best[i].l;
    const bool in_parts = l->part == 0 && is_even(l->chunk, l->groups);
    return s->best[i].score / repeats(&s->c, l) / (in_parts ? PARTS : 1);
}

// The longer a layer, the closer its estimate.
static bool is_close(const struct search *s, unsigned i)
{
    const uint64_t least = s->best[0].score;
    const unsigned part = least > LONG_CYCLES ? 32 : least > SHORT_CYCLES ? 8 : 2;
    return i < s->n && s->best[i].score <= least + least / part;
}

// For a tiling that has very many of them, adds one of the same blocks in chunks of a power of two.
static void try_quick_chunks(struct search *s)
{
    const struct search found = *s;
    for (unsigned i = 0; is_close(&found, i); i++) {
        s->l = found.best[i].l;
        if (unlike(&found, i) <= FEW_CYCLES || s->l.part > 0 || is_even(s->l.chunk, s->l.groups))
            continue;
        while (!is_even(s->l.chunk, s->l.groups))
            s->l.chunk &= s->l.chunk - 1;
        if (!s->c.room.has_encoder || has_rows_apart(&s->c.room, &s->l))
            keep(s, found.best[i].score);
    }
}

// Places within a page at which transfers of an operand begin that cross into the next one: 1 where all are whole bursts.
static uint64_t crossings(const struct costs *c, const struct sq_top_layer *l, unsigned axis)
{
    const uint64_t n = l->part ? l->beats : l->groups, each = l->part ? l->part : l->chunk;
    const uint64_t beats = l->block[axis] * (l->part ? 1 : (uint64_t)l->beats);
    const unsigned part = axis == ROWS ? SQ_TOP_ACT : SQ_TOP_WEIGHT;
    const uint64_t whole = sq_top_transfer(&c->room, part, beats * each) * c->room.nbytes;
    const uint64_t rest =
        sq_top_transfer(&c->room, part, beats * size_of(n, each, true)) * c->room.nbytes;
    const uint64_t unit = sq_gcd(sq_gcd(PAGE, whole), rest);
    if (unit % (c->max_burst * c->room.nbytes) == 0)
        return 1;
    return 1 + (whole < PAGE ? whole : PAGE) / unit;
}

// Steps of chunks that a run cannot look up, about: both operands are loaded for each, in ever other states.
static uint64_t unlike_steps(const struct costs *c, const struct sq_top_layer *l)
{
    const uint64_t n = l->part ? l->beats : l->groups, each = l->part ? l->part : l->chunk;
    const uint64_t steps = sq_ceil_div(l->tiles[ROWS], l->block[ROWS]) *
                           sq_ceil_div(l->tiles[COLS], l->block[COLS]) * sq_ceil_div(n, each) *
                           (l->part ? l->groups : 1) / repeats(c, l);
    const uint64_t loads = crossings(c, l, ROWS) * crossings(c, l, COLS);
    if (sq_block_walk_is_whole(l))
        return 0;
    return loads < steps ? (uint64_t)sqrt((double)loads * (double)steps) : steps;
}

// Where the best tiling takes more than a second to simulate, keeps the quicker ones whose estimates are up to an eighth worse,
// or the quickest one where all are slow.
static void leave_slow(struct search *s)
{
    struct candidate *const best = s->best, quickest = best[0];
    const uint64_t most = best[0].score + best[0].score / 8;
    unsigned n = 0;
    if (unlike_steps(&s->c, &best[0].l) <= MANY_STEPS)
        return;
    for (unsigned i = 1; i < s->n && best[i].score <= most; i++) {
        const uint64_t steps = unlike_steps(&s->c, &best[i].l);
        if (steps < unlike_steps(&s->c, &quickest.l))
            quickest = best[i];
        if (steps <= MANY_STEPS)
            best[n++] = best[i];
    }
    if (n == 0)
        best[n++] = quickest;
    s->n = n;
}

// Without what is added to those that are not even.
static uint64_t estimate(const struct search *s, unsigned i)
{
    const uint64_t score = s->best[i].score;
    return all_even(&s->best[i].l) ? score : score - score / 51;
}

static uint64_t least_estimate(const struct search *s)
{
    uint64_t least = estimate(s, 0);
    for (unsigned i = 1; is_close(s, i); i++)
        least = estimate(s, i) < least ? estimate(s, i) : least;
    return least;
}

// An estimate 1.6 % over the least at most.
static bool is_near_least(const struct search *s, unsigned i)
{
    const uint64_t least = least_estimate(s);
    return estimate(s, i) <= least + least / 64;
}

// Another tiling takes less than a third of the time to simulate, and its estimate is near the least.
static bool is_slow(const struct search *s, unsigned i)
{
    const uint64_t quick = unlike(s, i) / 3;
    for (unsigned j = 0; is_close(s, j); j++)
        if (unlike(s, j) < quick && is_near_least(s, j))
            return unlike(s, i) > FEW_CYCLES / 2;
    return false;
}

// The candidate that takes the fewest cycles, of those that are timed:
//   - all up to the first even one; after it only those near the least, and only where slow ones before it were left out;
//   - none whose estimate is 3 % over what another one takes, unless the layer is short;
//   - as many as take some seconds. Where the first takes longer, its estimate must do.
static enum sq_status time_all(const struct search *s, const unsigned *v,
                               const struct sq_env_choice *memory, sq_chip_time *time,
                               struct sq_chip_memo *memo, struct sq_top_layer *l,
                               struct sq_error *err)
{
    uint64_t least = UINT64_MAX, room = MANY_CYCLES, cycles;
    bool has_even = false, left = false;
    for (unsigned i = 0; is_close(s, i); i++) {
        const bool even = all_even(&s->best[i].l), slow = is_slow(s, i);
        left |= slow && !has_even;
        if ((has_even && !even && !(left && is_near_least(s, i))) || slow || unlike(s, i) > room)
            continue;
        has_even |= even;
        if (least < UINT64_MAX && least > FEW_CYCLES && estimate(s, i) > least + least / 32)
            continue;
        room -= unlike(s, i);
        SQ_TRY(time(memo, v, memory, &s->best[i].l, &cycles, err));
        if (cycles < least)
            *l = s->best[i].l;
        least = cycles < least ? cycles : least;
    }
    return SQ_OK;
}

enum sq_status sq_chip_plan(const unsigned *v, const struct sq_env_choice *memory,
                            sq_chip_time *time, struct sq_chip_memo *memo, struct sq_top_layer *l,
                            struct sq_error *err)
{
    struct search s = {.c = costs_of(v, memory), .l = *l};
    s.l.part = 0;
    try_chunk(&s, l->groups, 0);
    for (uint32_t chunk = 1; chunk < l->groups; chunk *= 2)
        try_chunk(&s, chunk, 0);
    // In so many chunks, each time a third more, the chunks as even as they can be.
    for (uint32_t n = 2; n < l->groups; n += 1 + n / 3)
        try_chunk(&s, (uint32_t)sq_ceil_div(l->groups, n), 0);
    // Parts of a group, where K is one or half a buffer is too short for one.
    const uint32_t *const depth = s.c.room.depth;
    if (l->groups <= s.c.room.part_groups &&
        (l->groups == 1 || l->beats > smaller(depth[SQ_TOP_ACT], depth[SQ_TOP_WEIGHT]))) {
        for (uint32_t part = 1; part < l->beats; part *= 2)
            try_chunk(&s, 1, part);
        for (uint32_t n = 2; n < l->beats; n += 1 + n / 3)
            try_chunk(&s, 1, (uint32_t)sq_ceil_div(l->beats, n));
    }
    SQ_FAIL_IF(s.n == 0 && sq_scaled_tail_of(v[SQ_TOP_TAIL]).acc == SQ_SCALED_FIXED, err,
               SQ_ERR_UNSUPPORTED,
               "core.sum = exact: %u beats along K, need at most %u, what half a buffer "
               "holds: exact sums have no chunks of K",
               l->groups * l->beats, smaller(depth[SQ_TOP_ACT], depth[SQ_TOP_WEIGHT]));
    if (s.n == 0)
        return SQ_FAIL(
            err, SQ_ERR_UNSUPPORTED,
            "%u x %u tiles: no cut of the layer begins a beat of the bus with each tile of "
            "rows, as the encoder needs it",
            l->tiles[ROWS], l->tiles[COLS]);
    if (s.best[0].score <= LONG_CYCLES)
        try_between(&s);
    if (time) {
        try_quick_chunks(&s);
        leave_slow(&s);
    }
    *l = s.best[0].l;
    return time ? time_all(&s, v, memory, time, memo, l, err) : SQ_OK;
}

// What a plan follows from, as bytes.
static void set_key(struct sq_chip_planned *p, const unsigned *v,
                    const struct sq_env_choice *memory, sq_chip_time *time,
                    const struct sq_top_layer *l)
{
    const uint32_t shape[4] = {l->tiles[ROWS], l->tiles[COLS], l->groups, l->beats};
    memset(p, 0, sizeof *p);
    memcpy(p->value, v, sizeof p->value);
    memcpy(p->memory, memory->n, sizeof p->memory);
    memcpy(p->shape, shape, sizeof p->shape);
    p->kind = memory->kind;
    p->time = time;
}

enum sq_status sq_chip_plan_again(struct sq_chip_plans *plans, const unsigned *v,
                                  const struct sq_env_choice *memory, sq_chip_time *time,
                                  struct sq_chip_memo *memo, struct sq_top_layer *l,
                                  struct sq_error *err)
{
    struct sq_chip_planned new;
    if (!plans)
        return sq_chip_plan(v, memory, time, memo, l, err);
    set_key(&new, v, memory, time, l);
    for (unsigned i = 0; i < plans->n && i < SQ_CHIP_PLANS; i++)
        if (memcmp(&plans->plan[i], &new, offsetof(struct sq_chip_planned, layer)) == 0) {
            *l = plans->plan[i].layer;
            return SQ_OK;
        }
    SQ_TRY(sq_chip_plan(v, memory, time, memo, l, err));
    new.layer = *l;
    plans->plan[plans->n++ % SQ_CHIP_PLANS] = new;
    return SQ_OK;
}
