// SPDX-License-Identifier: Apache-2.0
// Draws layers, spoils some, is the memory that they lie in, and knows what must come (sq_top_work.h).
#include "sim/block/top/sq_top_work.h"

#include <assert.h>
#include <string.h>

enum { ROWS, COLS };

// ---- a layer ------------------------------------------------------------------------------------------

static unsigned nbytes(const unsigned *value)
{
    return value[SQ_TOP_DATA_W] / 8;
}

// Beats of the bus of the descriptor (i = 0), of an operand, of the outputs.
static uint32_t region_beats(const unsigned *value, const struct sq_top_layer *l, unsigned i)
{
    return (uint32_t)(i == 0 ? 4 * SQ_DESC_WORDS
                             : sq_top_nbytes(value, l, (enum sq_top_part)(i - 1))) /
           nbytes(value);
}

// Beat number `n` of descriptor, operands and outputs.
static uint64_t beat_at(const struct sq_top_work *w, const struct sq_top_layer *l, uint32_t n)
{
    for (unsigned i = 0; i <= SQ_TOP_OPERANDS + 1; n -= region_beats(w->value, l, i++))
        if (n < region_beats(w->value, l, i))
            return (i == 0 ? w->at.image.descriptor : l->addr[i - 1]) +
                   (uint64_t)n * nbytes(w->value);
    assert(false);
    return 0;
}

static uint32_t all_beats(const unsigned *value, const struct sq_top_layer *l)
{
    uint32_t n = 0;
    for (unsigned i = 0; i <= SQ_TOP_OPERANDS + 1; i++)
        n += region_beats(value, l, i);
    return n;
}

static uint32_t blocks_of(uint32_t n, uint32_t block)
{
    return (n + block - 1) / block;
}

// Beats of the bus that a layer reads (rtl/top/tiling.md): the outer operand once for each of its blocks, the inner
// one for every block unless it has only one; in chunks of K both for every step, scales that serve all of them once.
static uint32_t beats_to_read(const struct sq_top_work *w, const struct sq_top_layer *l)
{
    const struct sq_top_room room = sq_top_room(w->value);
    const bool has_chunks = !sq_block_walk_is_whole(l);
    uint32_t n = region_beats(w->value, l, 0);
    for (unsigned p = 0; p < SQ_TOP_OPERANDS; p++) {
        const unsigned axis = p >= SQ_TOP_WEIGHT ? COLS : ROWS, other = axis == COLS ? ROWS : COLS;
        const bool is_outer = l->cols_outer == (axis == COLS);
        const bool is_for_all = sq_top_serves_chunks(&room, p);
        const bool is_once = (is_outer || blocks_of(l->tiles[axis], l->block[axis]) == 1) &&
                             (is_for_all || !has_chunks);
        n += region_beats(w->value, l, p + 1) *
             (is_once ? 1 : blocks_of(l->tiles[other], l->block[other]));
    }
    return n;
}

uint32_t sq_host_n_faults(const unsigned *value)
{
    const struct sq_top_layer l = sq_top_short_layer(value);
    return 2 * (SQ_AXI_FAULTS - 1) * all_beats(value, &l);
}

// One or two blocks of as many tiles as sums have room for, and one behind them. Returns the beat of the weights
// that is wrong: the first one of the last block.
static int32_t kept_layer(const unsigned *value, uint32_t number, struct sq_top_layer *l)
{
    const uint32_t most = SQ_DRAWN_LINES / value[SQ_TOP_COLS], before = 1 + number % 2;
    const uint32_t fit = most / (before + 1), room = value[SQ_TOP_SUM_TILES];
    l->block[COLS] = room < fit ? room : fit;
    l->tiles[COLS] = l->block[COLS] * (before + 1);
    if (sq_top_is_indexed(value) && number % 2)
        return SQ_DRAWN_ANY_WRONG;
    return (int32_t)(l->is_indexed ? before * l->groups
                                   : l->block[COLS] * before * l->groups * l->beats);
}

// The longest transfers: of a tile of as many beats as half a buffer holds, or of the outputs of as many tiles. Last, a block
// that may have as many tiles as a job, of more than 256 of them in its rows, where half a buffer holds so many.
enum { MANY_ROWS = 257 };
static struct sq_top_layer deep_layer(const unsigned *value, uint32_t number)
{
    struct sq_top_layer l = sq_top_short_layer(value);
    l.groups = 1;
    const unsigned *const depth = value + SQ_TOP_DEPTH;
    const bool is_act_alone = l.is_indexed || depth[SQ_TOP_ACT] < depth[SQ_TOP_WEIGHT];
    l.beats = number == 0 ? depth[is_act_alone ? SQ_TOP_ACT : SQ_TOP_WEIGHT] : 1;
    l.tiles[ROWS] = l.block[ROWS] = number == 0 ? 1 : 8;
    const bool has_fewer = depth[SQ_TOP_COL_SCALE] < depth[SQ_TOP_WEIGHT];
    if (l.is_indexed) {
        l.groups = l.chunk = number == 0 ? depth[SQ_TOP_WEIGHT] : 1;
        l.block[ROWS] = 1;
    }
    l.tiles[COLS] = l.block[COLS] =
        number == 0 ? 1 : depth[has_fewer ? SQ_TOP_COL_SCALE : SQ_TOP_WEIGHT];
    bool has_room = !l.is_indexed;
    for (unsigned p = 0; p < SQ_TOP_OPERANDS; p++)
        has_room = has_room && depth[p] >= MANY_ROWS;
    if (number == 2 && has_room) {
        l.tiles[ROWS] = l.block[ROWS] = MANY_ROWS;
        l.tiles[COLS] = 2;
        l.block[COLS] = SQ_DESC_JOB_TILES / MANY_ROWS;
    }
    return l;
}

static struct sq_top_layer layer_of(const unsigned *value, const uint32_t word[SQ_DESC_WORDS])
{
    const struct sq_top_room room = sq_top_room(value);
    struct sq_top_layer l;
    (void)sq_top_layer_decode(word, &room, &l);
    return l;
}

struct sq_top_layer sq_top_work_given(const unsigned *value, const struct sq_top_given *given)
{
    return layer_of(value, (const uint32_t *)given->word);
}

// The words of the image's descriptor, which lies below the base that the image is moved by.
static uint32_t *descriptor_of(struct sq_top_work *w)
{
    return (uint32_t *)w->drawn.word + (w->at.image.descriptor - w->base) / 4;
}

// Bytes of a region whose beats lie on beats of the bus of their own.
static uint64_t reach(const struct sq_top_work *w, const struct sq_top_layer *l,
                      enum sq_top_part part)
{
    const struct sq_top_room room = sq_top_room(w->value);
    return sq_top_beats(w->value, l, part) * sq_top_transfer(&room, part, 1) * nbytes(w->value);
}

static void move_region(struct sq_top_work *w, const struct sq_top_layer *l, enum sq_top_part part,
                        uint64_t to)
{
    struct sq_top_moved *const m = &w->at.moved[part];
    *m = (struct sq_top_moved){
        .from = l->addr[part], .to = to, .nbytes = sq_top_nbytes(w->value, l, part)};
    sq_desc_set_address(descriptor_of(w), sq_top_address_word[part], to);
    if (w->at.fault_at - m->from < m->nbytes)
        w->at.fault_at += to - m->from;
    if (part == SQ_TOP_STORE)
        w->at.image.out = to;
}

// Moves a region to the end of memory, or `beyond` bytes further, were it that long. One that is no longer than that
// gets a tile more before.
static void move_to_end(struct sq_top_work *w, enum sq_top_part part, uint32_t beyond)
{
    uint32_t *const word = descriptor_of(w);
    struct sq_top_layer l = layer_of(w->value, word);
    if (reach(w, &l, part) <= beyond) {
        l.tiles[ROWS]++;
        l.tiles[COLS]++;
        sq_top_layer_encode(&l, word);
    }
    move_region(w, &l, part, SQ_ADDR_END + beyond - reach(w, &l, part));
}

static void spoil(struct sq_top_work *w, enum sq_spoil way)
{
    const struct sq_top_room room = sq_top_room(w->value);
    if (sq_spoil_is_past_end(way))
        move_to_end(w, (enum sq_top_part)(way - SQ_SPOIL_PAST_END), room.nbytes);
    else
        sq_spoil_descriptor(descriptor_of(w), way, &room);
    if (way == SQ_SPOIL_CROOKED)
        w->at.image.descriptor += 1;
}

static void draw_fault(struct sq_top_work *w, struct sq_rng *rng, const struct sq_top_layer *l)
{
    w->at.fault = (enum sq_axi_fault)(1 + sq_rng_below(rng, SQ_AXI_FAULTS - 1));
    w->at.fault_at = beat_at(w, l, sq_rng_below(rng, all_beats(w->value, l)));
}

// The image lies at address 0, across a multiple of 4 GiB, has each region above another one, ends at 2^48, has its
// descriptor there and its regions elsewhere, or has its descriptor across 2^48.
enum { LOW, ACROSS, APART, HIGH, LAST, WRAPPED, BASES = WRAPPED };
static void move_image(struct sq_top_work *w, uint32_t way)
{
    struct sq_rng rng = {(w->choice.seed ^ w->number) * UINT64_C(0x9e3779b97f4a7c15)};
    struct sq_top_given *const image = &w->at.image;
    const uint64_t pages = (4 * (uint64_t)image->n_words + SQ_AXI_PAGE - 1) / SQ_AXI_PAGE + 1;
    const uint64_t four_gib = UINT64_C(1) << 32;
    (void)sq_rng_next(&rng);
    const uint64_t high = 1 + sq_rng_below(&rng, UINT16_MAX);
    const uint64_t page = sq_rng_below(&rng, way == ACROSS ? (uint32_t)pages - 1 : 1 << 19);
    const uint64_t base[] = {[LOW] = 0,
                             [ACROSS] = high * four_gib - (1 + page) * SQ_AXI_PAGE,
                             [APART] = high * four_gib + page * SQ_AXI_PAGE,
                             [HIGH] = SQ_ADDR_END - pages * SQ_AXI_PAGE,
                             [LAST] = SQ_ADDR_END - 4 * SQ_DESC_WORDS - image->descriptor,
                             [WRAPPED] = SQ_ADDR_END - 2 * SQ_DESC_WORDS - image->descriptor};
    uint32_t *const word = descriptor_of(w);
    struct sq_top_layer l = layer_of(w->value, word);
    w->base = base[way];
    for (unsigned i = 0; i <= SQ_TOP_OPERANDS; i++) {
        l.addr[i] += w->base;
        if (way != LAST) // there they move
            sq_desc_set_address(word, sq_top_address_word[i], l.addr[i]);
    }
    image->descriptor += w->base;
    image->out += w->base;
    w->at.fault_at += w->base;
    for (unsigned i = 0; i <= SQ_TOP_OPERANDS && (way == APART || way == LAST); i++)
        move_region(w, &l, (enum sq_top_part)i,
                    l.addr[i] % four_gib + sq_rng_below(&rng, 1 << 16) * four_gib);
}

static void draw_layer(struct sq_top_work *w)
{
    const uint32_t what = w->choice.what, half = w->number / 2;
    const uint32_t which =
        what == SQ_HOST_CLEARS ? 0 : w->number; // all alike: they last equally long
    struct sq_rng rng = {(w->choice.seed + which) * UINT64_C(0x9e3779b97f4a7c15)};
    struct sq_top_layer l = sq_top_short_layer(w->value);
    const bool may_be_bad =
        what == SQ_HOST_WRONG || what == SQ_HOST_FAULTS || what == SQ_HOST_REFUSED;
    const bool is_bad = may_be_bad && w->number % 2 == 0;
    const bool was_bad = w->at.fault != SQ_AXI_GOOD; // beats of that one may still come
    (void)sq_rng_next(&rng);
    memset(&w->at, 0, sizeof w->at);
    w->base = 0;
    if (w->choice.given) {
        w->at.image = *(const struct sq_top_given *)w->choice.given;
        w->base = w->at.image.descriptor;
        l = sq_top_work_given(w->value, w->choice.given);
        w->at.n_read = is_bad || was_bad ? 0 : beats_to_read(w, &l);
        if (is_bad)
            draw_fault(w, &rng, &l);
        return;
    }
    if (what == SQ_HOST_ANY || what == SQ_HOST_WRONG)
        sq_top_draw_shape(w->value, &rng, &l);
    if (what == SQ_HOST_DEEP)
        l = deep_layer(w->value, w->number);
    if (what == SQ_HOST_REFUSED && l.is_indexed)
        l.block[COLS] = 2; // weights are of blocks, not of columns
    const uint32_t way = sq_rng_below(&rng, 4);
    const bool is_illegal = is_bad && what == SQ_HOST_WRONG && way == 0;
    memset(w->written, 0, sizeof w->written);
    const int32_t wrong = what == SQ_HOST_KEPT ? kept_layer(w->value, w->number, &l)
                          : is_illegal         ? SQ_DRAWN_ANY_WRONG
                                               : SQ_DRAWN_RIGHT;
    w->at.image = sq_top_draw_image(w->value, &rng, &l, wrong, &w->drawn);
    w->at.n_read = is_bad || was_bad ? 0 : beats_to_read(w, &l);
    if (what == SQ_HOST_CLEARS && w->number >= SQ_HOST_N_CLEARS / 2) { // as long as without a fault
        w->at.fault = SQ_AXI_SLVERR;
        w->at.fault_at =
            beat_at(w, &l, 4 * SQ_DESC_WORDS / nbytes(w->value)); // the first beat of operands
    }
    if (!is_bad)
        return;
    const uint32_t n = all_beats(w->value, &l);
    if (what == SQ_HOST_FAULTS) {
        w->at.fault = (enum sq_axi_fault)(1 + half / n % (SQ_AXI_FAULTS - 1));
        w->at.fault_at = beat_at(w, &l, half % n);
    } else if (what == SQ_HOST_REFUSED || way == 1) {
        w->at.is_refused = true;
        w->at.way = what == SQ_HOST_REFUSED ? (enum sq_spoil)half : sq_spoil_draw(&rng);
    } else if (way > 1) {
        draw_fault(w, &rng, &l);
    }
}

// Behind a layer that was refused because a region ends beyond 2^48 one follows whose region ends there.
void sq_top_work_begin(struct sq_top_work *w, uint32_t number)
{
    const struct sq_top_piece before = w->at;
    w->number = number;
    draw_layer(w);
    const enum sq_spoil way = w->at.is_refused ? w->at.way : before.way;
    const bool has_end = (w->at.is_refused || before.is_refused) && sq_spoil_is_past_end(way);
    if (w->choice.given)
        return;
    // What is refused lies low, so that no region ends beyond memory by the way.
    move_image(w, w->at.is_refused && way == SQ_SPOIL_ASTRIDE ? WRAPPED
                  : w->at.is_refused || has_end               ? LOW
                                                              : w->number / 2 % BASES);
    if (w->at.is_refused)
        spoil(w, way);
    else if (has_end)
        move_to_end(w, (enum sq_top_part)(way - SQ_SPOIL_PAST_END), 0);
}

// ---- memory -------------------------------------------------------------------------------------------

static int32_t read_word(void *ctx, uint64_t addr, unsigned i)
{
    const struct sq_top_work *const w = ctx;
    uint64_t from = addr;
    for (unsigned p = 0; p <= SQ_TOP_OPERANDS; p++) {
        const struct sq_top_moved *const m = &w->at.moved[p];
        from = addr - m->to < m->nbytes ? addr - m->to + m->from : from;
    }
    const uint64_t at = (from - w->base) / 4 + i;
    return at < w->at.image.n_words ? w->at.image.word[at] : (int32_t)((uint32_t)at * 0x9e3779b9u);
}

static const char *write_words(void *ctx, uint64_t addr, const int32_t *word, unsigned n)
{
    struct sq_top_work *const w = ctx;
    const uint64_t first = (addr - w->at.image.out) / 4;
    if (addr < w->at.image.out || first + n > w->at.image.n_want || w->at.is_refused)
        return "memory.outside";
    for (unsigned i = 0; i < n; i++) {
        if (!w->choice.given && w->written[first + i])
            return "memory.written_twice";
        if (!w->choice.given)
            w->written[first + i] = true;
        w->at.has_wrong = w->at.has_wrong || word[i] != w->at.image.want[first + i];
    }
    w->at.n_written += n;
    return w->at.has_wrong && w->at.fault == SQ_AXI_GOOD ? "memory.output" : NULL;
}

static enum sq_axi_fault fault_at(void *ctx, uint64_t addr, unsigned size)
{
    const struct sq_top_work *const w = ctx;
    const uint64_t beat = w->at.fault_at / size, at = addr / size;
    if (w->at.fault == SQ_AXI_TWO)
        return at == beat ? SQ_AXI_SLVERR : at == beat + 1 ? SQ_AXI_DECERR : SQ_AXI_GOOD;
    return at == beat ? w->at.fault : SQ_AXI_GOOD;
}

const struct sq_axi_content sq_top_work_content = {read_word, write_words, fault_at};

// ---- what must have happened --------------------------------------------------------------------------

uint32_t sq_host_fault_status(enum sq_axi_fault fault)
{
    static const uint32_t status[SQ_AXI_FAULTS] = {
        [SQ_AXI_SLVERR] = SQ_DMA_SLVERR, [SQ_AXI_DECERR] = SQ_DMA_DECERR,
        [SQ_AXI_EARLY] = SQ_DMA_EARLY,   [SQ_AXI_LATE] = SQ_DMA_LATE,
        [SQ_AXI_MISSING] = SQ_DMA_LATE,  [SQ_AXI_TWO] = SQ_DMA_SLVERR}; // the first one
    return status[fault];
}

const char *sq_top_work_status(const struct sq_top_work *w, uint32_t status)
{
    const uint32_t read = status >> SQ_STATUS_READ & 7, written = status >> SQ_STATUS_WRITTEN & 7;
    const uint32_t good =
        w->at.is_refused ? 1u << SQ_STATUS_REFUSED : w->at.image.status << SQ_STATUS_ENGINE;
    const bool is_good = status == good;
    const bool can_pass =
        w->at.fault != SQ_AXI_SLVERR && w->at.fault != SQ_AXI_DECERR && w->at.fault != SQ_AXI_TWO;
    if (is_good && !can_pass)
        return "host.fault_not_told";
    if (!is_good && w->at.fault == SQ_AXI_GOOD)
        return "host.status";
    if (!is_good && ((read && written) || (read | written) != sq_host_fault_status(w->at.fault)))
        return "host.status_of_fault";
    // A beat that came with an error refuses the descriptor that it is of, or is an operand that the engine takes.
    const bool is_of_descriptor = w->at.fault_at - w->at.image.descriptor < 4 * SQ_DESC_WORDS;
    const uint32_t is_lost =
        read ? 1u << (is_of_descriptor ? SQ_STATUS_REFUSED : SQ_STATUS_OPERAND) : 0;
    if (!is_good && (status & (1u << SQ_STATUS_REFUSED | 1u << SQ_STATUS_OPERAND)) != is_lost)
        return "host.status_of_region";
    if (is_good && !w->at.is_refused && (w->at.has_wrong || w->at.n_written != w->at.image.n_want))
        return "host.outputs";
    return NULL;
}
