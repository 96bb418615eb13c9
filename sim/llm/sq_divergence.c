// SPDX-License-Identifier: Apache-2.0
// Sums losses and KL over sequences, and draws the resamples of the intervals (sq_divergence.h).
#include "sim/llm/sq_divergence.h"

#include <math.h>
#include <stdlib.h>

#include "models/sq_rng.h"
#include "sim/io/sq_order.h"

// Sums over the predicted tokens of one sequence, or of several.
struct sums {
    double reference, difference, kl, n_same, n;
};

// *kl, where it is not NULL, moves past what is written for each token.
static struct sums sums_of(const struct sq_tokens *tokens, size_t sequence,
                           const struct sq_token_score *score, double **kl)
{
    struct sums s = {0};
    const size_t first = sq_tokens_first_predicted(tokens, sequence);
    for (size_t t = tokens->offset[sequence] + first - 1; t + 1 < tokens->offset[sequence + 1];
         t++) {
        s.reference += score[t].nll_reference;
        s.difference += score[t].nll - score[t].nll_reference;
        s.kl += score[t].kl;
        s.n_same += score[t].is_same_top;
        s.n += 1;
        if (kl)
            *(*kl)++ = score[t].kl;
    }
    return s;
}

static void add(struct sums *to, const struct sums *s)
{
    to->reference += s->reference;
    to->difference += s->difference;
    to->kl += s->kl;
    to->n_same += s->n_same;
    to->n += s->n;
}

// Any total order will do; two sequences that are equal in all of it may change places.
static int compare_sums(const void *a, const void *b)
{
    const struct sums *x = a, *y = b;
    const double key[][2] = {{x->reference, y->reference},
                             {x->difference, y->difference},
                             {x->kl, y->kl},
                             {x->n_same, y->n_same},
                             {x->n, y->n}};
    int order = 0;
    for (size_t i = 0; order == 0 && i < sizeof key / sizeof key[0]; i++)
        order = sq_by_number(&key[i][0], &key[i][1]);
    return order;
}

// The q-quantile of sorted values, n >= 1, between two of them where it falls there.
static double quantile(const double *sorted, size_t n, double q)
{
    const double at = q * (double)(n - 1);
    const size_t i = (size_t)at;
    return i + 1 < n ? sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

static struct sq_interval interval(double *mean)
{
    qsort(mean, SQ_DIVERGENCE_RESAMPLES, sizeof *mean, sq_by_number);
    return (struct sq_interval){quantile(mean, SQ_DIVERGENCE_RESAMPLES, 0.025),
                                quantile(mean, SQ_DIVERGENCE_RESAMPLES, 0.975)};
}

// difference and kl are scratch of SQ_DIVERGENCE_RESAMPLES each.
static void bootstrap(const struct sums *sequence, size_t n, double *difference, double *kl,
                      struct sq_divergence *d)
{
    struct sq_rng rng = {SQ_DIVERGENCE_SEED};
    for (size_t i = 0; i < SQ_DIVERGENCE_RESAMPLES; i++) {
        struct sums drawn = {0};
        for (size_t j = 0; j < n; j++)
            add(&drawn, &sequence[sq_rng_below(&rng, (uint32_t)n)]);
        difference[i] = drawn.difference / drawn.n;
        kl[i] = drawn.kl / drawn.n;
    }
    d->loss_difference_95 = interval(difference);
    d->kl_mean_95 = interval(kl);
}

// The standard error of the ratio sum(difference) / sum(n), linearized: each sequence adds the square of what it
// is off its share.
static double standard_error(const struct sums *sequence, size_t n, const struct sums *all)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++) {
        const double off = sequence[i].difference - all->difference / all->n * sequence[i].n;
        squares += off * off;
    }
    return sqrt(squares * (double)n / (double)(n - 1)) / all->n;
}

static enum sq_status summarize(struct sums *sequence, size_t n, double *kl, double *scratch,
                                struct sq_divergence *d, struct sq_error *err)
{
    struct sums all = {0};
    qsort(sequence, n, sizeof *sequence, compare_sums);
    for (size_t i = 0; i < n; i++)
        add(&all, &sequence[i]);
    SQ_FAIL_IF(!isfinite(all.reference) || !isfinite(all.difference) || !isfinite(all.kl), err,
               SQ_ERR_NON_FINITE,
               "the losses differ by %g, the divergence is %g: a logit is not finite",
               all.difference, all.kl);
    const size_t n_tokens = (size_t)all.n;
    qsort(kl, n_tokens, sizeof *kl, sq_by_number);
    *d = (struct sq_divergence){.loss_reference = all.reference / all.n,
                                .loss_difference = all.difference / all.n,
                                .loss_difference_se = NAN,
                                .loss_difference_95 = {NAN, NAN},
                                .kl_mean = all.kl / all.n,
                                .kl_median = quantile(kl, n_tokens, 0.5),
                                .kl_p99 = quantile(kl, n_tokens, 0.99),
                                .kl_mean_95 = {NAN, NAN},
                                .top1_agreement = all.n_same / all.n};
    if (n > 1) { // one says nothing of the spread
        d->loss_difference_se = standard_error(sequence, n, &all);
        bootstrap(sequence, n, scratch, scratch + SQ_DIVERGENCE_RESAMPLES, d);
    }
    return SQ_OK;
}

enum sq_status sq_divergence_of(const struct sq_tokens *tokens, const struct sq_token_score *score,
                                struct sq_divergence *d, struct sq_error *err)
{
    const size_t n = tokens->n_sequences;
    SQ_FREED struct sums *sequence = calloc(n, sizeof *sequence);
    SQ_FREED double *kl = calloc(sq_tokens_count(tokens), sizeof *kl);
    SQ_FREED double *scratch = calloc(SQ_DIVERGENCE_RESAMPLES, 2 * sizeof *scratch);
    double *next = kl;
    SQ_NEED(sequence && kl && scratch, err, "the scores of %zu sequences", n);
    for (size_t i = 0; i < n; i++)
        sequence[i] = sums_of(tokens, i, score, &next);
    return summarize(sequence, n, kl, scratch, d, err);
}

// ---- two formats --------------------------------------------------------------------------------

struct both {
    struct sums a, b; // of one sequence
};

static int compare_both(const void *x, const void *y)
{
    const struct both *p = x, *q = y;
    const int order = compare_sums(&p->a, &q->a);
    return order ? order : compare_sums(&p->b, &q->b);
}

static void draw_pairs(const struct both *sequence, size_t n, double *ratio, double *difference)
{
    struct sq_rng rng = {SQ_DIVERGENCE_SEED};
    for (size_t i = 0; i < SQ_DIVERGENCE_RESAMPLES; i++) {
        struct both drawn = {.a = {0}};
        for (size_t j = 0; j < n; j++) {
            const struct both *one = &sequence[sq_rng_below(&rng, (uint32_t)n)];
            add(&drawn.a, &one->a);
            add(&drawn.b, &one->b);
        }
        ratio[i] = drawn.b.kl / drawn.a.kl;
        difference[i] = (drawn.b.kl - drawn.a.kl) / drawn.a.n;
    }
}

enum sq_status sq_divergence_compare(const struct sq_tokens *tokens, const struct sq_token_score *a,
                                     const struct sq_token_score *b,
                                     struct sq_divergence_pair *pair, struct sq_error *err)
{
    const size_t n = tokens->n_sequences;
    SQ_FREED struct both *sequence = calloc(n, sizeof *sequence);
    struct both all = {.a = {0}};
    SQ_FREED double *scratch = calloc(SQ_DIVERGENCE_RESAMPLES, 2 * sizeof *scratch);
    SQ_NEED(sequence && scratch, err, "the scores of %zu sequences", n);
    for (size_t i = 0; i < n; i++) {
        sequence[i].a = sums_of(tokens, i, a, NULL);
        sequence[i].b = sums_of(tokens, i, b, NULL);
        add(&all.a, &sequence[i].a);
        add(&all.b, &sequence[i].b);
    }
    *pair = (struct sq_divergence_pair){
        all.b.kl / all.a.kl, (all.b.kl - all.a.kl) / all.a.n, {NAN, NAN}, {NAN, NAN}};
    if (n > 1) {
        qsort(sequence, n, sizeof *sequence, compare_both);
        draw_pairs(sequence, n, scratch, scratch + SQ_DIVERGENCE_RESAMPLES);
        pair->ratio_95 = interval(scratch);
        pair->difference_95 = interval(scratch + SQ_DIVERGENCE_RESAMPLES);
    }
    return SQ_OK;
}
