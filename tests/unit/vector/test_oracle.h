// SPDX-License-Identifier: Apache-2.0
// The attention unit, as recurrences (a part of tests/sim/test_oracle.c).

// A pass of `beats` over stream s, or over what is inside (s < 0), none before `free`; returns its last cycle.
static uint64_t attend_pass(struct prediction *w, int s, size_t *at, uint32_t beats, uint64_t free)
{
    for (uint32_t b = 0; b < beats; b++, free++) {
        if (s < 0)
            continue;
        free = later(free, offered(w, (unsigned)s, *at));
        taken(w, (unsigned)s, (*at)++, free);
    }
    return free - 1;
}

// SPEC R.5.
static void predict_attend(const struct input *in, struct prediction *w)
{
    const uint32_t ahead = param(in, "Ahead");
    uint64_t free = 0, latency = 20;
    size_t at[4] = {0};
    for (unsigned d = param(in, "HeadDim"); d > 1; d /= 2)
        latency += 4;
    while (at[0] < w->in[0].n && free < w->end) {
        const uint32_t beats = (uint32_t)*field(in, 0, at[0], "beats") + 1;
        const uint32_t keys = (uint32_t)*field(in, 0, at[0], "keys") + 1;
        const uint32_t heads = (uint32_t)*field(in, 0, at[0], "heads") + 1;
        const uint32_t wait =
            beats < 10 ? 10 - beats : 1; // from one pass over the accumulators to the next
        uint64_t e[32], values = 0;      // when an e is there; values may begin
        free = attend_pass(w, 0, &at[0], 1, free) + 1;
        free = attend_pass(w, 1, &at[1], heads * beats, free) + 1;
        for (uint32_t k = 0, v = 0; v < keys && free < w->end;) {
            if (k < keys && k - v < ahead) {
                free = attend_pass(w, 2, &at[2], beats, free) + 1;
                e[k++ % 32] = free - 1 + latency;
            } else {
                free =
                    attend_pass(w, 3, &at[3], beats, later(free, later(values, e[v++ % 32]))) + 1;
                values = free - 1 + wait;
            }
        }
        free = attend_pass(w, -1, NULL, beats, later(free, values) + 11) + wait;
        for (uint32_t b = 0; b < heads * beats && free < w->end; b++)
            free = give(w, free) + 1;
    }
}

SQ_ORACLE(attend, predict_attend)
