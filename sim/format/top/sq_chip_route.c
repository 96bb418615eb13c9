// SPDX-License-Identifier: Apache-2.0
// Chooses the chip's parameters for a product, makes its image, and checks what the run wrote
// (sq_chip_route.h).
#include "sim/format/top/sq_chip_route.h"

#include <string.h>

#include "models/output/sq_combine.h"
#include "sim/block/top/sq_axi_memory.h"
#include "sim/block/top/sq_encode_sim.h"
#include "sim/block/top/sq_top_host.h"
#include "sim/block/top/sq_top_image.h"
#include "sim/format/sq_tile_route.h"
#include "sim/io/sq_checked.h"

// ---- indexed engines ---------------------------------------------------------------------------

// Cuts a matrix of kept groups (SQ_TOP_KEPT) into blocks of channels, and puts it into their beats.

// Kept groups of each of n channels: up to channel i at[i * stride] - at[0], at[n * stride] in all; NULL: `each`.
struct sq_chip_kept {
    const int32_t *at;
    size_t stride;
    uint64_t n, each;
};
// Sets block, groups, chunk and cols_outer of a layer whose tiles and beats are set: of as few and of as short blocks of
// columns as there may be, the cut that loads less or is computed sooner. SQ_ERR_RANGE: a channel or K is too long.
enum sq_status sq_chip_indexed_plan(const unsigned *value, const struct sq_chip_kept *kept,
                                    struct sq_top_layer *l, struct sq_error *err);
// Beats of each operand out of the jobs of the engine, one for each tile of tokens, `records` apart.
enum sq_status sq_chip_indexed_operands(const struct sq_route_work *engine, size_t records,
                                        const struct sq_chip_kept *kept, const unsigned *value,
                                        const struct sq_top_layer *l, struct sq_product *p,
                                        struct sq_top_operands *x, struct sq_error *err);

enum { ROWS, COLS };
// Beats of weights of a chunk where blocks are not kept: the engine begins when the first one is there. Cycles of a
// job beside its beats.
enum { CHUNK = 128, JOB_CYCLES = 16 };

// Kept groups of channels up to `row`.
static uint64_t before(const struct sq_chip_kept *k, uint64_t row)
{
    return k->at ? (uint64_t)(k->at[row * k->stride] - k->at[0]) : row * k->each;
}

// The most of a block of so many channels; one at least, so that there is something to load.
static uint64_t most_of(const struct sq_chip_kept *k, uint64_t block)
{
    uint64_t most = 1;
    for (uint64_t row = 0; row < k->n; row += block)
        most = sq_larger(most, before(k, sq_smaller(row + block, k->n)) - before(k, row));
    return most;
}

// As few blocks of columns as there may be, of at most so many beats of weights; false: a channel has more.
static bool set_blocks(const unsigned *v, const struct sq_chip_kept *k, uint64_t most,
                       struct sq_top_layer *l)
{
    const uint64_t depth = v[SQ_TOP_DEPTH + SQ_TOP_COL_SCALE];
    for (uint64_t n = sq_ceil_div(k->n, depth);; n++) {
        const uint64_t block = sq_ceil_div(k->n, n), groups = most_of(k, block);
        l->block[ROWS] = 1;
        l->block[COLS] = (uint32_t)block;
        l->groups = (uint32_t)groups;
        if (groups <= most || block == 1)
            return groups <= most;
    }
}

// Beats of the bus or cycles of the engine, whichever are more.
static uint64_t cost_of(const unsigned *v, const struct sq_top_layer *l)
{
    const uint64_t blocks = sq_top_col_blocks(l), rows = l->tiles[ROWS];
    const bool keeps_acts = !l->cols_outer || rows == 1;
    const bool keeps_weights = sq_block_walk_is_whole(l) && (l->cols_outer || blocks == 1);
    const uint64_t acts = sq_top_nbytes(v, l, SQ_TOP_ACT) * (keeps_acts ? 1 : blocks);
    const uint64_t weights = sq_top_nbytes(v, l, SQ_TOP_WEIGHT) * (keeps_weights ? 1 : rows);
    return sq_larger((acts + weights) / (v[SQ_TOP_DATA_W] / 8),
                     rows * blocks * (l->beats + l->groups + JOB_CYCLES));
}

enum sq_status sq_chip_indexed_plan(const unsigned *v, const struct sq_chip_kept *k,
                                    struct sq_top_layer *l, struct sq_error *err)
{
    const uint64_t depth = v[SQ_TOP_DEPTH + SQ_TOP_WEIGHT];
    struct sq_top_layer whole = *l;
    SQ_FAIL_IF(l->beats > v[SQ_TOP_DEPTH + SQ_TOP_ACT], err, SQ_ERR_RANGE,
               "K of %u groups of %u: need at most %u, what half of buffers.activation "
               "holds, on the chip",
               l->beats, v[SQ_TOP_BANK_LEN], v[SQ_TOP_DEPTH + SQ_TOP_ACT]);
    l->is_indexed = true;
    l->cols_outer = false;
    (void)set_blocks(v, k, UINT16_MAX, l); // of a channel no more than beats of K
    l->chunk = (uint32_t)sq_smaller(l->groups, sq_smaller(depth, CHUNK));
    if (l->tiles[ROWS] == 1)
        return SQ_OK;
    whole.is_indexed = whole.cols_outer = true;
    if (!set_blocks(v, k, depth, &whole))
        return SQ_OK;
    whole.chunk = whole.groups;
    if (cost_of(v, &whole) < cost_of(v, l))
        *l = whole;
    return SQ_OK;
}

// ---- operands ---------------------------------------------------------------------------------------

// One of each tile of rows, or as many as it has beats.
static void put_rows(const struct sq_route_work *w, size_t records, const char *field,
                     const struct sq_top_layer *l, uint32_t n, unsigned len, int32_t *to)
{
    for (uint32_t i = 0; i < l->tiles[ROWS] * n; i++)
        memcpy(to + (size_t)i * len,
               w->stream->beats + ((size_t)(i / n) * records + i % n) * w->len +
                   sq_route_field(w, field),
               len * sizeof *to);
}

enum sq_status sq_chip_indexed_operands(const struct sq_route_work *w, size_t records,
                                        const struct sq_chip_kept *k, const unsigned *v,
                                        const struct sq_top_layer *l, struct sq_product *p,
                                        struct sq_top_operands *x, struct sq_error *err)
{
    const struct sq_top_shape s = sq_top_shape(v);
    const unsigned len = s.part[SQ_TOP_WEIGHT].len;
    for (unsigned part = 0; part < SQ_TOP_OPERANDS; part++)
        SQ_PRODUCT_KEEP(p, x->beat[part],
                        (size_t)sq_top_beats(v, l, (enum sq_top_part)part) * s.part[part].len);
    put_rows(w, records, "code", l, l->beats, s.part[SQ_TOP_ACT].len, x->beat[SQ_TOP_ACT]);
    put_rows(w, records, "s_a", l, 1, s.part[SQ_TOP_ROW_SCALE].len, x->beat[SQ_TOP_ROW_SCALE]);
    for (uint64_t row = 0; row < k->n; row++) {
        const uint64_t block = row / l->block[COLS], first = before(k, block * l->block[COLS]);
        const uint64_t end = before(k, row + 1) - first;
        x->beat[SQ_TOP_COL_SCALE][row] = (int32_t)end;
        for (uint64_t i = before(k, row) - first; i < end; i++)
            memcpy(x->beat[SQ_TOP_WEIGHT] + (block * l->groups + i) * len,
                   w->stream->beats + (first + i) * w->len + sq_route_field(w, "index"),
                   len * sizeof(int32_t));
    }
    return SQ_OK;
}

enum { DEPTH = 256, SUM_TILES = 64 };

static const struct sq_chip usual;

static const struct sq_chip *chip_of(const struct sq_route_work *w)
{
    return w->chip ? w->chip : &usual;
}

static unsigned or_usual(unsigned value, unsigned as_usual)
{
    return value ? value : as_usual;
}

// ---- multipliers ------------------------------------------------------------------------------------

unsigned sq_chip_bank(const struct sq_route_work *w, unsigned as_usual, unsigned products_of_two)
{
    const unsigned products = w->chip ? w->chip->products : 0;
    unsigned bank = SQ_BANK_MIN;
    while (bank < SQ_BANK_MAX && bank * products_of_two <= products)
        bank *= 2;
    return products ? bank : as_usual;
}

unsigned sq_chip_products(const unsigned *v)
{
    const unsigned bank = v[SQ_TOP_BANK_LEN], high = v[SQ_TOP_HIGH] * v[SQ_TOP_HIGH_W];
    const struct sq_top_shape s = sq_top_shape(v);
    if (s.is_indexed)
        return bank * v[SQ_TOP_ACT_W] * v[SQ_TOP_WEIGHT_W];
    if (s.is_scaled) { // of both operands each part meets each other one
        const unsigned bits = bank * v[SQ_TOP_ACT_W] + high;
        return (bits * bits + bank - 1) / bank;
    }
    const bool has_high = s.array.layout != SQ_ARRAY_DENSE && s.array.layout != SQ_ARRAY_SP24;
    const unsigned coded = sq_array_low_lanes(&s.array) * s.array.low_bits + (has_high ? high : 0);
    return coded * v[s.on_acts ? SQ_TOP_WEIGHT_W : SQ_TOP_ACT_W];
}

// What stands in a beat of the format must be multiplied in a cycle.
static enum sq_status check_products(const struct sq_chip *chip, const unsigned *v,
                                     struct sq_error *err)
{
    const unsigned needs = sq_chip_products(v);
    if (chip->products == 0 || needs <= chip->products)
        return SQ_OK;
    return SQ_FAIL(err, SQ_ERR_RANGE,
                   "core.low_lanes, core.high_lanes: multipliers of %u bit products a PE, need at "
                   "least %u for the %u elements of K that a beat of this format has on the chip",
                   chip->products, needs, v[SQ_TOP_BANK_LEN]);
}

// The operands as the engine's own route makes them: tiles that hold every token and every channel.
struct tiles {
    struct sq_point point;
    struct sq_case c;
    struct sq_route_work w;
    bool is_scaled;  // blocks of sq_engine_scaled: each is a scale group
    bool is_indexed; // jobs of an engine with an index: groups 1, beats K/G
    struct sq_chip_kept kept;
    size_t groups, beats;
};

static enum sq_status make_tiles(const struct sq_route_work *w, const struct sq_block *engine,
                                 sq_chip_engine_route *make, struct tiles *t, struct sq_error *err)
{
    *t = (struct tiles){.point = {.name = "chip"},
                        .is_scaled = engine == &sq_engine_scaled_block,
                        .is_indexed = engine->indexed != NULL};
    t->c = (struct sq_case){.block = engine, .point = &t->point};
    t->w = *w;
    t->w.is_diagonal = true;
    t->w.point = &t->point;
    t->w.stream = &t->c;
    SQ_TRY(make(&t->w, err));
    if (t->is_indexed) {
        t->groups = 1;
        t->beats = w->p->k / sq_route_get(&t->w, "GroupLen");
        t->kept = (struct sq_chip_kept){
            .at = t->c.beats + sq_route_field(&t->w, "at"), .stride = t->w.len, .n = w->p->n};
        return SQ_OK;
    }
    const size_t beats = w->p->k / sq_route_get(&t->w, "BankLen");
    t->groups = beats;
    if (!t->is_scaled)
        SQ_TRY(sq_product_groups(w->p, &t->groups, err));
    t->beats = beats / t->groups;
    return SQ_OK;
}

static void set_array(const struct tiles *t, unsigned *v)
{
    const bool on_acts = sq_route_get(&t->w, "OnActs");
    v[SQ_TOP_ACT_W] = sq_route_get(&t->w, on_acts ? "LowW" : "PlainW");
    v[SQ_TOP_WEIGHT_W] = sq_route_get(&t->w, on_acts ? "PlainW" : "LowW");
    v[SQ_TOP_LAYOUT] = sq_route_get(&t->w, "Layout");
    v[SQ_TOP_HIGH_W] = sq_route_get(&t->w, "HighW");
    v[SQ_TOP_ON_ACTS] = on_acts;
    v[SQ_TOP_ONE_ACC] = sq_route_get(&t->w, "OneAcc");
    v[SQ_TOP_FORM] = sq_route_get(&t->w, "Form");
}

static void set_scaled(const struct tiles *t, unsigned *v)
{
    v[SQ_TOP_ELEMENT] = sq_route_get(&t->w, "ActElement");
    v[SQ_TOP_SCALE] = sq_route_get(&t->w, "ActScale");
    v[SQ_TOP_HIGH_KIND] = sq_route_get(&t->w, "High");
    const enum sq_scaled_element element = (enum sq_scaled_element)v[SQ_TOP_ELEMENT];
    const enum sq_scaled_high high = (enum sq_scaled_high)v[SQ_TOP_HIGH_KIND];
    v[SQ_TOP_ACT_W] = v[SQ_TOP_WEIGHT_W] = sq_scaled_code_bits(element);
    if (v[SQ_TOP_HIGH] > 0)
        v[SQ_TOP_HIGH_W] = sq_scaled_code_bits(sq_scaled_high_element(high, element));
    v[SQ_TOP_ONE_ACC] = 1;
    v[SQ_TOP_FORM] = SQ_COMBINE_FLOAT;
    memcpy(v + SQ_PARAMS_MAX, t->w.point->value + SQ_PARAMS_MAX, SQ_TABLE_WORDS * sizeof *v);
}

// What adds up its blocks, as wide as the largest layer needs.
static enum sq_status set_tail(const struct sq_chip *chip, unsigned *v, struct sq_error *err)
{
    const enum sq_scaled_element e = (enum sq_scaled_element)v[SQ_TOP_ELEMENT];
    const enum sq_scaled_scale s = (enum sq_scaled_scale)v[SQ_TOP_SCALE];
    const unsigned cut = chip->tail.cut, carry = chip->tail.carry;
    v[SQ_TOP_TAIL] = 0;
    if (chip->tail.acc == SQ_SCALED_BINARY32 || !sq_top_is_scaled(v))
        return SQ_OK;
    if (chip->tail.acc >= SQ_SCALED_ALIGNED) {
        const unsigned least = sq_scaled_aligned_min(e);
        SQ_FAIL_IF(s != SQ_SCALED_E8M0 || v[SQ_TOP_HIGH] > 0 || least == 0 ||
                       chip->tail.aligned < least,
                   err, SQ_ERR_UNSUPPORTED,
                   "core.aligned = %u: need binary32 for this format, aligned sums are of "
                   "E2M1, E2M3, E3M2, "
                   "E4M3, E5M2 at scales of E8M0, of at least 4, 8, 6, 8, 6 bits",
                   chip->tail.aligned);
        v[SQ_TOP_TAIL] = SQ_SCALED_TAIL(chip->tail.acc, chip->tail.aligned, 0, 0);
        return SQ_OK;
    }
    const unsigned bits =
        sq_scaled_sum_bits(sq_scaled_limit(e, e, s, s, v[SQ_TOP_BANK_LEN], 0, SQ_K_MAX));
    const unsigned all = bits + (carry ? (bits - 1) / carry : 0);
    SQ_FAIL_IF(s != SQ_SCALED_E4M3 || v[SQ_TOP_HIGH] > 0 || all > 64, err, SQ_ERR_UNSUPPORTED,
               "core.sum = exact: need binary32 for this format, exact sums are of scales "
               "of E4M3, without high elements, of at most 64 bits with their carries");
    v[SQ_TOP_TAIL] = SQ_SCALED_TAIL(SQ_SCALED_FIXED, bits, cut, carry);
    return SQ_OK;
}

// The words of its outputs are those of a channel.
static enum sq_status set_indexed(const struct sq_route_work *w, const struct tiles *t, unsigned *v,
                                  struct sq_error *err)
{
    const unsigned rows = w->array_rows, most = v[SQ_TOP_DATA_W] / 32;
    SQ_FAIL_IF(w->array_cols != 1 || most % rows != 0, err, SQ_ERR_RANGE,
               "array %ux%u: need one column of PEs (core.cols, --cols), whose outputs, of "
               "%u rows, are a power of two and at most %u, what the bus takes, for this "
               "format on the chip",
               rows, w->array_cols, rows, most);
    v[SQ_TOP_BANK_LEN] = sq_route_get(&t->w, "GroupLen");
    v[SQ_TOP_ACT_W] = 8;
    v[SQ_TOP_WEIGHT_W] = v[SQ_TOP_HIGH_W] = 4;
    v[SQ_TOP_LAYOUT] = SQ_TOP_KEPT;
    v[SQ_TOP_HIGH] = v[SQ_TOP_ONE_ACC] = 1;
    v[SQ_TOP_ON_ACTS] = 0;
    v[SQ_TOP_FORM] = SQ_COMBINE_ONE;
    return SQ_OK;
}

// Beats of an operand, tiles of sums that half a buffer holds.
static uint64_t held(const unsigned *v, enum sq_top_part part, uint64_t nbytes)
{
    const struct sq_top_room room = sq_top_room(v);
    const uint64_t sums = (uint64_t)4 * sq_top_kept_words(v) * v[SQ_TOP_ROWS] * v[SQ_TOP_COLS];
    return nbytes / 2 / (part == SQ_TOP_STORE ? sums : room.beat_nbytes[part]);
}

// Half a buffer of nbytes, 0: as much as is usual.
static enum sq_status set_buffer(const char *name, enum sq_top_part part, uint64_t nbytes,
                                 unsigned as_usual, unsigned *v, struct sq_error *err)
{
    const bool is_sums = part == SQ_TOP_STORE;
    const uint64_t most = is_sums ? SUM_TILES : held(v, part, 2 * (uint64_t)SQ_TOP_HALF_NBYTES);
    const uint64_t cap = is_sums || most < SQ_TOP_DEPTH_MAX ? most : SQ_TOP_DEPTH_MAX;
    const uint64_t n = nbytes ? held(v, part, nbytes) : as_usual, least = is_sums ? 1 : 2;
    SQ_FAIL_IF(n < least || n > cap, err, SQ_ERR_RANGE,
               "buffers.%s = %llu B: half of it holds %llu %s, need %llu..%llu on the chip", name,
               (unsigned long long)nbytes, (unsigned long long)n, is_sums ? "tiles" : "beats",
               (unsigned long long)least, (unsigned long long)cap);
    v[is_sums ? SQ_TOP_SUM_TILES : SQ_TOP_DEPTH + part] = (unsigned)n;
    return SQ_OK;
}

// Integers of a group wait beside the sums only where one does not fit half a buffer and is not all of K.
static enum sq_status set_buffers(const struct sq_chip *chip, const struct tiles *t, unsigned *v,
                                  struct sq_error *err)
{
    const uint64_t act = chip->depth ? 0 : chip->act_nbytes;
    const uint64_t weight = chip->depth ? 0 : chip->weight_nbytes;
    const uint64_t scale = chip->depth ? 0 : chip->scale_nbytes;
    const unsigned depth = or_usual(chip->depth, DEPTH);
    SQ_TRY(set_buffer("activation", SQ_TOP_ACT, act, depth, v, err));
    SQ_TRY(set_buffer("weight", SQ_TOP_WEIGHT, weight, depth, v, err));
    SQ_TRY(set_buffer("scale", SQ_TOP_ROW_SCALE, scale, depth, v, err));
    SQ_TRY(set_buffer("scale", SQ_TOP_COL_SCALE, scale, depth, v, err));
    v[SQ_TOP_PARTS] = 0;
    const struct sq_top_room room = sq_top_room(v);
    const bool fits = t->beats <= room.depth[SQ_TOP_ACT] && t->beats <= room.depth[SQ_TOP_WEIGHT];
    v[SQ_TOP_PARTS] = !fits && t->groups > room.part_groups;
    v[SQ_TOP_SUM_TILES] = 1; // no sums of an indexed layer wait
    return t->is_indexed ? SQ_OK
                         : set_buffer("output", SQ_TOP_STORE, chip->sum_nbytes, SUM_TILES, v, err);
}

// Outputs of so many bits that leave the engine together: as many as the bus takes of a tile.
static unsigned port_len(const struct sq_route_work *w, unsigned bits)
{
    return (unsigned)sq_gcd(8 * or_usual(chip_of(w)->bus_nbytes, 8) / bits,
                            w->array_rows * w->array_cols);
}

// Elements a cycle: as many as divide a tile's columns and the bus.
static enum sq_status set_encoder(const struct sq_route_work *w, const struct tiles *t, unsigned *v,
                                  struct sq_error *err)
{
    size_t choose = SQ_SCALED_LARGEST;
    // Blocks and masks that an encoder may make come with the numbers of which it makes them.
    const bool needs_numbers = t->is_scaled || v[SQ_TOP_ON_ACTS];
    const bool has_encoder = !needs_numbers || sq_product_count(w->p, "x") != SIZE_MAX;
    v[SQ_TOP_ENCODE] = v[SQ_TOP_CHOOSE] = 0;
    if (!chip_of(w)->encodes)
        return SQ_OK;
    if (t->is_scaled)
        SQ_TRY(sq_product_number(w->p, "choose", 0, SQ_SCALED_SIGN, &choose, err));
    v[SQ_TOP_CHOOSE] = (unsigned)choose;
    if (!has_encoder || !sq_encode_makes(v))
        return SQ_FAIL(
            err, SQ_ERR_UNSUPPORTED,
            "%s: the chip's encoder makes INT8 with one scale a token, sq_a_dynamic (variant = "
            "own, select = fp), and blocks whose scales are E8M0 (mxfp4, sq_b) or have a power of "
            "two above them (nv formats, if4, razer, sq_b with act-scale = token2, errors = "
            "integer), not those of this recipe",
            sq_path_tail(w->p->source));
    v[SQ_TOP_ENCODE] = (unsigned)sq_gcd(v[SQ_TOP_DATA_W] / 16, w->array_cols);
    return SQ_OK;
}

// The chip: the engine of the tiles, a bus as wide as a tile of outputs allows.
static enum sq_status set_point(struct sq_route_work *w, const struct tiles *t,
                                struct sq_error *err)
{
    unsigned *const v = w->point->value;
    const struct sq_chip *const chip = chip_of(w);
    const unsigned data_w = 8 * or_usual(chip->bus_nbytes, 8);
    v[SQ_TOP_DATA_W] = data_w;
    v[SQ_TOP_ROWS] = w->array_rows;
    v[SQ_TOP_COLS] = w->array_cols;
    if (t->is_indexed) {
        SQ_TRY(set_indexed(w, t, v, err));
    } else {
        v[SQ_TOP_BANK_LEN] = sq_route_get(&t->w, "BankLen");
        v[SQ_TOP_HIGH] = sq_route_get(&t->w, "HighPerBank");
        (t->is_scaled ? set_scaled : set_array)(t, v);
    }
    SQ_TRY(set_tail(chip, v, err));
    SQ_TRY(set_encoder(w, t, v, err));
    v[SQ_TOP_OUT_KIND] = chip->moves_codes ? SQ_OUTPUT_INT8
                         : chip->encodes   ? SQ_OUTPUT_BFLOAT16
                                           : SQ_OUTPUT_BINARY32;
    v[SQ_TOP_PORT_LEN] = t->is_indexed ? w->array_rows : port_len(w, sq_top_out_bits(v));
    v[SQ_TOP_MAX_BURST] = or_usual(chip->max_burst, 32);
    v[SQ_TOP_OUTSTANDING] = or_usual(chip->outstanding, 4);
    v[SQ_TOP_WRITES] = or_usual(chip->writes, 4);
    v[SQ_TOP_QUIET] = 400;
    v[SQ_TOP_VECTOR] = chip->vectors;
    v[SQ_TOP_ATTEND] = chip->attend;
    SQ_TRY(check_products(chip, v, err));
    const unsigned sums = sq_top_shape(v).pairs * w->array_rows * w->array_cols;
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++) {
        const uint32_t bits = sq_top_bits(v, (enum sq_top_part)i);
        SQ_FAIL_IF(bits > 32 * SQ_TOP_WORDS_MAX || sums > SQ_TOP_PES_MAX, err, SQ_ERR_RANGE,
                   "array %ux%u: %u bits of an operand a beat, %u sums of a tile, need at "
                   "most %d and %d on the chip",
                   w->array_rows, w->array_cols, bits, sums, 32 * SQ_TOP_WORDS_MAX, SQ_TOP_PES_MAX);
    }
    return set_buffers(chip, t, v, err);
}

// An ideal DRAM as fast as the bus, 40 cycles away.
static struct sq_env_choice memory_of(const struct sq_route_work *w)
{
    const struct sq_env_choice as_usual = {
        .kind = 1, .n = {40, 64 / (w->point->value[SQ_TOP_DATA_W] / 8), 1, 64}, .end = 1};
    return chip_of(w)->memory.kind ? chip_of(w)->memory : as_usual;
}

// Its regions behind the descriptor, which is at the base, on pages of their own; in different banks where the DRAM
// wants that.
static enum sq_status place(const struct sq_route_work *w, const unsigned *v,
                            struct sq_top_layer *l, uint64_t *end, struct sq_error *err)
{
    const struct sq_dram_setup *const dram = chip_of(w)->memory.dram;
    *end = chip_of(w)->base + SQ_AXI_PAGE;
    for (unsigned i = 0; i <= SQ_TOP_OPERANDS; i++) {
        const uint64_t nbytes = sq_top_nbytes(v, l, (enum sq_top_part)i);
        const uint64_t at = dram ? sq_dram_begin_of(dram, *end, SQ_AXI_PAGE, i) : *end;
        l->addr[i] = at;
        *end = at + (nbytes + SQ_AXI_PAGE - 1) / SQ_AXI_PAGE * SQ_AXI_PAGE;
        if (*end > SQ_ADDR_END || *end - chip_of(w)->base > UINT32_MAX)
            return SQ_FAIL(
                err, SQ_ERR_RANGE,
                "%s: %u x %u tiles of %u banks from address 0x%llx on, need operands and "
                "outputs of 4 GiB at most that end at 2^48 or before on the chip",
                sq_path_tail(w->p->source), l->tiles[ROWS], l->tiles[COLS], l->groups * l->beats,
                (unsigned long long)chip_of(w)->base);
    }
    return SQ_OK;
}

static enum sq_status shape_of(const struct sq_route_work *w, const struct tiles *t, uint64_t m,
                               uint64_t n, struct sq_top_layer *l, struct sq_error *err)
{
    const unsigned *const v = w->point->value;
    const uint64_t tiles[2] = {(m + w->array_rows - 1) / w->array_rows,
                               (n + w->array_cols - 1) / w->array_cols};
    SQ_FAIL_IF(t->beats > UINT16_MAX, err, SQ_ERR_RANGE,
               "%s: a scale group is %zu elements of K, %zu beats of %u, need at most %d "
               "beats on the chip",
               sq_path_tail(w->p->source), w->p->k / t->groups, t->beats, v[SQ_TOP_BANK_LEN],
               UINT16_MAX);
    SQ_FAIL_IF(t->groups > UINT16_MAX, err, SQ_ERR_RANGE,
               "%s: K = %zu in %zu scale groups, need at most %d on the chip",
               sq_path_tail(w->p->source), w->p->k, t->groups, UINT16_MAX);
    SQ_FAIL_IF(tiles[ROWS] > UINT16_MAX || tiles[COLS] > UINT16_MAX, err, SQ_ERR_RANGE,
               "%s: %llu x %llu tiles, need at most %d of each on the chip",
               sq_path_tail(w->p->source), (unsigned long long)tiles[ROWS],
               (unsigned long long)tiles[COLS], UINT16_MAX);
    *l = (struct sq_top_layer){
        .tiles = {[ROWS] = (uint32_t)tiles[ROWS], [COLS] = (uint32_t)tiles[COLS]},
        .beats = (uint32_t)t->beats,
        .groups = (uint32_t)t->groups};
    if (t->is_indexed) { // of a layer without its weights all channels have as many as the one that was made
        const struct sq_chip_kept alike = {.n = n, .each = (uint64_t)t->kept.at[t->kept.stride]};
        return sq_chip_indexed_plan(v, w->chip_layer ? &alike : &t->kept, l, err);
    }
    const struct sq_env_choice memory = memory_of(w);
    return sq_chip_plan_again(chip_of(w)->plans, v, &memory, chip_of(w)->time, chip_of(w)->memo, l,
                              err);
}

// Where a field of an operand stands in a record of the engine: both operands of sq_engine_scaled have
// fields of the same names.
static size_t field_at(const struct tiles *t, const struct sq_top_shape *s, unsigned part,
                       const char *name)
{
    const struct sq_ports *const p = &t->w.shape;
    size_t f = p->stream[SQ_ES_JOB].n_fields;
    if (!s->is_scaled || part % 2)
        return sq_route_field(&t->w, name);
    f += part == SQ_TOP_WEIGHT ? p->stream[SQ_ES_ACT].n_fields : 0;
    while (strcmp(p->in[f].name, name) != 0)
        f++;
    return sq_field_offset(p->in, f);
}

// Beats of each operand, tile after tile, out of the diagonal tiles. Scales of a group stand in the record
// that many behind the first one of its tile.
static enum sq_status operands_of(struct sq_product *p, const unsigned *v, const struct tiles *t,
                                  const struct sq_top_layer *l, struct sq_top_operands *x,
                                  struct sq_error *err)
{
    const struct sq_top_shape s = sq_top_shape(v);
    const uint32_t all = l->groups * l->beats;
    for (unsigned part = 0; part < SQ_TOP_OPERANDS; part++) {
        const uint32_t n = sq_top_beats(v, l, (enum sq_top_part)part);
        const uint32_t of_tile = n / l->tiles[part >= SQ_TOP_WEIGHT];
        const struct sq_top_beat_shape *const beat = &s.part[part];
        SQ_PRODUCT_KEEP(p, x->beat[part], (size_t)n * beat->len);
        int32_t *to = x->beat[part];
        for (uint32_t i = 0; i < n; i++)
            for (unsigned f = 0; f < beat->n; to += beat->field[f++].count) {
                const size_t record = (size_t)(i / of_tile) * all + i % of_tile;
                const char *const name = beat->field[f].name;
                memcpy(to, t->c.beats + record * t->w.len + field_at(t, &s, part, name),
                       beat->field[f].count * sizeof *to);
            }
    }
    return SQ_OK;
}

static enum sq_status make_image(struct sq_product *p, const unsigned *v,
                                 const struct sq_top_layer *l, const struct sq_chip *chip,
                                 uint64_t end, const struct sq_top_operands *x,
                                 struct sq_top_given *image, struct sq_error *err)
{
    const uint64_t base = chip->base;
    uint32_t word[SQ_DESC_WORDS];
    int32_t *memory, *want;
    uint64_t *counted;
    SQ_PRODUCT_KEEP(p, counted, SQ_HOST_COUNTERS);
    SQ_PRODUCT_KEEP(p, memory, (end - base) / 4);
    const uint32_t n_want = (uint32_t)sq_top_nbytes(v, l, SQ_TOP_STORE) / 4;
    SQ_PRODUCT_KEEP(p, want, n_want);
    sq_top_layer_encode(l, word);
    memcpy(memory, word, sizeof word);
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++)
        sq_top_put_operand(v, l, x, (enum sq_top_part)i, memory + (l->addr[i] - base) / 4);
    *image = (struct sq_top_given){.word = memory,
                                   .n_words = (uint32_t)((end - base) / 4),
                                   .descriptor = base,
                                   .want = want,
                                   .counted = counted,
                                   .out = l->addr[SQ_TOP_STORE],
                                   .n_want = n_want};
    if (!chip->no_want)
        image->status = sq_top_golden(v, l, x, want);
    return SQ_OK;
}

static enum sq_status make_layer(struct sq_route_work *w, const struct tiles *t,
                                 struct sq_chip_layer *to, struct sq_error *err)
{
    uint64_t end;
    SQ_TRY(set_point(w, t, err));
    SQ_TRY(shape_of(w, t, to->m, to->n, &to->layer, err));
    SQ_TRY(place(w, w->point->value, &to->layer, &end, err));
    memcpy(to->value, w->point->value, sizeof to->value);
    to->memory = memory_of(w);
    return SQ_OK;
}

static enum sq_status make_chip(struct sq_route_work *w, const struct tiles *t,
                                struct sq_error *err)
{
    struct sq_top_layer l;
    struct sq_top_operands x;
    struct sq_top_given *image;
    uint64_t end;
    if (w->chip_layer)
        return make_layer(w, t, w->chip_layer, err);
    SQ_TRY(set_point(w, t, err));
    SQ_TRY(shape_of(w, t, w->p->m, w->p->n, &l, err));
    SQ_TRY(place(w, w->point->value, &l, &end, err));
    if (t->is_indexed)
        SQ_TRY(sq_chip_indexed_operands(&t->w, sq_case_records(&t->c, 0), &t->kept, w->point->value,
                                        &l, w->p, &x, err));
    else
        SQ_TRY(operands_of(w->p, w->point->value, t, &l, &x, err));
    SQ_PRODUCT_KEEP(w->p, image, 1);
    SQ_TRY(make_image(w->p, w->point->value, &l, chip_of(w), end, &x, image, err));
    w->stream->env = memory_of(w);
    w->stream->env.given = image;
    return sq_case_alloc(w->stream, err);
}

enum sq_status sq_chip_make(struct sq_route_work *w, const struct sq_block *engine,
                            sq_chip_engine_route *make, struct sq_error *err)
{
    if (w->is_engine) {
        w->stream->block = engine;
        w->engine_port = port_len(w, chip_of(w)->encodes ? 16 : 32);
        return make(w, err);
    }
    struct tiles t;
    enum sq_status status = make_tiles(w, engine, make, &t, err);
    SQ_THEN(status, make_chip(w, &t, err));
    sq_case_free(&t.c);
    return status;
}

void sq_chip_outputs(const unsigned *value, const struct sq_top_layer *l, const int32_t *out,
                     size_t m, size_t n, float *y)
{
    const struct sq_top_room room = sq_top_room(value);
    const unsigned bits = sq_top_out_bits(value);
    const unsigned rows = value[SQ_TOP_ROWS], cols = value[SQ_TOP_COLS];
    struct sq_block_walk b;
    for (sq_block_walk_start(&b, l); b.is_active; sq_block_walk_next(&b)) {
        if (!sq_block_walk_is_last(&b))
            continue;
        const uint32_t wide = sq_block_walk_tiles(&b, COLS);
        const uint32_t tiles = sq_block_walk_tiles(&b, ROWS) * wide;
        for (uint32_t i = 0; i < tiles; i++)
            for (size_t pe = 0; pe < rows * cols; pe++) {
                const size_t t = (size_t)(b.done[ROWS] + i / wide) * rows + pe / cols;
                const size_t c = (size_t)(b.done[COLS] + i % wide) * cols + pe % cols;
                const uint32_t at = (uint32_t)((i * rows * cols + pe) * bits);
                const uint32_t word = (uint32_t)sq_top_get_bits(out, at, bits) << (32 - bits);
                if (t < m && c < n)
                    memcpy(&y[t * n + c], &word, sizeof *y);
            }
        out += sq_top_transfer(&room, SQ_TOP_STORE, tiles) * (room.nbytes / 4);
    }
}

// The bits of y as the chip's outputs have them, at the top of a word.
static int32_t rounded(const unsigned *value, int32_t y)
{
    const enum sq_output_kind kind = (enum sq_output_kind)value[SQ_TOP_OUT_KIND];
    return (int32_t)((uint32_t)sq_combine_out(kind, (uint32_t)y) << (32 - sq_output_bits(kind)));
}

enum sq_status sq_chip_check(struct sq_route_work *w, struct sq_error *err)
{
    const struct sq_top_given *const image = w->stream->env.given;
    const struct sq_top_room room = sq_top_room(w->point->value);
    const size_t n = w->p->m * w->p->n;
    struct sq_top_layer l;
    const int32_t *want;
    int32_t *got;
    const bool is_usual = w->point->value[SQ_TOP_TAIL] == 0;
    SQ_PRODUCT_TENSOR(w->p, is_usual ? "y" : "y_summed", SQ_F32, n, want);
    SQ_PRODUCT_KEEP(w->p, got, n);
    (void)sq_top_layer_decode((const uint32_t *)image->word, &room, &l);
    sq_chip_outputs(w->point->value, &l, image->want, w->p->m, w->p->n, (float *)(void *)got);
    for (size_t i = 0; i < n; i++)
        sq_route_expect(w, "y", i, got[i], rounded(w->point->value, want[i]));
    return SQ_OK;
}
