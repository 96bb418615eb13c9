// SPDX-License-Identifier: Apache-2.0
// Answers each burst at the times of the memory's kind, and spoils one where a fault is wanted
// (sq_axi_memory.h).
#include "sim/block/top/sq_axi_memory.h"

#include <assert.h>
#include <string.h>

enum { FREE, IDEAL, RANDOM, KINDS };
enum { AR, AW, W }; // asks
enum { R, B };      // replies
enum { FIELDS = SQ_AXI_BURST, N_ADDR = SQ_AXI_ADDRESS, READS_MAX = SQ_AXI_READS_MAX };
enum {
    LONG_WAIT = 160
}; // cycles: of an address, or of a response, longer than the silence that a manager may wait for

static unsigned log2_of(unsigned n)
{
    unsigned bits = 0;
    while (1u << bits < n)
        bits++;
    return bits;
}

// ---- the map --------------------------------------------------------------------------------------

enum sq_axi_fault sq_axi_fault_at(uint64_t addr, unsigned nbytes)
{
    const uint32_t kind = addr >> 28 & 0xf, bad = addr >> 20 & 0xff;
    const uint32_t behind = (uint32_t)(addr / nbytes - bad) & 0xff;
    if (kind == SQ_AXI_EARLY && bad % 2 && behind == 0xff)
        return SQ_AXI_SLVERR; // another error in the beat before
    if (kind == SQ_AXI_TWO)
        return behind == 0 ? SQ_AXI_SLVERR : behind == 1 ? SQ_AXI_DECERR : SQ_AXI_GOOD;
    return behind == 0 && kind < SQ_AXI_FAULTS ? (enum sq_axi_fault)kind : SQ_AXI_GOOD;
}

static int32_t mix(uint64_t addr, unsigned i, uint64_t salt)
{
    struct sq_rng rng = {((addr << 8) + i) * UINT64_C(0x9e3779b97f4a7c15) ^ salt};
    return (int32_t)(uint32_t)sq_rng_next(&rng);
}

int32_t sq_axi_read_word(uint64_t addr, unsigned i)
{
    return mix(addr, i, 1);
}

int32_t sq_axi_write_word(uint64_t addr, unsigned i)
{
    return mix(addr, i, 2);
}

static int32_t map_read(void *ctx, uint64_t addr, unsigned i)
{
    (void)ctx;
    return sq_axi_read_word(addr, i);
}

static const char *map_write(void *ctx, uint64_t addr, const int32_t *word, unsigned n)
{
    (void)ctx;
    for (unsigned i = 0; i < n; i++)
        if (word[i] != sq_axi_write_word(addr, i))
            return "memory.written_word";
    return NULL;
}

static enum sq_axi_fault map_fault(void *ctx, uint64_t addr, unsigned nbytes)
{
    (void)ctx;
    return sq_axi_fault_at(addr, nbytes);
}

static const struct sq_axi_content map = {map_read, map_write, map_fault};

// The response to a beat, or to a burst of writes.
static int32_t response(const struct sq_axi_memory *m, uint64_t addr, uint32_t beats)
{
    for (uint32_t i = 0; i < beats; i++) {
        const enum sq_axi_fault fault = m->content->fault(m->ctx, addr + i * m->nbytes, m->nbytes);
        if (fault == SQ_AXI_SLVERR || fault == SQ_AXI_DECERR)
            return fault == SQ_AXI_SLVERR ? 2 : 3;
    }
    return m->choice.kind == RANDOM && addr / m->nbytes % 8 == 5; // EXOKAY is no error
}

// Cycles more before a response of some memories, so that writes wait for one another; then they are answered cycle by cycle.
static uint32_t late(const struct sq_axi_memory *m)
{
    return m->choice.kind == RANDOM && !m->choice.given && m->choice.seed % 2 ? LONG_WAIT : 0;
}

// ---- the memory -----------------------------------------------------------------------------------

void sq_axi_memory_draw(struct sq_rng *rng, struct sq_env_choice *choice)
{
    choice->kind = sq_rng_below(rng, 4);
    choice->kind = choice->kind < KINDS ? choice->kind : RANDOM;
    choice->seed = sq_rng_next(rng);
    if (choice->kind == RANDOM)
        choice->n[0] = sq_rng_below(rng, 4);
    if (choice->kind != IDEAL)
        return;
    choice->n[0] = sq_rng_below(rng, 2) ? sq_rng_below(rng, 60) : 0;
    choice->n[1] = sq_rng_below(rng, 20);
    choice->n[2] = 1 + sq_rng_below(rng, 12);
    choice->n[3] = 32u << sq_rng_below(rng, 2);
    if (choice->n[1] > 3 * choice->n[2]) // cycles of a burst
        choice->n[1] = 3 * choice->n[2];
}

// Whether a channel waits in the next cycle.
static bool waits(struct sq_axi_memory *m)
{
    static const uint32_t of_eight[] = {1, 2, 4, 6};
    return m->choice.kind == RANDOM && sq_rng_below(&m->rng, 8) < of_eight[m->choice.n[0]];
}

// Cycles before the next reply.
static uint32_t gap(struct sq_axi_memory *m)
{
    if (m->choice.kind != RANDOM || sq_rng_below(&m->rng, 4) > m->choice.n[0])
        return 0;
    return sq_rng_below(&m->rng, sq_rng_below(&m->rng, 8) == 0 ? SQ_AXI_WAIT_MAX : 4);
}

// ---- timed ------------------------------------------------------------------------------------------

enum { WRITE_TAG = SQ_AXI_READS_MAX }; // of the first of the writes, by their numbers

// All that the DRAM does before cycle m->now + 1 begins.
static void run_dram(struct sq_axi_memory *m)
{
    bool is_there = m->began == 0;
    while (!is_there) {
        is_there = sq_dram_run(&m->dram, sq_dram_clock_at(&m->choice.clock, m->now + 1 - m->began));
        for (uint32_t i = 0; i < m->dram.n_done; i++) {
            const struct sq_dram_done *const d = &m->dram.done[i];
            const uint64_t cycle = m->began + sq_dram_cycle_at(&m->choice.clock, d->time);
            if (d->tag >= WRITE_TAG) {
                const uint32_t at = d->tag - WRITE_TAG - m->first_write;
                struct sq_axi_write *const w = &m->write[at % SQ_AXI_WRITES_MAX];
                w->left--;
                w->due = cycle > w->due ? cycle : w->due;
            } else
                m->over[d->tag][d->burst] = cycle;
        }
    }
}

// What comes in the cycle that ends is worked on from the next one on.
static void ask_dram(struct sq_axi_memory *m, uint64_t addr, uint32_t beats, bool is_write,
                     uint32_t tag)
{
    m->began = m->began ? m->began : m->now + 1;
    sq_dram_ask(&m->dram, addr, (uint64_t)beats * m->nbytes, is_write, tag);
}

static void ask_read(struct sq_axi_memory *m, const struct sq_axi_read *r)
{
    const uint32_t tag = (m->first_read + m->n_reads) % SQ_AXI_READS_MAX;
    memset(m->over[tag], 0, sizeof m->over[tag]);
    ask_dram(m, r->addr, r->beats, false, tag);
}

static void ask_write(struct sq_axi_memory *m, uint32_t number)
{
    struct sq_axi_write *const w = &m->write[number];
    w->left = sq_dram_n_bursts(m->choice.dram, w->addr, (uint64_t)w->beats * m->nbytes);
    ask_dram(m, w->addr, w->beats, true, WRITE_TAG + (m->first_write + number) % SQ_AXI_WRITES_MAX);
}

// Whether the bursts of bytes from .. to of the first read are over. Those of beats before have been asked for already.
static bool have_come(const struct sq_axi_memory *m, uint64_t from, uint64_t to)
{
    const unsigned below = m->choice.dram->map.below;
    const uint64_t base = m->read[0].addr >> below;
    for (uint64_t i = (from >> below) - base; i <= (to >> below) - base; i++) {
        const uint64_t over = m->over[m->first_read % SQ_AXI_READS_MAX][i];
        if (over == 0 || over > m->now)
            return false;
    }
    return true;
}

static void set_ready(struct sq_axi_memory *m)
{
    for (unsigned i = 0; i < SQ_AXI_ASKS; i++)
        m->ready[i] = !waits(m);
    m->ready[AR] = m->ready[AR] && m->n_reads < READS_MAX && m->ar_wait == 0;
    m->ar_wait -= m->ar_wait > 0;
    m->ready[AW] = m->ready[AW] && m->n_aw < m->room;
    m->ready[W] = m->ready[W] && m->n_w < m->room && m->w_wait == 0 &&
                  (m->choice.kind != SQ_AXI_LAZY || m->n_w < m->n_aw);
    m->w_wait -= m->w_wait > 0;
}

void sq_axi_memory_init(struct sq_axi_memory *m, unsigned data_bits,
                        const struct sq_env_choice *choice, const struct sq_axi_content *content,
                        void *ctx)
{
    m->choice = *choice;
    m->content = content;
    m->ctx = ctx;
    m->rng.state = choice->seed;
    m->words = data_bits / 32;
    m->nbytes = data_bits / 8;
    m->room = SQ_AXI_WRITES_MAX;
    if (choice->kind == RANDOM)
        m->room >>= 2 * sq_rng_below(&m->rng, 3);
    if (choice->kind == SQ_AXI_TIMED)
        sq_dram_init(&m->dram, choice->dram);
    assert(m->words >= 1 && m->words <= SQ_AXI_WORDS_MAX);
    set_ready(m);
}

void sq_axi_memory_drive(const struct sq_axi_memory *m, struct sq_pins *pins)
{
    memcpy(pins->ask_ready, m->ready, sizeof m->ready);
    pins->reply_valid[R] = m->r_valid;
    pins->reply_valid[B] = m->b_valid;
    if (m->r_valid)
        memcpy(pins->reply, m->r, (m->words + 2) * sizeof *m->r);
    if (m->b_valid)
        pins->reply[m->words + 2] = response(m, m->write[0].addr, m->write[0].beats);
}

// ---- ideal: one DRAM --------------------------------------------------------------------------------

// Parts of a cycle that so many beats occupy it.
static uint64_t occupies(const struct sq_axi_memory *m, uint32_t beats)
{
    const uint64_t burst = m->choice.n[3], nbytes = (uint64_t)beats * m->nbytes;
    return (nbytes + burst - 1) / burst * m->choice.n[1];
}

// What came in the cycle that ends is worked on from the next one on.
static uint64_t reserve(struct sq_axi_memory *m, uint32_t beats)
{
    const uint64_t next = (m->now + 1) * m->choice.n[2];
    const uint64_t start = m->dram_free > next ? m->dram_free : next;
    m->dram_free = start + occupies(m, beats);
    return start;
}

static uint64_t cycle_of(const struct sq_axi_memory *m, uint64_t parts)
{
    return (parts + m->choice.n[2] - 1) / m->choice.n[2];
}

// ---- reads ------------------------------------------------------------------------------------------

// Beat `beat` of the first read onto the port.
static void show_beat(struct sq_axi_memory *m)
{
    const struct sq_axi_read *r = &m->read[0];
    const uint64_t addr = r->addr + m->beat * m->nbytes;
    const bool is_last = m->beat + 1 == r->beats, is_extra = m->beat >= r->beats;
    const enum sq_axi_fault fault = m->content->fault(m->ctx, addr, m->nbytes);
    for (unsigned i = 0; i < m->words; i++)
        m->r[i] = m->content->read(m->ctx, addr, i);
    m->r[m->words] = is_extra ? 0 : response(m, addr, 1);
    if (is_last && fault == SQ_AXI_LATE)
        m->extra = 1 + (uint32_t)(addr / m->nbytes & 3);
    m->r_ends = is_extra ? m->beat + 1 == r->beats + m->extra
                         : fault == SQ_AXI_EARLY || (is_last && m->extra == 0);
    const bool is_lost = !is_extra && (is_last ? fault == SQ_AXI_LATE || fault == SQ_AXI_MISSING
                                               : fault == SQ_AXI_EARLY);
    if (is_lost && addr / m->nbytes % 2) // two errors in one beat
        m->r[m->words] = 2 + (int32_t)(addr / m->nbytes / 2 % 2);
    m->r[m->words + 1] = m->r_ends && !(is_last && fault == SQ_AXI_MISSING);
    m->r_valid = true;
}

static bool is_due(const struct sq_axi_memory *m)
{
    if (m->choice.kind != IDEAL && m->choice.kind != SQ_AXI_TIMED)
        return true;
    const uint32_t beats = m->beat < m->read[0].beats ? m->beat + 1 : m->read[0].beats;
    if (m->choice.kind == SQ_AXI_TIMED)
        return have_come(m, m->read[0].addr + (beats - 1) * m->nbytes,
                         m->read[0].addr + beats * m->nbytes - 1);
    return m->now >= cycle_of(m, m->read[0].start + occupies(m, beats)) + m->choice.n[0];
}

// A beat of it, or its end, comes with the wrong LAST.
static bool is_spoilt(const struct sq_axi_memory *m, uint64_t addr, uint32_t beats)
{
    for (uint32_t i = 0; i < beats; i++) {
        const enum sq_axi_fault fault = m->content->fault(m->ctx, addr + i * m->nbytes, m->nbytes);
        if (fault == SQ_AXI_EARLY || fault == SQ_AXI_LATE || fault == SQ_AXI_MISSING)
            return true;
    }
    return false;
}

static void clock_reads(struct sq_axi_memory *m, const struct sq_pins *p)
{
    if (m->r_valid && p->reply_ready[R]) {
        m->r_valid = false;
        m->beat++;
        m->r_wait = gap(m);
        if (m->r_ends) {
            m->n_reads--;
            m->first_read++;
            memmove(m->read, m->read + 1, m->n_reads * sizeof *m->read);
            m->beat = m->extra = 0;
        }
    }
    if (p->ask_valid[AR] && m->ready[AR]) {
        const uint64_t addr = sq_axi_addr(p->ask);
        const uint32_t beats = (uint32_t)p->ask[SQ_AXI_LEN] + 1;
        m->read[m->n_reads] =
            (struct sq_axi_read){addr, beats, m->choice.kind == IDEAL ? reserve(m, beats) : 0};
        if (m->choice.kind == SQ_AXI_TIMED)
            ask_read(m, &m->read[m->n_reads]);
        m->n_reads++;
        if (m->choice.kind == RANDOM && is_spoilt(m, addr, beats) && sq_rng_below(&m->rng, 2))
            m->ar_wait = LONG_WAIT; // the next address stands there while beats are lost
    }
}

// ---- writes -----------------------------------------------------------------------------------------

// What a beat of a write must hold.
static const char *check_write(const struct sq_axi_memory *m, const struct sq_pins *p)
{
    const int32_t *aw = p->ask + N_ADDR, *w = p->ask + 2 * N_ADDR;
    const bool has_aw = m->n_w < m->n_aw;
    if (!has_aw && (!p->ask_valid[AW] || m->n_w > m->n_aw))
        return "memory.data_before_address";
    const uint64_t first = has_aw ? m->write[m->n_w].addr : sq_axi_addr(aw);
    const uint32_t beats = has_aw ? m->write[m->n_w].beats : (uint32_t)aw[SQ_AXI_LEN] + 1;
    const uint64_t addr = first + m->w_beats * m->nbytes;
    const bool is_void = m->may_be_void && w[m->words] == 0;
    for (unsigned i = 0; i < m->words; i++)
        if (w[m->words + i] != (is_void ? 0 : 15))
            return "memory.strobe";
    const char *const complaint = is_void ? NULL : m->content->write(m->ctx, addr, w, m->words);
    if (complaint)
        return complaint;
    return w[2 * m->words] == (m->w_beats + 1 == beats) ? NULL : "memory.last_of_write";
}

// Address and beats of the write `number` have come.
static void take_write(struct sq_axi_memory *m, uint32_t number)
{
    struct sq_axi_write *const w = &m->write[number];
    if (m->choice.kind == SQ_AXI_TIMED) {
        ask_write(m, number);
        return;
    }
    w->wait = number > 0 && late(m) ? 0 : gap(m) + late(m);
    if (m->choice.kind == IDEAL)
        w->due = cycle_of(m, reserve(m, w->beats) + occupies(m, w->beats)) + m->choice.n[0];
}

static const char *clock_writes(struct sq_axi_memory *m, const struct sq_pins *p)
{
    const char *complaint = NULL;
    const bool takes_aw = p->ask_valid[AW] && m->ready[AW];
    const bool takes_w = p->ask_valid[W] && m->ready[W];
    if (m->b_valid && p->reply_ready[B]) {
        m->b_valid = false;
        m->first_write++;
        m->n_w--;
        m->n_whole--;
        memmove(m->write, m->write + 1, --m->n_aw * sizeof *m->write);
    }
    if (m->choice.kind == SQ_AXI_LAZY && (takes_aw || takes_w))
        m->w_wait = m->choice.n[0];
    if (takes_w) {
        complaint = check_write(m, p);
        m->w_beats++;
        if (p->ask[2 * N_ADDR + 2 * m->words]) {
            m->w_beats = 0;
            m->n_w++;
        }
    }
    if (takes_aw)
        m->write[m->n_aw++] = (struct sq_axi_write){
            sq_axi_addr(p->ask + N_ADDR), (uint32_t)p->ask[N_ADDR + SQ_AXI_LEN] + 1, 0, 0, 0};
    if (m->n_whole < m->n_aw && m->n_whole < m->n_w)
        take_write(m, m->n_whole++);
    return complaint;
}

static void clock_response(struct sq_axi_memory *m)
{
    struct sq_axi_write *const w = &m->write[0];
    if (m->n_whole == 0 || m->b_valid || w->left > 0 || m->now < w->due)
        return;
    if (w->wait > 0)
        w->wait--;
    else
        m->b_valid = true;
}

// An address as a manager may give it: whole beats of this size, INCR, no page crossed.
static bool is_address(const struct sq_axi_memory *m, const int32_t *ask)
{
    const uint64_t addr = sq_axi_addr(ask),
                   n = ((uint64_t)(uint32_t)ask[SQ_AXI_LEN] + 1) * m->nbytes;
    return addr % m->nbytes == 0 && addr / SQ_AXI_PAGE == (addr + n - 1) / SQ_AXI_PAGE &&
           ask[SQ_AXI_BURST] == 1 && ask[SQ_AXI_SIZE] == (int32_t)log2_of(m->nbytes);
}

const char *sq_axi_memory_clock(struct sq_axi_memory *m, const struct sq_pins *p)
{
    const bool are_addresses = (!p->ask_valid[AR] || is_address(m, p->ask)) &&
                               (!p->ask_valid[AW] || is_address(m, p->ask + N_ADDR));
    if (m->choice.kind == SQ_AXI_TIMED)
        run_dram(m);
    clock_reads(m, p);
    const char *complaint = clock_writes(m, p);
    m->now++;
    if (m->n_reads > 0 && !m->r_valid) {
        if (m->r_wait > 0)
            m->r_wait--;
        else if (is_due(m))
            show_beat(m);
    }
    clock_response(m);
    set_ready(m);
    return complaint ? complaint : are_addresses ? NULL : "memory.address";
}

bool sq_axi_memory_is_busy(const struct sq_axi_memory *m)
{
    return m->n_reads > 0 || m->n_aw > 0 || m->n_w > 0 || m->w_beats > 0;
}

// ---- alone, with the map ----------------------------------------------------------------------------

static void init(const unsigned *value, const struct sq_env_choice *choice, void *env)
{
    sq_axi_memory_init(env, value[0], choice, &map, NULL);
}

static void drive(const void *env, struct sq_pins *pins)
{
    sq_axi_memory_drive(env, pins);
}

static const char *clock(void *env, const struct sq_pins *pins)
{
    return sq_axi_memory_clock(env, pins);
}

static bool is_busy(const void *env)
{
    return sq_axi_memory_is_busy(env);
}

const struct sq_env sq_axi_memory = {.nbytes = sizeof(struct sq_axi_memory),
                                     .draw = sq_axi_memory_draw,
                                     .init = init,
                                     .drive = drive,
                                     .clock = clock,
                                     .is_busy = is_busy};
