// SPDX-License-Identifier: Apache-2.0
// Looks up what happens from tile to tile, from burst to burst (sq_chip_state.h).
#include "sim/machine/sq_chip_state.h"

#define ANY_LOAD UINT32_MAX // a step that is loaded, whichever

// What followed from a boundary, up to the next one or to where a step or a job is due. It was run with the counters `from` and
// ended with `left`: those of `exact` must be equal again, any other must be at least `from`, and goes down by that.
struct entry {
    uint32_t to;        // the state at its end
    uint32_t job, load; // sq_chip_given; ANY_LOAD: any, but not none
    uint32_t is_last;
    uint32_t loaded, posted; // at its end (sq_chip_feed)
    uint32_t exact;          // a bit for each counter
    struct sq_chip_counters from, left;
    struct sq_chip_stats stats;
};

// ---- what is kept -----------------------------------------------------------------------------------

uint32_t sq_chip_state_key(const struct sq_chip_setup *c, const struct sq_chip_state *w,
                           struct sq_memo *m)
{
    unsigned char packed[sizeof(struct sq_chip_state)];
    sq_chip_state_pack(c, w, packed);
    return sq_memo_add_key(m, packed, sq_chip_state_nbytes(c));
}

// ---- entries ----------------------------------------------------------------------------------------

static bool is_exact(const struct entry *p, unsigned counter)
{
    return p->exact >> counter & 1;
}

static bool fits(const struct entry *p, const struct sq_chip_counters *counters)
{
    bool fit = true;
    for (unsigned i = 0; i < SQ_CHIP_COUNTERS; i++)
        fit &= is_exact(p, i) ? counters->n[i] == p->from.n[i] : counters->n[i] >= p->from.n[i];
    return fit;
}

static void go(const struct entry *p, struct sq_chip_split *at)
{
    at->state = p->to;
    for (unsigned i = 0; i < SQ_CHIP_COUNTERS; i++)
        at->counters.n[i] = is_exact(p, i) ? p->left.n[i] : at->counters.n[i] - p->from.n[i];
}

// A counter that cannot have come near its end went down in a way that does not depend on it.
static struct entry entry_of(const struct sq_chip_setup *c, const struct sq_chip_walk *walk,
                             const struct sq_chip_given *given, const struct sq_chip_state *w,
                             const struct sq_chip_split *to, const struct sq_chip_feed *f)
{
    const bool is_any = given->load && !f->asked;
    struct entry p = {.to = to->state,
                      .job = given->job,
                      .load = is_any ? ANY_LOAD : given->load,
                      .is_last = given->is_last,
                      .loaded = f->loaded,
                      .posted = f->posted,
                      .stats = sq_chip_stats_since(&f->stats, &walk->record.stats)};
    const struct sq_chip_moves *const then = &walk->record.moves;
    const struct sq_chip_moves moves = {
        f->moves.reads - then->reads, f->moves.writes - then->writes,
        f->moves.handed - then->handed, f->moves.shown - then->shown,
        f->moves.scales - then->scales};
    struct sq_chip_counters most;
    const bool came = sq_chip_state_has_come(c, w) != walk->record.has_come;
    sq_chip_most(c, &p.stats, &moves, came, &most);
    for (unsigned i = 0; i < SQ_CHIP_COUNTERS; i++) {
        const uint32_t from = walk->record.at.counters.n[i], left = to->counters.n[i];
        if (from < most.n[i] || from == 0)
            p.exact |= 1u << i;
        p.from.n[i] = is_exact(&p, i) ? from : from - left;
        p.left.n[i] = left;
    }
    return p;
}

// ---- periods ----------------------------------------------------------------------------------------

// Periods like that since the mark which fit before a counter comes near its end. Counters that came near their ends in it
// must have the values that they had then.
static uint64_t periods_of(const struct sq_chip_period *period,
                           const struct sq_chip_counters *counters)
{
    uint64_t n = UINT64_MAX;
    for (unsigned i = 0; i < SQ_CHIP_COUNTERS; i++) {
        const uint32_t now = counters->n[i], then = period->at.counters.n[i];
        if (now == then)
            continue;
        if (now > then || period->exact >> i & 1)
            return 0;
        n = now / (then - now) < n ? now / (then - now) : n;
    }
    return n < UINT64_MAX ? n : 0; // nothing has an end: the run stands still
}

// At a boundary.
static void visit(struct sq_chip_period *period, struct sq_chip_split *at,
                  struct sq_chip_stats *stats)
{
    const uint64_t n =
        period->valid && period->at.state == at->state ? periods_of(period, &at->counters) : 0;
    if (n > 0) {
        const struct sq_chip_stats each = sq_chip_stats_since(stats, &period->stats);
        sq_chip_stats_add(stats, &each, n);
        for (unsigned i = 0; i < SQ_CHIP_COUNTERS; i++)
            at->counters.n[i] -= (uint32_t)n * (period->at.counters.n[i] - at->counters.n[i]);
        period->valid = false;
    } else if (!period->valid || ++period->seen >= period->until) {
        *period =
            (struct sq_chip_period){true, period->valid ? 2 * period->until : 1, 0, *at, *stats, 0};
    }
}

// ---- boundaries ------------------------------------------------------------------------------------

// The key of an entry that depends on what is loaded.
static struct sq_chip_key key_of(uint32_t state, uint32_t job, uint32_t load)
{
    return (struct sq_chip_key){state, job, load, 0};
}

static bool keep(struct sq_memo *m, const struct entry *p, uint32_t from)
{
    const struct sq_chip_key key = key_of(from, p->job, p->load);
    const uint32_t at = p->load == ANY_LOAD ? from : sq_memo_add_key(m, &key, sizeof key);
    return sq_memo_put(m, at, p, sizeof *p);
}

// An entry of the last job holds for no other one, nor one in which a job was posted for the last.
static bool is_of(const struct entry *p, const struct sq_chip_given *given)
{
    return p->job == given->job && (given->is_last ? !p->posted : !p->is_last);
}

static const struct entry *find(const struct sq_memo *m, uint32_t key,
                                const struct sq_chip_given *given,
                                const struct sq_chip_counters *counters)
{
    const struct entry *p = NULL;
    for (uint32_t i = sq_memo_first(m, key); i; i = sq_memo_next(m, i)) {
        p = sq_memo_entry(m, i);
        if (is_of(p, given) && fits(p, counters))
            return p;
    }
    return NULL;
}

// The entry of a boundary, or NULL. Most of them do not depend on what is loaded next.
static const struct entry *find_next(const struct sq_memo *m, const struct sq_chip_given *given,
                                     const struct sq_chip_split *at)
{
    const struct sq_chip_key key = key_of(at->state, given->job, given->load);
    const struct entry *const any = given->load ? find(m, at->state, given, &at->counters) : NULL;
    return any ? any : find(m, sq_memo_find(m, &key, sizeof key), given, &at->counters);
}

// Along entries as far as they are known, or to where a step or a job is due.
static void follow(const struct sq_memo *m, struct sq_chip_walk *walk,
                   const struct sq_chip_given *given, struct sq_chip_split *at,
                   struct sq_chip_feed *f)
{
    while (!f->loaded && !f->posted) {
        visit(&walk->period, at, &f->stats);
        const struct entry *const p = find_next(m, given, at);
        if (!p)
            return;
        go(p, at);
        sq_chip_stats_add(&f->stats, &p->stats, 1);
        walk->period.exact |= p->exact;
        f->loaded = p->loaded;
        f->posted = p->posted;
    }
}

bool sq_chip_tiles_go(const struct sq_chip_setup *c, struct sq_memo *m, struct sq_chip_walk *walk,
                      const struct sq_chip_given *given, struct sq_chip_state *w,
                      struct sq_chip_feed *f)
{
    struct sq_chip_split at;
    size_t nbytes;
    if (f->posted)
        w->pending = 0; // follows from the job
    sq_chip_state_settle(c, w);
    sq_chip_state_split(c, w, &at.counters);
    at.state = sq_chip_state_key(c, w, m);
    const uint32_t here = at.state;
    if (!here)
        return false;
    if (walk->record.valid) {
        const struct entry p = entry_of(c, walk, given, w, &at, f);
        walk->period.exact |= p.exact;
        if (!keep(m, &p, walk->record.at.state))
            return false;
    }
    follow(m, walk, given, &at, f);
    if (at.state != here)
        sq_chip_state_unpack(c, sq_memo_key(m, at.state, &nbytes), w);
    sq_chip_state_join(c, w, &at.counters);
    walk->record.valid = true;
    walk->record.at = at;
    walk->record.stats = f->stats;
    walk->record.moves = f->moves;
    walk->record.has_come = sq_chip_state_has_come(c, w);
    f->asked = false;
    return true;
}
