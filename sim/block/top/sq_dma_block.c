// SPDX-License-Identifier: Apache-2.0
// sq_dma: a group is a piece of work, some transfers of which at least one reads. What memory holds and
// how it fails follows from addresses (sq_axi_memory.h); its time is the case's environment.
#include <assert.h>
#include <string.h>

#include "sim/block/flow/sq_case.h"
#include "sim/block/top/sq_axi_memory.h"
#include "sim/block/top/sq_dma_sim.h"

#include "sim/block/top/sq_dma.block.h"

enum { PLACES = SQ_AXI_PAGE * 200 }; // bytes

static unsigned nbytes(const unsigned *v)
{
    return v[DATA_W] / 8;
}

static size_t words(const unsigned *v)
{
    return v[DATA_W] / 32;
}

// Beats of a transfer that is drawn, at most.
static uint32_t longest(const unsigned *v)
{
    const uint32_t most = (UINT32_C(1) << v[COUNT_W]) - 1, pages = 2 * SQ_AXI_PAGE / nbytes(v);
    return most < pages ? most : pages;
}

// ---- what comes in ----------------------------------------------------------------------------------

static uint32_t job_of(const int32_t *record, enum sq_dma_field field)
{
    return (uint32_t)record[field];
}

// Often up to the end of a page, or across it; sometimes long.
static uint32_t draw_beats(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind)
{
    const uint32_t most = longest(v);
    const uint32_t n = kind == SQ_STIMULUS_EXTREME && sq_rng_below(rng, 4) == 0 ? most
                       : sq_rng_below(rng, 12) == 0                             ? 300
                                                                                : 24;
    return 1 + sq_rng_below(rng, n < most ? n : most);
}

static uint64_t draw_addr(const unsigned *v, struct sq_rng *rng, uint32_t beats, uint32_t fault)
{
    const uint32_t size = nbytes(v);
    const uint64_t high = (uint64_t)sq_rng_below(rng, 1 << 16) << 32;
    if (fault == 0 && sq_rng_below(rng, 4) == 0) { // of a kind that is no fault
        const bool is_end = sq_rng_below(rng, 3) == 0;
        const uint64_t end = is_end ? SQ_ADDR_END : high > 0 ? high : UINT64_C(1) << 32;
        // up to the end of memory; across 4 GiB or up to there
        return end - (is_end ? beats + sq_rng_below(rng, 4) : 1 + sq_rng_below(rng, beats)) *
                         (uint64_t)size;
    }
    uint32_t place = sq_rng_below(rng, PLACES / size) * size;
    if (sq_rng_below(rng, 2)) // near the end of a page
        place = place / SQ_AXI_PAGE * SQ_AXI_PAGE + SQ_AXI_PAGE -
                (1 + sq_rng_below(rng, 2 * beats)) % (SQ_AXI_PAGE / size) * size;
    const uint32_t bad = place / size + sq_rng_below(rng, beats);
    return high | fault << 28 | (bad & 0xff) << 20 | place;
}

// The words of all transfers that write, into the records from the first one on.
static void fill_data(const unsigned *v, int32_t *record, uint32_t *len)
{
    const size_t n = record_len(v);
    len[1] = 0;
    for (uint32_t j = 0; j < len[0]; j++)
        for (uint32_t i = 0;
             job_of(record + j * n, SQ_DMA_WRITE) && i < job_of(record + j * n, SQ_DMA_BEATS);
             i++, len[1]++)
            for (unsigned w = 0; w < words(v); w++)
                record[len[1] * n + SQ_DMA_JOB_LEN + w] =
                    sq_axi_write_word(sq_axi_addr(record + j * n + SQ_DMA_ADDR) + i * nbytes(v), w);
}

static void put_job(int32_t *record, bool first, bool write, uint64_t addr, uint32_t beats,
                    uint32_t dest)
{
    record[SQ_DMA_FIRST] = first;
    record[SQ_DMA_WRITE] = write;
    sq_axi_put_addr(record + SQ_DMA_ADDR, addr);
    record[SQ_DMA_BEATS] = (int32_t)beats;
    record[SQ_DMA_DEST] = (int32_t)dest;
}

static void draw_group(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind,
                       uint64_t number, int32_t *record, uint32_t *len)
{
    (void)number;
    len[0] = 1 + sq_rng_below(rng, JOBS_MAX);
    const uint32_t read = sq_rng_below(rng, len[0]); // at least this one
    for (uint32_t j = 0; j < len[0]; j++) {
        const uint32_t beats = draw_beats(v, rng, kind);
        const bool is_bad = kind == SQ_STIMULUS_ILLEGAL && sq_rng_below(rng, 3) == 0;
        const uint32_t fault = is_bad ? 1 + sq_rng_below(rng, SQ_AXI_FAULTS - 1) : 0;
        put_job(record + j * record_len(v), j == 0, j != read && sq_rng_below(rng, 3) == 0,
                draw_addr(v, rng, beats, fault), beats, sq_rng_below(rng, 1u << v[DEST_W]));
    }
    fill_data(v, record, len);
}

// Writes of a beat in a row, so that their responses come one behind the other; one of them is an error.
enum { ROW = 4 };
static void put_writes(const unsigned *v, uint32_t fault, uint32_t bad, int32_t *record,
                       uint32_t *len)
{
    for (uint32_t j = 0; j < ROW; j++) {
        const uint32_t place = j * SQ_AXI_PAGE;
        put_job(record + j * record_len(v), j == 0, true,
                (j == bad ? fault << 28 : 0) | (place / nbytes(v) & 0xff) << 20 | place, 1, 0);
    }
    put_job(record + ROW * record_len(v), false, false, 0, 1, 0);
    len[0] = ROW + 1;
    fill_data(v, record, len);
}

// Every fault in every beat of a short piece of work, each followed by a good one: a transfer across
// a page, then another one, so that there are bursts behind the one that fails. Case by case another
// memory; behind them a read of as many beats as there can be, or of more than 12 bits count where the memory waits.
enum { SHORT = 7, LONG = 4200 };
static enum sq_status draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng,
                                    struct sq_error *err)
{
    const unsigned *const v = c->point->value;
    const uint32_t size = nbytes(v), place = 5 * SQ_AXI_PAGE - 3 * size;
    const uint32_t all = (UINT32_C(1) << v[COUNT_W]) - 1;
    const uint32_t most = number == 0 || all < LONG ? all : LONG;
    const size_t n_faults = 2 * SHORT * (SQ_AXI_FAULTS - 1);
    c->max_outputs = most;
    SQ_TRY(sq_case_room(c, n_faults + 2 * ROW + 1, SHORT, err));
    c->n_beats = 0;
    for (size_t g = 0; g < n_faults; g++) {
        int32_t *const record = c->beats + c->n_beats * record_len(v);
        const uint32_t fault = g % 2 ? 0 : 1 + (uint32_t)(g / 2 / SHORT);
        const uint32_t bad = (place / size + (uint32_t)(g / 2 % SHORT)) & 0xff;
        put_job(record, true, false, fault << 28 | bad << 20 | place, SHORT, 1);
        put_job(record + record_len(v), false, true, fault << 28 | bad << 20 | place, SHORT, 0);
        put_job(record + 2 * record_len(v), false, false, 3 * SQ_AXI_PAGE, 5, 0);
        c->len[g][0] = 3;
        fill_data(v, record, c->len[g]);
        c->n_beats += sq_case_records(c, g);
    }
    for (size_t g = n_faults; g < n_faults + 2 * ROW; g++) {
        put_writes(v, g % 2 ? SQ_AXI_DECERR : SQ_AXI_SLVERR, (uint32_t)(g - n_faults) / 2,
                   c->beats + c->n_beats * record_len(v), c->len[g]);
        c->n_beats += sq_case_records(c, g);
    }
    put_job(c->beats + c->n_beats++ * record_len(v), true, false, place, most, 1);
    c->len[c->n_groups - 1][0] = 1;
    c->env = (struct sq_env_choice){.kind = number == 1  ? 1
                                            : number > 0 ? 2
                                                         : 0,
                                    .n = {number == 1 ? 40 : number, 1, 2, 64},
                                    .seed = sq_rng_next(rng) << 1 | number % 2};
    return SQ_OK;
}

// ---- what comes out ---------------------------------------------------------------------------------

// Beats of the burst that begins there.
static uint32_t burst_of(const unsigned *v, uint64_t addr, uint32_t left)
{
    const uint32_t room = (uint32_t)(SQ_AXI_PAGE - addr % SQ_AXI_PAGE) / nbytes(v);
    const uint32_t most = room < v[MAX_BURST] ? room : v[MAX_BURST];
    return left < most ? left : most;
}

static int32_t error_of(const unsigned *v, uint64_t addr, bool ends_burst)
{
    switch (sq_axi_fault_at(addr, nbytes(v))) {
    case SQ_AXI_SLVERR:
        return SQ_DMA_SLVERR;
    case SQ_AXI_DECERR:
        return SQ_DMA_DECERR;
    case SQ_AXI_EARLY:
        return ends_burst ? 0 : SQ_DMA_EARLY;
    case SQ_AXI_LATE:
    case SQ_AXI_MISSING:
        return ends_burst ? SQ_DMA_LATE : 0;
    default:
        return 0;
    }
}

static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    uint64_t n_out = 0;
    int32_t broken = 0; // LAST came at a wrong time: nothing good comes any more
    for (uint32_t j = 0; j < in->len[0]; j++) {
        const int32_t *const job = in->record + j * record_len(v);
        const uint32_t beats = job_of(job, SQ_DMA_BEATS);
        uint64_t addr = sq_axi_addr(job + SQ_DMA_ADDR);
        uint32_t burst = 0;
        int32_t status = 0;
        for (uint32_t i = 0; !job_of(job, SQ_DMA_WRITE) && i < beats; i++, addr += nbytes(v)) {
            burst = burst > 0 ? burst : burst_of(v, addr, beats - i);
            const int32_t error = broken ? broken : error_of(v, addr, --burst == 0);
            for (unsigned w = 0; w < words(v); w++)
                *out++ = broken ? 0 : sq_axi_read_word(addr, w);
            burst = broken ? 0 : burst;
            broken = error >= SQ_DMA_EARLY ? error : broken;
            status = status ? status : error;
            *out++ = job[SQ_DMA_DEST];
            *out++ = error != 0;
            *out++ = i + 1 == beats;
            *out++ = status;
            n_out++;
        }
    }
    return n_out;
}

// The last transfer goes; then they become shorter.
static bool cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)
{
    const size_t n = record_len(v);
    if (way == 0) {
        bool reads = false;
        for (uint32_t j = 0; j + 1 < len[0]; j++)
            reads = reads || !job_of(record + j * n, SQ_DMA_WRITE);
        if (!reads)
            return false;
        len[0]--;
    } else {
        if (way > len[0] || record[(way - 1) * n + SQ_DMA_BEATS] == 1)
            return false;
        record[(way - 1) * n + SQ_DMA_BEATS] /= 2;
    }
    fill_data(v, record, len);
    return true;
}

static void init(const unsigned *v, void *state)
{
    sq_dma_init(state, nbytes(v), v[MAX_BURST], v[OUTSTANDING], v[WRITES], v[QUIET]);
}

static void status(const unsigned *v, const void *state, const struct sq_group *due, int32_t *value)
{
    (void)v;
    (void)due;
    sq_dma_status(state, value);
}

static const struct sq_timing timing = {sizeof(struct sq_dma_sim), sq_dma_comb, sq_dma_clock};
