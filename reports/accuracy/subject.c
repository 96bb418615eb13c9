// SPDX-License-Identifier: Apache-2.0
// Loads a model or makes synthetic layers, and measures a recipe on them (subject.h).
#include "reports/accuracy/subject.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/quant/sq_blas.h"
#include "models/quant/sq_smooth.h"
#include "models/sq_rng.h"
#include "sim/format/sq_format_ops.h"

static void die(const struct sq_error *err)
{
    fprintf(stderr, "accuracy: %s\n", err->text);
    exit(2);
}

static void *need(void *p)
{
    if (!p) {
        fprintf(stderr, "accuracy: out of memory\n");
        exit(2);
    }
    return p;
}

// ---- measuring --------------------------------------------------------------------------------

static double model_loss(const struct subject *s, const struct sq_recipe *r, struct sq_error *err)
{
    struct sq_llama l;
    double nll;
    if (sq_llama_init(&l, &s->ck, &s->eval, err) != SQ_OK)
        die(err);
    for (size_t b = 0; b < s->ck.config.n_layers; b++) {
        struct sq_quant_layer layer[SQ_BLOCK_LAYERS];
        if (!r) {
            if (sq_llama_block(&l, b, NULL, NULL, err) != SQ_OK)
                die(err);
            continue;
        }
        if (sq_eval_quantize(&s->ck, b, r, s->calibration[b], layer, err) != SQ_OK ||
            sq_eval_block(&l, b, r, layer, NULL, NULL, NULL, err) != SQ_OK)
            die(err);
        for (size_t i = 0; i < SQ_BLOCK_LAYERS; i++)
            sq_quant_layer_free(&layer[i]);
    }
    if (sq_llama_nll(&l, &nll, err) != SQ_OK)
        die(err);
    sq_llama_free(&l);
    return nll / (double)sq_tokens_predicted(&s->eval);
}

static double layer_error(const struct layer *l, const struct sq_recipe *r, double *nbits,
                          struct sq_error *err)
{
    float *w = need(malloc(l->n * l->k * sizeof *w)), *y = need(malloc(l->m * l->n * sizeof *y));
    float *wx = need(calloc(2 * l->k, sizeof *wx)), *sigma = wx + l->k;
    struct sq_factor factor = {0};
    struct sq_quant_layer q;
    double signal = 0, noise = 0;
    memcpy(w, l->w, l->n * l->k * sizeof *w);
    sq_smooth_weights(w, l->n, l->k, wx);
    sq_smooth_sigma(l->calibration.abs_max, wx, l->k, r->alpha, sigma);
    const float *used = r->is_smooth ? sigma : NULL;
    const bool has_factor = (sq_recipe_needs(r) & SQ_NEED_FACTOR) == SQ_NEED_FACTOR;
    if (has_factor && sq_factor_init(&factor, &l->calibration, used, r->percdamp, err) != SQ_OK)
        die(err);
    const struct sq_quant_input in = {.calibration = &l->calibration,
                                      .sigma = used,
                                      .factor = has_factor ? &factor : NULL,
                                      .sample = l->sample,
                                      .n_sample = l->n_sample};
    if (sq_quant_layer_init(&q, r, w, l->n, l->k, &in, err) != SQ_OK ||
        sq_quant_layer_apply(&q, r, l->x, l->m, y, err) != SQ_OK)
        die(err);
    for (size_t i = 0; i < l->m * l->n; i++) {
        signal += l->y[i] * l->y[i];
        noise += (l->y[i] - (double)y[i]) * (l->y[i] - (double)y[i]);
    }
    *nbits += sq_quant_layer_nbits(&q);
    sq_quant_layer_free(&q);
    sq_factor_free(&factor);
    free(w), free(y), free(wx);
    return noise / signal;
}

static double profile_error(const struct subject *s, const struct sq_recipe *r, double *stored_bits,
                            struct sq_error *err)
{
    double sum = 0, nbits = 0, weights = 0;
    for (size_t i = 0; i < s->n_layers; i++) {
        sum += layer_error(&s->layer[i], r, &nbits, err);
        weights += (double)s->layer[i].n * (double)s->layer[i].k;
    }
    *stored_bits = nbits / weights;
    return sqrt(sum / (double)s->n_layers);
}

static void check(const struct sq_recipe *r, struct sq_error *err)
{
    if (r && sq_recipe_check(r, err) != SQ_OK)
        die(err);
}

double subject_measure(const struct subject *s, const struct sq_recipe *r)
{
    struct sq_error err;
    double stored;
    check(r, &err);
    return s->is_model ? model_loss(s, r, &err) : profile_error(s, r, &stored, &err);
}

double subject_measure_stored(const struct subject *s, const struct sq_recipe *r,
                              double *stored_bits)
{
    struct sq_error err;
    struct sq_eval_result result;
    check(r, &err);
    if (!s->is_model)
        return profile_error(s, r, stored_bits, &err);
    if (sq_eval(&s->ck, sq_recipe_needs_calibration(r) ? &s->calib : NULL, &s->eval, r, NULL, NULL,
                &result, &err) != SQ_OK)
        die(&err);
    *stored_bits = result.stored_bits;
    return result.loss;
}

// ---- models -----------------------------------------------------------------------------------

static void read_tokens(const char *dir, const char *name, const struct subject *s,
                        struct sq_tokens *t)
{
    char path[4096];
    struct sq_error err;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (sq_tokens_read(t, path, s->ck.config.vocab_size, s->ck.config.max_position, &err) != SQ_OK)
        die(&err);
}

static void load_model(struct subject *s, const char *dir, size_t n_sequences)
{
    struct sq_error err;
    struct sq_llama l;
    s->is_model = true;
    if (sq_checkpoint_open(&s->ck, dir, &err) != SQ_OK)
        die(&err);
    read_tokens(dir, "tokens_eval.safetensors", s, &s->eval);
    read_tokens(dir, "tokens_calib.safetensors", s, &s->calib);
    if (n_sequences && n_sequences < s->eval.n_sequences)
        s->eval.n_sequences = n_sequences;
    s->calibration = need(calloc(s->ck.config.n_layers, sizeof *s->calibration));
    if (sq_llama_init(&l, &s->ck, &s->calib, &err) != SQ_OK)
        die(&err);
    for (size_t b = 0; b < s->ck.config.n_layers; b++)
        if (sq_eval_calibrate(&l, b, true, s->calibration[b], &err) != SQ_OK)
            die(&err);
    sq_llama_free(&l);
}

// ---- synthetic layers under a real profile ----------------------------------------------------

static double gauss(struct sq_rng *r)
{
    double s = -6;
    for (unsigned i = 0; i < 12; i++)
        s += sq_rng_unit(r);
    return s;
}

// Tokens whose channel i has the standard deviation profile[i] / 4, a little correlated.
static float *random_tokens(struct sq_rng *r, const float *profile, size_t m, size_t k)
{
    float *x = need(malloc(m * k * sizeof *x));
    for (size_t t = 0; t < m; t++) {
        const double common = gauss(r);
        for (size_t i = 0; i < k; i++)
            x[t * k + i] = (float)((gauss(r) + 0.3 * common) / 4) * profile[i];
    }
    return x;
}

static void make_layer(struct layer *l, const struct sq_tensor *t, struct sq_rng *r)
{
    enum { N = 256, CALIBRATION = 4096, EVALUATION = 512, SAMPLE = 512 };
    struct sq_error err;
    *l = (struct layer){.n = N, .k = t->n_elements, .m = EVALUATION, .n_sample = SAMPLE};
    float *profile = need(malloc(l->k * sizeof *profile));
    if (sq_tensor_read_f32(t, profile, &err) != SQ_OK)
        die(&err);
    float *calib = random_tokens(r, profile, CALIBRATION, l->k);
    l->x = random_tokens(r, profile, EVALUATION, l->k);
    l->w = need(malloc(l->n * l->k * sizeof *l->w));
    for (size_t i = 0; i < l->n * l->k; i++) { // Student-t with 5 degrees of freedom
        double chi = 0;
        for (unsigned j = 0; j < 5; j++) {
            const double g = gauss(r);
            chi += g * g;
        }
        l->w[i] = (float)(0.02 * gauss(r) / sqrt(chi / 5));
    }
    l->y = need(malloc(l->m * l->n * sizeof *l->y));
    if (sq_blas_xwt_f64(l->x, l->w, l->m, l->n, l->k, l->y, &err) != SQ_OK ||
        sq_calibration_init(&l->calibration, l->k, true, &err) != SQ_OK ||
        sq_calibration_add(&l->calibration, calib, CALIBRATION, &err) != SQ_OK)
        die(&err);
    l->sample = need(realloc(calib, SAMPLE * l->k * sizeof *calib));
    free(profile);
}

static void load_profile(struct subject *s, const char *path)
{
    static const char *const names[] = {"layers.1.self_attn.q_proj", "layers.5.self_attn.q_proj",
                                        "layers.5.fc1", "layers.10.fc1"};
    struct sq_error err;
    struct sq_safetensors st;
    struct sq_rng r = {1};
    if (sq_safetensors_open(&st, path, &err) != SQ_OK)
        die(&err);
    s->n_layers = sizeof names / sizeof names[0];
    s->layer = need(calloc(s->n_layers, sizeof *s->layer));
    for (size_t i = 0; i < s->n_layers; i++) {
        char name[96];
        snprintf(name, sizeof name, "model.decoder.%s", names[i]);
        const struct sq_tensor *t = sq_safetensors_find(&st, name);
        if (!t) {
            fprintf(stderr, "accuracy: '%s' holds no %s\n", path, name);
            exit(2);
        }
        make_layer(&s->layer[i], t, &r);
    }
    sq_safetensors_close(&st);
}

void subject_load(struct subject *s, int argc, char **argv)
{
    *s = (struct subject){0};
    if (argc == 3 && strcmp(argv[1], "--profile") == 0) {
        load_profile(s, argv[2]);
    } else if (argc == 2 || argc == 3) {
        load_model(s, argv[1], argc == 3 ? strtoul(argv[2], NULL, 10) : 0);
    } else {
        fprintf(stderr, "usage: %s MODEL_DIR [SEQUENCES] | --profile FILE\n", argv[0]);
        exit(2);
    }
}
