// SPDX-License-Identifier: Apache-2.0
// Steps chip and memory by a cycle, and settles their state so that equal states compare equal
// (sq_chip_state.h).
#include "sim/machine/sq_chip_state.h"
#include "sim/io/sq_checked.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum { JOB, ACT, WEIGHT, SCALE }; // streams of the engine

void sq_chip_setup(const unsigned *v, const struct sq_env_choice *memory, struct sq_chip_setup *c)
{
    const struct sq_output_config o = sq_top_output(v);
    const uint32_t nbytes = v[SQ_TOP_DATA_W] / 8;
    *c = (struct sq_chip_setup){.n_slots = v[SQ_TOP_OUTSTANDING],
                                .n_writes = v[SQ_TOP_WRITES],
                                .max_burst = v[SQ_TOP_MAX_BURST],
                                .page = SQ_AXI_PAGE / nbytes,
                                .word = v[SQ_TOP_PORT_LEN] * sq_top_out_bits(v) / 8,
                                .store_room = v[SQ_TOP_MAX_BURST] < 2 ? 2 : v[SQ_TOP_MAX_BURST],
                                .tile_slots = sq_top_shape(v).pairs * o.rows * o.cols / o.lanes,
                                .tile_words = o.rows * o.cols / o.port_len,
                                .fetch = 4 * SQ_DESC_WORDS / nbytes,
                                .nbytes = nbytes,
                                .latency = memory->n[0],
                                .den = memory->n[2],
                                .is_scaled = sq_top_is_scaled(v),
                                .engine = sq_top_engine_block(v)->timing};
    for (unsigned i = 0; i <= SQ_CHIP_BURST_MAX; i++)
        c->occupies[i] = (int64_t)((i * nbytes + memory->n[3] - 1) / memory->n[3]) * memory->n[1];
    c->unit = memory->n[3] / (uint32_t)sq_gcd(memory->n[3], nbytes);
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++)
        c->beat[i] = sq_top_room(v).beat_nbytes[i];
    // A read of the memory has a slot of the DMA, a response a write.
    const struct sq_chip_state *const w = NULL;
    const size_t end[] = {offsetof(struct sq_chip_state, start) + c->n_slots * sizeof *w->start,
                          offsetof(struct sq_chip_state, beats) + c->n_slots * sizeof *w->beats,
                          offsetof(struct sq_chip_state, b_due) + c->n_writes * sizeof *w->b_due,
                          offsetof(struct sq_chip_state, slot) + c->n_slots * sizeof *w->slot,
                          offsetof(struct sq_chip_state, engine) + c->engine->nbytes};
    const size_t at[] = {
        0, offsetof(struct sq_chip_state, due), offsetof(struct sq_chip_state, n_reads),
        offsetof(struct sq_chip_state, n_due), offsetof(struct sq_chip_state, n_used)};
    for (unsigned i = 0; i < SQ_LEN(end); i++) {
        c->used[i].at = at[i];
        c->used[i].n = end[i] - at[i];
    }
}

void sq_chip_state_init(const unsigned *v, struct sq_chip_state *w)
{
    unsigned engine[SQ_POINT_VALUES];
    sq_top_engine(v, engine);
    sq_top_engine_block(v)->init(engine, w->engine);
}

size_t sq_chip_state_nbytes(const struct sq_chip_setup *c)
{
    size_t sum = 0;
    for (unsigned i = 0; i < SQ_LEN(c->used); i++)
        sum += c->used[i].n;
    return sum;
}

void sq_chip_state_pack(const struct sq_chip_setup *c, const struct sq_chip_state *w,
                        unsigned char *to)
{
    assert(w->n_reads <= c->n_slots && w->n_used <= c->n_slots && w->n_due <= c->n_writes);
    for (unsigned i = 0; i < SQ_LEN(c->used); to += c->used[i++].n)
        memcpy(to, (const unsigned char *)w + c->used[i].at, c->used[i].n);
}

void sq_chip_state_unpack(const struct sq_chip_setup *c, const unsigned char *from,
                          struct sq_chip_state *w)
{
    for (unsigned i = 0; i < SQ_LEN(c->used); from += c->used[i++].n)
        memcpy((unsigned char *)w + c->used[i].at, from, c->used[i].n);
}

// ---- memory -----------------------------------------------------------------------------------------

static int64_t occupies(const struct sq_chip_setup *c, uint32_t beats)
{
    return c->occupies[beats];
}

static int64_t reserve(const struct sq_chip_setup *c, struct sq_chip_state *w, uint32_t beats)
{
    const int64_t next = (w->now + 1) * c->den;
    const int64_t start = w->dram_free > next ? w->dram_free : next;
    w->dram_free = start + occupies(c, beats);
    return start;
}

// Rounded up; parts may be negative.
static int64_t cycle_of(const struct sq_chip_setup *c, int64_t parts)
{
    if (c->den == 1)
        return parts;
    return parts > 0 ? (parts + c->den - 1) / c->den : -(-parts / c->den);
}

static int64_t due_of(const struct sq_chip_setup *c, const struct sq_chip_state *w, uint32_t read,
                      uint32_t beats)
{
    return cycle_of(c, w->start[read] + occupies(c, beats)) + c->latency;
}

// written: beats of a burst of which the last goes, or 0.
static void clock_memory(const struct sq_chip_setup *c, struct sq_chip_state *w, bool takes_read,
                         uint32_t read, uint32_t written, bool beat_goes, bool response_goes)
{
    if (beat_goes) {
        w->r_valid = false;
        if (++w->beat == w->beats[0]) {
            w->n_reads--;
            memmove(w->start, w->start + 1, w->n_reads * sizeof *w->start);
            memmove(w->beats, w->beats + 1, w->n_reads * sizeof *w->beats);
            w->beat = 0;
        }
    }
    if (takes_read) {
        w->beats[w->n_reads] = read;
        w->start[w->n_reads++] = reserve(c, w, read);
    }
    if (w->n_reads > 0 && (beat_goes || (takes_read && w->n_reads == 1)))
        w->due = due_of(c, w, 0, w->beat + 1);
    if (response_goes) {
        w->b_valid = false;
        memmove(w->b_due, w->b_due + 1, --w->n_due * sizeof *w->b_due);
    }
    if (written > 0)
        w->b_due[w->n_due++] =
            cycle_of(c, reserve(c, w, written) + occupies(c, written)) + c->latency;
    w->now++;
    if (w->n_reads > 0 && !w->r_valid && w->now >= w->due)
        w->r_valid = true;
    w->b_valid = w->b_valid || (w->n_due > 0 && w->now >= w->b_due[0]);
}

// ---- DMA --------------------------------------------------------------------------------------------

uint32_t sq_chip_room(const struct sq_chip_setup *c, uint32_t beats, uint32_t room)
{
    const bool is_even = room % c->max_burst == 0 && c->page % c->max_burst == 0;
    return beats <= room || is_even ? 0 : room;
}

static uint32_t next_burst(const struct sq_chip_setup *c, struct sq_chip_transfer *t)
{
    uint32_t n = t->beats < c->max_burst ? t->beats : c->max_burst;
    n = t->room == 0 || n < t->room ? n : t->room;
    t->beats -= n;
    if (t->room > 0)
        t->room = sq_chip_room(c, t->beats, t->room == n ? c->page : t->room - n);
    return n;
}

struct dma_wires {
    bool notes, hands, gives, takes, begins, leaves, takes_word, word_goes, responds;
};

static void clock_dma(const struct sq_chip_setup *c, struct sq_chip_state *w,
                      const struct dma_wires *d, const struct sq_chip_transfer *offered,
                      bool ar_ready)
{
    if (d->leaves) {
        w->n_out--;
        w->out[0] = w->out[1];
    }
    if (d->gives) {
        w->out[w->n_out].kind = w->slot[0].kind;
        w->out[w->n_out].tail = w->slot[0].tail;
        w->out[w->n_out++].last = w->slot[0].is_last && w->slot[0].left == 1;
        if (--w->slot[0].left == 0) {
            w->n_used--;
            memmove(w->slot, w->slot + 1, w->n_used * sizeof *w->slot);
        }
    }
    if (ar_ready)
        w->ar = 0;
    if (d->notes) {
        w->ar = next_burst(c, &w->next);
        w->slot[w->n_used].left = w->ar;
        w->slot[w->n_used].is_last = w->next.beats == 0;
        w->slot[w->n_used].tail = (uint8_t)w->next.tail;
        w->slot[w->n_used++].kind = (uint8_t)w->next.kind;
    }
    w->done = d->responds && (w->ends & 1);
    w->ends >>= d->responds;
    w->data_left -= d->word_goes;
    w->n_in += (uint32_t)d->takes_word - d->word_goes;
    if (d->begins) {
        w->burst = w->data_left = next_burst(c, &w->to);
        w->ends |= (uint32_t)(w->to.beats == 0) << (w->n_due + d->word_goes - d->responds);
    }
    if (d->hands) {
        w->to = w->next;
        w->next.beats = 0;
    }
    if (d->takes)
        w->next = *offered;
}

// ---- the whole --------------------------------------------------------------------------------------

// come: bytes of the DMA for this operand, 0: none. An operand of which nothing moves is left as it is.
static inline void clock_operand(const struct sq_chip_setup *c, struct sq_chip_state *w, unsigned i,
                                 const struct sq_chip_job *job, uint32_t come, bool last,
                                 bool out_ready)
{
    struct sq_operand_buffer_sim *const b = &w->buffer[i];
    struct sq_gear_time *const g = &w->gear[i];
    const uint32_t places = w->pending >> i & 1 ? job->places[i] : 0;
    const bool has_room = sq_operand_buffer_has_room(b), fills = g->level >= c->beat[i] && has_room;
    if (places > 0 || fills || out_ready || sq_operand_buffer_reads(b))
        sq_operand_buffer_clock(b, places, job->keep[i], !g->has_begun && g->level == c->beat[i],
                                out_ready);
    if (come > 0 || fills)
        sq_gear_step(g, c->beat[i], come, 1, last, has_room);
}

// A beat of those that the oldest job has yet to give; whether it is its last.
static bool give(uint32_t left[8], uint32_t *n)
{
    assert(*n > 0);
    if (--left[0] > 0)
        return false;
    --*n;
    memmove(left, left + 1, *n * sizeof *left);
    left[*n] = 0;
    return true;
}

static void clock_sums(const struct sq_chip_setup *c, struct sq_chip_state *w,
                       const struct sq_chip_job *job, bool keeps, bool carry_ready)
{
    const bool is_last = keeps && w->kept[0] == 1, offers = sq_operand_buffer_offers(&w->sums);
    const bool is_taken =
        c->is_scaled ? sq_gear_has_room(&w->carry, c->tile_slots, carry_ready) : carry_ready;
    sq_operand_buffer_clock(&w->sums, w->pending >> SQ_TOP_SUMS & 1 ? job->places[SQ_TOP_SUMS] : 0,
                            false, is_last, is_taken);
    if (c->is_scaled)
        sq_gear_step(&w->carry, c->tile_slots, offers, 1, false, carry_ready);
    if (keeps)
        (void)give(w->kept, &w->n_kept);
}

static void clock_transfers(const struct sq_chip_setup *c, struct sq_chip_state *w,
                            struct sq_chip_feed *f, bool dma_ready)
{
    w->has_transfer = w->has_transfer && !dma_ready;
    if (!f->load || (w->looked == c->looks && w->has_transfer))
        return;
    const struct sq_chip_transfer *const t = &f->load->transfer[w->kind];
    const bool is_store = w->kind == SQ_TOP_STORE;
    f->asked = true;
    if (t->beats > 0 && w->looked < c->looks) {
        w->looked++;
        return;
    }
    if (t->beats > 0) {
        w->shown = *t;
        w->has_transfer = true;
        w->owed += is_store;
        f->moves.shown++;
    }
    w->looked = 0;
    w->kind = is_store ? 0 : w->kind + 1;
    f->loaded = is_store;
}

// ready: a bit for each part that takes a job in this cycle.
static void clock_jobs(struct sq_chip_state *w, struct sq_chip_feed *f, uint32_t ready)
{
    f->posted = w->pending == 0 && f->ahead;
    w->pending = f->posted ? sq_chip_takers(f->ahead) : w->pending & ~ready;
}

static void clock_sequencer(const struct sq_chip_setup *c, struct sq_chip_state *w,
                            struct sq_chip_feed *f, bool dma_ready, bool write_done,
                            bool descriptor_ends, uint32_t job_ready)
{
    switch (w->phase) {
    case SQ_CHIP_ASK:
        w->phase = dma_ready ? SQ_CHIP_FETCH : SQ_CHIP_ASK;
        break;
    case SQ_CHIP_FETCH:
        w->phase = descriptor_ends ? SQ_CHIP_CHECK : SQ_CHIP_FETCH;
        break;
    case SQ_CHIP_CHECK:
        if (++w->checked == c->checks) {
            w->phase = SQ_CHIP_RUN;
            w->looked = c->looks;
        }
        break;
    default:
        if (!f->load && w->owed == 0) {
            w->phase = SQ_CHIP_END;
            break;
        }
        w->owed -= write_done;
        clock_transfers(c, w, f, dma_ready);
        clock_jobs(w, f, job_ready);
    }
}

static struct sq_engine_in offer_engine(const struct sq_chip_setup *c,
                                        const struct sq_chip_state *w, const struct sq_offer *job)
{
    const bool sums =
        c->is_scaled ? w->carry.level >= c->tile_slots : sq_operand_buffer_offers(&w->sums);
    return (struct sq_engine_in){
        .job = job,
        .valid = {[JOB] = w->pending >> SQ_TOP_ENGINE & 1,
                  [ACT] = sq_operand_buffer_offers(&w->buffer[SQ_TOP_ACT]),
                  [WEIGHT] = sq_operand_buffer_offers(&w->buffer[SQ_TOP_WEIGHT]),
                  [SCALE] = sq_operand_buffer_offers(&w->buffer[SQ_TOP_ROW_SCALE]) &&
                            sq_operand_buffer_offers(&w->buffer[SQ_TOP_COL_SCALE]),
                  [SQ_ENGINE_CARRY] = sums}};
}

static void count(struct sq_chip_stats *s, const bool *valid, const struct sq_handshake *h,
                  bool read, bool write)
{
    const bool busy = valid[ACT] && h->in_ready[ACT], wait = !(valid[ACT] && valid[WEIGHT]);
    s->cycles++;
    s->busy += busy;
    s->wait += wait;
    s->blocked += !busy && !wait;
    s->read_beats += read;
    s->write_beats += write;
}

void sq_chip_cycle(const struct sq_chip_setup *c, struct sq_chip_state *w, struct sq_chip_feed *f)
{
    const struct sq_chip_job *const job = f->job;
    const struct sq_chip_transfer fetch = {.kind = SQ_TOP_DESCRIPTOR, .beats = c->fetch};
    const struct sq_offer offered_job = {.valid = true,
                                         .n = job->beats,
                                         .job = {.group_banks = job->groups, .groups = job->tiles},
                                         .carry = job->carries,
                                         .keep = job->keeps};
    struct sq_handshake h;

    // What the parts show in this cycle.
    const bool ar_fires = w->ar > 0 && w->n_reads < SQ_AXI_READS_MAX;
    const bool word_fires = w->data_left > 0 && w->n_in > 0;
    const bool word_ends = word_fires && w->data_left == 1;
    const bool read_fires = w->r_valid && w->n_used > 0 && w->n_out < 2;
    const bool wide_ready = w->n_store < c->store_room,
               y_ready = sq_gear_has_room(&w->wide, c->nbytes, wide_ready);
    const bool has_load = w->n_out > 0, is_fetch = has_load && w->out[0].kind == SQ_TOP_DESCRIPTOR;
    const uint32_t kind = w->out[0].kind, last = w->out[0].last;
    const uint32_t come = last && w->out[0].tail > 0 ? w->out[0].tail : c->nbytes;
    const bool load_ready =
        has_load && (is_fetch || sq_gear_has_room(&w->gear[kind], c->beat[kind],
                                                  sq_operand_buffer_has_room(&w->buffer[kind])));
    const struct sq_engine_in in = offer_engine(c, w, &offered_job);
    const bool keeps =
        c->is_scaled ? sq_engine_scaled_keeps(w->engine) : sq_engine_array_keeps(w->engine);
    if (c->is_scaled)
        sq_engine_scaled_cycle(w->engine, &in, y_ready, &h);
    else
        sq_engine_array_cycle(w->engine, &in, y_ready, &h);
    const bool scale_fires = in.valid[SCALE] && h.in_ready[SCALE];
    const bool ready[SQ_TOP_OPERANDS] = {h.in_ready[ACT], scale_fires, h.in_ready[WEIGHT],
                                         scale_fires};
    const struct sq_chip_transfer *const offered = w->phase == SQ_CHIP_ASK ? &fetch : &w->shown;
    const bool is_offered = w->phase == SQ_CHIP_ASK || w->has_transfer;
    const bool is_write = w->next.kind == SQ_TOP_STORE && w->phase == SQ_CHIP_RUN;
    const bool has_next = w->next.beats > 0, has_to = w->to.beats > 0;
    const struct dma_wires d = {
        .notes = has_next && !is_write && w->n_used < c->n_slots && (w->ar == 0 || ar_fires),
        .hands = has_next && is_write && !has_to,
        .gives = read_fires,
        .takes = is_offered && !has_next,
        .begins = has_to && (w->data_left == 0 || word_ends) &&
                  w->n_due + (w->data_left > 0) < c->n_writes,
        .leaves = load_ready,
        .takes_word = w->n_store > 0 && w->n_in < 2,
        .word_goes = word_fires,
        .responds = w->b_valid,
    };
    uint32_t job_ready = (uint32_t)h.in_ready[JOB] << SQ_TOP_ENGINE |
                         (uint32_t)sq_operand_buffer_takes_job(&w->sums) << SQ_TOP_SUMS;
    for (unsigned i = 0; i < SQ_TOP_OPERANDS && w->pending > 0; i++)
        job_ready |= (uint32_t)sq_operand_buffer_takes_job(&w->buffer[i]) << i;
    count(&f->stats, in.valid, &h, read_fires, word_fires);
    const bool read_ready = w->n_used > 0 && w->n_out < 2;
    f->stats.read_wait += read_ready && !w->r_valid;
    f->stats.read_full += w->r_valid && !read_ready;
    f->is_boundary = scale_fires || (read_fires && !(in.valid[ACT] && in.valid[WEIGHT]) &&
                                     (w->beat + 1) % c->unit == 0);
    f->moves.reads += d.notes;
    f->moves.writes += d.begins;
    f->moves.handed += d.hands;
    f->moves.shown += d.takes;
    f->moves.scales += scale_fires;

    // The edge.
    const uint32_t read = w->ar, written = word_ends ? w->burst : 0, done = w->done;
    f->loaded = f->posted = false;
    clock_sums(c, w, job, keeps, h.in_ready[SQ_ENGINE_CARRY]);
    if (in.valid[JOB] && h.in_ready[JOB] && job->keeps) {
        assert(w->n_kept < SQ_LEN(w->kept));
        w->kept[w->n_kept++] = job->tiles * c->tile_slots;
    } else if (in.valid[JOB] && h.in_ready[JOB]) {
        assert(w->n_words < SQ_LEN(w->words));
        w->words[w->n_words++] = job->tiles * c->tile_words;
    }
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++)
        clock_operand(c, w, i, job, has_load && kind == i && !is_fetch ? come : 0, last, ready[i]);
    const struct sq_chip_transfer taken = *offered;
    clock_sequencer(c, w, f, !has_next, done, is_fetch && last, job_ready);
    clock_dma(c, w, &d, &taken, ar_fires);
    w->n_store += (uint32_t)(w->wide.level >= c->nbytes && wide_ready) - d.takes_word;
    const bool y_fires = h.out_valid && y_ready, y_last = y_fires && give(w->words, &w->n_words);
    if (y_fires || w->wide.level >= c->nbytes)
        sq_gear_step(&w->wide, c->nbytes, y_fires ? c->word : 0, y_last ? c->nbytes : 1, y_last,
                     wide_ready);
    clock_memory(c, w, ar_fires, read, written, read_fires, d.responds);
}

// The outermost loop of a job that is one.
static unsigned outermost(const struct sq_engine_count *count)
{
    return count->n[2] > 1 ? 2 : count->n[1] > 1 ? 1 : 0;
}

// Which half is which does not matter.
static void settle_buffer(struct sq_operand_buffer_sim *b)
{
    const bool full = b->full[0];
    if (b->read == 0)
        return;
    b->read = 0;
    b->fill = !b->fill;
    b->full[0] = b->full[1];
    b->full[1] = full;
}

// The start of a read, all of whose beats have come.
static int64_t long_ago(const struct sq_chip_setup *c)
{
    return -occupies(c, SQ_CHIP_BURST_MAX) - c->latency * c->den;
}

// The reads are those of cycle `now`.
static void settle_reads(const struct sq_chip_setup *c, struct sq_chip_state *w, int64_t now)
{
    for (unsigned i = 0; i < w->n_reads; i++) {
        w->start[i] -= now * c->den;
        if (due_of(c, w, i, w->beats[i]) <= 1) // all its beats have come
            w->start[i] = long_ago(c);
    }
    memset(w->start + w->n_reads, 0, (SQ_AXI_READS_MAX - w->n_reads) * sizeof *w->start);
    memset(w->beats + w->n_reads, 0, (SQ_AXI_READS_MAX - w->n_reads) * sizeof *w->beats);
    // The beats of the first read that have gone: all, or whole bursts of the memory.
    const uint32_t gone = w->start[0] == long_ago(c) ? w->beat : w->beat / c->unit * c->unit;
    w->beat -= gone;
    if (w->n_reads > 0) {
        w->beats[0] -= gone;
        w->start[0] += w->start[0] == long_ago(c) ? 0 : occupies(c, gone);
        w->due = w->r_valid ? 0 : due_of(c, w, 0, w->beat + 1);
    }
    if (w->n_reads == 0 || w->due < 0)
        w->due = 0;
}

// What comes is that of a job whose outermost loop has just begun its second pass.
static void settle_count(struct sq_engine_count *count)
{
    const unsigned i = outermost(count);
    if (count->at[i] > 1) {
        count->n[i] -= count->at[i] - 1;
        count->at[i] = 1;
    }
}

static void find_counts(const struct sq_chip_setup *c, struct sq_chip_state *w,
                        struct sq_engine_count *count[SQ_ENGINE_COUNTS])
{
    (c->is_scaled ? sq_engine_scaled_counts : sq_engine_array_counts)(w->engine, count);
}

void sq_chip_state_settle(const struct sq_chip_setup *c, struct sq_chip_state *w)
{
    struct sq_engine_count *counts[SQ_ENGINE_COUNTS];
    const int64_t now = w->now;
    w->dram_free = w->dram_free > (now + 1) * c->den ? w->dram_free - now * c->den : 0;
    for (unsigned i = 0; i < w->n_due; i++)
        w->b_due[i] = w->b_due[i] > now ? w->b_due[i] - now : 1;
    memset(w->b_due + w->n_due, 0, (SQ_AXI_WRITES_MAX - w->n_due) * sizeof *w->b_due);
    w->now = 0;
    settle_reads(c, w, now);
    for (unsigned i = w->n_used; i < SQ_DMA_SLOTS_MAX; i++)
        memset(&w->slot[i], 0, sizeof w->slot[i]);
    for (unsigned i = w->n_out; i < 2; i++)
        memset(&w->out[i], 0, sizeof w->out[i]);
    if (w->next.beats == 0)
        memset(&w->next, 0, sizeof w->next);
    if (w->to.beats == 0)
        memset(&w->to, 0, sizeof w->to);
    if (!w->has_transfer)
        memset(&w->shown, 0, sizeof w->shown);
    w->burst = w->data_left > 0 ? w->burst : 0;
    settle_buffer(&w->sums);
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++)
        settle_buffer(&w->buffer[i]);
    find_counts(c, w, counts);
    for (unsigned i = 0; i < SQ_ENGINE_COUNTS; i++)
        settle_count(counts[i]);
}

// ---- counters that are far from their end -----------------------------------------------------------

struct counter {
    uint32_t *left, near; // left counts as near up to that
};

// A burst may be the last one of its transfer, or end with a page. What is left after the page counts by itself where bursts
// after it are as if there were no page; else the rest of a transfer is longer than that of its page until there.
static uint32_t near_of(const struct sq_chip_setup *c, const struct sq_chip_transfer *t)
{
    const uint32_t near = c->max_burst + 1, after = t->beats - t->room;
    if (t->room == 0 || c->page % c->max_burst != 0)
        return near + (t->room > 0 ? c->page : 0);
    return (t->room < near ? t->room : near) + (after < near ? after : near);
}

static void find_counters(const struct sq_chip_setup *c, struct sq_chip_state *w,
                          struct counter counter[SQ_CHIP_COUNTERS])
{
    struct sq_engine_count *count[SQ_ENGINE_COUNTS];
    *counter++ = (struct counter){&w->shown.beats, near_of(c, &w->shown)};
    *counter++ = (struct counter){&w->shown.room, c->max_burst + 1};
    *counter++ = (struct counter){&w->next.beats, near_of(c, &w->next)};
    *counter++ = (struct counter){&w->next.room, c->max_burst + 1};
    *counter++ = (struct counter){&w->to.beats, near_of(c, &w->to)};
    *counter++ = (struct counter){&w->to.room, c->max_burst + 1};
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++)
        *counter++ = (struct counter){&w->buffer[i].left, 2};
    *counter++ = (struct counter){&w->sums.left, 2};
    *counter++ = (struct counter){&w->kept[0], 2};
    *counter++ = (struct counter){&w->words[0], 2};
    find_counts(c, w, count);
    for (unsigned i = 0; i < SQ_ENGINE_COUNTS; i++) {
        const unsigned k = outermost(count[i]);
        // One pass is over, the one at hand is not the last. The first one may differ.
        *counter++ = (struct counter){&count[i]->n[k], count[i]->at[k] > 0 ? 3 : UINT32_MAX};
    }
    *counter++ = (struct counter){&w->slot[0].left, 2};
    *counter++ = (struct counter){&w->beats[0], c->unit + 2};
    *counter++ = (struct counter){&w->data_left, 2};
}

bool sq_chip_state_has_come(const struct sq_chip_setup *c, const struct sq_chip_state *w)
{
    return w->start[0] == long_ago(c);
}

// In the order of find_counters. A buffer is read up to two places ahead. Whether a read has come depends on how
// long it is.
void sq_chip_most(const struct sq_chip_setup *c, const struct sq_chip_stats *stats,
                  const struct sq_chip_moves *moves, bool came, struct sq_chip_counters *most)
{
    const uint32_t read = moves->handed ? UINT32_MAX : moves->reads * c->max_burst;
    const uint32_t written = moves->writes * c->max_burst, taken = (uint32_t)stats->busy;
    const uint32_t cycles = (uint32_t)stats->cycles, beats = (uint32_t)stats->read_beats;
    const uint32_t shown = moves->shown ? UINT32_MAX : 0;
    *most = (struct sq_chip_counters){{shown, shown, read, read, written, written, taken + 2,
                                       moves->scales + 2, taken + 2, moves->scales + 2, cycles,
                                       cycles, cycles, taken, moves->scales, beats,
                                       came ? UINT32_MAX : beats, (uint32_t)stats->write_beats}};
}

void sq_chip_state_split(const struct sq_chip_setup *c, struct sq_chip_state *w,
                         struct sq_chip_counters *counters)
{
    struct counter counter[SQ_CHIP_COUNTERS];
    find_counters(c, w, counter);
    for (unsigned i = 0; i < SQ_CHIP_COUNTERS; i++) {
        counters->n[i] =
            *counter[i].left > counter[i].near ? *counter[i].left - counter[i].near : 0;
        *counter[i].left -= counters->n[i];
    }
}

void sq_chip_state_join(const struct sq_chip_setup *c, struct sq_chip_state *w,
                        const struct sq_chip_counters *counters)
{
    struct counter counter[SQ_CHIP_COUNTERS];
    find_counters(c, w, counter);
    for (unsigned i = 0; i < SQ_CHIP_COUNTERS; i++)
        *counter[i].left += counters->n[i];
}
