// SPDX-License-Identifier: Apache-2.0
// Recipes on real models (sq_recipe, sq_eval): orderings of loss, golden integers, refusals.
//
// The orderings are of stories260K (all of its evaluation set for W8A8, four sequences else),
// skipped aloud where it is not there; everything else is of the embedded tiny-llama. The integers
// behind a layer are compared with the packed golden model called directly, and with a product of
// decoded values in binary64.
#include <math.h>
#include <omp.h>
#include <unistd.h>

#include "models/core/sq_mac.h"
#include "models/quant/sq_codes_alloc.h"
#include "sim/format/core/sq_grid_recipe.h"
#include "sim/format/sq_format_ops.h"
#include "sim/llm/sq_eval.h"
#include "sim/llm/sq_sparsity_scan.h"
#include "tests/data.h"
#include "tests/skip.h"
#include "tests/unit/fixture.h"

static const char stories_name[] = "models/stories260K";
static const char tiny_llama[] = "traces/tiny-llama";

struct model {
    struct sq_checkpoint ck;
    struct sq_tokens calib, eval;
};

static void model_open(struct model *m, const char *dir, size_t n_calib, size_t n_eval)
{
    char path[256];
    struct sq_error err = {.text = ""};
    CHECK_EQ(sq_checkpoint_open(&m->ck, dir, &err), SQ_OK, "%s\n", err.text);
    const struct sq_model_config *c = &m->ck.config;
    snprintf(path, sizeof path, "%s/tokens_calib.safetensors", dir);
    CHECK_EQ(sq_tokens_read(&m->calib, path, c->vocab_size, c->max_position, &err), SQ_OK, "%s\n",
             err.text);
    snprintf(path, sizeof path, "%s/tokens_eval.safetensors", dir);
    CHECK_EQ(sq_tokens_read(&m->eval, path, c->vocab_size, c->max_position, &err), SQ_OK, "%s\n",
             err.text);
    if (n_calib)
        m->calib.n_sequences = n_calib;
    if (n_eval)
        m->eval.n_sequences = n_eval;
}

static void model_close(struct model *m)
{
    sq_tokens_free(&m->calib);
    sq_tokens_free(&m->eval);
    sq_checkpoint_close(&m->ck);
}

static double loss(const struct model *m, const struct sq_recipe *r)
{
    struct sq_eval_result result;
    struct sq_error err = {.text = ""};
    CHECK_EQ(sq_eval(&m->ck, &m->calib, &m->eval, r, NULL, NULL, &result, &err), SQ_OK, "%s\n",
             err.text);
    CHECK_EQ(result.n_tokens, sq_tokens_predicted(&m->eval), "tokens\n");
    assert_true(result.perplexity == exp(result.loss));
    return result.loss;
}

static struct sq_recipe dense(unsigned weight_bits, unsigned act_bits)
{
    struct sq_recipe r = sq_recipe_default();
    sq_grid_set(&r)->weight.low_bits = weight_bits;
    r.act.low_bits = act_bits;
    return r;
}

static struct sq_recipe sq_w(unsigned bank, unsigned act_bits)
{
    struct sq_recipe r = dense(4, act_bits);
    r.format = &sq_format_sq_w;
    sq_grid_set(&r)->weight = (struct sq_grid){SQ_GRID_OWN, 8, 4};
    r.bank = bank;
    r.high_per_bank = bank / 4;
    return r;
}

static struct sq_recipe sq_a(unsigned bank, enum sq_select select)
{
    struct sq_recipe r = dense(4, 8);
    r.format = select == SQ_SELECT_STATIC ? &sq_format_sq_a_static : &sq_format_sq_a_dynamic;
    r.act = (struct sq_grid){SQ_GRID_OWN, 8, 4};
    r.bank = bank;
    r.high_per_bank = bank / 4;
    sq_grid_set(&r)->select = select;
    return r;
}

// ---- orderings ------------------------------------------------------------------------------

SQ_TEST(stories260k_w8a8)
{
    struct model m;
    char stories[512];
    if (access(test_data(stories_name, stories), R_OK) != 0) {
        SQ_SKIP("no %s here", stories);
    }
    model_open(&m, stories, 0, 0);
    struct sq_recipe r = dense(8, 8);
    r.algorithm = SQ_ALGORITHM_RTN;
    const double reference = loss(&m, NULL), w8a8 = loss(&m, &r);
    print_message("# reference %.6f, W8A8 %.6f\n", reference, w8a8);
    assert_true(fabs(reference - 1.3837) <= 0.0002 && fabs(w8a8 - reference) <= 0.004);
    model_close(&m);
}

// K = 64 at groups of 128 is half padding: 8 bits and a scale a stored column, more a weight.
SQ_TEST(padding_is_told_apart)
{
    struct model m;
    struct sq_eval_result result;
    struct sq_recipe r = dense(8, 8);
    r.algorithm = SQ_ALGORITHM_RTN;
    model_open(&m, tiny_llama, 1, 1);
    assert_ok(sq_eval(&m.ck, NULL, &m.eval, &r, NULL, NULL, &result, NULL));
    assert_true(result.payload_bits == 8.25 && result.stored_bits == 8.25);
    model_close(&m);
    char stories[512];
    if (access(test_data(stories_name, stories), R_OK) != 0) {
        SQ_SKIP("no %s here", stories);
    }
    model_open(&m, stories, 1, 1);
    assert_ok(sq_eval(&m.ck, NULL, &m.eval, &r, NULL, NULL, &result, NULL));
    assert_true(result.payload_bits == 8.25 && result.stored_bits > 12);
    model_close(&m);
}

// SpQt: projections of one input have one sparsity, and a block's weights the mean that was asked.
SQ_TEST(thresholds_are_of_inputs)
{
    SQ_NEED_ROOM("spqt");
    struct model m;
    struct sq_recipe r;
    struct sq_error err = {.text = ""};
    model_open(&m, tiny_llama, 1, 1);
    m.calib.offset[1] = 24; // tokens: each step of the scan runs a block on all of them
    assert_ok(sq_format_recipe(sq_format_find("spqt"), SQ_IN_EVAL, NULL, &r, NULL));
    double s[14];
    assert_int_equal(m.ck.n_layers, 14);
    CHECK_EQ(sq_sparsity_scan_layers(&m.ck, &m.calib, &r, 0.2, s, &err), SQ_OK, "%s\n", err.text);
    for (size_t b = 0; b < 14; b += 7) {
        double sum = 0, count = 0;
        assert_true(s[b] == s[b + 1] && s[b] == s[b + 2] && s[b + 4] == s[b + 5]);
        assert_true(s[b] != s[b + 3] || s[b] != s[b + 4] || s[b] != s[b + 6]);
        for (size_t i = b; i < b + 7; i++) {
            const double n = (double)m.ck.layer[i].n * (double)m.ck.layer[i].k;
            sum += s[i] * n;
            count += n;
        }
        assert_true(fabs(sum / count - 0.2) < 1e-9);
    }
    model_close(&m);
}

// The loss at the better of two banks lies strictly between W4A4 and W8A8.
SQ_TEST(stories260k_orderings)
{
    struct model m;
    char stories[512];
    if (access(test_data(stories_name, stories), R_OK) != 0) {
        SQ_SKIP("no %s here", stories);
    }
    model_open(&m, stories, 8, 4);
    const struct sq_recipe w4a4 = dense(4, 4), w8a8 = dense(8, 8);
    const double worst = loss(&m, &w4a4), best = loss(&m, &w8a8);
    static const char *const name[] = {"W(SQ6)A4", "W4A(SQ5) static", "W4A(SQ5) dynamic"};
    for (unsigned kind = 0; kind < 3; kind++) {
        double least = INFINITY;
        unsigned at = 0;
        for (unsigned bank = 16; bank <= 32; bank *= 2) {
            const struct sq_recipe r =
                kind == 0 ? sq_w(bank, 4)
                          : sq_a(bank, kind == 1 ? SQ_SELECT_STATIC : SQ_SELECT_DYNAMIC_FP);
            const double l = loss(&m, &r);
            if (l < least)
                least = l, at = bank;
        }
        print_message("# %s: %.4f at bank %u; W8A8 %.4f, W4A4 %.4f\n", name[kind], least, at, best,
                      worst);
        assert_true(best < least && least < worst);
    }
    model_close(&m);
}

// ---- integers -------------------------------------------------------------------------------

// Bit for bit: what eval computes for packed weights is sq_act_quantize and sq_gemm_sq_w.
SQ_TEST(packed_layers_are_golden)
{
    enum { N = 150, K = 200, M = 300 };
    struct sq_rng rng = {fixture_seed()};
    struct sq_recipe r = {.format = &sq_format_sq_w,
                          .act = {SQ_GRID_DENSE, 0, 8},
                          .bank = 16,
                          .high_per_bank = 4,
                          .group = 64};
    sq_grid_set(&r)->weight = (struct sq_grid){SQ_GRID_OWN, 8, 4};
    float *w = fixture_exact(N * K * sizeof *w), *x = fixture_exact(M * K * sizeof *x);
    float *y = fixture_exact(2 * M * N * sizeof *y), s_a[M];
    random_weights(&rng, w, N * K);
    random_weights(&rng, x, M * K);
    struct sq_matrix m = matrix_new((struct sq_format){8, 4, 16, 4, 64}, N, K);
    assert_ok(sq_encode_rtn(w, &m, NULL));
    int8_t *act = fixture_exact(M * m.k);
    assert_ok(sq_act_quantize(x, M, K, m.k, 8, act, s_a, NULL));
    void *scratch = fixture_alloc(sq_gemm_scratch_nbytes(&m));
    sq_gemm_sq_w(&m, act, s_a, M, 0, N, y, NULL, NULL, scratch);
    const struct sq_quant_input none = {0};
    struct sq_quant_layer q;
    assert_ok(sq_quant_layer_init(&q, &r, w, N, K, &none, NULL));
    assert_ok(sq_quant_layer_apply(&q, &r, x, M, y + M * N, NULL));
    assert_memory_equal(y, y + M * N, M * N * sizeof *y);
    x[M * K - 1] = NAN;
    struct sq_error err;
    check_refused(sq_quant_layer_apply(&q, &r, x, M, y, &err), SQ_ERR_NON_FINITE, &err,
                  "need a finite number");
    sq_quant_layer_free(&q);
}

// Every kind of recipe, tiny layers: the output is the product of the decoded operands.
SQ_TEST(recipes_multiply_what_they_store)
{
    enum { N = 20, K = 100, M = 140 };
    struct sq_rng rng = {fixture_seed()};
    const struct sq_grid d4 = {SQ_GRID_DENSE, 0, 4}, d8 = {SQ_GRID_DENSE, 0, 8};
    const struct {
        struct sq_recipe r;
        struct sq_grid weight;
        enum sq_select select;
    } recipes[] = {
        {{.format = &sq_format_dense, .act = {SQ_GRID_DENSE, 0, 5}, .group = 32},
         {SQ_GRID_DENSE, 0, 6},
         SQ_SELECT_STATIC},
        {{.format = &sq_format_sq_w, .act = d8, .bank = 8, .high_per_bank = 2, .group = 64},
         {SQ_GRID_TIED, 8, 4},
         SQ_SELECT_STATIC},
        {{.format = &sq_format_sq_w, .act = d8, .bank = 32, .high_per_bank = 4},
         {SQ_GRID_SPLIT, 8, 4},
         SQ_SELECT_STATIC},
        {{.format = &sq_format_sq_a_dynamic,
          .act = {SQ_GRID_OWN, 8, 3},
          .bank = 16,
          .high_per_bank = 4,
          .group = 32},
         d4,
         SQ_SELECT_DYNAMIC_FP},
        {{.format = &sq_format_sq_a_dynamic,
          .act = {SQ_GRID_SPLIT, 8, 4},
          .bank = 16,
          .high_per_bank = 4,
          .group = 128},
         d4,
         SQ_SELECT_DYNAMIC_FP},
    };
    float w[N * K], x[M * K], y[M * N];
    random_weights(&rng, w, N * K);
    random_weights(&rng, x, M * K);
    for (size_t i = 0; i < LEN(recipes); i++) {
        struct sq_recipe recipe = recipes[i].r, *r = &recipe;
        sq_grid_set(r)->weight = recipes[i].weight;
        sq_grid_set(r)->select = recipes[i].select;
        const struct sq_quant_input none = {0};
        struct sq_quant_layer q;
        assert_ok(sq_recipe_check(r, NULL));
        assert_ok(sq_quant_layer_init(&q, r, w, N, K, &none, NULL));
        assert_ok(sq_quant_layer_apply(&q, r, x, M, y, NULL));
        struct sq_codes a = {.grid = r->act,
                             .n = M,
                             .k = q.k,
                             .k_orig = K,
                             .group = q.k,
                             .bank = r->bank,
                             .high_per_bank = r->high_per_bank};
        float score[2 * 256], wr[K], xr[K];
        assert_ok(sq_codes_alloc(&a, NULL));
        assert_ok(sq_codes_encode_act(&a, x, recipes[i].select, NULL, score, NULL));
        for (size_t t = 0; t < M; t++)
            for (size_t n = 0; n < N; n++) {
                double want = 0, size = 0;
                sq_codes_decode_row(&a, t, xr);
                q.format->values->decode_row(q.state, n, wr);
                for (size_t j = 0; j < K; j++) {
                    want += (double)xr[j] * (double)wr[j];
                    size += fabs((double)xr[j] * (double)wr[j]);
                }
                if (!(fabs(want - (double)y[t * N + n]) <= 1e-6 * size))
                    fail_msg("recipe %zu token %zu channel %zu: %g, want %g", i, t, n,
                             (double)y[t * N + n], want);
            }
        sq_codes_free(&a);
        sq_quant_layer_free(&q);
    }
}

// Three layers with one input, the first two with the same statistics, the third with others: a
// static mask or a static scale differs there.
static void check_shared(const struct sq_recipe *r, struct sq_rng *rng)
{
    enum { K = 192, M = 130, LAYERS = 3, CALIB = 3 };
    static const size_t n[LAYERS] = {20, 7, 33};
    float *x = fixture_exact(M * K * sizeof *x), *seen = fixture_exact(CALIB * K * sizeof *seen);
    struct sq_quant_layer q[LAYERS];
    struct sq_shared_layers all = {.n = LAYERS};
    float *want[LAYERS];
    random_weights(rng, x, M * K);
    for (size_t i = 0; i < LAYERS; i++) {
        float *w = fixture_exact(n[i] * K * sizeof *w);
        struct sq_calibration c;
        struct sq_error err = {.text = ""};
        assert_ok(sq_calibration_init(&c, K, false, NULL));
        if (i != 1)
            random_weights(rng, seen, CALIB * K);
        assert_ok(sq_calibration_add(&c, seen, CALIB, NULL));
        const struct sq_quant_input in = {.calibration = &c, .sample = seen, .n_sample = CALIB};
        random_weights(rng, w, n[i] * K);
        CHECK_EQ(sq_quant_layer_init(&q[i], r, w, n[i], K, &in, &err), SQ_OK, "%s: %s\n",
                 r->format->name, err.text);
        want[i] = fixture_exact(M * n[i] * sizeof *want[i]);
        all.q[i] = &q[i];
        all.r[i] = r;
        all.y[i] = fixture_exact(M * n[i] * sizeof *all.y[i]);
        assert_ok(sq_quant_layer_apply(&q[i], r, x, M, want[i], NULL));
        sq_calibration_free(&c);
    }
    assert_ok(sq_quant_layers_apply(&all, x, M, NULL));
    for (size_t i = 0; i < LAYERS; i++) {
        if (memcmp(all.y[i], want[i], M * n[i] * sizeof *want[i]) != 0)
            fail_msg("%s: layer %zu of three with one input gives other outputs than alone",
                     r->format->name, i);
        sq_quant_layer_free(&q[i]);
    }
}

// Layers with one input, whose activations may be encoded once, give what each gives alone.
SQ_TEST(shared_inputs_change_no_bit)
{
    struct sq_rng rng = {fixture_seed() + 5};
    const struct sq_given given[] = {{1, {{"algorithm", "rtn"}}},
                                     {2, {{"algorithm", "rtn"}, {"act-scale", "static"}}},
                                     {2, {{"algorithm", "rtn"}, {"operand", "act"}}},
                                     {2, {{"algorithm", "rtn"}, {"rotate", "16"}}}};
    size_t n_tried = 0;
    for (size_t f = 0; sq_formats[f]; f++)
        for (size_t g = 0; g < LEN(given); g++) {
            struct sq_recipe r;
            if (sq_format_recipe(sq_formats[f], SQ_IN_EVAL, &given[g], &r, NULL) != SQ_OK ||
                !sq_formats[f]->values || sq_recipe_needs(&r) & (2u | 4u))
                continue;
            check_shared(&r, &rng);
            n_tried++;
        }
    if (n_tried < 40)
        fail_msg("%zu recipes tried, need 40", n_tried);
}

SQ_TEST(thread_count_changes_no_bit)
{
    struct model m;
    model_open(&m, tiny_llama, 4, 2);
    struct sq_recipe r[] = {sq_w(32, 4), sq_a(16, SQ_SELECT_STATIC), dense(4, 8)};
    r[1].is_smooth = true;
    r[2].is_act_f16 = true;
    for (size_t i = 0; i < LEN(r); i++) {
        omp_set_num_threads(1);
        const double one = loss(&m, &r[i]);
        omp_set_num_threads(3);
        const double many = loss(&m, &r[i]);
        assert_memory_equal(&one, &many, sizeof one);
    }
    omp_set_num_threads(omp_get_num_procs());
    model_close(&m);
}

// ---- metrics --------------------------------------------------------------------------------

struct seen {
    size_t n;
    double worst, recall;
};

static void watch(void *context, const struct sq_layer_metrics *l)
{
    struct seen *s = context;
    s->n++;
    s->worst = fmax(s->worst, l->relative_error);
    s->recall += l->mask_recall;
    assert_true(fabs(l->sqnr_db + 20 * log10(l->relative_error)) < 1e-9); // SPEC J.2
}

SQ_TEST(metrics_of_layers)
{
    struct model m;
    struct sq_eval_result result;
    struct seen fine = {0}, coarse = {0}, masked = {0};
    model_open(&m, tiny_llama, 4, 2);
    struct sq_recipe r = dense(8, 8);
    assert_ok(sq_eval(&m.ck, &m.calib, &m.eval, &r, watch, &fine, &result, NULL));
    r = dense(4, 4);
    assert_ok(sq_eval(&m.ck, &m.calib, &m.eval, &r, watch, &coarse, &result, NULL));
    r = sq_a(16, SQ_SELECT_STATIC);
    assert_ok(sq_eval(&m.ck, &m.calib, &m.eval, &r, watch, &masked, &result, NULL));
    assert_true(fine.n == 14 && fine.worst < 0.05 && coarse.worst > fine.worst);
    assert_true(isnan(fine.recall) && masked.recall / 14 > 0.25 && masked.recall / 14 < 1);
    model_close(&m);
}

// ---- refusals -------------------------------------------------------------------------------

SQ_TEST(recipe_refusals)
{
    struct sq_recipe r = sq_w(32, 8);
    struct sq_error err;
    r.act = (struct sq_grid){SQ_GRID_OWN, 8, 4};
    assert_int_equal(sq_recipe_check(&r, &err), SQ_ERR_UNSUPPORTED);
    assert_string_equal(err.text, "weights or activations may be sparse-quantized, never both");
    r = sq_w(32, 5);
    assert_int_equal(sq_recipe_check(&r, &err), SQ_ERR_UNSUPPORTED);
    r = sq_w(32, 8), r.is_act_f16 = true;
    assert_int_equal(sq_recipe_check(&r, NULL), SQ_ERR_UNSUPPORTED);
    r = sq_w(128, 8), r.group = 64; // b must divide G
    assert_true(sq_recipe_check(&r, NULL) != SQ_OK);
    r = sq_w(32, 8), r.high_per_bank = 5;
    assert_int_equal(sq_recipe_check(&r, NULL), SQ_ERR_UNSUPPORTED);
    r = dense(4, 4), r.group = 48;
    assert_int_equal(sq_recipe_check(&r, NULL), SQ_ERR_UNSUPPORTED);
    r = dense(4, 4), r.percdamp = NAN;
    assert_int_equal(sq_recipe_check(&r, NULL), SQ_ERR_RANGE);
    r = dense(4, 4), r.alpha = 1.5;
    assert_int_equal(sq_recipe_check(&r, NULL), SQ_ERR_RANGE);
    r = dense(4, 4), r.bank = 8, r.high_per_bank = 2;
    sq_grid_set(&r)->weight = (struct sq_grid){SQ_GRID_FP, 8, 4};
    assert_int_equal(sq_recipe_check(&r, NULL), SQ_ERR_UNSUPPORTED);
    struct model m;
    struct sq_eval_result result;
    model_open(&m, tiny_llama, 1, 1);
    r = dense(4, 8);
    assert_int_equal(sq_eval(&m.ck, NULL, &m.eval, &r, NULL, NULL, &result, &err), SQ_ERR_ARG);
    assert_string_equal(err.text, "this recipe needs calibration tokens");
    model_close(&m);
}
