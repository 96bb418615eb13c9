// SPDX-License-Identifier: Apache-2.0
// Writes a small layer in every format, then decodes and multiplies what a fuzzer made of it
// (encoded.h).
#include "tests/fuzz/encoded.h"

#include "models/core/sq_mac.h"
#include "models/quant/sq_codes_alloc.h"
#include "models/scaled/sq_element.h"
#include "models/sq_rng.h"
#include "sim/format/core/sq_grid_recipe.h"
#include "sim/format/file/sq_weight_file.h"
#include "sim/format/scaled/sq_bs_recipe.h"
#include "sim/format/sq_quantize.h"

// Small, and padded in every format.
enum { N = 3, K = 24, TOKENS = 32, SMALL = 1 << 14 };

// ---- templates ------------------------------------------------------------------------------

static float normal(struct sq_rng *r)
{
    double s = -6;
    for (unsigned i = 0; i < 12; i++)
        s += sq_rng_unit(r);
    return (float)s;
}

static void write_sq_w(const char *path, const struct sq_format *f, const float *w)
{
    struct sq_operand o;
    struct sq_operand_file_writer writer;
    struct sq_error err;
    const struct sq_operand_file_info info = {*f, "golden", "synthetic", 1};
    const struct sq_operand_file_item item = {.name = "a", .n = N, .k_orig = K};
    FUZZ_CHECK(sq_operand_alloc(&o, f, N, K, &err) == SQ_OK);
    FUZZ_CHECK(sq_encode_rtn(w, &o.m, &err) == SQ_OK);
    FUZZ_CHECK(sq_operand_file_begin(&writer, path, &info, &item, 1, &err) == SQ_OK);
    FUZZ_CHECK(sq_operand_file_put(&writer, 0, &o, &err) == SQ_OK);
    FUZZ_CHECK(sq_operand_file_commit(&writer, &err) == SQ_OK);
    sq_operand_free(&o);
}

static void write_layer(const char *path, const struct sq_recipe *r, const float *w, const float *x)
{
    struct sq_calibration c;
    struct sq_factor f;
    struct sq_quant_layer q;
    struct sq_error err;
    FUZZ_CHECK(sq_calibration_init(&c, K, true, &err) == SQ_OK);
    FUZZ_CHECK(sq_calibration_add(&c, x, TOKENS, &err) == SQ_OK);
    FUZZ_CHECK(sq_factor_init(&f, &c, NULL, 0.01, &err) == SQ_OK);
    float sigma[K];
    for (size_t i = 0; i < K; i++)
        sigma[i] = 0.5f + (float)(i % 4);
    const struct sq_quant_input in = {.calibration = &c,
                                      .sigma = r->is_smooth ? sigma : NULL,
                                      .factor = &f,
                                      .sample = x,
                                      .n_sample = TOKENS};
    const enum sq_status status = sq_quant_layer_init(&q, r, w, N, K, &in, &err);
    if (status != SQ_OK)
        fprintf(stderr, "%s\n", err.text);
    FUZZ_CHECK(status == SQ_OK);
    const struct sq_weight_item item = {.name = "l", .n = N, .k_orig = K, .layer = &q};
    FUZZ_CHECK(sq_weight_file_write(path, r, "synthetic", &item, 1, &err) == SQ_OK);
    sq_quant_layer_free(&q);
    sq_factor_free(&f);
    sq_calibration_free(&c);
}

static void set(struct sq_recipe *r, const char *format, const char *option, double value)
{
    if (strcmp(r->format->name, format) == 0)
        sq_option_put(sq_option_find(r->format, SQ_IN_QUANTIZE, option), value, r);
}

static void write_template(unsigned i, const char *path)
{
    static const struct sq_format formats[] = {
        {8, 4, 16, 4, 32}, {8, 4, 8, 2, 0}, {4, 2, 32, 8, 32}};
    static const struct {
        const char *format;
        struct sq_bs_recipe bs;
        unsigned operand;
        struct sq_grid weight, act; // of formats on a grid
        unsigned group;
        enum sq_select select;
        bool is_smooth;
    } system[ENCODED_TEMPLATES - ENCODED_SQ_W] = {
        {.format = "sp24"},
        {.format = "gqsa"},
        {.format = "spqt"},
        {.format = "spqr"},
        {.format = "spqr"},
        {.format = "mxfp4"},
        {.format = "mxfp8", .bs = {.element = SQ_ELEMENT_E5M2, .rotation = 2}},
        {.format = "mxplus"},
        {.format = "nvfp4", .bs = {.act_scale = 1}},
        {.format = "nvint5", .operand = SQ_OPERAND_WEIGHTS},
        {.format = "sq_b"},
        {.format = "sq_b", .bs = {.element = 1, .is_high_block = 1, .act_scale = 1}},
        {.format = "sq_b", .bs = {.is_split = 1}},
        {.format = "dense", .weight = {SQ_GRID_DENSE, 0, 4}, .group = 32},
        {.format = "dense", .weight = {SQ_GRID_DENSE, 0, 3}},
        {.format = "dense", .weight = {SQ_GRID_DENSE, 0, 8}, .is_smooth = true},
        {.format = "dense", .weight = {SQ_GRID_DENSE, 0, 5}, .operand = SQ_OPERAND_WEIGHTS},
        {.format = "sq_w", .weight = {SQ_GRID_TIED, 8, 4}, .group = 32},
        {.format = "sq_w", .weight = {SQ_GRID_SPLIT, 8, 4}},
        {.format = "sq_w", .weight = {SQ_GRID_SPLIT, 8, 3}, .group = 32, .is_smooth = true},
        {.format = "sq_w", .weight = {SQ_GRID_FP, 8, 4}, .act = {SQ_GRID_FP8, 0, 8}},
        {.format = "sq_w", .weight = {SQ_GRID_OWN, 8, 4}, .group = 32, .is_smooth = true},
        {.format = "sq_w", .weight = {SQ_GRID_OWN, 4, 2}, .operand = SQ_OPERAND_WEIGHTS},
        {.format = "sq_a_static", .act = {SQ_GRID_OWN, 8, 4}},
        {.format = "sq_a_static", .act = {SQ_GRID_SPLIT, 8, 4}, .is_smooth = true},
        {.format = "sq_a_dynamic", .act = {SQ_GRID_OWN, 8, 4}, .select = SQ_SELECT_DYNAMIC_FP},
        {.format = "sq_a_dynamic", .act = {SQ_GRID_SPLIT, 12, 4}, .select = SQ_SELECT_DYNAMIC_FP},
        {.format = "sq_a_dynamic", .act = {SQ_GRID_SHIFT, 8, 4}, .select = SQ_SELECT_DYNAMIC_INT8},
        {.format = "nvfp4", .is_smooth = true},
    };
    struct sq_rng rng = {i + 1};
    float w[N * K], x[TOKENS * K];
    for (size_t j = 0; j < N * K; j++)
        w[j] = normal(&rng);
    for (size_t j = 0; j < TOKENS * K; j++)
        x[j] = normal(&rng);
    if (i < ENCODED_SQ_W) {
        write_sq_w(path, &formats[i], w);
        return;
    }
    struct sq_recipe r = sq_recipe_of(sq_format_find(system[i - ENCODED_SQ_W].format));
    r.operand = system[i - ENCODED_SQ_W].operand;
    r.bank = 32;
    r.high_per_bank = 2;
    r.group = 16;
    set(&r, "gqsa", "sparsity", 0.5);
    set(&r, "spqt", "sparsity", 0.5);
    set(&r, "spqr", "outlier-layout", i == 7);
    if (r.format->values == sq_format_mxfp4.values)
        *sq_bs_set(&r) = system[i - ENCODED_SQ_W].bs;
    if (r.format->file->load == sq_format_dense.file->load) {
        struct sq_grid *weight = &sq_grid_set(&r)->weight;
        *weight = system[i - ENCODED_SQ_W].weight;
        weight->low_bits = weight->low_bits ? weight->low_bits : 4;
        r.act = system[i - ENCODED_SQ_W].act;
        r.act.low_bits = r.act.low_bits ? r.act.low_bits : 8;
        r.bank = r.format == &sq_format_dense ? 0 : 8;
        r.high_per_bank = r.bank / 4;
        r.group = system[i - ENCODED_SQ_W].group;
        sq_grid_set(&r)->select = system[i - ENCODED_SQ_W].select;
    }
    r.is_smooth = system[i - ENCODED_SQ_W].is_smooth;
    write_layer(path, &r, w, x);
}

const uint8_t *encoded_template(unsigned i, size_t *n)
{
    char path[32];
    snprintf(path, sizeof path, "mem/template-%u", i);
    if (!fuzz_written(path, n))
        write_template(i, path);
    return fuzz_written(path, n);
}

// ---- use ------------------------------------------------------------------------------------

static void multiply(const struct sq_matrix *m)
{
    const size_t n_p = m->n * sq_n_groups(&m->format, m->k);
    int8_t *act = malloc(m->k);
    float *y = malloc(m->n * sizeof *y), s_a = 0.5f;
    int32_t *p = malloc(2 * n_p * sizeof *p);
    void *scratch = aligned_alloc(64, (sq_gemm_scratch_nbytes(m) + 63) / 64 * 64);
    FUZZ_CHECK(act && y && p && scratch);
    for (size_t i = 0; i < m->k; i++)
        act[i] = (int8_t)(i % 2 ? 127 : -127);
    sq_gemm_sq_w(m, act, &s_a, 1, 0, m->n, y, p, p + n_p, scratch);
    fuzz_sink += (uint64_t)p[0];
    free(act), free(y), free(p), free(scratch);
}

static void decode(const struct sq_matrix *m)
{
    float *w = malloc(m->k_orig * sizeof *w);
    int8_t *lo = malloc(2 * m->k);
    uint8_t *mask = malloc(m->k);
    FUZZ_CHECK(w && lo && mask);
    for (size_t row = 0; row < m->n; row++) {
        sq_decode_row(m, row, w);
        sq_row_planes(m, row, lo, lo + m->k, mask);
        for (size_t bank = 0; bank < m->k; bank += m->format.bank) {
            unsigned n_high = 0;
            for (size_t i = bank; i < bank + m->format.bank; i++)
                n_high += mask[i] != 0;
            FUZZ_CHECK(n_high == m->format.high_per_bank);
        }
    }
    free(w), free(lo), free(mask);
}

static void rewrite_operand(const struct sq_operand *o)
{
    struct sq_operand_file_writer w;
    struct sq_operand_file t;
    struct sq_operand again;
    struct sq_error err;
    const struct sq_operand_file_info info = {o->m.format, "golden", "synthetic", 1};
    const struct sq_operand_file_item item = {.name = "", .n = o->m.n, .k_orig = o->m.k_orig};
    FUZZ_CHECK(sq_operand_file_begin(&w, "mem/copy", &info, &item, 1, &err) == SQ_OK);
    FUZZ_CHECK(sq_operand_file_put(&w, 0, o, &err) == SQ_OK &&
               sq_operand_file_commit(&w, &err) == SQ_OK);
    FUZZ_CHECK(sq_operand_file_open(&t, "mem/copy", &err) == SQ_OK);
    FUZZ_CHECK(sq_operand_file_load(&t, 0, &again, &err) == SQ_OK);
    FUZZ_CHECK(memcmp(again.m.lo, o->m.lo, o->lo_nbytes) == 0);
    FUZZ_CHECK(memcmp(again.m.hi, o->m.hi, o->hi_nbytes) == 0);
    FUZZ_CHECK(memcmp(again.m.s_lo, o->m.s_lo, o->n_scales * sizeof(float)) == 0);
    sq_operand_free(&again);
    sq_operand_file_close(&t);
}

static void use_operands(const struct sq_operand_file *t, bool rewrite)
{
    struct sq_error err;
    for (size_t i = 0; i < t->n_operands; i++) {
        struct sq_operand o;
        if (!fuzz_ok(sq_operand_file_load(t, i, &o, &err), &err))
            continue;
        decode(&o.m);
        multiply(&o.m);
        if (rewrite)
            rewrite_operand(&o);
        sq_operand_free(&o);
    }
}

static void use_layer(const struct sq_weight_file *f, const struct sq_weight_entry *e,
                      const struct sq_quant_layer *q, bool rewrite)
{
    struct sq_error err;
    struct sq_figure figure[SQ_FIGURES_MAX];
    float *x = malloc(e->k_orig * sizeof *x), *y = malloc(e->n * sizeof *y);
    FUZZ_CHECK(x && y);
    for (size_t row = 0; row < e->n; row++)
        q->format->values->decode_row(q->state, row, x);
    for (size_t i = 0; i < e->k_orig; i++)
        x[i] = i % 3 ? 1.5f : -2.0f;
    fuzz_ok(sq_quant_layer_apply(q, &f->recipe, x, 1, y, &err), &err);
    FUZZ_CHECK(sq_quant_layer_nbits(q) > 0);
    fuzz_sink += q->format->values->figures ? q->format->values->figures(q->state, figure) : 0;
    free(x), free(y);
    if (!rewrite)
        return;
    const struct sq_weight_item item = {.name = "l", .n = e->n, .k_orig = e->k_orig, .layer = q};
    const enum sq_status status =
        sq_weight_file_write("mem/copy", &f->recipe, "synthetic", &item, 1, &err);
    FUZZ_CHECK(status == SQ_OK);
    struct sq_weight_file again;
    struct sq_quant_layer copy;
    FUZZ_CHECK(sq_weight_file_open(&again, "mem/copy", &err) == SQ_OK);
    FUZZ_CHECK(sq_weight_file_load(&again, 0, &copy, &err) == SQ_OK);
    sq_quant_layer_free(&copy);
    sq_weight_file_close(&again);
}

static void use_layers(const struct sq_weight_file *f, bool rewrite)
{
    struct sq_error err;
    for (size_t i = 0; i < f->n_layers; i++) {
        struct sq_quant_layer q;
        if (f->layer[i].n > SMALL || f->layer[i].k > SMALL)
            continue;
        if (!fuzz_ok(sq_weight_file_load(f, i, &q, &err), &err))
            continue;
        use_layer(f, &f->layer[i], &q, rewrite);
        sq_quant_layer_free(&q);
    }
}

void encoded_use(const char *path, bool is_sq_w, bool rewrite)
{
    struct sq_operand_file t;
    struct sq_weight_file f;
    struct sq_error err;
    const enum sq_status status =
        is_sq_w ? sq_operand_file_open(&t, path, &err) : sq_weight_file_open(&f, path, &err);
    fuzz_ok(status, &err);
    if (status == SQ_OK && is_sq_w) {
        use_operands(&t, rewrite);
        sq_operand_file_close(&t);
    } else if (status == SQ_OK) {
        use_layers(&f, rewrite);
        sq_weight_file_close(&f);
    }
}

void encoded_use_altered(unsigned i, struct fuzz_reader *list)
{
    static struct {
        struct sq_operand_file trace;
        struct sq_weight_file file;
        uint8_t *data, *original; // data: of the mapping that the open file has
        size_t n;
    } all[ENCODED_TEMPLATES], *t;
    t = &all[i];
    if (!t->data) {
        char path[32];
        struct sq_error err;
        size_t n;
        snprintf(path, sizeof path, "mem/template-%u", i);
        FUZZ_CHECK(encoded_template(i, &n));
        const bool is_trace = sq_operand_file_open(&t->trace, path, &err) == SQ_OK;
        FUZZ_CHECK(is_trace || sq_weight_file_open(&t->file, path, &err) == SQ_OK);
        const struct sq_safetensors *st = is_trace ? &t->trace.file : &t->file.st;
        t->data = (uint8_t *)(uintptr_t)st->buffer;
        t->n = st->map.nbytes - (size_t)(st->buffer - st->map.data);
        t->original = malloc(t->n);
        FUZZ_CHECK(t->original);
        memcpy(t->original, t->data, t->n);
    }
    memcpy(t->data, t->original, t->n);
    fuzz_alter(t->data, t->n, list);
    use_operands(&t->trace, false);
    use_layers(&t->file, false);
}
