// SPDX-License-Identifier: Apache-2.0
// libsqsim as a program calls it (lib/sqsim.h): a sequence of calls over a few handles, in any
// order, with options, sizes and numbers from lists that hold wrong ones as well. After a failure
// the handle is NULL and the error has a sentence; a product gives the same bits again, and behind
// a file the same as before it. Input: a byte for each call, and what the call takes of the rest.
#include <math.h>

#include "lib/sqsim.h"
#include "tests/fuzz/fuzz.h"

enum { HANDLES = 3, CALLS = 24, N_MAX = 32, K_MAX = 256, M_MAX = 4 };

static sqsim_format *format[HANDLES];
static sqsim_layer *layer[HANDLES];
static float w[N_MAX * K_MAX], x[M_MAX * K_MAX], y[2][N_MAX * M_MAX];

static unsigned below(struct fuzz_reader *r, unsigned n)
{
    return fuzz_byte(r) % n;
}

static void check(enum sqsim_status status, const struct sqsim_error *err, const void *handle)
{
    FUZZ_CHECK((status == SQSIM_OK) == (handle != NULL));
    FUZZ_CHECK(status == SQSIM_OK || (err->status == (int)status && err->text[0] != '\0'));
    FUZZ_CHECK(status != SQSIM_ERR_INTERNAL);
}

static void fill(struct fuzz_reader *r, float *v, size_t n)
{
    static const float values[] = {0,    1,     -1,     .5f,   3,        -7,     448,
                                   6e4f, 7e-5f, -1e-8f, 1e38f, -3.4e38f, 1e-42f, INFINITY};
    unsigned state = fuzz_u16(r);
    const unsigned tame = fuzz_byte(r);
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        v[i] = (float)(int)(state >> 24) / 64 - 2;
        if ((state >> 8 & 0xff) > tame)
            v[i] = values[(state >> 16) % (sizeof values / sizeof values[0])];
    }
}

static void new_format(struct fuzz_reader *r)
{
    static const char *const names[] = {"bank",   "sparsity",  "act-bits",      "weight-bits",
                                        "group",  "algorithm", "high-per-bank", "codes",
                                        "rotate", "rule",      "operand",       "element",
                                        "prune",  "smooth",    "nothing"};
    static const char *const values[] = {"",     "0",         "1",   "2",     "4",     "8",
                                         "16",   "32",        "64",  "0.5",   "0.875", "rtn",
                                         "gptq", "split",     "int", "fp",    "16h",   "weights",
                                         "act",  "magnitude", "-1",  "1e999", "row"};
    const char *option[9] = {NULL};
    const unsigned at = below(r, HANDLES), n = below(r, 5), purpose = below(r, 8) == 0;
    const unsigned which = below(r, 24);
    struct sqsim_error err;
    for (unsigned i = 0; i < n; i++) {
        option[2 * i] = names[below(r, sizeof names / sizeof names[0])];
        option[2 * i + 1] = values[below(r, sizeof values / sizeof values[0])];
    }
    size_t n_formats = 0;
    while (sqsim_format_name(n_formats))
        n_formats++;
    const char *name = which < n_formats ? sqsim_format_name(which) : "none";
    sqsim_format_free(format[at]);
    const enum sqsim_status status =
        sqsim_format_new(name, purpose ? SQSIM_TIME : SQSIM_VALUES, option, &format[at], &err);
    check(status, &err, format[at]);
}

static void encode(struct fuzz_reader *r)
{
    static const size_t n_of[] = {1, 2, 16, 32}, k_of[] = {1, 16, 31, 32, 64, 128, 256, 0};
    const unsigned f = below(r, HANDLES), at = below(r, HANDLES);
    const size_t n = n_of[below(r, 4)], k = k_of[below(r, 8)];
    struct sqsim_error err;
    if (!format[f])
        return;
    fill(r, w, n * k);
    fill(r, x, M_MAX * k);
    const bool has_tokens = sqsim_format_needs_calibration(format[f]) && below(r, 8) > 0;
    sqsim_layer_free(layer[at]);
    const enum sqsim_status status = sqsim_encode(format[f], w, n, k, has_tokens ? x : NULL,
                                                  has_tokens ? M_MAX : 0, &layer[at], &err);
    check(status, &err, layer[at]);
    FUZZ_CHECK(!layer[at] || (sqsim_layer_n(layer[at]) == n && sqsim_layer_k(layer[at]) == k));
}

static enum sqsim_status product(const sqsim_layer *l, size_t m, float *out)
{
    struct sqsim_error err = {.text = ""};
    const enum sqsim_status status = sqsim_product(l, x, m, out, &err);
    FUZZ_CHECK(status == SQSIM_OK || err.text[0] != '\0');
    return status;
}

static bool is_equal(const sqsim_layer *a, const sqsim_layer *b, size_t m)
{
    const enum sqsim_status status = product(a, m, y[0]);
    return status == product(b, m, y[1]) &&
           (status != SQSIM_OK || memcmp(y[0], y[1], m * sqsim_layer_n(a) * sizeof(float)) == 0);
}

static void multiply(struct fuzz_reader *r)
{
    const sqsim_layer *l = layer[below(r, HANDLES)];
    const size_t m = 1 + below(r, M_MAX);
    struct sqsim_error err;
    if (!l)
        return;
    fill(r, x, m * sqsim_layer_k(l));
    FUZZ_CHECK(is_equal(l, l, m));
    const enum sqsim_status status = sqsim_decode(l, w, &err);
    FUZZ_CHECK(status == SQSIM_OK || err.text[0] != '\0');
    FUZZ_CHECK(isnan(sqsim_layer_bits(l)) || sqsim_layer_bits(l) > 0);
    for (size_t i = 0; i < sqsim_layer_n_parts(l); i++) {
        size_t shape[3] = {0, 0, 0};
        FUZZ_CHECK(sqsim_layer_part_name(l, i) && sqsim_layer_part_dtype(l, i));
        FUZZ_CHECK(sqsim_layer_part_shape(l, i, shape) <= 3);
    }
    FUZZ_CHECK(!sqsim_layer_part_name(l, sqsim_layer_n_parts(l)));
}

static void through_file(struct fuzz_reader *r)
{
    static const char *const names[] = {"a", "model.layers.0.q_proj", "", "a\n", "a.b"};
    const char *name[2] = {names[below(r, 5)], names[below(r, 5)]};
    const sqsim_layer *some[2] = {layer[below(r, HANDLES)], layer[below(r, HANDLES)]};
    const size_t n_layers = 1 + below(r, 2);
    struct sqsim_error err;
    sqsim_file *file;
    if (!some[0] || !some[1])
        return;
    if (sqsim_file_write("mem/w", name, some, n_layers, &err) != SQSIM_OK) {
        FUZZ_CHECK(err.text[0] != '\0');
        return;
    }
    size_t n;
    const uint8_t *bytes = fuzz_written("mem/w", &n);
    FUZZ_CHECK(bytes);
    fuzz_file("mem/r", bytes, n);
    const enum sqsim_status status = sqsim_file_open("mem/r", NULL, &file, &err);
    check(status, &err, file);
    FUZZ_CHECK(file && sqsim_file_n_layers(file) == n_layers);
    for (size_t i = 0; i < n_layers; i++) {
        sqsim_layer *back;
        const size_t at = strcmp(sqsim_file_name(file, i), name[0]) == 0 ? 0 : 1;
        FUZZ_CHECK(sqsim_file_load(file, i, &back, &err) == SQSIM_OK);
        FUZZ_CHECK(sqsim_layer_k(back) == sqsim_layer_k(some[at]));
        fill(r, x, sqsim_layer_k(back));
        FUZZ_CHECK(is_equal(some[at], back, 1));
        sqsim_layer_free(back);
    }
    FUZZ_CHECK(!sqsim_file_name(file, n_layers));
    sqsim_file_close(file);
    fuzz_forget();
    fuzz_forget_written();
}

static void cycles(struct fuzz_reader *r)
{
    const sqsim_format *f = format[below(r, HANDLES)];
    const unsigned m = fuzz_u16(r), n = fuzz_u16(r), k = fuzz_u16(r);
    sqsim_figures *figures;
    struct sqsim_error err;
    if (!f)
        return;
    const enum sqsim_status status = sqsim_cycles(f, NULL, m, n, k, &figures, &err);
    check(status, &err, figures);
    if (figures)
        FUZZ_CHECK(sqsim_figures_get(figures, "cycles") > 0 &&
                   isnan(sqsim_figures_get(figures, "none")));
    sqsim_figures_free(figures);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static void (*const call[])(struct fuzz_reader *) = {new_format, encode,       multiply, encode,
                                                         multiply,   through_file, cycles};
    struct fuzz_reader r = {data, n};
    fuzz_forget();
    for (unsigned i = 0; i < CALLS && r.n > 0; i++)
        call[below(&r, sizeof call / sizeof call[0])](&r);
    for (unsigned i = 0; i < HANDLES; i++) {
        sqsim_layer_free(layer[i]);
        sqsim_format_free(format[i]);
        layer[i] = NULL;
        format[i] = NULL;
    }
    fuzz_forget_written();
    return 0;
}
