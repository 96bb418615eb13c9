// SPDX-License-Identifier: Apache-2.0
// The engines, as recurrences: jobs, and what lies between the parts.
#ifndef ORACLE_ENGINES_H
#define ORACLE_ENGINES_H

#include "tests/sim/oracle_output.h"

// A job is taken when the beats of the one before have gone, in the cycle of its last one or later, and
// waits for the scales of the one before in a queue of two. Operands go together, from the cycle after
// on, and so do scales. Masks that are made in the engine come from TopK units, whatever its jobs; one goes
// with the operands.
static void foretell_engine_array(const struct input *in, struct world *w)
{
    const bool is_static = strcmp(in->c->block->name, "engine_static") == 0;
    const bool has_topk = strcmp(in->c->block->name, "engine_dynamic") == 0;
    struct unit topk = has_topk ? mask_unit(in, param(in, "MagW")) : (struct unit){.depth = 1};
    const unsigned layout = is_static ? SQ_ARRAY_COMPACT : param(in, "Layout");
    const bool plain = layout == SQ_ARRAY_DENSE || layout == SQ_ARRAY_SP24;
    struct tail a = {.depth = plain ? 2 : 3};
    struct oracle_output o = oracle_output(in);
    uint64_t free = 0, scales_free = 0, left_queue[2] = {0, 0};
    size_t beat = 0, scale = 0;
    for (size_t j = 0; j < w->in[0].n && free < w->end; j++) {
        const uint32_t beats = (uint32_t)*field(in, 0, j, "beats");
        const uint32_t groups = (uint32_t)*field(in, 0, j, "groups");
        const uint32_t all = groups * (uint32_t)*field(in, 0, j, "tiles");
        const uint64_t room = j < 2 ? 0 : left_queue[j % 2] + 1;
        const uint64_t came = w->in[0].taken[j] = later(w->in[0].offered[j], later(free, room));
        const uint64_t passed = left_queue[j % 2] = later(came + 1, scales_free);
        for (uint32_t i = 0; i < beats * all && free < w->end; i++, beat++) {
            const uint64_t both = later(offered(w, 1, beat), offered(w, 2, beat));
            const uint64_t x = has_topk ? unit_enter(&topk, offered(w, 4, beat)) : 0;
            const uint64_t mask = has_topk ? unit_show(&topk, x) : 0;
            free = tail_enter(&a, later(later(came + 1, both), mask));
            if (has_topk) {
                taken(w, 4, beat, x);
                unit_leave(&topk, mask, free);
            }
            taken(w, 1, beat, free);
            taken(w, 2, beat, free);
            if ((i + 1) % beats != 0 || free >= w->end)
                continue;
            uint64_t at = later(passed + 1, offered(w, 3, scale));
            a.tile_left =
                oracle_output_tile(&o, w, tail_show(&a, free), (i + 1) / beats % groups == 0, &at);
            taken(w, 3, scale++, at);
            scales_free = at;
        }
    }
    for (; has_topk && beat < w->in[4].n; beat++) { // ahead of operands that did not go
        const uint64_t x = unit_enter(&topk, offered(w, 4, beat));
        taken(w, 4, beat, x);
        if (x >= w->end)
            break;
        unit_leave(&topk, unit_show(&topk, x), NEVER);
    }
    free_stalls(&a.stalls);
    free_stalls(&topk.stalls);
    oracle_output_free(&o);
}

// A job is taken when the activations of the one before have gone, in the cycle of the last one or later,
// and waits for the core and for the scales of the one before, in queues of two. Its activations and
// its scales go from the cycle after on; weights wait for no job. Beats of tiles by core_act, each
// scale group as a tile of the stage.
struct oracle_act_job {
    uint64_t came, core, scales; // taken; gone on to the core, to the scales
};

// A tile of tokens through all its passes; whether all of it went while the run lasted.
static bool oracle_act_tile(const struct input *in, struct world *w, struct oracle_act *o,
                            struct oracle_output *out, struct tile *tile, size_t j, uint64_t scales,
                            size_t *scale, uint64_t *scales_free)
{
    const uint32_t banks = (uint32_t)*field(in, 0, j, "banks");
    const uint32_t groups = (uint32_t)*field(in, 0, j, "groups");
    for (uint32_t i = 0; i < tile->n * tile->passes; i++) {
        const bool last = (i + 1) % banks == 0;
        if (o->low_given >= w->end) // the registers of the core take codes that it does not reach
            return false;
        act_bank(o, w, 2, tile, i % banks == 0, last);
        if (!last)
            continue;
        uint64_t at = later(scales + 1, offered(w, 3, *scale));
        o->c.tile_left = oracle_output_tile(out, w, later(o->c.low_total, o->c.high_total),
                                            (i + 1) / banks % groups == 0, &at);
        taken(w, 3, (*scale)++, at);
        *scales_free = at;
    }
    tile->free = later(o->low_given, o->high_given);
    return true;
}

static void foretell_engine_core_act(const struct input *in, struct world *w)
{
    struct oracle_act o = oracle_act(in);
    struct oracle_output out = oracle_output(in);
    struct tile *tile = calloc(w->in[1].n + 1, sizeof *tile);
    struct oracle_act_job left[2] = {{0}};
    uint64_t act_free = 0, scales_free = 0;
    size_t n = 0, act = 0, scale = 0;
    bool runs = true;
    assert(tile);
    for (size_t j = 0; j < w->in[0].n; j++) {
        const uint32_t len = (uint32_t)(*field(in, 0, j, "banks") * *field(in, 0, j, "groups"));
        struct oracle_act_job *const job = &left[j % 2];
        const uint64_t room = j < 2 ? 0 : later(job->core, job->scales) + 1;
        job->came = w->in[0].taken[j] = later(w->in[0].offered[j], later(act_free, room));
        job->scales = later(job->came + 1, scales_free);
        job->core = runs ? core_job(&o.c, job->came + 1, j == 0) : NEVER;
        for (int32_t t = 0; t < *field(in, 0, j, "tiles") && act + len <= w->in[1].n; t++, n++) {
            tile[n] = (struct tile){.first = act,
                                    .n = len,
                                    .passes = (uint32_t)*field(in, 0, j, "passes"),
                                    .complete = NEVER,
                                    .free = NEVER};
            store_tile(w, 1, job->came + 1, &o.mask, &o.stages, tile, n);
            act += len;
            act_free = w->in[1].taken[act - 1];
            runs = runs &&
                   oracle_act_tile(in, w, &o, &out, &tile[n], j, job->scales, &scale, &scales_free);
        }
        scales_free = runs ? scales_free : NEVER;
    }
    free_act(&o, w, 2);
    oracle_output_free(&out);
    free(tile);
}

// A step is offered a cycle after the walker took its group, goes into the array, and as a tile of its
// own into the stage in front of the sums of a row. Returns when the array takes it; *tile becomes when
// its sums leave the array.
struct oracle_gqsa {
    struct tail array, rows;
    struct unit zero;
};

static inline uint64_t oracle_gqsa_step(struct oracle_gqsa *o, struct world *w, uint64_t shown,
                                        bool ends_row, uint64_t *tile)
{
    const uint64_t entered = tail_enter(&o->array, shown);
    o->array.tile_left = *tile = unit_enter(&o->zero, tail_show(&o->array, entered));
    const uint64_t next = unit_show(&o->zero, *tile), taken = tail_enter(&o->rows, next);
    unit_leave(&o->zero, next, taken);
    if (ends_row)
        o->rows.tile_left = give(w, tail_show(&o->rows, taken));
    return entered;
}

// A job is taken when the sums of the one before have left the array, in the cycle after or later; then
// its activations, one a cycle, and from the cycle after the last of them on its offsets. The walk is
// that of foretell_gqsa_walk: the next offset is read as the last step of a row goes.
static void foretell_engine_gqsa(const struct input *in, struct world *w)
{
    struct oracle_gqsa o = {.array = {.depth = 2}, .rows = {.depth = 3}, .zero = {.depth = 1}};
    uint64_t free = 0,
             walker = 0; // first cycles for the next job; for a step in the walker's register
    size_t act = 0, offset = 0, kept = 0;
    for (size_t j = 0; j < w->in[0].n && free < w->end; j++) {
        uint64_t t = w->in[0].taken[j] = later(w->in[0].offered[j], free);
        for (int32_t i = 0; i < *field(in, 0, j, "groups"); i++, act++) {
            t = later(t + 1, offered(w, 1, act));
            taken(w, 1, act, t);
        }
        uint64_t read = t + 1, last = NEVER;
        uint32_t start = 0;
        for (int32_t i = 0; i < *field(in, 0, j, "offsets") && read < w->end; i++, offset++) {
            const uint32_t at = (uint32_t)*field(in, 2, offset, "at");
            const uint32_t n = i == 0 || at < start ? 0 : at - start;
            const uint64_t came = later(read, offered(w, 2, offset));
            taken(w, 2, offset, came);
            read = came + 1;
            for (uint32_t k = 0; i > 0 && k < (n ? n : 1) && read < w->end; k++) {
                uint64_t step = later(came + 1, walker);
                if (n > 0)
                    step = later(step, offered(w, 3, kept));
                read = step >= w->end ? NEVER : step;
                if (step >= w->end)
                    break;
                if (n > 0)
                    taken(w, 3, kept++, step);
                walker = oracle_gqsa_step(&o, w, step + 1, k + 1 >= n, &last);
            }
            if (i == 0 || at > start)
                start = at;
        }
        free = read < w->end && last < w->end ? last + 1 : NEVER;
    }
    free_stalls(&o.array.stalls);
    free_stalls(&o.rows.stalls);
    free_stalls(&o.zero.stalls);
}

// Segments from the cycle after the job on; then foretell_spqt_idx, whose beats go at once. Returns the
// cycle in which the last columns of job j are found, *n of them; *act is the next segment.
static inline uint64_t oracle_spqt_find(const struct input *in, struct world *w, size_t j,
                                        size_t *act, uint32_t *n)
{
    const uint32_t lanes = param(in, "IdxLanes"), seg = param(in, "SegLen");
    const int32_t segments = *field(in, 0, j, "segments"), theta = *field(in, 0, j, "theta");
    uint64_t free = w->in[0].taken[j] + 1, ranked = 0, buffered = 0, room = 0, went = 0;
    uint32_t stay = 0;
    *n = 0;
    for (int32_t i = 0; i < segments; i++, ++*act) {
        const uint64_t t = later(offered(w, 1, *act), later(free, ranked));
        taken(w, 1, *act, t);
        if (t >= w->end)
            return NEVER;
        free = t + 1;
        ranked = later(t + 1, buffered);
        buffered = later(ranked + 1, room);
        uint32_t held = 0;
        for (unsigned e = 0; e < seg; e++)
            held += (field(in, 1, *act, "x")[e] & 0x7fff) >= theta;
        *n += held;
        held += stay;
        room = buffered + 1;
        for (bool ends = i + 1 == segments; held >= lanes || ends;) {
            went = later(went + 1, buffered + 1);
            room = later(room, went);
            held -= held < lanes ? held : lanes;
            ends = ends && held > 0;
        }
        stay = held;
    }
    return went;
}

// Superblocks from the cycle after on, those of zeros from inside; a beat of codes is offered behind the
// decoder a cycle later, and its weights go with the sums. The next job is taken from the cycle after
// the last beat on.
static void foretell_engine_spqt(const struct input *in, struct world *w)
{
    const uint32_t bytes = param(in, "Bytes"), beats = 144 / bytes, head = 16 / bytes;
    struct unit weight = {.depth = 2};
    struct tail mac = {.depth = 3};
    uint64_t free = 0, place = 0; // first cycles for the next job; for the decoder's register
    size_t act = 0, block = 0;
    for (size_t j = 0; j < w->in[0].n && free < w->end; j++) {
        uint32_t n;
        w->in[0].taken[j] = later(w->in[0].offered[j], free);
        const uint64_t found = oracle_spqt_find(in, w, j, &act, &n);
        const uint32_t columns = n > 0 ? n : 1;
        const uint32_t all = beats * columns * (uint32_t)*field(in, 0, j, "blocks");
        uint64_t t = found;
        for (uint32_t i = 0; i < all && t < w->end; i++) {
            t = later(t + 1, place);
            if (n > 0) {
                t = later(t, offered(w, 2, block));
                taken(w, 2, block++, t);
            }
            if (t >= w->end || i % beats < head)
                continue;
            place = unit_enter(&weight, t + 1);
            const uint64_t shown = unit_show(&weight, place), entered = tail_enter(&mac, shown);
            unit_leave(&weight, shown, entered);
            if (i / beats % columns + 1 == columns)
                mac.tile_left = give(w, tail_show(&mac, entered));
        }
        free = t + 1;
    }
    free_stalls(&weight.stalls);
    free_stalls(&mac.stalls);
}

// Decoder, scales, and two tiles of which one is filled row by row while the other leaves column by column.
struct oracle_spqr {
    uint64_t came, went, left[16]; // of the decoder, as in foretell_spqr_dec
    struct unit scale;
    uint64_t room[2]; // first cycle in which each of the two tiles may be filled
    size_t n;         // tiles so far
    struct unit step; // the register in front of the sums
    struct tail mac;
};

// The next tile comes; returns the first cycle in which its columns may leave.
static inline uint64_t oracle_spqr_tile(struct oracle_spqr *o, struct world *w)
{
    uint64_t shown = 0;
    for (size_t b = 0; b < 16; b++) {
        const size_t word = o->n * 16 + b;
        const uint64_t t = later(offered(w, 2, word), later(o->came, o->left[b]));
        taken(w, 2, word, t);
        o->came = t + 1;
    }
    for (size_t b = 0; b < 16; b++) {
        o->left[b] = unit_enter(&o->scale, later(o->went, o->came));
        o->went = o->left[b] + 1;
        shown = unit_show(&o->scale, o->left[b]);
        const uint64_t filled = later(shown, o->room[o->n % 2]);
        unit_leave(&o->scale, shown, filled);
        shown = filled + 1;
    }
    o->n++;
    return shown;
}

// A step that may go from t on; returns when it goes into the register.
static inline uint64_t oracle_spqr_step(struct oracle_spqr *o, struct world *w, uint64_t t,
                                        bool is_last)
{
    const uint64_t went = unit_enter(&o->step, t), shown = unit_show(&o->step, went);
    const uint64_t entered = tail_enter(&o->mac, shown);
    unit_leave(&o->step, shown, entered);
    if (is_last)
        o->mac.tile_left = give(w, tail_show(&o->mac, entered));
    return went;
}

// Offsets of a row of tiles from t on, then its outliers; ends[r]: how many outliers the rows up to r have.
// Returns the cycle of the last of them.
static inline uint64_t oracle_spqr_outliers(const struct input *in, struct world *w, uint64_t t,
                                            bool has_base, uint32_t *base, size_t *offset,
                                            size_t *entry, uint32_t ends[16])
{
    const uint32_t most = UINT32_C(1) << param(in, "OutlierW");
    uint32_t before = *base;
    for (unsigned r = has_base ? 1 : 0; r < 17; r++, ++*offset) {
        t = later(t + 1, offered(w, 3, *offset));
        taken(w, 3, *offset, t);
        if (t >= w->end)
            return NEVER;
        const uint32_t at = (uint32_t)*field(in, 3, *offset, "at");
        if (r == 0)
            *base = before = at;
        else if (at >= before)
            before = at - *base > most ? *base + most : at;
        if (r > 0)
            ends[r - 1] = before - *base;
    }
    *base = before;
    for (uint32_t e = 0; e < ends[15] && t < w->end; e++, ++*entry) {
        t = later(t + 1, offered(w, 4, *entry));
        taken(w, 4, *entry, t);
    }
    return t;
}

// A share: the columns of its tiles, then row by row its outliers, a cycle to go to the next row, and zeros.
static inline uint64_t oracle_spqr_share(struct oracle_spqr *o, struct world *w, uint64_t t,
                                         uint32_t tiles, uint32_t u, uint32_t workers,
                                         const uint32_t ends[16])
{
    for (uint32_t i = u; i < tiles && t < w->end; i += workers) {
        const uint64_t tile = oracle_spqr_tile(o, w);
        for (unsigned c = 0; c < 16; c++)
            t = oracle_spqr_step(o, w, later(t + 1, tile), false);
        o->room[(o->n - 1) % 2] = t + 1;
    }
    for (unsigned r = 0; r < 16 && t < w->end; r++, t++)
        for (uint32_t e = (r > 0 ? ends[r - 1] : 0) + u; e < ends[r] && t < w->end; e += workers)
            t = oracle_spqr_step(o, w, t + 1, false);
    return t < w->end ? oracle_spqr_step(o, w, t + 1, u + 1 == workers) : NEVER;
}

// A job is taken from the cycle after the last step of the one before on; elements, offsets, outliers and
// steps follow each other. Words come ahead, as far as there is room.
static void foretell_engine_spqr(const struct input *in, struct world *w)
{
    struct oracle_spqr o = {.scale = {.depth = 5}, .step = {.depth = 1}, .mac = {.depth = 3}};
    uint64_t free = 0;
    size_t act = 0, offset = 0, entry = 0;
    for (size_t j = 0; j < w->in[0].n && free < w->end; j++) {
        const uint32_t tiles = (uint32_t)*field(in, 0, j, "tiles");
        const uint32_t workers = (uint32_t)*field(in, 0, j, "workers");
        const int32_t rows = *field(in, 0, j, "rows");
        uint64_t t = w->in[0].taken[j] = later(w->in[0].offered[j], free);
        uint32_t base = 0, ends[16];
        for (uint32_t i = 0; i < tiles && t < w->end; i++, act++) {
            t = later(t + 1, offered(w, 1, act));
            taken(w, 1, act, t);
        }
        for (int32_t row = 0; row < rows && t < w->end; row++) {
            t = oracle_spqr_outliers(in, w, t, row > 0, &base, &offset, &entry, ends);
            for (uint32_t u = 0; u < workers && t < w->end; u++)
                t = oracle_spqr_share(&o, w, t, tiles, u, workers, ends);
        }
        free = t < w->end ? t + 1 : NEVER;
    }
    while (o.n * 16 < w->in[2].n && o.came < w->end) { // ahead of steps that did not go
        (void)oracle_spqr_tile(&o, w);
        o.room[(o.n - 1) % 2] = NEVER;
    }
    free_stalls(&o.scale.stalls);
    free_stalls(&o.step.stalls);
    free_stalls(&o.mac.stalls);
}

#endif
