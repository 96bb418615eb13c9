// SPDX-License-Identifier: Apache-2.0
// Cycles a second of the chip (rtl/top/sq_top.sv, 2 x 4 PEs): verilated, with its host and memory in C; its cycle
// model stepped; and the fast way of it, on the same layer, on layers of tiny-llama (32 tokens) and of real size, each as if it
// were the first. All of one run, the ratios too.
//
//   bench_chip [--quick]
#include <omp.h>

#include "sim/cosim/sq_env_run.h"
#include "sim/cosim/sq_rtl_build.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/top/sq_chip_route.h"
#include "sim/machine/sq_chip_run.h"
#include "tests/bench/bench_recipe.h"

enum { ROWS = 2, COLS = 4, REPEATS = 9 };

// ---- a layer with values ----------------------------------------------------------------------------

struct layer {
    size_t m, n, k;
    struct sq_quant_layer q;
    struct sq_product p;
    struct sq_point point;
    struct sq_case c;
};

static void layer_init(struct layer *l, const struct sq_recipe *r)
{
    float *const x = bench_matrix(l->m * l->k, 1), *const w = bench_matrix(l->n * l->k, 2);
    const struct sq_route *const chip = r->format->routes->chip;
    struct bench_input in;
    struct sq_error err;
    l->p = (struct sq_product){.source = "bench"};
    l->point = (struct sq_point){.name = "2x4"};
    l->c = (struct sq_case){.block = chip->block, .point = &l->point};
    struct sq_route_work work = {
        .p = &l->p, .array_rows = ROWS, .array_cols = COLS, .point = &l->point, .stream = &l->c};
    bench_input_init(&in, r, x, l->m, l->k);
    bench_need(sq_quant_layer_init(&l->q, r, w, l->n, l->k, &in.in, &err), &err);
    bench_input_free(&in);
    bench_need(sq_route_product(&l->q, r, x, l->m, &l->p, &err), &err);
    bench_need(chip->make(&work, &err), &err);
    free(x);
    free(w);
}

static void layer_free(struct layer *l)
{
    sq_case_free(&l->c);
    sq_product_free(&l->p);
    sq_quant_layer_free(&l->q);
}

// ---- verilated --------------------------------------------------------------------------------------

// Cycles up to the last access of the host; they are added to *cycles, the seconds to *seconds.
static void run_rtl(const struct sq_case *c, const struct sq_rtl_api *rtl, uint64_t *cycles,
                    double *seconds)
{
    const struct sq_ports ports = sq_ports_of(c->block, c->point->value);
    const uint8_t none[SQ_STREAMS_MAX] = {0};
    uint8_t answer[SQ_STREAMS_MAX + 1];
    int32_t irq = 0;
    uint32_t word = 0, *status[1] = {&word};
    struct sq_pins pins; // the model's, which is not here
    struct sq_env_run env;
    void *const model = rtl->create(1, NULL, 0, 0);
    if (!model || !sq_env_run_alloc(&env, c, &ports, rtl))
        bench_die("cannot make a verilated chip");
    env.status = &irq;
    const double start = bench_cpu();
    sq_env_run_drive(&env, &pins);
    for (; sq_env_run_is_busy(&env); ++*cycles) {
        sq_env_run_drive_rtl(&env, model);
        rtl->comb(model, none, false, NULL, answer);
        sq_env_run_read_rtl(&env, model);
        rtl->status(model, status);
        irq = (int32_t)word;
        (void)rtl->clock(model);
        (void)sq_env_run_clock_alone(&env);
    }
    *seconds += bench_cpu() - start;
    sq_env_run_free(&env);
    rtl->destroy(model);
}

static double rtl_rate(const struct layer *l, unsigned repeats)
{
    const struct sq_rtl_point at = {.block = l->c.block, .point = &l->point};
    uint64_t cycles = 0;
    double seconds = 0;
    struct sq_error err;
    struct sq_rtl rtl;
    bool built;
    bench_need(sq_rtl_load(&rtl, &at, ".", &built, &err), &err);
    for (unsigned i = 0; i < repeats; i++)
        run_rtl(&l->c, rtl.api, &cycles, &seconds);
    sq_rtl_unload(&rtl);
    return (double)cycles / seconds;
}

// ---- modelled ---------------------------------------------------------------------------------------

struct timed {
    struct sq_chip_stats stats;
    double seconds; // median
};

static struct timed time_layer(const struct sq_recipe *r, size_t m, size_t n, size_t k,
                               bool is_fast)
{
    const uint64_t mnk[3] = {m, n, k};
    struct sq_chip_layer l;
    struct timed t = {.seconds = 0};
    double seconds[REPEATS];
    struct sq_error err;
    bench_need(sq_chip_layer_of(r, NULL, ROWS, COLS, mnk, &l, &err), &err);
    for (unsigned i = 0; i < REPEATS; i++) {
        const double start = bench_cpu();
        bench_need((is_fast ? sq_chip_run_fast : sq_chip_run_step)(l.value, &l.memory, &l.layer,
                                                                   &t.stats, &err),
                   &err);
        seconds[i] = bench_cpu() - start;
    }
    t.seconds = bench_median(seconds, REPEATS);
    return t;
}

// rtl: cycles a second.
static void fast_row(const char *part, const struct sq_recipe *r, const size_t *mnk, double rtl)
{
    const struct timed t = time_layer(r, mnk[0], mnk[1], mnk[2], true);
    char name[64];
    snprintf(name, sizeof name, "%zux%zux%zu", mnk[0], mnk[1], mnk[2]);
    BENCH_ROW(part, name, {"cycles", (double)t.stats.cycles}, {"host_ms", 1e3 * t.seconds},
              {"fast/rtl", (double)t.stats.cycles / t.seconds / rtl});
}

int main(int argc, char **argv)
{
    const bool is_quick = bench_is_quick(&argc, argv);
    const size_t tiny[][3] = {{32, 128, 256}, {32, 256, 256}, {32, 512, 256}, {32, 256, 512}};
    const size_t sizes[][3] = {{4096, 4096, 4096}, {2048, 8192, 28672}, {1, 8192, 8192}};
    struct sq_recipe r;
    struct sq_error err;
    struct layer l = {.m = is_quick ? 4 : 32, .n = is_quick ? 8 : 128, .k = 512};
    char name[64];
    omp_set_num_threads(1);
    bench_need(sq_format_recipe(sq_formats[0], SQ_IN_RUN, NULL, &r, &err), &err);
    layer_init(&l, &r);
    const double rtl = rtl_rate(&l, is_quick ? 1 : 3);
    const struct timed step = time_layer(&r, l.m, l.n, l.k, false);
    const struct timed fast = time_layer(&r, l.m, l.n, l.k, true);
    if (memcmp(&step.stats, &fast.stats, sizeof step.stats) != 0)
        bench_die("the fast way takes another number of cycles than stepping");
    const double stepping = (double)step.stats.cycles / step.seconds;
    snprintf(name, sizeof name, "2x4, %zux%zux%zu", l.m, l.n, l.k);
    BENCH_ROW("the chip", name, {"rtl", rtl}, {"stepping", stepping}, {"step/rtl", stepping / rtl},
              {"fast/rtl", (double)fast.stats.cycles / fast.seconds / rtl});
    for (size_t i = 0; i < SQ_LEN(tiny); i++)
        fast_row("layers of tiny-llama, fast", &r, tiny[i], rtl);
    for (size_t i = 0; i < (is_quick ? 1 : SQ_LEN(sizes)); i++)
        fast_row("layers of the chip, fast", &r, sizes[i], rtl);
    layer_free(&l);
    return 0;
}
