// SPDX-License-Identifier: Apache-2.0
// What split codes on activations cost in accuracy, next to INT6 and INT8 activations, on tokens
// with the outliers of real models: channel maxima of OPT (act_scales of SQ_DATA), tokens drawn
// as Gaussians of a standard deviation of max / 3.5. With independent weights the relative error of
// an output is that of its activations: sqrt(sum (x - x')^2 / sum x^2). One scale per token; masks
// are the k largest |x| of each bank. Nothing is exhausted: 20 layers per model, 4 tokens each.
//
// The claim under test is that of reports/area/README.md: bank 16, k = 4 and k = 2, at a step that
// clips nothing, err less than INT6 on average.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <math.h>
#include <unistd.h>

#include "models/core/sq_format.h"
#include "models/number/sq_grid.h"
#include "models/sq_rng.h"
#include "sim/io/sq_safetensors.h"
#include "tests/data.h"
#include "tests/skip.h"
#include "tests/test.h"

enum { BANK = 16, LAYERS = 20, TOKENS = 4 };

static double gauss(struct sq_rng *r)
{
    return sqrt(-2 * log(sq_rng_unit(r) + 1e-300)) * cos(6.283185307179586 * sq_rng_unit(r));
}

static float amax_of(const float *x, const uint8_t *is_high, size_t n, bool high)
{
    float amax = 0;
    for (size_t i = 0; i < n; i++)
        if ((is_high[i] != 0) == high && fabsf(x[i]) > amax)
            amax = fabsf(x[i]);
    return amax;
}

// Relative error of a token in a grid; k = 0: dense.
static double error_of(const float *x, size_t n, const struct sq_grid *grid, unsigned k)
{
    uint8_t *is_high = fixture_zeros(n, 1);
    float score[BANK], s_lo, s_hi;
    double err = 0, sum = 0;
    for (size_t b = 0; k > 0 && b + BANK <= n; b += BANK) {
        for (unsigned i = 0; i < BANK; i++)
            score[i] = fabsf(x[b + i]);
        sq_topk(score, BANK, k, is_high + b);
    }
    const float low = amax_of(x, is_high, n, false), high = amax_of(x, is_high, n, true);
    sq_grid_scales(grid, low, high, &s_lo, &s_hi);
    if (grid->kind == SQ_GRID_SPLIT && high / 119 > s_lo) // clips nothing
        s_lo = s_hi = high / 119;
    for (size_t i = 0; i < n; i++) {
        const int16_t code = sq_grid_code(grid, x[i], is_high[i], s_lo, s_hi);
        const double d = (double)sq_grid_value(grid, code, is_high[i], s_lo, s_hi) - (double)x[i];
        err += d * d;
        sum += (double)x[i] * (double)x[i];
    }
    return sqrt(err / sum);
}

static void compare(const char *path)
{
    static const struct sq_grid int6 = {SQ_GRID_DENSE, 0, 6}, int8 = {SQ_GRID_DENSE, 0, 8};
    static const struct sq_grid split = {SQ_GRID_SPLIT, 8, 4};
    const char *seed = getenv("SQ_SEED");
    struct sq_rng rng = {seed ? strtoull(seed, NULL, 0) : 1};
    struct sq_safetensors file;
    struct sq_error err;
    double e6 = 0, e8 = 0, k4 = 0, k2 = 0;
    unsigned n_tokens = 0;
    if (sq_safetensors_open(&file, path, &err) != SQ_OK)
        fail_msg("%s", err.text);
    for (size_t t = 0; t < file.n_tensors; t += (file.n_tensors + LAYERS - 1) / LAYERS) {
        const struct sq_tensor *s = &file.tensor[t];
        const size_t n = s->n_elements;
        float *x = fixture_exact(n * sizeof *x), *scale = fixture_exact(n * sizeof *scale);
        assert_ok(sq_tensor_read_f32(s, scale, &err));
        for (unsigned token = 0; token < TOKENS; token++, n_tokens++) {
            for (size_t i = 0; i < n; i++)
                x[i] = (float)(gauss(&rng) * (double)scale[i] / 3.5);
            e6 += error_of(x, n, &int6, 0);
            e8 += error_of(x, n, &int8, 0);
            k4 += error_of(x, n, &split, 4);
            k2 += error_of(x, n, &split, 2);
        }
    }
    sq_safetensors_close(&file);
    print_message("# %s, %u tokens: INT8 %.4f INT6 %.4f split k=4 %.4f k=2 %.4f\n",
                  strrchr(path, '/') + 1, n_tokens, e8 / n_tokens, e6 / n_tokens, k4 / n_tokens,
                  k2 / n_tokens);
    assert_true(n_tokens >= 40);
    assert_true(k4 < 0.85 * e6);
    assert_true(k2 < e6);
    assert_true(k4 > e8); // and it is no INT8
}

SQ_TEST(split_activations_err_less_than_int6)
{
    static const char *const name[] = {"act_scales/opt-125m.act_scales.safetensors",
                                       "act_scales/opt-1.3b.act_scales.safetensors"};
    for (size_t i = 0; i < 2; i++) {
        char path[512];
        if (access(test_data(name[i], path), R_OK) != 0) {
            SQ_SKIP("no %s", path);
        }
        compare(path);
    }
}
