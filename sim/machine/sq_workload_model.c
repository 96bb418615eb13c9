// SPDX-License-Identifier: Apache-2.0
// The linear layers of a decoder by its sizes, and all that a pass does besides (sq_workload.h).
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_json.h"
#include "sim/machine/sq_model_shape.h"
#include "sim/machine/sq_workload.h"

enum { CONFIG_MAX_NBYTES = 16 << 20 };

const char *const sq_routing_names[] = {"balanced", "skewed", NULL};

struct builder {
    const struct sq_model_shape *shape;
    struct sq_workload *w;
    size_t room;
    uint64_t m;
};

// ---- rows -----------------------------------------------------------------------------------

static void add(struct builder *b, const char *name, uint64_t m, uint64_t n, uint64_t k,
                uint64_t count)
{
    struct sq_workload_row *row = &b->w->row[b->w->n];
    if (count == 0)
        return;
    if (m == 0) { // weights without work: of the shape of the row that add_mlp made last
        while (row > b->w->row && (row[-1].gemm.n != n || row[-1].gemm.k != k))
            row--;
        if (row > b->w->row)
            row[-1].idle += count;
        return;
    }
    if (b->w->n == b->room)
        abort(); // build() reserves enough
    memset(row, 0, sizeof *row);
    snprintf(row->name, sizeof row->name, "%s", name);
    row->gemm = (struct sq_gemm){m, n, k};
    row->count = count;
    b->w->n++;
}

static void add_attention(struct builder *b)
{
    const struct sq_model_shape *c = b->shape;
    if (c->kind == SQ_MODEL_DEEPSEEK) {
        if (c->q_rank > 0)
            add(b, "q_a_proj", b->m, c->q_rank, c->hidden, c->layers);
        add(b, c->q_rank ? "q_b_proj" : "q_proj", b->m, c->heads * (c->nope + c->rope),
            c->q_rank ? c->q_rank : c->hidden, c->layers);
        add(b, "kv_a_proj", b->m, c->kv_rank + c->rope, c->hidden, c->layers);
        add(b, "kv_b_proj", b->m, c->heads * (c->nope + c->v_dim), c->kv_rank, c->layers);
        add(b, "o_proj", b->m, c->hidden, c->heads * c->v_dim, c->layers);
        return;
    }
    add(b, "q_proj", b->m, c->heads * c->head_dim, c->hidden, c->layers);
    add(b, "k_proj", b->m, c->kv_heads * c->head_dim, c->hidden, c->layers);
    add(b, "v_proj", b->m, c->kv_heads * c->head_dim, c->hidden, c->layers);
    add(b, "o_proj", b->m, c->hidden, c->heads * c->head_dim, c->layers);
}

static void add_mlp(struct builder *b, const char *prefix, uint64_t m, uint64_t size,
                    uint64_t count)
{
    static const char *const names[] = {"gate_proj", "up_proj", "down_proj"};
    for (unsigned i = 0; i < 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%s", prefix, names[i]);
        add(b, name, m, i == 2 ? b->shape->hidden : size, i == 2 ? size : b->shape->hidden, count);
    }
}

// Tokens of every expert: `total` assignments over n experts in descending order, none more than
// m. The shares are filled from the first; what rounding leaves over goes to the first with room.
static void route(enum sq_routing routing, uint64_t m, uint64_t total, size_t n, uint64_t *tokens)
{
    double harmonic = 0;
    uint64_t left = total;
    for (size_t r = 0; r < n; r++)
        harmonic += 1.0 / (double)(r + 1);
    for (size_t r = 0; r < n; r++) {
        const double share =
            routing == SQ_ROUTING_BALANCED ? 1.0 / (double)n : 1.0 / (double)(r + 1) / harmonic;
        tokens[r] = (uint64_t)((double)total * share);
        tokens[r] = tokens[r] > m ? m : tokens[r];
        left -= tokens[r];
    }
    // One more for every expert with room, in order, round after round: all that fit at once.
    for (size_t full = 0; left > 0;) {
        while (tokens[full] == m) // the order is descending
            full++;
        const uint64_t open = n - full, room = m - tokens[full];
        const uint64_t rounds = left / open < room ? left / open : room;
        for (size_t r = full; r < n; r++)
            tokens[r] += rounds + (rounds == 0 && r - full < left);
        left = rounds ? left - rounds * open : 0;
    }
}

static void add_experts(struct builder *b, enum sq_routing routing)
{
    const struct sq_model_shape *c = b->shape;
    const uint64_t layers = c->layers - c->dense_layers;
    uint64_t tokens[SQ_EXPERTS_MAX];
    add(b, "router", b->m, c->experts, c->hidden, layers);
    if (c->shared_size)
        add_mlp(b, "shared_expert.", b->m, c->shared_size, layers);
    route(routing, b->m, b->m * c->top_k, c->experts, tokens);
    for (size_t r = 0, same; r < c->experts; r += same) {
        char prefix[40];
        for (same = 1; r + same < c->experts && tokens[r + same] == tokens[r]; same++)
            ;
        snprintf(prefix, sizeof prefix, "expert_%zu-%zu.", r, r + same - 1);
        add_mlp(b, prefix, tokens[r], c->expert_size, same * layers);
    }
}

// ---- attention, lm_head, the rest -------------------------------------------------------------

// Queries first..last of each sequence, counted from 0, and what a layer sees.
struct queries {
    uint64_t first, last; // positions, those in the cache before them counted
    uint64_t window;      // 0: none
    uint64_t layers;
};

static void add_call(struct builder *b, enum sq_vector_op op, double calls, double rows, double n)
{
    struct sq_workload_rest *const r = &b->w->rest;
    if (calls <= 0 || rows <= 0 || n <= 0)
        return;
    assert(r->n_calls < SQ_WORKLOAD_CALLS_MAX);
    r->call[r->n_calls++] = (struct sq_workload_call){op, calls, rows, n};
}

// Sums of keys over the queries: the triangle, cut by the window.
static double pairs(const struct queries *q)
{
    const double first = (double)q->first + 1, last = (double)q->last + 1;
    const double window = q->window > 0 ? (double)q->window : last;
    const double below = last < window ? last : window; // of queries that see all before them
    const double rise = below >= first ? (first + below) * (below - first + 1) / 2 : 0;
    const double flat = last - (below >= first ? below : first - 1);
    return rise + flat * window;
}

// A product with the cache of `sides` heads side by side, in as few GEMMs as the largest N allows.
static void add_cached(struct builder *b, enum sq_workload_part part, uint64_t m, uint64_t n,
                       uint64_t k, uint64_t sides, uint64_t layers)
{
    const uint64_t most = SQ_GEMM_MAX / n, pieces = (sides + most - 1) / most;
    const uint64_t mine = sides / pieces, longer = sides % pieces; // so many have one more
    for (unsigned more = 0; more < 2; more++) {
        const uint64_t count = layers * (more ? longer : pieces - longer);
        if (count == 0)
            continue;
        add(b, part == SQ_ROW_SCORES ? "scores" : "values", m, n * (mine + more), k, count);
        b->w->row[b->w->n - 1].part = part;
    }
}

static void add_queries(struct builder *b, const struct sq_workload_options *o,
                        const struct queries *q)
{
    const struct sq_model_shape *c = b->shape;
    const bool is_latent = c->kind == SQ_MODEL_DEEPSEEK;
    const uint64_t n = q->last - q->first + 1, keys = (uint64_t)ceil(pairs(q) / (double)n);
    const uint64_t latent = c->kv_rank + c->rope;
    if (is_latent && o->is_decode) {
        add_cached(b, SQ_ROW_SCORES, c->heads * n, keys, latent, o->batch, q->layers);
        add_cached(b, SQ_ROW_VALUES, c->heads * n, c->kv_rank, keys, o->batch, q->layers);
    } else if (is_latent) {
        add_cached(b, SQ_ROW_SCORES, n, keys, c->nope + c->rope, c->heads * o->batch, q->layers);
        add_cached(b, SQ_ROW_VALUES, n, c->v_dim, keys, c->heads * o->batch, q->layers);
    } else {
        const uint64_t group = c->heads / c->kv_heads, sides = c->kv_heads * o->batch;
        add_cached(b, SQ_ROW_SCORES, group * n, keys, c->head_dim, sides, q->layers);
        add_cached(b, SQ_ROW_VALUES, group * n, c->head_dim, keys, sides, q->layers);
    }
    add_call(b, SQ_VECTOR_SOFTMAX, (double)q->layers, (double)(n * c->heads * o->batch),
             (double)keys);
}

// All queries of the pass in layers of one kind, step by step.
static void add_attention_of(struct builder *b, const struct sq_workload_options *o,
                             uint64_t window, uint64_t layers)
{
    const uint64_t tokens = o->is_decode ? 1 : o->seq;
    const uint64_t before = o->is_decode ? o->context - 1 : o->context;
    const uint64_t steps = tokens < SQ_CAUSAL_STEPS ? tokens : SQ_CAUSAL_STEPS;
    for (uint64_t i = 0; layers > 0 && i < steps; i++)
        add_queries(b, o,
                    &(struct queries){before + tokens * i / steps,
                                      before + tokens * (i + 1) / steps - 1, window, layers});
    const uint64_t all = before + tokens, held = window > 0 && window < all ? window : all;
    const double rows = b->shape->kind == SQ_MODEL_DEEPSEEK ? 1 : 2 * (double)b->shape->kv_heads;
    b->w->rest.cache_held += rows * (double)(held * o->batch) * (double)layers;
    b->w->rest.cache_new += rows * (double)(tokens * o->batch) * (double)layers;
}

static void count_elements(struct builder *b, const struct sq_workload_options *o)
{
    const struct sq_model_shape *c = b->shape;
    struct sq_workload_rest *r = &b->w->rest;
    const bool is_latent = c->kind == SQ_MODEL_DEEPSEEK;
    const double tokens = (double)b->m, layers = (double)c->layers, hidden = (double)c->hidden;
    const double heads = (double)(c->heads * (is_latent ? c->nope + c->rope : c->head_dim));
    const double kv = is_latent ? 1 : (double)c->kv_heads;
    const double rotated = (double)(is_latent ? c->rope : c->head_dim);
    const double sparse = c->experts ? layers - (double)c->dense_layers : 0;
    const double experts =
        (double)(c->top_k * c->expert_size + c->shared_size) + (double)c->experts;
    r->tokens = b->m;
    r->sequences = o->batch;
    r->layers = c->layers;
    r->hidden = c->hidden;
    r->chips = o->chips > 1 ? o->chips : 1;
    add_call(b, SQ_VECTOR_NORM, (double)c->norms * layers + 1, tokens, hidden);
    if (is_latent) {
        add_call(b, SQ_VECTOR_NORM, layers, tokens, (double)c->q_rank);
        add_call(b, SQ_VECTOR_NORM, layers, tokens, (double)c->kv_rank);
    } else if (c->has_qk_norm) {
        add_call(b, SQ_VECTOR_NORM, layers, tokens * ((double)c->heads + kv), rotated);
    }
    if (c->kind != SQ_MODEL_OPT) // whose positions are embedded
        add_call(b, SQ_VECTOR_ROTARY, layers, tokens * ((double)c->heads + kv), rotated);
    add_call(b, SQ_VECTOR_GATE, layers - sparse, tokens, (double)c->intermediate);
    add_call(b, SQ_VECTOR_GATE, sparse, tokens, experts);
    add_call(b, SQ_VECTOR_ADD, 2 * layers + sparse * (double)c->top_k, tokens, hidden);
    r->query = tokens * heads * layers;
    r->embedding = tokens * hidden;
    r->embedding_held = c->is_tied ? 0 : (double)c->vocab * hidden;
    r->cache_width = is_latent ? c->kv_rank + c->rope : c->head_dim;
}

static void add_whole(struct builder *b, const struct sq_workload_options *o)
{
    const struct sq_model_shape *c = b->shape;
    add_attention_of(b, o, 0, c->layers - c->window_layers);
    add_attention_of(b, o, c->window, c->window_layers);
    add(b, "lm_head", o->batch, c->vocab, c->hidden, 1);
    b->w->row[b->w->n - 1].part = SQ_ROW_HEAD;
    count_elements(b, o);
}

// What sq_workload_parse would take: heads x head size, experts x layers can pass it.
static enum sq_status check_rows(const struct sq_workload *w, const char *what,
                                 struct sq_error *err)
{
    for (size_t i = 0; i < w->n; i++) {
        const struct sq_workload_row *row = &w->row[i];
        const struct sq_gemm *g = &row->gemm;
        if (g->m > SQ_GEMM_MAX || g->n > SQ_GEMM_MAX || g->k > SQ_GEMM_MAX ||
            row->count > SQ_WORKLOAD_COUNT_MAX)
            return SQ_FAIL(err, SQ_ERR_RANGE,
                           "%s: %s is %llu x %llu x %llu, %llu times, need sizes of at most %llu "
                           "and a count of at most %u",
                           what, row->name, (unsigned long long)g->m, (unsigned long long)g->n,
                           (unsigned long long)g->k, (unsigned long long)row->count,
                           (unsigned long long)SQ_GEMM_MAX, SQ_WORKLOAD_COUNT_MAX);
    }
    return SQ_OK;
}

static enum sq_status build(const struct sq_model_shape *c, const struct sq_workload_options *o,
                            const char *what, struct sq_workload *w, struct sq_error *err)
{
    const uint64_t tokens = o->is_decode ? 1 : o->seq;
    if (o->batch < 1 || tokens < 1 || o->batch > SQ_GEMM_MAX / tokens)
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "%s: %llu sequences of %llu tokens, need 1..%llu together", what,
                       (unsigned long long)o->batch, (unsigned long long)tokens,
                       (unsigned long long)SQ_GEMM_MAX);
    struct builder b = {.shape = c,
                        .w = w,
                        .room = 24 + 3 * c->experts + 8 * SQ_CAUSAL_STEPS,
                        .m = o->batch * tokens};
    w->row = calloc(b.room, sizeof *w->row);
    SQ_NEED(w->row, err, "%zu rows", b.room);
    add_attention(&b);
    if (c->kind == SQ_MODEL_OPT) {
        add(&b, "fc1", b.m, c->intermediate, c->hidden, c->layers);
        add(&b, "fc2", b.m, c->hidden, c->intermediate, c->layers);
    } else if (c->experts == 0) {
        add_mlp(&b, "", b.m, c->intermediate, c->layers);
    } else {
        add_mlp(&b, "", b.m, c->intermediate, c->dense_layers);
        add_experts(&b, o->routing);
    }
    if (o->is_whole)
        add_whole(&b, o);
    return check_rows(w, what, err);
}

static enum sq_status check_context(const struct sq_workload_options *o, const char *what,
                                    struct sq_error *err)
{
    const uint64_t tokens = o->is_decode ? 0 : o->seq;
    if (o->context < o->is_decode || o->context > SQ_GEMM_MAX - tokens)
        return SQ_FAIL(err, SQ_ERR_RANGE, "%s: context = %llu, need %d..%llu", what,
                       (unsigned long long)o->context, o->is_decode,
                       (unsigned long long)(SQ_GEMM_MAX - tokens));
    return SQ_OK;
}

// What one of the chips has of the model.
static enum sq_status share(uint64_t chips, const char *what, struct sq_model_shape *c,
                            struct sq_error *err)
{
    const uint64_t kv = c->kv_heads ? c->kv_heads : c->heads; // latent attention: of each head
    if (chips <= 1)
        return SQ_OK;
    if (c->heads % chips != 0 || (kv % chips != 0 && chips % kv != 0))
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "%s: chips = %llu, need a divisor of %llu heads, and one or a multiple of "
                       "%llu KV heads",
                       what, (unsigned long long)chips, (unsigned long long)c->heads,
                       (unsigned long long)kv);
    c->heads /= chips;
    c->kv_heads = c->kv_heads ? (kv > chips ? kv / chips : 1) : 0;
    c->intermediate = (c->intermediate + chips - 1) / chips;
    c->expert_size = (c->expert_size + chips - 1) / chips;
    c->shared_size = (c->shared_size + chips - 1) / chips;
    c->vocab = (c->vocab + chips - 1) / chips;
    return SQ_OK;
}

enum sq_status sq_workload_of_config(const json_t *root, const char *what,
                                     const struct sq_workload_options *o, struct sq_workload *w,
                                     struct sq_error *err)
{
    struct sq_model_shape shape;
    memset(w, 0, sizeof *w);
    SQ_TRY(sq_model_shape_of(root, what, &shape, err));
    if (o->is_whole) {
        SQ_TRY(check_context(o, what, err));
        SQ_TRY(share(o->chips, what, &shape, err));
    }
    const enum sq_status status = build(&shape, o, what, w, err);
    if (status != SQ_OK)
        sq_workload_free(w);
    return status;
}

enum sq_status sq_workload_from_config(const char *path, const struct sq_workload_options *o,
                                       struct sq_workload *w, struct sq_error *err)
{
    json_auto_t *root = NULL;
    memset(w, 0, sizeof *w);
    SQ_TRY(sq_json_load(path, CONFIG_MAX_NBYTES, &root, err));
    return sq_workload_of_config(root, sq_path_tail(path), o, w, err);
}
