// SPDX-License-Identifier: Apache-2.0
// The cycle model of sq_operand_buffer: which half is full, how many places the job still reads, what is
// on its way to the output. It knows nothing of the data. A struct of zeros is empty.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sq_operand_buffer_sim {
    bool full[2];
    unsigned fill, read; // half that is filled, read next
    uint32_t left;       // places that the job has still to read; 0: there is no job
    bool keep;
    unsigned ahead; // beats that were read and have not left
};

static inline bool
sq_operand_buffer_reads(const struct sq_operand_buffer_sim *s) // a place in this cycle
{
    return s->left > 0 && s->full[s->read] && s->ahead < 2;
}

static inline bool sq_operand_buffer_takes_job(const struct sq_operand_buffer_sim *s)
{
    return s->left == 0 || (s->left == 1 && sq_operand_buffer_reads(s));
}

static inline bool sq_operand_buffer_has_room(const struct sq_operand_buffer_sim *s)
{
    return !s->full[s->fill];
}

static inline bool sq_operand_buffer_offers(const struct sq_operand_buffer_sim *s)
{
    return s->ahead > 0;
}

// The edge. job: places that the job which is offered reads, 0: none is. fills_half: the last beat of
// a half is offered.
static inline void sq_operand_buffer_clock(struct sq_operand_buffer_sim *s, uint32_t job, bool keep,
                                           bool fills_half, bool out_ready)
{
    const bool read = sq_operand_buffer_reads(s);
    const bool takes = job > 0 && sq_operand_buffer_takes_job(s);
    const bool filled = fills_half && sq_operand_buffer_has_room(s);
    const bool leaves = s->ahead > 0 && out_ready;
    if (read && --s->left == 0 && !s->keep) {
        s->full[s->read] = false;
        s->read = !s->read;
    }
    if (takes) {
        s->left = job;
        s->keep = keep;
    }
    if (filled) {
        s->full[s->fill] = true;
        s->fill = !s->fill;
    }
    s->ahead += read;
    s->ahead -= leaves;
}
