// SPDX-License-Identifier: Apache-2.0
// Runs the program of a token by the driver, and reads what its records say (sq_token_program.h).
#include <string.h>

#include "sim/llm/chip/sq_token_program.h"

static void add_costs(const struct sq_token_program *p, const struct sq_driver_token *t,
                      struct sq_chip_cost *cost)
{
    const uint32_t nbytes = p->value[SQ_TOP_DATA_W] / 8;
    struct sq_driver_done done;
    for (uint32_t i = 0; i < p->n; i++) {
        const bool is_layer = (p->word[(SQ_DRIVER_TOKEN_RING_NBYTES + i * SQ_SLOT_NBYTES) / 4] &
                               0xffff) == SQ_DESC_KIND_VALUE;
        (void)sq_driver_ring_done(&t->ring, i, &done);
        sq_chip_cost_add(&cost[p->part[i]],
                         &(struct sq_chip_cost){.layers = is_layer,
                                                .passes = !is_layer,
                                                .cycles = done.cycles,
                                                .busy = done.busy,
                                                .wait = done.wait,
                                                .blocked = done.blocked,
                                                .read_nbytes = done.read_beats * nbytes,
                                                .write_nbytes = done.write_beats * nbytes});
    }
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
    if (result == SQ_DRIVER_NO_CHIP)
        return SQ_FAIL(err, SQ_ERR_RANGE, "token %d at position %zu, need 0..%zu, 0..%zu", (int)id,
                       position, p->vocab - 1, p->positions - 1);
    if (result == SQ_DRIVER_FAILED) {
        (void)sq_driver_ring_done(&t.ring, t.failed, &done);
        (void)sq_driver_text(&done, text, sizeof text);
    }
    if (result != SQ_DRIVER_OK || sq_device_complaint(c->device))
        return SQ_FAIL(err, SQ_ERR_INTERNAL, "slot %u of the program of a token: %.160s %.60s",
                       t.failed, text,
                       sq_device_complaint(c->device) ? sq_device_complaint(c->device) : "");
    p->moves = sq_device_moves(c->device);
    add_costs(p, &t, cost);
    for (size_t i = 0; i < p->vocab; i++)
        memcpy(&logit[i], p->word + (p->logits - p->base) / 4 + i * (p->value[SQ_TOP_DATA_W] / 32),
               sizeof *logit);
    *next = (int32_t)choice;
    return SQ_OK;
}
