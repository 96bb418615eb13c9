// SPDX-License-Identifier: Apache-2.0
// Runs the program of a token by the driver, and reads what its records say (sq_token_program.h).
#include <stdlib.h>
#include <string.h>

#include "sim/block/vector/sq_top_attend.h"
#include "sim/llm/chip/sq_token_program.h"
#include "sim/machine/sq_chip_machine.h"
#include "sim/machine/sq_chip_run.h"

const char *const sq_token_part_names[SQ_TOKEN_PARTS] = {
    "embedding", "norms",     "encoders", "q, k, v", "rotary", "attention",
    "o",         "residuals", "gate, up", "SiLU",    "down",   "head"};

unsigned sq_token_cache(unsigned cache)
{
    return sq_ta_param(&(struct sq_ta_unit){.is_int8 = cache > 0, .size = 1});
}

unsigned sq_token_attend(const struct sq_model_config *c, bool is_int8)
{
    enum { QUERIES_MAX = SQ_TA_HEADS_MAX, LANES_MAX = 32 };
    const size_t group = c->n_heads / c->n_kv_heads;
    struct sq_ta_unit u = {.heads = (uint32_t)(group < QUERIES_MAX ? group : QUERIES_MAX),
                           .is_int8 = is_int8,
                           .size = is_int8 ? 2 * LANES_MAX : LANES_MAX};
    while (u.size < c->head_dim && u.size < SQ_ATTEND_HEAD_MAX)
        u.size *= 2;
    return sq_ta_param(&u);
}

// The descriptor in slot i of the ring.
static const uint32_t *slot(const struct sq_token_program *p, uint32_t i)
{
    return (const uint32_t *)p->word + (SQ_DRIVER_TOKEN_RING_NBYTES + i * SQ_SLOT_NBYTES) / 4;
}

static bool is_layer(const uint32_t *word)
{
    return (word[SQ_DESC_KIND] & 0xffff) == SQ_DESC_KIND_VALUE;
}

static void add_cost(const struct sq_token_program *p, uint32_t i, const struct sq_chip_stats *s,
                     struct sq_chip_cost *cost)
{
    const uint32_t nbytes = p->value[SQ_TOP_DATA_W] / 8;
    sq_chip_cost_add(&cost[p->part[i]],
                     &(struct sq_chip_cost){.layers = is_layer(slot(p, i)),
                                            .passes = !is_layer(slot(p, i)),
                                            .cycles = s->cycles,
                                            .busy = s->busy,
                                            .wait = s->wait,
                                            .blocked = s->blocked,
                                            .read_nbytes = s->read_beats * nbytes,
                                            .write_nbytes = s->write_beats * nbytes});
}

static void add_costs(const struct sq_token_program *p, const struct sq_driver_token *t,
                      struct sq_chip_cost *cost)
{
    struct sq_driver_done done;
    for (uint32_t i = 0; i < p->n; i++) {
        (void)sq_driver_ring_done(&t->ring, i, &done);
        add_cost(p, i,
                 &(struct sq_chip_stats){.cycles = done.cycles,
                                         .busy = done.busy,
                                         .wait = done.wait,
                                         .blocked = done.blocked,
                                         .read_beats = done.read_beats,
                                         .write_beats = done.write_beats},
                 cost);
    }
}

// ---- without a device ---------------------------------------------------------------------------------

// What descriptors took that differ from others by more than pages.
struct timed {
    uint32_t word[SQ_DESC_WORDS];
    struct sq_chip_stats stats;
};

// Regions of a descriptor within their pages: only there do bursts end for the sake of an address.
static void within_pages(const uint32_t *word, uint32_t *key)
{
    static const unsigned low[] = {SQ_DESC_ACT, SQ_DESC_WEIGHT, SQ_DESC_ROW_SCALE,
                                   SQ_DESC_COL_SCALE, SQ_DESC_OUT};
    memcpy(key, word, SQ_DESC_WORDS * sizeof *key);
    for (unsigned i = 0; i < sizeof low / sizeof *low; i++)
        sq_desc_set_address(key, low[i], sq_desc_address(word, low[i]) % SQ_AXI_PAGE);
}

static enum sq_status time_one(const struct sq_token_program *p, const uint32_t *word,
                               struct sq_chip_memo *memo, struct sq_chip_stats *stats,
                               struct sq_error *err)
{
    const struct sq_top_room room = sq_top_room(p->value);
    struct sq_top_layer layer;
    return is_layer(word) && sq_top_layer_decode(word, &room, &layer)
               ? sq_chip_run_next(p->value, &p->memory, &layer, memo, stats, err)
               : sq_chip_run_descriptor(p->value, &p->memory, word, stats, err);
}

static void count(const struct sq_token_program *p, const uint32_t *word,
                  const struct sq_chip_stats *stats, struct sq_token_counts *counts)
{
    const struct sq_top_room room = sq_top_room(p->value);
    const uint32_t nbytes = p->value[SQ_TOP_DATA_W] / 8;
    struct sq_chip_layer c;
    struct sq_ta_layer attend;
    if (is_layer(word) && sq_top_layer_decode(word, &room, &c.layer)) {
        memcpy(c.value, p->value, sizeof c.value);
        sq_chip_cost_add(&counts->layer, &(struct sq_chip_cost){.layers = 1,
                                                                .cycles = stats->cycles,
                                                                .busy = stats->busy,
                                                                .wait = stats->wait});
        counts->sram_read_nbits += sq_chip_sram_nbits(&c, false);
        counts->sram_write_nbits += sq_chip_sram_nbits(&c, true);
    } else if (sq_ta_decode(word, nbytes, p->value[SQ_TOP_ATTEND], &attend)) {
        counts->key_beats +=
            (uint64_t)attend.keys * attend.size / sq_ta_lanes(p->value[SQ_TOP_ATTEND], nbytes);
    } else if ((word[SQ_DESC_KIND] & 0xffff) == SQ_DESC_KIND_VECTOR) {
        counts->vector_beats += stats->busy;
    }
}

enum sq_status sq_token_time(const struct sq_token_program *p, size_t position,
                             struct sq_chip_cost *cost, struct sq_token_counts *counts,
                             struct sq_error *err)
{
    struct sq_driver_token t = {.word = (volatile uint32_t *)p->word};
    SQ_FREED struct timed *const known = calloc(p->n, sizeof *known);
    struct sq_chip_memo *const memo = sq_chip_memo_new(SQ_CHIP_MEMO_NBYTES);
    size_t n = 0;
    enum sq_status status = SQ_HAVE(known && memo, err, "%u descriptors", p->n);
    if (status == SQ_OK && sq_driver_token_place(&t, 0, (uint32_t)position) != SQ_DRIVER_OK)
        status =
            SQ_FAIL(err, SQ_ERR_RANGE, "position %zu, need 0..%zu", position, p->positions - 1);
    memset(cost, 0, SQ_TOKEN_PARTS * sizeof *cost);
    *counts = (struct sq_token_counts){.key_beats = 0};
    for (uint32_t i = 0; status == SQ_OK && i < p->n; i++) {
        size_t at = 0;
        within_pages(slot(p, i), known[n].word);
        while (memcmp(known[at].word, known[n].word, sizeof known[n].word) != 0)
            at++;
        if (at == n)
            status = time_one(p, slot(p, i), memo, &known[n++].stats, err);
        add_cost(p, i, &known[at].stats, cost);
        count(p, slot(p, i), &known[at].stats, counts);
    }
    sq_chip_memo_free(memo);
    return status;
}

enum sq_status sq_token_program_run(struct sq_token_program *p, struct sq_chip_linear *c,
                                    int32_t id, size_t position, struct sq_chip_cost *cost,
                                    int32_t *next, float *logit, struct sq_error *err)
{
    struct sq_driver driver;
    struct sq_driver_token t = {.word = (volatile uint32_t *)p->word};
    struct sq_driver_done done;
    char text[160] = "the driver's time is over";
    uint32_t choice;
    SQ_TRY(
        sq_chip_linear_device(c, p->value, &p->memory, p->word, p->n_words, p->base, &driver, err));
    const enum sq_driver_result result =
        sq_driver_token(&driver, &t, (uint32_t)id, (uint32_t)position, &choice);
    SQ_FAIL_IF(result == SQ_DRIVER_NO_CHIP, err, SQ_ERR_RANGE,
               "token %d at position %zu, need 0..%zu, 0..%zu", (int)id, position, p->vocab - 1,
               p->positions - 1);
    if (result == SQ_DRIVER_FAILED) {
        (void)sq_driver_ring_done(&t.ring, t.failed, &done);
        (void)sq_driver_text(&done, text, sizeof text);
    }
    SQ_FAIL_IF(result != SQ_DRIVER_OK || sq_device_complaint(c->device), err, SQ_ERR_INTERNAL,
               "slot %u of the program of a token: %.160s %.60s", t.failed, text,
               sq_device_complaint(c->device) ? sq_device_complaint(c->device) : "");
    p->moves = sq_device_moves(c->device);
    add_costs(p, &t, cost);
    for (size_t i = 0; i < p->vocab; i++)
        memcpy(&logit[i], p->word + (p->logits - p->base) / 4 + i * (p->value[SQ_TOP_DATA_W] / 32),
               sizeof *logit);
    *next = (int32_t)choice;
    return SQ_OK;
}
