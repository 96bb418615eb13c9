// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of models/: the seed, owned matrices, and the list of legal formats.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_format.h"
#include "models/number/sq_bits.h"
#include "models/sq_rng.h"
#include "models/sq_status.h"
#include "tests/test.h"

#define LEN(a) (sizeof(a) / sizeof(a)[0])

// The seed of this run: SQ_SEED, or 1.
static inline uint64_t fixture_seed(void)
{
    const char *text = getenv("SQ_SEED");
    return text ? strtoull(text, NULL, 0) : 1;
}

// n random cases; a quarter of them in make test, and make test-daily runs these programs whole.
static inline unsigned fixture_cases(unsigned n)
{
    const char *const tier = getenv("SQ_TIER");
    return tier && strcmp(tier, "test") == 0 ? n / 4 : n;
}

static inline uint32_t between(struct sq_rng *r, uint32_t low, uint32_t high)
{
    return low + sq_rng_below(r, high - low + 1);
}

// Near enough to a normal deviate: twelve uniform ones.
static inline double fixture_gauss(struct sq_rng *r)
{
    double s = -6;
    for (unsigned i = 0; i < 12; i++)
        s += sq_rng_unit(r);
    return s;
}

// A check that reports the seed and the case beside the values.
#define CHECK_EQ(got, want, ...)                                                                   \
    do {                                                                                           \
        const long long got_ = (long long)(got), want_ = (long long)(want);                        \
        if (got_ != want_) {                                                                       \
            print_error("seed %llu: ", (unsigned long long)fixture_seed());                        \
            print_error(__VA_ARGS__);                                                              \
            fail_msg("%s = %lld, want %lld", #got, got_, want_);                                   \
        }                                                                                          \
    } while (0)

// A refusal with this status, in one sentence that contains `part`.
static inline void check_refused(enum sq_status got, enum sq_status want,
                                 const struct sq_error *err, const char *part)
{
    if (got != want)
        print_error("'%s': status %d (%s), want %d (%s)\n", part, got, got ? err->text : "accepted",
                    want, sq_status_str(want));
    assert_int_equal(got, want);
    if (!strstr(err->text, part))
        print_error("'%s' is not in '%s'\n", part, err->text);
    assert_non_null(strstr(err->text, part));
    assert_null(strchr(err->text, '\n'));
}

// Whether a file holds what `write` writes; with UPDATE=1 it is written first.
static inline void check_generated(const char *path, void (*write)(FILE *out))
{
    const char *const update = getenv("UPDATE");
    char *text = NULL;
    size_t n;
    FILE *const memory = open_memstream(&text, &n);
    assert_non_null(memory);
    write(memory);
    fclose(memory);
    if (update && strcmp(update, "1") == 0) {
        FILE *const out = fopen(path, "w");
        assert_non_null(out);
        assert_int_equal(fwrite(text, 1, n, out), n);
        fclose(out);
    }
    char *const stored = calloc(1, n + 2);
    FILE *const in = fopen(path, "r");
    assert_non_null(stored);
    if (!in || fread(stored, 1, n + 1, in) != n || strcmp(stored, text) != 0)
        fail_msg("%s is not what its table says; UPDATE=1 writes it", path);
    fclose(in);
    free(text);
}

static inline struct sq_matrix matrix_new(struct sq_format f, size_t n, size_t k_orig)
{
    struct sq_matrix m = {.format = f, .n = n, .k = sq_k_padded(&f, k_orig), .k_orig = k_orig};
    const size_t n_scales = n * sq_n_groups(&f, m.k);
    m.lo = fixture_exact(n * sq_lo_row_nbytes(&f, m.k));
    m.hi = fixture_exact(n * sq_hi_row_nbytes(&f, m.k));
    m.s_lo = fixture_exact(n_scales * sizeof(float));
    m.s_hi = fixture_exact(n_scales * sizeof(float));
    return m;
}

// Validation with the lengths the shape itself gives.
static inline enum sq_status matrix_validate(const struct sq_matrix *m, struct sq_error *err)
{
    return sq_matrix_validate(m, m->n * sq_lo_row_nbytes(&m->format, m->k),
                              m->n * sq_hi_row_nbytes(&m->format, m->k),
                              m->n * sq_n_groups(&m->format, m->k), err);
}

// Mostly small multiples of 1/4, so that ties and zeros are common; a few outliers.
static inline void random_weights(struct sq_rng *r, float *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        w[i] = 0.25f * (float)((int)sq_rng_below(r, 33) - 16);
        if (sq_rng_below(r, 16) == 0)
            w[i] = (float)(sq_rng_unit(r) - 0.5) * 100.0f;
    }
}

// Every format that sq_format_check accepts: pair x bank x k x group.
typedef void format_fn(struct sq_format f, void *context);

static inline unsigned for_each_format(format_fn *fn, void *context)
{
    static const unsigned pair[][2] = {{8, 4}, {8, 3}, {8, 2}, {4, 2}, {4, 3}};
    static const unsigned group[] = {0, 32, 64, 128};
    unsigned count = 0;
    for (size_t p = 0; p < LEN(pair); p++)
        for (unsigned bank = 4; bank <= 128; bank *= 2)
            for (unsigned k = bank / 2; k >= 1 && k * 16 >= bank; k /= 2)
                for (size_t g = 0; g < LEN(group); g++) {
                    const struct sq_format f = {pair[p][0], pair[p][1], bank, k, group[g]};
                    if (sq_format_check(&f, NULL) != SQ_OK)
                        continue;
                    fn(f, context);
                    count++;
                }
    return count;
}

// How many there are, counted by hand:
//   bank 4: k 2, 1;  8: 4, 2, 1;  16, 32, 64, 128: 4 each               = 21 (bank, k)
//   groups: 4 for bank <= 32 (2+3+4+4 = 13), 3 for 64 (4), 2 for 128 (4) = 52 + 12 + 8 = 72
#define N_FORMATS (5 * 72)
