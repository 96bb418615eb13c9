// SPDX-License-Identifier: Apache-2.0
// The cycle model of sq_operand_buffer: which half is full, how many places the job still reads, what is
// on its way to the output. It knows nothing of the data. A struct of zeros is empty.
#ifndef SQ_OPERAND_BUFFER_SIM_H
#define SQ_OPERAND_BUFFER_SIM_H

#include <stdbool.h>
#include <stdint.h>

struct sq_operand_buffer_sim {
    bool full[2];
    unsigned fill, read; // half that is filled, read next
    uint32_t left;       // places that the job has still to read; 0: there is no job
    bool keep;
    unsigned ahead; // beats that were read and have not left
};

bool sq_operand_buffer_reads(const struct sq_operand_buffer_sim *s); // a place in this cycle
bool sq_operand_buffer_takes_job(const struct sq_operand_buffer_sim *s);
bool sq_operand_buffer_has_room(const struct sq_operand_buffer_sim *s);
bool sq_operand_buffer_offers(const struct sq_operand_buffer_sim *s);
// The edge. job: places that the job which is offered reads, 0: none is. fills_half: the last beat of
// a half is offered.
void sq_operand_buffer_clock(struct sq_operand_buffer_sim *s, uint32_t job, bool keep,
                             bool fills_half, bool out_ready);

#endif
