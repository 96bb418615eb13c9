// SPDX-License-Identifier: Apache-2.0
// The walker, the scales and the engine of GQSA, as recurrences (a part of tests/sim/test_oracle.c).

// SPEC F.4: a step per group, one for an empty row. An offset is read in the cycle in which the
// last step of the row before goes, or later; the first step goes in the cycle after, each into a
// register that is free or just being left. Malformed: a row whose offset falls is empty, and the
// next one starts where it would have (head of rtl/gqsa/sq_gqsa_walk.sv; SPEC refuses such a matrix).
static void predict_gqsa_walk(const struct input *in, struct prediction *w)
{
    uint64_t read = 0, went = 0, left = 0; // first cycles for the next offset, step, register
    size_t group = 0;
    uint32_t start = 0;
    bool opens = true; // row_index[0] comes next
    for (size_t i = 0; i < w->in[0].n && read < w->end; i++) {
        const uint32_t offset = (uint32_t)*field(in, 0, i, "offset");
        const uint64_t t = w->in[0].taken[i] = later(w->in[0].offered[i], read);
        const uint32_t n = opens || offset < start ? 0 : offset - start;
        read = t + 1;
        const uint32_t steps = opens ? 0 : n ? n : 1;
        for (uint32_t k = 0; k < steps; k++) {
            uint64_t step = later(t + 1, later(went, left));
            if (n > 0)
                step = later(step, offered(w, 1, group));
            if (step >= w->end) { // and so are all that follow
                read = NEVER;
                break;
            }
            if (n > 0)
                taken(w, 1, group++, step);
            left = give(w, step + 1);
            went = step + 1;
            read = step;
        }
        if (opens || offset > start)
            start = offset; // after a row whose offset falls the next one starts where it did
        opens = *field(in, 0, i, "last"); // of a matrix without rows row_index[0] is the last
    }
}

// F.5: the zero, a stage of its own; then integers, products, the sum over groups; then the output.
static void predict_gqsa_scale(const struct input *in, struct prediction *w)
{
    struct unit zero = {.depth = 1};
    predict_tail(in, w, (struct tail){.depth = 3}, &zero);
}

// A step is offered a cycle after the walker took its group, goes into the array, and as a tile of its
// own into the stage in front of the sums of a row. Returns when the array takes it; *tile becomes when
// its sums leave the array.
struct oracle_gqsa {
    struct tail array, rows;
    struct unit zero;
};

static inline uint64_t oracle_gqsa_step(struct oracle_gqsa *o, struct prediction *w, uint64_t shown,
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
// that of predict_gqsa_walk: the next offset is read as the last step of a row goes.
static void predict_engine_gqsa(const struct input *in, struct prediction *w)
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
}

SQ_ORACLE(gqsa_walk, predict_gqsa_walk)
SQ_ORACLE(gqsa_scale, predict_gqsa_scale)
SQ_ORACLE(engine_gqsa, predict_engine_gqsa)
