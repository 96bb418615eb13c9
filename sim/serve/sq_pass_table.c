// SPDX-License-Identifier: Apache-2.0
// Times of steps between those of whole passes (sq_pass_table.h).
#include "sim/serve/sq_pass_table.h"

#include <math.h>
#include <stdlib.h>

// ---- nodes ----------------------------------------------------------------------------------

// 1 2 3 4 6 8 12 16 ...
static double count_node(unsigned i)
{
    return i == 0 ? 1 : ldexp(i % 2 ? 2 : 3, (int)(i - 1) / 2);
}

// 0 64 128 ...
static double key_node(unsigned i)
{
    return i == 0 ? 0 : ldexp(64, (int)i - 1);
}

// The node below v, and how far v is towards the next one: 0 to 1, in *part.
static unsigned below(double (*node)(unsigned), unsigned n, double v, double *part)
{
    unsigned i = 0;
    while (i + 2 < n && node(i + 1) <= v)
        i++;
    *part = v <= node(i) ? 0 : (v - node(i)) / (node(i + 1) - node(i));
    return i;
}

// ---- passes ---------------------------------------------------------------------------------

enum kind { OF_TOKENS, OF_OUTPUTS, OF_DECODE, OF_PREFILL };

static bool is_wanted(enum kind kind, enum sq_workload_part part)
{
    return kind == OF_TOKENS    ? part == SQ_ROW_LINEAR
           : kind == OF_OUTPUTS ? part == SQ_ROW_HEAD
                                : part == SQ_ROW_SCORES || part == SQ_ROW_VALUES;
}

static void keep_rows(struct sq_workload *w, enum kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++)
        if (is_wanted(kind, w->row[i].part))
            w->row[n++] = w->row[i];
    w->n = n;
}

static double seconds_of(enum kind kind, const struct sq_pass_result *x)
{
    const double softmax = x->op_seconds[SQ_VECTOR_SOFTMAX];
    if (kind == OF_TOKENS)
        return x->seconds[SQ_PASS_LINEAR] + x->seconds[SQ_PASS_VECTOR] - softmax +
               x->seconds[SQ_PASS_MEMORY] + x->seconds[SQ_PASS_LINK];
    return kind == OF_OUTPUTS ? x->seconds[SQ_PASS_HEAD] : x->seconds[SQ_PASS_ATTENTION] + softmax;
}

static struct sq_workload_options options_of(const struct sq_pass_table *t, enum kind kind,
                                             uint64_t count, uint64_t keys)
{
    struct sq_workload_options o = t->options;
    o.is_whole = true;
    o.is_decode = kind != OF_PREFILL;
    o.batch = kind == OF_PREFILL ? 1 : count;
    o.seq = kind == OF_PREFILL ? count : 1;
    o.context = kind == OF_PREFILL || keys > 0 ? keys : 1;
    return o;
}

// The rows of one kind of a pass.
static enum sq_status run_rows(const struct sq_pass_table *t, enum kind kind, uint64_t count,
                               uint64_t keys, struct sq_workload *w, struct sq_pass_result *result,
                               struct sq_error *err)
{
    const struct sq_workload_options o = options_of(t, kind, count, keys);
    struct sq_machine machine = *t->request->machine;
    struct sq_pass_request request = *t->request;
    machine.capacity_nbytes = 0; // the schedule knows what fits
    request.machine = &machine;
    SQ_TRY(sq_workload_of_config(t->config, t->what, &o, w, err));
    keep_rows(w, kind);
    const enum sq_status status = sq_pass_run(&request, w, result, err);
    return SQ_ELSE(status, sq_workload_free(w));
}

static enum sq_status time_node(struct sq_pass_table *t, enum kind kind, unsigned count,
                                unsigned keys, double *seconds, struct sq_error *err)
{
    SQ_CLOSED(sq_pass_free) struct sq_pass_result result = {0};
    SQ_CLOSED(sq_workload_free) struct sq_workload w = {0};
    SQ_TRY(
        run_rows(t, kind, (uint64_t)count_node(count), (uint64_t)key_node(keys), &w, &result, err));
    *seconds = seconds_of(kind, &result);
    t->passes++;
    return SQ_OK;
}

enum sq_status sq_pass_table_linear(const struct sq_pass_table *t, uint64_t tokens,
                                    struct sq_workload *w, struct sq_pass_result *result,
                                    struct sq_error *err)
{
    return run_rows(t, OF_TOKENS, tokens, 1, w, result, err);
}

// ---- between nodes ----------------------------------------------------------------------------

// `table` has a row of `width` nodes of keys for each node of a count.
static enum sq_status between(struct sq_pass_table *t, enum kind kind, double *table,
                              unsigned width, double count, double keys, double *seconds,
                              struct sq_error *err)
{
    double part[2], sum = 0;
    const unsigned i = below(count_node, SQ_PASS_COUNTS, count, &part[0]);
    const unsigned j = width > 1 ? below(key_node, width, keys, &part[1]) : 0;
    if (width == 1)
        part[1] = 0;
    for (unsigned corner = 0; corner < 4; corner++) {
        const unsigned up = corner & 1, right = corner >> 1;
        const double share = (up ? part[0] : 1 - part[0]) * (right ? part[1] : 1 - part[1]);
        if (share <= 0)
            continue;
        double *node = &table[(i + up) * width + j + right];
        if (isnan(*node))
            SQ_TRY(time_node(t, kind, i + up, j + right, node, err));
        sum += share * *node;
    }
    *seconds += sum;
    return SQ_OK;
}

enum sq_status sq_pass_table_attention(struct sq_pass_table *t, bool is_decode, double count,
                                       double keys, double *seconds, struct sq_error *err)
{
    return between(t, is_decode ? OF_DECODE : OF_PREFILL, is_decode ? t->decode : t->prefill,
                   SQ_PASS_KEYS, count, keys, seconds, err);
}

enum sq_status sq_pass_table_head(struct sq_pass_table *t, double count, double *seconds,
                                  struct sq_error *err)
{
    return between(t, OF_OUTPUTS, t->outputs, 1, count, 0, seconds, err);
}

enum sq_status sq_pass_table_seconds(void *table, const struct sq_serve_step *s, double *seconds,
                                     struct sq_error *err)
{
    struct sq_pass_table *t = table;
    *seconds = 0;
    SQ_TRY(between(t, OF_TOKENS, t->tokens, 1, (double)s->tokens, 0, seconds, err));
    if (s->outputs > 0)
        SQ_TRY(sq_pass_table_head(t, (double)s->outputs, seconds, err));
    if (s->decoding > 0)
        SQ_TRY(sq_pass_table_attention(t, true, (double)s->decoding, s->keys / (double)s->decoding,
                                       seconds, err));
    for (size_t i = 0; i < s->n; i++)
        SQ_TRY(sq_pass_table_attention(t, false, (double)s->of[i].tokens, (double)s->of[i].before,
                                       seconds, err));
    return SQ_OK;
}

// ---- opening ----------------------------------------------------------------------------------

// What the weights need, and a token in the cache: one pass with all rows.
static enum sq_status measure(struct sq_pass_table *t, struct sq_error *err)
{
    const struct sq_workload_options o = options_of(t, OF_DECODE, 1, 1);
    SQ_CLOSED(sq_pass_free) struct sq_pass_result result = {0};
    SQ_CLOSED(sq_workload_free) struct sq_workload w = {0};
    SQ_TRY(sq_workload_of_config(t->config, t->what, &o, &w, err));
    SQ_TRY(sq_pass_run(t->request, &w, &result, err));
    t->weights_nbytes = result.weights_nbytes;
    t->token_nbytes = result.cache_nbytes;
    return SQ_OK;
}

enum sq_status sq_pass_table_open(const struct sq_pass_request *request, const json_t *config,
                                  const char *what, const struct sq_workload_options *options,
                                  struct sq_pass_table *t, struct sq_error *err)
{
    const size_t n[4] = {SQ_PASS_COUNTS, SQ_PASS_COUNTS, SQ_PASS_COUNTS * SQ_PASS_KEYS,
                         SQ_PASS_COUNTS * SQ_PASS_KEYS};
    double **const part[4] = {&t->tokens, &t->outputs, &t->decode, &t->prefill};
    *t = (struct sq_pass_table){
        .request = request, .config = config, .what = what, .options = *options};
    enum sq_status status = measure(t, err);
    for (unsigned i = 0; i < 4 && status == SQ_OK; i++) {
        *part[i] = malloc(n[i] * sizeof **part[i]);
        status = SQ_HAVE(*part[i], err, "%zu times", n[i]);
        for (size_t j = 0; j < n[i] && status == SQ_OK; j++)
            (*part[i])[j] = NAN;
    }
    return SQ_ELSE(status, sq_pass_table_free(t));
}

void sq_pass_table_free(struct sq_pass_table *t)
{
    SQ_FREE(t->tokens, t->outputs, t->decode, t->prefill);
    *t = (struct sq_pass_table){0};
}
