// SPDX-License-Identifier: Apache-2.0
// sq_operand_buffer: a group is a half, filled once and read by one job or by several that keep it.
#include <assert.h>
#include <string.h>

#include "sim/block/top/sq_operand_buffer.block.h"
#include "sim/block/top/sq_operand_buffer_sim.h"

enum { BASE, ROWS, COLS, BEATS, ROW_STRIDE, COL_STRIDE, BEAT_STRIDE, KEEP, N_JOB };

static unsigned bytes(const unsigned *v)
{
    return v[WIDTH] / 8;
}

// ---- what comes in ----------------------------------------------------------------------------

static uint32_t size_of(const int32_t *job)
{
    return (uint32_t)(job[ROWS] * job[COLS] * job[BEATS]);
}

// The place of a beat, before it is taken modulo 2^AddrW.
static uint32_t place(const int32_t *job, uint32_t row, uint32_t col, uint32_t beat)
{
    return (uint32_t)job[BASE] + row * (uint32_t)job[ROW_STRIDE] + col * (uint32_t)job[COL_STRIDE] +
           beat * (uint32_t)job[BEAT_STRIDE];
}

static uint32_t below(struct sq_rng *rng, uint32_t n)
{
    return n > 1 ? sq_rng_below(rng, n) : 0;
}

// A job over `filled` places: as a tile of rows or of columns is laid out, so that one of the outer
// counters repeats what the other walks over; or with any strides, backwards as well.
static void draw_job(const unsigned *v, struct sq_rng *rng, uint32_t filled, int32_t *job)
{
    const uint32_t mask = (UINT32_C(1) << sq_bits_below(v[DEPTH])) - 1;
    const uint32_t most = (UINT32_C(1) << v[COUNT_W]) - 1;
    const uint32_t beats = 1 + below(rng, filled < most ? filled : most);
    const uint32_t walks = filled / beats < COUNT_MAX ? filled / beats : COUNT_MAX;
    const uint32_t repeats = 1 + sq_rng_below(rng, COUNT_MAX);
    const bool by_rows = sq_rng_below(rng, 2), is_backwards = sq_rng_below(rng, 4) == 0;
    const uint32_t n = 1 + below(rng, walks), room = filled - n * beats;
    const uint32_t gap = n > 1 ? below(rng, room / (n - 1) + 1) : 0;
    const uint32_t base = below(rng, room - gap * (n - 1) + 1), step = beats + gap;
    job[BASE] = (int32_t)(is_backwards ? base + (n - 1) * step + beats - 1 : base);
    job[ROWS] = (int32_t)(by_rows ? n : repeats);
    job[COLS] = (int32_t)(by_rows ? repeats : n);
    job[BEATS] = (int32_t)beats;
    const uint32_t stride = (is_backwards ? 0 - step : step) & mask;
    job[ROW_STRIDE] = (int32_t)(by_rows ? stride : 0);
    job[COL_STRIDE] = (int32_t)(by_rows ? 0 : stride);
    job[BEAT_STRIDE] = (int32_t)((is_backwards ? 0u - 1u : 1u) & mask);
    if (n == 1) // strides that are added but never lead to a place that is read
        job[by_rows ? ROW_STRIDE : COL_STRIDE] =
            sq_field_unsigned((uint32_t)sq_rng_next(rng), 31) & (int32_t)mask;
}

static void draw_group(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                       uint64_t number, int32_t *record, uint32_t *len)
{
    const size_t n = record_len(v);
    (void)number;
    len[0] = 1 + (sq_rng_below(rng, 3) == 0 ? sq_rng_below(rng, JOBS_MAX) : 0);
    len[1] = kind == SQ_STIMULUS_EXTREME ? v[DEPTH] : 1 + sq_rng_below(rng, v[DEPTH]);
    for (uint32_t j = 0; j < len[0]; j++) {
        draw_job(v, rng, len[1], record + j * n);
        record[j * n + KEEP] = j + 1 < len[0];
    }
    for (uint32_t i = 0; i < len[1]; i++) {
        int32_t *const beat = record + i * n + N_JOB;
        for (unsigned b = 0; b < bytes(v); b++)
            beat[b] = kind == SQ_STIMULUS_FEW ? (int32_t)i : (int32_t)(sq_rng_next(rng) & 0xff);
        beat[bytes(v)] = kind == SQ_STIMULUS_ILLEGAL && sq_rng_below(rng, 3) == 0;
        beat[bytes(v) + 1] = i + 1 == len[1];
    }
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const size_t n = record_len(v), data = bytes(v);
    const uint32_t mask = (UINT32_C(1) << sq_bits_below(v[DEPTH])) - 1;
    uint64_t n_out = 0;
    for (uint32_t j = 0; j < in->len[0]; j++) {
        const int32_t *const job = in->record + j * n;
        for (uint32_t i = 0; i < size_of(job); i++, n_out++) {
            const uint32_t beats = (uint32_t)job[BEATS], cols = (uint32_t)job[COLS];
            const uint32_t beat = i % beats, col = i / beats % cols, row = i / beats / cols;
            const uint32_t at = place(job, row, col, beat) & mask;
            const int32_t *const filled = in->record + at * n + N_JOB;
            assert(at < in->len[1]);
            for (size_t b = 0; b < data; b++)
                *out++ = filled[b];
            *out++ = beat + 1 == beats;
        }
    }
    return n_out;
}

// The last job goes; then jobs become smaller: one row, one column, one beat.
static bool cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)
{
    static const unsigned count[] = {ROWS, COLS, BEATS};
    if (way == 0 && len[0] > 1) {
        len[0]--;
        record[(len[0] - 1) * record_len(v) + KEEP] = 0;
        return true;
    }
    if (way < 1 || way > SQ_LEN(count) || record[count[way - 1]] == 1)
        return false;
    record[count[way - 1]] = 1;
    return true;
}

// ---- when ---------------------------------------------------------------------------------------

struct state {
    struct sq_operand_buffer_sim sim;
    uint32_t mask, data; // of a place; bytes of a beat
    bool poison[2][DEPTH_MAX];
    uint32_t fill, at[3]; // the place that is filled; beats, columns, rows that the job has read
    int32_t job[N_JOB];
    bool came[2]; // a poisoned beat was read a cycle ago, two cycles ago
};

static void init(const unsigned *v, void *state)
{
    struct state *s = state; // zeroed: both halves are empty
    s->mask = (UINT32_C(1) << sq_bits_below(v[DEPTH])) - 1;
    s->data = bytes(v);
}

static void offer(const unsigned *v, unsigned stream, const int32_t *record, struct sq_offer *o)
{
    o->n = stream == 0 ? size_of(record) : 0;
    o->last = stream == 0 ? record[KEEP] : record[N_JOB + bytes(v) + 1];
}

static void comb(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out)
{
    const struct sq_operand_buffer_sim *s = &((const struct state *)state)->sim;
    (void)in;
    (void)out_ready;
    out->in_ready[0] = sq_operand_buffer_takes_job(s);
    out->in_ready[1] = sq_operand_buffer_has_room(s);
    out->out_valid = sq_operand_buffer_offers(s);
}

// What is poisoned: of the place that is filled, and of the one that the job reads.
static void clock_poison(struct state *s, const struct sq_offer *in)
{
    static const unsigned count[] = {BEATS, COLS, ROWS};
    const bool reads = sq_operand_buffer_reads(&s->sim);
    s->came[1] = s->came[0];
    s->came[0] =
        reads && s->poison[s->sim.read][place(s->job, s->at[2], s->at[1], s->at[0]) & s->mask];
    for (unsigned i = 0; reads && i < SQ_LEN(count); i++) {
        if (++s->at[i] < (uint32_t)s->job[count[i]])
            break;
        s->at[i] = 0;
    }
    if (in[0].valid && sq_operand_buffer_takes_job(&s->sim))
        memcpy(s->job, in[0].beat, sizeof s->job);
    if (in[1].valid && sq_operand_buffer_has_room(&s->sim)) {
        s->poison[s->sim.fill][s->fill] = in[1].beat[s->data];
        s->fill = in[1].last ? 0 : s->fill + 1;
    }
}

static void clock(void *state, const struct sq_offer *in, bool out_ready)
{
    struct state *s = state;
    clock_poison(s, in);
    sq_operand_buffer_clock(&s->sim, in[0].valid ? in[0].n : 0, in[0].last,
                            in[1].valid && in[1].last, out_ready);
}

static void status(const unsigned *v, const void *state, const struct sq_group *due, int32_t *out)
{
    (void)v;
    (void)due;
    out[0] = ((const struct state *)state)->came[1];
}

static const struct sq_timing timing = {sizeof(struct state), comb, clock};

// sq_sram knows macros of five sizes.
static enum sq_status settle(unsigned *v, const unsigned *old, uint32_t given, struct sq_error *err)
{
    const unsigned n = v[MACRO];
    (void)old;
    (void)given;
    if (n == 0 || n == 64 || n == 256 || n == 512 || n == 1024 || n == 2048)
        return SQ_OK;
    return SQ_FAIL(err, SQ_ERR_ARG, "Macro = %u, need 0, 64, 256, 512, 1024 or 2048 words", n);
}
