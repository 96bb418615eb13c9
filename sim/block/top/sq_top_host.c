// SPDX-License-Identifier: Apache-2.0
// Draws layers, spoils some, starts them as a driver does, and checks all that the chip answers
// (sq_top_host.h).
#include "sim/block/top/sq_top_host.h"

#include <assert.h>
#include <string.h>

#include "sim/block/top/sq_top_draw.h"

enum { ROWS, COLS };
enum { PATIENCE = 200000, SURELY_RUNS = 3 }; // cycles: in which no beat moves; that any layer takes
enum { OKAY = 0, SLVERR = 2, ALL_BYTES = 15 };

// What the host does next; an access each, but for RUN.
enum step {
    AFTER_RESET,
    DESCRIPTOR,
    ENABLE,
    START,
    RUN,
    STATUS,
    COUNTER, // the halves of each
    SPARE,
    CLEAR,
    QUIET,
    NEXT
};

// Ways in which a descriptor is wrong: one field of it, then what the enum names.
static const struct {
    unsigned word;
    uint32_t mask, bits;
} change[] = {
    {SQ_DESC_KIND, 0xffff, SQ_DESC_KIND_VALUE + 1},
    {SQ_DESC_TILES, 0xffff, 0},
    {SQ_DESC_TILES, 0xffff0000u, 0},
    {SQ_DESC_BLOCK, 0xffff, 0},
    {SQ_DESC_BLOCK, 0xffff0000u, 0},
    {SQ_DESC_BEATS, 0xffff, 0},
    {SQ_DESC_BEATS, 0xffff0000u, 0},
    {SQ_DESC_CHUNK, 0xffff, 0},
    {SQ_DESC_CHUNK, 0xffff0000u, 0xffff0000u},
    {SQ_DESC_ACT, 1, 1},
    {SQ_DESC_ROW_SCALE, 2, 2},
    {SQ_DESC_WEIGHT, 1, 1},
    {SQ_DESC_COL_SCALE, 2, 2},
    {SQ_DESC_OUT, 1, 1},
};
enum { CHANGES = sizeof change / sizeof *change, UNNAMED_BITS = 206 };
enum way {
    WIDE_ROWS = CHANGES, // a block that does not fit
    WIDE_COLS,
    MANY_SUMS,   // more tiles than sums have room for
    LONG_CHUNK,  // longer than K
    PART_OF_TWO, // a part of two groups
    WHOLE_PART,  // ... of all beats
    MANY_PARTS,  // ... of a layer of more groups than integers have room for
    MANY_SCALES, // scales of columns that do not fit
    WRAPS_TILE,  // a product whose low 16 bits would fit: beats of a tile, of a block
    WRAPS_BLOCK,
    FULL_SUMS, // more tiles of a block than sums have room for, by rows and columns; than the buffers have
    FULL_BUFFERS,
    CROOKED, // address of the descriptor
    ASTRIDE, // the descriptor lies across 4 GiB
    MANY_OUT, // outputs of more than 4 GiB; operands, by their beats or by the high half of those of a tile
    MANY_ACT,
    LONG_ACT,
    LONG_WEIGHT,
    PAST_END, // a region ends a beat beyond 4 GiB: the four operands, the outputs
    UNNAMED = PAST_END + SQ_TOP_OPERANDS + 1, // a bit without a name
    WAYS = UNNAMED + UNNAMED_BITS
};
_Static_assert(2 * WAYS == SQ_HOST_N_REFUSED, "each way, and a good layer behind it");

// The layer at hand.
struct work {
    struct sq_top_given image;
    enum sq_axi_fault fault;
    uint32_t fault_at; // address of the beat
    uint32_t n_read;   // beats that a layer without faults reads; 0: not known
    bool is_refused;   // the descriptor is wrong, in this way
    enum way way;
    struct moved {
        uint32_t from, to, nbytes;
    } moved;                    // a region that lies elsewhere than the image has it
    uint32_t n_written;         // words of outputs
    bool has_wrong, is_outside; // a word differed; was written elsewhere
};

struct access {
    bool is_there, is_write;
    uint32_t addr, data, strb;
    uint32_t aw_wait, w_wait; // cycles before it is offered; gone: UINT32_MAX
    bool is_extra;            // of no step: what must not disturb
    bool had_irq;             // when the write was done
    uint32_t want_resp;
    // A write may have one behind it, which is offered before the first is answered.
    struct follower {
        bool is_there, has_turn; // has_turn: the first is answered
        uint32_t addr, data, strb, want_resp, first_resp;
        uint32_t aw_wait, w_wait;
    } next;
};

struct host {
    struct sq_axi_memory memory;
    uint32_t base; // address of word 0 of the image
    const unsigned *value;
    struct sq_env_choice choice;
    struct sq_rng rng;
    uint32_t number; // of the layer
    uint32_t idle;   // cycles before its first access
    enum step step;
    bool has_irq;           // enabled
    bool irq_before;        // in the last cycle without a response to a write
    bool is_cleared;        // the interrupt of this layer, while the host still waited for it
    uint64_t lasted;        // cycles of the first layer
    uint64_t waited, still; // cycles of the layer; since a beat moved
    struct access access;
    bool b_ready, r_ready;
    uint64_t count[SQ_COUNTERS]; // as read
    uint32_t n_read; // halves of them; before the first layer registers that a reset clears
    struct work work;
    struct sq_top_drawn drawn;
    bool written[SQ_DRAWN_OUT_WORDS];
};

static unsigned nbytes(const struct host *h)
{
    return h->value[SQ_TOP_DATA_W] / 8;
}

// ---- a layer ------------------------------------------------------------------------------------------

static const unsigned address_word[SQ_TOP_OPERANDS + 1] = {
    SQ_DESC_ACT, SQ_DESC_ROW_SCALE, SQ_DESC_WEIGHT, SQ_DESC_COL_SCALE, SQ_DESC_OUT};

static void set_unnamed(uint32_t *word, uint32_t number)
{
    for (unsigned i = 0; i < SQ_DESC_WORDS; i++)
        for (unsigned b = 0; b < 32; b++)
            if (!(sq_desc_named(i) >> b & 1) && number-- == 0) {
                word[i] |= 1u << b;
                return;
            }
    assert(false);
}

// So many tiles and groups, of which a beat each or two are computed at once.
static void set_size(uint32_t *word, uint32_t rows, uint32_t cols, uint32_t groups, uint32_t beats)
{
    word[SQ_DESC_TILES] = cols << 16 | rows;
    word[SQ_DESC_BLOCK] = 1u << 16 | 1;
    word[SQ_DESC_BEATS] = groups << 16 | beats;
    word[SQ_DESC_CHUNK] = 1;
}

// Tiles of an operand of 2^16 beats each that are 4 GiB.
static uint32_t tiles_of_all(const struct sq_top_room *room, enum sq_top_part part)
{
    const uint32_t beats = (uint32_t)sq_top_transfer(room, part, 1);
    return (65536 / room->nbytes + beats - 1) / beats;
}

// Columns with which the outputs of MANY rows are 2^32 beats of the bus and a few, or as near as it gets.
enum { MANY = 0xc000 };
static uint32_t cols_beyond(const struct sq_top_room *room)
{
    const uint64_t row = MANY * sq_top_transfer(room, SQ_TOP_STORE, 1);
    const uint64_t cols = ((UINT64_C(1) << 32) + row - 1) / row;
    return cols < 0xffff ? (uint32_t)cols : 0xffff;
}

// A tile of K in two chunks, so that sums are kept; so many tiles of a block.
static void set_tiles(uint32_t *word, uint32_t rows, uint32_t cols)
{
    word[SQ_DESC_BEATS] = 2u << 16 | 1;
    word[SQ_DESC_CHUNK] = 1;
    word[SQ_DESC_BLOCK] = rows << 16 | cols;
}

static uint32_t at_most_256(uint32_t n)
{
    return n < 256 ? n : 256;
}

static void spoil_descriptor(uint32_t *word, enum way way, const struct sq_top_room *room)
{
    const uint32_t beats = word[SQ_DESC_BEATS] & 0xffff;
    const uint32_t part = word[SQ_DESC_CHUNK] >> 16;
    const uint32_t chunk = part ? part : beats * (word[SQ_DESC_CHUNK] & 0xffff);
    const uint32_t fits[2] = {room->depth[SQ_TOP_ACT] / chunk, room->depth[SQ_TOP_WEIGHT] / chunk};
    switch (way) {
    case WIDE_ROWS:
        word[SQ_DESC_BLOCK] = (word[SQ_DESC_BLOCK] & 0xffff0000u) | (fits[ROWS] + 1);
        break;
    case WIDE_COLS:
        word[SQ_DESC_BLOCK] = (word[SQ_DESC_BLOCK] & 0xffff) | (fits[COLS] + 1) << 16;
        break;
    case MANY_SUMS:
        word[SQ_DESC_BEATS] = 2u << 16 | beats;
        word[SQ_DESC_CHUNK] = 1;
        word[SQ_DESC_BLOCK] = 1u << 16 | (room->sum_tiles + 1);
        break;
    case LONG_CHUNK:
        word[SQ_DESC_CHUNK] = (word[SQ_DESC_BEATS] >> 16) + 1;
        break;
    case MANY_SCALES:
        set_size(word, 1, 1, room->scale_once ? 1 : room->depth[SQ_TOP_COL_SCALE] + 1, 1);
        word[SQ_DESC_CHUNK] = word[SQ_DESC_BEATS] >> 16;
        if (room->scale_once)
            word[SQ_DESC_BLOCK] = (room->depth[SQ_TOP_COL_SCALE] + 1) << 16 | 1;
        break;
    case MANY_PARTS:
    case PART_OF_TWO:
        set_size(word, 1, 1, 2, 2); // chips with room for parts of any group run the first
        word[SQ_DESC_CHUNK] = 1u << 16 | (way == MANY_PARTS && room->part_groups < 2 ? 1 : 2);
        break;
    case WHOLE_PART:
        set_size(word, 1, 1, 1, 2);
        word[SQ_DESC_CHUNK] = 2u << 16 | 1;
        break;
    case WRAPS_TILE:
        word[SQ_DESC_BEATS] = 2u << 16 | 0x8000;
        word[SQ_DESC_CHUNK] = 2;
        break;
    case WRAPS_BLOCK:
        word[SQ_DESC_BEATS] = 1u << 16 | 2;
        word[SQ_DESC_BLOCK] = 1u << 16 | 0x8001;
        break;
    case FULL_SUMS: // fits in each direction, but has one or two tiles more than sums have room for
        set_tiles(word, room->sum_tiles / 2 + 1, 2);
        break;
    case FULL_BUFFERS: // or as many as may be: of half a buffer of 256 beats the low 16 bits are 0
        set_tiles(word, at_most_256(room->depth[SQ_TOP_ACT]),
                  at_most_256(room->depth[SQ_TOP_WEIGHT]));
        break;
    case MANY_OUT:
        set_size(word, MANY, cols_beyond(room), 1, 1);
        break;
    case MANY_ACT:
        set_size(word, 0x8000, 1, 0x8000, 4);
        break;
    case LONG_ACT:
        set_size(word, tiles_of_all(room, SQ_TOP_ACT), 1, 0x8000, 2);
        break;
    case LONG_WEIGHT:
        set_size(word, 1, tiles_of_all(room, SQ_TOP_WEIGHT), 0x8000, 2);
        break;
    default:
        if (way >= UNNAMED)
            set_unnamed(word, way - UNNAMED);
        else if ((unsigned)way < CHANGES)
            word[change[way].word] =
                (word[change[way].word] & ~change[way].mask) | change[way].bits;
    }
}

static uint32_t region_beats(const struct host *h, const struct sq_top_layer *l, unsigned i)
{
    return (uint32_t)(i == 0 ? 4 * SQ_DESC_WORDS
                             : sq_top_nbytes(h->value, l, (enum sq_top_part)(i - 1))) /
           nbytes(h);
}

// Beat number `n` of descriptor, operands and outputs.
static uint32_t beat_at(const struct host *h, const struct sq_top_layer *l, uint32_t n)
{
    for (unsigned i = 0; i <= SQ_TOP_OPERANDS + 1; n -= region_beats(h, l, i++))
        if (n < region_beats(h, l, i))
            return (i == 0 ? h->work.image.descriptor : l->addr[i - 1]) + n * nbytes(h);
    assert(false);
    return 0;
}

static uint32_t all_beats(const struct host *h, const struct sq_top_layer *l)
{
    uint32_t n = 0;
    for (unsigned i = 0; i <= SQ_TOP_OPERANDS + 1; i++)
        n += region_beats(h, l, i);
    return n;
}

static uint32_t blocks_of(uint32_t n, uint32_t block)
{
    return (n + block - 1) / block;
}

// Beats of the bus that a layer reads (rtl/top/README.md): the outer operand once for each of its blocks, the inner
// one for every block unless it has only one; in chunks of K both for every step, scales that serve all of them once.
static uint32_t beats_to_read(const struct host *h, const struct sq_top_layer *l)
{
    const bool has_chunks = !sq_block_walk_is_whole(l), scale_once = sq_top_is_scaled(h->value);
    uint32_t n = region_beats(h, l, 0);
    for (unsigned p = 0; p < SQ_TOP_OPERANDS; p++) {
        const unsigned axis = p >= SQ_TOP_WEIGHT ? COLS : ROWS, other = axis == COLS ? ROWS : COLS;
        const bool is_outer = l->cols_outer == (axis == COLS);
        const bool is_for_all = p == SQ_TOP_ROW_SCALE || (p == SQ_TOP_COL_SCALE && scale_once);
        const bool is_once = (is_outer || blocks_of(l->tiles[axis], l->block[axis]) == 1) &&
                             (is_for_all || !has_chunks);
        n +=
            region_beats(h, l, p + 1) * (is_once ? 1 : blocks_of(l->tiles[other], l->block[other]));
    }
    return n;
}

static const struct sq_top_layer short_layer = {
    .tiles = {1, 2}, .block = {1, 1}, .beats = 1, .groups = 2, .chunk = 1, .cols_outer = false};

uint32_t sq_host_n_faults(const unsigned *value)
{
    const struct host h = {.value = value};
    return 2 * (SQ_AXI_FAULTS - 1) * all_beats(&h, &short_layer);
}

// One or two blocks of as many tiles as sums have room for, and one behind them. Returns the beat of the weights
// that is wrong: the first one of the last block.
static int32_t kept_layer(const unsigned *value, uint32_t number, struct sq_top_layer *l)
{
    const uint32_t most = SQ_DRAWN_LINES / value[SQ_TOP_COLS], before = 1 + number % 2;
    const uint32_t fit = most / (before + 1), room = value[SQ_TOP_SUM_TILES];
    l->block[COLS] = room < fit ? room : fit;
    l->tiles[COLS] = l->block[COLS] * (before + 1);
    return (int32_t)(l->block[COLS] * before * l->groups * l->beats);
}

// The longest transfers: of a tile of as many beats as half a buffer holds, or of the outputs of as many tiles.
static struct sq_top_layer deep_layer(const unsigned *value, uint32_t number)
{
    struct sq_top_layer l = short_layer;
    l.groups = 1;
    const unsigned *const depth = value + SQ_TOP_DEPTH;
    const bool is_act_short = depth[SQ_TOP_ACT] < depth[SQ_TOP_WEIGHT];
    l.beats = number == 0 ? depth[is_act_short ? SQ_TOP_ACT : SQ_TOP_WEIGHT] : 1;
    l.tiles[ROWS] = l.block[ROWS] = number == 0 ? 1 : 8;
    const bool has_fewer = depth[SQ_TOP_COL_SCALE] < depth[SQ_TOP_WEIGHT];
    l.tiles[COLS] = l.block[COLS] =
        number == 0 ? 1 : depth[has_fewer ? SQ_TOP_COL_SCALE : SQ_TOP_WEIGHT];
    return l;
}

static struct sq_top_layer layer_of(const unsigned *value, const uint32_t word[SQ_DESC_WORDS])
{
    const struct sq_top_room room = sq_top_room(value);
    struct sq_top_layer l;
    (void)sq_top_layer_decode(word, &room, &l);
    return l;
}

static struct sq_top_layer given_layer(const unsigned *value, const struct sq_top_given *given)
{
    return layer_of(value, (const uint32_t *)given->word + given->descriptor / 4);
}

// The words of the image's descriptor, which lies below the base that the image is moved by.
static uint32_t *descriptor_of(struct host *h)
{
    return (uint32_t *)h->drawn.word + (h->work.image.descriptor - h->base) / 4;
}

// Bytes of a region whose beats lie on beats of the bus of their own.
static uint32_t reach(const struct host *h, const struct sq_top_layer *l, enum sq_top_part part)
{
    const struct sq_top_room room = sq_top_room(h->value);
    return sq_top_beats(h->value, l, part) * (uint32_t)sq_top_transfer(&room, part, 1) * nbytes(h);
}

// Moves a region to the end of memory, or `beyond` bytes further, were it that long. One that is no longer than that
// gets a tile more before.
static void move_to_end(struct host *h, enum sq_top_part part, uint32_t beyond)
{
    uint32_t *const word = descriptor_of(h), *const addr = &word[address_word[part]];
    struct sq_top_layer l = layer_of(h->value, word);
    if (reach(h, &l, part) <= beyond) {
        word[SQ_DESC_TILES] += 1u << 16 | 1;
        l = layer_of(h->value, word);
    }
    const uint32_t n = reach(h, &l, part);
    h->work.moved = (struct moved){.from = *addr, .to = beyond - n, .nbytes = n};
    *addr = h->work.moved.to;
    if (part == SQ_TOP_STORE)
        h->work.image.out = *addr;
}

static void spoil(struct host *h, enum way way)
{
    const struct sq_top_room room = sq_top_room(h->value);
    if (way >= PAST_END && way < UNNAMED)
        move_to_end(h, (enum sq_top_part)(way - PAST_END), room.nbytes);
    else
        spoil_descriptor(descriptor_of(h), way, &room);
    if (way == CROOKED)
        h->work.image.descriptor += 1;
}

static void draw_fault(struct host *h, struct sq_rng *rng, const struct sq_top_layer *l)
{
    h->work.fault = (enum sq_axi_fault)(1 + sq_rng_below(rng, SQ_AXI_FAULTS - 1));
    h->work.fault_at = beat_at(h, l, sq_rng_below(rng, all_beats(h, l)));
}

// The image lies at address 0, across 2 GiB, ends at 4 GiB, or has its descriptor across 4 GiB.
enum { LOW, ACROSS, HIGH, WRAPPED, BASES = WRAPPED };
static void move_image(struct host *h, uint32_t way)
{
    struct sq_top_given *const image = &h->work.image;
    const uint32_t pages = (4 * (uint32_t)image->n_words + SQ_AXI_PAGE - 1) / SQ_AXI_PAGE + 1;
    const uint32_t base[] = {[LOW] = 0,
                             [ACROSS] = 0x80000000u - pages / 2 * SQ_AXI_PAGE,
                             [HIGH] = 0u - pages * SQ_AXI_PAGE,
                             [WRAPPED] = 0u - 2 * SQ_DESC_WORDS - image->descriptor};
    uint32_t *const word = descriptor_of(h);
    h->base = base[way];
    for (unsigned i = 0; i <= SQ_TOP_OPERANDS; i++)
        word[address_word[i]] += h->base;
    image->descriptor += h->base;
    image->out += h->base;
    h->work.fault_at += h->base;
}

// Draws a way to spoil; one of the bits without a name comes as often as any other way.
static enum way draw_way(struct sq_rng *rng)
{
    const uint32_t way = sq_rng_below(rng, UNNAMED + 1);
    return (enum way)(way + (way == UNNAMED ? sq_rng_below(rng, UNNAMED_BITS) : 0));
}

static void draw_layer(struct host *h)
{
    const uint32_t what = h->choice.what, half = h->number / 2;
    const uint32_t which =
        what == SQ_HOST_CLEARS ? 0 : h->number; // all alike: they last equally long
    struct sq_rng rng = {(h->choice.seed + which) * UINT64_C(0x9e3779b97f4a7c15)};
    struct sq_top_layer l = short_layer;
    const bool may_be_bad =
        what == SQ_HOST_WRONG || what == SQ_HOST_FAULTS || what == SQ_HOST_REFUSED;
    const bool is_bad = may_be_bad && h->number % 2 == 0;
    const bool was_bad = h->work.fault != SQ_AXI_GOOD; // beats of that one may still come
    (void)sq_rng_next(&rng);
    memset(&h->work, 0, sizeof h->work);
    h->step = DESCRIPTOR;
    h->is_cleared = false;
    h->n_read = h->base = 0;
    if (h->choice.given) {
        h->work.image = *(const struct sq_top_given *)h->choice.given;
        l = given_layer(h->value, h->choice.given);
        h->work.n_read = is_bad || was_bad ? 0 : beats_to_read(h, &l);
        if (is_bad)
            draw_fault(h, &rng, &l);
        return;
    }
    if (what == SQ_HOST_ANY || what == SQ_HOST_WRONG)
        sq_top_draw_shape(h->value, &rng, &l);
    if (what == SQ_HOST_DEEP)
        l = deep_layer(h->value, h->number);
    if (what == SQ_HOST_REFUSED)
        l.groups = 1; // tiles of a beat: a block may be too large by one
    const uint32_t way = sq_rng_below(&rng, 4);
    const bool is_illegal = is_bad && what == SQ_HOST_WRONG && way == 0;
    memset(h->written, 0, sizeof h->written);
    const int32_t wrong = what == SQ_HOST_KEPT ? kept_layer(h->value, h->number, &l)
                          : is_illegal         ? SQ_DRAWN_ANY_WRONG
                                               : SQ_DRAWN_RIGHT;
    h->work.image = sq_top_draw_image(h->value, &rng, &l, wrong, &h->drawn);
    h->work.n_read = is_bad || was_bad ? 0 : beats_to_read(h, &l);
    if (!is_bad)
        return;
    const uint32_t n = all_beats(h, &l);
    if (what == SQ_HOST_FAULTS) {
        h->work.fault = (enum sq_axi_fault)(1 + half / n % (SQ_AXI_FAULTS - 1));
        h->work.fault_at = beat_at(h, &l, half % n);
    } else if (what == SQ_HOST_REFUSED || way == 1) {
        h->work.is_refused = true;
        h->work.way = what == SQ_HOST_REFUSED ? (enum way)half : draw_way(&rng);
    } else if (way > 1) {
        draw_fault(h, &rng, &l);
    }
}

// Behind a layer that was refused because a region ends beyond 4 GiB one follows whose region ends there.
static void begin_layer(struct host *h)
{
    const struct work before = h->work;
    draw_layer(h);
    const enum way way = h->work.is_refused ? h->work.way : before.way;
    const bool has_end =
        (h->work.is_refused || before.is_refused) && way >= PAST_END && way < UNNAMED;
    if (h->choice.given)
        return;
    move_image(h, has_end                                        ? LOW
                  : h->work.is_refused && h->work.way == ASTRIDE ? WRAPPED
                                                                 : h->number / 2 % BASES);
    if (h->work.is_refused)
        spoil(h, way);
    else if (has_end)
        move_to_end(h, (enum sq_top_part)(way - PAST_END), 0);
}

// ---- memory -------------------------------------------------------------------------------------------

static int32_t read_word(void *ctx, uint32_t addr, unsigned i)
{
    const struct host *const h = ctx;
    const struct moved *const m = &h->work.moved;
    const uint32_t from = addr - m->to < m->nbytes ? addr - m->to + m->from : addr;
    const uint32_t at = (from - h->base) / 4 + i;
    return at < h->work.image.n_words ? h->work.image.word[at] : (int32_t)(at * 0x9e3779b9u);
}

static const char *write_words(void *ctx, uint32_t addr, const int32_t *word, unsigned n)
{
    struct host *const h = ctx;
    struct work *const w = &h->work;
    const uint32_t first = (addr - w->image.out) / 4;
    if (addr < w->image.out || first + n > w->image.n_want || w->is_refused)
        return "memory.outside";
    for (unsigned i = 0; i < n; i++) {
        if (!h->choice.given && h->written[first + i])
            return "memory.written_twice";
        if (!h->choice.given)
            h->written[first + i] = true;
        w->has_wrong = w->has_wrong || word[i] != w->image.want[first + i];
    }
    w->n_written += n;
    return w->has_wrong && w->fault == SQ_AXI_GOOD ? "memory.output" : NULL;
}

static enum sq_axi_fault fault_at(void *ctx, uint32_t addr, unsigned size)
{
    const struct work *const w = &((const struct host *)ctx)->work;
    const uint32_t beat = w->fault_at / size, at = addr / size;
    if (w->fault == SQ_AXI_TWO)
        return at == beat ? SQ_AXI_SLVERR : at == beat + 1 ? SQ_AXI_DECERR : SQ_AXI_GOOD;
    return at == beat ? w->fault : SQ_AXI_GOOD;
}

static const struct sq_axi_content content = {read_word, write_words, fault_at};

// ---- what must have happened --------------------------------------------------------------------------

static bool is_one_of(uint32_t status, enum sq_axi_fault fault)
{
    switch (fault) {
    case SQ_AXI_SLVERR:
    case SQ_AXI_TWO: // the first one counts
        return status == SQ_DMA_SLVERR;
    case SQ_AXI_DECERR:
        return status == SQ_DMA_DECERR;
    case SQ_AXI_EARLY:
        return status == SQ_DMA_EARLY;
    case SQ_AXI_LATE:
    case SQ_AXI_MISSING:
        return status == SQ_DMA_LATE;
    default:
        return false;
    }
}

static bool is_of_descriptor(const struct work *w)
{
    return w->fault_at - w->image.descriptor < 4 * SQ_DESC_WORDS;
}

static const char *check_status(const struct host *h, uint32_t status)
{
    const struct work *const w = &h->work;
    const uint32_t read = status >> SQ_STATUS_READ & 7, written = status >> SQ_STATUS_WRITTEN & 7;
    const uint32_t good =
        w->is_refused ? 1u << SQ_STATUS_REFUSED : w->image.status << SQ_STATUS_ENGINE;
    const bool is_good = status == good;
    const bool can_pass =
        w->fault != SQ_AXI_SLVERR && w->fault != SQ_AXI_DECERR && w->fault != SQ_AXI_TWO;
    if (is_good && !can_pass)
        return "host.fault_not_told";
    if (!is_good && w->fault == SQ_AXI_GOOD)
        return "host.status";
    if (!is_good && (read ? !is_one_of(read, w->fault) || written : !is_one_of(written, w->fault)))
        return "host.status_of_fault";
    // A beat that came with an error refuses the descriptor that it is of, or is an operand that the engine takes.
    const uint32_t is_lost =
        read ? 1u << (is_of_descriptor(w) ? SQ_STATUS_REFUSED : SQ_STATUS_OPERAND) : 0;
    if (!is_good && (status & (1u << SQ_STATUS_REFUSED | 1u << SQ_STATUS_OPERAND)) != is_lost)
        return "host.status_of_region";
    if (is_good && !w->is_refused && (w->has_wrong || w->n_written != w->image.n_want))
        return "host.outputs";
    return NULL;
}

// ---- accesses -----------------------------------------------------------------------------------------

// Cycles that a channel of the host waits.
static uint32_t pause(struct host *h)
{
    const bool is_random = h->choice.kind == 2;
    return is_random && sq_rng_below(&h->rng, 2) ? sq_rng_below(&h->rng, 6) : 0;
}

static void begin_access(struct host *h, bool is_write, uint32_t addr, uint32_t data)
{
    h->access = (struct access){.is_there = true,
                                .is_write = is_write,
                                .addr = addr,
                                .data = data,
                                .strb = ALL_BYTES,
                                .want_resp = OKAY,
                                .aw_wait = pause(h),
                                .w_wait = pause(h)};
}

// All bits of a register but those that mean something.
#define OTHERS 0xfffffffcu

// What changes nothing, and when: it is refused, or writes bits that mean nothing, or the address of the next
// descriptor, or clears an interrupt before there is one. The first ones are refused at any time.
enum { BEFORE = 1, WHILE = 2, N_REFUSED = 13 };
static const struct {
    uint32_t addr, data, strb, resp, when;
} extra[] = {{SQ_REG_STATUS, 0xffffffffu, 15, SLVERR, BEFORE | WHILE},
             {SQ_REG_ID, 0, 15, SLVERR, BEFORE | WHILE},
             {SQ_REG_END, 1, 15, SLVERR, BEFORE | WHILE},
             {SQ_REG_IRQ_ENABLE, 0, 7, SLVERR, BEFORE | WHILE},
             {0xfc, 1, 15, SLVERR, BEFORE | WHILE},
             {SQ_REG_IRQ_STATE, 1, 0, SLVERR, BEFORE | WHILE},
             {SQ_REG_DESCRIPTOR, 4, 14, SLVERR, BEFORE | WHILE},
             {SQ_REG_COUNTER_HIGH, 1, 15, SLVERR, BEFORE | WHILE},
             {SQ_REG_CONTROL + 1, 1, 15, SLVERR, BEFORE | WHILE},
             {SQ_REG_CONTROL + 2, 1, 15, SLVERR, BEFORE | WHILE},
             {SQ_REG_IRQ_STATE + 1, 1, 15, SLVERR, BEFORE | WHILE},
             {SQ_REG_IRQ_ENABLE + 2, 0, 15, SLVERR, BEFORE | WHILE},
             {SQ_REG_DESCRIPTOR + 3, 4, 15, SLVERR, BEFORE | WHILE},
             {SQ_REG_CONTROL, OTHERS, 15, OKAY, BEFORE},
             {SQ_REG_IRQ_STATE, OTHERS, 15, OKAY, BEFORE | WHILE},
             {SQ_REG_DESCRIPTOR, 0xa5a5a5a4u, 15, OKAY, WHILE},
             {SQ_REG_IRQ_STATE, 1, 15, OKAY, WHILE}};

static bool has_register(uint32_t addr)
{
    bool has = false;
    for (unsigned i = 0; i < sq_n_regs; i++)
        has = has || sq_regs[i].offset == addr;
    return has;
}

// An access beside the steps.
static void begin_extra(struct host *h)
{
    const uint32_t i = sq_rng_below(&h->rng, 12);
    uint32_t j = sq_rng_below(&h->rng, sizeof extra / sizeof *extra);
    const bool has_begun = h->step == RUN && h->waited < SURELY_RUNS;
    if (i < 4 && !has_begun) {
        const uint32_t addr = sq_rng_below(&h->rng, 256);
        begin_access(h, false, sq_rng_below(&h->rng, 2) ? addr / 4 * 4 : addr, 0);
        h->access.want_resp = has_register(h->access.addr) ? OKAY : SLVERR;
    } else if (has_begun) {
        begin_access(h, true, SQ_REG_CONTROL, 1);
        h->access.aw_wait = h->access.w_wait = 0;
        h->access.want_resp = SLVERR;
    } else {
        if (!(extra[j].when & (h->step == RUN ? WHILE : BEFORE)))
            j %= N_REFUSED;
        begin_access(h, true, extra[j].addr, extra[j].data);
        h->access.strb = extra[j].strb;
        h->access.want_resp = extra[j].resp;
    }
    h->access.is_extra = true;
}

static void begin_clear(struct host *h)
{
    begin_access(h, true, SQ_REG_IRQ_STATE, 1);
    h->access.is_extra = true;
}

// A write of a host that still waits has cleared the interrupt only if there was one when it was done: one that
// comes in that very cycle stays.
static void end_extra(struct host *h, const struct access *a)
{
    const bool clears =
        a->is_write && a->addr == SQ_REG_IRQ_STATE && (a->data & 1) && a->strb == ALL_BYTES;
    if (!clears || !a->had_irq || h->step != RUN)
        return;
    h->is_cleared = true;
    h->step = STATUS;
}

// Now and then a write of a random host has a refused one close behind it. Not the start: its layer may end
// before that one is answered.
static void begin_follower(struct host *h)
{
    struct access *const a = &h->access;
    if (h->choice.kind != 2 || !a->is_there || !a->is_write || h->step == START ||
        sq_rng_below(&h->rng, 3) > 0)
        return;
    const uint32_t j = sq_rng_below(&h->rng, N_REFUSED);
    a->next = (struct follower){.is_there = true,
                                .addr = extra[j].addr,
                                .data = extra[j].data,
                                .strb = extra[j].strb,
                                .want_resp = extra[j].resp,
                                .aw_wait = pause(h),
                                .w_wait = pause(h)};
}

// What a reset clears.
static const uint32_t cleared[] = {SQ_REG_STATUS, SQ_REG_IRQ_ENABLE, SQ_REG_IRQ_STATE,
                                   SQ_REG_DESCRIPTOR, SQ_REG_COUNTER_HIGH};

// The access of the next step, or none.
static void begin_step(struct host *h)
{
    const bool is_random = h->choice.kind == 2;
    if (h->step == RUN ? is_random && sq_rng_below(&h->rng, h->waited < SURELY_RUNS ? 4 : 24) == 0
                       : is_random && h->step < STATUS && sq_rng_below(&h->rng, 8) == 0) {
        begin_extra(h);
        return;
    }
    switch (h->step) {
    case AFTER_RESET:
        begin_access(h, false, cleared[h->n_read], 0);
        break;
    case DESCRIPTOR:
        begin_access(h, true, SQ_REG_DESCRIPTOR, h->work.image.descriptor);
        break;
    case ENABLE:
        h->has_irq = h->choice.kind != 2 || sq_rng_below(&h->rng, 4) > 0;
        begin_access(h, true, SQ_REG_IRQ_ENABLE, h->has_irq | (is_random ? OTHERS : 0));
        break;
    case START:
        begin_access(h, true, SQ_REG_CONTROL, 1);
        h->waited = h->still = 0;
        break;
    case RUN:
        if (!h->has_irq)
            begin_access(h, false, SQ_REG_STATUS, 0);
        else if (h->choice.what == SQ_HOST_CLEARS && h->waited + h->number == h->lasted)
            begin_clear(h);
        break;
    case STATUS:
        begin_access(h, false, SQ_REG_STATUS, 0);
        break;
    case COUNTER:
        begin_access(h, false,
                     h->n_read % 2 ? (uint32_t)SQ_REG_COUNTER_HIGH : SQ_REG_CYCLES + 2 * h->n_read,
                     0);
        break;
    case SPARE:
        begin_access(h, true, SQ_REG_IRQ_STATE, OTHERS);
        break;
    case CLEAR:
        begin_access(h, true, SQ_REG_IRQ_STATE, ~OTHERS);
        break;
    case QUIET:
        begin_access(h, false, SQ_REG_IRQ_STATE, 0);
        break;
    default:
        break;
    }
}

// All counters, as they were read.
static const char *check_counts(struct host *h)
{
    const struct sq_top_given *const given = h->choice.given;
    uint64_t *const n = h->count;
    for (unsigned i = 0; i < SQ_COUNTERS; i++)
        n[i] -= h->value[SQ_TOP_COUNT_START];
    if (given && given->counted)
        memcpy(given->counted, n, SQ_HOST_COUNTERS * sizeof *n);
    if (n[SQ_COUNT_CYCLES] != n[SQ_COUNT_BUSY] + n[SQ_COUNT_WAIT] + n[SQ_COUNT_BLOCKED])
        return "host.counters";
    if (h->work.n_read == 0)
        return NULL;
    return n[SQ_COUNT_READ] != h->work.n_read                          ? "host.beats_read"
           : n[SQ_COUNT_WRITE] != 4 * h->work.image.n_want / nbytes(h) ? "host.beats_written"
                                                                       : NULL;
}

// Behind an access: what was read, and the step that follows.
static const char *end_access(struct host *h, uint32_t resp, uint32_t data)
{
    const struct access a = h->access;
    h->access.is_there = false;
    if (resp != a.want_resp)
        return "host.response";
    if (a.is_extra) {
        end_extra(h, &a);
        return NULL;
    }
    switch (h->step) {
    case AFTER_RESET:
        if (++h->n_read == sizeof cleared / sizeof *cleared) {
            h->n_read = 0;
            h->step = DESCRIPTOR;
        }
        return data == 0 ? NULL : "host.not_reset";
    case RUN: // it asked
        if (data & 1u << SQ_STATUS_BUSY)
            return NULL;
        h->step = STATUS;
        return NULL;
    case STATUS:
        h->step = COUNTER;
        return check_status(h, data);
    case COUNTER:
        if (h->n_read % 2)
            h->count[h->n_read / 2] |= (uint64_t)data << 32;
        else
            h->count[h->n_read / 2] = data;
        if (++h->n_read < 2 * SQ_COUNTERS)
            return NULL;
        h->step = SPARE;
        return check_counts(h);
    case QUIET:
        h->step = NEXT;
        return data == 0 ? NULL : "host.interrupt_stays";
    default:
        h->step++;
        return NULL;
    }
}

// ---- the environment ----------------------------------------------------------------------------------

static void draw(struct sq_rng *rng, struct sq_env_choice *choice)
{
    sq_axi_memory_draw(rng, choice);
    const uint32_t what = sq_rng_below(rng, 3);
    choice->what = what == 0   ? (uint32_t)SQ_HOST_ANY
                   : what == 1 ? (uint32_t)SQ_HOST_WRONG
                               : (uint32_t)SQ_HOST_RINGS + SQ_RING_ANY;
    choice->begin = 0;
    choice->end = 1 + sq_rng_below(rng, sq_rng_below(rng, 4) ? 4 : 16);
}

// Random wait states; behind the pieces that may be lost, one with a fault of the bus and one without.
static uint64_t disturb(const unsigned *value, struct sq_rng *rng, uint32_t lost,
                        struct sq_env_choice *choice)
{
    const struct sq_top_layer l = given_layer(value, choice->given);
    const void *const given = choice->given;
    *choice = (struct sq_env_choice){.kind = 2,
                                     .n = {sq_rng_below(rng, 2)},
                                     .seed = sq_rng_next(rng),
                                     .what = SQ_HOST_WRONG,
                                     .end = lost + lost % 2 + 2, // even numbers have a fault
                                     .given = given};
    return (uint64_t)l.tiles[ROWS] * l.tiles[COLS] * l.groups * l.beats;
}

static void init(const unsigned *value, const struct sq_env_choice *choice, void *env)
{
    struct host *const h = env;
    h->value = value;
    h->choice = *choice;
    h->rng.state = choice->seed ^ 0x5eed;
    h->number = choice->begin;
    sq_axi_memory_init(&h->memory, value[SQ_TOP_DATA_W], choice, &content, h);
    h->step = NEXT;
    h->idle = choice->what == SQ_HOST_LATE ? choice->begin : 0;
    if (h->number < choice->end)
        begin_layer(h);
    if (h->step == DESCRIPTOR && choice->kind == 2)
        h->step = AFTER_RESET;
}

static void drive(const void *env, struct sq_pins *pins)
{
    const struct host *const h = env;
    const struct access *const a = &h->access;
    int32_t *const reply = pins->reply + sq_lite_reply(h->value[SQ_TOP_DATA_W]);
    sq_axi_memory_drive(&h->memory, pins);
    pins->ask_ready[SQ_LITE_B] = h->b_ready;
    pins->ask_ready[SQ_LITE_R] = h->r_ready;
    pins->reply_valid[SQ_LITE_AW] = a->is_there && a->is_write && a->aw_wait == 0;
    pins->reply_valid[SQ_LITE_W] = a->is_there && a->is_write && a->w_wait == 0;
    pins->reply_valid[SQ_LITE_AR] = a->is_there && !a->is_write && a->aw_wait == 0;
    const struct follower *const n = &a->next;
    const bool is_next_aw = n->is_there && a->aw_wait == UINT32_MAX,
               is_next_w = n->is_there && a->w_wait == UINT32_MAX;
    if (is_next_aw)
        pins->reply_valid[SQ_LITE_AW] = n->aw_wait == 0;
    if (is_next_w)
        pins->reply_valid[SQ_LITE_W] = n->w_wait == 0;
    if (pins->reply_valid[SQ_LITE_AW])
        reply[0] = (int32_t)(is_next_aw ? n->addr : a->addr);
    if (pins->reply_valid[SQ_LITE_W]) {
        reply[1] = (int32_t)(is_next_w ? n->data : a->data);
        reply[2] = (int32_t)(is_next_w ? n->strb : a->strb);
    }
    if (pins->reply_valid[SQ_LITE_AR])
        reply[3] = (int32_t)a->addr;
}

static void pass_time(uint32_t *wait, bool is_valid, bool is_ready)
{
    if (is_valid && is_ready)
        *wait = UINT32_MAX;
    else if (*wait > 0 && *wait != UINT32_MAX)
        --*wait;
}

// The write behind the first: its address and data, and the answers to both, which come in order.
static void pass_follower(struct follower *n, bool is_aw, bool is_w, const struct sq_pins *p)
{
    if (n->is_there && is_aw)
        pass_time(&n->aw_wait, p->reply_valid[SQ_LITE_AW], p->reply_ready[SQ_LITE_AW]);
    if (n->is_there && is_w)
        pass_time(&n->w_wait, p->reply_valid[SQ_LITE_W], p->reply_ready[SQ_LITE_W]);
}

static const char *end_write(struct host *h, uint32_t resp)
{
    struct follower *const n = &h->access.next;
    if (!n->is_there || !n->has_turn)
        h->access.had_irq = h->irq_before;
    if (!n->is_there)
        return end_access(h, resp, 0);
    if (!n->has_turn) {
        n->has_turn = true;
        n->first_resp = resp;
        return NULL;
    }
    if (resp != n->want_resp)
        return "host.response_to_second";
    return end_access(h, n->first_resp, 0);
}

static const char *clock_access(struct host *h, const struct sq_pins *p)
{
    const int32_t *const ask = p->ask + sq_lite_ask(h->value[SQ_TOP_DATA_W]);
    struct access *const a = &h->access;
    struct follower *const n = &a->next;
    const bool b_fire = p->ask_valid[SQ_LITE_B] && h->b_ready,
               r_fire = p->ask_valid[SQ_LITE_R] && h->r_ready;
    const bool has_aw = a->aw_wait == UINT32_MAX, has_w = a->w_wait == UINT32_MAX;
    const bool has_gone = a->is_there && has_aw && (!a->is_write || has_w) &&
                          (!n->has_turn || (n->aw_wait == UINT32_MAX && n->w_wait == UINT32_MAX));
    if ((p->ask_valid[SQ_LITE_B] && !(has_gone && a->is_write)) ||
        (p->ask_valid[SQ_LITE_R] && !(has_gone && !a->is_write)))
        return "host.answer_before_question";
    if (a->is_there) {
        pass_follower(n, has_aw, has_w, p);
        if (!has_aw)
            pass_time(&a->aw_wait, p->reply_valid[a->is_write ? SQ_LITE_AW : SQ_LITE_AR],
                      p->reply_ready[a->is_write ? SQ_LITE_AW : SQ_LITE_AR]);
        if (!has_w)
            pass_time(&a->w_wait, p->reply_valid[SQ_LITE_W], p->reply_ready[SQ_LITE_W]);
    }
    if (b_fire)
        return end_write(h, (uint32_t)ask[0]);
    return r_fire ? end_access(h, (uint32_t)ask[2], (uint32_t)ask[1]) : NULL;
}

static const char *clock_steps(struct host *h, bool irq)
{
    if (h->step == RUN && (h->waited++, ++h->still > PATIENCE))
        return "host.no_end";
    if (h->step == RUN && h->has_irq && irq && !h->access.is_there) {
        h->step = STATUS;
        h->lasted = h->number == 0 ? h->waited : h->lasted;
    }
    if (irq && (h->step < RUN || h->step == NEXT || (h->step == RUN && !h->has_irq)))
        return "host.interrupt";
    if (irq == h->is_cleared && h->has_irq && h->step >= STATUS && h->step <= SPARE)
        return irq ? "host.interrupt_stays" : "host.interrupt_withdrawn";
    if (h->step == NEXT && h->number < h->choice.end) {
        if (++h->number < h->choice.end)
            begin_layer(h);
        return NULL;
    }
    if (h->idle > 0)
        h->idle--;
    else if (!h->access.is_there && h->step != NEXT) {
        begin_step(h);
        begin_follower(h);
    }
    return NULL;
}

static const char *clock(void *env, const struct sq_pins *pins)
{
    struct host *const h = env;
    const char *const memory = sq_axi_memory_clock(&h->memory, pins);
    const char *const access = clock_access(h, pins);
    const char *const steps = clock_steps(h, pins->status[0]);
    if (!pins->ask_valid[SQ_LITE_B])
        h->irq_before = pins->status[0];
    if ((pins->reply_valid[0] && pins->reply_ready[0]) ||
        (pins->ask_valid[2] && pins->ask_ready[2]))
        h->still = 0;
    h->b_ready = pause(h) < 3;
    h->r_ready = pause(h) < 3;
    return memory ? memory : access ? access : steps;
}

static bool is_busy(const void *env)
{
    const struct host *const h = env;
    return h->number < h->choice.end || sq_axi_memory_is_busy(&h->memory);
}

// A host of layers, or one of rings.
struct either {
    bool has_rings;
    union {
        struct host layers;
        struct sq_ring_host rings;
    } of;
};

static void init_either(const unsigned *value, const struct sq_env_choice *choice, void *env)
{
    struct either *const e = env;
    struct sq_env_choice of = *choice;
    e->has_rings = choice->what >= SQ_HOST_RINGS;
    of.what -= e->has_rings ? SQ_HOST_RINGS : 0;
    (e->has_rings ? sq_ring_host_init : init)(value, &of, &e->of);
}

static void drive_either(const void *env, struct sq_pins *pins)
{
    const struct either *const e = env;
    (e->has_rings ? sq_ring_host_drive : drive)(&e->of, pins);
}

static const char *clock_either(void *env, const struct sq_pins *pins)
{
    struct either *const e = env;
    return (e->has_rings ? sq_ring_host_clock : clock)(&e->of, pins);
}

static bool is_either_busy(const void *env)
{
    const struct either *const e = env;
    return (e->has_rings ? sq_ring_host_is_busy : is_busy)(&e->of);
}

const struct sq_env sq_top_host = {.nbytes = sizeof(struct either),
                                   .draw = draw,
                                   .disturb = disturb,
                                   .init = init_either,
                                   .drive = drive_either,
                                   .clock = clock_either,
                                   .is_busy = is_either_busy};
