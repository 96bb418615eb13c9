// SPDX-License-Identifier: Apache-2.0
// Products and encoders of every format on one thread, beside OpenBLAS' SGEMM and beside the limit
// of the integer multipliers, which a loop over registers finds. Cubes of 512 and 4096 unless
// sizes are given. A product is what `sqsim eval` calls for a layer: activations are quantized in
// it. All MAC are counted, those that a format leaves out as well. SGEMM is measured again beside
// each format. Times are of the processor, so that others on the machine disturb them little.
//
//   bench_product [--quick] [SIZE ...]
#include <cblas.h>
#include <omp.h>

#include "tests/bench/bench_recipe.h"

enum { REPEATS = 5, CALIBRATION_TOKENS = 512 };
#define ENOUGH_SECONDS 1.5 // no further repeats behind that

// ---- limit of the integer multipliers -------------------------------------------------------

#if defined __x86_64__
// 12 independent accumulators: more than hide the latency of any processor so far.
#define ALL_CHAINS(op, reg)                                                                        \
    op(reg, 0) op(reg, 1) op(reg, 2) op(reg, 3) op(reg, 4) op(reg, 5) op(reg, 6) op(reg, 7)        \
        op(reg, 8) op(reg, 9) op(reg, 10) op(reg, 11)
#define DOT(reg, i) "vpdpbusd %%" reg "31, %%" reg "30, %%" reg #i "\n\t"
#define MADD(reg, i)                                                                               \
    "vpmaddwd %%" reg "14, %%" reg "15, %%" reg "13\n\t"                                           \
    "vpaddd %%" reg "13, %%" reg #i ", %%" reg #i "\n\t"
enum { CHAINS = 12 };

__attribute__((target("avx512f,avx512vnni"))) static void dot_loop(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        __asm__ volatile(ALL_CHAINS(DOT, "zmm")::
                             : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                               "xmm8", "xmm9", "xmm10", "xmm11");
}

__attribute__((target("avx2"))) static void madd_loop(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        __asm__ volatile(ALL_CHAINS(MADD, "ymm")::
                             : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                               "xmm8", "xmm9", "xmm10", "xmm11", "xmm13");
}

static double rate(void (*loop)(uint64_t), double macs, bool is_quick)
{
    const uint64_t n = is_quick ? 1000 : 20000000;
    double seconds[REPEATS];
    loop(1000);
    for (unsigned i = 0; i < REPEATS; i++) {
        const double start = bench_cpu();
        loop(n);
        seconds[i] = bench_cpu() - start;
    }
    return 1e-9 * macs * (double)n / bench_median(seconds, REPEATS);
}

// GMAC/s; NaN where the processor has neither.
static double integer_limit(const char **name, bool is_quick)
{
    *name = "vpdpbusd, 512 bits";
    if (__builtin_cpu_supports("avx512vnni"))
        return rate(dot_loop, CHAINS * 64, is_quick);
    *name = "vpmaddwd, 256 bits";
    if (__builtin_cpu_supports("avx2"))
        return rate(madd_loop, CHAINS * 16, is_quick);
    *name = "no vector integers known here";
    return NAN;
}
#else
static double integer_limit(const char **name, bool is_quick)
{
    (void)is_quick;
    *name = "no vector integers known here";
    return NAN;
}
#endif

// ---- products -------------------------------------------------------------------------------

struct cube {
    size_t size;
    bool is_quick;
    float *x, *w, *y;
    double limit; // GMAC/s
};

static double gmac(const struct cube *c, double seconds)
{
    const double s = (double)c->size;
    return 1e-9 * s * s * s / seconds;
}

static double sgemm_seconds(const struct cube *c)
{
    const int s = (int)c->size;
    const double start = bench_cpu();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, s, s, s, 1, c->x, s, c->w, s, 0, c->y, s);
    return bench_cpu() - start;
}

static double encode_seconds(const struct cube *c, const struct sq_recipe *r,
                             struct sq_quant_layer *q)
{
    struct bench_input in;
    struct sq_error err;
    const size_t s = c->size;
    bench_input_init(&in, r, c->x, s < CALIBRATION_TOKENS ? s : CALIBRATION_TOKENS, s);
    const double start = bench_cpu();
    bench_need(sq_quant_layer_init(q, r, c->w, s, s, &in.in, &err), &err);
    const double seconds = bench_cpu() - start;
    bench_input_free(&in);
    return seconds;
}

static void measure(const struct cube *c, const struct sq_format_ops *f)
{
    const struct sq_recipe r = bench_recipe(f, true);
    double ours[REPEATS], blas[REPEATS], total = 0;
    struct sq_quant_layer q;
    struct sq_error err;
    char name[64];
    unsigned n = 0;
    (void)encode_seconds(c, &r, &q);
    if (c->size <= 1024 && !c->is_quick) { // caches, panels that are made once, pages of y
        bench_need(sq_quant_layer_apply(&q, &r, c->x, c->size, c->y, &err), &err);
        (void)sgemm_seconds(c);
    }
    while (n < (c->is_quick ? 1 : REPEATS) && total < ENOUGH_SECONDS) {
        const double start = bench_cpu();
        bench_need(sq_quant_layer_apply(&q, &r, c->x, c->size, c->y, &err), &err);
        ours[n] = bench_cpu() - start;
        total += ours[n];
        blas[n++] = sgemm_seconds(c);
    }
    sq_quant_layer_free(&q);
    const double rate = gmac(c, bench_median(ours, n)), sgemm = gmac(c, bench_median(blas, n));
    snprintf(name, sizeof name, "%s %zu^3", f->name, c->size);
    BENCH_ROW("product, one thread", name, {"gmac_s", rate}, {"sgemm_gmac_s", sgemm},
              {"of_sgemm", rate / sgemm}, {"of_limit", rate / c->limit});
}

// Weights a second by rounding to nearest, and by what `sqsim quantize` does without options;
// calibration and its factor are not in it.
static void measure_encoders(const struct cube *c, const struct sq_format_ops *f)
{
    const double weights = 1e-6 * (double)(c->size * c->size);
    double rate[2];
    char name[64];
    for (unsigned i = 0; i < 2; i++) {
        const struct sq_recipe r = bench_recipe(f, i == 0);
        double seconds[REPEATS];
        struct sq_quant_layer q;
        unsigned n = 0;
        for (; n < (c->is_quick ? 1 : REPEATS); n++) {
            seconds[n] = encode_seconds(c, &r, &q);
            sq_quant_layer_free(&q);
        }
        rate[i] = weights / bench_median(seconds, n);
    }
    snprintf(name, sizeof name, "%s %zu^2", f->name, c->size);
    BENCH_ROW("encoder, one thread", name, {"rtn_mweight_s", rate[0]}, {"default_mw_s", rate[1]});
}

// OpenBLAS takes another kernel than the processor's where this variable names one.
static void without_core_type(char **argv)
{
    if (!getenv("OPENBLAS_CORETYPE"))
        return;
    unsetenv("OPENBLAS_CORETYPE");
    execv("/proc/self/exe", argv);
    bench_die("cannot start itself again without OPENBLAS_CORETYPE");
}

int main(int argc, char **argv)
{
    without_core_type(argv);
    const bool is_quick = bench_is_quick(&argc, argv);
    size_t size[8] = {is_quick ? 256 : 512, is_quick ? 0 : 4096};
    const char *limit_name;
    for (int i = 1; i < argc && i < 8; i++) {
        size[i - 1] = strtoul(argv[i], NULL, 10);
        size[i] = 0;
        if (size[i - 1] < 256 || size[i - 1] > 8192 || size[i - 1] % 256 != 0)
            bench_die("SIZE is a multiple of 256 in 256..8192");
    }
    // formats that a description says, behind those of the list
    for (const char *const *d = (const char *const[]){"mixfp4", "hif4", "nvfp4_search", NULL}; *d;
         d++) {
        const struct sq_format_ops *f;
        if (sq_format_named(*d, ".", &f, NULL) != SQ_OK || !f)
            bench_die("a description of sim/format/scaled/formats is not read");
    }
    omp_set_num_threads(1);
    openblas_set_num_threads(1);
    const double limit = integer_limit(&limit_name, is_quick);
    printf("OpenBLAS kernel %s; integer limit by %s\n", openblas_get_corename(), limit_name);
    BENCH_ROW("limit, one thread", "integer MAC in registers", {"gmac_s", limit});
    for (size_t i = 0; i < 7 && size[i]; i++) {
        const size_t n = size[i] * size[i];
        struct cube c = {.size = size[i], .is_quick = is_quick, .limit = limit};
        c.x = bench_matrix(n, 1);
        c.w = bench_matrix(n, 2);
        c.y = bench_alloc(n * sizeof(float));
        for (size_t f = 0; f < sq_n_formats(); f++)
            if (sq_formats[f]->values)
                measure(&c, sq_formats[f]);
        for (size_t f = 0; i == 0 && f < sq_n_formats(); f++)
            if (sq_formats[f]->values)
                measure_encoders(&c, sq_formats[f]);
        free(c.x), free(c.w), free(c.y);
    }
    return 0;
}
