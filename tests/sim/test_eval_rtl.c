// SPDX-License-Identifier: Apache-2.0
// The integers inside `sqsim eval` are those of the RTL: layers of the embedded model by SQ
// Algorithm 1, their real inputs as the datapath sees them, sampled tiles through the verilated
// core, zero differences.
//
// Sampled: three layers of the first block, eight tiles each, on the first quick point of the
// co-simulation with an 8/4 format. What eval computes for those layers is sq_gemm_sq_w
// (tests/unit/llm/test_eval.c); here its integers, the bank-wise golden model and the RTL meet.
#include <unistd.h>

#include "models/core/sq_mac.h"
#include "sim/block/core/sq_core_run.h"
#include "sim/cosim/sq_layer_cosim.h"
#include "sim/cosim/sq_rtl_build.h"
#include "sim/format/core/sq_grid_format.h"
#include "sim/llm/sq_eval.h"
#include "tests/skip.h"
#include "tests/unit/fixture.h"

static const char model[] = "traces/tiny-llama";
enum { TOKENS = 8, TILES = 8 };

// Inputs of the layers of one block, the first TOKENS tokens.
struct inputs {
    float *x[SQ_BLOCK_LAYERS];
};

static enum sq_status keep(void *context, const struct sq_llama_linear *l, bool *is_done,
                           struct sq_error *err)
{
    struct inputs *in = context;
    (void)is_done, (void)err;
    float *x = fixture_exact(TOKENS * l->k * sizeof *x);
    memcpy(x, l->x, TOKENS * l->k * sizeof *x);
    in->x[l->layer % SQ_BLOCK_LAYERS] = x;
    return SQ_OK;
}

static struct sq_core_config quick_point(void)
{
    struct sq_core_config c;
    for (size_t i = 0; i < SQ_CORE_N_POINTS; i++) {
        sq_core_get(sq_core_points[i].value, &c);
        if (sq_core_points[i].is_quick && c.high_bits == 8 && c.low_bits == 4 && 128 % c.bank == 0)
            return c;
    }
    fail_msg("no quick 8/4 point");
    return c;
}

static struct sq_tokens tokens_of(const struct sq_checkpoint *ck, const char *name, size_t n)
{
    char path[128];
    struct sq_tokens t;
    struct sq_error err = {.text = ""};
    snprintf(path, sizeof path, "%s/%s", model, name);
    CHECK_EQ(sq_tokens_read(&t, path, ck->config.vocab_size, ck->config.max_position, &err), SQ_OK,
             "%s\n", err.text);
    t.n_sequences = n;
    return t;
}

// Algorithm 1 on block 0, calibrated and evaluated on real tokens.
static void quantize_block(const struct sq_checkpoint *ck, const struct sq_core_config *config,
                           struct sq_quant_layer layer[SQ_BLOCK_LAYERS], struct inputs *in)
{
    struct sq_tokens calib = tokens_of(ck, "tokens_calib.safetensors", 4);
    struct sq_tokens eval = tokens_of(ck, "tokens_eval.safetensors", 1);
    struct sq_eval_inputs collected;
    struct sq_llama s;
    struct sq_recipe r = sq_recipe_default();
    r.format = &sq_format_sq_w;
    sq_grid_set(&r)->weight = (struct sq_grid){SQ_GRID_OWN, 8, 4};
    r.act.low_bits = config->act_bits;
    r.bank = config->bank;
    r.high_per_bank = config->high_per_bank;
    assert_ok(sq_recipe_check(&r, NULL));
    assert_ok(sq_llama_init(&s, ck, &calib, NULL));
    assert_ok(sq_eval_collect(&s, 0, SQ_NEED_HESSIAN, &collected, NULL));
    assert_ok(sq_eval_encode(ck, 0, &r, &collected, NULL, layer, NULL));
    sq_llama_free(&s);
    assert_ok(sq_llama_init(&s, ck, &eval, NULL));
    assert_ok(sq_llama_block(&s, 0, keep, in, NULL));
    sq_llama_free(&s);
    sq_eval_inputs_free(&collected);
    sq_tokens_free(&calib), sq_tokens_free(&eval);
}

// Sampled tiles of a layer: codes, integers by sq_gemm_sq_w, and the job of a core.
static void check_layer(const struct sq_core_config *config, struct sq_quant_layer *q,
                        const float *x, const struct sq_rtl_api *rtl, struct sq_rng *rng)
{
    const struct sq_matrix *w = &sq_grid_layer_of(q)->packed.m;
    const size_t n_integers = TOKENS * w->n * sq_n_groups(&w->format, w->k);
    int8_t *act = fixture_exact(TOKENS * w->k);
    float *s_a = fixture_exact(TOKENS * sizeof *s_a), *y = fixture_exact(TOKENS * w->n * sizeof *y);
    int32_t *p_lo = fixture_exact(n_integers * sizeof *p_lo);
    int32_t *p_hi = fixture_exact(n_integers * sizeof *p_hi);
    struct sq_layer_codes codes = {.m = TOKENS, .w = w, .act = act, .p_lo = p_lo, .p_hi = p_hi};
    assert_ok(sq_act_quantize(x, TOKENS, w->k_orig, w->k, config->act_bits, act, s_a, NULL));
    sq_gemm_sq_w(w, act, s_a, TOKENS, 0, w->n, y, p_lo, p_hi,
                 fixture_alloc(sq_gemm_scratch_nbytes(w)));
    assert_ok(sq_gemm_job(config, &w->format, TOKENS, w->n, w->k, &codes.job, NULL));
    const struct sq_point point = sq_core_point(config);
    const uint32_t tiles = codes.job.groups / (uint32_t)sq_n_groups(&w->format, w->k);
    for (unsigned i = 0; i < TILES; i++) {
        const uint32_t first = sq_rng_below(rng, tiles);
        struct sq_case c = {.point = &point};
        struct sq_result result;
        struct sq_error err = {.text = ""};
        uint64_t differences;
        CHECK_EQ(sq_layer_case(&codes, config, first, 1, fixture_seed(), &c, &differences, &err),
                 SQ_OK, "%s\n", err.text);
        CHECK_EQ(differences, 0, "tile %u, golden\n", first);
        CHECK_EQ(sq_lockstep_run(&c, rtl, NULL, &result, &err), SQ_OK, "%s\n", err.text);
        CHECK_EQ(result.mismatch.kind, SQ_MISMATCH_NONE, "tile %u\n", first);
        assert_true(result.n_out >= 1 && result.compared.beats > 0);
        sq_case_free(&c);
    }
}

SQ_TEST(layers_of_algorithm_1_equal_the_rtl)
{
    const struct sq_core_config config = quick_point();
    const struct sq_point core = sq_core_point(&config);
    const struct sq_rtl_point point = {.block = &sq_core_block, .point = &core};
    struct sq_quant_layer layer[SQ_BLOCK_LAYERS];
    struct inputs in = {{NULL}};
    struct sq_checkpoint ck;
    struct sq_rtl rtl;
    struct sq_error err = {.text = ""};
    struct sq_rng rng = {fixture_seed()};
    bool built;
    const enum sq_status status = sq_rtl_load(&rtl, &point, ".", &built, &err);
    if (status == SQ_ERR_TOOL) {
        SQ_SKIP("%s", err.text);
    }
    CHECK_EQ(status, SQ_OK, "%s\n", err.text);
    CHECK_EQ(sq_checkpoint_open(&ck, model, &err), SQ_OK, "%s\n", err.text);
    quantize_block(&ck, &config, layer, &in);
    for (size_t i = 0; i < SQ_BLOCK_LAYERS; i++) {
        if (i % 3 == 0) // q, o and down
            check_layer(&config, &layer[i], in.x[i], rtl.api, &rng);
        sq_quant_layer_free(&layer[i]);
    }
    sq_rtl_unload(&rtl);
    sq_checkpoint_close(&ck);
}
