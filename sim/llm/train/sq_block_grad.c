// SPDX-License-Identifier: Apache-2.0
// Forward and backward pass of a block of a Llama, of the final norm and of lm_head (sq_block_grad.h).
#include "sim/llm/train/sq_block_grad.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/quant/sq_blas.h"

enum { Q, K, V, O, GATE, UP, DOWN };

// y = x w^T.
static void product(const float *x, const float *w, size_t m, size_t n, size_t k, float *y)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)m, (int)n, (int)k, 1, x, (int)k, w,
                (int)k, 0, y, (int)n);
}

// Gradients of y = x w^T: dx = dy w, added to what is there with `beta` 1; dw = dy^T x.
static void product_back(const float *dy, const float *x, const float *w, size_t m, size_t n,
                         size_t k, float beta, float *dx, float *dw)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)k, (int)n, 1, dy, (int)n, w,
                (int)k, beta, dx, (int)k);
    if (dw)
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)n, (int)k, (int)m, 1, dy, (int)n,
                    x, (int)k, 0, dw, (int)k);
}

static double inverse_rms(const float *h, size_t width, double eps)
{
    double sum = 0;
    for (size_t i = 0; i < width; i++)
        sum += (double)h[i] * (double)h[i];
    return 1 / sqrt(sum / (double)width + eps);
}

static void norm(const float *h, const float *gain, double eps, size_t n, size_t width, float *y)
{
    for (size_t t = 0; t < n; t++, h += width, y += width) {
        const float r = (float)inverse_rms(h, width, eps);
        for (size_t i = 0; i < width; i++)
            y[i] = h[i] * r * gain[i];
    }
}

// dh += what dy gives.
static void norm_back(const float *h, const float *gain, double eps, size_t n, size_t width,
                      const float *dy, float *dh)
{
    for (size_t t = 0; t < n; t++, h += width, dy += width, dh += width) {
        const double r = inverse_rms(h, width, eps);
        double sum = 0;
        for (size_t i = 0; i < width; i++)
            sum += (double)dy[i] * (double)gain[i] * (double)h[i];
        const double c = r * r * r * sum / (double)width;
        for (size_t i = 0; i < width; i++)
            dh[i] += (float)(r * (double)(dy[i] * gain[i]) - c * (double)h[i]);
    }
}

// Rotates heads by their position, or with sign -1 back, which is also the gradient.
static void rotate(const struct sq_grad_shape *s, float *v, size_t n_heads, float sign)
{
    const size_t half = s->head_dim / 2;
    for (size_t t = 0; t < s->n_sequences * s->length; t++) {
        const float *cosine = s->rotation + t % s->length * s->head_dim, *sine = cosine + half;
        for (size_t head = 0; head < n_heads; head++, v += s->head_dim)
            for (size_t i = 0; i < half; i++) {
                const float a = v[i], b = v[half + i];
                v[i] = a * cosine[i] - sign * b * sine[i];
                v[half + i] = b * cosine[i] + sign * a * sine[i];
            }
    }
}

// ---- attention ----------------------------------------------------------------------------------

// One head of one sequence: where its rows begin, and their strides.
struct head {
    const float *q, *k, *v;
    float *p; // [length][length]
    size_t at_q, at_kv, ld_q, ld_kv, d, n;
    float scale;
};

static struct head head_of(const struct sq_block_grad *b, size_t sequence, size_t head)
{
    const struct sq_grad_shape *s = &b->shape;
    struct head h = {.ld_q = s->n_heads * s->head_dim,
                     .ld_kv = s->n_kv_heads * s->head_dim,
                     .d = s->head_dim,
                     .n = s->length,
                     .scale = (float)(1 / sqrt(s->query_scale))};
    h.at_q = sequence * s->length * h.ld_q + head * h.d;
    h.at_kv = sequence * s->length * h.ld_kv + head / (s->n_heads / s->n_kv_heads) * h.d;
    h.q = b->q + h.at_q;
    h.k = b->k + h.at_kv;
    h.v = b->v + h.at_kv;
    h.p = b->p + (sequence * s->n_heads + head) * h.n * h.n;
    return h;
}

static void attend(const struct sq_block_grad *b, const struct head *h)
{
    const int n = (int)h->n, d = (int)h->d;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, d, h->scale, h->q, (int)h->ld_q,
                h->k, (int)h->ld_kv, 0, h->p, n);
    for (size_t i = 0; i < h->n; i++) {
        float *p = h->p + i * h->n, most = p[0], sum = 0;
        for (size_t j = 0; j <= i; j++)
            most = fmaxf(most, p[j]);
        for (size_t j = 0; j < h->n; j++) {
            p[j] = j <= i ? expf(p[j] - most) : 0;
            sum += p[j];
        }
        for (size_t j = 0; j <= i; j++)
            p[j] /= sum;
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, d, n, 1, h->p, n, h->v, (int)h->ld_kv,
                0, b->a + h->at_q, (int)h->ld_q);
}

// From d_a to d_q, and into d_k and d_v, which heads that share keys add up.
static void attend_back(const struct sq_block_grad *b, const struct head *h)
{
    const int n = (int)h->n, d = (int)h->d, ld_q = (int)h->ld_q, ld_kv = (int)h->ld_kv;
    const float *da = b->d_a + h->at_q;
    float *dp = b->d_p;
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, d, n, 1, h->p, n, da, ld_q, 1,
                b->d_v + h->at_kv, ld_kv);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, d, 1, da, ld_q, h->v, ld_kv, 0, dp,
                n);
    for (size_t i = 0; i < h->n; i++) {
        const float *p = h->p + i * h->n;
        float *ds = dp + i * h->n, sum = 0;
        for (size_t j = 0; j <= i; j++)
            sum += p[j] * ds[j];
        for (size_t j = 0; j < h->n; j++)
            ds[j] = p[j] * (ds[j] - sum);
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, d, n, h->scale, dp, n, h->k, ld_kv, 0,
                b->d_q + h->at_q, ld_q);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, d, n, h->scale, dp, n, h->q, ld_q, 1,
                b->d_k + h->at_kv, ld_kv);
}

static void attention(const struct sq_block_grad *b,
                      void (*work)(const struct sq_block_grad *b, const struct head *h))
{
    for (size_t i = 0; i < b->shape.n_sequences; i++)
        for (size_t head = 0; head < b->shape.n_heads; head++) {
            const struct head h = head_of(b, i, head);
            work(b, &h);
        }
}

// ---- a block ------------------------------------------------------------------------------------

static size_t tokens_of(const struct sq_grad_shape *s)
{
    return s->n_sequences * s->length;
}

enum sq_status sq_block_grad_init(struct sq_block_grad *b, const struct sq_grad_shape *shape,
                                  struct sq_error *err)
{
    *b = (struct sq_block_grad){.shape = *shape};
    const size_t n = tokens_of(shape), d = shape->head_dim, scores = shape->length * shape->length;
    const size_t hidden = n * shape->hidden, q = n * shape->n_heads * d;
    const size_t kv = n * shape->n_kv_heads * d, inner = n * shape->intermediate;
    struct {
        float **at;
        size_t n;
    } part[] = {{&b->in, hidden},    {&b->x1, hidden},
                {&b->q, q},          {&b->k, kv},
                {&b->v, kv},         {&b->p, shape->n_sequences * shape->n_heads * scores},
                {&b->a, q},          {&b->mid, hidden},
                {&b->x2, hidden},    {&b->gate, inner},
                {&b->up, inner},     {&b->act, inner},
                {&b->d_x, hidden},   {&b->d_q, q},
                {&b->d_k, kv},       {&b->d_v, kv},
                {&b->d_a, q},        {&b->d_p, scores},
                {&b->d_gate, inner}, {&b->d_up, inner}};
    size_t all = 0;
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++)
        all += part[i].n;
    b->memory = calloc(all, sizeof *b->memory);
    SQ_NEED(b->memory, err, "training on %zu tokens", n);
    for (size_t i = 0, at = 0; i < sizeof part / sizeof part[0]; at += part[i++].n)
        *part[i].at = b->memory + at;
    sq_blas_serial();
    return SQ_OK;
}

void sq_block_grad_free(struct sq_block_grad *b)
{
    free(b->memory);
    *b = (struct sq_block_grad){0};
}

static void linear(const struct sq_block_grad *b, unsigned i, const float *x, size_t n, size_t k,
                   float *y)
{
    const size_t m = tokens_of(&b->shape);
    product(x, b->w[i], m, n, k, y);
    for (size_t t = 0; b->bias[i] && t < m; t++)
        for (size_t j = 0; j < n; j++)
            y[t * n + j] += b->bias[i][j];
}

void sq_block_grad_forward(struct sq_block_grad *b, const float *in, float *out)
{
    const struct sq_grad_shape *s = &b->shape;
    const size_t n = tokens_of(s), h = s->hidden, q = s->n_heads * s->head_dim;
    const size_t kv = s->n_kv_heads * s->head_dim, inner = s->intermediate;
    memcpy(b->in, in, n * h * sizeof *in);
    norm(b->in, b->norm[0], s->eps, n, h, b->x1);
    linear(b, Q, b->x1, q, h, b->q);
    linear(b, K, b->x1, kv, h, b->k);
    linear(b, V, b->x1, kv, h, b->v);
    rotate(s, b->q, s->n_heads, 1);
    rotate(s, b->k, s->n_kv_heads, 1);
    attention(b, attend);
    linear(b, O, b->a, h, q, b->mid);
    for (size_t i = 0; i < n * h; i++)
        b->mid[i] += b->in[i];
    norm(b->mid, b->norm[1], s->eps, n, h, b->x2);
    linear(b, GATE, b->x2, inner, h, b->gate);
    linear(b, UP, b->x2, inner, h, b->up);
    for (size_t i = 0; i < n * inner; i++)
        b->act[i] = b->gate[i] / (1 + expf(-b->gate[i])) * b->up[i];
    linear(b, DOWN, b->act, h, inner, out);
    for (size_t i = 0; i < n * h; i++)
        out[i] += b->mid[i];
}

void sq_block_grad_backward(struct sq_block_grad *b, float *d, float *const d_w[SQ_GRAD_LAYERS])
{
    const struct sq_grad_shape *s = &b->shape;
    const size_t n = tokens_of(s), h = s->hidden, q = s->n_heads * s->head_dim;
    const size_t kv = s->n_kv_heads * s->head_dim, inner = s->intermediate;
    product_back(d, b->act, b->w[DOWN], n, h, inner, 0, b->d_up, d_w[DOWN]);
    for (size_t i = 0; i < n * inner; i++) {
        const float g = b->gate[i], sigma = 1 / (1 + expf(-g)), dy = b->d_up[i];
        b->d_gate[i] = dy * b->up[i] * sigma * (1 + g * (1 - sigma));
        b->d_up[i] = dy * g * sigma;
    }
    product_back(b->d_gate, b->x2, b->w[GATE], n, inner, h, 0, b->d_x, d_w[GATE]);
    product_back(b->d_up, b->x2, b->w[UP], n, inner, h, 1, b->d_x, d_w[UP]);
    norm_back(b->mid, b->norm[1], s->eps, n, h, b->d_x, d);
    product_back(d, b->a, b->w[O], n, h, q, 0, b->d_a, d_w[O]);
    memset(b->d_k, 0, n * kv * sizeof *b->d_k);
    memset(b->d_v, 0, n * kv * sizeof *b->d_v);
    attention(b, attend_back);
    rotate(s, b->d_q, s->n_heads, -1);
    rotate(s, b->d_k, s->n_kv_heads, -1);
    product_back(b->d_q, b->x1, b->w[Q], n, q, h, 0, b->d_x, d_w[Q]);
    product_back(b->d_k, b->x1, b->w[K], n, kv, h, 1, b->d_x, d_w[K]);
    product_back(b->d_v, b->x1, b->w[V], n, kv, h, 1, b->d_x, d_w[V]);
    norm_back(b->in, b->norm[0], s->eps, n, h, b->d_x, d);
}

// ---- the end of the model -------------------------------------------------------------------------

// The largest of n logits, and the log of the sum of their exponentials less it.
static double log_sum_of(const float *logit, size_t n, double *most)
{
    double sum = 0;
    *most = (double)logit[0];
    for (size_t i = 1; i < n; i++)
        *most = fmax(*most, (double)logit[i]);
    for (size_t i = 0; i < n; i++)
        sum += exp((double)logit[i] - *most);
    return log(sum);
}

double sq_head_grad(const float *h, const float *gain, double eps, const float *head,
                    const float *reference, size_t n, size_t hidden, size_t vocab, float *d_h,
                    float *scratch)
{
    float *x = scratch, *dx = x + n * hidden, *ours = dx + n * hidden, *theirs = ours + n * vocab;
    double kl = 0;
    norm(h, gain, eps, n, hidden, x);
    product(x, head, n, vocab, hidden, ours);
    product(reference, head, n, vocab, hidden, theirs);
    for (size_t t = 0; t < n; t++) {
        float *mine = ours + t * vocab, *wanted = theirs + t * vocab;
        double top, top_wanted;
        const double log_sum = log_sum_of(mine, vocab, &top);
        const double log_wanted = log_sum_of(wanted, vocab, &top_wanted);
        for (size_t i = 0; i < vocab; i++) {
            const double a = (double)mine[i] - top - log_sum;
            const double b = (double)wanted[i] - top_wanted - log_wanted, p = exp(b);
            kl += p * (b - a);
            mine[i] = (float)((exp(a) - p) / (double)n);
        }
    }
    product_back(ours, x, head, n, vocab, hidden, 0, dx, NULL);
    memset(d_h, 0, n * hidden * sizeof *d_h);
    norm_back(h, gain, eps, n, hidden, dx, d_h);
    return kl / (double)n;
}
