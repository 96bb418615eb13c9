// SPDX-License-Identifier: Apache-2.0
// The decoders, the index unit and the engine of SpQt, as recurrences (a part of tests/sim/test_oracle.c).

// G.3: 16 bytes of a superblock of 144 are kept and give nothing; the others leave a cycle later.
// One place, which everything waits for.
static void predict_q4k_dec(const struct input *in, struct prediction *w)
{
    const size_t bytes = param(in, "Bytes");
    uint64_t came = 0, left = 0;
    for (size_t i = 0; i < w->in[0].n && came < w->end; i++) {
        w->in[0].taken[i] = later(w->in[0].offered[i], later(came, left));
        came = w->in[0].taken[i] + 1;
        if (i * bytes % 144 >= 16)
            left = give(w, came);
    }
}

static uint32_t kept(const struct input *in, size_t i)
{
    const unsigned n = param(in, "SegLen");
    const bool fp16 = param(in, "Fp16");
    const int32_t *x = field(in, 0, i, "x");
    const int32_t theta = *field(in, 0, i, "theta");
    uint32_t sum = 0;
    for (unsigned e = 0; e < n; e++)
        sum += (fp16 ? x[e] & 0x7fff : abs(x[e])) >= theta;
    return sum;
}

// SPEC G.6: threshold and ranks, two stages, each moves where the next one is free; then a buffer
// that takes a segment when fewer than Lanes indices stay, and gives Lanes a beat, at the end of a
// vector what is left, in at least one beat.
static void predict_spqt_idx(const struct input *in, struct prediction *w)
{
    const uint32_t lanes = param(in, "Lanes");
    uint64_t ranked = 0, buffered = 0, room = 0, went = 0;
    uint32_t stay = 0;
    for (size_t i = 0; i < w->in[0].n; i++) {
        const uint64_t t = w->in[0].taken[i] =
            later(w->in[0].offered[i], later(i > 0 ? w->in[0].taken[i - 1] + 1 : 0, ranked));
        if (t >= w->end)
            break;
        ranked = later(t + 1, buffered);
        buffered = later(ranked + 1, room);
        uint32_t held = stay + kept(in, i);
        const bool last = *field(in, 0, i, "last");
        room = buffered + 1;
        for (bool ends = last; held >= lanes || ends;) {
            const uint32_t beat = held < lanes ? held : lanes;
            went = give(w, later(went, buffered + 1));
            room = later(room, went++);
            held -= beat;
            ends = ends && held > 0;
        }
        stay = held;
    }
}

// Segments from the cycle after the job on; then predict_spqt_idx, whose beats go at once. Returns the
// cycle in which the last columns of job j are found, *n of them; *act is the next segment.
static inline uint64_t oracle_spqt_find(const struct input *in, struct prediction *w, size_t j,
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
static void predict_engine_spqt(const struct input *in, struct prediction *w)
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
}

SQ_ORACLE(q4k_dec, predict_q4k_dec)
SQ_ORACLE(q4k_weight, predict_two_stages)
SQ_ORACLE(spqt_idx, predict_spqt_idx)
SQ_ORACLE(engine_spqt, predict_engine_spqt)
