// SPDX-License-Identifier: Apache-2.0
// sq_array_out and sq_array_static_out: an array with its output stage. A group is a tile of
// outputs, of one or several scale groups; what the array computes and when is said by its own
// block.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "models/array/sq_array.h"
#include "models/core/sq_config.h"
#include "sim/block/flow/sq_case.h"
#include "sim/block/output/sq_output_sim.h"

enum { ROWS, COLS };
enum { IN, SCALE }; // streams
enum { GROUPS_MAX = 4, BEATS_MAX = 4 };
enum { PLANES = 2 }; // of sums, in front of the error

// Parameters of the array, then those of the stage; a record holds the fields of both streams.
struct parts {
    const struct sq_block *array;
    struct sq_output_config c;
    struct sq_ports ports; // of the array
    bool has_error;        // malformed masks, with each tile
    size_t len, scale_len; // of the fields of in and of scale
};

static struct parts parts_of(const struct sq_block *array, const unsigned *v)
{
    struct parts s = {.array = array, .ports = sq_ports_of(array, v)};
    size_t n = 0;
    while (array->param[n])
        n++;
    s.c = sq_output_config(v[ROWS], v[COLS], v + n);
    s.len = sq_field_offset(s.ports.in, s.ports.n_in);
    s.scale_len = sq_output_scale_len(&s.c);
    s.has_error = s.ports.n_out > PLANES;
    return s;
}

static void ports_of(const struct parts *s, struct sq_ports *p)
{
    const size_t n = s->ports.n_in;
    *p = (struct sq_ports){.stream = {{"in", n}, {"scale", SQ_OUTPUT_SCALE_FIELDS}},
                           .n_in = n + SQ_OUTPUT_SCALE_FIELDS,
                           .macs = s->ports.macs,
                           .n_out = 1 + s->has_error,
                           .out = {sq_output_field(&s->c), {"error", 1, 1, true}},
                           .records = GROUPS_MAX * BEATS_MAX,
                           .outputs = (size_t)s->c.rows * s->c.cols / s->c.port_len};
    memcpy(p->in, s->ports.in, n * sizeof *p->in);
    sq_output_scale_fields(&s->c, p->in + n);
}

// What the array computes of the `n` beats of a scale group: both planes, the error if it has one.
static void sums_of(const struct parts *s, const unsigned *v, const int32_t *first, uint32_t n,
                    int32_t *tile)
{
    const size_t stride = s->len + s->scale_len;
    const uint32_t len[SQ_STREAMS_MAX] = {n};
    int32_t *const beats = malloc(n * s->len * sizeof *beats);
    assert(beats);
    for (uint32_t b = 0; b < n; b++)
        memcpy(beats + b * s->len, first + b * stride, s->len * sizeof *beats);
    const struct sq_group group = {.record = beats, .len = len};
    memset(tile, 0, sq_field_offset(s->ports.out, s->ports.n_out) * sizeof *tile);
    (void)s->array->golden(v, &group, tile);
    free(beats);
}

// A tile of sums, and the sums of the outputs over the scale groups.
struct sums {
    int32_t *tile;
    float *y;
};

static struct sums alloc_sums(const struct parts *s)
{
    const struct sums sums = {
        malloc(sq_field_offset(s->ports.out, s->ports.n_out) * sizeof *sums.tile),
        calloc((size_t)s->c.rows * s->c.cols, sizeof *sums.y)};
    assert(sums.tile && sums.y);
    return sums;
}

static void free_sums(const struct sums *s)
{
    free(s->tile);
    free(s->y);
}

static void draw_tile(const struct parts *s, const unsigned *v, struct sq_rng *rng,
                      enum sq_stimulus kind, int32_t *record, uint32_t *len)
{
    const size_t stride = s->len + s->scale_len, pes = (size_t)s->c.rows * s->c.cols;
    const uint32_t groups = 1 + sq_rng_below(rng, GROUPS_MAX);
    const struct sums sums = alloc_sums(s);
    for (uint32_t g = 0; g < groups; g++) {
        const uint32_t beats = 1 + sq_rng_below(rng, BEATS_MAX);
        int32_t *const first = record + len[IN] * stride, *const scale =
                                                              record + g * stride + s->len;
        for (uint32_t b = 0; b < beats; b++) {
            s->array->draw_beat(v, rng, kind, 0, first + b * stride);
            first[b * stride] = b + 1 == beats;
        }
        len[IN] += beats;
        sums_of(s, v, first, beats, sums.tile);
        sq_output_draw_scale(&s->c, rng, kind, g + 1 == groups, scale);
        sq_output_aim_scale(&s->c, rng, sums.tile, sums.tile + pes, sums.y, scale);
        sq_output_add(&s->c, sums.tile, sums.tile + pes, scale, sums.y);
    }
    len[SCALE] = groups;
    free_sums(&sums);
}

// Tiles of one scale group whose sums are those of the array's directed case, at both ends of their
// range, of one plane and of the other, then of every size.
static enum sq_status draw_ends(const struct parts *s, struct sq_case *c, struct sq_rng *rng,
                                struct sq_error *err)
{
    enum { ENDS = 4, SIZES = 12 };
    const size_t stride = s->len + s->scale_len;
    struct sq_case array = *c;
    uint32_t beats[ENDS + SIZES];
    array.block = s->array;
    SQ_TRY(s->array->draw_directed(&array, 0, rng, err));
    const uint32_t n = array.len[0][IN];
    c->n_groups = ENDS + SIZES;
    for (size_t g = 0; g < ENDS + SIZES; g++) {
        const uint32_t some = 1 + sq_rng_below(rng, UINT32_C(2) << sq_rng_below(rng, 13));
        beats[g] = g < ENDS || some > n ? n : some;
        c->n_beats += beats[g];
    }
    const enum sq_status status = sq_case_alloc(c, err);
    int32_t *record = c->beats;
    for (size_t g = 0; g < ENDS + SIZES && status == SQ_OK; g++) { // signs alternate
        const int32_t *const last = array.beats + ((g % 2 + 1) * n - 1) * s->len;
        const unsigned without = g < ENDS ? (unsigned)g / 2 : sq_rng_below(rng, 3);
        c->len[g][IN] = beats[g];
        c->len[g][SCALE] = 1;
        sq_output_draw_scale(&s->c, rng, SQ_STIMULUS_UNIFORM, true, record + s->len);
        if (without < 2)
            sq_output_drop_plane(&s->c, without, record + s->len);
        for (uint32_t b = 0; b < beats[g]; b++, record += stride) {
            memcpy(record, last, s->len * sizeof *record);
            record[0] = b + 1 == beats[g];
        }
    }
    sq_case_free(&array);
    return status;
}

// Beats of the scale group that begins at `beat`, of the `n` that are left.
static uint32_t group_beats(const int32_t *beat, size_t stride, uint32_t n)
{
    uint32_t beats = 1;
    while (beats < n && !beat[(beats - 1) * stride])
        beats++;
    return beats;
}

// Way 0: one scale group less, the last.
static bool cut_tile(const struct parts *s, int32_t *record, uint32_t *len)
{
    const size_t stride = s->len + s->scale_len;
    uint32_t beats = 0;
    if (len[SCALE] == 1)
        return false;
    len[SCALE]--;
    for (uint32_t g = 0; g < len[SCALE]; g++)
        beats += group_beats(record + beats * stride, stride, len[IN] - beats);
    len[IN] = beats;
    record[(len[SCALE] - 1) * stride + s->len] = 1;
    return true;
}

static uint64_t golden_tile(const struct parts *s, const unsigned *v, const struct sq_group *in,
                            int32_t *out)
{
    const size_t stride = s->len + s->scale_len, pes = (size_t)s->c.rows * s->c.cols;
    const struct sums sums = alloc_sums(s);
    uint32_t at = 0;
    int32_t error = 0;
    for (uint32_t g = 0; g < in->len[SCALE]; g++) {
        const int32_t *const first = in->record + at * stride;
        const uint32_t beats = group_beats(first, stride, in->len[IN] - at);
        sums_of(s, v, first, beats, sums.tile);
        sq_output_add(&s->c, sums.tile, sums.tile + pes, in->record + g * stride + s->len, sums.y);
        at += beats;
        error |= s->has_error ? sums.tile[PLANES * pes] : 0;
    }
    const int32_t *const last = in->record + (in->len[SCALE] - 1) * stride + s->len;
    const size_t n = s->has_error ? sq_output_end_with(&s->c, last, sums.y, error, out)
                                  : sq_output_end(&s->c, last, sums.y, out);
    free_sums(&sums);
    return n;
}

// ---- time -----------------------------------------------------------------------------------

struct state {
    struct sq_chain array;
    struct sq_output_sim output;
};

static void init_of(const struct parts *s, const unsigned *v, void *state)
{
    struct state *const t = state;
    s->array->init(v, &t->array);
    sq_output_init(&t->output, &s->c);
}

static void offer_of(const struct parts *s, unsigned stream, const int32_t *record,
                     struct sq_offer *o)
{
    o->last = record[stream == IN ? 0 : s->len];
}

// What the array offers the stage; what the stage answers.
static struct sq_output_in between(const struct state *t, const struct sq_offer *in, bool out_ready,
                                   struct sq_output_out *out)
{
    struct sq_pipeline_out array;
    sq_chain_comb(&t->array, false, &array); // valid does not depend on ready
    const struct sq_output_in stage = {.tile_valid = array.out_valid,
                                       .scale_valid = in[SCALE].valid,
                                       .scale_last = in[SCALE].last,
                                       .out_ready = out_ready};
    sq_output_comb(&t->output, &stage, out);
    return stage;
}

static void comb(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out)
{
    const struct state *const t = state;
    struct sq_output_out stage;
    struct sq_pipeline_out array;
    (void)between(t, in, out_ready, &stage);
    sq_chain_comb(&t->array, stage.tile_ready, &array);
    *out = (struct sq_handshake){{array.in_ready, stage.scale_ready}, stage.out_valid};
}

static void clock(void *state, const struct sq_offer *in, bool out_ready)
{
    struct state *const t = state;
    struct sq_output_out out;
    const struct sq_output_in stage = between(t, in, out_ready, &out);
    sq_chain_clock(&t->array, in[IN].valid, in[IN].last, out.tile_ready);
    sq_output_clock(&t->output, &stage);
}

static const struct sq_timing timing = {sizeof(struct state), comb, clock};

// ---- the two --------------------------------------------------------------------------------

#define TWO_OF(name, array)                                                                        \
    static void name##_ports(const unsigned *v, struct sq_ports *p)                                \
    {                                                                                              \
        const struct parts s = parts_of(&(array), v);                                              \
        ports_of(&s, p);                                                                           \
    }                                                                                              \
    static void name##_draw(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,          \
                            uint64_t number, int32_t *record, uint32_t *len)                       \
    {                                                                                              \
        const struct parts s = parts_of(&(array), v);                                              \
        (void)number;                                                                              \
        draw_tile(&s, v, rng, kind, record, len);                                                  \
    }                                                                                              \
    static enum sq_status name##_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,  \
                                          struct sq_error *err)                                    \
    {                                                                                              \
        const struct parts s = parts_of(&(array), c->point->value);                                \
        (void)number;                                                                              \
        return draw_ends(&s, c, rng, err);                                                         \
    }                                                                                              \
    static bool name##_cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)        \
    {                                                                                              \
        const struct parts s = parts_of(&(array), v);                                              \
        return way == 0 && cut_tile(&s, record, len);                                              \
    }                                                                                              \
    static uint64_t name##_golden(const unsigned *v, const struct sq_group *in, int32_t *out)      \
    {                                                                                              \
        const struct parts s = parts_of(&(array), v);                                              \
        return golden_tile(&s, v, in, out);                                                        \
    }                                                                                              \
    static void name##_init(const unsigned *v, void *state)                                        \
    {                                                                                              \
        const struct parts s = parts_of(&(array), v);                                              \
        init_of(&s, v, state);                                                                     \
    }                                                                                              \
    static void name##_offer(const unsigned *v, unsigned stream, const int32_t *record,            \
                             struct sq_offer *o)                                                   \
    {                                                                                              \
        const struct parts s = parts_of(&(array), v);                                              \
        offer_of(&s, stream, record, o);                                                           \
    }

TWO_OF(any, sq_array_block)
TWO_OF(fixed, sq_array_static_block)

#define ONE SQ_COMBINE_ONE
#define TWO SQ_COMBINE_TWO
#define SCALED SQ_COMBINE_SCALED
#define BF16 SQ_OUTPUT_BFLOAT16
// The array as in sq_array_block.c | lanes, form, what leaves, outputs a word, queue, tiles held.
// few: a tile takes four cycles and the port two words a beat, so that the array waits.
// clang-format off
static const struct sq_point any_points[] = {
    {"dense", true, {2, 2, 1, 8, 1, 1, SQ_ARRAY_DENSE, 0, 1, 8, 4, 4, 0, 2, ONE, 0, 1, 2, 0}},
    {"few", true, {2, 4, 1, 4, 1, 1, SQ_ARRAY_DENSE, 0, 1, 4, 4, 4, 0, 2, ONE, BF16, 1, 2, 0}},
    {"sentinel", true, {2, 2, 1, 8, 2, 2, SQ_ARRAY_SENTINEL, 0, 0, 8, 4, 8, 0, 4, TWO, BF16, 2, 2, 0}},
    {"compact", true, {2, 1, 1, 8, 2, 2, SQ_ARRAY_COMPACT, 1, 0, 4, 4, 8, 0, 1, SCALED, 0, 1, 2, 0}},
    {"sp24", false, {2, 2, 1, 16, 1, 1, SQ_ARRAY_SP24, 0, 1, 8, 8, 8, 0, 2, ONE, SQ_OUTPUT_INT8, 2, 2, 1}},
    {"split", false, {1, 2, 1, 8, 2, 2, SQ_ARRAY_SPLIT, 1, 1, 4, 4, 4, 0, 1, ONE, 0, 1, 3, 0}},
};
static const struct sq_point fixed_points[] = {
    {"b8", true, {2, 2, 1, 8, 2, 0, 4, 4, 8, 2, SCALED, 0, 2, 2, 0}},
    {"b4_tied", false, {1, 2, 1, 4, 1, 1, 4, 4, 8, 1, ONE, BF16, 1, 2, 0}},
};

// Whole arrays of 8 x 8 PEs with their stage: 8 outputs a cycle, a tile in the queue, bfloat16 out.
#define STAGE(form) {"Lanes", 8}, {"Form", form}, {"OutKind", 1}, {"PortLen", 8}, {"Depth", 8}
static const struct sq_area_unit any_area[] = {
    {"array_out_int4x8", "sq_array_out", 16 * 64, false,
     {{"Rows", 8}, {"Cols", 8}, {"Layout", 0}, {"OnActs", 0}, {"PlainW", 8}, STAGE(0)}},
};
// clang-format on

static const struct sq_faults any_faults[] = {{"few", 20, 200}};
static const struct sq_faults fixed_faults[] = {{"b4_tied", 15, 3000}};

static enum sq_status settle_out(const struct sq_block *array, unsigned *v, const unsigned *old,
                                 uint32_t given, struct sq_error *err)
{
    size_t n = 0;
    while (array->param[n])
        n++;
    if (array->settle)
        SQ_TRY(array->settle(v, old, given, err));
    return sq_output_settle(v[ROWS], v[COLS], v + n, old + n, given >> n, err);
}

static enum sq_status any_settle(unsigned *v, const unsigned *old, uint32_t given,
                                 struct sq_error *err)
{
    return settle_out(&sq_array_block, v, old, given, err);
}

static enum sq_status fixed_settle(unsigned *v, const unsigned *old, uint32_t given,
                                   struct sq_error *err)
{
    return settle_out(&sq_array_static_block, v, old, given, err);
}

// The sizes of the array and of the stage, of both blocks.
static const struct sq_free sizes[] = {
    {"Rows", 1, 64, false},    {"Cols", 1, 64, false},         {"Banks", 1, 16, false},
    {"BankLen", 4, 128, true}, {"HighPerBank", 1, 127, false}, SQ_OUTPUT_FREE,
    {NULL, 0, 0, false},
};

const struct sq_block sq_array_out_block = {
    .name = "array_out",
    .top = "sq_array_out",
    .group = "tile",
    .param = {"Rows", "Cols", "Banks", "BankLen", "HighPerBank", "HighLen", "Layout", "OnActs",
              "OneAcc", "PlainW", "LowW", "HighW", "Gather", SQ_OUTPUT_PARAM_NAMES, NULL},
    .free = sizes,
    .settle = any_settle,
    .points = any_points,
    .n_points = SQ_LEN(any_points),
    .area = any_area,
    .n_area = SQ_LEN(any_area),
    .coverage_cases = 100,
    .faults = any_faults,
    .n_faults = SQ_LEN(any_faults),
    .ports = any_ports,
    .draw_group = any_draw,
    .n_directed = 1,
    .draw_directed = any_directed,
    .cut = any_cut,
    .golden = any_golden,
    .timing = &timing,
    .init = any_init,
    .offer = any_offer,
};

const struct sq_block sq_array_static_out_block = {
    .name = "array_static_out",
    .top = "sq_array_static_out",
    .group = "tile",
    .param = {"Rows", "Cols", "Banks", "BankLen", "HighPerBank", "OneAcc", "WeightW", "LowW",
              "HighW", SQ_OUTPUT_PARAM_NAMES, NULL},
    .free = sizes,
    .settle = fixed_settle,
    .points = fixed_points,
    .n_points = SQ_LEN(fixed_points),
    .coverage_cases = 60,
    .faults = fixed_faults,
    .n_faults = SQ_LEN(fixed_faults),
    .ports = fixed_ports,
    .draw_group = fixed_draw,
    .n_directed = 1,
    .draw_directed = fixed_directed,
    .cut = fixed_cut,
    .golden = fixed_golden,
    .timing = &timing,
    .init = fixed_init,
    .offer = fixed_offer,
};
