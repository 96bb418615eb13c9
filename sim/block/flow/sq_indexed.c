// SPDX-License-Identifier: Apache-2.0
// Feeds an engine with an index from the buffers of the chip, and finds it in the list of blocks (sq_indexed.h).
#include "sim/block/flow/sq_indexed.h"

const struct sq_block *sq_indexed_block(unsigned layout)
{
    for (size_t i = 0; i < sq_n_blocks; i++)
        if (sq_blocks[i]->indexed && sq_blocks[i]->indexed->layout == layout)
            return sq_blocks[i];
    return NULL;
}

void sq_indexed_offer(const struct sq_indexed_feed *f, const struct sq_indexed_in *in,
                      struct sq_offer engine[SQ_STREAMS_MAX])
{
    engine[SQ_INDEXED_JOB].valid = in->job && in->row && f->left == 0;
    engine[SQ_INDEXED_JOB].job = (struct sq_job){.group_banks = in->groups, .groups = in->rows + 1};
    engine[SQ_INDEXED_ACT].valid = in->act;
    engine[SQ_INDEXED_OFFSET].valid = in->offset || f->owes_zero;
    engine[SQ_INDEXED_OFFSET].n = f->owes_zero ? 0 : sq_indexed_end(in->at, f->n_kept);
    engine[SQ_INDEXED_KEPT].valid = in->kept || f->left == 0;
}

void sq_indexed_take(const struct sq_indexed_feed *f, const struct sq_indexed_in *in,
                     const bool ready[SQ_STREAMS_MAX], struct sq_indexed_out *out)
{
    out->job_ready = ready[SQ_INDEXED_JOB] && in->row && f->left == 0;
    out->job_fires = out->row_ready = out->job_ready && in->job;
    out->act_ready = ready[SQ_INDEXED_ACT];
    out->offset_ready = ready[SQ_INDEXED_OFFSET] && !f->owes_zero;
    out->offset_fires = ready[SQ_INDEXED_OFFSET] && (in->offset || f->owes_zero);
    out->kept_ready = f->left > 0 && (ready[SQ_INDEXED_KEPT] || ready[SQ_INDEXED_JOB]);
    out->kept_fires = ready[SQ_INDEXED_KEPT] && (in->kept || f->left == 0);
}

void sq_indexed_clock(struct sq_indexed_feed *f, const struct sq_indexed_in *in,
                      const struct sq_indexed_out *out, bool last_leaves)
{
    f->jobs += (uint32_t)out->job_fires - (uint32_t)last_leaves;
    f->n_kept = out->job_fires ? in->n_kept : f->n_kept;
    f->left = out->job_fires ? in->n_kept : f->left - (in->kept && out->kept_ready);
    f->owes_zero = out->job_fires || (f->owes_zero && !out->offset_fires);
}
