// SPDX-License-Identifier: Apache-2.0
// Jobs of formats that have a decoder in front of the array, on verilated RTL: the blocks of the
// route stand in a row and move cycle by cycle, each beat of the array when what is in front gives
// what it needs. The last output must leave in the cycle in which sq_unit_run_fast says it does.
//
//   gqsa  a gqsa_walk for each column, whose steps the array takes; the tile ends when all of its
//         rows have ended
//   spqr  a beat of spqr_dec for each word of the array's columns, then the outliers of the fullest
//   spqt  spqt_idx finds the columns of a tile of tokens, one tile ahead, from the first cycle on,
//         while q4k_dec takes the last superblock of the load, header and codes; the array begins
//         when the buffer has all of its codes and a tile has its columns
//
// The decoders of spqt stand between the DRAM and the buffer. That they keep up with it, headers
// included, and are done at most a lead after the load is a test of its own.
//
// The machine plans the job; groups and outliers of a column are drawn here and given to it as
// those of an encoded layer. Not in any RTL, so not here: what adds up the sums of a row that
// columns share (gqsa, stream_k, rows of different length), and outliers on their way to the array.
// Sampled: 12 machines and GEMMs for each of five rows.
#include "models/sq_q4k.h"
#include "sim/block/sq_output_sim.h"
#include "sim/cosim/sq_port.h"
#include "sim/format/gqsa/sq_gqsa_recipe.h"
#include "sim/format/spqr/sq_spqr_recipe.h"
#include "sim/format/spqt/sq_spqt_cost.h"
#include "sim/format/spqt/sq_spqt_recipe.h"
#include "sim/format/sq_format_ops.h"
#include "sim/machine/sq_machine_run.h"
#include "tests/sim/machine_fixture.h"

enum { MACHINES = 12, ROWS = 2, COLS = 2, BEAT_MAX = 512 };

// Beats of a superblock in q4k_dec, and what it gives of them.
enum { Q4K_BYTES = 16, Q4K_BEATS = SQ_Q4K_NBYTES / Q4K_BYTES, Q4K_OUTPUTS = Q4K_BEATS - 1 };

static const struct {
    const struct sq_format_ops *format;
    bool is_even;   // as many in every column
    unsigned share; // gqsa: 1 is slice_k
    unsigned schedule;
} rows[] = {
    {&sq_format_gqsa, false, 1, 0},
    {&sq_format_gqsa, true, 0, 0},
    {&sq_format_spqr, false, 0, 0},
    {&sq_format_spqt, false, 0, SQ_SPQT_BALANCED},
    {&sq_format_spqt, false, 0, SQ_SPQT_STATIC},
};

// ---- a verilated block ------------------------------------------------------------------------

struct part {
    const struct sq_rtl_api *api;
    struct sq_ports ports;
    unsigned n_streams;
    void *model;
    struct sq_port_words in, out;
    uint8_t valid[SQ_STREAMS_MAX], answer[SQ_STREAMS_MAX + 1];
};

enum { ARRAY, WALK, SPQR, Q4K, INDEX, N_BLOCKS };

static struct {
    const struct sq_block *block;
    const char *point;
    struct sq_rtl rtl;
} blocks[N_BLOCKS] = {
    [ARRAY] = {&sq_array_block, "int4x8", {0}}, [WALK] = {&sq_gqsa_walk_block, "g16", {0}},
    [SPQR] = {&sq_spqr_dec_block, "w16", {0}},  [Q4K] = {&sq_q4k_dec_block, "b16", {0}},
    [INDEX] = {&sq_spqt_idx_block, "s32", {0}},
};

static void part_open(struct part *p, unsigned block)
{
    const struct sq_point point = point_named(blocks[block].block, blocks[block].point);
    memset(p, 0, sizeof *p);
    p->api = blocks[block].rtl.api;
    p->ports = sq_ports_of(blocks[block].block, point.value);
    while (p->n_streams < SQ_STREAMS_MAX && p->ports.stream[p->n_streams].n_fields > 0)
        p->n_streams++;
    assert_true(sq_field_offset(p->ports.out, p->ports.n_out) <= BEAT_MAX);
    assert_true(sq_port_alloc(&p->in, p->ports.in, p->ports.n_in) &&
                sq_port_alloc(&p->out, p->ports.out, p->ports.n_out));
    p->model = p->api->create(1, NULL, 0, 0);
    assert_non_null(p->model);
}

static void part_close(struct part *p)
{
    if (!p->model)
        return;
    p->api->destroy(p->model);
    sq_port_free(&p->in);
    sq_port_free(&p->out);
}

static void offer(struct part *p, unsigned stream, const int32_t *beat)
{
    size_t first = 0;
    for (unsigned s = 0; s < stream; s++)
        first += p->ports.stream[s].n_fields;
    p->valid[stream] = 1;
    sq_port_put(&p->in, first, p->ports.stream[stream].n_fields, beat);
}

// The cycle so far; again with another ready.
static void see(struct part *p, bool ready)
{
    p->api->comb(p->model, p->valid, ready, (const uint32_t *const *)p->in.word, p->answer);
}

static bool gives(const struct part *p)
{
    return p->answer[p->n_streams];
}

static bool takes(const struct part *p, unsigned stream)
{
    return p->valid[stream] && p->answer[stream];
}

static int32_t given(struct part *p, const char *field)
{
    int32_t beat[BEAT_MAX];
    p->api->beat(p->model, p->out.word);
    sq_port_get(&p->out, beat);
    for (size_t f = 0; f < p->ports.n_out; f++)
        if (strcmp(p->ports.out[f].name, field) == 0)
            return beat[sq_field_offset(p->ports.out, f)];
    fail_msg("no field %s", field);
    return 0;
}

static void edge(struct part *p)
{
    if (p->model)
        assert_null(p->api->clock(p->model));
    memset(p->valid, 0, sizeof p->valid);
}

// ---- a job ------------------------------------------------------------------------------------

struct chain {
    struct sq_cost_unit cost;
    struct sq_unit_job job;
    struct sq_tile_list list;
    struct sq_tile_work tile[SQ_TILES_DRAWN];
    uint32_t count[SQ_TILES_DRAWN][COLS]; // of a column: groups kept, outliers
    uint64_t elements;
    uint32_t active; // columns of a token

    struct part array, front[COLS], index;
    uint32_t tiles, pass, outputs; // tiles of tokens to begin, of columns done; words to leave
    struct sq_output_sim stage;
    uint32_t beat; // of this tile
    // gqsa: of each column, the row that is told next, offsets up to it; the row whose groups go
    // in, the next one; whether its row of this tile has ended.
    uint32_t told[COLS], at[COLS], row[COLS], group[COLS];
    bool has_ended[COLS];
    // spqt: beats in and codes out of the last superblock; whether the buffer has them all
    uint32_t taken, decoded;
    bool is_stored;
    uint32_t segment, scans, found, n_idle; // the vector going in; tiles to scan, found
    bool is_scanning;
};

static uint32_t count_of(const struct chain *c, uint32_t row, unsigned col)
{
    return c->count[row % c->job.passes % c->list.n][col];
}

// A beat may begin a piece, go on with it, end it.
static bool ends_piece(const struct chain *c)
{
    return (c->beat + 1) % c->cost.span_beats == 0;
}

// ---- gqsa -------------------------------------------------------------------------------------

static void walk_feed(struct chain *c, unsigned col)
{
    struct part *p = &c->front[col];
    const uint32_t rows_all = c->job.tiles * c->job.passes;
    if (c->told[col] <= rows_all)
        offer(p, 0,
              (int32_t[]){(int32_t)c->at[col], (int32_t)(c->elements / c->cost.step),
                          c->told[col] == rows_all});
    while (c->row[col] < rows_all && c->group[col] == count_of(c, c->row[col], col)) {
        c->row[col]++;
        c->group[col] = 0;
    }
    if (c->row[col] < rows_all)
        offer(p, 1, (int32_t[]){(int32_t)c->group[col]});
}

static void walk_move(struct chain *c, unsigned col)
{
    if (takes(&c->front[col], 0) && c->told[col]++ < c->job.tiles * c->job.passes)
        c->at[col] += count_of(c, c->told[col] - 1, col);
    c->group[col] += takes(&c->front[col], 1);
}

static bool walk_offers(struct chain *c, bool *last)
{
    bool ok = true;
    *last = true;
    for (unsigned col = 0; col < COLS; col++) {
        if (c->has_ended[col])
            continue;
        ok = ok && gives(&c->front[col]);
        *last = *last && ok && given(&c->front[col], "last") && ends_piece(c);
    }
    return ok;
}

static void walk_take(struct chain *c, bool tile_ends)
{
    for (unsigned col = 0; ends_piece(c) && col < COLS; col++)
        if (!c->has_ended[col]) {
            c->has_ended[col] = given(&c->front[col], "last");
            see(&c->front[col], true);
        }
    for (unsigned col = 0; tile_ends && col < COLS; col++)
        c->has_ended[col] = false;
}

// ---- spqr -------------------------------------------------------------------------------------

static bool spqr_offers(struct chain *c, bool *last)
{
    const uint32_t words = (uint32_t)(c->elements + c->cost.span - 1) / c->cost.span;
    const uint32_t at_once = c->cost.high_lanes, a = count_of(c, c->pass, 0),
                   b = count_of(c, c->pass, 1), most = a > b ? a : b;
    const uint32_t plain = words * c->cost.span_beats;
    *last = c->beat + 1 == plain + (most + at_once - 1) / at_once;
    return c->beat >= plain || gives(&c->front[0]);
}

static void spqr_take(struct chain *c)
{
    const uint32_t words = (uint32_t)(c->elements + c->cost.span - 1) / c->cost.span;
    if (c->beat < words * c->cost.span_beats && ends_piece(c))
        see(&c->front[0], true);
}

// ---- spqt -------------------------------------------------------------------------------------

// The buffer takes codes whenever they come.
static void superblock_feed(struct part *p, bool is_there)
{
    const int32_t zeros[SQ_Q4K_NBYTES / 4] = {0};
    if (is_there)
        offer(p, 0, zeros);
    see(p, true);
}

// The codes that leave are in the buffer from the next cycle on.
static void superblock_move(struct chain *c)
{
    struct part *p = &c->front[0];
    c->taken += takes(p, 0);
    if (!gives(p))
        return;
    c->decoded++;
    c->is_stored = given(p, "last");
    CHECK_EQ(c->is_stored, c->decoded == Q4K_OUTPUTS, "q4k_dec: codes of a superblock\n");
}

// The columns of a token in segments of the unit, spread evenly.
static void index_feed(struct chain *c)
{
    enum { SEGMENT = 32 };
    const uint32_t segments = (uint32_t)(c->elements + SEGMENT - 1) / SEGMENT;
    int32_t beat[SEGMENT + 2] = {0};
    if (!c->is_scanning && c->scans > 0 && c->found < 2) {
        c->is_scanning = true;
        c->segment = 0;
    }
    if (c->is_scanning && c->segment < segments) {
        const uint32_t n =
            (c->segment + 1) * c->active / segments - c->segment * c->active / segments;
        for (uint32_t i = 0; i < n; i++)
            beat[i] = 127;
        beat[SEGMENT] = 1;
        beat[SEGMENT + 1] = c->segment + 1 == segments;
        offer(&c->index, 0, beat);
    }
    see(&c->index, true);
}

static void index_move(struct chain *c, bool tile_ends)
{
    c->segment += takes(&c->index, 0);
    if (gives(&c->index) && given(&c->index, "last")) {
        CHECK_EQ(given(&c->index, "total"), c->active, "spqt_idx: columns found\n");
        c->is_scanning = false;
        c->scans--;
        c->found++;
    }
    c->found -= tile_ends;
}

// ---- a cycle ----------------------------------------------------------------------------------

static void feed(struct chain *c, const struct sq_format_ops *f)
{
    const int32_t zeros[2 * 16] = {0};
    for (unsigned col = 0; col < COLS && c->front[col].model; col++) {
        if (f == &sq_format_spqt) {
            superblock_feed(&c->front[col], c->taken < Q4K_BEATS);
            continue;
        }
        if (f == &sq_format_gqsa)
            walk_feed(c, col);
        else
            offer(&c->front[col], 0, zeros);
        see(&c->front[col], false);
    }
    if (c->index.model)
        index_feed(c);
}

static bool offers(struct chain *c, const struct sq_format_ops *f, bool *last)
{
    *last = false;
    if (c->tiles == 0)
        return false;
    if (f == &sq_format_gqsa)
        return walk_offers(c, last);
    if (f == &sq_format_spqr)
        return spqr_offers(c, last);
    *last = c->beat + 1 == c->list.tile[c->pass % c->list.n].beats;
    return c->is_stored && c->found > 0;
}

// Whether a tile of tokens ended.
static bool take(struct chain *c, const struct sq_format_ops *f, bool last)
{
    const bool tile_ends = last && c->pass + 1 == c->job.passes;
    if (f == &sq_format_gqsa)
        walk_take(c, last);
    if (f == &sq_format_spqr)
        spqr_take(c);
    c->beat = last ? 0 : c->beat + 1;
    c->pass = tile_ends ? 0 : c->pass + last;
    c->tiles -= tile_ends;
    return tile_ends;
}

// The output stage, whose port takes a word whenever there is one.
static struct sq_output_in stage_in(bool tile_valid)
{
    return (struct sq_output_in){
        .tile_valid = tile_valid, .scale_valid = true, .scale_last = true, .out_ready = true};
}

static struct sq_output_out stage_out(const struct chain *c, bool tile_valid)
{
    const struct sq_output_in in = stage_in(tile_valid);
    struct sq_output_out out;
    sq_output_comb(&c->stage, &in, &out);
    return out;
}

static void stage_start(struct chain *c)
{
    const struct sq_unit_output *o = &c->cost.unit.output;
    const struct sq_output_config config = {.rows = 1,
                                            .cols = o->pes,
                                            .lanes = o->lanes,
                                            .form = (enum sq_combine_form)o->form,
                                            .port_len = o->lanes,
                                            .depth = o->depth};
    sq_output_init(&c->stage, &config);
    c->stage.words = c->job.words;
    c->outputs = c->job.tiles * c->job.passes * c->stage.slots * c->stage.words;
}

// Cycles until the port has taken the last word.
static uint64_t run(struct chain *c, const struct sq_format_ops *f)
{
    const size_t len = sq_field_offset(c->array.ports.in, c->array.ports.n_in);
    uint64_t cycles = 0;
    int32_t beat[BEAT_MAX] = {0};
    assert_true(len <= BEAT_MAX);
    stage_start(c);
    c->tiles = c->scans = c->job.tiles;
    for (; c->outputs > 0; cycles++) {
        bool last, tile_ends = false;
        assert_true(cycles < 1000000);
        feed(c, f);
        if (offers(c, f, &last)) {
            beat[0] = last;
            offer(&c->array, 0, beat);
        }
        see(&c->array, stage_out(c, false).tile_ready);
        if (takes(&c->array, 0))
            tile_ends = take(c, f, last);
        const struct sq_output_in tile = stage_in(gives(&c->array));
        c->outputs -= stage_out(c, tile.tile_valid).out_valid;
        sq_output_clock(&c->stage, &tile);
        for (unsigned col = 0; f == &sq_format_gqsa && col < COLS; col++)
            walk_move(c, col);
        if (c->index.model) {
            index_move(c, tile_ends);
            superblock_move(c);
        }
        for (unsigned col = 0; col < COLS; col++)
            edge(&c->front[col]);
        edge(&c->index);
        edge(&c->array);
    }
    return cycles;
}

// ---- the test ---------------------------------------------------------------------------------

// What the columns have of it, in pieces of 16, as an encoded layer says.
static void draw_own(struct sq_rng *r, size_t row, size_t n, size_t pieces, struct sq_own *own)
{
    const bool is_gqsa = rows[row].format == &sq_format_gqsa;
    const uint32_t one_in = 1 + sq_rng_below(r, 6);
    assert_int_equal(sq_cost_own_new(own, n, pieces, 16, NULL), SQ_OK);
    for (size_t p = 0; p < pieces; p++) {
        const bool all = sq_rng_below(r, one_in) == 0;
        for (size_t i = 0; i < n; i++) {
            const bool is_there = rows[row].is_even ? all : sq_rng_below(r, one_in) == 0;
            for (uint32_t left = is_there ? is_gqsa ? 1 : 1 + sq_rng_below(r, 8) : 0; left > 0;
                 left--)
                sq_cost_own_count(own, i, p);
        }
    }
    (void)sq_cost_own_sum(own);
}

static void plan(struct sq_rng *r, size_t row, struct chain *c, struct sq_own *own)
{
    // 8 products of 4 x 8 bits, as many as the array has.
    const struct sq_core_config core = {ROWS, COLS, 6, 1, 8, 8, 4, 0, 0, SQ_GATHER_CROSSBAR};
    struct sq_machine m = small_machine(r, &core);
    const struct sq_gemm g = {1 + sq_rng_below(r, 4 * ROWS), 1 + sq_rng_below(r, 8 * COLS),
                              32 * (1 + sq_rng_below(r, 16))};
    struct sq_recipe s;
    struct sq_mapping p;
    memset(c, 0, sizeof *c);
    m.cores = 1; // a whole K each
    assert_int_equal(sq_format_recipe(rows[row].format, SQ_IN_RUN, NULL, &s, NULL), SQ_OK);
    const double sparsity = s.format == &sq_format_gqsa ? 0.5 : sq_rng_below(r, 10) / 10.0;
    if (s.format == &sq_format_gqsa) {
        sq_gqsa_set(&s)->is_slice_k = rows[row].share;
        sq_gqsa_set(&s)->sparsity = sparsity;
    } else if (s.format == &sq_format_spqt) {
        sq_spqt_set(&s)->schedule = rows[row].schedule;
        sq_spqt_set(&s)->sparsity = sparsity;
    }
    assert_int_equal(sq_mapping_make(&m, &s, &g, &p, NULL), SQ_OK);
    c->cost = p.cost;
    c->job = p.step[SQ_STEP_CLASSES - 1].job;
    c->job.words = 1 + 2 * sq_rng_below(r, 3);
    const uint64_t first = (p.count_k - 1) * p.block_k * p.cost.step;
    c->elements = g.k - first;
    c->active = (uint32_t)((double)c->elements * (1 - sparsity) + 0.5);
    c->list = (struct sq_tile_list){c->job.passes < SQ_TILES_DRAWN ? c->job.passes : SQ_TILES_DRAWN,
                                    c->tile};
    double kept[SQ_TILES_DRAWN];
    if (s.format == &sq_format_spqt) {
        assert_true(
            sq_cost_draw(&s, &c->cost, g.m, c->elements, sq_rng_next(r), c->list.n, c->tile, kept));
        return;
    }
    draw_own(r, row, (size_t)c->list.n * COLS, g.k / 16, own);
    for (uint32_t i = 0; i < c->list.n; i++) {
        sq_cost_own(&s, &c->cost, own, i * COLS, first, c->elements, &c->tile[i], &kept[i]);
        for (unsigned col = 0; col < COLS; col++) {
            const uint32_t *before = own->before + (i * COLS + col) * (own->n_pieces + 1);
            c->count[i][col] = before[own->n_pieces] - before[first / 16];
        }
    }
}

static void run_job(struct sq_rng *r, size_t row)
{
    const struct sq_format_ops *const f = rows[row].format;
    struct sq_own own = {.before = NULL};
    struct chain c;
    plan(r, row, &c, &own);
    part_open(&c.array, ARRAY);
    for (unsigned col = 0; col < (f == &sq_format_gqsa ? COLS : 1); col++)
        part_open(&c.front[col], f == &sq_format_gqsa ? WALK : f == &sq_format_spqr ? SPQR : Q4K);
    if (f == &sq_format_spqt)
        part_open(&c.index, INDEX);
    const uint64_t model = sq_unit_run_fast(&c.cost.unit, &c.job, &c.list).cycles;
    CHECK_EQ(run(&c, f), model, "%s, %u x %u tiles of K = %llu: the RTL, the machine\n", f->name,
             c.job.tiles, c.job.passes, (unsigned long long)c.elements);
    part_close(&c.array);
    for (unsigned col = 0; col < COLS; col++)
        part_close(&c.front[col]);
    part_close(&c.index);
    free(own.before);
}

static bool has_rtl;

static int load_blocks(void **state)
{
    (void)state;
    has_rtl = true;
    for (unsigned i = 0; i < N_BLOCKS && has_rtl; i++) {
        const struct sq_point point = point_named(blocks[i].block, blocks[i].point);
        has_rtl = load_rtl(&blocks[i].rtl, blocks[i].block, &point);
    }
    if (!has_rtl)
        fprintf(stderr, "# skipped: no Verilator here\n");
    return 0;
}

static int unload_blocks(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_BLOCKS && has_rtl; i++)
        sq_rtl_unload(&blocks[i].rtl);
    return 0;
}

SQ_BEFORE_ALL(load_blocks)
SQ_AFTER_ALL(unload_blocks)

SQ_TEST(test_jobs)
{
    struct sq_rng r = {fixture_seed()};
    for (size_t row = 0; has_rtl && row < LEN(rows); row++)
        for (unsigned i = 0; i < MACHINES; i++)
            run_job(&r, row);
}

// The cycle from which on the buffer has the codes of `n` superblocks, of which the DRAM brings
// `rate` bytes a cycle from cycle 0 on. As many decoders as 16 bytes a cycle of each are enough
// for take superblocks in turn, each beat in a cycle after its last byte came.
static uint64_t run_load(uint64_t rate, uint64_t n)
{
    enum { DECODERS_MAX = 16 };
    struct part decoder[DECODERS_MAX];
    uint64_t taken[DECODERS_MAX] = {0}, cycle = 0, left = n * Q4K_OUTPUTS;
    const unsigned n_decoders = (unsigned)((rate + Q4K_BYTES - 1) / Q4K_BYTES);
    assert_true(n_decoders <= DECODERS_MAX);
    for (unsigned d = 0; d < n_decoders; d++)
        part_open(&decoder[d], Q4K);
    for (; left > 0; cycle++) {
        assert_true(cycle < 1000000);
        for (unsigned d = 0; d < n_decoders; d++) {
            struct part *p = &decoder[d];
            const uint64_t at = taken[d] / Q4K_BEATS * n_decoders + d;
            const uint64_t end = at * SQ_Q4K_NBYTES + (taken[d] % Q4K_BEATS + 1) * Q4K_BYTES;
            const bool is_there = at < n && end <= cycle * rate;
            superblock_feed(p, is_there);
            CHECK_EQ(takes(p, 0), is_there, "q4k_dec: a beat that it did not take\n");
            taken[d] += is_there;
            left -= gives(p);
            edge(p);
        }
    }
    for (unsigned d = 0; d < n_decoders; d++)
        part_close(&decoder[d]);
    return cycle;
}

// Headers take the time that their bytes take on the DRAM: what is behind the end of the load is
// at most what a job is charged in front, and all of that where a superblock comes at once.
SQ_TEST(test_loads)
{
    static const unsigned rates[] = {1, 8, 16, 24, 64, 100, 144, 256};
    const struct sq_core_config core = {ROWS, COLS, 6, 1, 8, 8, 4, 0, 0, SQ_GATHER_CROSSBAR};
    struct sq_rng r = {fixture_seed()};
    struct sq_cost_unit u;
    struct sq_recipe s;
    assert_int_equal(sq_format_recipe(&sq_format_spqt, SQ_IN_RUN, NULL, &s, NULL), SQ_OK);
    sq_cost_unit(&s, &core, 1, 256, &u);
    for (size_t i = 0; has_rtl && i < LEN(rates); i++)
        for (uint64_t n = 1; n <= 200; n += 1 + sq_rng_below(&r, 50)) {
            const uint64_t load = (n * SQ_Q4K_NBYTES + rates[i] - 1) / rates[i];
            const uint64_t behind = run_load(rates[i], n) - load;
            CHECK_EQ(behind <= u.unit.lead, true, "%u bytes a cycle, %llu superblocks: %llu\n",
                     rates[i], (unsigned long long)n, (unsigned long long)behind);
            if (n == 1 && rates[i] >= SQ_Q4K_NBYTES)
                CHECK_EQ(behind, u.unit.lead, "a superblock that comes at once\n");
        }
}
