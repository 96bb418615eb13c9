// SPDX-License-Identifier: Apache-2.0
// Lays rows out in a memory, makes the passes over them, and takes the results back (sq_vector_steps.h).
#include "sim/block/vector/sq_vector_steps.h"

#include <stdlib.h>
#include <string.h>

#include "models/number/sq_bits.h"

enum { PASSES = 4, ROWS_MAX = 65535, STRIDE_MAX = 65535 };

struct program {
    uint32_t nbytes;
    size_t rows, n; // of the step
    int32_t *word;
    size_t n_words, room;
    struct sq_tv_layer pass[PASSES];
    size_t n_passes;
};

// A memory of so many regions of rows of n elements.
static enum sq_status begin(struct program *p, uint32_t nbytes, size_t rows, size_t n,
                            size_t regions, struct sq_error *err)
{
    const size_t stride = (4 * n + nbytes - 1) / nbytes;
    if (rows < 1 || rows > ROWS_MAX || stride > STRIDE_MAX)
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "%zu rows of %zu elements, need 1..%d rows of at most %d beats of %u B on a "
                       "vector unit",
                       rows, n, ROWS_MAX, STRIDE_MAX, nbytes);
    *p = (struct program){.nbytes = nbytes, .rows = rows, .n = n};
    p->room = regions * rows * stride * nbytes / 4;
    p->word = calloc(p->room, sizeof *p->word);
    SQ_NEED(p->word, err, "a memory of %zu words", p->room);
    return SQ_OK;
}

// Another region; x: what it begins with, `pitch` elements from row to row, or NULL.
static struct sq_vector_rows put(struct program *p, size_t rows, size_t n, const float *x,
                                 size_t pitch)
{
    const struct sq_vector_rows r = {.at = 4 * p->n_words,
                                     .stride = (uint32_t)((4 * n + p->nbytes - 1) / p->nbytes)};
    const size_t words = r.stride * (size_t)p->nbytes / 4;
    for (size_t i = 0; x && i < rows; i++)
        memcpy(p->word + p->n_words + i * words, x + i * pitch, n * sizeof *x);
    p->n_words += rows * words;
    return r;
}

static void get(const struct program *p, struct sq_vector_rows r, size_t n, float *x, size_t pitch)
{
    const size_t words = r.stride * (size_t)p->nbytes / 4;
    for (size_t i = 0; i < p->rows; i++)
        memcpy(x + i * pitch, p->word + r.at / 4 + i * words, n * sizeof *x);
}

struct sq_vector_operand sq_vector_each(struct sq_vector_rows r)
{
    return (struct sq_vector_operand){SQ_TV_ROW, r};
}

struct sq_vector_operand sq_vector_one(struct sq_vector_rows r)
{
    return (struct sq_vector_operand){SQ_TV_ONE, r};
}

struct sq_vector_operand sq_vector_constant(float x)
{
    return (struct sq_vector_operand){SQ_TV_CONSTANT, {.at = sq_bits_of(x)}};
}

struct sq_tv_layer sq_vector_pass(enum sq_vector_func f, size_t rows, size_t n,
                                  struct sq_vector_rows a, struct sq_vector_operand b,
                                  struct sq_vector_operand c, struct sq_vector_rows y)
{
    return (struct sq_tv_layer){.f = f,
                                .from = {SQ_TV_ROW, b.from, c.from},
                                .half = {a.half, b.rows.half, c.rows.half},
                                .y = y.half ? SQ_TV_BFLOAT16 : SQ_TV_BINARY32,
                                .addr = {a.at, b.rows.at, c.rows.at, y.at},
                                .stride = {a.stride, b.rows.stride, c.rows.stride, y.stride},
                                .rows = (uint32_t)rows,
                                .n = (uint32_t)n};
}

struct sq_tv_layer sq_vector_reduce(enum sq_tv_red red, size_t rows, size_t n,
                                    struct sq_vector_rows a, struct sq_vector_operand b,
                                    uint64_t to)
{
    struct sq_tv_layer l =
        sq_vector_pass(SQ_VECTOR_PLAIN, rows, n, a, b, sq_vector_constant(0.0f), a);
    l.y = SQ_TV_NO_Y;
    l.red = red;
    l.addr[SQ_TV_RED] = to;
    return l;
}

static void add_pass(struct program *p, enum sq_vector_func f, size_t n, struct sq_vector_rows a,
                     struct sq_vector_operand b, struct sq_vector_operand c,
                     struct sq_vector_rows y)
{
    p->pass[p->n_passes++] = sq_vector_pass(f, p->rows, n, a, b, c, y);
}

static int32_t read_word(void *ctx, uint64_t addr, unsigned i)
{
    return ((const int32_t *)ctx)[addr / 4 + i];
}

static void write_beat(void *ctx, uint64_t addr, const int32_t *word, unsigned n)
{
    memcpy((int32_t *)ctx + addr / 4, word, n * sizeof *word);
}

static void run(struct program *p)
{
    const struct sq_tv_memory memory = {p->word, read_word, write_beat};
    for (size_t i = 0; i < p->n_passes; i++)
        sq_tv_golden(&p->pass[i], p->nbytes, &memory);
}

// Runs the passes, takes rows of n elements back, and frees the memory.
static enum sq_status finish(struct program *p, struct sq_vector_rows r, size_t n, float *x)
{
    run(p);
    get(p, r, n, x, n);
    free(p->word);
    return SQ_OK;
}

enum sq_status sq_vector_steps_norm(uint32_t nbytes, const float *in, const float *gain, float eps,
                                    size_t rows, size_t n, float *out, struct sq_error *err)
{
    struct program p;
    SQ_TRY(begin(&p, nbytes, rows, n, 5, err));
    const struct sq_vector_rows x = put(&p, rows, n, in, n), g = put(&p, 1, n, gain, n);
    const struct sq_vector_rows squares = put(&p, rows, 1, NULL, 0),
                                scale = put(&p, rows, 1, NULL, 0);
    p.pass[p.n_passes++] = sq_vector_reduce(
        SQ_TV_SUM, rows, n, x, (struct sq_vector_operand){SQ_TV_FROM_A, {0}}, squares.at);
    add_pass(&p, SQ_VECTOR_RSQRT, 1, squares, sq_vector_constant(1.0f / (float)n),
             sq_vector_constant(eps), scale);
    add_pass(&p, SQ_VECTOR_PLAIN, n, x, sq_vector_one(scale), sq_vector_constant(0.0f), x);
    add_pass(&p, SQ_VECTOR_PLAIN, n, x, sq_vector_each((struct sq_vector_rows){.at = g.at}),
             sq_vector_constant(0.0f), x);
    return finish(&p, x, n, out);
}

enum sq_status sq_vector_steps_gate(uint32_t nbytes, float *gate, const float *up, size_t rows,
                                    size_t n, struct sq_error *err)
{
    struct program p;
    SQ_TRY(begin(&p, nbytes, rows, n, 3, err));
    const struct sq_vector_rows g = put(&p, rows, n, gate, n), u = put(&p, rows, n, up, n);
    const struct sq_vector_rows part = put(&p, rows, n, NULL, 0);
    add_pass(&p, SQ_VECTOR_EXP, n, g, sq_vector_constant(-1.0f), sq_vector_constant(0.0f), part);
    add_pass(&p, SQ_VECTOR_RECIPROCAL, n, part, sq_vector_constant(1.0f), sq_vector_constant(1.0f),
             part);
    add_pass(&p, SQ_VECTOR_PLAIN, n, g, sq_vector_each(part), sq_vector_constant(0.0f), g);
    add_pass(&p, SQ_VECTOR_PLAIN, n, g, sq_vector_each(u), sq_vector_constant(0.0f), g);
    return finish(&p, g, n, gate);
}

enum sq_status sq_vector_steps_add(uint32_t nbytes, float *x, const float *y, size_t rows, size_t n,
                                   struct sq_error *err)
{
    struct program p;
    SQ_TRY(begin(&p, nbytes, rows, n, 2, err));
    const struct sq_vector_rows a = put(&p, rows, n, x, n), b = put(&p, rows, n, y, n);
    add_pass(&p, SQ_VECTOR_PLAIN, (uint32_t)n, a, sq_vector_constant(1.0f), sq_vector_each(b), a);
    return finish(&p, a, n, x);
}

enum sq_status sq_vector_steps_rotary(uint32_t nbytes, float *x, const float *rotation,
                                      size_t heads, size_t rows, size_t n, struct sq_error *err)
{
    struct program p;
    const size_t half = n / 2;
    SQ_FREED float *const table = malloc(3 * rows * half * sizeof *table);
    SQ_NEED(table, err, "the rotations of %zu rows", rows);
    float *const cosine = table, *const sine = table + rows * half,
                 *const minus = sine + rows * half;
    for (size_t i = 0; i < rows * half; i++) {
        const float *const of = rotation + i / half / heads * n + i % half;
        cosine[i] = of[0];
        sine[i] = of[half];
        minus[i] = -of[half];
    }
    SQ_TRY(begin(&p, nbytes, rows, half, 7, err));
    const struct sq_vector_rows a = put(&p, rows, half, x, n), b = put(&p, rows, half, x + half, n);
    const struct sq_vector_rows c = put(&p, rows, half, cosine, half),
                                s = put(&p, rows, half, sine, half);
    const struct sq_vector_rows m = put(&p, rows, half, minus, half);
    const struct sq_vector_rows first = put(&p, rows, half, NULL, 0),
                                second = put(&p, rows, half, NULL, 0);
    add_pass(&p, SQ_VECTOR_PLAIN, half, a, sq_vector_each(c), sq_vector_constant(0.0f), first);
    add_pass(&p, SQ_VECTOR_PLAIN, half, b, sq_vector_each(m), sq_vector_each(first), first);
    add_pass(&p, SQ_VECTOR_PLAIN, half, b, sq_vector_each(c), sq_vector_constant(0.0f), second);
    add_pass(&p, SQ_VECTOR_PLAIN, half, a, sq_vector_each(s), sq_vector_each(second), second);
    run(&p);
    get(&p, first, half, x, n);
    get(&p, second, half, x + half, n);
    free(p.word);
    return SQ_OK;
}

enum sq_status sq_vector_steps_head(uint32_t nbytes, const float *w, const float *x, size_t rows,
                                    size_t n, float *y, struct sq_error *err)
{
    struct program p;
    SQ_TRY(begin(&p, nbytes, rows, n, 3, err));
    const struct sq_vector_rows a = put(&p, rows, n, w, n), state = put(&p, 1, n, x, n);
    const struct sq_vector_rows to = put(&p, rows, 1, NULL, 0);
    p.pass[p.n_passes++] = sq_vector_reduce(
        SQ_TV_SUM, rows, n, a, sq_vector_each((struct sq_vector_rows){.at = state.at}), to.at);
    return finish(&p, to, 1, y);
}
