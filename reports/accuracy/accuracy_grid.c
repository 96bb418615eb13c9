// SPDX-License-Identifier: Apache-2.0
// The accuracy grid behind reports/accuracy: one CSV line per recipe on stdout, progress on stderr.
//
//   accuracy_grid MODEL_DIR [SEQUENCES]   loss of a model; calibration is done once for all recipes
//   accuracy_grid --profile FILE          relative output error of synthetic layers whose inputs
//                                         have the per-channel maxima stored in FILE (act_scales)
//
// Columns:
// family,format,variant,high,low,bank,sparsity,weight_bits,act_bits,algorithm,score,smooth,
// bits,value,seconds. `bits` is of the sparse-quantized operand (SPEC A.5: masks of activations are
// not counted, that of split weights is), of the weights where both are dense. `value` is
// nats per token, or the root mean square over the layers of |XW' - Y| / |XW'|.
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sq_blas.h"
#include "sq_eval.h"
#include "sq_rng.h"
#include "sq_smooth.h"

static void die(const struct sq_error *err)
{
    fprintf(stderr, "accuracy_grid: %s\n", err->text);
    exit(2);
}

static void *need(void *p)
{
    if (!p) {
        fprintf(stderr, "accuracy_grid: out of memory\n");
        exit(2);
    }
    return p;
}

// ---- what a recipe is measured on -------------------------------------------------------------

// A synthetic layer: calibration statistics, weights, evaluation inputs and their exact product.
struct layer {
    size_t n, k, m;
    float *w, *x;
    double *y;
    struct sq_calibration calibration;
};

struct subject {
    bool is_model;
    struct sq_checkpoint ck;
    struct sq_tokens calib, eval;
    struct sq_calibration (*calibration)[SQ_BLOCK_INPUTS]; // [blocks]
    size_t n_layers;
    struct layer *layer;
};

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
            sq_eval_block(&l, b, r, layer, NULL, NULL, err) != SQ_OK)
            die(err);
        for (size_t i = 0; i < SQ_BLOCK_LAYERS; i++)
            sq_quant_layer_free(&layer[i]);
    }
    if (sq_llama_nll(&l, &nll, err) != SQ_OK)
        die(err);
    sq_llama_free(&l);
    return nll / (double)sq_tokens_predicted(&s->eval);
}

static double layer_error(const struct layer *l, const struct sq_recipe *r, struct sq_error *err)
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
    if (r->is_gptq && sq_factor_init(&factor, &l->calibration, used, r->percdamp, err) != SQ_OK)
        die(err);
    const struct sq_quant_input in = {&l->calibration, used, &factor};
    if (sq_quant_layer_init(&q, r, w, l->n, l->k, &in, err) != SQ_OK ||
        sq_quant_layer_apply(&q, r, l->x, l->m, y, err) != SQ_OK)
        die(err);
    for (size_t i = 0; i < l->m * l->n; i++) {
        signal += l->y[i] * l->y[i];
        noise += (l->y[i] - (double)y[i]) * (l->y[i] - (double)y[i]);
    }
    sq_quant_layer_free(&q);
    sq_factor_free(&factor);
    free(w), free(y), free(wx);
    return noise / signal;
}

static double measure(const struct subject *s, const struct sq_recipe *r)
{
    struct sq_error err;
    double sum = 0;
    if (r && sq_recipe_check(r, &err) != SQ_OK)
        die(&err);
    if (s->is_model)
        return model_loss(s, r, &err);
    for (size_t i = 0; i < s->n_layers; i++)
        sum += layer_error(&s->layer[i], r, &err);
    return sqrt(sum / (double)s->n_layers);
}

// ---- one line ---------------------------------------------------------------------------------

static unsigned n_lines;

static double operand_bits(const struct sq_recipe *r, const struct sq_grid *g, bool is_act)
{
    const double high = (double)r->high_per_bank / r->bank; // share of high elements
    if (!sq_grid_is_mixed(g))
        return g->low_bits;
    if (g->kind == SQ_GRID_SPLIT)
        return g->low_bits + high * (g->high_bits - g->low_bits) + !is_act;
    return (is_act ? 1 - high : 1) * g->low_bits + high * g->high_bits;
}

static void line(const struct subject *s, const char *family, const struct sq_recipe *r)
{
    static const char *const score[] = {"c0", "c1", "c2", "c3"};
    static const char *const select[] = {"static", "dynamic", "dynamic_int8"};
    const bool is_act = !r->is_act_f16 && sq_grid_is_mixed(&r->act);
    const struct sq_grid *g = is_act ? &r->act : &r->weight;
    const bool is_mixed = sq_grid_is_mixed(g);
    const double start = omp_get_wtime(), value = measure(s, r);
    printf("%s,%s%s,%s,%u,%u,%u,%g,%u,%u,%s,", family,
           is_act     ? "sq_a_"
           : is_mixed ? "sq_w"
                      : "dense",
           is_act ? select[r->select] : "", sq_grid_name(g->kind), is_mixed ? g->high_bits : 0,
           g->low_bits, is_mixed ? r->bank : 0,
           is_mixed ? 1 - (double)r->high_per_bank / r->bank : 0, r->weight.low_bits,
           r->is_act_f16 ? 16 : r->act.low_bits, r->is_gptq ? "gptq" : "rtn");
    printf("%s%s,%g,%g,%.6f,%.2f\n", r->is_mask_by_act ? "act" : score[r->gptq.score],
           r->gptq.is_lazy ? "_lazy" : "", r->is_smooth ? r->alpha : -1, operand_bits(r, g, is_act),
           value, omp_get_wtime() - start);
    fflush(stdout);
    fprintf(stderr, "\r%u recipes", ++n_lines);
}

// ---- families ---------------------------------------------------------------------------------

static const struct sq_grid pairs[] = {
    {SQ_GRID_OWN, 8, 4}, {SQ_GRID_OWN, 8, 3}, {SQ_GRID_OWN, 8, 2}, {SQ_GRID_OWN, 4, 2}};
static const double sparsities[] = {.5, .75, .875, .9375};

// Calls fn with every legal bank and sparsity set in a copy of *r.
typedef void family_fn(const struct subject *s, struct sq_recipe *r);
static void for_banks(const struct subject *s, const struct sq_recipe *r, double only,
                      family_fn *fn)
{
    for (unsigned bank = 4; bank <= 128; bank *= 2)
        for (size_t i = 0; i < 4; i++) {
            struct sq_recipe copy = *r;
            copy.bank = bank;
            if ((only > 0 && sparsities[i] != only) ||
                sq_format_high_per_bank(bank, sparsities[i], &copy.high_per_bank, NULL) != SQ_OK)
                continue;
            fn(s, &copy);
        }
}

static void grid_line(const struct subject *s, struct sq_recipe *r)
{
    line(s, "grid", r);
}

static struct sq_recipe weights(struct sq_grid grid, unsigned act_bits)
{
    struct sq_recipe r = sq_recipe_default();
    r.weight = grid;
    r.act.low_bits = act_bits;
    return r;
}

static struct sq_recipe activations(struct sq_grid grid, enum sq_select select)
{
    struct sq_recipe r = sq_recipe_default();
    r.act = grid;
    r.select = select;
    return r;
}

static void baselines(const struct subject *s)
{
    static const unsigned bits[][2] = {{8, 8}, {6, 8}, {5, 8}, {4, 8}, {4, 16}, {6, 6},
                                       {4, 6}, {4, 5}, {6, 4}, {5, 4}, {4, 4},  {8, 4}};
    for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++)
        for (unsigned smooth = 0; smooth < 2; smooth++)
            for (unsigned gptq = 0; gptq < 2; gptq++) {
                struct sq_recipe r =
                    weights((struct sq_grid){SQ_GRID_DENSE, 0, bits[i][0]}, bits[i][1]);
                r.is_act_f16 = bits[i][1] == 16;
                r.is_gptq = gptq;
                r.is_smooth = smooth;
                line(s, "baseline", &r);
            }
}

static void smooth_and_rtn(const struct subject *s, struct sq_recipe *r)
{
    r->is_gptq = false;
    line(s, "rtn", r);
    r->is_gptq = true;
    r->is_smooth = true;
    line(s, "smooth", r);
}

static void scores(const struct subject *s, struct sq_recipe *r)
{
    for (unsigned score = 1; score < SQ_SCORES; score++) { // C0 is in the grid
        r->gptq.score = (enum sq_score)score;
        line(s, "score", r);
    }
    r->gptq.score = SQ_SCORE_C0;
    r->gptq.is_lazy = true;
    line(s, "score", r);
}

static void mask_scores(const struct subject *s, struct sq_recipe *r)
{
    r->select = SQ_SELECT_STATIC;
    r->is_mask_by_act = true;
    line(s, "mask", r);
    r->select = SQ_SELECT_DYNAMIC_INT8;
    r->is_mask_by_act = false;
    line(s, "mask", r);
}

static void variants(const struct subject *s)
{
    static const enum sq_grid_kind kind[] = {SQ_GRID_TIED, SQ_GRID_SPLIT};
    for (size_t i = 0; i < 2; i++) {
        const struct sq_grid g = {kind[i], 8, 4};
        for (unsigned act = 4; act <= 8; act += 4) {
            const struct sq_recipe r = weights(g, act);
            for_banks(s, &r, .75, grid_line);
        }
        for (unsigned dynamic = 0; dynamic < 2; dynamic++) {
            const struct sq_recipe r =
                activations(g, dynamic ? SQ_SELECT_DYNAMIC_FP : SQ_SELECT_STATIC);
            for_banks(s, &r, .75, grid_line);
        }
    }
    struct sq_recipe fp = weights((struct sq_grid){SQ_GRID_FP, 8, 4}, 8);
    fp.act = (struct sq_grid){SQ_GRID_FP8, 0, 8};
    for_banks(s, &fp, .875, grid_line);
}

static void run(const struct subject *s)
{
    printf("family,format,variant,high,low,bank,sparsity,weight_bits,act_bits,algorithm,score,"
           "smooth,bits,value,seconds\n");
    if (s->is_model)
        printf("reference,dense,none,0,0,0,0,32,32,none,none,-1,32,%.6f,0\n", measure(s, NULL));
    baselines(s);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        for (unsigned act = 4; act <= 8; act += 4) {
            const struct sq_recipe w = weights(pairs[i], act);
            const struct sq_recipe a =
                activations(pairs[i], act == 4 ? SQ_SELECT_STATIC : SQ_SELECT_DYNAMIC_FP);
            for_banks(s, &a, 0, grid_line);
            if (act == 4 || i == 0) // W(SQ)A8 for the default pair only
                for_banks(s, &w, 0, grid_line);
            if (i > 0)
                continue;
            for_banks(s, &w, .75, smooth_and_rtn);
            for_banks(s, &a, .75, smooth_and_rtn);
        }
    const struct sq_recipe w = weights(pairs[0], 4), a = activations(pairs[0], SQ_SELECT_STATIC);
    for_banks(s, &w, .75, scores);
    for_banks(s, &a, .75, mask_scores);
    variants(s);
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
    enum { N = 256, CALIBRATION = 4096, EVALUATION = 512 };
    struct sq_error err;
    *l = (struct layer){.n = N, .k = t->n_elements, .m = EVALUATION};
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
    free(calib);
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
            fprintf(stderr, "accuracy_grid: '%s' holds no %s\n", path, name);
            exit(2);
        }
        make_layer(&s->layer[i], t, &r);
    }
    sq_safetensors_close(&st);
}

int main(int argc, char **argv)
{
    struct subject s = {0};
    if (argc == 3 && strcmp(argv[1], "--profile") == 0) {
        load_profile(&s, argv[2]);
    } else if (argc == 2 || argc == 3) {
        load_model(&s, argv[1], argc == 3 ? strtoul(argv[2], NULL, 10) : 0);
    } else {
        fprintf(stderr, "usage: accuracy_grid MODEL_DIR [SEQUENCES] | --profile FILE\n");
        return 2;
    }
    const double start = omp_get_wtime();
    run(&s);
    fprintf(stderr, "\r%u recipes in %.0f s\n", n_lines, omp_get_wtime() - start);
    return 0;
}
