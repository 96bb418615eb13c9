// SPDX-License-Identifier: Apache-2.0
// sq_top: the chip. It has no streams of its own; a host and a memory are its environment, which bring the
// layers and look at what comes (sq_top_host.h).
#include "models/array/sq_array.h"
#include "sim/block/flow/sq_case.h"
#include "sim/block/scaled/sq_scaled_codes.h"
#include "sim/block/top/sq_top_host.h"
#include "sim/block/top/sq_top_sim.h"

// bus | rows, columns, bank | bits of codes | layout, high codes and their bits, coded activations, one sum, scales |
// what leaves, outputs a word | halves of buffers: beats, tiles of sums | DMA: burst, outstanding, writes, quiet | macro |
// of block-scaled formats: element, scale, what stores high codes | where counters begin
#define DENSE SQ_ARRAY_DENSE, 1, 4, 0, 1, SQ_COMBINE_ONE
#define B32 SQ_OUTPUT_BINARY32
#define BF16 SQ_OUTPUT_BFLOAT16
#define BELOW_CARRY 0xfffffff8u // eight below the high word of a counter
#define ATTEND(heads, int8, log) (heads) + 16 * (int8) + 32 * (log) // sq_ta_param
#define SCALED(high) SQ_ARRAY_DENSE, high, 8, 0, 1, SQ_COMBINE_FLOAT
// clang-format off
static const struct sq_point points[] = {
    {"w8a8", true, {64, 2, 2, 4, 8, 8, DENSE, B32, 1, 32, 32, 32, 32, 9, 16, 4, 4, 400, 0, [SQ_TOP_VECTOR] = 1, [SQ_TOP_ATTEND] = ATTEND(2, 0, 4)}},
    {"w4a8", true, {32, 2, 1, 4, 8, 4, DENSE, SQ_OUTPUT_INT8, 2, 4096, 4096, 4096, 4096, 8, 4, 2, 1, 512, 0, 0, 0, 0, 0, 1, 1}},
    {"own", true, {64, 2, 2, 8, 8, 4, SQ_ARRAY_SENTINEL, 2, 8, 0, 0, SQ_COMBINE_TWO, B32, 2, 32, 9, 24, 20, 9, 16, 4, 2, 400, 0, 0, 0, 0, 0, 1}},
    {"nvfp4", true, {64, 2, 2, 16, 4, 4, SCALED(0), B32, 2, 32, 32, 32, 32, 9, 16, 4, 4, 400, 0, SQ_SCALED_E2M1, SQ_SCALED_E4M3, SQ_SCALED_SPLIT, BELOW_CARRY, 0, 2}},
    {"sq_b", true, {32, 1, 2, 16, 4, 4, SCALED(2), BF16, 2, 32, 32, 32, 32, 9, 8, 2, 3, 400, 0, SQ_SCALED_INT4, SQ_SCALED_E4M3, SQ_SCALED_OWN, 0, 0, 2, [SQ_TOP_VECTOR] = 1, [SQ_TOP_ATTEND] = ATTEND(1, 1, 4)}},
    {"gqsa", true, {64, 2, 1, 4, 8, 4, SQ_TOP_KEPT, 1, 4, 0, 1, SQ_COMBINE_ONE, B32, 2, 32, 9, 24, 20, 2, 16, 4, 2, 400, 0}},
    {"deep", false, {32, 8, 1, 16, 8, 4, DENSE, BF16, 2, 4096, 4096, 4096, 4096, 8, 256, 4, 4, 256, 0}},
    {"wide", false, {128, 4, 4, 16, 8, 8, DENSE, B32, 4, 64, 64, 64, 64, 16, 64, 8, 16, 400, 0, [SQ_TOP_VECTOR] = 1, [SQ_TOP_ATTEND] = ATTEND(4, 0, 6)}},
    {"broad", false, {512, 4, 4, 16, 8, 4, DENSE, BF16, 4, 64, 16, 128, 16, 16, 8, 4, 4, 400, 0, 0, 0, 0, 0, 0, 4}},
    {"sp24", false, {32, 2, 1, 8, 8, 8, SQ_ARRAY_SP24, 1, 8, 0, 1, SQ_COMBINE_ONE, BF16, 2, 16, 16, 16, 16, 4, 8, 2, 4, 400, 0}},
    {"split", false, {32, 2, 2, 8, 8, 4, SQ_ARRAY_SPLIT, 2, 4, 0, 1, SQ_COMBINE_ONE, SQ_OUTPUT_INT8, 4, 32, 32, 32, 32, 9, 16, 4, 4, 400, 0}},
    {"block", true, {64, 3, 1, 32, 4, 4, SCALED(4), B32, 1, 32, 16, 16, 16, 4, 4, 2, 1, 400, 0, SQ_SCALED_E2M1, SQ_SCALED_E4M3, SQ_SCALED_BLOCK}},
    {"nibbles", false, {32, 2, 2, 16, 4, 4, SCALED(2), SQ_OUTPUT_INT8, 4, 32, 32, 32, 32, 9, 16, 4, 4, 400, 0, SQ_SCALED_INT4, SQ_SCALED_E8M0, SQ_SCALED_SPLIT, 0, 0, 1}},
    {"razer", false, {32, 2, 2, 16, 4, 4, SCALED(0), BF16, 2, 32, 32, 32, 32, 9, 8, 2, 3, 400, 0, SQ_SCALED_RAZER, SQ_SCALED_E4M3, SQ_SCALED_SPLIT, 0, 0, 2, SQ_SCALED_SIGN}},
    {"hif4", false, {64, 1, 2, 64, 4, 4, SCALED(0), B32, 2, 32, 32, 32, 32, 9, 16, 4, 4, 400, 0, SQ_HIF4, SQ_SCALED_E6M2, SQ_SCALED_SPLIT, 0, [SQ_PARAMS_MAX] = SQ_HIF4_WORDS}},
    {"awq", false, {64, 2, 1, 16, 4, 4, SCALED(0), BF16, 2, 32, 32, 32, 32, 9, 16, 4, 4, 400, 0, SQ_ZERO4, SQ_SCALED_F16, SQ_SCALED_SPLIT, [SQ_PARAMS_MAX] = SQ_ZERO4_WORDS}},
    {"scaled", true, {64, 3, 2, 8, 4, 4, SQ_ARRAY_COMPACT, 2, 8, 1, 0, SQ_COMBINE_SCALED, B32, 1, 32, 32, 32, 32, 9, 16, 4, 2, 400, 0, 0, 0, 0, 0, 1, 2}},
};
// clang-format on

static void ports(const unsigned *v, struct sq_ports *p)
{
    static const char *const ask[] = {"m_axi_ar", "m_axi_aw", "m_axi_w", "s_axil_b", "s_axil_r"};
    static const char *const reply[] = {"m_axi_r", "m_axi_b", "s_axil_aw", "s_axil_w", "s_axil_ar"};
    const struct sq_field lite_ask[] = {
        {"resp", 1, 2, true}, {"data", 1, 32, true}, {"resp", 1, 2, true}};
    const struct sq_field lite_reply[] = {
        {"addr", 1, 8, true}, {"data", 1, 32, true}, {"strb", 1, 4, true}, {"addr", 1, 8, true}};
    *p = (struct sq_ports){.n_status = 1, .status = {{"irq", 1, 1, true}}};
    sq_axi_ports(v[SQ_TOP_DATA_W], p);
    p->ask[SQ_LITE_B].n_fields = 1;
    p->ask[SQ_LITE_R].n_fields = 2;
    p->reply[SQ_LITE_AW].n_fields = p->reply[SQ_LITE_AR].n_fields = 1;
    p->reply[SQ_LITE_W].n_fields = 2;
    for (size_t i = 0; i < SQ_LEN(ask); i++)
        p->ask[i].name = ask[i];
    for (size_t i = 0; i < SQ_LEN(reply); i++)
        p->reply[i].name = reply[i];
    for (size_t i = 0; i < SQ_LEN(lite_ask); i++)
        p->ask_field[p->n_ask++] = lite_ask[i];
    for (size_t i = 0; i < SQ_LEN(lite_reply); i++)
        p->reply_field[p->n_reply++] = lite_reply[i];
}

static enum sq_status draw_case(struct sq_case *c, struct sq_rng *rng, struct sq_error *err)
{
    (void)rng;
    return sq_case_alloc(c, err); // the environment brings the work
}

// Every fault in every beat of a short layer, with four memories; every wrong descriptor; an error of sums that
// are kept while outputs wait for a memory that is slow to take them; the longest transfers; a write that clears interrupts
// in every cycle around the end of a layer; a reset in every cycle of a layer, behind one that was whole; an abort in
// every cycle of a ring of two layers, and of one whose buffers are full; a watchdog of every length; a reset in every
// cycle of a ring; a ring of more than 256 slots; encoders, vectors and attentions, right and
// wrong, those with masks behind a memory that is slow to take a beat, longer than a mask takes; rings of random layers.
enum {
    MEMORIES = 4,
    REFUSED = MEMORIES,
    KEPT,
    DEEP,
    CLEARS,
    RESETS,
    ABORTS,
    SLOW_ABORTS,
    EXPIRES,
    RING_RESETS,
    LONG_RING,
    ENCODERS,
    SOME_RINGS,
    DIRECTED
};
enum { RESET_EVERY = 600, N_RESETS = 400, EVERY = 80, N_RINGS = 24 };
static enum sq_status draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err)
{
    const struct sq_env_choice memory[MEMORIES] = {
        {.n = {0}}, {.kind = 1, .n = {40, 1, 2, 64}}, {.kind = 2, .n = {1}}, {.kind = 2, .n = {2}}};
    const bool has_masks = c->point->value[SQ_TOP_ON_ACTS];
    const struct sq_env_choice work[DIRECTED - MEMORIES] = {
        [REFUSED - MEMORIES] = {.what = SQ_HOST_REFUSED, .end = SQ_HOST_N_REFUSED},
        [KEPT - MEMORIES] = {.kind = SQ_AXI_LAZY,
                             .n = {EVERY},
                             .what = SQ_HOST_KEPT,
                             .end = SQ_HOST_N_KEPT},
        [DEEP - MEMORIES] = {.what = SQ_HOST_DEEP, .end = SQ_HOST_N_DEEP},
        [CLEARS - MEMORIES] = {.what = SQ_HOST_CLEARS, .end = SQ_HOST_N_CLEARS},
        [RESETS - MEMORIES] = {.what = SQ_HOST_LATE, .end = N_RESETS},
        [ABORTS - MEMORIES] = {.what = SQ_HOST_RINGS + SQ_RING_ABORTS, .end = SQ_RING_N_ABORTS},
        [SLOW_ABORTS - MEMORIES] = {.kind = SQ_AXI_LAZY,
                                    .n = {EVERY / 4},
                                    .what = SQ_HOST_RINGS + SQ_RING_ABORTS,
                                    .end = SQ_RING_N_SLOW},
        [EXPIRES - MEMORIES] = {.kind = 1,
                                .n = {0, 0, 1, 64},
                                .what = SQ_HOST_RINGS + SQ_RING_EXPIRES,
                                .end = SQ_RING_N_EXPIRES},
        [RING_RESETS - MEMORIES] = {.what = SQ_HOST_RINGS + SQ_RING_LATE, .end = N_RESETS},
        [LONG_RING - MEMORIES] = {.what = SQ_HOST_RINGS + SQ_RING_LONG, .end = SQ_RING_N_LONG},
        [ENCODERS - MEMORIES] = {.kind = has_masks ? SQ_AXI_LAZY : 2,
                                 .n = {has_masks ? EVERY / 4 : 1},
                                 .what = SQ_HOST_RINGS + SQ_RING_ENCODES,
                                 .end = sq_ring_n_encodes(c->point->value)},
        [SOME_RINGS -
            MEMORIES] = {.kind = 2, .n = {1}, .what = SQ_HOST_RINGS + SQ_RING_ANY, .end = N_RINGS}};
    c->env = number < MEMORIES ? memory[number] : work[number - MEMORIES];
    c->env.seed = sq_rng_next(rng);
    if (number < MEMORIES) {
        c->env.what = SQ_HOST_FAULTS;
        c->env.end = sq_host_n_faults(c->point->value);
    }
    c->reset_every = number == RESETS || number == RING_RESETS ? RESET_EVERY : 0;
    return sq_case_alloc(c, err);
}

static void comb(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out)
{
    (void)state;
    (void)in;
    (void)out_ready;
    *out = (struct sq_handshake){.out_valid = false};
}

static void status(const unsigned *v, const void *state, const struct sq_group *due, int32_t *value)
{
    (void)v;
    (void)due;
    value[0] = sq_top_regs_irq(&((const struct sq_top_sim *)state)->regs);
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    (void)v;
    (void)in;
    (void)out;
    return 0; // nothing leaves but to the environment
}

static const char *source(const unsigned *v, FILE *out)
{
    const unsigned element = v[SQ_TOP_ELEMENT];
    return sq_top_is_scaled(v) ? sq_scaled_write_source(v, element, element, out) : NULL;
}

static const struct sq_timing timing = {sizeof(struct sq_top_sim), comb, sq_top_clock};

// clang-format off
// Parts of the chip of the defaults of sq_top, a part of a line; they take no weights.
static const struct sq_area_unit area[] = {
    {"sequencer", "sq_sequencer", 0, false, {{"DataW", 64}, {"ActDepth", 64}}},
    {"block_walk", "sq_block_walk", 0, false, {{0}}},
    {"top_regs", "sq_top_regs", 0, false, {{"BankLen", 4}, {"ActDepth", 64}}},
    {"top_operand", "sq_top_operand", 0, false, {{"DataW", 64}, {"Width", 64}, {"Depth", 16}}},
    {"gear", "sq_gear", 0, false, {{"InW", 64}, {"OutW", 144}}},
    {"top_vector", "sq_top_vector", 0, false, {{"DataW", 64}}},
    {"top_attend", "sq_top_attend", 0, false, {{"DataW", 64}, {"Attend", ATTEND(1, 0, 5)}}},
    {"fifo", "sq_fifo", 0, false, {{"Width", 64}, {"Depth", 16}}},
};
// clang-format on

const struct sq_block sq_top_block = {
    .name = "top",
    .top = "sq_top",
    .group = "layer",
    .param = {"DataW",    "Rows",        "Cols",        "BankLen",    "ActW",        "WeightW",
              "Layout",   "HighPerBank", "HighW",       "OnActs",     "OneAcc",      "Form",
              "OutKind",  "PortLen",     "ActDepth",    "RowDepth",   "WeightDepth", "ColDepth",
              "SumTiles", "MaxBurst",    "Outstanding", "Writes",     "Quiet",       "Macro",
              "Element",  "Scale",       "High",        "CountStart", "Parts",       "Encode",
              "Choose",   "BlockSum",    "Vector",      "Attend",     NULL},
    SQ_ROWS(points),
    SQ_ROWS(area),
    .coverage_cases = 150,
    .source = source,
    .ports = ports,
    .draw_case = draw_case,
    .n_directed = DIRECTED,
    .draw_directed = draw_directed,
    .golden = golden,
    .timing = &timing,
    .env = &sq_top_host,
    .ask = sq_top_ask,
    .init = sq_top_init,
    .status = status,
};
