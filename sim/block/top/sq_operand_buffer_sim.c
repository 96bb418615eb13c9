// SPDX-License-Identifier: Apache-2.0
// Steps the two halves of an operand buffer and the job that reads them (sq_operand_buffer_sim.h).
#include "sim/block/top/sq_operand_buffer_sim.h"

bool sq_operand_buffer_reads(const struct sq_operand_buffer_sim *s)
{
    return s->left > 0 && s->full[s->read] && s->ahead < 2;
}

bool sq_operand_buffer_takes_job(const struct sq_operand_buffer_sim *s)
{
    return s->left == 0 || (s->left == 1 && sq_operand_buffer_reads(s));
}

bool sq_operand_buffer_has_room(const struct sq_operand_buffer_sim *s)
{
    return !s->full[s->fill];
}

bool sq_operand_buffer_offers(const struct sq_operand_buffer_sim *s)
{
    return s->ahead > 0;
}

void sq_operand_buffer_clock(struct sq_operand_buffer_sim *s, uint32_t job, bool keep,
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
