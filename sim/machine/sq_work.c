// SPDX-License-Identifier: Apache-2.0
// Computes from the numbers of a demand the bytes and the work of a stretch of K (sq_work.h).
#include "sim/machine/sq_work.h"

#include <math.h>

#include "models/sq_rng.h"
#include "sim/block/flow/sq_unit_engine.h"

uint64_t sq_work_beats(const struct sq_cost_unit *u, uint64_t elements)
{
    return (elements + u->span - 1) / u->span * u->span_beats;
}

// ---- bytes ----------------------------------------------------------------------------------

static uint64_t bytes_of(double nbits)
{
    return (uint64_t)ceil(nbits / 8 - 1e-6);
}

void sq_work_nbytes(const struct sq_demand *d, uint64_t m, uint64_t n, const struct sq_stretch *t,
                    uint64_t nbytes[SQ_N_STREAMS])
{
    const uint64_t channels = (n + d->channels - 1) / d->channels * d->channels;
    for (unsigned id = SQ_STREAM_LO; id <= SQ_STREAM_SCALE; id++) {
        const struct sq_demand_bytes *const b = &d->of[id];
        const double nbits = b->element * (double)t->elements + b->bank * (double)t->banks;
        nbytes[id] = d->is_joint
                         ? bytes_of(nbits * (double)channels)
                         : channels * (bytes_of(nbits) + b->group * t->groups + b->end * t->at_end);
    }
    nbytes[SQ_STREAM_ACT] = m * bytes_of((double)t->elements * d->act_nbits);
    nbytes[SQ_STREAM_ACT_SCALE] = 4 * d->n_act_scales * m;
}

// ---- random work ----------------------------------------------------------------------------

// The probability that the sum of 4 numbers that are uniform in 0..1 is at most s.
static double share_of_sums(double s)
{
    const double up[] = {1, -4, 6, -4};
    double share = 0;
    for (unsigned i = 0; i < 4 && s > i; i++)
        share += up[i] * pow(s - i, 4) / 24;
    return share;
}

// The least count that so large a share of n trials does not pass.
static uint32_t quantile(uint64_t n, double p, double share)
{
    double sum = 0;
    for (uint32_t count = 0; count < n; count++) {
        double term = 1;
        for (uint32_t i = 0; i < count; i++)
            term *= p * (double)(n - i) / (i + 1);
        sum += term * pow(1 - p, (double)(n - count));
        if (sum >= share)
            return count;
    }
    return (uint32_t)n;
}

// The same four numbers for any n, so that more trials never have fewer successes.
static uint32_t binomial(struct sq_rng *rng, uint64_t n, double p)
{
    enum { EXACT = 16, UNIFORMS = 4 }; // the sum of 4 uniform numbers has variance 1/3
    if (!rng)
        return (uint32_t)llround((double)n * p);
    double z = -UNIFORMS / 2.;
    for (unsigned i = 0; i < UNIFORMS; i++)
        z += sq_rng_unit(rng);
    const double trials = n < EXACT ? EXACT : (double)n, mean = trials * p;
    const uint32_t count =
        (uint32_t)llround(fmin(fmax(mean + z * sqrt(3 * mean * (1 - p)), 0), trials));
    if (n >= EXACT)
        return count;
    const uint32_t few = quantile(n, p, share_of_sums(z + UNIFORMS / 2.));
    return few < count ? few : count;
}

static uint64_t trials(const struct sq_demand_work *w, uint64_t elements)
{
    return w->times * ((elements + w->piece - 1) / w->piece);
}

// rng = NULL: the mean.
static uint32_t draw(const struct sq_demand_work *w, uint64_t elements, struct sq_rng *rng)
{
    return binomial(w->is_fixed ? NULL : rng, trials(w, elements), w->p);
}

void sq_work_job(const struct sq_demand *d, uint64_t elements, struct sq_unit_job *job)
{
    const struct sq_cost_unit *const u = &d->cost;
    const uint64_t flush = u->flush ? u->flush : elements;
    job->flushes = (uint32_t)((elements + flush - 1) / flush);
    if (u->multipliers > 0) {
        job->flushes = 1;
        job->beats = draw(&d->work, elements, NULL);
        job->loads = (uint32_t)((elements + u->load - 1) / u->load);
        return;
    }
    job->beats = (uint32_t)sq_work_beats(u, flush);
}

bool sq_work_draw(const struct sq_demand *d, uint64_t elements, uint64_t seed,
                  struct sq_cost_counts *c)
{
    struct sq_rng rng = {seed};
    if (d->work.times == 0)
        return false;
    for (uint32_t i = 0; i < c->n; i++)
        for (unsigned e = 0; e < sq_cost_counted(&d->cost); e++)
            c->count[i][e] = draw(&d->work, elements, &rng);
    return true;
}

// ---- engines side by side -------------------------------------------------------------------

// The share of its products that a tile of this mean work makes.
static double share_of(const struct sq_demand *d, uint64_t elements, double mean)
{
    if (!d->work.is_share)
        return 1;
    return d->work.full > 0 ? mean / ((double)trials(&d->work, elements) * d->work.full) : 0;
}

// Work of an engine in an entry of the list: where it has none it may have to do as much as for one.
static uint64_t effort(const struct sq_cost_unit *u, uint32_t work)
{
    return work > u->least ? work : u->least;
}

// What engine e has in so many turns, in each of which it takes the work of the next engine.
static uint64_t turns_of(const uint64_t *work, unsigned engines, unsigned e, uint64_t times)
{
    uint64_t round = 0, rest = 0;
    for (unsigned t = 0; t < engines; t++)
        round += work[t];
    for (unsigned t = 0; t < times % engines; t++)
        rest += work[(e + t) % engines];
    return times / engines * round + rest;
}

// What an engine has in an entry of the list, a mean.
static uint64_t mean_of(const uint64_t *work, unsigned engines, unsigned e, uint64_t times)
{
    return (turns_of(work, engines, e, times) + times / 2) / times;
}

// The engine whose job takes longest. Where the first entry matters on its own, cycles are compared, else work.
static unsigned slowest(const struct sq_cost_unit *u, uint64_t elements,
                        const struct sq_cost_counts *c)
{
    const struct sq_unit_engine *const engine = u->unit.engine;
    const bool has_late = engine && engine->late;
    const unsigned engines = sq_cost_counted(u);
    const uint64_t times = sq_cost_times(c, 0);
    const uint64_t loads = has_late ? (elements + u->load - 1) / u->load : 0;
    uint64_t first[SQ_LINES_MAX];          // of the first entry
    uint64_t sum[2][SQ_LINES_MAX] = {{0}}; // of entries that are taken once more, of the others
    uint64_t most = 0;
    unsigned at = 0;
    for (uint32_t i = 0; i < c->n; i++)
        for (unsigned e = 0; e < engines; e++)
            sum[i >= c->all % c->n][e] += effort(u, c->count[i][e]);
    for (unsigned e = 0; e < engines; e++)
        first[e] = c->count[0][e];
    for (unsigned e = 0; e < engines; e++) {
        uint64_t all = turns_of(sum[0], engines, e, c->all / c->n + 1) +
                       turns_of(sum[1], engines, e, c->all / c->n);
        if (has_late)
            all = c->repeats * engine->pace * all +
                  engine->late(loads, mean_of(first, engines, e, times));
        at = all > most ? e : at;
        most = all > most ? all : most;
    }
    return at;
}

void sq_work_tiles(const struct sq_demand *d, uint64_t elements, const struct sq_cost_counts *c,
                   struct sq_tile_work tile[SQ_TILES_DRAWN], double kept[SQ_TILES_DRAWN])
{
    const bool is_even = d->work.is_even;
    const unsigned engines = sq_cost_counted(&d->cost),
                   e = is_even ? 0 : slowest(&d->cost, elements, c);
    uint64_t ahead = 0, behind = 0; // of the mean, `engines` times
    for (uint32_t i = 0; i < c->n; i++) {
        const uint64_t times = sq_cost_times(c, i);
        uint64_t all = 0, of[SQ_LINES_MAX];
        for (unsigned j = 0; j < engines; j++)
            all += of[j] = c->count[i][j];
        const double mean = (double)all / engines;
        const uint64_t work =
            is_even ? (all + engines - 1) / engines : mean_of(of, engines, e, times);
        ahead += is_even ? all : work * engines;
        behind += all;
        uint64_t idle = ahead > behind ? (ahead - behind) / engines : 0;
        idle = idle < work ? idle : work;
        behind += idle * engines;
        tile[i] = (struct sq_tile_work){(uint32_t)work, (uint32_t)idle};
        kept[i] = share_of(d, elements, mean);
    }
}

void sq_work_own(const struct sq_demand *d, uint64_t row, uint64_t first, uint64_t elements,
                 uint32_t count[SQ_LINES_MAX])
{
    const struct sq_cost_unit *const u = &d->cost;
    const struct sq_own *const own = d->own;
    const unsigned engines = sq_cost_counted(u);
    const unsigned height = u->is_of_tokens ? 1 : u->lines;
    uint64_t from = first / own->piece, to = (first + elements + own->piece - 1) / own->piece;
    to = to < own->n_pieces ? to : own->n_pieces; // padding has none
    from = from < to ? from : to;
    for (unsigned e = 0; e < engines; e++) {
        const uint64_t at = row + (uint64_t)e * u->engines / engines * height;
        count[e] = 0;
        for (uint64_t i = at; i < at + height && i < own->n; i++) {
            const uint32_t *const before = own->before + i * (own->n_pieces + 1);
            count[e] += before[to] - before[from];
        }
    }
}
