// SPDX-License-Identifier: Apache-2.0
// When beats move through the blocks of rtl/top/, as recurrences (oracle.h), written from the heads of
// the modules and the pages of rtl/top/.
#pragma once

#include "tests/sim/oracle.h"
#include "tests/sim/oracle_blocks.h"

// A half takes beats from the cycle after its last reader read the last place. A place is read when
// its half is complete, its job is there, and of the two beats before it at most one has not left;
// it is offered a cycle later. A job comes in while nothing is read, or with the last place of the
// job before it. Two cycles after a place is read the error says whether its beat was poisoned.
static inline int32_t poison_of(const struct input *in, size_t job, uint64_t i, size_t first)
{
    const uint64_t beats = (uint64_t)*field(in, 0, job, "beats"),
                   cols = (uint64_t)*field(in, 0, job, "cols");
    const uint64_t place = (uint64_t)*field(in, 0, job, "base") +
                           i / beats / cols * (uint64_t)*field(in, 0, job, "row_stride") +
                           i / beats % cols * (uint64_t)*field(in, 0, job, "col_stride") +
                           i % beats * (uint64_t)*field(in, 0, job, "beat_stride");
    uint64_t size = 2;
    while (size < param(in, "Depth"))
        size *= 2;
    return *field(in, 1, first + place % size, "poison");
}

static inline void predict_operand_buffer(const struct input *in, struct prediction *w)
{
    uint64_t emptied[2] = {0, 0}, filled = 0, job_may = 0, read_may = 0, left[2] = {0, 0};
    size_t job = 0, beat = 0;
    for (size_t half = 0; half < in->c->n_groups; half++) {
        const size_t first = beat;
        uint64_t complete = 0, read = 0;
        for (uint32_t i = 0; i < in->c->len[half][1]; i++, beat++) {
            w->in[1].taken[beat] = later(w->in[1].offered[beat], later(filled, emptied[half % 2]));
            filled = w->in[1].taken[beat] + 1;
        }
        complete = filled;
        for (uint32_t j = 0; j < in->c->len[half][0]; j++, job++) {
            const uint64_t places = (uint64_t)*field(in, 0, job, "rows") *
                                    (uint64_t)*field(in, 0, job, "cols") *
                                    (uint64_t)*field(in, 0, job, "beats");
            w->in[0].taken[job] = later(w->in[0].offered[job], job_may);
            read_may = later(read_may, w->in[0].taken[job] + 1);
            for (uint64_t i = 0; i < places; i++) {
                read = later(later(read_may, complete), left[0]);
                read_may = read + 1;
                left[0] = left[1];
                left[1] = give(w, later(read + 1, left[1])) + 1;
                if (read >= w->end) // beyond the run: nothing more is seen of it
                    read_may = NEVER;
                else if (read + 2 < w->end)
                    w->status[(read + 2) * w->n_status] = poison_of(in, job, i, first);
            }
            job_may = read;
        }
        emptied[half % 2] = read + 1;
    }
}
