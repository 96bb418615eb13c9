// SPDX-License-Identifier: Apache-2.0
// sq_array_stored: split codes on activations whose masks are stored: a mask unit and a stage, a
// store, an array whose second operand is the second input stream.
#include "sim/block/array/sq_array_stored_block.h"

#include <string.h>

#include "models/core/sq_format.h"
#include "models/core/sq_topk.h"
#include "sim/block/array/sq_split_act.h"
#include "sim/block/flow/sq_case.h"

enum { ROWS, COLS, BANKS, BANK, HIGH, WEIGHT_W, TOPK, GATHER, DEPTH, PASS_W };
enum { PASSES_MAX = 12, TILE_PASSES = 5 };

// rows, cols, banks a beat, bank, k, weight bits, TopK, log gather, beats of a tile, bits of passes
static const struct sq_point points[] = {
    {"radix", true, {2, 2, 1, 8, 2, 4, SQ_TOPK_RADIX, 0, 4, 4}},
    {"rank", true, {1, 2, 1, 8, 2, 4, SQ_TOPK_RANK, 0, 3, 4}},
    {"radix_2b8", false, {2, 1, 2, 8, 1, 4, SQ_TOPK_RADIX, 0, 6, 8}},
    {"radix_b16", false, {1, 1, 1, 16, 4, 4, SQ_TOPK_RADIX, 1, 1, 8}},
};

static void ports(const unsigned *v, struct sq_ports *p)
{
    const size_t beat = (size_t)v[BANKS] * v[BANK];
    *p = (struct sq_ports){.stream = {{"in", 3}, {"weight", 1}},
                           .macs = (double)v[ROWS] * v[COLS] * (double)beat,
                           .mac_stream = 1,
                           .n_in = 4,
                           .n_out = 1,
                           .in = {{"last", 1, 1, true},
                                  {"passes", 1, v[PASS_W], true},
                                  {"act", v[ROWS] * beat, 8, false},
                                  {"code", v[COLS] * beat, v[WEIGHT_W], false}},
                           .out = {{"p", (size_t)v[ROWS] * v[COLS], 32, false}},
                           .records = (size_t)v[DEPTH] * PASSES_MAX,
                           .outputs = PASSES_MAX};
}

static void draw_group(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                       uint64_t number, int32_t *record, uint32_t *len)
{
    const size_t acts = (size_t)v[ROWS] * v[BANKS] * v[BANK];
    const size_t weights = (size_t)v[COLS] * v[BANKS] * v[BANK];
    uint32_t passes;
    (void)number;
    len[0] = sq_buffer_draw_tile(rng, kind, v[DEPTH], TILE_PASSES, &passes);
    if (sq_rng_below(rng, 2)) // about as often as the radix unit needs
        passes = 1 + sq_rng_below(rng, PASSES_MAX);
    len[1] = len[0] * passes;
    for (uint32_t i = 0; i < len[1]; i++, record += 2 + acts + weights) {
        sq_draw_codes(rng, v[WEIGHT_W], kind, weights, record + 2 + acts);
        if (i >= len[0])
            continue;
        record[0] = i + 1 == len[0];
        record[1] = (int32_t)(i + 1 == len[0] ? passes : sq_rng_below(rng, 1u << v[PASS_W]));
        for (size_t a = 0; a < acts; a++)
            record[2 + a] = sq_split_draw(rng, kind);
    }
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const int32_t *const record = in->record;
    const uint32_t *const len = in->len;
    const size_t line = (size_t)v[BANKS] * v[BANK];
    const size_t n = 2 + (v[ROWS] + v[COLS]) * line;
    for (uint32_t first = 0; first < len[1]; first += len[0])
        for (unsigned r = 0; r < v[ROWS]; r++)
            for (unsigned c = 0; c < v[COLS]; c++) {
                uint32_t p = 0;
                for (uint32_t i = 0; i < len[0]; i++)
                    sq_split_add(v[BANKS], v[BANK], v[HIGH], record + i * n + 2 + r * line,
                                 record + (first + i) * n + 2 + (v[ROWS] + c) * line, &p);
                *out++ = (int32_t)p;
            }
    return len[1] / len[0];
}

// ---- the ends of sums and passes ------------------------------------------------------------

// A whole tile of the largest code and weight.
static int64_t limit(const unsigned *v, size_t f)
{
    (void)f;
    return v[DEPTH] * v[BANKS] * sq_split_bank_max(v[BANK], v[HIGH]) * sq_qmax(v[WEIGHT_W]);
}

// Whole tiles used as often as the port can say, of both signs.
static enum sq_status draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err)
{
    const unsigned *const v = c->point->value;
    const size_t acts = (size_t)v[ROWS] * v[BANKS] * v[BANK];
    const size_t weights = (size_t)v[COLS] * v[BANKS] * v[BANK];
    const uint32_t passes = (1u << v[PASS_W]) - 1, n = v[DEPTH] * passes;
    (void)number;
    (void)rng;
    c->n_groups = 2;
    c->n_beats = 2 * (size_t)n;
    c->max_outputs = passes;
    SQ_TRY(sq_case_alloc(c, err));
    int32_t *record = c->beats;
    for (size_t i = 0; i < c->n_beats; i++, record += 2 + acts + weights) {
        const bool is_last = i % n == v[DEPTH] - 1;
        record[0] = is_last;
        record[1] = is_last ? (int32_t)passes : 0;
        for (size_t a = 0; a < acts; a++)
            record[2 + a] = SQ_SPLIT_PORT_MIN;
        for (size_t w = 0; w < weights; w++)
            record[2 + acts + w] = (i < n ? 1 : -1) * sq_qmax(v[WEIGHT_W]);
    }
    for (size_t g = 0; g < 2; g++) {
        c->len[g][0] = v[DEPTH];
        c->len[g][1] = n;
    }
    return SQ_OK;
}

// What passes between the parts in a cycle.
struct wires {
    struct sq_pipeline_out mask, array;
    bool has_place, has_beat; // of the store
    bool write, give;         // a beat enters the store; leaves it
    bool array_in;            // the array is offered a beat
};

static struct wires wires_of(const struct sq_array_stored_sim *s, const struct sq_offer *in,
                             bool out_ready)
{
    struct wires w = {.has_place = sq_buffer_has_place(&s->store),
                      .has_beat = sq_buffer_has_beat(&s->store)};
    sq_mask_comb(&s->mask, w.has_place, &w.mask);
    sq_pipeline_comb(&s->array, out_ready, &w.array);
    w.write = w.mask.out_valid && w.has_place;
    w.array_in = w.has_beat && in[1].valid;
    w.give = w.array_in && w.array.in_ready;
    return w;
}

void sq_array_stored_init(struct sq_array_stored_sim *s, unsigned arch)
{
    struct sq_pipeline topk;
    memset(s, 0, sizeof *s);
    sq_topk_pipeline(&topk, arch, SQ_SPLIT_MAG_W);
    sq_mask_init(&s->mask, topk.kind, topk.depth, 1);
    sq_pipeline_init(&s->array, SQ_TIMING_ARRAY, SQ_SPLIT_ARRAY_DEPTH);
}

static void init(const unsigned *v, void *state)
{
    sq_array_stored_init(state, v[TOPK]);
}

static void offer(const unsigned *v, unsigned stream, const int32_t *record, struct sq_offer *o)
{
    (void)v;
    if (stream != 0)
        return;
    o->last = record[0];
    o->n = (uint32_t)record[1];
}

static void comb(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out)
{
    const struct wires w = wires_of(state, in, out_ready);
    out->in_ready[0] = w.mask.in_ready;
    out->in_ready[1] = w.has_beat && w.array.in_ready;
    out->out_valid = w.array.out_valid;
}

static void clock(void *state, const struct sq_offer *in, bool out_ready)
{
    struct sq_array_stored_sim *s = state;
    const struct wires w = wires_of(s, in, out_ready);
    // Downstream first: each takes what the one before it held before this edge.
    sq_pipeline_clock(&s->array, w.array_in, sq_buffer_ends_pass(&s->store), out_ready);
    sq_buffer_clock(&s->store, w.write, sq_mask_last(&s->mask), sq_mask_passes(&s->mask), w.give);
    sq_mask_clock(&s->mask, in[0].valid, in[0].last, in[0].n, w.has_place);
}

enum sq_array_stored_wait sq_array_stored_wait(const struct sq_array_stored_sim *s,
                                               const struct sq_offer *in, bool out_ready)
{
    if (!sq_buffer_has_beat(&s->store))
        return SQ_ARRAY_STORED_WAIT_MASK;
    return wires_of(s, in, out_ready).give ? SQ_ARRAY_STORED_BUSY : SQ_ARRAY_STORED_WAIT_OTHER;
}

static const struct sq_timing timing = {sizeof(struct sq_array_stored_sim), comb, clock};

// clang-format off
// One row a line; other parameters keep the defaults of the modules.
static const struct sq_area_unit area[] = {
    {"array_split_a_stored", "sq_array_stored", 16, true, {{"HighPerBank", 4}, {"Depth", 8}}},
};
// clang-format on

static const struct sq_faults faults[] = {{"rank", 100, 60}};

static const struct sq_free array_stored_free[] = {
    {"Rows", 1, 64, false},    {"Cols", 1, 64, false},         {"Banks", 1, 8, false},
    {"BankLen", 4, 128, true}, {"HighPerBank", 1, 127, false}, {"Depth", 1, 64, false},
    {NULL, 0, 0, false}};

const struct sq_block sq_array_stored_block = {
    .name = "array_stored",
    .top = "sq_array_stored",
    .group = "tile",
    .param = {"Rows", "Cols", "Banks", "BankLen", "HighPerBank", "WeightW", "Topk", "Gather",
              "Depth", "PassW", NULL},
    .free = array_stored_free,
    .points = points,
    .n_points = SQ_LEN(points),
    .area = area,
    .n_area = SQ_LEN(area),
    .coverage_cases = 120,
    .faults = faults,
    .n_faults = SQ_LEN(faults),
    .ports = ports,
    .draw_group = draw_group,
    .n_directed = 1,
    .draw_directed = draw_directed,
    .limit = limit,
    .golden = golden,
    .timing = &timing,
    .init = init,
    .offer = offer,
};
