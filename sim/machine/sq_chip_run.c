// SPDX-License-Identifier: Apache-2.0
// The stepping run.
#include "sim/machine/sq_chip_run.h"

#include <stdlib.h>
#include <string.h>

// Chip and memory. All operands are zeros, for no cycle depends on them, but for the offsets of an indexed layer.
struct system {
    struct sq_top_sim chip;
    struct sq_axi_memory memory;
    uint32_t descriptor[SQ_DESC_WORDS]; // at address 0, as DESCRIPTOR is after reset
    struct sq_top_layer layer;
    uint64_t offsets_nbytes; // of an indexed layer; 0: it is none
};

// Two offsets of an indexed layer, `at` bytes after the first one of all: the groups of a block lie evenly in its columns.
static uint32_t two_offsets(const struct system *w, uint32_t at)
{
    const struct sq_top_layer *const l = &w->layer;
    const struct sq_top_room *const room = &w->chip.sequencer.room;
    const uint64_t block = sq_top_transfer(room, SQ_TOP_COL_SCALE, l->block[1]) * room->nbytes;
    uint32_t word = 0;
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t col = at % block / 2 + i, end = (col + 1) * l->groups / l->block[1];
        word |= (uint32_t)(end < l->groups ? end : l->groups) << 16 * i;
    }
    return word;
}

static int32_t read_word(void *ctx, uint64_t addr, unsigned i)
{
    const struct system *const w = ctx;
    const uint64_t at = addr / 4 + i;
    const uint64_t offset = addr + 4 * i - w->layer.addr[SQ_TOP_COL_SCALE];
    if (at < SQ_DESC_WORDS)
        return (int32_t)w->descriptor[at];
    return offset < w->offsets_nbytes ? (int32_t)two_offsets(w, (uint32_t)offset) : 0;
}

static const char *write_words(void *ctx, uint64_t addr, const int32_t *word, unsigned n)
{
    (void)ctx, (void)addr, (void)word, (void)n;
    return NULL;
}

static enum sq_axi_fault no_fault(void *ctx, uint64_t addr, unsigned nbytes)
{
    (void)ctx, (void)addr, (void)nbytes;
    return SQ_AXI_GOOD;
}

static const struct sq_axi_content content = {read_word, write_words, no_fault};

static void start(struct system *w, const unsigned *value, const struct sq_env_choice *memory)
{
    struct sq_top_regs_sim *const regs = &w->chip.regs;
    sq_top_init(value, &w->chip);
    w->chip.has_no_values = true;
    w->chip.asleep = 0; // the reset was long ago
    sq_axi_memory_init(&w->memory, value[SQ_TOP_DATA_W], memory, &content, w);
    regs->has_aw = regs->has_w = true; // the host has written CONTROL
    regs->aw_addr = SQ_REG_CONTROL;
    regs->w_data = 1;
    regs->w_strb = 15;
}

static void cycle(struct system *w)
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

static void run(struct system *w, const unsigned *value, const struct sq_env_choice *memory)
{
    start(w, value, memory);
    do
        cycle(w);
    while (w->chip.regs.value[SQ_REG_STATUS / 4] >> SQ_STATUS_BUSY & 1);
}

struct sq_chip_stats sq_chip_stats_of(const struct sq_top_regs_sim *regs)
{
    uint64_t n[SQ_COUNTERS];
    for (unsigned i = 0; i < SQ_COUNTERS; i++)
        n[i] = sq_top_regs_count(regs, i);
    return (struct sq_chip_stats){.cycles = n[SQ_COUNT_CYCLES],
                                  .busy = n[SQ_COUNT_BUSY],
                                  .wait = n[SQ_COUNT_WAIT],
                                  .blocked = n[SQ_COUNT_BLOCKED],
                                  .read_beats = n[SQ_COUNT_READ],
                                  .write_beats = n[SQ_COUNT_WRITE],
                                  .read_wait = n[SQ_COUNT_READ_WAIT],
                                  .read_full = n[SQ_COUNT_READ_FULL],
                                  .write_wait = n[SQ_COUNT_WRITE_WAIT]};
}

enum sq_status sq_chip_run_timed(const unsigned *value, const struct sq_env_choice *memory,
                                 const struct sq_top_layer *layer, struct sq_chip_stats *stats,
                                 struct sq_dram_stats *dram, struct sq_error *err)
{
    SQ_FREED struct system *const w = calloc(1, sizeof *w);
    SQ_NEED(w, err, "a chip of %zu bytes", sizeof *w);
    w->layer = *layer;
    if (layer->is_indexed)
        w->offsets_nbytes = sq_top_nbytes(value, layer, SQ_TOP_COL_SCALE);
    sq_top_layer_encode(layer, w->descriptor);
    run(w, value, memory);
    *stats = sq_chip_stats_of(&w->chip.regs);
    if (memory->kind == SQ_AXI_TIMED)
        *dram = sq_dram_stats_of(&w->memory.dram);
    return SQ_OK;
}

enum sq_status sq_chip_run_descriptor(const unsigned *value, const struct sq_env_choice *memory,
                                      const uint32_t word[SQ_DESC_WORDS],
                                      struct sq_chip_stats *stats, struct sq_error *err)
{
    SQ_FREED struct system *const w = calloc(1, sizeof *w);
    SQ_NEED(w, err, "a chip of %zu bytes", sizeof *w);
    memcpy(w->descriptor, word, sizeof w->descriptor);
    run(w, value, memory);
    *stats = sq_chip_stats_of(&w->chip.regs);
    const uint32_t errors = w->chip.regs.value[SQ_REG_STATUS / 4];
    return errors == 0 ? SQ_OK
                       : SQ_FAIL(err, SQ_ERR_INTERNAL, "a descriptor of kind %#x: STATUS = %#x",
                                 word[SQ_DESC_KIND] & 0xffff, errors);
}

enum sq_status sq_chip_run_step(const unsigned *value, const struct sq_env_choice *memory,
                                const struct sq_top_layer *layer, struct sq_chip_stats *stats,
                                struct sq_error *err)
{
    struct sq_dram_stats dram;
    return sq_chip_run_timed(value, memory, layer, stats, &dram, err);
}
