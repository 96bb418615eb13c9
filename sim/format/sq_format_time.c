// SPDX-License-Identifier: Apache-2.0
// Time and traffic, through the table of the format (sq_cost.h).
#include "sim/format/sq_cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/block/core/sq_core_run.h"
#include "sim/format/sq_format_ops.h"
#include "sim/synth/sq_area_block.h"

const char *sq_stream_name(enum sq_stream_id id)
{
    static const char *const names[SQ_N_STREAMS] = {"act",   "act_scale", "lo",  "hi",
                                                    "index", "scale",     "out", "partial"};
    return names[id];
}

enum sq_status sq_cost_check(const struct sq_recipe *r, struct sq_error *err)
{
    return r->format->cost->check(r, err);
}

bool sq_cost_is_core(const struct sq_recipe *r)
{
    return r->format->cost->is_core;
}

// ---- jobs -----------------------------------------------------------------------------------

void sq_cost_unit(const struct sq_recipe *r, const struct sq_core_config *has, uint64_t m,
                  uint64_t k, struct sq_cost_unit *u)
{
    memset(u, 0, sizeof *u); // with the padding: units are compared by their bytes
    u->unit.kind = SQ_UNIT_ARRAY;
    u->unit.stages = SQ_ARRAY_STAGES_PLAIN;
    u->unit.output.form = SQ_COMBINE_ONE;
    u->unit.output.pairs = 1;
    u->stored = k;
    u->flush = r->group;
    u->span_beats = 1;
    u->low = 1;
    u->rows = u->weight_rows = has->rows;
    u->lines = has->cols;
    u->abreast = 1;
    u->weight_share = 1;
    r->format->cost->unit(r, has, m, k, u);
    if (u->step == 0)
        u->step = u->flush ? u->flush : SQ_BANK_MAX;
}

uint64_t sq_cost_beats(const struct sq_cost_unit *u, uint64_t elements)
{
    return (elements + u->span - 1) / u->span * u->span_beats;
}

unsigned sq_cost_engines(struct sq_cost_unit *u, const struct sq_core_config *has, unsigned a,
                         unsigned b)
{
    u->low_lanes = sq_cost_products(has, a, b);
    return has->rows * has->cols * u->low_lanes / u->multipliers;
}

void sq_cost_job(const struct sq_recipe *r, const struct sq_cost_unit *u, uint64_t elements,
                 struct sq_unit_job *job)
{
    const uint64_t flush = u->flush ? u->flush : elements;
    job->flushes = (uint32_t)((elements + flush - 1) / flush);
    if (u->multipliers > 0) {
        job->flushes = 1;
        job->beats = r->format->cost->draw(r, u, elements, NULL);
        job->loads = (uint32_t)((elements + u->load - 1) / u->load);
        return;
    }
    job->beats = (uint32_t)sq_cost_beats(u, flush);
}

// ---- engines side by side -------------------------------------------------------------------

bool sq_cost_draw(const struct sq_recipe *r, const struct sq_cost_unit *u, uint64_t elements,
                  uint64_t seed, struct sq_cost_counts *c)
{
    struct sq_rng rng = {seed};
    if (!r->format->cost->draw)
        return false;
    for (uint32_t i = 0; i < c->n; i++)
        for (unsigned e = 0; e < sq_cost_counted(u); e++)
            c->count[i][e] = r->format->cost->draw(r, u, elements, &rng);
    return true;
}

// Work of an engine in an entry of the list: where it has none it may have to do as much as for one.
static uint64_t effort(const struct sq_cost_unit *u, uint32_t work)
{
    const uint32_t least = sq_unit_least_work(&u->unit);
    return work > least ? work : least;
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

static unsigned slowest(const struct sq_cost_unit *u, const struct sq_cost_counts *c)
{
    const unsigned engines = sq_cost_counted(u);
    uint64_t sum[2][SQ_LINES_MAX] = {{0}}; // of entries that are taken once more, of the others
    uint64_t most = 0;
    unsigned at = 0;
    for (uint32_t i = 0; i < c->n; i++)
        for (unsigned e = 0; e < engines; e++)
            sum[i >= c->all % c->n][e] += effort(u, c->count[i][e]);
    for (unsigned e = 0; e < engines; e++) {
        const uint64_t all = turns_of(sum[0], engines, e, c->all / c->n + 1) +
                             turns_of(sum[1], engines, e, c->all / c->n);
        at = all > most ? e : at;
        most = all > most ? all : most;
    }
    return at;
}

void sq_cost_tiles(const struct sq_recipe *r, const struct sq_cost_unit *u, uint64_t elements,
                   const struct sq_cost_counts *c, struct sq_tile_work tile[SQ_TILES_DRAWN],
                   double kept[SQ_TILES_DRAWN])
{
    const struct sq_format_cost *const cost = r->format->cost;
    const bool is_even = cost->is_even && cost->is_even(r);
    const unsigned engines = sq_cost_counted(u), e = is_even ? 0 : slowest(u, c);
    uint64_t ahead = 0, behind = 0; // of the mean, `engines` times
    for (uint32_t i = 0; i < c->n; i++) {
        const uint64_t times = sq_cost_times(c, i);
        uint64_t all = 0, of[SQ_LINES_MAX];
        for (unsigned j = 0; j < engines; j++)
            all += of[j] = c->count[i][j];
        const double mean = (double)all / engines;
        const uint64_t work = is_even ? (all + engines - 1) / engines
                                      : (turns_of(of, engines, e, times) + times / 2) / times;
        ahead += is_even ? all : work * engines;
        behind += all;
        uint64_t idle = ahead > behind ? (ahead - behind) / engines : 0;
        idle = idle < work ? idle : work;
        behind += idle * engines;
        tile[i] = (struct sq_tile_work){(uint32_t)work, (uint32_t)idle};
        kept[i] = cost->kept ? cost->kept(r, elements, mean) : 1;
    }
}

enum sq_status sq_cost_own_new(struct sq_own *own, size_t n, size_t n_pieces, unsigned piece,
                               struct sq_error *err)
{
    *own = (struct sq_own){n, n_pieces, piece, calloc(n * (n_pieces + 1), sizeof *own->before)};
    return SQ_HAVE(own->before, err, "%zu rows of %zu pieces", n, n_pieces);
}

double sq_cost_own_sum(struct sq_own *own)
{
    double sum = 0;
    for (size_t row = 0; row < own->n; row++) {
        uint32_t *before = own->before + row * (own->n_pieces + 1);
        for (size_t p = 0; p < own->n_pieces; p++)
            before[p + 1] += before[p];
        sum += before[own->n_pieces];
    }
    return sum;
}

bool sq_cost_has_own(const struct sq_recipe *r)
{
    return r->rows && r->format->cost->own;
}

void sq_cost_own(const struct sq_cost_unit *u, const struct sq_own *own, uint64_t row,
                 uint64_t first, uint64_t elements, uint32_t count[SQ_LINES_MAX])
{
    const unsigned engines = sq_cost_counted(u);
    const unsigned height = sq_unit_is_of_tokens(&u->unit) ? 1 : u->lines;
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

const char *sq_cost_law(const struct sq_recipe *r)
{
    return r->format->cost->draw ? r->format->cost->law : NULL;
}

uint64_t sq_cost_lead_in(const struct sq_recipe *r, uint64_t k)
{
    return r->format->cost->lead_in ? r->format->cost->lead_in(r, k) : 0;
}

double sq_cost_act_nbits(const struct sq_recipe *r)
{
    if (r->operand == SQ_OPERAND_WEIGHTS)
        return 32; // they stay as they are
    return r->format->cost->act_nbits ? r->format->cost->act_nbits(r) : sq_recipe_act_bits(r);
}

void sq_cost_nbytes(const struct sq_recipe *r, uint64_t m, uint64_t n, uint64_t m_all,
                    const struct sq_stretch *t, uint64_t nbytes[SQ_N_STREAMS])
{
    const struct sq_format_ops *f = r->format;
    for (unsigned id = SQ_STREAM_LO; id <= SQ_STREAM_SCALE; id++)
        nbytes[id] = 0;
    f->cost->weight_nbytes(r, n, m_all, t, nbytes);
    nbytes[SQ_STREAM_ACT] = m * sq_cost_bytes((double)t->elements * sq_cost_act_nbits(r));
    const unsigned n_scales = f->cost->n_act_scales ? f->cost->n_act_scales(r) : 1;
    nbytes[SQ_STREAM_ACT_SCALE] = 4 * n_scales * m;
}

uint64_t sq_cost_weight_nbytes(const uint64_t nbytes[SQ_N_STREAMS])
{
    return nbytes[SQ_STREAM_LO] + nbytes[SQ_STREAM_HI] + nbytes[SQ_STREAM_INDEX] +
           nbytes[SQ_STREAM_SCALE];
}

// ---- for the formats ------------------------------------------------------------------------

unsigned sq_cost_products(const struct sq_core_config *has, unsigned a, unsigned b)
{
    const unsigned cells =
        (has->low_lanes * has->low_bits + has->high_lanes * has->high_bits) * has->act_bits;
    return cells / (a * b) > 0 ? cells / (a * b) : 1;
}

void sq_cost_pieces(struct sq_cost_unit *u, unsigned size, double per_cycle)
{
    const double pieces = floor(per_cycle / size + 1e-9);
    u->span = pieces >= 1 ? (unsigned)pieces * size : size;
    u->span_beats = pieces >= 1 ? 1 : (unsigned)ceil(size / per_cycle - 1e-9);
}

void sq_cost_banks(struct sq_cost_unit *u, const struct sq_format *f)
{
    struct sq_core_config *core = &u->unit.core;
    core->bank = f->bank;
    core->high_per_bank = f->high_per_bank;
    core->low_lanes = u->low_lanes;
    (void)sq_core_join_banks(core, f->group);
    core->high_lanes = u->high_lanes < core->bank ? u->high_lanes : core->bank;
    u->span = core->bank;
    u->high = (double)f->high_per_bank / f->bank;
}

void sq_cost_pe_add(struct sq_cost_pe *pe, unsigned count, const struct sq_synth_block *part)
{
    pe->part[pe->n_parts] = *part;
    pe->count[pe->n_parts++] = count;
}

void sq_cost_pe_dense(struct sq_cost_pe *pe, unsigned lanes, unsigned a, unsigned b)
{
    const struct sq_synth_block dense = {
        .top = "sq_pe_dense", .n_params = 3, .param = {{"Lanes", lanes}, {"AW", a}, {"BW", b}}};
    if (a <= 8 && b <= 8)
        sq_cost_pe_add(pe, 1, &dense);
}

void sq_cost_pe_fp_mac(struct sq_cost_pe *pe, unsigned lanes, bool is_half)
{
    const struct sq_synth_block lane = {
        .top = "sq_fp_mac", .n_params = 2, .param = {{"Lanes", 1}, {"IsHalf", is_half}}};
    sq_cost_pe_add(pe, lanes, &lane);
}

void sq_cost_pe_core(struct sq_cost_pe *pe, const struct sq_core_config *core)
{
    const struct sq_area_item item = {.kind = SQ_AREA_PE, .config = *core};
    const struct sq_synth_block block = sq_area_synth(&item);
    sq_cost_pe_add(pe, 1, &block);
}

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
uint32_t sq_cost_binomial(struct sq_rng *rng, uint64_t n, double p)
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

uint64_t sq_cost_bytes(double nbits)
{
    return (uint64_t)ceil(nbits / 8 - 1e-6);
}

enum sq_status sq_cost_check_act(const struct sq_recipe *r, bool has_16, struct sq_error *err)
{
    const unsigned bits = sq_recipe_act_bits(r);
    if (bits != 4 && bits != 8 && !(has_16 && bits == 16))
        return SQ_FAIL(err, SQ_ERR_RANGE, "act-bits = %u, need 4%s for %s", bits,
                       has_16 ? ", 8 or 16" : " or 8", r->format->name);
    return SQ_OK;
}
