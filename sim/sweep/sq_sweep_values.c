// SPDX-License-Identifier: Apache-2.0
// Losses and errors of a sweep, once for each encoding (sq_sweep_grid.h). A model goes through
// block by block: its seven layers are encoded, multiply what each number of tokens shows them in
// the model as it is (relative_error), then the evaluation tokens in the encoded one (loss), and
// are gone.
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "sim/llm/sq_blockwise.h"
#include "sim/llm/sq_layer.h"
#include "sim/sweep/sq_sweep_grid.h"

enum state { COMPUTING, DONE, FAILED };

struct entry {
    struct entry *next;
    struct sq_digest key;
    enum state state;
    enum sq_status status; // where FAILED
    struct sq_error err;
    struct sq_sqnr weight, *output; // output: by axis m
    double loss, bits;
};

struct sq_sweep_memo {
    pthread_mutex_t lock; // of the list and of what its entries are until DONE
    pthread_cond_t changed;
    size_t n_m; // of axis m, as the specification has it
    const double *m;
    struct entry *first;
    size_t n_encodings;
};

enum sq_status sq_sweep_memo_open(struct sq_sweep_memo **out, const struct sq_sweep_grid *s,
                                  struct sq_error *err)
{
    struct sq_sweep_memo *memo = calloc(1, sizeof *memo);
    *out = memo;
    SQ_NEED(memo, err, "the values of a sweep");
    pthread_mutex_init(&memo->lock, NULL);
    pthread_cond_init(&memo->changed, NULL);
    memo->n_m = s->axis[SQ_AXIS_M].n;
    memo->m = s->axis[SQ_AXIS_M].value;
    return SQ_OK;
}

void sq_sweep_memo_close(struct sq_sweep_memo *memo)
{
    if (!memo)
        return;
    for (struct entry *e = memo->first, *next; e; e = next) {
        next = e->next;
        free(e->output);
        free(e);
    }
    pthread_cond_destroy(&memo->changed);
    pthread_mutex_destroy(&memo->lock);
    free(memo);
}

size_t sq_sweep_memo_encodings(struct sq_sweep_memo *memo)
{
    pthread_mutex_lock(&memo->lock);
    const size_t n = memo->n_encodings;
    pthread_mutex_unlock(&memo->lock);
    return n;
}

// ---- one encoding -----------------------------------------------------------------------------

struct task {
    const struct sq_sweep_memo *memo;
    const struct sq_sweep_source *source;
    unsigned engines;
    const struct sq_recipe *r;
    struct entry *e;
    double nbits, weights;
    const struct sq_quant_layer *layer; // of the block
    size_t at;                          // which m is seen
};

static enum sq_status add_weight(struct task *t, const struct sq_quant_layer *q, const float *w,
                                 struct sq_error *err)
{
    t->nbits += sq_quant_layer_nbits(q);
    t->weights += (double)q->n * (double)q->k_orig;
    return w ? sq_quant_layer_sqnr(q, w, &t->e->weight, err) : SQ_OK;
}

static enum sq_status add_output(struct task *t, size_t at, const struct sq_quant_layer *q,
                                 const float *x, const float *w, struct sq_error *err)
{
    const size_t m = (size_t)t->memo->m[at];
    SQ_FREED float *y = calloc(m, q->n * sizeof *y);
    SQ_NEED(y, err, "%zu x %zu products", m, q->n);
    SQ_TRY(sq_quant_layer_apply(q, t->r, x, m, y, err));
    const struct sq_sqnr sum = sq_output_error(x, w, y, m, q->n, q->k_orig);
    t->e->output[at].signal += sum.signal;
    t->e->output[at].noise += sum.noise;
    return SQ_OK;
}

// Tensors that are no model: inputs are drawn, the first rows are the same for every m.
static enum sq_status visit_tensor(void *context, size_t index, const char *name, const float *x,
                                   const float *w, size_t m, size_t n, size_t k,
                                   struct sq_error *err)
{
    struct task *t = context;
    const struct sq_quant_input none = {0};
    SQ_CLOSED(sq_quant_layer_free) struct sq_quant_layer q = {0};
    struct sq_error why;
    (void)index, (void)m;
    enum sq_status status = sq_quant_layer_init(&q, t->r, w, n, k, &none, &why);
    if (status != SQ_OK)
        return SQ_FAIL(err, status, "layer %.60s: %.160s", name, why.text);
    status = add_weight(t, &q, w, err);
    for (size_t i = 0; status == SQ_OK && i < t->memo->n_m; i++)
        status = add_output(t, i, &q, x, w, err);
    return status;
}

static enum sq_status of_tensors(struct task *t, struct sq_error *err)
{
    double most = 1;
    bool is_real;
    for (size_t i = 0; i < t->memo->n_m; i++)
        most = fmax(most, t->memo->m[i]);
    if (sq_recipe_needs_calibration(t->r))
        return SQ_FAIL(
            err, SQ_ERR_UNSUPPORTED,
            "values of format %s need a model with calibration tokens, not '%.60s'%s",
            t->r->format->name, sq_path_tail(t->source->path),
            t->r->algorithm == SQ_ALGORITHM_GPTQ ? ", or where it has axis algorithm: [rtn]" : "");
    return sq_model_visit(t->source->ck, t->source->path, NULL, (size_t)most, 1, visit_tensor, t,
                          &is_real, err);
}

// ---- a model ----------------------------------------------------------------------------------

// Token sets on their way: what calibrates, what each m sees, what is evaluated.
struct passes {
    struct sq_tokens calib_tokens, eval_tokens, *seen_tokens;
    struct sq_llama calib, eval, *seen;
};

static enum sq_status hook(void *context, const struct sq_llama_linear *l, bool *is_done,
                           struct sq_error *err)
{
    struct task *t = context;
    const struct sq_quant_layer *q = &t->layer[l->layer % SQ_BLOCK_LAYERS];
    const float *w;
    *is_done = false; // the model goes on in binary32
    SQ_TRY(sq_llama_weights(l, &w, err));
    if (t->at == 0)
        SQ_TRY(sq_quant_layer_sqnr(q, w, &t->e->weight, err));
    return add_output(t, t->at, q, l->x, w, err);
}

static enum sq_status start(struct task *t, struct passes *p, struct sq_error *err)
{
    const struct sq_sweep_source *s = t->source;
    const struct sq_model_config *c = &s->ck->config;
    const struct sq_token_source source = {.tokens = s->tokens};
    if (sq_recipe_needs_calibration(t->r)) {
        SQ_TRY(sq_tokens_read(&p->calib_tokens, s->tokens, c->vocab_size, c->max_position, err));
        SQ_TRY(sq_llama_init(&p->calib, s->ck, &p->calib_tokens, err));
    }
    if (t->engines & SQ_ENGINE_EVAL) {
        SQ_TRY(
            sq_tokens_read(&p->eval_tokens, s->eval_tokens, c->vocab_size, c->max_position, err));
        SQ_TRY(sq_llama_init(&p->eval, s->ck, &p->eval_tokens, err));
    }
    for (size_t i = 0; (t->engines & SQ_ENGINE_VALUES) && i < t->memo->n_m; i++) {
        SQ_TRY(sq_model_tokens(s->ck, s->path, &source, (size_t)t->memo->m[i], &p->seen_tokens[i],
                               err));
        SQ_TRY(sq_llama_init(&p->seen[i], s->ck, &p->seen_tokens[i], err));
    }
    return SQ_OK;
}

static enum sq_status do_block(struct task *t, struct passes *p, size_t block, struct sq_error *err)
{
    SQ_CLOSED(sq_eval_layers_free) struct sq_quant_layer layer[SQ_BLOCK_LAYERS] = {0};
    SQ_TRY(sq_eval_calibrated(p->calib.ck ? &p->calib : NULL, t->source->ck, block, t->r, NULL,
                              layer, err));
    t->layer = layer;
    for (size_t i = 0; i < SQ_BLOCK_LAYERS; i++)
        SQ_TRY(add_weight(t, &layer[i], NULL, err));
    for (t->at = 0; p->seen[t->at].ck; t->at++)
        SQ_TRY(sq_llama_block(&p->seen[t->at], block, hook, t, err));
    return p->eval.ck ? sq_eval_block(&p->eval, block, t->r, layer, NULL, NULL, NULL, err) : SQ_OK;
}

static enum sq_status do_blocks(struct task *t, struct passes *p, struct sq_error *err)
{
    double nll;
    SQ_TRY(start(t, p, err));
    for (size_t b = 0; b < t->source->ck->config.n_layers; b++)
        SQ_TRY(do_block(t, p, b, err));
    if (!p->eval.ck)
        return SQ_OK;
    SQ_TRY(sq_llama_nll(&p->eval, &nll, err));
    t->e->loss = nll / (double)sq_tokens_predicted(&p->eval_tokens);
    return SQ_OK;
}

static enum sq_status of_model(struct task *t, struct sq_error *err)
{
    const size_t n = t->memo->n_m;
    struct passes p = {.seen = calloc(n + 1, sizeof *p.seen), // one more, which stays empty
                       .seen_tokens = calloc(n + 1, sizeof *p.seen_tokens)};
    const enum sq_status status =
        p.seen && p.seen_tokens ? do_blocks(t, &p, err) : SQ_NO_MEMORY(err, "%zu passes", n);
    for (size_t i = 0; p.seen && p.seen_tokens && i < n; i++) {
        sq_llama_free(&p.seen[i]);
        sq_tokens_free(&p.seen_tokens[i]);
    }
    sq_llama_free(&p.calib);
    sq_llama_free(&p.eval);
    sq_tokens_free(&p.calib_tokens);
    sq_tokens_free(&p.eval_tokens);
    free(p.seen);
    free(p.seen_tokens);
    return status;
}

static enum sq_status encode(struct task *t, struct sq_error *err)
{
    SQ_TRY(sq_recipe_check(t->r, err));
    SQ_TRY(t->source->ck->is_model ? of_model(t, err) : of_tensors(t, err));
    t->e->bits = t->nbits / t->weights;
    return SQ_OK;
}

// ---- all of them ------------------------------------------------------------------------------

// What an encoding is: weights, tokens and the options of its format; no machine, no m.
static struct sq_digest key_of(const struct sq_sweep_source *source, const struct sq_sweep_point *p)
{
    static const unsigned axes[] = {SQ_AXIS_FORMAT,   SQ_AXIS_WEIGHT_BITS, SQ_AXIS_PRECISION,
                                    SQ_AXIS_BANK,     SQ_AXIS_SPARSITY,    SQ_AXIS_GROUP,
                                    SQ_AXIS_ACT_BITS, SQ_AXIS_ALGORITHM,   SQ_AXIS_HIGH_PER_BANK,
                                    SQ_AXIS_CODES};
    struct sq_digest d = source->digest;
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++)
        if (!((p->absent | p->foreign) & (UINT64_C(1) << axes[i]))) {
            sq_digest_add(&d, &axes[i], sizeof axes[i]);
            sq_digest_add(&d, &p->quantity[axes[i]], sizeof p->quantity[axes[i]]);
        }
    return d;
}

static struct entry *find(const struct sq_sweep_memo *memo, struct sq_digest key)
{
    struct entry *e = memo->first;
    while (e && !sq_digest_is_equal(e->key, key))
        e = e->next;
    return e;
}

// Under the lock, which it gives back while it computes.
static enum sq_status make(struct sq_sweep_memo *memo, struct task *t, struct sq_digest key,
                           struct sq_error *err)
{
    struct entry *e = calloc(1, sizeof *e);
    if (e)
        e->output = calloc(memo->n_m + 1, sizeof *e->output);
    if (!e || !e->output) {
        free(e);
        return SQ_NO_MEMORY(err, "the values of an encoding");
    }
    e->key = key;
    e->next = memo->first;
    memo->first = e;
    memo->n_encodings++;
    t->e = e;
    pthread_mutex_unlock(&memo->lock);
    const enum sq_status status = encode(t, &e->err);
    pthread_mutex_lock(&memo->lock);
    e->status = status;
    e->state = status == SQ_OK ? DONE : FAILED;
    pthread_cond_broadcast(&memo->changed);
    return SQ_OK;
}

static void put(const struct sq_sweep_memo *memo, const struct entry *e, unsigned engines, size_t m,
                struct sq_sweep_result *r)
{
    size_t at = 0;
    while (at + 1 < memo->n_m && (size_t)memo->m[at] != m)
        at++;
    r->weight_signal = e->weight.signal;
    r->weight_noise = e->weight.noise;
    r->output_signal = e->output[at].signal;
    r->output_noise = e->output[at].noise;
    r->evaluated_bits = e->bits;
    if (engines & SQ_ENGINE_EVAL) {
        r->loss = e->loss;
        r->perplexity = exp(e->loss);
    }
}

enum sq_status sq_sweep_values(struct sq_sweep_memo *memo, const struct sq_sweep_source *source,
                               unsigned engines, const struct sq_sweep_point *p,
                               struct sq_sweep_result *r, struct sq_error *err)
{
    struct task t = {.memo = memo, .source = source, .engines = engines, .r = &p->recipe};
    const struct sq_digest key = key_of(source, p);
    enum sq_status status = SQ_OK;
    pthread_mutex_lock(&memo->lock);
    if (!find(memo, key))
        status = make(memo, &t, key, err);
    struct entry *e = find(memo, key);
    while (e && e->state == COMPUTING)
        pthread_cond_wait(&memo->changed, &memo->lock);
    if (e && e->state == DONE)
        put(memo, e, engines, p->m, r);
    if (e && e->state == FAILED) {
        status = e->status;
        if (err)
            *err = e->err;
    }
    pthread_mutex_unlock(&memo->lock);
    return status;
}
