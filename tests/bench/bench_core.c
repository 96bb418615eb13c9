// SPDX-License-Identifier: Apache-2.0
// Cycles a second: a verilated block, the same in lock step with the model, its cycle model stepped
// alone, all three over the same cases with free streams; and of the core the fast engine. "model
// over RTL" is the golden product of a 512^3 GEMM against the rate at which the verilated core
// multiplies: what it saves to ask the model.
//
//   bench_core [--quick]
#include <omp.h>

#include "sim/block/core/sq_core_run.h"
#include "sim/cosim/sq_feed.h"
#include "sim/cosim/sq_lockstep.h"
#include "sim/cosim/sq_rtl_build.h"
#include "tests/bench/bench_recipe.h"

enum { SIZE = 512, REPEATS = 5, CYCLES = 100000, QUICK_CYCLES = 300 };

// One of the blocks that compute tiles from jobs; those that are not there yet are left out.
static const char *const measured[] = {"core", "engine", "chip"};

// ---- one case -------------------------------------------------------------------------------

struct around {
    const struct sq_case *c;
    struct sq_ports ports;
    struct sq_port_words in;
    struct sq_feed feed[SQ_STREAMS_MAX];
    struct sq_offer offer[SQ_STREAMS_MAX];
    unsigned n;
    uint64_t left; // input beats
    struct sq_rng noise;
};

static void around_init(struct around *w, const struct sq_case *c)
{
    memset(w, 0, sizeof *w);
    w->c = c;
    w->noise = (struct sq_rng){c->seed};
    w->ports = sq_ports_of(c->block, c->point->value);
    if (!sq_port_alloc(&w->in, w->ports.in, w->ports.n_in))
        bench_die("out of memory");
    w->n = sq_feed_init(w->feed, c, &w->ports);
    for (unsigned i = 0; i < w->n; i++)
        w->left += w->feed[i].source.left;
}

static void around_offer(struct around *w)
{
    for (unsigned i = 0; i < w->n; i++)
        sq_feed_drive(&w->feed[i], w->feed[i].source.left > 0, &w->in, &w->noise, &w->offer[i]);
}

static void around_take(struct around *w, unsigned stream)
{
    sq_feed_take(&w->feed[stream]);
    w->feed[stream].source.left--;
    w->left--;
}

// Cycles up to the last input beat, of the verilated block; seconds are added to *seconds.
static uint64_t run_rtl(const struct sq_case *c, const struct sq_rtl_api *rtl, double *seconds)
{
    struct around w;
    uint64_t cycles = 0;
    void *model = rtl->create(c->seed, NULL, 0, 0);
    if (!model)
        bench_die("cannot make a verilated block");
    around_init(&w, c);
    const double start = bench_cpu();
    for (; w.left > 0; cycles++) {
        uint8_t valid[SQ_STREAMS_MAX] = {0}, answer[SQ_STREAMS_MAX + 1];
        around_offer(&w);
        for (unsigned i = 0; i < w.n; i++)
            valid[i] = w.offer[i].valid;
        rtl->comb(model, valid, true, (const uint32_t *const *)w.in.word, answer);
        for (unsigned i = 0; i < w.n; i++)
            if (valid[i] && answer[i])
                around_take(&w, i);
        (void)rtl->clock(model);
    }
    *seconds += bench_cpu() - start;
    rtl->destroy(model);
    sq_port_free(&w.in);
    return cycles;
}

// The same of the cycle model.
static uint64_t run_model(const struct sq_case *c, double *seconds)
{
    const struct sq_timing *t = c->block->timing;
    struct around w;
    uint64_t cycles = 0;
    void *state = calloc(1, t->nbytes);
    if (!state)
        bench_die("out of memory");
    around_init(&w, c);
    c->block->init(c->point->value, state);
    const double start = bench_cpu();
    for (; w.left > 0; cycles++) {
        struct sq_handshake out = {{0}, false};
        around_offer(&w);
        t->comb(state, w.offer, true, &out);
        t->clock(state, w.offer, true);
        for (unsigned i = 0; i < w.n; i++)
            if (w.offer[i].valid && out.in_ready[i])
                around_take(&w, i);
    }
    *seconds += bench_cpu() - start;
    free(state);
    sq_port_free(&w.in);
    return cycles;
}

struct rates {
    double rtl, lockstep, stepping; // cycles a second
};

static void measure(const struct sq_block *block, const struct sq_point *point, uint64_t limit,
                    struct rates *r)
{
    const struct sq_rtl_point at = {.block = block, .point = point};
    uint64_t cycles = 0, compared = 0;
    double rtl_seconds = 0, lockstep_seconds = 0, model_seconds = 0;
    struct sq_error err;
    struct sq_rtl rtl;
    bool built;
    bench_need(sq_rtl_load(&rtl, &at, ".", &built, &err), &err);
    for (uint64_t number = sq_case_n_fixed(block, point); cycles < limit; number++) {
        struct sq_case c;
        struct sq_result result;
        bench_need(sq_case_draw(block, point, 1, number, &c, &err), &err);
        memset(c.stall, 0, sizeof c.stall);
        c.reset_every = 0;
        if (c.max_cycles > 0) { // its operands come over and over, without an end
            sq_case_free(&c);
            continue;
        }
        const uint64_t n = run_rtl(&c, rtl.api, &rtl_seconds);
        if (run_model(&c, &model_seconds) != n)
            bench_die("the cycle model and the RTL take different numbers of cycles");
        const double start = bench_cpu();
        bench_need(sq_lockstep_run(&c, rtl.api, NULL, &result, &err), &err);
        lockstep_seconds += bench_cpu() - start;
        if (result.mismatch.kind != SQ_MISMATCH_NONE)
            bench_die("model and RTL differ");
        compared += result.compared.cycles;
        cycles += n;
        sq_case_free(&c);
    }
    sq_rtl_unload(&rtl);
    *r = (struct rates){(double)cycles / rtl_seconds, (double)compared / lockstep_seconds,
                        (double)cycles / model_seconds};
}

// ---- engines and values of a GEMM -----------------------------------------------------------

// Cycles a second of an engine on the job of a cube of `size`.
static double engine_rate(const struct sq_core_config *config, size_t size, bool is_fast)
{
    const struct sq_format f = sq_format_default();
    const struct sq_core_config core = sq_gemm_core(config, &f, size);
    struct sq_job job;
    struct sq_error err;
    static const struct sq_rates free_streams = {1, 1, 1, 1};
    double seconds[REPEATS];
    struct sq_core_stats s = {0};
    bench_need(sq_gemm_job(&core, &f, size, size, size, &job, &err), &err);
    for (unsigned i = 0; i < REPEATS; i++) {
        const double start = bench_cpu();
        s = is_fast ? sq_core_run_fast(&core, &job, &free_streams)
                    : sq_core_run_step(&core, &job, &free_streams);
        seconds[i] = bench_cpu() - start;
    }
    return (double)s.cycles / bench_median(seconds, REPEATS);
}

// MAC a second of the golden product as a layer has it, on one thread: its weights are laid out
// once, its activations are encoded in each call.
static double value_rate(size_t size)
{
    float *x = bench_matrix(size * size, 1), *w = bench_matrix(size * size, 2);
    float *y = calloc(size * size, sizeof *y);
    const struct sq_recipe recipe = bench_recipe(sq_formats[0], true); // that of the core
    struct bench_input in;
    struct sq_quant_layer q;
    double seconds[REPEATS];
    struct sq_error err;
    if (!y)
        bench_die("out of memory");
    bench_input_init(&in, &recipe, x, size, size);
    bench_need(sq_quant_layer_init(&q, &recipe, w, size, size, &in.in, &err), &err);
    bench_input_free(&in);
    bench_need(sq_quant_layer_apply(&q, &recipe, x, size, y, &err), &err); // caches, pages of y
    for (unsigned i = 0; i < REPEATS; i++) {
        const double start = bench_cpu();
        bench_need(sq_quant_layer_apply(&q, &recipe, x, size, y, &err), &err);
        seconds[i] = bench_cpu() - start;
    }
    sq_quant_layer_free(&q);
    free(x);
    free(w);
    free(y);
    return (double)size * (double)size * (double)size / bench_median(seconds, REPEATS);
}

static const struct sq_block *find_block(const char *name)
{
    for (size_t i = 0; i < sq_n_blocks; i++)
        if (strcmp(sq_blocks[i]->name, name) == 0)
            return sq_blocks[i];
    return NULL;
}

// The default PE, 2 x 4 of them, where the block is made of a core; else, and in a quick run, the
// first quick point of its table.
static struct sq_point choose_point(const struct sq_block *b, bool is_quick)
{
    struct sq_point p = b->points[0];
    struct sq_core_config core = sq_core_config_default();
    core.rows = 2;
    core.cols = 4;
    for (size_t i = b->n_points; i-- > 0;)
        if (b->points[i].is_quick)
            p = b->points[i];
    if (is_quick || !b->set_core)
        return p;
    p.name = "2x4";
    b->set_core(p.value, &core);
    return p;
}

int main(int argc, char **argv)
{
    const bool is_quick = bench_is_quick(&argc, argv);
    const size_t size = is_quick ? 128 : SIZE;
    const struct sq_core_config big = sq_core_config_default();
    omp_set_num_threads(1);
    const double values = value_rate(size), fast = engine_rate(&big, size, true);
    const double step = engine_rate(&big, size, false);
    for (size_t i = 0; i < sizeof measured / sizeof measured[0]; i++) {
        const struct sq_block *b = find_block(measured[i]);
        struct rates rates;
        char name[64];
        if (!b)
            continue;
        const struct sq_point p = choose_point(b, is_quick);
        measure(b, &p, is_quick ? QUICK_CYCLES : CYCLES, &rates);
        snprintf(name, sizeof name, "%s %s", b->name, p.name);
        BENCH_ROW("cycles a second", name, {"rtl", rates.rtl}, {"lockstep", rates.lockstep},
                  {"stepping", rates.stepping}, {"step/rtl", rates.stepping / rates.rtl});
        if (!b->get_core)
            continue;
        struct sq_core_config core = big;
        b->get_core(p.value, &core);
        const double rtl = rates.rtl * core.rows * core.cols * core.low_lanes;
        snprintf(name, sizeof name, "%s %s, %zu^3", b->name, p.name, size);
        BENCH_ROW("model over RTL", name, {"rtl_mac_s", rtl}, {"values_mac_s", values},
                  {"values/rtl", values / rtl}, {"step_cycles", step}, {"fast_cycles", fast},
                  {"fast/rtl", fast / rates.rtl});
    }
    return 0;
}
