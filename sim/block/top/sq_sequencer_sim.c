// SPDX-License-Identifier: Apache-2.0
// Checks a descriptor, walks the blocks of its layer, and steps transfers and jobs
// (sq_sequencer_sim.h).
#include "sim/block/top/sq_sequencer_sim.h"

#include <string.h>

#include "sim/block/top/sq_axi_memory.h"

enum { ROWS, COLS };

// ---- steps ------------------------------------------------------------------------------------------

void sq_block_walk_start(struct sq_block_walk *w, const struct sq_top_layer *layer)
{
    *w = (struct sq_block_walk){.layer = layer, .is_active = true, .is_new = {true, true}};
}

static uint32_t left(const struct sq_block_walk *w, unsigned axis)
{
    return w->layer->tiles[axis] - w->done[axis];
}

uint32_t sq_block_walk_tiles(const struct sq_block_walk *w, unsigned axis)
{
    return left(w, axis) < w->layer->block[axis] ? left(w, axis) : w->layer->block[axis];
}

static bool is_end(const struct sq_block_walk *w, unsigned axis)
{
    return left(w, axis) <= w->layer->block[axis];
}

// Scale groups of the chunk.
static uint32_t walk_groups(const struct sq_block_walk *w)
{
    const uint32_t rest = w->layer->groups - w->groups;
    return rest < w->layer->chunk ? rest : w->layer->chunk;
}

// Beats of a tile in the chunk.
static uint32_t walk_beats(const struct sq_block_walk *w)
{
    const struct sq_top_layer *const l = w->layer;
    const uint32_t rest = l->beats - w->beats;
    return l->part == 0 ? walk_groups(w) * l->beats : rest < l->part ? rest : l->part;
}

bool sq_block_walk_is_whole(const struct sq_top_layer *layer)
{
    return layer->chunk == layer->groups && layer->part == 0;
}

static bool ends_group(const struct sq_block_walk *w)
{
    return w->layer->part == 0 || w->beats + w->layer->part >= w->layer->beats;
}

bool sq_block_walk_is_last(const struct sq_block_walk *w)
{
    return w->groups + w->layer->chunk >= w->layer->groups && ends_group(w);
}

// The operand of this axis stays for the next block.
static bool walk_keeps(const struct sq_block_walk *w, unsigned axis)
{
    const unsigned outer = w->layer->cols_outer ? COLS : ROWS, inner = !outer;
    if (is_end(w, ROWS) && is_end(w, COLS))
        return false; // nothing comes behind
    return axis == outer ? !is_end(w, inner) : w->layer->block[inner] >= w->layer->tiles[inner];
}

void sq_block_walk_next(struct sq_block_walk *w)
{
    const bool keeps[2] = {walk_keeps(w, ROWS), walk_keeps(w, COLS)};
    const bool is_last = sq_block_walk_is_last(w);
    if (!ends_group(w)) {
        w->beats += w->layer->part;
        return;
    }
    w->beats = 0;
    w->groups = is_last ? 0 : w->groups + w->layer->chunk;
    if (!is_last)
        return;
    w->is_active = !(is_end(w, ROWS) && is_end(w, COLS));
    for (unsigned a = 0; a < 2; a++) {
        w->is_new[a] = !keeps[a];
        if (!keeps[a])
            w->done[a] = is_end(w, a) ? 0 : w->done[a] + w->layer->block[a];
    }
}

// ---- the descriptor ---------------------------------------------------------------------------------

const unsigned sq_top_address_word[SQ_TOP_OPERANDS + 1] = {
    SQ_DESC_ACT, SQ_DESC_ROW_SCALE, SQ_DESC_WEIGHT, SQ_DESC_COL_SCALE, SQ_DESC_OUT};

uint32_t sq_top_col_blocks(const struct sq_top_layer *l)
{
    return (l->tiles[COLS] + l->block[COLS] - 1) / l->block[COLS];
}

void sq_top_layer_encode(const struct sq_top_layer *l, uint32_t word[SQ_DESC_WORDS])
{
    memset(word, 0, SQ_DESC_WORDS * sizeof *word);
    word[SQ_DESC_KIND] = SQ_DESC_KIND_VALUE | (uint32_t)l->cols_outer << SQ_DESC_COLS_OUTER;
    for (unsigned i = 0; i <= SQ_TOP_OPERANDS; i++)
        sq_desc_set_address(word, sq_top_address_word[i], l->addr[i]);
    word[SQ_DESC_TILES] = l->tiles[COLS] << 16 | l->tiles[ROWS];
    word[SQ_DESC_BLOCK] = l->block[COLS] << 16 | l->block[ROWS];
    word[SQ_DESC_BEATS] = l->groups << 16 | l->beats;
    word[SQ_DESC_CHUNK] = (l->is_indexed ? sq_top_col_blocks(l) : l->part) << 16 | l->chunk;
}

uint64_t sq_top_step_beats(const struct sq_top_room *room, const struct sq_top_layer *l,
                           const struct sq_top_step *step, unsigned part)
{
    const uint64_t rows = step->tiles[ROWS], cols = step->tiles[COLS];
    const uint64_t n[] = {rows * (l->is_indexed ? l->beats : step->beats), rows,
                          l->is_indexed ? step->groups : cols * step->beats,
                          cols * (room->scale_once ? 1 : step->groups), rows * cols};
    return n[part];
}

uint64_t sq_top_transfer(const struct sq_top_room *room, unsigned part, uint64_t n)
{
    return (n * room->beat_nbytes[part] + room->nbytes - 1) / room->nbytes;
}

// Whether a region ends at 2^48 or before, were each of its beats on beats of the bus of its own.
static bool is_in_reach(const struct sq_top_room *room, const struct sq_top_layer *l, unsigned part)
{
    const uint64_t tile = (uint64_t)l->beats * l->groups;
    const uint64_t scales = room->scale_once ? 1 : l->groups;
    const uint64_t blocks = l->is_indexed ? sq_top_col_blocks(l) : 0;
    const uint64_t beats[] = {l->tiles[ROWS] * (l->is_indexed ? l->beats : tile), l->tiles[ROWS],
                              l->is_indexed ? blocks * l->groups : l->tiles[COLS] * tile,
                              l->tiles[COLS] * scales, (uint64_t)l->tiles[ROWS] * l->tiles[COLS]};
    const uint64_t room_left = SQ_ADDR_END - l->addr[part];
    return beats[part] <= room_left / room->nbytes / sq_top_transfer(room, part, 1);
}

bool sq_top_layer_decode(const uint32_t word[SQ_DESC_WORDS], const struct sq_top_room *room,
                         struct sq_top_layer *l)
{
    uint64_t addresses = 0;
    uint32_t unnamed = 0;
    bool in_reach = true;
    *l = (struct sq_top_layer){
        .tiles = {word[SQ_DESC_TILES] & 0xffff, word[SQ_DESC_TILES] >> 16},
        .block = {word[SQ_DESC_BLOCK] & 0xffff, word[SQ_DESC_BLOCK] >> 16},
        .beats = word[SQ_DESC_BEATS] & 0xffff,
        .groups = word[SQ_DESC_BEATS] >> 16,
        .chunk = word[SQ_DESC_CHUNK] & 0xffff,
        .part = word[SQ_DESC_CHUNK] >> 16,
        .cols_outer = word[SQ_DESC_KIND] >> SQ_DESC_COLS_OUTER & 1,
        .is_indexed = room->is_indexed,
    };
    const uint32_t blocks = l->part;
    if (l->is_indexed) {
        l->part = 0;
        if (l->block[COLS] == 0 || l->block[ROWS] != 1 || blocks != sq_top_col_blocks(l))
            return false;
    }
    for (unsigned i = 0; i < SQ_DESC_WORDS; i++)
        unnamed |= word[i] & ~sq_desc_named(i);
    for (unsigned i = 0; i <= SQ_TOP_OPERANDS; i++) {
        addresses |= l->addr[i] = sq_desc_address(word, sq_top_address_word[i]);
        in_reach = in_reach && is_in_reach(room, l, i);
    }
    const uint64_t tile =
        l->is_indexed ? l->chunk : (uint64_t)(l->part ? l->part : l->beats) * l->chunk;
    const uint64_t act = l->is_indexed ? l->beats : tile * l->block[ROWS];
    const bool is_part_right =
        l->part == 0 || (l->chunk == 1 && l->part < l->beats && l->groups <= room->part_groups);
    const uint64_t tiles = (uint64_t)l->block[0] * l->block[1];
    return (word[SQ_DESC_KIND] & 0xffff) == SQ_DESC_KIND_VALUE && unnamed == 0 && in_reach &&
           addresses % room->nbytes == 0 && is_part_right && l->beats > 0 && tile > 0 &&
           l->chunk <= l->groups && l->tiles[0] > 0 && l->tiles[1] > 0 && tiles > 0 &&
           act <= room->depth[SQ_TOP_ACT] &&
           tile * (l->is_indexed ? 1 : l->block[COLS]) <= room->depth[SQ_TOP_WEIGHT] &&
           l->block[0] <= room->depth[SQ_TOP_ROW_SCALE] &&
           (uint64_t)l->block[1] * (room->scale_once ? 1 : l->chunk) <=
               room->depth[SQ_TOP_COL_SCALE] &&
           (l->is_indexed ||
            tiles <= (sq_block_walk_is_whole(l) ? SQ_DESC_JOB_TILES : room->sum_tiles));
}

// ---- a cycle ----------------------------------------------------------------------------------------

// Cycles that the RTL looks at a descriptor, and that the numbers of a transfer take: its factors, their product, its
// bytes. Those of the first one are there when the checks end.
enum { CHECKS = 17, LOOKS = 3 };

bool sq_sequencer_transfer(const struct sq_sequencer_sim *s, int32_t transfer[SQ_DMA_JOB_LEN])
{
    if (s->state == SQ_SEQ_ASK) {
        sq_dma_put_transfer(transfer, true, false, s->at / s->room.nbytes * s->room.nbytes,
                            4 * SQ_DESC_WORDS / s->room.nbytes, SQ_TOP_DESCRIPTOR);
        return true;
    }
    memcpy(transfer, s->transfer, sizeof s->transfer);
    return s->has_transfer;
}

static bool ends_check(const struct sq_sequencer_sim *s)
{
    return s->state == SQ_SEQ_CHECK && s->check == CHECKS - 1;
}

static bool is_sound(const struct sq_sequencer_sim *s)
{
    struct sq_top_layer unused;
    return s->sound && sq_top_layer_decode(s->word, &s->room, &unused);
}

bool sq_sequencer_starts(const struct sq_sequencer_sim *s, uint32_t kind)
{
    const bool has_unit = kind == SQ_DESC_KIND_ENCODE   ? s->room.has_encoder
                          : kind == SQ_DESC_KIND_VECTOR ? s->room.has_vector
                                                        : s->room.has_attend;
    return s->state == SQ_SEQ_CHECK && has_unit && (s->word[SQ_DESC_KIND] & 0xffff) == kind;
}

bool sq_sequencer_wants_notice(const struct sq_sequencer_sim *s)
{
    return s->word[SQ_DESC_KIND] >> SQ_DESC_NOTICE & 1;
}

bool sq_sequencer_refuses(const struct sq_sequencer_sim *s)
{
    return ends_check(s) && !is_sound(s);
}

static bool all_done(const struct sq_sequencer_sim *s)
{
    return s->state == SQ_SEQ_RUN && !s->load.is_active && s->owed == 0;
}

bool sq_sequencer_is_done(const struct sq_sequencer_sim *s)
{
    return sq_sequencer_refuses(s) || all_done(s);
}

static void start_run(struct sq_sequencer_sim *s)
{
    struct sq_top_layer *const l = &s->layer;
    (void)sq_top_layer_decode(s->word, &s->room, l);
    sq_block_walk_start(&s->load, l);
    s->job = s->load;
    s->kind = 0;
    s->looked = LOOKS;
    s->next[SQ_TOP_STORE] = l->addr[SQ_TOP_STORE];
}

bool sq_top_serves_chunks(const struct sq_top_room *room, unsigned part)
{
    return part == SQ_TOP_ROW_SCALE || (part == SQ_TOP_COL_SCALE && room->scale_once) ||
           (part == SQ_TOP_ACT && room->is_indexed);
}

// Whether the step needs the transfer that is looked at. Chunks of both operands come for every step,
// unless the block has only one.
static bool is_needed(const struct sq_sequencer_sim *s)
{
    const struct sq_block_walk *const w = &s->load;
    const bool is_first = w->groups == 0 && w->beats == 0, is_last = sq_block_walk_is_last(w);
    if (!w->is_active)
        return false;
    if (s->kind == SQ_TOP_STORE) // outputs of an indexed block begin with its first chunk
        return s->room.is_indexed ? is_first : is_last;
    const bool is_new = w->is_new[s->kind >= SQ_TOP_WEIGHT];
    if (s->kind == SQ_TOP_COL_SCALE && w->beats > 0)
        return false; // they are those of the chunk before
    return sq_top_serves_chunks(&s->room, s->kind) ? is_new && is_first
                                                   : is_new || !is_first || !is_last;
}

static uint64_t address_of(struct sq_sequencer_sim *s)
{
    const struct sq_block_walk *const w = &s->load;
    const unsigned k = s->kind, axis = k >= SQ_TOP_WEIGHT;
    if (k == SQ_TOP_STORE || w->groups > 0 || w->beats > 0)
        return s->next[k];
    if (w->done[axis] == 0)
        s->start[k] = s->layer.addr[k];
    else if (w->is_new[axis])
        s->start[k] = s->next[k];
    return s->start[k];
}

static void make_transfer(struct sq_sequencer_sim *s, int32_t transfer[SQ_DMA_JOB_LEN])
{
    const struct sq_top_step step = {
        {sq_block_walk_tiles(&s->load, ROWS), sq_block_walk_tiles(&s->load, COLS)},
        walk_groups(&s->load),
        walk_beats(&s->load)};
    const uint32_t beats = (uint32_t)sq_top_step_beats(&s->room, &s->layer, &step, s->kind);
    const uint32_t n = (uint32_t)sq_top_transfer(&s->room, s->kind, beats);
    const uint32_t tail = beats * s->room.beat_nbytes[s->kind] % s->room.nbytes;
    const uint64_t addr = address_of(s);
    s->next[s->kind] = addr + (uint64_t)n * s->room.nbytes;
    sq_dma_put_transfer(transfer, false, s->kind == SQ_TOP_STORE, addr, n,
                        (s->kind | tail << SQ_TOP_DEST_BITS));
}

bool sq_sequencer_next_transfer(struct sq_sequencer_sim *s)
{
    const bool is_store = s->kind == SQ_TOP_STORE, has = is_needed(s);
    if (has)
        make_transfer(s, s->transfer);
    s->kind = is_store ? 0 : s->kind + 1;
    s->looked = 0;
    if (is_store && s->load.is_active) {
        s->owed += has;
        sq_block_walk_next(&s->load);
    }
    return has;
}

static void clock_transfers(struct sq_sequencer_sim *s, const struct sq_sequencer_in *in)
{
    s->owed -= in->write_done;
    s->has_transfer = s->has_transfer && !in->dma_ready;
    if (!is_needed(s))
        (void)sq_sequencer_next_transfer(s);
    else if (s->looked < LOOKS)
        s->looked++;
    else if (!s->has_transfer)
        s->has_transfer = sq_sequencer_next_transfer(s);
}

void sq_sequencer_clock_jobs(struct sq_sequencer_sim *s, const struct sq_sequencer_in *in)
{
    bool any = false;
    for (unsigned i = 0; i < SQ_TOP_JOBS; i++)
        any = any || s->pending[i];
    for (unsigned i = 0; i < SQ_TOP_JOBS; i++)
        s->pending[i] = any ? s->pending[i] && !in->job_ready[i]
                            : s->job.is_active &&
                                  (!s->room.is_indexed || i == SQ_TOP_WEIGHT || s->job.groups == 0);
    if (any || !s->job.is_active)
        return;
    const bool keeps[2] = {walk_keeps(&s->job, ROWS), walk_keeps(&s->job, COLS)};
    const bool is_first = s->job.groups == 0 && s->job.beats == 0;
    const bool is_last = sq_block_walk_is_last(&s->job), is_whole = is_first && is_last;
    const bool goes_on = !ends_group(&s->job);
    s->of = (struct sq_top_job){
        .tiles = {sq_block_walk_tiles(&s->job, ROWS), sq_block_walk_tiles(&s->job, COLS)},
        .groups = walk_groups(&s->job),
        .beats = walk_beats(&s->job),
        .part = {s->job.beats > 0, goes_on},
        .is_first = is_first,
        .is_last = is_last};
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++) {
        const bool keep = keeps[i >= SQ_TOP_WEIGHT];
        s->of.keep[i] = sq_top_serves_chunks(&s->room, i)
                            ? keep || (!is_last && !s->room.is_indexed)
                            : (keep && is_whole) || (i == SQ_TOP_COL_SCALE && goes_on);
    }
    s->pending[SQ_TOP_SUMS] = !is_first && !s->room.is_indexed;
    sq_block_walk_next(&s->job);
}

static void clock_fetch(struct sq_sequencer_sim *s, const struct sq_dma_beat *beat)
{
    if (!beat)
        return;
    memcpy(s->word + s->n_words, beat->word, s->room.nbytes);
    s->n_words += s->room.nbytes / 4;
    s->sound = s->sound && !beat->poison;
    if (beat->last)
        s->state = SQ_SEQ_CHECK;
}

void sq_sequencer_clock(struct sq_sequencer_sim *s, const struct sq_sequencer_in *in)
{
    switch (s->state) {
    case SQ_SEQ_IDLE:
        s->at = in->descriptor;
        s->sound = in->descriptor % s->room.nbytes == 0 &&
                   in->descriptor <= SQ_ADDR_END - 4 * SQ_DESC_WORDS;
        s->n_words = s->check = 0;
        s->state = in->start ? SQ_SEQ_ASK : SQ_SEQ_IDLE;
        break;
    case SQ_SEQ_ASK:
        s->state = in->dma_ready ? SQ_SEQ_FETCH : SQ_SEQ_ASK;
        break;
    case SQ_SEQ_FETCH:
        clock_fetch(s, in->beat);
        break;
    case SQ_SEQ_CHECK:
        if (sq_sequencer_starts(s, SQ_DESC_KIND_ENCODE) ||
            sq_sequencer_starts(s, SQ_DESC_KIND_VECTOR) ||
            sq_sequencer_starts(s, SQ_DESC_KIND_ATTEND)) {
            s->state = SQ_SEQ_AWAY;
        } else if (ends_check(s)) {
            s->state = is_sound(s) ? SQ_SEQ_RUN : SQ_SEQ_IDLE;
            if (s->state == SQ_SEQ_RUN)
                start_run(s);
        }
        s->check++;
        break;
    case SQ_SEQ_AWAY:
        s->state = in->away_done ? SQ_SEQ_IDLE : SQ_SEQ_AWAY;
        break;
    default:
        if (all_done(s)) {
            s->state = SQ_SEQ_IDLE;
            break;
        }
        clock_transfers(s, in);
        sq_sequencer_clock_jobs(s, in);
    }
}
