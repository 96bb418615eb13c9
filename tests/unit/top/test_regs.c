// SPDX-License-Identifier: Apache-2.0
// The table of registers (sq_regs.h) and what is written from it. Exhausted: every offset and field
// of the table, every byte of the five files. With UPDATE=1 the files are written first.
#include "lib/sq_driver.h"
#include "sim/block/top/sq_sequencer_sim.h"
#include "tests/unit/fixture.h"

static const struct {
    const char *path;
    void (*write)(FILE *out);
} files[] = {{"rtl/top/sq_regs_pkg.sv", sq_regs_write_package},
             {"lib/sq_regs.h", sq_regs_write_header},
             {"docs/registers.md", sq_regs_write_page},
             {"rtl/top/sq_top.rdl", sq_regs_write_rdl},
             {"rtl/top/sq_top.xml", sq_regs_write_ipxact}};

SQ_TEST(generated_files_are_current)
{
    for (size_t i = 0; i < LEN(files); i++)
        check_generated(files[i].path, files[i].write);
}

static void check_table(const struct sq_reg *reg, unsigned n, uint32_t end)
{
    for (unsigned i = 0; i < n; i++) {
        uint32_t seen = 0;
        CHECK_EQ(reg[i].offset % 4, 0, "%s: ", reg[i].name);
        assert_true(reg[i].offset < end);
        assert_true(i == 0 || reg[i].offset > reg[i - 1].offset);
        for (const struct sq_reg_field *f = reg[i].field; f->name; f++) {
            assert_true(f->width >= 1 && f->low + f->width <= 32);
            const uint32_t bits = ((f->width < 32 ? 1u << f->width : 0) - 1) << f->low;
            CHECK_EQ(seen & bits, 0, "%s.%s: ", reg[i].name, f->name);
            seen |= bits;
        }
    }
}

SQ_TEST(offsets_and_fields_do_not_overlap)
{
    check_table(sq_regs, sq_n_regs, SQ_REG_END);
    check_table(sq_desc, sq_n_desc, 4 * SQ_DESC_WORDS);
}

// A chip that rests, whose counters have any bits: who reads a low half gets the high one next.
struct chip {
    uint64_t count[SQ_REG_END / 4];
    uint32_t high;
};

static uint32_t read_chip(void *ctx, uint32_t offset)
{
    struct chip *const c = ctx;
    const uint64_t count = offset == SQ_REG_COUNTER_HIGH ? c->high : c->count[offset / 4];
    c->high = (uint32_t)(count >> 32);
    return (uint32_t)count;
}

static void write_chip(void *ctx, uint32_t offset, uint32_t value)
{
    (void)ctx, (void)offset, (void)value;
}

static void same(const struct sq_driver_done *d, const void *want)
{
    const uint64_t got[] = {d->cycles, d->busy, d->wait, d->blocked, d->read_beats, d->write_beats};
    assert_memory_equal(got, want, sizeof got);
}

SQ_TEST(driver_reads_whole_counters)
{
    struct sq_rng rng = {fixture_seed()};
    struct chip c = {.count = {0}};
    const struct sq_driver d = {.ctx = &c, .read = read_chip, .write = write_chip};
    uint32_t word[2 * SQ_SLOT_NBYTES / 4];
    const struct sq_driver_ring ring = {.size = 2, .word = word};
    struct sq_driver_done done;
    for (size_t i = SQ_REG_CYCLES / 4; i < LEN(c.count); i++)
        c.count[i] = sq_rng_next(&rng);
    for (size_t i = 0; i < LEN(word); i++)
        word[i] = (uint32_t)sq_rng_next(&rng);
    assert_int_equal(sq_driver_finish(&d, &done), SQ_DRIVER_OK);
    same(&done, &c.count[SQ_REG_CYCLES / 4]);
    const uint64_t bus[] = {done.read_wait, done.read_full, done.write_wait};
    assert_memory_equal(bus, &c.count[SQ_REG_READ_WAIT / 4], sizeof bus);
    sq_driver_ring_done(&ring, 1, &done); // low halves first
    same(&done, word + SQ_SLOT_NBYTES / 4 + SQ_DESC_WORDS + SQ_RECORD_CYCLES);
}

// A token below VOCAB at a position below POSITIONS is patched in where the program says, any other is refused.
SQ_TEST(a_token_is_placed_within_its_program)
{
    uint32_t word[2 * SQ_DRIVER_TOKEN_RING_NBYTES] = {[SQ_DRIVER_TOKEN_MAGIC] =
                                                          SQ_DRIVER_TOKEN_MAGIC_VALUE,
                                                      [SQ_DRIVER_TOKEN_BASE] = 0xfffffff0u,
                                                      [SQ_DRIVER_TOKEN_BASE_HIGH] = 3,
                                                      [SQ_DRIVER_TOKEN_VOCAB] = 5,
                                                      [SQ_DRIVER_TOKEN_POSITIONS] = 7,
                                                      [SQ_DRIVER_TOKEN_PATCHES] = 800,
                                                      [SQ_DRIVER_TOKEN_NPATCHES] = 2,
                                                      [SQ_DRIVER_TOKEN_TAIL] = 9,
                                                      [200] = 400,
                                                      [201] = 11,
                                                      [202] = 100,
                                                      [203] = 0,
                                                      [204] = 404,
                                                      [205] = 13,
                                                      [206] = 1000,
                                                      [207] = 1};
    for (uint32_t id = 0; id < 7; id++)
        for (uint32_t position = 0; position < 9; position++) {
            struct sq_driver_token t = {.word = word};
            word[100] = word[101] = 0;
            const bool is_there = id < 5 && position < 7;
            assert_int_equal(sq_driver_token_place(&t, id, position) == SQ_DRIVER_OK, is_there);
            assert_int_equal(word[100], is_there ? 11 + 100 * id : 0);
            assert_int_equal(word[101], is_there ? 13 + 1000 * position : 0);
            if (is_there)
                assert_true(t.ring.size == 10 && t.ring.base == 0x400000070 &&
                            t.ring.word == word + SQ_DRIVER_TOKEN_RING_NBYTES / 4);
        }
    struct sq_driver_token t = {.word = word};
    word[SQ_DRIVER_TOKEN_MAGIC]++;
    assert_int_equal(sq_driver_token_place(&t, 0, 0), SQ_DRIVER_NO_CHIP);
}

// ---- limits of a layer --------------------------------------------------------------------------

enum { ACT, ROW, WEIGHT, COL, OUT, N_REGIONS };

// A drawn layer, and a chip whose halves of buffers hold it to the last beat; its regions end at 2^48. All as
// docs/registers.md, rtl/top/tiling.md and errors.md say it.
struct limits {
    struct sq_top_room room;
    uint32_t word[SQ_DESC_WORDS];
    uint32_t groups, chunk, beats, part;
};

static void set_address(uint32_t *word, unsigned region, uint64_t address)
{
    static const unsigned low[] = {1, 3, 2, 4, 5}, high[] = {10, 11, 10, 11, 12};
    const unsigned shift = region == WEIGHT || region == COL ? 16 : 0;
    word[low[region]] = (uint32_t)address;
    word[high[region]] &= ~(0xffffu << shift);
    word[high[region]] |= (uint32_t)(address >> 32) << shift;
}

static struct limits draw_limits(struct sq_rng *rng)
{
    const uint32_t rows = 2 + sq_rng_below(rng, 40), cols = 2 + sq_rng_below(rng, 40);
    const uint32_t row_block = 1 + sq_rng_below(rng, 12), col_block = 1 + sq_rng_below(rng, 12);
    struct limits l = {.beats = 2 + sq_rng_below(rng, 20), .groups = 1 + sq_rng_below(rng, 9)};
    l.chunk = 1 + sq_rng_below(rng, l.groups);
    l.part = l.chunk == 1 && sq_rng_below(rng, 2) ? 1 + sq_rng_below(rng, l.beats - 1) : 0;
    const bool once = sq_rng_below(rng, 2);
    const uint32_t tile = (l.part ? l.part : l.beats) * l.chunk;
    const uint64_t all = (uint64_t)l.beats * l.groups;
    const uint64_t region[] = {rows * all, rows, cols * all, cols * (once ? 1 : l.groups),
                               (uint64_t)rows * cols};
    l.room = (struct sq_top_room){
        .depth = {row_block * tile, row_block, col_block * tile, col_block * (once ? 1 : l.chunk)},
        .sum_tiles = row_block * col_block,
        .nbytes = 4u << sq_rng_below(rng, 5),
        .scale_once = once,
        .part_groups = l.groups};
    const uint32_t word[] = {0x5351,
                             0,
                             0,
                             0,
                             0,
                             0,
                             cols << 16 | rows,
                             col_block << 16 | row_block,
                             l.groups << 16 | l.beats,
                             l.part << 16 | l.chunk};
    memcpy(l.word, word, sizeof word);
    for (unsigned i = 0; i < N_REGIONS; i++) {
        const uint32_t n = l.room.beat_nbytes[i] = 1 + sq_rng_below(rng, 100);
        const uint64_t padded = (n + l.room.nbytes - 1) / l.room.nbytes * l.room.nbytes;
        set_address(l.word, i, (UINT64_C(1) << 48) - region[i] * padded);
    }
    return l;
}

static bool runs(const struct limits *l, unsigned word, uint32_t value)
{
    struct limits other = *l;
    struct sq_top_layer unused;
    other.word[word] = value;
    return sq_top_layer_decode(other.word, &other.room, &unused);
}

// What fills buffers, sums and groups runs, and what is one beat, tile or group more does not.
static void check_room(struct limits *l)
{
    const bool is_whole = l->chunk == l->groups && l->part == 0;
    uint32_t *const room[] = {&l->room.depth[ACT], &l->room.depth[ROW],  &l->room.depth[WEIGHT],
                              &l->room.depth[COL], &l->room.part_groups, &l->room.sum_tiles};
    assert_true(runs(l, 0, 0x5351));
    for (unsigned i = 0; i < LEN(room); i++) {
        const bool is_asked = i < 4 || (i == 4 ? l->part > 0 : !is_whole);
        --*room[i];
        CHECK_EQ(runs(l, 0, 0x5351), !is_asked, "limit %u: ", i);
        *room[i] = i == 5 ? 65535 : 1u << 20; // behind this only what a chip of any size refuses
    }
}

static void check_regions(const struct limits *l)
{
    for (unsigned i = 0; i < N_REGIONS; i++) {
        struct limits other = *l;
        const uint64_t at = sq_desc_address(l->word, sq_top_address_word[i]);
        set_address(other.word, i, at + l->room.nbytes);
        CHECK_EQ(runs(&other, 0, 0x5351), false, "end of region %u: ", i);
        set_address(other.word, i, at - 1);
        CHECK_EQ(runs(&other, 0, 0x5351), false, "begin of region %u: ", i);
    }
}

SQ_TEST(a_layer_runs_at_its_limits_and_not_beyond)
{
    struct sq_rng rng = {fixture_seed()};
    for (unsigned n = 0; n < 1000; n++) {
        struct limits l = draw_limits(&rng);
        const uint32_t low = 0xffff, high = 0xffff0000, *const w = l.word;
        check_room(&l);
        check_regions(&l);
        const struct {
            unsigned word;
            uint32_t value;
            bool runs;
        } edits[] = {{0, 0x5350, false},
                     {0, 1u << 19 | 0x5351, false},
                     {6, w[6] & low, false},
                     {6, w[6] & high, false},
                     {7, w[7] & low, false},
                     {7, w[7] & high, false},
                     {7, 257u << 16 | 255, true},
                     {7, 256u << 16 | 256, false},
                     {8, w[8] & low, false},
                     {8, w[8] & high, false},
                     {9, l.part << 16, false},
                     {9, l.groups, true},
                     {9, l.groups + 1, false},
                     {9, (l.beats - 1) << 16 | 1, true},
                     {9, l.beats << 16 | 1, false},
                     {9, 1u << 16 | 2, false},
                     {12, 1u << 16 | w[12], false},
                     {13, 1, false},
                     {15, 1, false}};
        for (unsigned i = 0; i < LEN(edits); i++)
            CHECK_EQ(runs(&l, edits[i].word, edits[i].value), edits[i].runs,
                     "edit %u of layer %u: ", i, n);
    }
}
