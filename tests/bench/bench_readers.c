// SPDX-License-Identifier: Apache-2.0
// Time and memory of `inspect`, `run` and `compare` against the length of what they read: encoded
// layers, plain tensors, rows of a workload, measured shapes, n and n/2 of each (n = 100000). Time
// is what the program used (user and system); n over n/2 says how it grows.
//
//   bench_readers [--quick] [N]
#include <sys/resource.h>
#include <sys/wait.h>

#include "sim/format/file/sq_operand_file.h"
#include "sim/format/file/sq_weight_file.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_quantize.h"
#include "tests/bench/bench.h"

static char dir[] = "/tmp/sq-bench-XXXXXX";
static char path[64];

static const char *file(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void need(bool is_good, const char *what)
{
    if (!is_good) {
        fprintf(stderr, "bench_readers: cannot %s\n", what);
        exit(3);
    }
}

// ---- files ----------------------------------------------------------------------------------

static char (*layer_names(size_t n))[64]
{
    char(*name)[64] = calloc(n, sizeof *name);
    need(name != NULL, "allocate names");
    for (size_t i = 0; i < n; i++)
        snprintf(name[i], sizeof *name, "model.layers.%zu.mlp.experts.%zu.up", i / 128, i % 128);
    return name;
}

static void fill(float *w, size_t n)
{
    struct sq_rng r = {1};
    for (size_t i = 0; i < n; i++)
        w[i] = (float)(2 * sq_rng_unit(&r) - 1);
}

static void write_trace(size_t n)
{
    const struct sq_operand_file_info info = {sq_format_default(), "golden", "synthetic", 1};
    struct sq_operand_file_item *item = calloc(n, sizeof *item);
    char(*name)[64] = layer_names(n);
    struct sq_operand_file_writer w;
    struct sq_operand o;
    float weight[128];
    fill(weight, 128);
    for (size_t i = 0; i < n; i++)
        item[i] = (struct sq_operand_file_item){.name = name[i], .n = 1, .k_orig = 128};
    need(sq_operand_alloc(&o, &info.format, 1, 128, NULL) == SQ_OK &&
             sq_operand_encode(&o, weight, 1, NULL) == SQ_OK,
         "encode");
    struct sq_error why;
    need(sq_operand_file_begin(&w, file("sq_w"), &info, item, n, &why) == SQ_OK, why.text);
    for (size_t i = 0; i < n; i++)
        need(sq_operand_file_put(&w, i, &o, NULL) == SQ_OK, "write");
    need(sq_operand_file_commit(&w, NULL) == SQ_OK, "write");
    sq_operand_free(&o);
    free(item);
    free(name);
}

static void write_sp24(size_t n)
{
    struct sq_recipe r = sq_recipe_of(sq_format_find("sp24"));
    const struct sq_quant_input in = {.calibration = NULL};
    struct sq_weight_item *item = calloc(n, sizeof *item);
    char(*name)[64] = layer_names(n);
    struct sq_quant_layer q;
    float weight[16 * 64];
    fill(weight, 16 * 64);
    struct sq_error err;
    if (sq_quant_layer_init(&q, &r, weight, 16, 64, &in, &err) != SQ_OK)
        need(false, err.text);
    for (size_t i = 0; i < n; i++)
        item[i] = (struct sq_weight_item){.name = name[i], .n = 16, .k_orig = 64, .layer = &q};
    need(sq_weight_file_write(file("sp24"), &r, "synthetic", item, n, NULL) == SQ_OK, "write");
    sq_quant_layer_free(&q);
    free(item);
    free(name);
}

static void write_plain(size_t n)
{
    struct sq_tensor *t = calloc(n, sizeof *t);
    char(*name)[64] = layer_names(n);
    static const float data[32];
    for (size_t i = 0; i < n; i++)
        t[i] = (struct sq_tensor){.name = name[i],
                                  .dtype = SQ_F32,
                                  .n_dims = 2,
                                  .dim = {1, 32},
                                  .data = (const void *)data};
    need(sq_safetensors_write(file("plain"), t, n, NULL, 0, NULL) == SQ_OK, "write");
    free(t);
    free(name);
}

// Shapes that are all different.
static void shape(size_t i, unsigned size[3])
{
    size[0] = 128 + 8 * (unsigned)(i % 101);
    size[1] = 256 + 64 * (unsigned)(i / 101 % 103);
    size[2] = 256 + 64 * (unsigned)(i / 101 / 103);
}

static FILE *create(const char *name)
{
    FILE *out = fopen(file(name), "w");
    need(out != NULL, "write");
    return out;
}

static void write_tables(size_t n)
{
    FILE *w = create("workload.csv"), *csv = create("records.csv"), *json = create("records.json");
    fprintf(w, "Layer,M,N,K,\n");
    fprintf(csv, "gpu,sparsity,dtype_in,dtype_out,M,N,K,lat_us\n");
    for (size_t i = 0; i < n; i++) {
        unsigned s[3];
        shape(i, s);
        fprintf(w, "layer%zu,%u,%u,%u,\n", i, s[0], s[1], s[2]);
        fprintf(csv, "NVIDIA H200,%s,INT8,INT32,%u,%u,%u,%g\n", i % 2 ? "2:4" : "dense", s[0], s[1],
                s[2], 10 + 0.001 * (double)i);
        fprintf(json,
                "{\"schema_version\":1,\"source\":\"measured\",\"device\":{\"name\":\"NVIDIA "
                "H200\"},\"problem\":{\"M\":%u,\"N\":%u,\"K\":%u,\"format\":\"gqsa\",\"sparsity\":"
                "0.5,\"dtype_a\":\"f16\",\"dtype_w\":\"s4\",\"dtype_out\":\"f16\"},\"kernel\":{"
                "\"impl\":\"sq\"},\"timing\":{\"median_us\":%g}}\n",
                s[0], s[1], s[2], 10 + 0.001 * (double)i);
    }
    need(fclose(w) == 0 && fclose(csv) == 0 && fclose(json) == 0, "write");
}

// In a child: the peak memory of a process counts what its parent had when it was forked.
static void write_all(size_t n)
{
    int status;
    const pid_t child = fork();
    need(child >= 0, "fork");
    if (child == 0) {
        write_trace(n);
        write_sp24(n);
        write_plain(n);
        write_tables(n);
        exit(0);
    }
    need(waitpid(child, &status, 0) == child && status == 0, "write the files");
}

// ---- runs -----------------------------------------------------------------------------------

static const struct {
    const char *what;
    const char *argv[12]; // after the program; @ = in the directory
} commands[] = {
    {"inspect, sq_w layers", {"inspect", "@sq_w"}},
    {"inspect, sp24 layers", {"inspect", "@sp24"}},
    {"inspect, plain tensors", {"inspect", "@plain"}},
    {"run, plain tensors", {"run", "@plain", "--timing-only", "--json"}},
    {"run, rows", {"run", "--workload", "@workload.csv", "--json"}},
    {"run, rows on a GPU",
     {"run", "--machine", "sim/machines/h200.yaml", "--workload", "@workload.csv", "--json",
      "--format", "gqsa", "--act-bits", "16", "--records", "@records.json"}},
    {"compare, shapes",
     {"compare", "--gpu", "@records.csv", "--machine", "sim/machines/h200.yaml", "--json"}},
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static struct rusage run(unsigned c)
{
    char full[12][64], *argv[14] = {(char[]){"build/sqsim"}};
    for (unsigned i = 0; i < 12 && commands[c].argv[i]; i++) {
        const char *a = commands[c].argv[i];
        snprintf(full[i], sizeof full[i], "%s", *a == '@' ? file(a + 1) : a);
        argv[i + 1] = full[i];
    }
    const pid_t child = fork();
    need(child >= 0, "fork");
    if (child == 0) {
        if (freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr))
            execv(argv[0], argv);
        _exit(127);
    }
    int status;
    struct rusage use;
    need(wait4(child, &status, 0, &use) == child, "wait");
    need(WIFEXITED(status) && WEXITSTATUS(status) == 0, commands[c].what);
    return use;
}

static double seconds(const struct rusage *u)
{
    return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
           1e-6 * (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
    const bool is_quick = bench_is_quick(&argc, argv);
    const size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : is_quick ? 200 : 100000;
    struct rusage use[2][N_COMMANDS];
    need(n >= 100 && n <= 500000, "take a size outside 100..500000");
    need(mkdtemp(dir) != NULL, "make a directory");
    for (unsigned half = 0; half < 2; half++) {
        write_all(n >> half);
        for (unsigned c = 0; c < N_COMMANDS; c++)
            use[half][c] = run(c);
    }
    for (unsigned c = 0; c < N_COMMANDS; c++) {
        const struct rusage *a = &use[0][c], *b = &use[1][c];
        BENCH_ROW("readers", commands[c].what, {"n", (double)n}, {"cpu_s", seconds(a)},
                  {"mb", 1e-3 * (double)a->ru_maxrss}, {"of_half", seconds(a) / seconds(b)});
    }
    static const char *const names[] = {"sq_w",         "sp24",        "plain",
                                        "workload.csv", "records.csv", "records.json"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        unlink(file(names[i]));
    rmdir(dir);
    return 0;
}
