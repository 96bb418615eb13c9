// SPDX-License-Identifier: Apache-2.0
// Training: gradients of a block, of the end of the model and of an encoded layer (sq_block_grad, sq_tune).
//
// Judge: a second block in binary64, plain loops over one position at a time, and its central differences: every
// weight of every matrix, every input, to 1e-4 of the largest gradient of its tensor. Straight-through gradients by
// the table of sq_tune.h written down once more; frozen codes by differences. Random: heads that share keys, two
// sequences, biases.
#include <math.h>

#include "models/number/sq_half.h"
#include "models/quant/sq_tune.h"
#include "sim/llm/train/sq_block_grad.h"
#include "tests/unit/fixture.h"

enum { H = 8, HEADS = 4, KV = 2, D = 4, INNER = 12, LONG = 5, TWO = 2, T = TWO * LONG, VOCAB = 11 };
enum { QN = HEADS * D, KN = KV * D };
static const size_t rows_of[] = {QN, KN, KN, H, INNER, INNER, H};
static const size_t columns_of[] = {H, H, H, QN, H, H, INNER};

struct slow {
    double w[7][INNER * QN], bias[7][QN], norm[2][H], in[T * H], pull[T * H];
};

static void fill(struct sq_rng *r, double *x, size_t n, double scale)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (double)(float)(scale * fixture_gauss(r));
}

static void slow_norm(const double *h, const double *gain, double *x)
{
    double sum = 0;
    for (size_t i = 0; i < H; i++)
        sum += h[i] * h[i] / H;
    for (size_t i = 0; i < H; i++)
        x[i] = h[i] * gain[i] / sqrt(sum + 1e-5);
}

static void slow_linear(const struct slow *s, unsigned l, const double *x, double *y)
{
    for (size_t i = 0; i < rows_of[l]; i++) {
        y[i] = s->bias[l][i];
        for (size_t j = 0; j < columns_of[l]; j++)
            y[i] += s->w[l][i * columns_of[l] + j] * x[j];
    }
}

static double angle(size_t position, size_t i)
{
    return (double)position * pow(100, -2. * (double)i / D);
}

static void slow_rotate(double *v, size_t n, size_t position)
{
    for (size_t i = 0; i < n; i += D)
        for (size_t j = 0; j < D / 2; j++) {
            const double a = v[i + j], b = v[i + j + D / 2], f = angle(position, j);
            v[i + j] = a * cos(f) - b * sin(f);
            v[i + j + D / 2] = b * cos(f) + a * sin(f);
        }
}

// The sum of the block's outputs, each times `pull`.
static double slow_block(const struct slow *s)
{
    static double k[T][KN], v[T][KN];
    double total = 0;
    for (size_t t = 0; t < T; t++) {
        double x[H], q[QN], a[QN] = {0}, y[H], h[H], gate[INNER], up[INNER];
        slow_norm(s->in + t * H, s->norm[0], x);
        slow_linear(s, 0, x, q), slow_linear(s, 1, x, k[t]), slow_linear(s, 2, x, v[t]);
        slow_rotate(q, QN, t % LONG), slow_rotate(k[t], KN, t % LONG);
        for (size_t head = 0; head < HEADS; head++) {
            const size_t at = head / (HEADS / KV) * D;
            double p[T], sum = 0;
            for (size_t u = t - t % LONG; u <= t; u++) {
                p[u] = 0;
                for (size_t i = 0; i < D; i++)
                    p[u] += q[head * D + i] * k[u][at + i];
                sum += p[u] = exp(p[u] / sqrt(D));
            }
            for (size_t u = t - t % LONG; u <= t; u++)
                for (size_t i = 0; i < D; i++)
                    a[head * D + i] += p[u] / sum * v[u][at + i];
        }
        slow_linear(s, 3, a, y);
        for (size_t i = 0; i < H; i++)
            h[i] = s->in[t * H + i] + y[i];
        slow_norm(h, s->norm[1], x);
        slow_linear(s, 4, x, gate), slow_linear(s, 5, x, up);
        for (size_t i = 0; i < INNER; i++)
            up[i] *= gate[i] / (1 + exp(-gate[i]));
        slow_linear(s, 6, up, y);
        for (size_t i = 0; i < H; i++)
            total += s->pull[t * H + i] * (h[i] + y[i]);
    }
    return total;
}

// got[n] against the central differences of f by at[n].
static void check(const char *what, double (*f)(const void *), const void *of, double *at, size_t n,
                  const float *got)
{
    double most = 0, worst = 0;
    for (size_t i = 0; i < n; i++) {
        const double x = at[i], step = 1e-5;
        at[i] = x + step;
        const double above = f(of);
        at[i] = x - step;
        const double below = f(of), want = (above - below) / (2 * step);
        at[i] = x;
        most = fmax(most, fabs(want));
        worst = fmax(worst, fabs(want - (double)got[i]));
    }
    if (!(worst <= 1e-4 * most))
        fail_msg("%s: off by %g, the largest gradient is %g", what, worst, most);
}

static double of_block(const void *s)
{
    return slow_block(s);
}

SQ_TEST(block_gradients_are_differences)
{
    static struct slow s;
    struct sq_rng r = {fixture_seed()};
    struct sq_block_grad b;
    float rotation[LONG * D], in[T * H], d[T * H], out[T * H], *d_w[7], norm[2][H];
    for (size_t p = 0; p < LONG; p++)
        for (size_t i = 0; i < D / 2; i++) {
            rotation[p * D + i] = (float)cos(angle(p, i));
            rotation[p * D + D / 2 + i] = (float)sin(angle(p, i));
        }
    const struct sq_grad_shape shape = {H, INNER, HEADS, KV, D, 1e-5, D, rotation, TWO, LONG};
    assert_ok(sq_block_grad_init(&b, &shape, NULL));
    fill(&r, s.in, T * H, 1), fill(&r, s.pull, T * H, 1);
    fill(&r, s.norm[0], H, 1), fill(&r, s.norm[1], H, 1);
    for (unsigned l = 0; l < 7; l++) {
        float *w = fixture_exact(rows_of[l] * columns_of[l] * sizeof *w);
        float *bias = fixture_exact(rows_of[l] * sizeof *bias);
        d_w[l] = fixture_exact(rows_of[l] * columns_of[l] * sizeof *w);
        fill(&r, s.w[l], rows_of[l] * columns_of[l], 0.5);
        fill(&r, s.bias[l], rows_of[l], l < 3 ? 0.5 : 0);
        for (size_t i = 0; i < rows_of[l] * columns_of[l]; i++)
            w[i] = (float)s.w[l][i];
        for (size_t i = 0; i < rows_of[l]; i++)
            bias[i] = (float)s.bias[l][i];
        b.w[l] = w, b.bias[l] = bias;
    }
    for (size_t i = 0; i < 2 * H; i++)
        norm[i / H][i % H] = (float)s.norm[i / H][i % H];
    b.norm[0] = norm[0], b.norm[1] = norm[1];
    double sum = 0;
    for (size_t i = 0; i < T * H; i++)
        in[i] = (float)s.in[i], d[i] = (float)s.pull[i];
    sq_block_grad_forward(&b, in, out);
    for (size_t i = 0; i < T * H; i++)
        sum += (double)out[i] * s.pull[i];
    assert_true(fabs(sum - slow_block(&s)) < 1e-4 * T * H);
    sq_block_grad_backward(&b, d, d_w);
    check("the input", of_block, &s, s.in, T * H, d);
    for (unsigned l = 0; l < 7; l++) {
        char what[16];
        snprintf(what, sizeof what, "layer %u", l);
        check(what, of_block, &s, s.w[l], rows_of[l] * columns_of[l], d_w[l]);
    }
    sq_block_grad_free(&b);
}

struct slow_end {
    double h[T * H], gain[H], head[VOCAB * H], reference[T * H];
};

static double slow_kl(const void *of)
{
    const struct slow_end *s = of;
    double kl = 0;
    for (size_t t = 0; t < T; t++) {
        double x[H], a[VOCAB], b[VOCAB], sum_a = 0, sum_b = 0;
        slow_norm(s->h + t * H, s->gain, x);
        for (size_t v = 0; v < VOCAB; v++) {
            a[v] = b[v] = 0;
            for (size_t i = 0; i < H; i++) {
                a[v] += x[i] * s->head[v * H + i];
                b[v] += s->reference[t * H + i] * s->head[v * H + i];
            }
            sum_a += a[v] = exp(a[v]);
            sum_b += b[v] = exp(b[v]);
        }
        for (size_t v = 0; v < VOCAB; v++)
            kl += b[v] / sum_b * log(b[v] / sum_b / (a[v] / sum_a)) / T;
    }
    return kl;
}

SQ_TEST(end_gradients_are_differences)
{
    struct slow_end s;
    struct sq_rng r = {fixture_seed() + 1};
    float h[T * H], gain[H], head[VOCAB * H], reference[T * H], d[T * H];
    float *scratch = fixture_exact(2 * T * (VOCAB + H) * sizeof *scratch);
    fill(&r, s.h, T * H, 1), fill(&r, s.gain, H, 1);
    fill(&r, s.head, VOCAB * H, 1), fill(&r, s.reference, T * H, 1);
    for (size_t i = 0; i < T * H; i++)
        h[i] = (float)s.h[i], reference[i] = (float)s.reference[i];
    for (size_t i = 0; i < VOCAB * H; i++)
        head[i] = (float)s.head[i];
    for (size_t i = 0; i < H; i++)
        gain[i] = (float)s.gain[i];
    const double kl = sq_head_grad(h, gain, 1e-5, head, reference, T, H, VOCAB, d, scratch);
    assert_true(fabs(kl - slow_kl(&s)) < 1e-5 * kl);
    check("the end", slow_kl, &s, s.h, T * H, d);
}

// ---- an encoded layer -----------------------------------------------------------------------------

enum { WEIGHTS = 64, SCALES = 8 };

static struct sq_tune random_tune(struct sq_rng *r, bool has_zero)
{
    struct sq_tune t;
    assert_ok(sq_tune_init(&t, 4, WEIGHTS / 4, SCALES, NULL));
    t.lowest = has_zero ? 0 : -7, t.highest = has_zero ? 15 : 7;
    t.has_zero = t.is_half = has_zero;
    for (size_t i = 0; i < WEIGHTS; i++) {
        t.of[i] = i % 5 == 3 ? SQ_TUNE_PRUNED : (uint32_t)(i % SCALES);
        t.w.at[i] = i % 5 == 3 ? 0 : (float)fixture_gauss(r);
    }
    for (size_t i = 0; i < SCALES; i++) {
        t.scale.at[i] = (float)(0.05 + 0.3 * sq_rng_unit(r)); // some weights clamp
        t.zero.at[i] = has_zero ? (float)(15 * sq_rng_unit(r)) : 0;
    }
    return t;
}

SQ_TEST(straight_through)
{
    struct sq_rng r = {fixture_seed() + 2};
    for (unsigned v = 0; v < 4; v++) {
        struct sq_tune t = random_tune(&r, v % 2);
        double want_s[SCALES] = {0}, want_z[SCALES] = {0};
        float d[WEIGHTS];
        size_t n_clamped = 0;
        if (v / 2)
            assert_ok(sq_tune_freeze(&t, NULL));
        for (size_t i = 0; v / 2 && i < SCALES; i++) // codes stay where scales move
            t.scale.at[i] *= 1.3f;
        sq_tune_forward(&t);
        for (size_t i = 0; i < WEIGHTS; i++)
            d[i] = (float)fixture_gauss(&r);
        sq_tune_backward(&t, d);
        for (size_t i = 0; i < WEIGHTS; i++) {
            if (i % 5 == 3) {
                assert_true(t.value[i] == 0 && t.w.gradient[i] == 0);
                continue;
            }
            const size_t g = i % SCALES;
            const float s = t.is_half ? sq_half_round(t.scale.at[g]) : t.scale.at[g];
            const double z = t.has_zero ? rint((double)t.zero.at[g]) : 0;
            const double x = (double)(t.w.at[i] / s), free_code = rint(x) + z;
            const double clamped = fmin(fmax(free_code, t.lowest), t.highest);
            const double q = v / 2 ? t.code[i] : clamped;
            const bool is_inside = v / 2 == 0 && clamped == free_code;
            n_clamped += !is_inside;
            assert_true(fabs((double)t.value[i] - (q - z) * (double)s) < 1e-6);
            assert_true(t.w.gradient[i] == (is_inside ? d[i] : 0));
            want_s[g] += (double)d[i] * (is_inside ? rint(x) - x : q - z);
            want_z[g] -= is_inside ? 0 : (double)(d[i] * s);
        }
        assert_true(n_clamped > 0);
        for (size_t i = 0; i < SCALES; i++) {
            assert_true(fabs(want_s[i] - (double)t.scale.gradient[i]) < 1e-4);
            assert_true(!t.has_zero || fabs(want_z[i] - (double)t.zero.gradient[i]) < 1e-4);
        }
        sq_tune_free(&t);
    }
}

// AdamW finds scales, zeros and weights that give wanted values: the error falls to a tenth.
SQ_TEST(steps_lower_the_error)
{
    struct sq_rng r = {fixture_seed() + 3};
    struct sq_tune t = random_tune(&r, true);
    float want[WEIGHTS], d[WEIGHTS];
    double first = 0, now = 0;
    for (size_t i = 0; i < WEIGHTS; i++)
        want[i] = t.w.at[i] + 0.3f * (float)fixture_gauss(&r);
    sq_tune_begin(&t, 0.02);
    for (size_t step = 1; step <= 500; step++) {
        now = 0;
        sq_tune_forward(&t);
        for (size_t i = 0; i < WEIGHTS; i++) {
            d[i] = t.of[i] == SQ_TUNE_PRUNED ? 0 : t.value[i] - want[i];
            now += (double)(d[i] * d[i]);
        }
        first = step == 1 ? now : first;
        sq_tune_backward(&t, d);
        sq_tune_step(&t, step, 1 - (double)step / 501);
    }
    print_message("# error %g, before %g\n", now, first);
    assert_true(now < 0.1 * first);
    sq_tune_free(&t);
}

// Steps beside AdamW in binary64; the rate is a share of the mean magnitude, pruned weights not among it.
SQ_TEST(steps_are_those_of_adamw)
{
    struct sq_rng r = {fixture_seed() + 4};
    struct sq_tune t = random_tune(&r, true);
    const struct sq_tune_tensor *const tensor[] = {&t.w, &t.scale, &t.zero};
    double at[3][WEIGHTS], mean[3][WEIGHTS] = {{0}}, square[3][WEIGHTS] = {{0}}, rate[3] = {0};
    for (unsigned v = 0; v < 3; v++) {
        size_t n = 0;
        for (size_t i = 0; i < tensor[v]->n; i++) {
            at[v][i] = (double)tensor[v]->at[i];
            rate[v] += 0.02 * fabs(at[v][i]);
            n += v > 0 || t.of[i] != SQ_TUNE_PRUNED;
        }
        rate[v] /= (double)n;
    }
    sq_tune_begin(&t, 0.02);
    for (size_t step = 1; step <= 5; step++) {
        const double part = sq_rng_unit(&r);
        float d[WEIGHTS];
        for (size_t i = 0; i < WEIGHTS; i++)
            d[i] = (float)fixture_gauss(&r);
        sq_tune_forward(&t);
        sq_tune_backward(&t, d);
        sq_tune_step(&t, step, part);
        for (unsigned v = 0; v < 3; v++)
            for (size_t i = 0; i < tensor[v]->n; i++) {
                const double g = (double)tensor[v]->gradient[i];
                mean[v][i] = 0.9 * mean[v][i] + 0.1 * g;
                square[v][i] = 0.999 * square[v][i] + 0.001 * g * g;
                at[v][i] -= rate[v] * part * mean[v][i] / (1 - pow(0.9, (double)step)) /
                            (sqrt(square[v][i] / (1 - pow(0.999, (double)step))) + 1e-12);
                if (!(fabs(at[v][i] - (double)tensor[v]->at[i]) < 1e-3 * rate[v]))
                    fail_msg("step %zu, tensor %u, element %zu: %g, not %g", step, v, i,
                             (double)tensor[v]->at[i], at[v][i]);
            }
    }
    sq_tune_free(&t);
}
