// SPDX-License-Identifier: Apache-2.0
// Keeps what happens from turn to turn, and goes along it (sq_chip_world.h).
#include "sim/machine/sq_chip_world.h"

#define ANY_LOAD UINT32_MAX // a step that is loaded, whichever

// From one turn of a stretch to the next, or to where a step or a job is due. It was run with counters as far as `from` and
// ended with `left`: those of `exact` must be so again, any other must be at least `from` far, and goes down by that.
struct sq_chip_piece {
    uint32_t to;        // the world at its end
    uint32_t job, load; // sq_chip_given; ANY_LOAD: any, but not none
    uint32_t is_last;
    uint32_t loaded, posted; // at its end (sq_chip_feed)
    uint32_t exact;          // a bit for each counter
    struct sq_chip_far from, left;
    struct sq_chip_stats stats;
};

// ---- what is kept -----------------------------------------------------------------------------------

uint32_t sq_chip_world_key(const struct sq_chip_setup *c, const struct sq_chip_world *w,
                           struct sq_memo *m)
{
    unsigned char packed[sizeof(struct sq_chip_world)];
    sq_chip_world_pack(c, w, packed);
    return sq_memo_add_key(m, packed, sq_chip_world_nbytes(c));
}

// ---- pieces -----------------------------------------------------------------------------------------

static bool is_exact(const struct sq_chip_piece *p, unsigned counter)
{
    return p->exact >> counter & 1;
}

static bool fits(const struct sq_chip_piece *p, const struct sq_chip_far *far)
{
    bool fit = true;
    for (unsigned i = 0; i < SQ_CHIP_COUNTERS; i++)
        fit &= is_exact(p, i) ? far->by[i] == p->from.by[i] : far->by[i] >= p->from.by[i];
    return fit;
}

static void go(const struct sq_chip_piece *p, struct sq_chip_place *at)
{
    at->world = p->to;
    for (unsigned i = 0; i < SQ_CHIP_COUNTERS; i++)
        at->far.by[i] = is_exact(p, i) ? p->left.by[i] : at->far.by[i] - p->from.by[i];
}

// A counter that cannot have come near its end went down in a way that does not depend on it.
static struct sq_chip_piece piece_of(const struct sq_chip_setup *c, const struct sq_chip_walk *walk,
                                     const struct sq_chip_given *given,
                                     const struct sq_chip_world *w, const struct sq_chip_place *to,
                                     const struct sq_chip_feed *f)
{
    const bool is_any = given->load && !f->asked;
    struct sq_chip_piece p = {.to = to->world,
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
    struct sq_chip_far most;
    const bool came = sq_chip_world_has_come(c, w) != walk->record.has_come;
    sq_chip_most(c, &p.stats, &moves, came, &most);
    for (unsigned i = 0; i < SQ_CHIP_COUNTERS; i++) {
        const uint32_t from = walk->record.at.far.by[i], left = to->far.by[i];
        if (from < most.by[i] || from == 0)
            p.exact |= 1u << i;
        p.from.by[i] = is_exact(&p, i) ? from : from - left;
        p.left.by[i] = left;
    }
    return p;
}

// ---- laps -------------------------------------------------------------------------------------------

// Laps like that since the mark that fit before a counter comes near its end. Those that came near theirs since then must
// have their values of then.
static uint64_t laps_of(const struct sq_chip_lap *lap, const struct sq_chip_far *far)
{
    uint64_t n = UINT64_MAX;
    for (unsigned i = 0; i < SQ_CHIP_COUNTERS; i++) {
        const uint32_t now = far->by[i], then = lap->at.far.by[i];
        if (now == then)
            continue;
        if (now > then || lap->exact >> i & 1)
            return 0;
        n = now / (then - now) < n ? now / (then - now) : n;
    }
    return n < UINT64_MAX ? n : 0; // nothing has an end: the run stands still
}

// At a turn.
static void visit_turn(struct sq_chip_lap *lap, struct sq_chip_place *at,
                       struct sq_chip_stats *stats)
{
    const uint64_t n = lap->valid && lap->at.world == at->world ? laps_of(lap, &at->far) : 0;
    if (n > 0) {
        const struct sq_chip_stats each = sq_chip_stats_since(stats, &lap->stats);
        sq_chip_stats_add(stats, &each, n);
        for (unsigned i = 0; i < SQ_CHIP_COUNTERS; i++)
            at->far.by[i] -= (uint32_t)n * (lap->at.far.by[i] - at->far.by[i]);
        lap->valid = false;
    } else if (!lap->valid || ++lap->seen >= lap->until) {
        *lap = (struct sq_chip_lap){true, lap->valid ? 2 * lap->until : 1, 0, *at, *stats, 0};
    }
}

// ---- turns ------------------------------------------------------------------------------------------

// The key of a piece that asks what is loaded.
static struct sq_chip_key key_of(uint32_t world, uint32_t job, uint32_t load)
{
    return (struct sq_chip_key){world, job, load, 0};
}

static bool keep_piece(struct sq_memo *m, const struct sq_chip_piece *p, uint32_t from)
{
    const struct sq_chip_key key = key_of(from, p->job, p->load);
    const uint32_t at = p->load == ANY_LOAD ? from : sq_memo_add_key(m, &key, sizeof key);
    struct sq_chip_piece *const new = at ? sq_memo_add(m, at, sizeof *new) : NULL;
    if (new)
        *new = *p;
    return new;
}

// Where no job is left to be posted, that says nothing of where one is, and the other way round if one was.
static bool is_of(const struct sq_chip_piece *p, const struct sq_chip_given *given)
{
    return p->job == given->job && (given->is_last ? !p->posted : !p->is_last);
}

static const struct sq_chip_piece *find_piece(const struct sq_memo *m, uint32_t key,
                                              const struct sq_chip_given *given,
                                              const struct sq_chip_far *far)
{
    const struct sq_chip_piece *p = NULL;
    for (uint32_t i = sq_memo_first(m, key); i; i = sq_memo_next(m, i)) {
        p = sq_memo_entry(m, i);
        if (is_of(p, given) && fits(p, far))
            return p;
    }
    return NULL;
}

// The piece from a turn that was run before, or NULL. In most of them nothing asks what is loaded next.
static const struct sq_chip_piece *find_next(const struct sq_memo *m,
                                             const struct sq_chip_given *given,
                                             const struct sq_chip_place *at)
{
    const struct sq_chip_key key = key_of(at->world, given->job, given->load);
    const struct sq_chip_piece *const any =
        given->load ? find_piece(m, at->world, given, &at->far) : NULL;
    return any ? any : find_piece(m, sq_memo_find(m, &key, sizeof key), given, &at->far);
}

// Along pieces that were run before, as far as they go or to where a step or a job is due.
static void follow(const struct sq_memo *m, struct sq_chip_walk *walk,
                   const struct sq_chip_given *given, struct sq_chip_place *at,
                   struct sq_chip_feed *f)
{
    while (!f->loaded && !f->posted) {
        visit_turn(&walk->lap, at, &f->stats);
        const struct sq_chip_piece *const p = find_next(m, given, at);
        if (!p)
            return;
        go(p, at);
        sq_chip_stats_add(&f->stats, &p->stats, 1);
        walk->lap.exact |= p->exact;
        f->loaded = p->loaded;
        f->posted = p->posted;
    }
}

bool sq_chip_turn(const struct sq_chip_setup *c, struct sq_memo *m, struct sq_chip_walk *walk,
                  const struct sq_chip_given *given, struct sq_chip_world *w,
                  struct sq_chip_feed *f)
{
    struct sq_chip_place at;
    size_t nbytes;
    if (f->posted)
        w->pending = 0; // follows from the job
    sq_chip_world_settle(c, w);
    sq_chip_world_cut(c, w, &at.far);
    if (sq_memo_nbytes(m) > SQ_CHIP_STATES_NBYTES) {
        sq_memo_forget(m);
        walk->record.valid = walk->lap.valid = false;
    }
    at.world = sq_chip_world_key(c, w, m);
    const uint32_t here = at.world;
    if (!here)
        return false;
    if (walk->record.valid) {
        const struct sq_chip_piece p = piece_of(c, walk, given, w, &at, f);
        walk->lap.exact |= p.exact;
        if (!keep_piece(m, &p, walk->record.at.world))
            return false;
    }
    follow(m, walk, given, &at, f);
    if (at.world != here)
        sq_chip_world_unpack(c, sq_memo_key(m, at.world, &nbytes), w);
    sq_chip_world_uncut(c, w, &at.far);
    walk->record.valid = true;
    walk->record.at = at;
    walk->record.stats = f->stats;
    walk->record.moves = f->moves;
    walk->record.has_come = sq_chip_world_has_come(c, w);
    f->asked = false;
    return true;
}
