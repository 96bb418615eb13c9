// SPDX-License-Identifier: Apache-2.0
// Steps the bursts, beats, words and responses of sq_dma (sq_dma_sim.h).
#include "sim/block/top/sq_dma_sim.h"

#include <assert.h>
#include <string.h>

#include "sim/block/top/sq_axi_memory.h"

enum { AR, AW, W }; // asks
enum { R, B };      // replies
enum { N_ADDR = SQ_AXI_ADDRESS };

void sq_dma_init(struct sq_dma_sim *s, uint32_t nbytes, uint32_t max_burst, uint32_t outstanding,
                 uint32_t writes, uint32_t quiet)
{
    assert(outstanding <= SQ_DMA_SLOTS_MAX && nbytes / 4 <= SQ_DMA_WORDS_MAX);
    assert(writes <= SQ_DMA_WRITES_MAX);
    s->nbytes = nbytes;
    s->max_burst = max_burst;
    s->n_slots = outstanding;
    s->n_writes = writes;
    s->silence = quiet;
}

static uint32_t words(const struct sq_dma_sim *s)
{
    return s->nbytes / 4;
}

// ---- what it does in a cycle ------------------------------------------------------------------------

// The next transfer may go on, or begin: the first one of a piece of work when all that was read
// before it has come, and after an error when the bus has been silent.
static bool may_start(const struct sq_dma_sim *s)
{
    return !s->next.first || (s->n_used == 0 && (!s->broken || s->quiet == s->silence));
}

// A burst of reads is noted; it is asked for as well, unless the piece of work is lost.
static bool notes_burst(const struct sq_dma_sim *s)
{
    return s->next.is_there && !s->next.write && may_start(s) && s->n_used < s->n_slots &&
           (!s->ar.valid || s->pins.ask_ready[AR]) && !s->abort;
}

static bool hands_over(const struct sq_dma_sim *s)
{
    return s->next.is_there && s->next.write && may_start(s) && !s->to.is_there && !s->abort;
}

// A beat goes to the output: one that comes, or one in place of those that do not.
static bool gives_beat(const struct sq_dma_sim *s)
{
    return s->n_used > 0 && s->out < 2 && (s->broken || s->pins.reply_valid[R]);
}

static bool offers_word(const struct sq_dma_sim *s)
{
    return s->data_left > 0 && (s->n_in > 0 || s->is_void);
}

// A burst begins when address and beats of the one before it have gone, with this cycle at the latest.
static bool begins_write(const struct sq_dma_sim *s)
{
    const bool goes = offers_word(s) && s->pins.ask_ready[W];
    return s->to.is_there && s->data_left == goes && (!s->aw.valid || s->pins.ask_ready[AW]) &&
           s->n_open < s->n_writes && !s->abort;
}

bool sq_dma_is_idle(const struct sq_dma_sim *s)
{
    return s->is_void && s->abort && !s->next.is_there && !s->ar.valid && s->n_used == 0 &&
           s->out == 0 && !s->to.is_there && s->n_open == 0 && s->n_in == 0;
}

static bool awaits_response(const struct sq_dma_sim *s)
{
    return s->n_open > (s->data_left > 0 || s->aw.valid);
}

void sq_dma_comb(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out)
{
    const struct sq_dma_sim *s = state;
    (void)in;
    (void)out_ready;
    out->in_ready[0] = !s->next.is_there;
    out->in_ready[1] = s->n_in < 2;
    out->out_valid = s->out > 0;
}

static void put_address(const struct sq_dma_sim *s, const struct sq_dma_address *a, int32_t *ask)
{
    sq_axi_put_addr(ask, a->addr);
    ask[SQ_AXI_LEN] = (int32_t)a->beats - 1;
    ask[SQ_AXI_SIZE] = 0;
    while (1u << ask[SQ_AXI_SIZE] < s->nbytes)
        ask[SQ_AXI_SIZE]++;
    ask[SQ_AXI_BURST] = 1; // INCR
}

void sq_dma_ask(const void *state, struct sq_pins *pins)
{
    const struct sq_dma_sim *s = state;
    pins->ask_valid[AR] = s->ar.valid;
    pins->ask_valid[AW] = s->aw.valid;
    pins->ask_valid[W] = offers_word(s);
    pins->reply_ready[R] = s->broken || (s->n_used > 0 && s->out < 2);
    pins->reply_ready[B] = awaits_response(s);
    put_address(s, &s->ar, pins->ask);
    put_address(s, &s->aw, pins->ask + N_ADDR);
    int32_t *const w = pins->ask + 2 * N_ADDR;
    for (uint32_t i = 0; i < words(s); i++) {
        w[i] = s->is_void ? 0 : s->in[0][i];
        w[words(s) + i] = s->is_void ? 0 : 15;
    }
    w[2 * words(s)] = s->data_left == 1;
}

void sq_dma_status(const struct sq_dma_sim *s, int32_t status[2])
{
    status[0] = s->done;
    status[1] = s->done ? s->write_status : 0;
}

// ---- the edge -----------------------------------------------------------------------------------------

// The burst that comes next of a transfer, which goes on behind it.
static struct sq_dma_address next_burst(const struct sq_dma_sim *s, struct sq_dma_transfer *t)
{
    const uint32_t room = (uint32_t)(SQ_AXI_PAGE - t->addr % SQ_AXI_PAGE) / s->nbytes;
    uint32_t n = t->left < s->max_burst ? t->left : s->max_burst;
    n = n < room ? n : room;
    const struct sq_dma_address burst = {true, t->addr, n};
    t->addr += (uint64_t)n * s->nbytes;
    t->left -= n;
    return burst;
}

// The beat that goes to the output, `is_end`: the last one of its burst.
static struct sq_dma_beat beat_of(const struct sq_dma_sim *s, bool last, bool is_end)
{
    const int32_t resp = s->pins.reply[words(s)];
    const int32_t error = s->broken        ? s->broken_status
                          : last != is_end ? (last ? SQ_DMA_EARLY : SQ_DMA_LATE)
                          : resp >= 2      ? resp
                                           : 0;
    struct sq_dma_beat b = {.dest = s->slot[0].dest,
                            .status = s->status ? s->status : error,
                            .poison = error != 0,
                            .last = s->slot[0].is_last && is_end};
    if (!s->broken)
        memcpy(b.word, s->pins.reply, words(s) * sizeof *b.word);
    return b;
}

static void clock_beats(struct sq_dma_sim *s, bool gives, bool leaves)
{
    const bool last = s->pins.reply[words(s) + 1], is_end = s->n_used > 0 && s->slot[0].left == 1;
    const bool is_silent = s->broken && !s->ar.valid && !s->pins.reply_valid[R];
    s->quiet = !is_silent ? 0 : s->quiet + (s->quiet < s->silence);
    if (sq_dma_is_idle(s))
        s->status = 0;
    if (leaves) {
        s->out--;
        s->beat[0] = s->beat[1];
    }
    if (!gives)
        return;
    const struct sq_dma_beat beat = beat_of(s, last, is_end);
    s->beat[s->out++] = beat;
    s->status = beat.last ? 0 : beat.status;
    if (!s->broken && last != is_end) {
        s->broken = true;
        s->broken_status = last ? SQ_DMA_EARLY : SQ_DMA_LATE;
    }
    if (--s->slot[0].left > 0)
        return;
    s->n_used--;
    memmove(s->slot, s->slot + 1, s->n_used * sizeof *s->slot);
}

static void clock_bursts(struct sq_dma_sim *s, bool notes, bool was_broken)
{
    const bool asks = notes && (!was_broken || s->next.first);
    if (s->ar.valid && s->pins.ask_ready[AR])
        s->ar.valid = false;
    if (!notes)
        return;
    if (s->next.first)
        s->broken = false;
    s->next.first = false;
    const struct sq_dma_address burst = next_burst(s, &s->next);
    s->slot[s->n_used++] = (struct sq_dma_slot){burst.beats, s->next.left == 0, s->next.dest};
    if (asks)
        s->ar = burst;
    s->next.is_there = s->next.left > 0;
}

static void clock_responses(struct sq_dma_sim *s)
{
    const int32_t resp = s->pins.reply[words(s) + 2];
    if (s->done || sq_dma_is_idle(s))
        s->write_status = 0;
    s->done = false;
    if (!s->pins.reply_valid[B] || !awaits_response(s))
        return;
    if (s->write_status == 0 && resp >= 2)
        s->write_status = resp;
    s->done = s->ends[0];
    s->n_open--;
    memmove(s->ends, s->ends + 1, s->n_open * sizeof *s->ends);
}

// A beat that is offered stays as it is; behind it beats go without data until the end of their burst.
static bool turns_void(const struct sq_dma_sim *s)
{
    const bool is_held = offers_word(s) && !s->pins.ask_ready[W];
    return (s->abort && !is_held) || (s->is_void && s->data_left > 0);
}

static void clock_words(struct sq_dma_sim *s, const struct sq_offer *in, bool begins)
{
    const bool takes = in->valid && s->n_in < 2;
    const bool goes = offers_word(s) && s->pins.ask_ready[W];
    const bool leaves = s->n_in > 0 && (s->is_void || goes);
    if (s->aw.valid && s->pins.ask_ready[AW])
        s->aw.valid = false;
    s->data_left -= goes;
    if (leaves) {
        s->n_in--;
        memcpy(s->in[0], s->in[1], sizeof s->in[0]);
    }
    if (takes)
        memcpy(s->in[s->n_in++], in->beat, words(s) * sizeof *in->beat);
    if (begins) {
        s->aw = next_burst(s, &s->to);
        s->data_left = s->aw.beats;
        s->to.is_there = s->to.left > 0;
        s->ends[s->n_open++] = !s->to.is_there;
    }
}

void sq_dma_clock(void *state, const struct sq_offer *in, bool out_ready)
{
    struct sq_dma_sim *s = state;
    const bool notes = notes_burst(s), hands = hands_over(s), gives = gives_beat(s);
    const bool takes = in[0].valid && !s->next.is_there, begins = begins_write(s);
    const bool leaves = s->out > 0 && out_ready, was_broken = s->broken;
    const bool becomes_void = turns_void(s);
    clock_beats(s, gives, leaves);
    clock_bursts(s, notes, was_broken);
    clock_responses(s);
    clock_words(s, &in[1], begins);
    s->is_void = becomes_void;
    if (hands) {
        s->broken = s->broken && !s->next.first;
        s->to = s->next;
        s->next.is_there = false;
    }
    if (s->abort)
        s->next.is_there = s->to.is_there = false;
    if (takes)
        s->next = (struct sq_dma_transfer){.is_there = true,
                                           .first = in[0].beat[SQ_DMA_FIRST],
                                           .write = in[0].beat[SQ_DMA_WRITE],
                                           .addr = sq_axi_addr(&in[0].beat[SQ_DMA_ADDR]),
                                           .left = (uint32_t)in[0].beat[SQ_DMA_BEATS],
                                           .dest = in[0].beat[SQ_DMA_DEST]};
}

void sq_dma_put_transfer(int32_t transfer[SQ_DMA_JOB_LEN], bool first, bool write, uint64_t addr,
                         uint64_t beats, uint32_t dest)
{
    transfer[SQ_DMA_FIRST] = first;
    transfer[SQ_DMA_WRITE] = write;
    sq_axi_put_addr(transfer + SQ_DMA_ADDR, addr);
    transfer[SQ_DMA_BEATS] = (int32_t)beats;
    transfer[SQ_DMA_DEST] = (int32_t)dest;
}

void sq_task_start(struct sq_task *t, uint32_t checks, bool is_good)
{
    t->state = SQ_TASK_CHECK;
    t->checks = checks - 1;
    t->is_good = is_good;
}

void sq_task_clock(struct sq_task *t, bool is_done)
{
    if (t->state == SQ_TASK_CHECK && t->checks == 0)
        t->state = t->is_good ? SQ_TASK_RUN : SQ_TASK_IDLE;
    else if (t->state == SQ_TASK_CHECK)
        t->checks--;
    else if (is_done)
        t->state = SQ_TASK_IDLE;
}
