// SPDX-License-Identifier: Apache-2.0
// The shrinker of sq_lockstep.h.
#include <string.h>

#include "sim/cosim/sq_lockstep.h"

enum { WHOLE = -1, SLACK_CYCLES = 200000, STORED_MAX = 1 << 24 }; // integers, of a case

// Beats come over and over.
static bool is_wrapped(const struct sq_case *c)
{
    bool is = false;
    for (unsigned s = 0; s < SQ_STREAMS_MAX; s++)
        is = is || c->wrap[s] > 0;
    return is;
}

static bool cut_group(const struct sq_case *c, unsigned way, int32_t *record, uint32_t *len)
{
    const struct sq_block *b = c->block;
    return (is_wrapped(c) ? b->cut_wrapped : b->cut)(c->point->value, way, record, len);
}

// Groups [from, from + n) of *c; group `cut` of them made smaller in one way of the block. False in
// *applies where that way does not apply; *out is then free.
static enum sq_status make(const struct sq_case *c, size_t from, size_t n, size_t cut, int way,
                           struct sq_case *out, bool *applies, struct sq_error *err)
{
    const struct sq_ports p = sq_ports_of(c->block, c->point->value);
    const size_t len = sq_field_offset(p.in, p.n_in);
    const int32_t *beat = c->beats;
    *out = *c;
    out->n_groups = n;
    SQ_TRY(sq_case_alloc(out, err));
    out->n_beats = 0;
    *applies = true;
    for (size_t g = 0; g < from + n && *applies; beat += sq_case_records(c, g) * len, g++) {
        if (g < from)
            continue;
        int32_t *const to = out->beats + out->n_beats * len;
        memcpy(out->len[g - from], c->len[g], sizeof *c->len);
        memcpy(to, beat, sq_case_records(c, g) * len * sizeof *beat);
        if (way != WHOLE && g == cut)
            *applies = cut_group(c, (unsigned)way, to, out->len[g - from]);
        out->n_beats += sq_case_records(out, g - from);
    }
    if (!*applies)
        sq_case_free(out);
    return SQ_OK;
}

// Whether a smaller case may stand for the larger: a beat that moves in a wrong cycle is not traded
// for a counter that is off at the end, which says less.
static bool says_as_much(const struct sq_mismatch *smaller, const struct sq_mismatch *larger)
{
    return smaller->kind != SQ_MISMATCH_NONE &&
           (smaller->kind != SQ_MISMATCH_COUNTER || larger->kind == SQ_MISMATCH_COUNTER);
}

// Runs the candidate, which is consumed; if it still fails it replaces *c. One that takes far
// longer than what failed (a job that only resets had cut off) counts as one that does not.
static enum sq_status try_case(struct sq_case *c, struct sq_case *candidate,
                               const struct sq_rtl_api *rtl, struct sq_result *result, bool *shrunk,
                               struct sq_error *err)
{
    struct sq_result r;
    const uint64_t max_cycles = candidate->max_cycles;
    const uint64_t enough = 4 * result->mismatch.cycle + SLACK_CYCLES;
    candidate->max_cycles = max_cycles > 0 && max_cycles < enough ? max_cycles : enough;
    const enum sq_status status = sq_lockstep_run(candidate, rtl, NULL, &r, err);
    candidate->max_cycles = max_cycles;
    if (status == SQ_OK && says_as_much(&r.mismatch, &result->mismatch)) {
        sq_case_free(c);
        *c = *candidate;
        *result = r;
        *shrunk = true;
    } else {
        sq_case_free(candidate);
    }
    return status;
}

// First half of the groups, second half, all but the first.
static enum sq_status drop_groups(struct sq_case *c, const struct sq_rtl_api *rtl,
                                  struct sq_result *result, bool *shrunk, struct sq_error *err)
{
    for (unsigned way = 0; way < 3; way++) {
        const size_t half = c->n_groups / 2, from = way == 0 ? 0 : way == 1 ? half : 1;
        const size_t n = way == 0 ? half : c->n_groups - from;
        struct sq_case smaller;
        bool applies;
        if (c->n_groups < 2 || n == 0 || n == c->n_groups)
            continue;
        SQ_TRY(make(c, from, n, 0, WHOLE, &smaller, &applies, err));
        SQ_TRY(try_case(c, &smaller, rtl, result, shrunk, err));
    }
    return SQ_OK;
}

static bool can_cut(const struct sq_case *c)
{
    return is_wrapped(c) ? c->block->cut_wrapped != NULL : c->block->cut != NULL;
}

enum { WAYS_MAX = 16 }; // of a block's cut
static enum sq_status cut_groups(struct sq_case *c, const struct sq_rtl_api *rtl,
                                 struct sq_result *result, bool *shrunk, struct sq_error *err)
{
    for (size_t g = 0; g < c->n_groups && can_cut(c); g++)
        for (int way = 0; way < WAYS_MAX; way++) {
            struct sq_case smaller;
            bool applies;
            SQ_TRY(make(c, 0, c->n_groups, g, way, &smaller, &applies, err));
            if (applies)
                SQ_TRY(try_case(c, &smaller, rtl, result, shrunk, err));
        }
    return SQ_OK;
}

// Beat i of every stream of a group that has one, where record i has it.
static void copy_record(const struct sq_case *c, const struct sq_ports *p, const uint32_t *n_beats,
                        const int32_t *group, uint32_t i, int32_t *to)
{
    const size_t len = sq_field_offset(p->in, p->n_in);
    for (size_t s = 0, f = 0; s < SQ_STREAMS_MAX && p->stream[s].n_fields > 0; s++) {
        const uint32_t from = c->wrap[s] > 0 ? i % c->wrap[s] : i;
        const size_t begin = sq_field_offset(p->in, f);
        f += p->stream[s].n_fields;
        const size_t end = sq_field_offset(p->in, f);
        if (i < n_beats[s])
            memcpy(to + begin, group + from * len + begin, (end - begin) * sizeof *to);
    }
}

static uint32_t longest(const uint32_t *len)
{
    uint32_t n = 0;
    for (unsigned s = 0; s < SQ_STREAMS_MAX; s++)
        n = len[s] > n ? len[s] : n;
    return n;
}

// The same beats, each of them stored: so that `cut` can take some away.
static enum sq_status unwrap(struct sq_case *c, const struct sq_rtl_api *rtl,
                             struct sq_result *result, bool *shrunk, struct sq_error *err)
{
    const struct sq_ports p = sq_ports_of(c->block, c->point->value);
    const size_t len = sq_field_offset(p.in, p.n_in);
    struct sq_case whole = *c;
    whole.n_beats = 0;
    for (size_t g = 0; g < c->n_groups; g++)
        whole.n_beats += longest(c->len[g]);
    if (!is_wrapped(c) || !c->block->cut || whole.n_beats > STORED_MAX / len)
        return SQ_OK;
    memset(whole.wrap, 0, sizeof whole.wrap);
    SQ_TRY(sq_case_alloc(&whole, err));
    memcpy(whole.len, c->len, c->n_groups * sizeof *c->len);
    const int32_t *group = c->beats;
    int32_t *to = whole.beats;
    for (size_t g = 0; g < c->n_groups; group += sq_case_records(c, g) * len, g++)
        for (uint32_t i = 0; i < longest(c->len[g]); i++, to += len)
            copy_record(c, &p, c->len[g], group, i, to);
    return try_case(c, &whole, rtl, result, shrunk, err);
}

static enum sq_status drop_resets(struct sq_case *c, const struct sq_rtl_api *rtl,
                                  struct sq_result *result, bool *shrunk, struct sq_error *err)
{
    struct sq_case smaller;
    bool applies;
    if (c->reset_every == 0)
        return SQ_OK;
    SQ_TRY(make(c, 0, c->n_groups, 0, WHOLE, &smaller, &applies, err));
    smaller.reset_every = 0;
    return try_case(c, &smaller, rtl, result, shrunk, err);
}

static enum sq_status free_streams(struct sq_case *c, const struct sq_rtl_api *rtl,
                                   struct sq_result *result, bool *shrunk, struct sq_error *err)
{
    for (unsigned i = 0; i < SQ_SIDES; i++) {
        struct sq_case smaller;
        bool applies;
        if (c->stall[i].kind == SQ_STALL_FREE)
            continue;
        SQ_TRY(make(c, 0, c->n_groups, 0, WHOLE, &smaller, &applies, err));
        smaller.stall[i] = (struct sq_stall){SQ_STALL_FREE, 1};
        SQ_TRY(try_case(c, &smaller, rtl, result, shrunk, err));
    }
    return SQ_OK;
}

// The environment that makes the least trouble.
static enum sq_status calm_env(struct sq_case *c, const struct sq_rtl_api *rtl,
                               struct sq_result *result, bool *shrunk, struct sq_error *err)
{
    struct sq_case smaller;
    bool applies;
    if (!c->block->env || c->env.kind == 0)
        return SQ_OK;
    SQ_TRY(make(c, 0, c->n_groups, 0, WHOLE, &smaller, &applies, err));
    smaller.env.kind = 0;
    memset(smaller.env.n, 0, sizeof smaller.env.n);
    return try_case(c, &smaller, rtl, result, shrunk, err);
}

// Fewer pieces of work of the environment: a half at either end goes, or one.
static enum sq_status drop_pieces(struct sq_case *c, const struct sq_rtl_api *rtl,
                                  struct sq_result *result, bool *shrunk, struct sq_error *err)
{
    for (unsigned way = 0; way < 4 && c->env.end - c->env.begin > 1; way++) {
        struct sq_case smaller;
        bool applies;
        const uint32_t n = c->env.end - c->env.begin, gone = way < 2 ? n / 2 : 1;
        SQ_TRY(make(c, 0, c->n_groups, 0, WHOLE, &smaller, &applies, err));
        smaller.env.begin += way % 2 ? gone : 0;
        smaller.env.end -= way % 2 ? 0 : gone;
        SQ_TRY(try_case(c, &smaller, rtl, result, shrunk, err));
    }
    return SQ_OK;
}

enum sq_status sq_shrink(struct sq_case *c, const struct sq_rtl_api *rtl, struct sq_result *result,
                         struct sq_error *err)
{
    for (bool shrunk = true; shrunk;) {
        shrunk = false;
        SQ_TRY(drop_groups(c, rtl, result, &shrunk, err));
        SQ_TRY(drop_resets(c, rtl, result, &shrunk, err));
        SQ_TRY(free_streams(c, rtl, result, &shrunk, err));
        SQ_TRY(calm_env(c, rtl, result, &shrunk, err));
        SQ_TRY(drop_pieces(c, rtl, result, &shrunk, err));
        if (!shrunk)
            SQ_TRY(cut_groups(c, rtl, result, &shrunk, err));
        if (!shrunk)
            SQ_TRY(unwrap(c, rtl, result, &shrunk, err));
    }
    return SQ_OK;
}
