// SPDX-License-Identifier: Apache-2.0
// Draws waiting cycles, and steps sources and sinks (sq_stream.h).
#include "sim/block/flow/sq_stream.h"

#include <string.h>

// Waiting cycles before the next beat.
static uint32_t draw(struct sq_source *s)
{
    const uint32_t n = s->stall.n;
    switch (s->stall.kind) {
    case SQ_STALL_INTERVAL:
        return n - 1;
    case SQ_STALL_RANDOM:
        return sq_rng_below(&s->rng, 2) ? sq_rng_below(&s->rng, n + 1) : 0;
    case SQ_STALL_BURST:
        if (s->burst > 0) {
            s->burst--;
            return 0;
        }
        s->burst = sq_rng_below(&s->rng, n);
        return sq_rng_below(&s->rng, 4 * n + 1);
    case SQ_STALL_STARVE:
        return sq_rng_below(&s->rng, n) == 0 ? 16 * n : 0;
    case SQ_STALL_IDLE:
        return n;
    case SQ_STALL_FREE:
        break;
    }
    return 0;
}

void sq_source_init(struct sq_source *s, const struct sq_stall *stall, uint64_t seed)
{
    memset(s, 0, sizeof *s);
    s->stall = *stall;
    s->rng.state = seed;
    // A periodic stream starts with a beat, so that its phase does not depend on the draw.
    s->wait = stall->kind == SQ_STALL_INTERVAL ? 0 : draw(s);
}

bool sq_source_valid(const struct sq_source *s)
{
    return s->left > 0 && s->wait == 0;
}

bool sq_sink_ready(const struct sq_source *s)
{
    return s->wait == 0;
}

void sq_source_clock(struct sq_source *s, bool fired, bool ready)
{
    if (fired) {
        s->left--;
        s->wait = draw(s);
    } else if (s->wait > 0 && (ready || s->stall.kind != SQ_STALL_IDLE)) {
        s->wait--;
    }
}

void sq_sink_clock(struct sq_source *s, bool fired)
{
    const bool periodic = s->stall.kind == SQ_STALL_INTERVAL;
    if (s->wait > 0)
        s->wait--;
    else if (fired || !periodic)
        s->wait = draw(s);
}

void sq_streams_init(struct sq_streams *e, const struct sq_stall stall[4], uint64_t seed)
{
    sq_source_init(&e->act, &stall[0], seed * 4);
    sq_source_init(&e->lo, &stall[1], seed * 4 + 1);
    sq_source_init(&e->hi, &stall[2], seed * 4 + 2);
    sq_source_init(&e->out, &stall[3], seed * 4 + 3);
}

void sq_streams_add(struct sq_streams *e, const struct sq_core_config *config,
                    const struct sq_job *job)
{
    e->act.left += sq_job_low_beats(config, job);
    e->lo.left += sq_job_low_beats(config, job);
    e->hi.left += sq_job_high_beats(config, job);
}

void sq_streams_drive(const struct sq_streams *e, struct sq_core_in *in)
{
    in->act_valid = sq_source_valid(&e->act);
    in->lo_valid = sq_source_valid(&e->lo);
    in->hi_valid = sq_source_valid(&e->hi);
    in->out_ready = sq_sink_ready(&e->out);
}

void sq_streams_clock(struct sq_streams *e, const struct sq_core_in *in,
                      const struct sq_core_out *out)
{
    sq_source_clock(&e->act, in->act_valid && out->act_ready, out->act_ready);
    sq_source_clock(&e->lo, in->lo_valid && out->lo_ready, out->lo_ready);
    sq_source_clock(&e->hi, in->hi_valid && out->hi_ready, out->hi_ready);
    sq_sink_clock(&e->out, in->out_ready && out->out_valid);
}
