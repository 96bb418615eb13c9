// SPDX-License-Identifier: Apache-2.0
// Lays rows out in a memory, makes the passes over them, and takes the results back (sq_vector_steps.h).
#include "sim/block/vector/sq_vector_steps.h"

#include <stdlib.h>
#include <string.h>

#include "models/number/sq_bits.h"

enum { PASSES = 4, ROWS_MAX = 65535, STRIDE_MAX = 65535 };

// Rows in memory: where they begin, beats from one to the next.
struct rows {
    uint64_t at;
    uint32_t stride;
};

struct program {
    const struct sq_vector_steps *v;
    size_t rows, n; // of the step
    int32_t *word;
    size_t n_words, room;
    struct sq_tv_layer pass[PASSES];
    size_t n_passes;
};

// A memory of so many regions of rows of n elements.
static enum sq_status begin(struct program *p, const struct sq_vector_steps *v, size_t rows,
                            size_t n, size_t regions, struct sq_error *err)
{
    const size_t stride = (4 * n + v->nbytes - 1) / v->nbytes;
    if (rows < 1 || rows > ROWS_MAX || stride > STRIDE_MAX)
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "%zu rows of %zu elements, need 1..%d rows of at most %d beats of %u B on a "
                       "vector unit",
                       rows, n, ROWS_MAX, STRIDE_MAX, v->nbytes);
    *p = (struct program){.v = v, .rows = rows, .n = n};
    p->room = regions * rows * stride * v->nbytes / 4;
    p->word = calloc(p->room, sizeof *p->word);
    SQ_NEED(p->word, err, "a memory of %zu words", p->room);
    return SQ_OK;
}

// Another region; x: what it begins with, `pitch` elements from row to row, or NULL.
static struct rows put(struct program *p, size_t rows, size_t n, const float *x, size_t pitch)
{
    const struct rows r = {4 * p->n_words, (uint32_t)((4 * n + p->v->nbytes - 1) / p->v->nbytes)};
    const size_t words = r.stride * (size_t)p->v->nbytes / 4;
    for (size_t i = 0; x && i < rows; i++)
        memcpy(p->word + p->n_words + i * words, x + i * pitch, n * sizeof *x);
    p->n_words += rows * words;
    return r;
}

static void get(const struct program *p, struct rows r, size_t n, float *x, size_t pitch)
{
    const size_t words = r.stride * (size_t)p->v->nbytes / 4;
    for (size_t i = 0; i < p->rows; i++)
        memcpy(x + i * pitch, p->word + r.at / 4 + i * words, n * sizeof *x);
}

struct operand {
    enum sq_tv_from from;
    struct rows rows;
};

static struct operand each(struct rows r)
{
    return (struct operand){SQ_TV_ROW, r};
}
static struct operand one(struct rows r)
{
    return (struct operand){SQ_TV_ONE, r};
}
static struct operand constant(float x)
{
    return (struct operand){SQ_TV_CONSTANT, {sq_bits_of(x), 0}};
}

static struct sq_tv_layer *add_pass(struct program *p, enum sq_vector_func f, uint32_t n,
                                    struct rows a, struct operand b, struct operand c,
                                    struct rows y)
{
    struct sq_tv_layer *const l = &p->pass[p->n_passes++];
    *l = (struct sq_tv_layer){.f = f,
                              .from = {SQ_TV_ROW, b.from, c.from},
                              .y = SQ_TV_BINARY32,
                              .addr = {a.at, b.rows.at, c.rows.at, y.at},
                              .stride = {a.stride, b.rows.stride, c.rows.stride, y.stride},
                              .rows = (uint32_t)p->rows,
                              .n = n};
    return l;
}

static int32_t read_word(void *ctx, uint64_t addr, unsigned i)
{
    return ((const int32_t *)ctx)[addr / 4 + i];
}

static void write_beat(void *ctx, uint64_t addr, const int32_t *word, unsigned n)
{
    memcpy((int32_t *)ctx + addr / 4, word, n * sizeof *word);
}

static enum sq_status run(struct program *p, struct sq_error *err)
{
    const struct sq_tv_memory memory = {p->word, read_word, write_beat};
    if (p->v->run)
        return p->v->run(p->v->context, p->pass, p->n_passes, p->word, p->n_words, err);
    for (size_t i = 0; i < p->n_passes; i++)
        sq_tv_golden(&p->pass[i], p->v->nbytes, &memory);
    return SQ_OK;
}

// Runs the passes, takes rows of n elements back where all ran, and frees the memory.
static enum sq_status finish(struct program *p, struct rows r, size_t n, float *x,
                             struct sq_error *err)
{
    const enum sq_status status = run(p, err);
    if (status == SQ_OK)
        get(p, r, n, x, n);
    free(p->word);
    return status;
}

enum sq_status sq_vector_steps_norm(const struct sq_vector_steps *v, const float *in,
                                    const float *gain, float eps, size_t rows, size_t n, float *out,
                                    struct sq_error *err)
{
    struct program p;
    SQ_TRY(begin(&p, v, rows, n, 5, err));
    const struct rows x = put(&p, rows, n, in, n), g = put(&p, 1, n, gain, n);
    const struct rows squares = put(&p, rows, 1, NULL, 0), scale = put(&p, rows, 1, NULL, 0);
    const uint32_t width = (uint32_t)n;
    struct sq_tv_layer *const sum = add_pass(
        &p, SQ_VECTOR_PLAIN, width, x, (struct operand){SQ_TV_FROM_A, {0, 0}}, constant(0.0f), x);
    sum->y = SQ_TV_NO_Y;
    sum->red = SQ_TV_SUM;
    sum->addr[SQ_TV_RED] = squares.at;
    add_pass(&p, SQ_VECTOR_RSQRT, 1, squares, constant(1.0f / (float)n), constant(eps), scale);
    add_pass(&p, SQ_VECTOR_PLAIN, width, x, one(scale), constant(0.0f), x);
    add_pass(&p, SQ_VECTOR_PLAIN, width, x, each((struct rows){g.at, 0}), constant(0.0f), x);
    return finish(&p, x, n, out, err);
}

enum sq_status sq_vector_steps_gate(const struct sq_vector_steps *v, float *gate, const float *up,
                                    size_t rows, size_t n, struct sq_error *err)
{
    struct program p;
    SQ_TRY(begin(&p, v, rows, n, 3, err));
    const struct rows g = put(&p, rows, n, gate, n), u = put(&p, rows, n, up, n);
    const struct rows part = put(&p, rows, n, NULL, 0);
    const uint32_t width = (uint32_t)n;
    add_pass(&p, SQ_VECTOR_EXP, width, g, constant(-1.0f), constant(0.0f), part);
    add_pass(&p, SQ_VECTOR_RECIPROCAL, width, part, constant(1.0f), constant(1.0f), part);
    add_pass(&p, SQ_VECTOR_PLAIN, width, g, each(part), constant(0.0f), g);
    add_pass(&p, SQ_VECTOR_PLAIN, width, g, each(u), constant(0.0f), g);
    return finish(&p, g, n, gate, err);
}

enum sq_status sq_vector_steps_add(const struct sq_vector_steps *v, float *x, const float *y,
                                   size_t rows, size_t n, struct sq_error *err)
{
    struct program p;
    SQ_TRY(begin(&p, v, rows, n, 2, err));
    const struct rows a = put(&p, rows, n, x, n), b = put(&p, rows, n, y, n);
    add_pass(&p, SQ_VECTOR_PLAIN, (uint32_t)n, a, constant(1.0f), each(b), a);
    return finish(&p, a, n, x, err);
}

enum sq_status sq_vector_steps_rotary(const struct sq_vector_steps *v, float *x,
                                      const float *rotation, size_t heads, size_t rows, size_t n,
                                      struct sq_error *err)
{
    struct program p;
    const size_t half = n / 2;
    const uint32_t width = (uint32_t)half;
    float *const table = malloc(3 * rows * half * sizeof *table);
    SQ_NEED(table, err, "the rotations of %zu rows", rows);
    float *const cosine = table, *const sine = table + rows * half,
                 *const minus = sine + rows * half;
    for (size_t i = 0; i < rows * half; i++) {
        const float *const of = rotation + i / half / heads * n + i % half;
        cosine[i] = of[0];
        sine[i] = of[half];
        minus[i] = -of[half];
    }
    enum sq_status status = begin(&p, v, rows, half, 7, err);
    if (status == SQ_OK) {
        const struct rows a = put(&p, rows, half, x, n), b = put(&p, rows, half, x + half, n);
        const struct rows c = put(&p, rows, half, cosine, half),
                          s = put(&p, rows, half, sine, half);
        const struct rows m = put(&p, rows, half, minus, half);
        const struct rows first = put(&p, rows, half, NULL, 0),
                          second = put(&p, rows, half, NULL, 0);
        add_pass(&p, SQ_VECTOR_PLAIN, width, a, each(c), constant(0.0f), first);
        add_pass(&p, SQ_VECTOR_PLAIN, width, b, each(m), each(first), first);
        add_pass(&p, SQ_VECTOR_PLAIN, width, b, each(c), constant(0.0f), second);
        add_pass(&p, SQ_VECTOR_PLAIN, width, a, each(s), each(second), second);
        status = run(&p, err);
        if (status == SQ_OK) {
            get(&p, first, half, x, n);
            get(&p, second, half, x + half, n);
        }
        free(p.word);
    }
    free(table);
    return status;
}
