// SPDX-License-Identifier: Apache-2.0
// The decoder, the scales and the engine of SpQR, as recurrences (a part of tests/sim/test_oracle.c).

// SPEC H.3: the second order is known after the last word of a tile, so it leaves from the cycle
// after on, a beat a cycle; and a beat may take the place that the same beat of the tile before
// leaves in that cycle.
static void predict_spqr_dec(const struct input *in, struct prediction *w)
{
    const size_t beats = 16 / param(in, "Words");
    uint64_t came = 0, went = 0, *left = fixture_zeros(beats, sizeof *left);
    for (size_t i = 0; i + beats <= w->in[0].n && came < w->end; i += beats) {
        for (size_t b = 0; b < beats; b++) {
            w->in[0].taken[i + b] = later(w->in[0].offered[i + b], later(came, left[b]));
            came = w->in[0].taken[i + b] + 1;
        }
        for (size_t b = 0; b < beats; b++) {
            left[b] = give(w, later(went, came));
            went = left[b] + 1;
        }
    }
}

// H.2: differences, products; differences, products; select.
static void predict_spqr_scale(const struct input *in, struct prediction *w)
{
    (void)in;
    predict_unit(w, (struct unit){.depth = 5});
}

// Decoder, scales, and two tiles of which one is filled row by row while the other leaves column by column.
struct oracle_spqr {
    uint64_t came, went, left[16]; // of the decoder, as in predict_spqr_dec
    struct unit scale;
    uint64_t room[2]; // first cycle in which each of the two tiles may be filled
    size_t n;         // tiles so far
    struct unit step; // the register in front of the sums
    struct tail mac;
};

// The next tile comes; returns the first cycle in which its columns may leave.
static inline uint64_t oracle_spqr_tile(struct oracle_spqr *o, struct prediction *w)
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
static inline uint64_t oracle_spqr_step(struct oracle_spqr *o, struct prediction *w, uint64_t t,
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
static inline uint64_t oracle_spqr_outliers(const struct input *in, struct prediction *w,
                                            uint64_t t, bool has_base, uint32_t *base,
                                            size_t *offset, size_t *entry, uint32_t ends[16])
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
static inline uint64_t oracle_spqr_share(struct oracle_spqr *o, struct prediction *w, uint64_t t,
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
static void predict_engine_spqr(const struct input *in, struct prediction *w)
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
}

SQ_ORACLE(spqr_dec, predict_spqr_dec)
SQ_ORACLE(spqr_scale, predict_spqr_scale)
SQ_ORACLE(engine_spqr, predict_engine_spqr)
