// SPDX-License-Identifier: Apache-2.0
// sq_core_act: activation SQ with a dynamic mask from INT8 codes on sq_core. A
// group is a job over a few tiles of tokens.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_act_quant.h"
#include "models/core/sq_format.h"
#include "models/core/sq_topk.h"
#include "sim/block/core/sq_core_act.block.h"
#include "sim/block/core/sq_core_act_sim.h"
#include "sim/block/core/sq_core_block.h"

static unsigned low_steps(const unsigned *v)
{
    return (v[BANK_LEN] + v[LOW_LANES] - 1) / v[LOW_LANES];
}

static struct sq_core_config core_config(const unsigned *v)
{
    return (struct sq_core_config){.rows = v[ROWS],
                                   .cols = v[COLS],
                                   .low_lanes = v[LOW_LANES],
                                   .high_lanes = v[HIGH_LANES],
                                   .act_bits = v[WEIGHT_W],
                                   .high_bits = v[HIGH_W],
                                   .low_bits = v[LOW_W],
                                   .bank = v[BANK_LEN],
                                   .high_per_bank = v[HIGH_PER_BANK],
                                   .gather = (enum sq_gather_arch)v[GATHER]};
}

// ---- records: last, passes, mul, shift, codes | weights | group_banks, groups -----------------

static size_t code_at(const unsigned *v, unsigned col)
{
    return at_code(v) + (size_t)col * v[BANK_LEN];
}

static size_t weight_at(const unsigned *v, unsigned row)
{
    return at_weight_code(v) + (size_t)row * v[LOW_LANES];
}

// ---- drawing --------------------------------------------------------------------------------

// The multiplier and shift of a token: around the ratio of the two widths, exact halves, any bits.
static void draw_ratio(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind, int32_t *mul,
                       int32_t *shift)
{
    const int32_t one = 1 << (v[MUL_W] - 2);
    *mul = one + (int32_t)sq_rng_below(rng, (uint32_t)one);
    *shift = (int32_t)(v[MUL_W] - 3 + v[HIGH_W] - v[LOW_W] + sq_rng_below(rng, 4));
    if (kind == SQ_STIMULUS_FEW) {
        *shift = 1 + (int32_t)sq_rng_below(rng, v[MUL_W] - 1);
        *mul = 1 << sq_rng_below(rng, (uint32_t)*shift);
    } else if (kind == SQ_STIMULUS_ILLEGAL) {
        *mul = sq_draw_bits(rng, v[MUL_W], false);
        *shift = (int32_t)sq_rng_below(rng, 1u << SHIFT_W);
    }
}

void sq_core_act_draw_bank(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                           int32_t *record)
{
    for (unsigned c = 0; c < v[COLS]; c++) {
        const int32_t few[3] = {0, sq_draw_code(rng, v[HIGH_W], SQ_STIMULUS_UNIFORM),
                                sq_draw_code(rng, v[HIGH_W], SQ_STIMULUS_UNIFORM)};
        draw_ratio(v, rng, kind, &record[at_mul(v) + c], &record[at_shift(v) + c]);
        for (unsigned i = 0; i < v[BANK_LEN]; i++) {
            int32_t *const code = &record[code_at(v, c) + i];
            *code = sq_draw_code(rng, v[HIGH_W], kind);
            if (kind == SQ_STIMULUS_FEW) // ties of both signs
                *code = few[sq_rng_below(rng, 3)] * (sq_rng_below(rng, 2) ? 1 : -1);
        }
    }
}

static void draw_group(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                       uint64_t number, int32_t *record, uint32_t *len)
{
    const size_t n = record_len(v);
    const unsigned tiles = 1 + sq_rng_below(rng, TILES_MAX);
    const unsigned group = 1 + sq_rng_below(rng, v[DEPTH]), most = v[DEPTH] / group;
    const unsigned limit = (1u << v[PASS_W]) - 1,
                   passes_max = limit < PASSES_MAX ? limit : PASSES_MAX;
    uint32_t uses = 0; // banks that the core works on
    (void)number;
    for (unsigned t = 0; t < tiles; t++) {
        const unsigned banks = group * (1 + sq_rng_below(rng, most));
        const unsigned passes = 1 + sq_rng_below(rng, passes_max);
        for (unsigned b = 0; b < banks; b++) {
            int32_t *const r = record + len[0]++ * n;
            r[0] = b + 1 == banks;
            r[1] = (int32_t)(r[0] ? passes : sq_rng_below(rng, limit + 1));
            sq_core_act_draw_bank(v, rng, kind, r);
        }
        uses += banks * passes;
    }
    len[1] = uses * low_steps(v);
    for (uint32_t s = 0; s < len[1]; s++)
        sq_draw_codes(rng, v[WEIGHT_W], kind,
                      at_group_banks(v) - weight_at(v, 0), // surplus lanes too
                      record + s * n + weight_at(v, 0));
    len[2] = 1;
    record[at_group_banks(v)] = (int32_t)group;
    record[at_group_banks(v) + 1] = (int32_t)(uses / group);
}

// ---- values ---------------------------------------------------------------------------------

struct operands {
    int8_t *weight, *lo, *hi;
};

// Allocates the operands of a tile of `banks` banks in one piece; the caller frees `weight`.
static struct operands operands_of(const unsigned *v, size_t banks)
{
    const size_t weights = v[ROWS] * v[BANK_LEN] * banks, codes = v[COLS] * v[BANK_LEN] * banks;
    int8_t *const all = malloc(weights + 2 * codes);
    assert(all);
    return (struct operands){all, all + weights, all + weights + codes};
}

// Codes of the `banks` records of a tile.
static void quantize_tile(const unsigned *v, const int32_t *record, uint32_t banks,
                          struct operands *o)
{
    for (uint32_t j = 0; j < banks; j++, record += record_len(v))
        for (unsigned c = 0; c < v[COLS]; c++) {
            const struct sq_act_quant q = {(int16_t)record[at_mul(v) + c],
                                           (unsigned)record[at_shift(v) + c], v[LOW_W], v[HIGH_W]};
            const size_t line = (size_t)j * v[COLS] + c;
            int8_t code[SQ_BANK_MAX];
            for (unsigned i = 0; i < v[BANK_LEN]; i++)
                code[i] = (int8_t)record[code_at(v, c) + i];
            sq_act_quant_bank(&q, code, v[BANK_LEN], v[HIGH_PER_BANK], o->lo + line * v[BANK_LEN],
                              o->hi + line * v[HIGH_PER_BANK]);
        }
}

// Weights of a pass, whose steps start at `record`.
static void take_weights(const unsigned *v, const int32_t *record, uint32_t banks,
                         struct operands *o)
{
    const unsigned steps = low_steps(v), lanes = v[LOW_LANES];
    for (uint32_t j = 0; j < banks; j++)
        for (unsigned r = 0; r < v[ROWS]; r++)
            for (unsigned i = 0; i < v[BANK_LEN]; i++)
                o->weight[((size_t)j * v[ROWS] + r) * v[BANK_LEN] + i] = (int8_t)
                    record[(j * steps + i / lanes) * record_len(v) + weight_at(v, r) + i % lanes];
}

// Groups of a tile that repeats, with its weights: of one bank, or one of whole tiles; their
// number.
static uint64_t golden_bank(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const struct sq_core_config config = core_config(v);
    const uint32_t depth = in->wrap[0];
    const size_t tile = (size_t)v[ROWS] * v[COLS];
    struct operands o = operands_of(v, depth);
    const struct sq_core_operands operands = {depth, o.weight, o.lo, o.hi};
    quantize_tile(v, in->record, depth, &o);
    take_weights(v, in->record, depth, &o);
    const uint32_t banks = (uint32_t)in->record[at_group_banks(v)];
    const bool is_whole = banks > 1; // tiles: a group is as the next one
    for (size_t i = 0; i < (size_t)TILES_MAX * v[DEPTH] * PASSES_MAX; i++, out += 2 * tile) {
        (void)sq_core_golden_tile(&config, &operands, is_whole ? 0 : (in->from + i) % depth,
                                  is_whole ? depth : 1, out, out + tile);
        for (size_t j = 0; is_whole && j < 2 * tile; j++)
            out[j] = (int32_t)((int64_t)out[j] * (banks / depth));
    }
    free(o.weight);
    return (uint32_t)in->record[at_group_banks(v) + 1];
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    if (in->wrap[0] > 0)
        return golden_bank(v, in, out);
    const int32_t *const record = in->record;
    const uint32_t *const len = in->len;
    const struct sq_core_config config = core_config(v);
    const uint32_t group = (uint32_t)record[at_group_banks(v)];
    const size_t n = record_len(v), tile = (size_t)v[ROWS] * v[COLS];
    const int32_t *const first_out = out, *weights = record;
    struct operands o = operands_of(v, v[DEPTH]);
    assert(v[BANK_LEN] <= SQ_BANK_MAX);
    for (uint32_t first = 0, banks = 1; first < len[0]; first += banks, banks = 1) {
        while (!record[(first + banks - 1) * n])
            banks++;
        assert(banks <= v[DEPTH]);
        const uint32_t passes = (uint32_t)record[(first + banks - 1) * n + 1];
        const struct sq_core_operands operands = {banks, o.weight, o.lo, o.hi};
        quantize_tile(v, record + first * n, banks, &o);
        for (uint32_t p = 0; p < passes; p++, weights += (size_t)banks * low_steps(v) * n) {
            take_weights(v, weights, banks, &o);
            for (uint32_t b = 0; b < banks; b += group, out += 2 * tile) {
                const uint64_t illegal =
                    sq_core_golden_tile(&config, &operands, b, group, out, out + tile);
                assert(illegal == 0);
                (void)illegal;
            }
        }
    }
    free(o.weight);
    return (uint64_t)(out - first_out) / (2 * tile);
}

// ---- the ends of sums and passes ------------------------------------------------------------

// A whole tile of the largest codes and weights.
static int64_t limit(const unsigned *v, size_t f)
{
    const int64_t low = (int64_t)(v[BANK_LEN] - v[HIGH_PER_BANK]) * sq_qmax(v[LOW_W]);
    const int64_t high = (int64_t)v[HIGH_PER_BANK] * sq_qmax(v[HIGH_W]);
    return v[DEPTH] * (f == 0 ? low : high) * sq_qmax(v[WEIGHT_W]);
}

// A bank of a tile whose codes all are qmax, and so clamped in the low part.
static void put_full_bank(const unsigned *v, bool is_last, uint32_t passes, int32_t *record)
{
    record[0] = is_last;
    record[1] = is_last ? (int32_t)passes : 0;
    for (unsigned c = 0; c < v[COLS]; c++) {
        record[at_mul(v) + c] = 1 << (v[MUL_W] - 2);
        record[at_shift(v) + c] = (int32_t)v[MUL_W] - 2;
        for (unsigned i = 0; i < v[BANK_LEN]; i++)
            record[code_at(v, c) + i] = sq_qmax(v[HIGH_W]);
    }
}

// Whole tiles used as often as the port can say, of both signs.
static enum sq_status draw_sums(struct sq_case *c, struct sq_error *err)
{
    const unsigned *const v = c->point->value;
    const uint32_t passes = (1u << v[PASS_W]) - 1, uses = v[DEPTH] * passes;
    const size_t n = (size_t)uses * low_steps(v), len = record_len(v);
    c->max_outputs = passes;
    SQ_TRY(sq_case_room(c, 2, n, err));
    for (size_t g = 0; g < 2; g++) {
        int32_t *const group = c->beats + g * n * len;
        for (uint32_t b = 0; b < v[DEPTH]; b++)
            put_full_bank(v, b + 1 == v[DEPTH], passes, group + b * len);
        for (size_t s = 0; s < n; s++)
            for (size_t i = weight_at(v, 0); i < at_group_banks(v); i++)
                group[s * len + i] = (g == 0 ? 1 : -1) * sq_qmax(v[WEIGHT_W]);
        group[at_group_banks(v)] = (int32_t)v[DEPTH];
        group[at_group_banks(v) + 1] = (int32_t)passes;
        c->len[g][0] = v[DEPTH];
        c->len[g][1] = (uint32_t)n;
        c->len[g][2] = 1;
    }
    return SQ_OK;
}

// Beats that a job takes over and over: a tile used once, the weights of its banks.
static void put_job(struct sq_case *c, struct sq_rng *rng, size_t g, uint32_t banks,
                    uint32_t groups)
{
    const unsigned *const v = c->point->value, steps = low_steps(v);
    const size_t n = (size_t)v[DEPTH] * steps, len = record_len(v);
    int32_t *const record = c->beats + g * n * len;
    for (uint32_t b = 0; b < v[DEPTH]; b++) {
        record[b * len] = b + 1 == v[DEPTH];
        record[b * len + 1] = 1;
        sq_core_act_draw_bank(v, rng, SQ_STIMULUS_UNIFORM, record + b * len);
    }
    for (size_t s = 0; s < n; s++)
        sq_draw_codes(rng, v[WEIGHT_W], SQ_STIMULUS_UNIFORM, at_group_banks(v) - weight_at(v, 0),
                      record + s * len + weight_at(v, 0));
    record[at_group_banks(v)] = (int32_t)banks;
    record[at_group_banks(v) + 1] = (int32_t)groups;
    c->len[g][2] = 1;
}

static enum sq_status alloc_jobs(struct sq_case *c, size_t n_jobs, struct sq_error *err)
{
    const unsigned *const v = c->point->value, steps = low_steps(v);
    c->n_groups = n_jobs;
    c->n_beats = n_jobs * v[DEPTH] * steps;
    c->wrap[0] = v[DEPTH];
    c->wrap[1] = v[DEPTH] * steps;
    return sq_case_alloc(c, err);
}

// Jobs of 2^n banks and of 2^n groups, and of one more, in turn, each cut off by a reset: a bit
// that is lost, at once or after a group, ends one early.
static enum sq_status draw_bits(struct sq_case *c, struct sq_rng *rng, struct sq_error *err)
{
    enum { FIRST = 6, BANKS = 2 * (16 - FIRST), JOBS = BANKS + 2 * (32 - FIRST) };
    const unsigned *const v = c->point->value;
    const unsigned high_steps = (v[HIGH_PER_BANK] + v[HIGH_LANES] - 1) / v[HIGH_LANES];
    c->reset_every = 24 + 4 * (v[HIGH_W] + low_steps(v) + high_steps);
    c->max_cycles = (uint64_t)JOBS * c->reset_every;
    SQ_TRY(alloc_jobs(c, JOBS, err));
    for (unsigned g = 0; g < JOBS; g++) {
        const unsigned at = g < BANKS ? g : g - BANKS;
        const uint32_t count = (UINT32_C(1) << (FIRST + at / 2)) + at % 2;
        put_job(c, rng, g, g < BANKS ? count : 1, g < BANKS ? 1 : count);
        c->len[g][0] = c->len[g][1] = UINT32_MAX;
    }
    return SQ_OK;
}

static uint32_t whole(uint32_t n, uint32_t of)
{
    return (n + of - 1) / of * of;
}

// Jobs to their ends whose counts have every other bit or all, of one or of several banks a group,
// with weights that wait now and then, longer than for a mask: a bit that depends on another one
// ends one too early, or never, and none comes right again by an even number of cycles. Of points
// whose banks take one step, as others would take long.
static enum sq_status draw_counts(struct sq_case *c, struct sq_rng *rng, struct sq_error *err)
{
    // groups of a bank, or of whole tiles
    static const struct sq_job job[] = {{1, 0x1556}, {0x1556, 1}, {1, 0x2aac}, {0x2aac, 1},
                                        {2, 0x2aa},  {2, 0x154},  {1, 0x1ffe}, {0x1ffe, 1},
                                        {1, 0x1556}, {1, 0x2aac}, {1, 0x1ffe}, {1, 0x3fe},
                                        {1, 0x3fe},  {1, 0x1fe},  {1, 0x1fe},  {1, 0xfe}};
    const unsigned *const v = c->point->value;
    const unsigned n_jobs = low_steps(v) == 1 ? SQ_LEN(job) : 0;
    SQ_TRY(alloc_jobs(c, n_jobs > 0 ? n_jobs : 1, err));
    put_job(c, rng, 0, v[DEPTH], 1);
    c->len[0][0] = c->len[0][1] = v[DEPTH] * low_steps(v);
    c->stall[1] = (struct sq_stall){SQ_STALL_RANDOM, 2 * v[HIGH_W]}; // a mask takes as many cycles
    for (unsigned g = 0; g < n_jobs; g++) {
        const bool is_one = job[g].group_banks == 1;
        const uint32_t banks = is_one ? 1 : whole(job[g].group_banks, v[DEPTH]);
        const uint32_t groups = is_one ? whole(job[g].groups, v[DEPTH]) : job[g].groups;
        put_job(c, rng, g, banks, groups);
        c->len[g][0] = c->len[g][1] = banks * groups;
    }
    return SQ_OK;
}

static enum sq_status draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err)
{
    return number == 0   ? draw_sums(c, err)
           : number == 1 ? draw_bits(c, rng, err)
                         : draw_counts(c, rng, err);
}

// ---- time -----------------------------------------------------------------------------------

static void init(const unsigned *v, void *state)
{
    const struct sq_core_config config = core_config(v);
    struct sq_pipeline topk;
    sq_topk_pipeline(&topk, v[TOPK], v[HIGH_W] - 1);
    sq_core_act_init(state, &config, topk.kind, topk.depth);
}

static struct sq_core_act_in core_in(const struct sq_offer *in, bool out_ready)
{
    return (struct sq_core_act_in){.act_valid = in[0].valid,
                                   .act_last = in[0].last,
                                   .act_passes = in[0].n,
                                   .weight_valid = in[1].valid,
                                   .job_valid = in[2].valid,
                                   .job = in[2].job,
                                   .out_ready = out_ready};
}

static void comb(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out)
{
    const struct sq_core_act_in core = core_in(in, out_ready);
    struct sq_core_act_out o;
    sq_core_act_comb(state, &core, &o);
    *out = (struct sq_handshake){{o.act_ready, o.weight_ready, o.job_ready}, o.out_valid};
}

static void clock(void *state, const struct sq_offer *in, bool out_ready)
{
    const struct sq_core_act_in core = core_in(in, out_ready);
    sq_core_act_clock(state, &core);
}

static const struct sq_timing timing = {sizeof(struct sq_core_act_sim), comb, clock};
