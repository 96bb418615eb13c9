// SPDX-License-Identifier: Apache-2.0
// Values of a sweep on the embedded model. Five formats, each on 2 machines x 2 sizes of core x 2
// numbers of tokens: as many encodings as formats, in one thread and where four threads ask at
// once; sums of errors are those of another walk over the layers (sq_encoded_layers), losses those
// of sq_eval, both to the bit. Refused values fail in every point.
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/llm/sq_encoded_visit.h"
#include "sim/llm/sq_eval.h"
#include "sim/sweep/sq_sweep_grid.h"
#include "tests/test.h"

#define MODEL "traces/tiny-llama"

static const char spec[] = "name: v\n"
                           "axes:\n"
                           "  machine: [sim/machines/default.yaml, sim/machines/server64.yaml]\n"
                           "  m: [2, 5]\n"
                           "  format: [sq_w, dense, %s%s mxfp4]\n"
                           "  weight_bits: [4]\n"
                           "  algorithm: [rtn]\n"
                           "  act_bits: [8]\n"
                           "  bank: [16]\n"
                           "  sparsity: [0.5]\n"
                           "  rows: [8, 16]\n"
                           "  fair: [none]\n"
                           "measures: [relative_error, weight_sqnr_db, %s stored_bits, cycles]\n";

static void open_all(struct sq_sweep_grid *s, struct sq_sweep_inputs **in, const char *measure)
{
    struct sq_error err;
    char text[1000];
    const struct sq_sweep_options o = {.home = "."};
    snprintf(text, sizeof text, spec, sq_is_without("sp24") ? "" : "sp24,",
             sq_is_without("spqt") ? "" : "spqt,", measure);
    if (sq_sweep_grid_parse(s, text, strlen(text), "test", ".", &err) != SQ_OK ||
        sq_sweep_inputs_open(in, s, &o, &err) != SQ_OK)
        fail_msg("%s", err.text);
}

static struct sq_sweep_result compute(const struct sq_sweep_inputs *in,
                                      const struct sq_sweep_point *p)
{
    struct sq_sweep_result r;
    struct sq_error err;
    if (sq_sweep_compute(in, p, &r, &err) != SQ_OK)
        fail_msg("%s: %s", p->recipe.format->name, err.text);
    return r;
}

// Whether two points have the same encoding, by what the row in the database says of them.
static bool is_same(const struct sq_sweep_point *a, const struct sq_sweep_point *b)
{
    struct sq_sweep_point p[2] = {*a, *b};
    char text[2][SQ_PARAMETERS_SIZE];
    for (unsigned i = 0; i < 2; i++) {
        p[i].absent |= 1u << SQ_AXIS_MACHINE | 1u << SQ_AXIS_M | 1u << SQ_AXIS_ROWS;
        sq_sweep_parameters(&p[i], text[i]);
    }
    return strcmp(text[0], text[1]) == 0;
}

static size_t n_distinct(const struct sq_sweep_grid *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_points; i++) {
        struct sq_sweep_point a, b;
        bool is_new = true;
        sq_sweep_grid_point(s, i, &a);
        for (size_t j = 0; j < i && is_new; j++) {
            sq_sweep_grid_point(s, j, &b);
            is_new = !is_same(&a, &b);
        }
        n += is_new;
    }
    return n;
}

// ---- another walk -----------------------------------------------------------------------------

struct walk {
    const struct sq_checkpoint *ck;
    const struct sq_recipe *r;
    double signal, noise, nbits;
};

static enum sq_status add(void *context, size_t index, const struct sq_quant_layer *q,
                          const float *x, size_t m, struct sq_error *err)
{
    struct walk *v = context;
    double signal = 0, noise = 0;
    float *w = fixture_exact(q->n * q->k_orig * sizeof *w),
          *y = fixture_exact(m * q->n * sizeof *y);
    assert_ok(sq_checkpoint_read_layer(v->ck, index, w, err));
    assert_ok(sq_quant_layer_apply(q, v->r, x, m, y, err));
    for (size_t i = 0; i < m * q->n; i++) {
        double exact = 0;
        for (size_t k = 0; k < q->k_orig; k++)
            exact += (double)x[i / q->n * q->k_orig + k] * (double)w[i % q->n * q->k_orig + k];
        noise += (exact - (double)y[i]) * (exact - (double)y[i]);
        signal += exact * exact;
    }
    v->signal += signal;
    v->noise += noise;
    v->nbits += sq_quant_layer_nbits(q);
    return SQ_OK;
}

static void check_errors(const struct sq_checkpoint *ck, const struct sq_sweep_point *p,
                         const struct sq_sweep_result *r)
{
    struct walk v = {.ck = ck, .r = &p->recipe};
    struct sq_error err;
    uint8_t wanted[64];
    bool is_real;
    memset(wanted, 1, sizeof wanted);
    assert_true(ck->n_layers <= sizeof wanted);
    const struct sq_encoded_options o = {
        .recipe = &p->recipe, .model = MODEL, .m = p->m, .seed = 1, .is_wanted = wanted};
    if (sq_encoded_layers(ck, &o, add, &v, &is_real, &err) != SQ_OK)
        fail_msg("%s", err.text);
    assert_true(v.noise > 0 && is_real);
    assert_memory_equal(&v.signal, &r->output_signal, sizeof v.signal);
    assert_memory_equal(&v.noise, &r->output_noise, sizeof v.noise);
    assert_true(v.nbits == r->evaluated_bits * r->weights);
}

SQ_TEST(test_errors_and_encodings)
{
    struct sq_sweep_grid s;
    struct sq_sweep_inputs *in;
    struct sq_checkpoint ck;
    open_all(&s, &in, "");
    assert_ok(sq_checkpoint_open(&ck, MODEL, NULL));
    const size_t distinct = n_distinct(&s);
    assert_int_equal(distinct, 5 - sq_is_without("sp24") - sq_is_without("spqt"));
    assert_int_equal(s.n_points, 8 * distinct);
    for (size_t i = 0; i < s.n_points; i++) {
        struct sq_sweep_point p;
        sq_sweep_grid_point(&s, i, &p);
        const struct sq_sweep_result r = compute(in, &p);
        assert_true(r.cycles > 0 && r.stored_nbits > 0 && r.weight_noise > 0);
        if (i <= 2 * distinct && i % 2 == 0) // each with the first m, one with the second as well
            check_errors(&ck, &p, &r);
    }
    assert_int_equal(sq_sweep_inputs_encodings(in), distinct);
    sq_sweep_inputs_close(in);
    sq_checkpoint_close(&ck);
    sq_sweep_grid_free(&s);
}

// ---- threads and losses -----------------------------------------------------------------------

struct worker {
    const struct sq_sweep_inputs *in;
    const struct sq_sweep_grid *s;
    size_t first;
    double loss[16];
};

// The first points of two encodings, each thread beginning elsewhere.
static void *work(void *context)
{
    struct worker *w = context;
    for (size_t i = 0; i < 4; i++) {
        struct sq_sweep_point p;
        const size_t at = (w->first + i) % 4;
        sq_sweep_grid_point(w->s, at, &p);
        w->loss[at] = compute(w->in, &p).loss;
    }
    return NULL;
}

SQ_TEST(test_losses_in_threads)
{
    struct sq_sweep_grid s;
    struct sq_sweep_inputs *in;
    struct sq_checkpoint ck;
    struct sq_tokens calib, tokens;
    pthread_t thread[4];
    struct worker w[4];
    open_all(&s, &in, "loss,");
    for (size_t i = 0; i < 4; i++) {
        w[i] = (struct worker){.in = in, .s = &s, .first = i};
        assert_int_equal(pthread_create(&thread[i], NULL, work, &w[i]), 0);
    }
    for (size_t i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(sq_sweep_inputs_encodings(in), 2); // sq_w, dense: two sizes of core each
    assert_ok(sq_checkpoint_open(&ck, MODEL, NULL));
    assert_ok(sq_tokens_read(&calib, MODEL "/tokens_calib.safetensors", ck.config.vocab_size,
                             ck.config.max_position, NULL));
    assert_ok(sq_tokens_read(&tokens, MODEL "/tokens_eval.safetensors", ck.config.vocab_size,
                             ck.config.max_position, NULL));
    for (size_t i = 0; i < 4; i += 2) {
        struct sq_sweep_point p;
        struct sq_eval_result result;
        sq_sweep_grid_point(&s, i, &p);
        assert_ok(sq_eval(&ck, &calib, &tokens, &p.recipe, NULL, NULL, &result, NULL));
        for (size_t t = 0; t < 4; t++)
            assert_true(w[t].loss[i] == result.loss && w[t].loss[i + 1] == result.loss);
    }
    sq_tokens_free(&tokens);
    sq_tokens_free(&calib);
    sq_checkpoint_close(&ck);
    sq_sweep_inputs_close(in);
    sq_sweep_grid_free(&s);
}

// More tokens than the file has.
SQ_TEST(test_failure)
{
    struct sq_sweep_grid s;
    struct sq_sweep_inputs *in;
    struct sq_sweep_point p;
    struct sq_sweep_result r;
    struct sq_error err;
    static const char text[] = "name: v\naxes:\n  m: [1000000]\n  rows: [8, 16]\n"
                               "measures: [relative_error]\n";
    const struct sq_sweep_options o = {.home = "."};
    assert_ok(sq_sweep_grid_parse(&s, text, strlen(text), "test", ".", NULL));
    assert_ok(sq_sweep_inputs_open(&in, &s, &o, NULL));
    for (size_t i = 0; i < 2; i++) {
        sq_sweep_grid_point(&s, i, &p);
        assert_int_equal(sq_sweep_compute(in, &p, &r, &err), SQ_ERR_RANGE);
        assert_non_null(strstr(err.text, "--m = 1000000"));
    }
    sq_sweep_inputs_close(in);
    sq_sweep_grid_free(&s);
}

// A result of numbers that are all different, on a core of unequal sides.
SQ_TEST(every_measure_is_its_formula)
{
    static const char text[] = "name: v\naxes: {format: [sq_w]}\nmeasures: [cycles]\n";
    struct sq_sweep_grid s;
    struct sq_sweep_point p;
    // clang-format off
    struct sq_sweep_result r = {
        .macs = 3e6, .weights = 7e4, .stored_nbits = 3.1e5, .low_slots = 1100, .low_macs = 130, .high_slots = 1700, .high_macs = 190,
        .cycles = 2300, .bound = 2900, .clock_hz = 3.1e8, .memory = 37, .index = 41, .nbytes = 43000, .tokens = 73, .pass_s = 79, .first_s = 83,
        .joules = {89, 97}, .weight_signal = 10100, .weight_noise = 103, .output_signal = 10700, .output_noise = 109, .pe_area_um2 = 113,
        .pe_critical_path_ns = 127, .gather_area_um2 = 131, .gather_critical_path_ns = 137, .pe_fj_per_mac = {139, 149}, .loss = 151,
        .perplexity = 157, .kl = 163, .kl_95 = {167, 173}, .pe = {.low_lanes = 47, .high_lanes = 53, .area_um2 = 59},
        .silicon = {.pe_mm2 = 61, .mm2 = 67, .period_ns = 7}};
    const struct {
        const char *name;
        double want;
    } of[] = {
        {"relative_error", sqrt(109. / 10700)}, {"output_sqnr_db", 10 * log10(10700. / 109)}, {"weight_sqnr_db", 10 * log10(10100. / 103)},
        {"loss", 151}, {"perplexity", 157}, {"kl", 163}, {"kl_low", 167}, {"kl_high", 173}, {"stored_bits", 3.1e5 / 7e4}, {"cycles", 2300},
        {"bound_cycles", 2900}, {"macs", 3e6}, {"netlist_ghz", 1. / 7}, {"time_ms", 2300 / 3.1e5}, {"dram_bytes", 43000}, {"memory_cycles", 37},
        {"index_cycles", 41}, {"format_low_lanes", 47}, {"format_high_lanes", 53}, {"format_area_um2", 59}, {"array_area_um2", 61e6},
        {"area_mm2", 67}, {"tokens_per_second", 73. / 79}, {"ttft_ms", 83000}, {"energy_per_token", 97. / 73}, {"energy_per_token_low", 89. / 73},
        {"utilisation_low", 130. / 1100}, {"utilisation_high", 190. / 1700}, {"pe_area_um2", 113}, {"pe_critical_path_ns", 127},
        {"pe_fj_per_mac", 139}, {"pe_fj_per_mac_delays", 149}, {"gather_area_um2", 131}, {"gather_critical_path_ns", 137},
        {"macs_per_cycle_mm2", 3e6 / 2300 / (113e-6 * 3 * 5)}};
    // clang-format on
    assert_ok(sq_sweep_grid_parse(&s, text, strlen(text), "test", ".", NULL));
    sq_sweep_grid_point(&s, 0, &p);
    p.config.rows = 3;
    p.config.cols = 5;
    for (unsigned i = 0; i < SQ_N_UNIT_CAUSES; i++) {
        r.low[i] = 1000 + i;
        r.high[i] = 2000 + i;
    }
    for (size_t i = 0; i < sq_n_measures; i++) {
        const char *const name = sq_measures[i].name, *const cause = strchr(name, '_');
        double want = NAN;
        for (size_t j = 0; j < sizeof of / sizeof of[0]; j++)
            want = strcmp(of[j].name, name) == 0 ? of[j].want : want;
        for (unsigned c = 0; isnan(want) && c < SQ_N_UNIT_CAUSES; c++)
            if (cause && strcmp(cause + 1, sq_cause_name((enum sq_cause)c)) == 0)
                want = (*name == 'h' ? 2000 : 1000) + c;
        const double got = sq_measure_of(&sq_measures[i], &p, &r);
        if (!(fabs(got - want) <= 1e-12 * want))
            fail_msg("%s = %.12g, want %.12g", name, got, want);
    }
    // Bits that were counted stand before those of shapes, where the weights of a format decide.
    p.recipe.format = sq_format_find("spqr");
    p.workload = NULL;
    r.evaluated_bits = 179;
    for (size_t i = 0; i < sq_n_measures; i++)
        if (strcmp(sq_measures[i].name, "stored_bits") == 0)
            assert_true(sq_measure_of(&sq_measures[i], &p, &r) == 179);
    sq_sweep_grid_free(&s);
}
