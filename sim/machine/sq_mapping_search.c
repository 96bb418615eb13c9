// SPDX-License-Identifier: Apache-2.0
// The mappings that a machine may take.
#include "sim/machine/sq_mapping_layout.h"

#include <stddef.h>
#include <string.h>

#include "sim/format/sq_format_ops.h"
#include "sim/io/sq_checked.h"

// All, then the powers of two below.
static uint64_t smaller(uint64_t v)
{
    uint64_t p = 1;
    while (p * 2 < v)
        p *= 2;
    return p;
}

// What stays the same while blocks of every size are tried.
struct search {
    const struct sq_mapping_context *c;
    const unsigned *cores;        // in each direction
    struct sq_mapping_extent all; // of the GEMM
    struct sq_mapping_residents whole;
};

// The best one of every depth and order of the loops: their steps are of different lengths, of
// which the estimate knows least.
struct best {
    struct sq_mapping *plan; // [SQ_CANDIDATES], count_m = 0: none yet
};

static unsigned candidate_of(uint64_t depth, bool n_outer)
{
    unsigned log = 0;
    while (depth >>= 1)
        log++;
    return 2 * (log < SQ_CANDIDATES / 2 ? log : SQ_CANDIDATES / 2 - 1) + n_outer;
}

static bool is_good(const struct best *b, unsigned at, uint64_t estimate)
{
    return b->plan[at].count_m == 0 || estimate < b->plan[at].estimate;
}

// Blocks of one size in both orders of the loops, among the best if that takes less.
static void try_block(const struct search *s, const struct sq_mapping_extent *block,
                      struct best *best)
{
    struct sq_mapping p;
    sq_mapping_lay_out(s->c, s->cores, block, &p);
    const uint64_t least = sq_mapping_work(&p, SQ_JOB_OVERHEAD);
    if (!is_good(best, candidate_of(block->k, 0), least) &&
        !is_good(best, candidate_of(block->k, 1), least))
        return;
    sq_mapping_fill_loads(s->c, &p);
    const bool one_order = s->all.m <= block->m || s->all.n <= block->n;
    for (unsigned n_outer = one_order; n_outer < 2; n_outer++) {
        sq_mapping_set_order(s->c, &s->whole, n_outer, &p);
        const unsigned at = candidate_of(block->k, n_outer);
        if (is_good(best, at, p.estimate))
            memcpy(&best->plan[at], &p, offsetof(struct sq_mapping, drawn));
        if (p.count_k > 1) // no order keeps an operand: the other one takes the same, and ties
            break;         // go to the first
    }
}

// Best blocks of one depth: for every height the widest that fits.
static void search_heights(const struct search *s, uint64_t k, struct best *best)
{
    struct sq_mapping_extent block = {1, 1, k};
    if (!sq_mapping_operands_fit(s->c, &block)) // nor does anything larger
        return;
    block.n = s->all.n;
    while (!sq_mapping_operands_fit(s->c, &block))
        block.n = smaller(block.n);
    const uint64_t widest = block.n; // by its weights, whatever the height
    for (block.m = s->all.m;; block.m = smaller(block.m)) {
        block.n = widest;
        while (block.n > 1 && !sq_mapping_outputs_fit(s->c, &block))
            block.n = smaller(block.n);
        if (sq_mapping_outputs_fit(s->c, &block) && sq_mapping_operands_fit(s->c, &block))
            try_block(s, &block, best);
        if (block.m == 1)
            break;
    }
}

// The next way to split so many cores; all 0: the first. False behind the last.
static bool next_cores(unsigned n, unsigned cores[3])
{
    unsigned k = cores[2] ? cores[2] : 1, m = cores[0];
    do
        if (++m > n / k) {
            m = 1;
            do
                k++;
            while (n % k != 0 && k <= n);
        }
    while (k <= n && n / k % m != 0);
    cores[0] = m;
    cores[1] = n / k / m;
    cores[2] = k;
    return k <= n;
}

// Best blocks for one way to split the cores.
static void search_blocks(const struct sq_mapping_context *c, const unsigned cores[3],
                          struct best *best)
{
    const struct sq_mapping_extent all = sq_mapping_all(c, cores);
    const struct search s = {c, cores, all, sq_mapping_find_residents(c, &all)};
    for (uint64_t k = all.k;; k = smaller(k)) {
        search_heights(&s, k, best);
        if (k == 1)
            break;
    }
}

enum sq_status sq_mapping_demand(const struct sq_machine *machine, const struct sq_recipe *recipe,
                                 const struct sq_gemm *g, struct sq_demands *demands,
                                 struct sq_error *err)
{
    const uint64_t size[3] = {g->m, g->n, g->k};
    for (unsigned i = 0; i < 3; i++)
        if (size[i] < 1 || size[i] > SQ_GEMM_MAX)
            return SQ_FAIL(err, SQ_ERR_RANGE, "%c = %llu, need 1..%llu", "MNK"[i],
                           (unsigned long long)size[i], (unsigned long long)SQ_GEMM_MAX);
    const struct sq_format_cost *const cost = recipe->format->cost;
    struct sq_recipe slower;
    SQ_TRY(sq_cost_check(recipe, err));
    sq_demand_of(recipe, &machine->core, g->m, g->k, machine->burst_nbytes, demands->demand);
    demands->n = 1;
    for (unsigned i = 0; i < SQ_SLOWER_MAX && cost->slower && cost->slower(recipe, i, &slower); i++)
        if (sq_cost_check(&slower, NULL) == SQ_OK)
            sq_demand_of(&slower, &machine->core, g->m, g->k, machine->burst_nbytes,
                         &demands->demand[demands->n++]);
    return SQ_OK;
}

// Refuses a plan whose run may count more cycles or bytes than SQ_COUNT_MAX.
static enum sq_status check_counts(const struct sq_mapping *p, struct sq_error *err)
{
    const struct sq_gemm *g = &p->gemm;
    uint64_t nbytes = 0;
    for (unsigned i = 0; i < SQ_N_STREAMS; i++)
        nbytes = sq_sat_add(nbytes, p->sum.nbytes[i]);
    const bool is_time = p->limit > SQ_COUNT_MAX;
    if (!is_time && nbytes <= SQ_COUNT_MAX)
        return SQ_OK;
    return SQ_FAIL(err, SQ_ERR_RANGE,
                   "M x N x K = %llu x %llu x %llu can take more than %llu %s on this machine, "
                   "need a smaller GEMM or %s",
                   (unsigned long long)g->m, (unsigned long long)g->n, (unsigned long long)g->k,
                   (unsigned long long)SQ_COUNT_MAX, is_time ? "cycles" : "bytes",
                   is_time ? "more multipliers or bandwidth" : "larger buffers");
}

// Keeps the candidates that may be the best, the best estimate first, and draws their tiles.
static enum sq_status choose(const struct sq_mapping_context *c,
                             struct sq_mapping plan[SQ_CANDIDATES], uint64_t least, unsigned *n,
                             struct sq_error *err)
{
    *n = 0;
    for (unsigned i = 0; i < SQ_CANDIDATES; i++) {
        if (plan[i].count_m == 0 || plan[i].estimate / 5 * 4 > least)
            continue;
        struct sq_mapping p = plan[i];
        memset(p.n_drawn, 0, sizeof p.n_drawn);
        sq_mapping_draw_tiles(c, &p);
        sq_mapping_set_estimate(c, &p); // of what was drawn
        const enum sq_status status = check_counts(&p, err);
        if (status != SQ_OK && plan[i].estimate == least)
            return status;
        if (status != SQ_OK)
            continue;
        plan[*n] = p;
        if (*n > 0 && p.estimate < plan[0].estimate) {
            plan[*n] = plan[0];
            plan[0] = p;
        }
        ++*n;
    }
    return SQ_OK;
}

// The candidates of one demand.
static enum sq_status search_own(struct sq_mapping_context *c, struct sq_mapping plan[],
                                 unsigned *n, struct sq_error *err)
{
    const struct sq_machine *machine = c->machine;
    struct best best = {plan};
    uint64_t least = SQ_COUNT_OVER;
    bool fits = false;
    SQ_TRY(sq_mapping_settle(c, err));
    for (unsigned i = 0; i < SQ_CANDIDATES; i++)
        plan[i].count_m = 0;
    unsigned cores[3] = {0};
    while (next_cores(machine->cores, cores))
        search_blocks(c, cores, &best);
    for (unsigned i = 0; i < SQ_CANDIDATES; i++) {
        fits = fits || plan[i].count_m > 0;
        if (plan[i].count_m > 0 && plan[i].estimate < least)
            least = plan[i].estimate;
    }
    if (!fits)
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "half a buffer of machine %.40s (activation %llu, weight %llu, output %llu "
                       "bytes) does not hold one tile of %u x %u over %u elements of K",
                       machine->name, (unsigned long long)machine->act_nbytes / 2,
                       (unsigned long long)machine->weight_nbytes / 2,
                       (unsigned long long)machine->out_nbytes / 2, c->rows, c->cols, c->cost.step);
    return choose(c, plan, least, n, err);
}

// ---- plans of other formats -------------------------------------------------------------------

static bool is_same(const struct sq_mapping *p, const struct sq_mapping *q)
{
    return p->cores_m == q->cores_m && p->cores_n == q->cores_n && p->cores_k == q->cores_k &&
           p->block_m == q->block_m && p->block_n == q->block_n && p->block_k == q->block_k &&
           p->n_outer == q->n_outer && p->store_late == q->store_late;
}

// The blocks and the order of another format's plan, into *p; false where they do not fit.
static bool take_over(const struct sq_mapping_context *c, const struct sq_mapping *other,
                      struct sq_mapping *p)
{
    const unsigned cores[3] = {other->cores_m, other->cores_n, other->cores_k};
    const struct sq_mapping_extent block = {other->block_m / cores[0] / c->rows,
                                            other->block_n / cores[1] / c->cols,
                                            other->block_k / cores[2]};
    if (other->cost.step != c->cost.step || !sq_mapping_operands_fit(c, &block) ||
        !sq_mapping_outputs_fit(c, &block))
        return false;
    const struct sq_mapping_extent all = sq_mapping_all(c, cores);
    const struct sq_mapping_residents whole = sq_mapping_find_residents(c, &all);
    sq_mapping_lay_out(c, cores, &block, p);
    sq_mapping_fill_loads(c, p);
    sq_mapping_set_order(c, &whole, other->n_outer, p);
    p->store_late = other->store_late;
    memset(p->n_drawn, 0, sizeof p->n_drawn);
    sq_mapping_draw_tiles(c, p);
    sq_mapping_set_estimate(c, p);
    return check_counts(p, NULL) == SQ_OK;
}

// Adds the plans of a slower demand to the *n there are. Where it has none, none are added.
static void search_slower(const struct sq_mapping_context *c, const struct sq_demand *slower,
                          struct sq_mapping plan[SQ_PLANS], unsigned *n)
{
    struct sq_mapping_context of = {.machine = c->machine, .demand = slower, .gemm = c->gemm};
    struct sq_mapping other[SQ_CANDIDATES];
    unsigned n_other;
    if (search_own(&of, other, &n_other, NULL) != SQ_OK)
        return;
    for (unsigned i = 0; i < n_other; i++) {
        bool is_new = *n < SQ_PLANS && take_over(c, &other[i], &plan[*n]);
        for (unsigned j = 0; is_new && j < *n; j++)
            is_new = !is_same(&plan[*n], &plan[j]);
        *n += is_new;
    }
}

enum sq_status sq_mapping_search(const struct sq_machine *machine, const struct sq_demands *demands,
                                 const struct sq_gemm *gemm, struct sq_mapping plan[SQ_PLANS],
                                 unsigned *n, struct sq_error *err)
{
    struct sq_mapping_context c = {.machine = machine, .demand = demands->demand, .gemm = *gemm};
    SQ_TRY(search_own(&c, plan, n, err));
    for (unsigned i = 1; i < demands->n; i++)
        search_slower(&c, &demands->demand[i], plan, n);
    return SQ_OK;
}

// ---- every cut --------------------------------------------------------------------------------

// Plans that may take less than the best one known so far.
struct sweep {
    struct search s;
    struct sq_mapping_visitor *v;
    struct sq_mapping p;
};

// The two orders of the loops and the two times at which a block may leave.
static void visit_orders(struct sweep *w, const struct sq_mapping_extent *block)
{
    struct sq_mapping *const p = &w->p;
    const bool one_order = w->s.all.m <= block->m || w->s.all.n <= block->n;
    sq_mapping_fill_loads(w->s.c, p);
    for (unsigned n_outer = one_order; n_outer < 2; n_outer++) {
        sq_mapping_set_order(w->s.c, &w->s.whole, n_outer, p);
        if (check_counts(p, NULL) != SQ_OK)
            continue;
        for (unsigned late = p->count_k == 1; late < 2; late++) {
            p->store_late = late;
            if (sq_mapping_least(p, p->sum.compute) < w->v->least)
                w->v->visit(w->v, p);
        }
    }
}

// Whether a plan of so many cycles of jobs may be the best.
static bool is_worth(const struct sweep *w, uint64_t work)
{
    return sq_sat_add(w->p.index_cycles + w->p.latency, work) < w->v->least;
}

// Blocks of one depth.
static void sweep_blocks(struct sweep *w, uint64_t k)
{
    const struct sq_mapping_extent *const all = &w->s.all;
    struct sq_mapping_extent block = {1, 1, k};
    if (!sq_mapping_operands_fit(w->s.c, &block))
        return;
    for (block.m = all->m;; block.m = smaller(block.m)) {
        for (block.n = all->n;; block.n = smaller(block.n)) {
            if (sq_mapping_outputs_fit(w->s.c, &block) && sq_mapping_operands_fit(w->s.c, &block)) {
                sq_mapping_lay_out(w->s.c, w->s.cores, &block, &w->p);
                sq_mapping_draw_tiles(w->s.c, &w->p);
                if (is_worth(w, sq_mapping_work(&w->p, 1)))
                    visit_orders(w, &block);
            }
            if (block.n == 1)
                break;
        }
        if (block.m == 1)
            break;
    }
}

enum sq_status sq_mapping_sweep(const struct sq_machine *machine, const struct sq_demand *demand,
                                const struct sq_gemm *gemm, struct sq_mapping_visitor *v,
                                struct sq_error *err)
{
    struct sq_mapping_draws draws = {.slot = {{0}}};
    struct sq_mapping_context c = {
        .machine = machine, .demand = demand, .gemm = *gemm, .draws = &draws};
    const bool is_random = demand->own || demand->work.times > 0;
    struct sweep w = {.v = v};
    unsigned cores[3] = {0};
    SQ_TRY(sq_mapping_settle(&c, err));
    uint64_t compute = UINT64_MAX, dram = 0;
    while (next_cores(machine->cores, cores)) {
        const struct sq_mapping_extent all = sq_mapping_all(&c, cores);
        w.s = (struct search){&c, cores, all, sq_mapping_find_residents(&c, &all)};
        sq_mapping_lay_out(&c, cores, &all, &w.p);
        const uint64_t work = sq_mapping_work(&w.p, 0); // of random work the mean
        compute = work < compute ? work : compute;
        if (dram == 0) { // no core adds to the sums of another
            sq_mapping_fill_loads(&c, &w.p);
            sq_mapping_set_order(&c, &w.s.whole, true, &w.p);
            dram = w.p.sum.dram;
        }
        for (uint64_t k = all.k; is_random || is_worth(&w, work); k = smaller(k)) {
            sweep_blocks(&w, k);
            if (k == 1)
                break;
        }
    }
    compute = compute > dram ? compute : dram;
    v->bound = compute < v->least ? compute : v->least;
    return SQ_OK;
}
