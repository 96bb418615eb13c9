// SPDX-License-Identifier: Apache-2.0
// The output stage (SPEC R.1) alone and behind cores and arrays, as recurrences.
#pragma once

#include "tests/sim/oracle_blocks.h"

// A tile goes slot by slot, one a cycle, into the units, from where it stands or from registers of
// its own (`hold`), which it may enter as the last slot of the tile before goes; or (`skid`) it goes in the cycle in
// which it comes, which is behind that last slot, units never stop, and a tile of the same outputs begins four cycles or more behind
// the one before. Its scales are
// there for all slots and go with the last one. What the units give of a last scale group is
// queued: beat i when beat i - depth has gone; it is offered a word at a time, from the next cycle
// on.
struct oracle_output {
    struct tail units;
    struct unit requant;
    bool is_int8, hold, skid;
    unsigned slots, words, depth;
    uint64_t before; // last slot of the tile before
    uint64_t next;   // skid: when the next one may come, its first slot go
    uint64_t go;
    uint64_t *gone; // [depth] when the last beats left the queue
    size_t n_queued;
    uint64_t word; // from when on a word may be offered
};

static inline struct oracle_output oracle_output_of(const struct input *in, unsigned form)
{
    const bool skid = param(in, "Hold") == 2; // two registers in front of the units
    struct oracle_output o = {.units = {.depth = combine_depth(form, skid) + (skid ? 2 : 0)},
                              .requant = {.depth = 3},
                              .is_int8 = param(in, "OutKind") == 2,
                              .hold = param(in, "Hold") == 1,
                              .skid = skid,
                              .depth = param(in, "Depth")};
    o.slots = param(in, "Rows") * param(in, "Cols") / param(in, "Lanes");
    o.words = param(in, "Lanes") / param(in, "PortLen");
    o.gone = fixture_zeros(o.depth, sizeof *o.gone);
    assert(o.gone);
    return o;
}

static inline struct oracle_output oracle_output(const struct input *in)
{
    return oracle_output_of(in, param(in, "Form"));
}

// A beat of outputs, offered to the queue from t on, enters it.
static inline uint64_t oracle_queue(struct oracle_output *o, struct prediction *w, uint64_t t)
{
    uint64_t *const gone = &o->gone[o->n_queued++ % o->depth];
    const uint64_t pushed = later(t, *gone);
    o->word = later(o->word, pushed + 1);
    for (unsigned i = 0; i < o->words; i++)
        o->word = give(w, o->word) + 1;
    *gone = o->word;
    return pushed;
}

// A tile that is offered from t on, its scales from *scale on; *scale becomes when they go. Returns
// when the tile goes.
static inline uint64_t oracle_output_tile(struct oracle_output *o, struct prediction *w, uint64_t t,
                                          bool is_last, uint64_t *scale)
{
    enum { SPACING = 4 };
    const uint64_t held = later(t, o->skid ? o->next : o->before);
    uint64_t slot = o->skid ? later(held, o->go) : o->hold ? held + 1 : t;
    for (unsigned s = 0; s < o->slots; s++) {
        if (o->skid && is_last) // a place of the queue that nothing before needs
            slot = later(slot, o->gone[o->n_queued % o->depth]);
        slot = tail_enter(&o->units, later(slot, *scale));
        if (slot >= w->end)
            break;
        if (!is_last)
            continue;
        const uint64_t shown = tail_show(&o->units, slot);
        if (!o->is_int8) {
            o->units.tile_left = oracle_queue(o, w, shown);
            continue;
        }
        o->units.tile_left = unit_enter(&o->requant, shown);
        const uint64_t rounded = unit_show(&o->requant, o->units.tile_left);
        unit_leave(&o->requant, rounded, oracle_queue(o, w, rounded));
    }
    *scale = o->before = slot;
    o->next = o->go = slot + 1;
    if (!is_last && o->slots < SPACING)
        o->go = moves(&o->units.stalls, slot, SPACING - o->slots) + 1;
    return o->hold || o->skid ? held : slot;
}

// Behind an array or a core: tile i and beat i of the stream of scales.
struct oracle_tiles {
    const struct input *in;
    unsigned stream; // of the scales
    size_t i;
    struct oracle_output o;
};

static uint64_t oracle_next_tile(void *to, struct prediction *w, uint64_t t)
{
    struct oracle_tiles *const tiles = to;
    uint64_t scale = offered(w, tiles->stream, tiles->i);
    const bool is_last =
        tiles->i < w->in[tiles->stream].n && *field(tiles->in, tiles->stream, tiles->i, "last");
    const uint64_t left = oracle_output_tile(&tiles->o, w, t, is_last, &scale);
    taken(w, tiles->stream, tiles->i++, scale);
    return left;
}

static void predict_core_out(const struct input *in, struct prediction *w)
{
    struct oracle_tiles tiles = {.in = in, .stream = 4, .o = oracle_output(in)};
    predict_core_into(in, w, oracle_next_tile, &tiles);
}

static void predict_output(const struct input *in, struct prediction *w)
{
    struct oracle_output o = oracle_output(in);
    uint64_t before = 0;
    for (size_t i = 0; i < w->in[0].n; i++) {
        uint64_t scale = offered(w, 1, i);
        const bool is_last = i < w->in[1].n && *field(in, 1, i, "last");
        before = oracle_output_tile(&o, w, later(w->in[0].offered[i], before), is_last, &scale);
        taken(w, 0, i, before++);
        taken(w, 1, i, scale);
    }
}

// ---- steps in floating point -------------------------------------------------------------------

// H.7: product, sum of a share, sum of shares; then the output.
static void predict_fp_mac(const struct input *in, struct prediction *w)
{
    predict_tail(in, w, (struct tail){.depth = 3}, NULL);
}
