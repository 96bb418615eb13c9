// SPDX-License-Identifier: Apache-2.0
// Makes sound descriptors wrong, each in one way.
#include "sim/block/top/sq_top_work.h"

#include <assert.h>

#include "sim/block/top/sq_encode_sim.h"
#include "sim/block/vector/sq_top_attend.h"

enum { ROWS, COLS };

// Bits of a word that become others.
struct change {
    unsigned word;
    uint32_t mask, bits;
};

static void make(uint32_t *word, const struct change *c)
{
    word[c->word] = (word[c->word] & ~c->mask) | c->bits;
}

// The first `number`s of a kind of descriptor: n changes in turn, then each bit of KIND.KIND. False: it is another.
enum { KIND_BITS = 16 };
static bool make_one_of(uint32_t *word, const struct change *c, uint32_t n, uint32_t number)
{
    if (number < n)
        make(word, &c[number]);
    else if (number < n + KIND_BITS)
        word[SQ_DESC_KIND] ^= 1u << (number - n);
    return number < n + KIND_BITS;
}

// Ways 0 .. SQ_SPOIL_CHANGES - 1 make one field wrong: `bits` replace `mask` in `word`.
static const struct change changes[SQ_SPOIL_CHANGES] = {
    {SQ_DESC_TILES, 0xffff, 0}, {SQ_DESC_TILES, 0xffff0000u, 0},
    {SQ_DESC_BLOCK, 0xffff, 0}, {SQ_DESC_BLOCK, 0xffff0000u, 0},
    {SQ_DESC_BEATS, 0xffff, 0}, {SQ_DESC_BEATS, 0xffff0000u, 0},
    {SQ_DESC_CHUNK, 0xffff, 0}, {SQ_DESC_CHUNK, 0xffff0000u, 0xffff0000u},
    {SQ_DESC_ACT, 1, 1},        {SQ_DESC_ROW_SCALE, 2, 2},
    {SQ_DESC_WEIGHT, 1, 1},     {SQ_DESC_COL_SCALE, 2, 2},
    {SQ_DESC_OUT, 1, 1},
};

static void change_fixed(uint32_t *word, uint32_t number)
{
    for (unsigned i = 0; i < SQ_DESC_WORDS; i++) {
        const uint32_t is_free = sq_desc_named(i) & ~(i == SQ_DESC_KIND ? 0xffffu : 0);
        for (unsigned b = 0; b < 32; b++)
            if (!(is_free >> b & 1) && number-- == 0) {
                word[i] ^= 1u << b;
                return;
            }
    }
    assert(false);
}

// Sets a layer of rows x cols tiles and `groups` groups of K in `beats` beats, in blocks of one tile and
// chunks of one group.
static void set_size(uint32_t *word, uint32_t rows, uint32_t cols, uint32_t groups, uint32_t beats)
{
    word[SQ_DESC_TILES] = cols << 16 | rows;
    word[SQ_DESC_BLOCK] = 1u << 16 | 1;
    word[SQ_DESC_BEATS] = groups << 16 | beats;
    word[SQ_DESC_CHUNK] = 1;
}

// Sets a block that is too long for half a buffer by as few beats as possible; `at` is the bit of BLOCK where its tiles
// begin. One tile of it still fits into the other buffer, and its scales fit.
static void set_wide(uint32_t *word, uint32_t depth, uint32_t other, unsigned at)
{
    uint32_t beats = depth < other ? depth : other;
    while (beats > 2 && (depth + 1) % beats != 0)
        beats--;
    set_size(word, 1, 1, 1, beats);
    word[SQ_DESC_BLOCK] = (depth / beats + 1) << at | 1u << (16 - at);
}

// Puts the region so near to 2^48 that it passes the end, and would fit if its length had the low bits alone.
static void set_near_end(uint32_t *word, enum sq_top_part part, const struct sq_top_room *room)
{
    sq_desc_set_address(word, sq_top_address_word[part],
                        SQ_ADDR_END - 65536 * (uint64_t)room->nbytes);
}

// Columns with which the outputs of MANY rows have 2^32 bus beats or a few more, or the most columns there are.
enum { MANY = 0xc000 };
static uint32_t cols_beyond(const struct sq_top_room *room)
{
    const uint64_t row = MANY * sq_top_transfer(room, SQ_TOP_STORE, 1);
    const uint64_t cols = ((UINT64_C(1) << 32) + row - 1) / row;
    return cols < 0xffff ? (uint32_t)cols : 0xffff;
}

// Sets blocks of rows x cols tiles, with K in two chunks, so that sums are kept between the chunks.
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

// Puts all columns of an indexed chip into one block.
static void set_one_block(uint32_t *word)
{
    word[SQ_DESC_CHUNK] = (word[SQ_DESC_CHUNK] & 0xffff) | 1u << 16;
}

void sq_spoil_descriptor(uint32_t word[SQ_DESC_WORDS], enum sq_spoil way,
                         const struct sq_top_room *room)
{
    const uint32_t part = word[SQ_DESC_CHUNK] >> 16;
    switch (way) {
    case SQ_SPOIL_WIDE_ROWS:
        set_wide(word, room->depth[SQ_TOP_ACT], room->depth[SQ_TOP_WEIGHT], 0);
        break;
    case SQ_SPOIL_WIDE_COLS:
        if (room->is_indexed) {
            word[SQ_DESC_BLOCK] =
                (word[SQ_DESC_BLOCK] & 0xffff) | (room->depth[SQ_TOP_COL_SCALE] + 1) << 16;
            set_one_block(word);
        } else {
            set_wide(word, room->depth[SQ_TOP_WEIGHT], room->depth[SQ_TOP_ACT], 16);
        }
        break;
    case SQ_SPOIL_MANY_SUMS:
        if (room->is_indexed) { // it keeps no sums: one column more than its blocks have
            const uint32_t cols = part * (word[SQ_DESC_BLOCK] >> 16) + 1;
            word[SQ_DESC_TILES] = (word[SQ_DESC_TILES] & 0xffff) | cols << 16;
            break;
        }
        set_tiles(word, 2, room->sum_tiles / 2 + 1);
        if (room->part_groups > 0) { // chunks that are parts of a group keep sums, too
            word[SQ_DESC_BEATS] = 1u << 16 | 2;
            word[SQ_DESC_CHUNK] = 1u << 16 | 1;
        }
        break;
    case SQ_SPOIL_LONG_CHUNK:
        word[SQ_DESC_CHUNK] = (word[SQ_DESC_BEATS] >> 16) + 1;
        break;
    case SQ_SPOIL_MANY_SCALES:
        set_size(word, 1, 1, room->scale_once ? 1 : room->depth[SQ_TOP_COL_SCALE] + 1, 1);
        word[SQ_DESC_CHUNK] = word[SQ_DESC_BEATS] >> 16;
        if (room->scale_once)
            word[SQ_DESC_BLOCK] = (room->depth[SQ_TOP_COL_SCALE] + 1) << 16 | 1;
        break;
    case SQ_SPOIL_MANY_ROWS:
        set_size(word, room->depth[SQ_TOP_ROW_SCALE] + 1, 1, 1, 1);
        word[SQ_DESC_BLOCK] = 1u << 16 | (room->depth[SQ_TOP_ROW_SCALE] + 1);
        if (room->is_indexed)
            set_one_block(word);
        break;
    case SQ_SPOIL_MANY_PARTS:
    case SQ_SPOIL_PART_OF_TWO:
        set_size(word, 1, 1, 2, 2); // chips that take parts of any group run MANY_PARTS
        word[SQ_DESC_CHUNK] =
            1u << 16 | (way == SQ_SPOIL_MANY_PARTS && room->part_groups < 2 ? 1 : 2);
        if (room->is_indexed) { // one block of columns too many; activations that do not fit
            word[SQ_DESC_CHUNK] += way == SQ_SPOIL_MANY_PARTS ? 1u << 16 : 0;
            word[SQ_DESC_BEATS] += way == SQ_SPOIL_PART_OF_TWO ? room->depth[SQ_TOP_ACT] : 0;
        }
        break;
    case SQ_SPOIL_WHOLE_PART:
        set_size(word, 1, 1, 1, 2);
        word[SQ_DESC_CHUNK] = 2u << 16 | 1;
        break;
    case SQ_SPOIL_WRAPS_TILE:
        word[SQ_DESC_BEATS] = 2u << 16 | 0x8000;
        word[SQ_DESC_CHUNK] = 2;
        break;
    case SQ_SPOIL_WRAPS_BLOCK:
        word[SQ_DESC_BEATS] = 1u << 16 | 2;
        word[SQ_DESC_BLOCK] = 1u << 16 | 0x8001;
        break;
    case SQ_SPOIL_FULL_SUMS: // fits in each direction, but has one or two tiles more than the sum memory
        set_tiles(word, room->sum_tiles / 2 + 1, 2);
        break;
    case SQ_SPOIL_FULL_BUFFERS: // at 256 x 256 tiles the low 16 bits of the product are 0
        set_tiles(word, at_most_256(room->depth[SQ_TOP_ACT]),
                  at_most_256(room->depth[SQ_TOP_WEIGHT]));
        break;
    case SQ_SPOIL_MANY_OUT:
        set_size(word, MANY, cols_beyond(room), 1, 1);
        set_near_end(word, SQ_TOP_STORE, room);
        break;
    case SQ_SPOIL_MANY_ACT:
        set_size(word, 0x8000, 1, 0x8000, 4);
        set_near_end(word, SQ_TOP_ACT, room);
        break;
    case SQ_SPOIL_FAR_ACT: {
        const uint64_t row = 0xfffe * sq_top_transfer(room, SQ_TOP_ACT, 1);
        const uint64_t rows = (UINT64_C(1) << 32) / row + 1;
        set_size(word, rows < 0xffff ? (uint32_t)rows : 0xffff, 1, 0xffff, 0xffff);
        word[SQ_DESC_CHUNK] = 1u << 16 | 1;
        break;
    }
    case SQ_SPOIL_LONG_ACT:
        set_size(word, 2, 1, 0x8000, 2);
        set_near_end(word, SQ_TOP_ACT, room);
        break;
    case SQ_SPOIL_LONG_WEIGHT:
        set_size(word, 1, 2, 0x8000, 2);
        set_near_end(word, SQ_TOP_WEIGHT, room);
        break;
    default:
        if (way >= SQ_SPOIL_FIXED)
            change_fixed(word, way - SQ_SPOIL_FIXED);
        else if ((unsigned)way < SQ_SPOIL_CHANGES)
            make(word, &changes[way]);
    }
}

enum sq_spoil sq_spoil_draw(struct sq_rng *rng)
{
    const uint32_t way = sq_rng_below(rng, SQ_SPOIL_FIXED + 1);
    return (enum sq_spoil)(way +
                           (way == SQ_SPOIL_FIXED ? sq_rng_below(rng, SQ_SPOIL_FIXED_BITS) : 0));
}

void sq_spoil_encoder(uint32_t word[SQ_DESC_WORDS], uint32_t number, const unsigned *value)
{
    static const struct change wrong[] = {{SQ_DESC_TILES, 0xffff, 0},
                                          {SQ_DESC_TILES, 0xffff0000u, 0},
                                          {SQ_DESC_TILES, 0, 0xffff0000u},
                                          {SQ_DESC_BEATS, 0xffff, 0},
                                          {SQ_DESC_BEATS, 0, 1u << 16},
                                          {SQ_DESC_OUT, 0, 1},
                                          {SQ_DESC_ACT, 0, 2},
                                          {SQ_DESC_ROW_SCALE, 0, 1},
                                          {SQ_DESC_WEIGHT, 0, 1u << 31},
                                          {SQ_DESC_OPERANDS_HIGH, 0, 1u << 31},
                                          {SQ_DESC_SCALES_HIGH, 0, 1u << 16},
                                          {SQ_DESC_KIND, 0, 1u << SQ_DESC_COLS_OUTER},
                                          {SQ_DESC_KIND, 0, 1u << SQ_DESC_CODES}}; // with scales
    enum { CHANGES = sizeof wrong / sizeof *wrong };
    static const unsigned region[SQ_ENCODE_REGIONS] = {SQ_DESC_OUT, SQ_DESC_ACT, SQ_DESC_ROW_SCALE};
    enum { REGION = CHANGES + KIND_BITS, LONG_REGION = REGION + SQ_ENCODE_REGIONS };
    enum { WIDE = LONG_REGION + SQ_ENCODE_REGIONS, WAYS };
    const uint32_t i = number % WAYS, r = (i - REGION) % SQ_ENCODE_REGIONS;
    if (make_one_of(word, wrong, CHANGES, i)) {
        if (i == CHANGES - 1 && word[SQ_DESC_ROW_SCALE] == 0)
            word[SQ_DESC_ROW_SCALE] = 1u << 31;
        return;
    }
    struct sq_encode_layer l;
    uint64_t stride[SQ_ENCODE_REGIONS];
    word[SQ_DESC_TILES] += 1; // rows: two beats at least
    if (i >= LONG_REGION && i < WIDE) {
        word[SQ_DESC_TILES] = (word[SQ_DESC_TILES] & 0xffff) | 0x8000u << 16;
        word[SQ_DESC_BEATS] = 0x8000;
    }
    (void)sq_encode_decode(value, word, &l);
    if (i == WIDE) { // one tile of columns more than its banks hold
        l.cols = l.beats * value[SQ_TOP_BANK_LEN] / value[SQ_TOP_COLS] + 1;
        word[SQ_DESC_TILES] = l.cols << 16 | l.rows;
        return;
    }
    sq_encode_strides(value, &l, stride);
    sq_desc_set_address(word, region[r],
                        SQ_ADDR_END - (stride[r] * l.rows - 1) * (value[SQ_TOP_DATA_W] / 8));
}

void sq_spoil_vector(uint32_t word[SQ_DESC_WORDS], uint32_t number, const unsigned *value)
{
    enum { RED = 3u << 6, Y = 3u << 9 }; // of VECTOR
    static const struct change wrong[] = {
        {SQ_DESC_TILES, 0xffff, 0},
        {SQ_DESC_TILES, 0, 1u << 16},
        {SQ_DESC_BLOCK, UINT32_MAX, 0},
        {SQ_DESC_ACT, 0, 1},
        {SQ_DESC_OUT_HIGH, 0, 1u << 16},
        {SQ_DESC_VECTOR, RED | Y, 0},
        {SQ_DESC_VECTOR, Y, 1u << 14 | 2u << 9}, // bytes of bfloat16
        {SQ_DESC_VECTOR, 0, 3u << 4},            // C
        {SQ_DESC_VECTOR, 0, 1u << 15},
        {SQ_DESC_VECTOR, 0, 1u << 31},
        {SQ_DESC_VECTOR + 1, 0, 1},
        {SQ_DESC_KIND, 0, 1u << SQ_DESC_COLS_OUTER},
        {SQ_DESC_KIND, 0, 1u << SQ_DESC_CODES}};
    enum { CHANGES = sizeof wrong / sizeof *wrong };
    enum { REGION = CHANGES + KIND_BITS, WAYS = REGION + 2 * SQ_TV_PARTS };
    const uint32_t i = number % WAYS, nbytes = value[SQ_TOP_DATA_W] / 8;
    if (make_one_of(word, wrong, CHANGES, i))
        return;
    // A region of two or more rows ends a beat beyond 2^48, or does not begin at a beat of the bus.
    struct sq_tv_layer l;
    const unsigned part = (i - REGION) % SQ_TV_PARTS;
    (void)sq_tv_decode(word, nbytes, &l);
    l.rows++;
    l.all = false;
    l.red = SQ_TV_SUM;
    l.y = SQ_TV_BINARY32;
    if (part > SQ_TV_A && part < SQ_TV_Y)
        l.from[part] = SQ_TV_ROW + i % 2;
    if (part < SQ_TV_RED && l.stride[part] == 0)
        l.stride[part] = 1;
    l.addr[part] = SQ_ADDR_END - (sq_tv_region_beats(&l, part, nbytes) - 1) * nbytes;
    if (i >= REGION + SQ_TV_PARTS)
        l.addr[part] = nbytes / 2;
    sq_tv_encode(&l, word);
}

void sq_spoil_attend(uint32_t word[SQ_DESC_WORDS], uint32_t number, const unsigned *value)
{
    const uint32_t nbytes = value[SQ_TOP_DATA_W] / 8;
    const unsigned attend = value[SQ_TOP_ATTEND];
    const struct sq_ta_unit unit = sq_ta_unit_of(attend);
    const struct change wrong[] = {
        {SQ_DESC_TILES, 0xffff, 0},
        {SQ_DESC_TILES, 0xffff, unit.heads + 1},
        {SQ_DESC_TILES, 0xffff0000u, 0},
        {SQ_DESC_TILES, 0, 1u << 16}, // no whole beat
        {SQ_DESC_TILES, 0xffff0000u, (unit.size + sq_ta_lanes(attend, nbytes)) << 16},
        {SQ_DESC_BLOCK, UINT32_MAX, 0},
        {SQ_DESC_BLOCK, UINT32_MAX, 65537},
        {SQ_DESC_BLOCK, 0, 1u << 31},
        {SQ_DESC_COL_SCALE, 0, 1u << 31},
        {SQ_DESC_SCALES_HIGH, 0, 1u << 16},
        {SQ_DESC_OUT_HIGH, 0, 1u << 16},
        {SQ_DESC_VECTOR, 0, 1},
        {SQ_DESC_VECTOR + 1, 0, 1},
        {SQ_DESC_KIND, 0, 1u << SQ_DESC_COLS_OUTER},
        {SQ_DESC_KIND, 0, 1u << SQ_DESC_CODES}};
    enum { CHANGES = sizeof wrong / sizeof *wrong };
    enum { REGION = CHANGES + KIND_BITS, WAYS = REGION + 2 * SQ_TA_PARTS };
    const uint32_t i = number % WAYS;
    if (make_one_of(word, wrong, CHANGES, i))
        return;
    // A region ends a beat beyond 2^48, or does not begin at a beat of the bus.
    struct sq_ta_layer l;
    const unsigned part = (i - REGION) % SQ_TA_PARTS;
    (void)sq_ta_decode(word, nbytes, attend, &l);
    l.addr[part] = SQ_ADDR_END - (sq_ta_region_beats(&l, part, nbytes, attend) - 1) * nbytes;
    if (i >= REGION + SQ_TA_PARTS ||
        l.addr[part] == SQ_ADDR_END) // no address of one beat is beyond
        l.addr[part] = nbytes / 2;
    sq_ta_encode(&l, word);
}
