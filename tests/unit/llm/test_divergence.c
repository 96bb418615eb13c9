// SPDX-License-Identifier: Apache-2.0
// A quantized model against the model as it is (sq_logits, sq_divergence, sq_eval_jobs).
//
// Judges: a plain softmax in binary64 over the whole vocabulary of one token at a time, on the
// embedded model and on random states over vocabularies below, at and above a block of lm_head;
// sums and quantiles by hand on made-up scores. Exhausted: nothing.
#include <math.h>
#include <omp.h>

#include "sim/format/core/sq_grid_recipe.h"
#include "sim/format/sq_format_ops.h"
#include "sim/io/sq_cache.h"
#include "sim/llm/sq_eval.h"
#include "tests/unit/fixture.h"
#include "tests/unit/tmpdir.h"

static const char tiny_llama[] = "traces/tiny-llama";

// ---- the slow judge ---------------------------------------------------------------------------

// log p of every token of the vocabulary into out[vocab]; w is lm_head [vocab][width].
static void slow_log_p(const float *x, const float *w, size_t vocab, size_t width, double *out)
{
    double max = -INFINITY, sum = 0;
    for (size_t v = 0; v < vocab; v++) {
        out[v] = 0;
        for (size_t i = 0; i < width; i++)
            out[v] += (double)x[i] * (double)w[v * width + i];
        max = out[v] > max ? out[v] : max;
    }
    for (size_t v = 0; v < vocab; v++)
        sum += exp(out[v] - max);
    for (size_t v = 0; v < vocab; v++)
        out[v] -= max + log(sum);
}

static size_t top_of(const double *log_p, size_t vocab)
{
    size_t top = 0;
    for (size_t v = 1; v < vocab; v++)
        top = log_p[v] > log_p[top] ? v : top;
    return top;
}

static struct sq_token_score slow_score(const double *p, const double *reference, size_t vocab,
                                        size_t next)
{
    struct sq_token_score s = {.nll = -p[next], .nll_reference = -reference[next]};
    for (size_t v = 0; v < vocab; v++)
        s.kl += exp(reference[v]) * (reference[v] - p[v]);
    s.is_same_top = top_of(p, vocab) == top_of(reference, vocab);
    return s;
}

// Every score against the judge; binary32 products are all that is between them. Returns how many
// most likely tokens differ from the judge's, which a tie of two logits may cause.
static size_t check_scores(const float *w, size_t vocab, size_t width, const struct sq_tokens *t,
                           const float *x, const float *reference,
                           const struct sq_token_score *score, struct sq_token_score *want)
{
    double *p = fixture_alloc(vocab * sizeof *p), *q = fixture_alloc(vocab * sizeof *q);
    size_t n_other = 0;
    for (size_t i = 0; i < t->n_sequences; i++)
        for (size_t at = t->offset[i]; at + 1 < t->offset[i + 1]; at++) {
            slow_log_p(x + at * width, w, vocab, width, p);
            slow_log_p(reference + at * width, w, vocab, width, q);
            want[at] = slow_score(p, q, vocab, (size_t)t->id[at + 1]);
            const double off[] = {score[at].nll - want[at].nll, score[at].kl - want[at].kl,
                                  score[at].nll_reference - want[at].nll_reference};
            for (size_t j = 0; j < LEN(off); j++)
                if (!(fabs(off[j]) <= 2e-5))
                    fail_msg("seed %llu: vocabulary %zu, token %zu, figure %zu is off by %g",
                             (unsigned long long)fixture_seed(), vocab, at, j, off[j]);
            assert_true(score[at].kl >= 0);
            n_other += score[at].is_same_top != want[at].is_same_top;
        }
    return n_other;
}

// ---- random states ----------------------------------------------------------------------------

static float *random_floats(struct sq_rng *rng, size_t n, double scale)
{
    float *f = fixture_exact(n * sizeof *f);
    for (size_t i = 0; i < n; i++)
        f[i] = (float)(scale * fixture_gauss(rng));
    return f;
}

enum { WIDTH = 24, N_TOKENS = 1100 }; // more than two blocks of tokens

static void check_vocab(struct sq_rng *rng, size_t vocab)
{
    float *w = random_floats(rng, vocab * WIDTH, 0.5);
    float *reference = random_floats(rng, N_TOKENS * WIDTH, 1);
    float *noise = random_floats(rng, N_TOKENS * WIDTH, 0.2),
          *x = fixture_exact(N_TOKENS * WIDTH * 4);
    int32_t id[N_TOKENS];
    for (size_t i = 0; i < N_TOKENS; i++)
        id[i] = (int32_t)sq_rng_below(rng, (uint32_t)vocab);
    for (size_t i = 0; i < N_TOKENS * WIDTH; i++)
        x[i] = reference[i] + noise[i];
    const struct sq_tokens t = {2, (size_t[]){0, 600, N_TOKENS}, id, 0};
    struct sq_tensor head = {.name = "lm_head.weight",
                             .dtype = SQ_F32,
                             .n_dims = 2,
                             .dim = {vocab, WIDTH},
                             .n_elements = vocab * WIDTH,
                             .nbytes = vocab * WIDTH * 4,
                             .data = (void *)w};
    const struct sq_checkpoint ck = {.config = {.vocab_size = vocab, .hidden_size = WIDTH},
                                     .gguf = {.n_tensors = 1},
                                     .tensor = &head};
    static struct sq_token_score score[N_TOKENS], want[N_TOKENS], again[N_TOKENS];
    assert_ok(sq_logits_score(&ck, &t, x, reference, score, NULL));
    assert_true(check_scores(w, vocab, WIDTH, &t, x, reference, score, want) <= 1);
    omp_set_num_threads(3);
    assert_ok(sq_logits_score(&ck, &t, x, reference, again, NULL));
    omp_set_num_threads(1);
    for (size_t i = 0; i + 1 < N_TOKENS; i++)
        assert_true(again[i].kl == score[i].kl && again[i].nll == score[i].nll);
    // Several models at once: each has the scores that it has alone.
    const float *const models[] = {noise, x, reference};
    struct sq_token_score *const scores[] = {want, again, fixture_exact(sizeof score)};
    assert_ok(sq_logits_score_all(&ck, &t, models, 3, reference, scores, NULL));
    for (size_t i = 0; i + 1 < N_TOKENS; i++)
        assert_true(again[i].kl == score[i].kl && again[i].nll == score[i].nll &&
                    again[i].nll_reference == score[i].nll_reference &&
                    again[i].is_same_top == score[i].is_same_top && scores[2][i].kl == 0 &&
                    scores[0][i].kl > 0);
    assert_ok(sq_logits_score(&ck, &t, x, x, score, NULL));
    for (size_t i = 0; i + 1 < N_TOKENS; i++)
        assert_true(score[i].kl == 0 && score[i].is_same_top &&
                    score[i].nll == score[i].nll_reference);
    x[3] = NAN;
    struct sq_divergence d;
    assert_ok(sq_logits_score(&ck, &t, x, reference, score, NULL));
    assert_int_equal(sq_divergence_of(&t, score, &d, NULL), SQ_ERR_NON_FINITE);
}

SQ_TEST(vocabularies)
{
    struct sq_rng rng = {fixture_seed()};
    const size_t vocab[] = {5, 300, 4095, 4096, 4097, 9001};
    for (size_t i = 0; i < LEN(vocab); i++)
        check_vocab(&rng, vocab[i]);
}

// The most likely tokens stand at the same place of two blocks of lm_head, and are not the same.
SQ_TEST(tops_of_two_blocks)
{
    enum { VOCAB = 9000, BLOCK = 4096 };
    float w[VOCAB] = {[3] = 1, [3 + BLOCK] = -1};
    int32_t id[4] = {0};
    struct sq_tensor head = {.name = "lm_head.weight",
                             .dtype = SQ_F32,
                             .n_dims = 2,
                             .dim = {VOCAB, 1},
                             .n_elements = VOCAB,
                             .nbytes = sizeof w,
                             .data = (void *)w};
    const struct sq_checkpoint ck = {.config = {.vocab_size = VOCAB, .hidden_size = 1},
                                     .gguf = {.n_tensors = 1},
                                     .tensor = &head};
    const struct sq_tokens t = {1, (size_t[]){0, 4}, id, 0};
    const float reference[] = {9, -9, 0, 0}, x[] = {-9, -8, 0, 0}; // of equals the first
    struct sq_token_score score[4];
    assert_ok(sq_logits_score(&ck, &t, x, reference, score, NULL));
    assert_true(!score[0].is_same_top && score[1].is_same_top && score[2].is_same_top);
}

// ---- statistics -------------------------------------------------------------------------------

SQ_TEST(by_hand)
{
    // Two sequences of three and two predicted tokens; the last score of each counts for nothing.
    const struct sq_token_score score[] = {
        {2, 1, .10, true},   {3, 2.5, .20, false}, {1, 1, .30, true},  {99, 0, 99, true},
        {4, 3.5, .40, true}, {2, 3, .50, true},    {99, 0, 99, false},
    };
    int32_t id[7] = {0};
    const struct sq_tokens t = {2, (size_t[]){0, 4, 7}, id, 0};
    struct sq_divergence d;
    assert_ok(sq_divergence_of(&t, score, &d, NULL));
    assert_true(fabs(d.loss_reference - 11.0 / 5) < 1e-12);
    assert_true(fabs(d.loss_difference - 1.0 / 5) < 1e-12);
    assert_true(fabs(d.kl_mean - .3) < 1e-12 && fabs(d.kl_median - .3) < 1e-12);
    assert_true(fabs(d.kl_p99 - (.4 + .96 * .1)) < 1e-12);
    assert_true(d.top1_agreement == 4.0 / 5);
    // Off their shares: 1.5 - 0.2 * 3 = 0.9 and -0.5 - 0.2 * 2 = -0.9.
    assert_true(fabs(d.loss_difference_se - sqrt(2 * (0.81 + 0.81)) / 5) < 1e-12);
    // A resample of two sequences is one of three: their means are 0.5, 0.2, -0.25.
    assert_true(fabs(d.loss_difference_95.low + .25) < 1e-12);
    assert_true(fabs(d.loss_difference_95.high - .5) < 1e-12);
    assert_true(fabs(d.kl_mean_95.low - .2) < 1e-12 && fabs(d.kl_mean_95.high - .45) < 1e-12);
    const struct sq_tokens one = {1, (size_t[]){0, 4}, id, 0};
    assert_ok(sq_divergence_of(&one, score, &d, NULL));
    assert_true(isnan(d.loss_difference_se) && isnan(d.loss_difference_95.low));
    assert_true(isnan(d.kl_mean_95.high) && fabs(d.kl_mean - .2) < 1e-12);
    // A window with one token of context: its first prediction was made in the window before.
    const struct sq_tokens windows = {2, (size_t[]){0, 4, 7}, id, 2};
    assert_ok(sq_divergence_of(&windows, score, &d, NULL));
    assert_true(fabs(d.kl_mean - (.1 + .2 + .3 + .5) / 4) < 1e-12);
}

// KL of b is three times that of a in the first sequence and equal in the second, of means 0.2 and 0.45: a
// resample of two sequences has sums of .6 + .6, .6 + .9 and .9 + .9 against 1.8 + 1.8, 1.8 + .9, .9 + .9.
SQ_TEST(pair_by_hand)
{
    const struct sq_token_score a[] = {{.kl = .1}, {.kl = .2}, {.kl = .3}, {.kl = 9},
                                       {.kl = .4}, {.kl = .5}, {.kl = 9}};
    const struct sq_token_score b[] = {{.kl = .3}, {.kl = .6}, {.kl = .9}, {.kl = 1},
                                       {.kl = .4}, {.kl = .5}, {.kl = 1}};
    int32_t id[7] = {0};
    const struct sq_tokens t = {2, (size_t[]){0, 4, 7}, id, 0}, one = {1, (size_t[]){0, 4}, id, 0};
    struct sq_divergence_pair p;
    assert_ok(sq_divergence_compare(&t, a, b, &p, NULL));
    assert_true(fabs(p.ratio - 2.7 / 1.5) < 1e-12 && fabs(p.difference - 1.2 / 5) < 1e-12);
    assert_true(fabs(p.ratio_95.low - 1) < 1e-12 && fabs(p.ratio_95.high - 3) < 1e-12);
    assert_true(fabs(p.difference_95.low) < 1e-12 && fabs(p.difference_95.high - .4) < 1e-12);
    assert_ok(sq_divergence_compare(&one, a, b, &p, NULL));
    assert_true(fabs(p.ratio - 3) < 1e-12 && isnan(p.ratio_95.low) && isnan(p.difference_95.high));
}

enum { MADE_UP = 40, LONGEST = 12 };

static void make_up(struct sq_rng *rng, struct sq_token_score *score, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double r = 3 + fixture_gauss(rng), kl = fixture_gauss(rng);
        score[i] = (struct sq_token_score){r + .1 * fixture_gauss(rng), r, .01 * kl * kl,
                                           sq_rng_below(rng, 10) > 0};
    }
}

// Bit by bit, whatever order the sequences come in; and the interval is around the mean and of the
// width that the standard error says.
SQ_TEST(any_order)
{
    struct sq_rng rng = {fixture_seed()};
    struct sq_token_score score[MADE_UP * LONGEST], turned[MADE_UP * LONGEST];
    size_t offset[MADE_UP + 1] = {0}, back[MADE_UP + 1] = {0};
    int32_t id[MADE_UP * LONGEST] = {0};
    for (unsigned round = 0; round < 20; round++) {
        for (size_t i = 0; i < MADE_UP; i++)
            offset[i + 1] = offset[i] + 2 + sq_rng_below(&rng, LONGEST - 1);
        make_up(&rng, score, offset[MADE_UP]);
        for (size_t i = 0; i < MADE_UP; i++) {
            const size_t from = MADE_UP - 1 - i, n = offset[from + 1] - offset[from];
            memcpy(turned + back[i], score + offset[from], n * sizeof *score);
            back[i + 1] = back[i] + n;
        }
        const struct sq_tokens t = {MADE_UP, offset, id, 0}, u = {MADE_UP, back, id, 0};
        struct sq_divergence d, e;
        assert_ok(sq_divergence_of(&t, score, &d, NULL));
        assert_ok(sq_divergence_of(&u, turned, &e, NULL));
        assert_memory_equal(&d, &e, sizeof d);
        const struct sq_interval *l = &d.loss_difference_95, *k = &d.kl_mean_95;
        assert_true(l->low < d.loss_difference && d.loss_difference < l->high);
        assert_true(k->low < d.kl_mean && d.kl_mean < k->high);
        const double width = (l->high - l->low) / d.loss_difference_se;
        assert_true(width > 0.85 * 3.92 && width < 1.15 * 3.92);
    }
}

// ---- the embedded model -------------------------------------------------------------------------

struct model {
    struct sq_checkpoint ck;
    struct sq_tokens tokens;
};

static void model_open(struct model *m, size_t n_sequences)
{
    char path[256];
    struct sq_error err = {.text = ""};
    CHECK_EQ(sq_checkpoint_open(&m->ck, tiny_llama, &err), SQ_OK, "%s\n", err.text);
    snprintf(path, sizeof path, "%s/tokens_eval.safetensors", tiny_llama);
    CHECK_EQ(
        sq_tokens_read(&m->tokens, path, m->ck.config.vocab_size, m->ck.config.max_position, &err),
        SQ_OK, "%s\n", err.text);
    m->tokens.n_sequences = n_sequences;
}

static void model_close(struct model *m)
{
    sq_tokens_free(&m->tokens);
    sq_checkpoint_close(&m->ck);
}

static struct sq_recipe rtn(unsigned weight_bits, unsigned act_bits)
{
    struct sq_recipe r = sq_recipe_default();
    sq_grid_set(&r)->weight.low_bits = weight_bits;
    r.act.low_bits = act_bits;
    r.algorithm = SQ_ALGORITHM_RTN;
    return r;
}

// The last states, of the model as it is where r is NULL.
static void states(const struct model *m, const struct sq_recipe *r, struct sq_llama *s)
{
    assert_ok(sq_llama_init(s, &m->ck, &m->tokens, NULL));
    for (size_t b = 0; b < m->ck.config.n_layers; b++) {
        struct sq_quant_layer layer[SQ_BLOCK_LAYERS] = {0};
        if (!r) {
            assert_ok(sq_llama_block(s, b, NULL, NULL, NULL));
            continue;
        }
        assert_ok(sq_eval_encode(&m->ck, b, r, NULL, NULL, layer, NULL));
        assert_ok(sq_eval_block(s, b, r, layer, NULL, NULL, NULL, NULL));
        for (size_t i = 0; i < SQ_BLOCK_LAYERS; i++)
            sq_quant_layer_free(&layer[i]);
    }
    assert_ok(sq_llama_norm(s, NULL));
}

static void compare(const struct model *m, const struct sq_recipe *r, struct sq_eval_result *result,
                    struct sq_divergence *d)
{
    struct sq_error err = {.text = ""};
    struct sq_eval_job job = {.r = r, .divergence = *d};
    const enum sq_status status = sq_eval_jobs(&m->ck, NULL, &m->tokens, &job, 1, NULL, NULL, &err);
    *result = job.result;
    *d = job.divergence;
    CHECK_EQ(status, SQ_OK, "%s\n", err.text);
}

// All of it again, from the states on by the slow judge.
SQ_TEST(recomputed)
{
    struct model m;
    struct sq_eval_result result, alone;
    struct sq_divergence got, want;
    struct sq_llama as_it_is, quantized;
    model_open(&m, 3);
    const struct sq_recipe r = rtn(4, 6);
    const struct sq_model_config *c = &m.ck.config;
    compare(&m, &r, &result, &got);
    states(&m, NULL, &as_it_is);
    states(&m, &r, &quantized);
    const size_t count = sq_tokens_count(&m.tokens), n = c->vocab_size * c->hidden_size;
    float *w = fixture_exact(n * sizeof *w);
    assert_ok(sq_checkpoint_read(
        &m.ck, c->tie_word_embeddings ? "model.embed_tokens.weight" : "lm_head.weight", w, n,
        NULL));
    struct sq_token_score *score = fixture_zeros(count, sizeof *score),
                          *slow = fixture_zeros(count, sizeof *slow);
    assert_true(score && slow);
    assert_ok(sq_logits_score(&m.ck, &m.tokens, quantized.x, as_it_is.x, score, NULL));
    assert_true(check_scores(w, c->vocab_size, c->hidden_size, &m.tokens, quantized.x, as_it_is.x,
                             score, slow) <= 1);
    assert_ok(sq_divergence_of(&m.tokens, slow, &want, NULL));
    print_message("# KL %.6f, want %.6f; loss %+.6f, want %+.6f\n", got.kl_mean, want.kl_mean,
                  got.loss_difference, want.loss_difference);
    assert_true(fabs(got.kl_mean - want.kl_mean) < 1e-5 && got.kl_mean > 1e-3);
    assert_true(fabs(got.kl_median - want.kl_median) < 2e-5);
    assert_true(fabs(got.kl_p99 - want.kl_p99) < 2e-5);
    assert_true(fabs(got.loss_difference - want.loss_difference) < 1e-5);
    assert_true(fabs(got.top1_agreement - want.top1_agreement) < 2.0 / (double)result.n_tokens);
    assert_true(fabs(got.loss_reference + got.loss_difference - result.loss) < 1e-9);
    assert_ok(sq_eval(&m.ck, NULL, &m.tokens, &r, NULL, NULL, &alone, NULL));
    assert_true(alone.loss == result.loss);
    assert_ok(sq_eval(&m.ck, NULL, &m.tokens, NULL, NULL, NULL, &alone, NULL));
    assert_true(fabs(alone.loss - got.loss_reference) < 1e-9);
    sq_llama_free(&as_it_is);
    sq_llama_free(&quantized);
    model_close(&m);
}

// More bits are nearer, in KL and in the most likely token.
SQ_TEST(ordered)
{
    struct model m;
    struct sq_eval_result result;
    struct sq_divergence fine, middle, coarse;
    model_open(&m, 2);
    const struct sq_recipe r[] = {rtn(8, 8), rtn(6, 6), rtn(4, 4)};
    compare(&m, &r[0], &result, &fine);
    compare(&m, &r[1], &result, &middle);
    compare(&m, &r[2], &result, &coarse);
    assert_true(0 < fine.kl_mean && fine.kl_mean < middle.kl_mean &&
                middle.kl_mean < coarse.kl_mean);
    assert_true(fine.top1_agreement > coarse.top1_agreement);
    assert_true(fine.loss_reference == coarse.loss_reference);
    model_close(&m);
}

// ---- kept states ---------------------------------------------------------------------------------

static void count_block(void *context, enum sq_eval_stage stage, size_t block, size_t n_blocks)
{
    (void)block, (void)n_blocks;
    *(size_t *)context += stage == SQ_EVAL_REFERENCE;
}

// The states with this cache; returns how many blocks were computed for them.
static size_t kept(const struct model *m, const struct sq_reference_cache *cache, float **x)
{
    size_t n = 0;
    const struct sq_eval_watch watch = {count_block, &n};
    struct sq_error err;
    CHECK_EQ(sq_reference_states(&m->ck, &m->tokens, cache, &watch, x, &err), SQ_OK, "%s\n",
             err.text);
    return n;
}

// The only entry of the directory, its file of states.
static char *only_states(const char *dir)
{
    static char path[400];
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        if (strlen(e->d_name) == 32)
            snprintf(path, sizeof path, "%s/%s/states", dir, e->d_name);
    closedir(d);
    return path;
}

static size_t n_entries(const char *dir)
{
    size_t n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        n += strlen(e->d_name) == 32;
    if (d)
        closedir(d);
    return n;
}

// Every field of the config that states depend on, the sizes of tensors aside: once it changes, they are computed anew.
SQ_TEST(a_changed_config_has_states_of_its_own)
{
#define AT(field) offsetof(struct sq_model_config, field)
#define ROPE(r)                                                                                    \
    AT(r.theta), AT(r.linear), AT(r.attention_factor), AT(r.factor), AT(r.low_freq_factor),        \
        AT(r.high_freq_factor)
    static const size_t doubles[] = {AT(rms_norm_eps),  AT(embedding_scale), AT(query_scale),
                                     AT(attention_cap), ROPE(rope),          ROPE(local_rope)};
    static const size_t sizes[] = {AT(local_window), AT(rope.original_max_position),
                                   AT(local_rope.original_max_position)};
    static const size_t flags[] = {AT(has_offset_gain),      AT(is_geglu),    AT(rope.is_llama3),
                                   AT(local_rope.is_llama3), AT(is_local[0]), AT(is_local[1])};
    struct model m;
    char dir[64];
    float *x;
    model_open(&m, 1);
    tmpdir_make(dir);
    const struct sq_reference_cache cache = {tmpdir_path(dir, "reference"), 0};
    char *const config = (char *)&m.ck.config;
    for (size_t i = 0; i <= LEN(doubles) + LEN(sizes) + LEN(flags); i++) {
        const size_t s = i - LEN(doubles), f = s - LEN(sizes);
        if (i < LEN(doubles))
            *(double *)(config + doubles[i]) += 1 + (double)i;
        else if (s < LEN(sizes))
            *(size_t *)(config + sizes[s]) += 5;
        else if (f < LEN(flags))
            *(bool *)(config + flags[f]) ^= true;
        for (unsigned again = 0; again < 2; again++) {
            CHECK_EQ(kept(&m, &cache, &x), f == LEN(flags) || again ? 0 : m.ck.config.n_layers,
                     "double %zu, size %zu or flag %zu\n", i, s, f);
            free(x);
        }
    }
    sq_cache_remove(dir);
    model_close(&m);
}

SQ_TEST(kept_states)
{
    struct model m;
    char dir[64];
    float *want, *x;
    model_open(&m, 3);
    const size_t n_blocks = m.ck.config.n_layers;
    const size_t nbytes = sq_tokens_count(&m.tokens) * m.ck.config.hidden_size * sizeof *x;
    tmpdir_make(dir);
    const struct sq_reference_cache cache = {tmpdir_path(dir, "reference"), 0};
    const struct sq_reference_cache idle = {cache.dir, 1e15};
    assert_int_equal(kept(&m, NULL, &want), n_blocks);
    assert_int_equal(kept(&m, &idle, &x), n_blocks); // too few products
    assert_memory_equal(x, want, nbytes);
    assert_int_equal(n_entries(cache.dir), 0);
    free(x);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(kept(&m, &cache, &x), i ? 0 : n_blocks);
        assert_memory_equal(x, want, nbytes);
        assert_int_equal(n_entries(cache.dir), 1);
        free(x);
    }
    // One bit of it: made anew.
    size_t n;
    uint8_t *bytes = read_bytes(only_states(cache.dir), &n);
    bytes[n / 2] ^= 4;
    write_bytes(only_states(cache.dir), bytes, n);
    assert_int_equal(kept(&m, &cache, &x), n_blocks);
    assert_memory_equal(x, want, nbytes);
    free(x);
    // Other tokens, another cut of the same, another model: entries of their own, but no more than
    // there may be, and the last one is there.
    m.tokens.n_sequences = 2;
    assert_int_equal(kept(&m, &cache, &x), n_blocks);
    free(x);
    m.ck.config.rms_norm_eps *= 2;
    assert_int_equal(kept(&m, &cache, &x), n_blocks);
    free(x);
    assert_int_equal(n_entries(cache.dir), 3);
    for (size_t i = 0; i < SQ_REFERENCE_ENTRIES; i++) {
        m.tokens.id[0] = (int32_t)i + 1;
        assert_int_equal(kept(&m, &cache, &x), n_blocks);
        free(x);
    }
    assert_int_equal(n_entries(cache.dir), SQ_REFERENCE_ENTRIES);
    assert_int_equal(kept(&m, &cache, &x), 0);
    free(x);
    // Where nothing can be written they are computed.
    const struct sq_reference_cache nowhere = {"/dev/null/reference", 0};
    assert_int_equal(kept(&m, &nowhere, &x), n_blocks);
    free(x);
    free(want);
    sq_cache_remove(dir);
    model_close(&m);
}
