// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/sq_chip_run.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, ROWS = 0, COLS = 1 };

// Chip and memory. All operands are zeros: no cycle depends on them.
struct world {
    struct sq_top_sim chip;
    struct sq_axi_memory memory;
    uint32_t descriptor[SQ_DESC_WORDS];
    struct sq_chip_stats skipped;
};

// ---- what memory holds ------------------------------------------------------------------------------

static int32_t read_word(void *ctx, uint32_t addr, unsigned i)
{
    const struct world *const w = ctx;
    const uint32_t at = addr / 4 + i;
    return at < SQ_DESC_WORDS ? (int32_t)w->descriptor[at] : 0;
}

static const char *write_words(void *ctx, uint32_t addr, const int32_t *word, unsigned n)
{
    (void)ctx, (void)addr, (void)word, (void)n;
    return NULL;
}

static enum sq_axi_fault no_fault(void *ctx, uint32_t addr, unsigned nbytes)
{
    (void)ctx, (void)addr, (void)nbytes;
    return SQ_AXI_GOOD;
}

static const struct sq_axi_content content = {read_word, write_words, no_fault};

// ---- a cycle ----------------------------------------------------------------------------------------

static void start(struct world *w, const unsigned *value, const struct sq_env_choice *memory,
                  const struct sq_top_layer *layer)
{
    struct sq_top_regs_sim *const regs = &w->chip.regs;
    sq_top_init(value, &w->chip);
    w->chip.has_no_values = true;
    sq_axi_memory_init(&w->memory, value[SQ_TOP_DATA_W], memory, &content, w);
    sq_top_layer_encode(layer, w->descriptor); // at address 0, as DESCRIPTOR is after reset
    regs->has_aw = regs->has_w = true;         // the host has written CONTROL
    regs->aw_addr = SQ_REG_CONTROL;
    regs->w_data = 1;
    regs->w_strb = 15;
}

static void cycle(struct world *w)
{
    struct sq_pins pins;
    memset(&pins, 0, sizeof pins);
    sq_axi_memory_drive(&w->memory, &pins);
    w->chip.pins = pins;
    sq_top_ask(&w->chip, &pins);
    w->chip.pins = pins;
    sq_top_clock(&w->chip, NULL, false);
    (void)sq_axi_memory_clock(&w->memory, &pins);
}

static bool is_running(const struct world *w)
{
    return w->chip.regs.value[SQ_REG_STATUS / 4] >> SQ_STATUS_BUSY & 1;
}

// Since the start, with what was skipped.
static struct sq_chip_stats counters(const struct world *w)
{
    const uint32_t *const reg = w->chip.regs.value;
    struct sq_chip_stats s = w->skipped;
    s.cycles += reg[SQ_REG_CYCLES / 4];
    s.busy += reg[SQ_REG_BUSY_CYCLES / 4];
    s.wait += reg[SQ_REG_WAIT_CYCLES / 4];
    s.blocked += reg[SQ_REG_BLOCKED_CYCLES / 4];
    s.read_beats += reg[SQ_REG_READ_BEATS / 4];
    s.write_beats += reg[SQ_REG_WRITE_BEATS / 4];
    return s;
}

// ---- what comes back --------------------------------------------------------------------------------

enum level { INNER, OUTER, N_LEVELS };

struct mark {
    bool valid;
    struct world *world;
    uint64_t next, seen; // the mark moves after `next` visits, doubling
};

static unsigned axis_of(const struct world *w, enum level level)
{
    const unsigned outer = w->chip.sequencer.layer.cols_outer ? COLS : ROWS;
    return level == OUTER ? outer : !outer;
}

// Positions relative to the job, and places within a page: what bursts depend on of an address.
static void make_sequencer(const struct world *w, unsigned axis, struct sq_sequencer_sim *q)
{
    *q = w->chip.sequencer;
    q->load.done[axis] -= q->job.done[axis];
    q->job.done[axis] = 0;
    for (unsigned i = 0; i <= SQ_TOP_OPERANDS; i++)
        q->next[i] %= PAGE;
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++)
        q->start[i] %= PAGE;
    q->transfer[SQ_DMA_ADDR] = (int32_t)((uint32_t)q->transfer[SQ_DMA_ADDR] % PAGE);
}

static void make_dma(const struct world *w, struct sq_dma_sim *d)
{
    *d = w->chip.dma;
    memset(&d->pins, 0, sizeof d->pins); // those of the cycle before
    d->next.addr %= PAGE;
    d->to.addr %= PAGE;
    d->ar.addr %= PAGE;
    d->aw.addr %= PAGE;
}

// Times relative to now.
static void make_memory(const struct world *w, struct sq_axi_memory *m)
{
    *m = w->memory;
    const uint64_t den = m->choice.n[2], now = m->now * den;
    m->dram_free = m->dram_free > now ? m->dram_free - now : 0;
    for (unsigned i = 0; i < SQ_AXI_READS_MAX; i++) {
        m->read[i].start = i < m->n_reads ? m->read[i].start - now : 0;
        m->read[i].beats = i < m->n_reads ? m->read[i].beats : 0;
        m->read[i].addr = i < m->n_reads ? m->read[i].addr % PAGE : 0;
    }
    m->aw_addr %= PAGE;
    if (m->b_due > 0)
        m->b_due = m->b_due > m->now ? m->b_due - m->now + 1 : 1;
    m->now = 0;
}

static bool are_alike(const struct world *a, const struct world *b, unsigned axis)
{
    struct sq_sequencer_sim q[2];
    struct sq_dma_sim d[2];
    struct sq_axi_memory m[2];
    make_sequencer(a, axis, &q[0]);
    make_sequencer(b, axis, &q[1]);
    if (memcmp(&q[0], &q[1], sizeof q[0]) != 0)
        return false;
    make_dma(a, &d[0]);
    make_dma(b, &d[1]);
    make_memory(a, &m[0]);
    make_memory(b, &m[1]);
    const struct sq_top_sim *const x = &a->chip, *const y = &b->chip;
    return memcmp(&d[0], &d[1], sizeof d[0]) == 0 && memcmp(&m[0], &m[1], sizeof m[0]) == 0 &&
           memcmp(&x->sums, &y->sums, sizeof x->sums) == 0 &&
           memcmp(&x->widen, &y->widen, sizeof x->widen) == 0 && x->n_store == y->n_store &&
           memcmp(x->operand, y->operand, sizeof x->operand) == 0 &&
           memcmp(&x->engine, &y->engine, sizeof x->engine) == 0;
}

static void add(struct sq_chip_stats *to, const struct world *now, const struct world *then,
                uint64_t n)
{
    const struct sq_chip_stats a = counters(then), b = counters(now);
    to->cycles += n * (b.cycles - a.cycles);
    to->busy += n * (b.busy - a.busy);
    to->wait += n * (b.wait - a.wait);
    to->blocked += n * (b.blocked - a.blocked);
    to->read_beats += n * (b.read_beats - a.read_beats);
    to->write_beats += n * (b.write_beats - a.write_beats);
}

// A block begins to be computed (OUTER: the first of a row of blocks). Skips if the state of the mark came
// back, else maybe moves the mark. No block between mark and now, and none that is skipped, is the first
// or the last of its loop: those load and keep other operands than the rest. False: no memory.
static bool visit(struct world *w, struct mark *m, enum level level)
{
    struct sq_sequencer_sim *const q = &w->chip.sequencer;
    const unsigned axis = axis_of(w, level), outer = axis_of(w, OUTER);
    const uint32_t block = q->layer.block[axis], all = q->layer.tiles[axis];
    const uint32_t load = q->load.done[axis], job = q->job.done[axis];
    const uint32_t ahead = load > job ? load : job; // the job is the one that comes next
    const bool is_within = q->load.is_active && q->job.is_active && job > block && load > block &&
                           ahead + 2 * block < all &&
                           (level == OUTER || q->load.done[outer] == q->job.done[outer]);
    if (!is_within) {
        m->valid = false;
        return true;
    }
    if (m->valid && are_alike(w, m->world, axis)) {
        const uint32_t length = job - m->world->chip.sequencer.job.done[axis];
        const uint32_t n = (all - ahead - 2 * block) / length;
        add(&w->skipped, w, m->world, n);
        q->load.done[axis] += n * length;
        q->job.done[axis] += n * length;
        m->valid = false;
        m->next = 0;
        return true;
    }
    if (m->valid && ++m->seen < m->next)
        return true;
    m->world = m->world ? m->world : malloc(sizeof *m->world);
    if (!m->world)
        return false;
    memcpy(m->world, w, sizeof *w);
    m->next = m->valid ? m->next * 2 : 1;
    m->seen = 0;
    m->valid = true;
    return true;
}

static enum sq_status run(const unsigned *value, const struct sq_env_choice *memory,
                          const struct sq_top_layer *layer, bool is_fast,
                          struct sq_chip_stats *stats, struct sq_error *err)
{
    struct world *const w = calloc(1, sizeof *w);
    struct mark mark[N_LEVELS] = {{.valid = false}};
    bool ok = w != NULL;
    if (ok)
        start(w, value, memory, layer);
    do {
        if (!ok)
            break;
        const struct sq_block_walk old = w->chip.sequencer.job;
        cycle(w);
        const struct sq_block_walk *const job = &w->chip.sequencer.job;
        const unsigned outer = axis_of(w, OUTER), inner = !outer;
        const bool moves = job->done[outer] != old.done[outer],
                   moves_in = job->done[inner] != old.done[inner];
        if (is_fast && moves)
            ok = visit(w, &mark[OUTER], OUTER);
        mark[INNER].valid = mark[INNER].valid && !moves;
        if (is_fast && ok && moves_in)
            ok = visit(w, &mark[INNER], INNER);
    } while (ok && is_running(w));
    if (ok)
        *stats = counters(w);
    for (unsigned i = 0; i < N_LEVELS; i++)
        free(mark[i].world);
    free(w);
    return SQ_HAVE(ok, err, "a chip of %zu bytes", sizeof *w);
}

enum sq_status sq_chip_run_step(const unsigned *value, const struct sq_env_choice *memory,
                                const struct sq_top_layer *layer, struct sq_chip_stats *stats,
                                struct sq_error *err)
{
    return run(value, memory, layer, false, stats, err);
}

enum sq_status sq_chip_run_fast(const unsigned *value, const struct sq_env_choice *memory,
                                const struct sq_top_layer *layer, struct sq_chip_stats *stats,
                                struct sq_error *err)
{
    return run(value, memory, layer, true, stats, err);
}
