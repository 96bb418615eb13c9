// SPDX-License-Identifier: Apache-2.0
// Stored bits have one definition (sq_recipe.h): the tensors of a layer in a file. For every format
// and 50 random sets of the options in its own table: what an encoded layer counts, what its shape
// and options alone say, what the file holds and what is read back from it are one number; so are
// the recipes that run and sweep make of the same options. Drawn at random: options, shapes,
// weights. tests/cli/stored_bits.t asks the same of the commands, on a real model.
#include <math.h>

#include "sim/format/file/sq_operand_file.h"
#include "sim/format/file/sq_weight_file.h"
#include "sim/format/sq_format_ops.h"
#include "sim/sweep/sq_sweep_grid.h"
#include "tests/unit/tmpdir.h"

enum { OPTION_SETS = 50, TRIES = 5000, TOKENS = 96 };

TMPDIR_OF_ALL(directory)

// ---- random options ---------------------------------------------------------------------------

struct words {
    struct sq_given given;
    char text[SQ_OPTIONS_MAX][32];
};

static void give(struct words *w, const char *name, const char *text)
{
    const size_t n = w->given.n++;
    assert_true(n < SQ_OPTIONS_MAX);
    snprintf(w->text[n], sizeof w->text[n], "%s", text);
    w->given.option[n].name = name;
    w->given.option[n].text = w->text[n];
}

static void random_word(const struct sq_format_option *o, struct sq_rng *r, char text[32])
{
    static const double shares[] = {0.5, 0.75, 0.875, 0.9375};
    size_t n = 0;
    while (o->choice && o->choice[n])
        n++;
    double v = o->min + sq_rng_unit(r) * (o->max - o->min);
    if (o->kind == SQ_OPTION_UINT && o->max > 32 && sq_rng_below(r, 4) > 0)
        v = 4 << sq_rng_below(r, 6); // banks, groups
    if (strcmp(o->name, "sparsity") == 0 && sq_rng_below(r, 4) > 0)
        v = shares[sq_rng_below(r, LEN(shares))];
    if (o->choice)
        snprintf(text, 32, "%s", o->choice[sq_rng_below(r, (uint32_t)n)]);
    else if (o->kind == SQ_OPTION_UINT)
        snprintf(text, 32, "%.0f", floor(v));
    else
        snprintf(text, 32, "%.4g", v);
}

static bool is_taken(const struct sq_format_ops *f, unsigned scope, const char *name)
{
    const struct sq_format_option *o = sq_option_find(f, scope, name);
    return o && o->kind != SQ_OPTION_REFUSED;
}

static void describe(const struct words *w, char text[600])
{
    int at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < w->given.n && at < 500; i++)
        at += snprintf(text + at, 600 - (size_t)at, " --%s %s", w->given.option[i].name,
                       w->given.option[i].text);
}

// ---- one layer --------------------------------------------------------------------------------

struct layer {
    size_t n, k;
    float *w, *x, *sigma;
    struct sq_calibration calibration;
};

static void make_layer(struct layer *l, struct sq_rng *r)
{
    static const size_t widths[] = {32, 64, 96, 128, 172, 256, 300};
    l->n = 1 + sq_rng_below(r, 40);
    l->k = widths[sq_rng_below(r, LEN(widths))];
    l->w = fixture_alloc(l->n * l->k * sizeof(float));
    l->x = fixture_alloc(TOKENS * l->k * sizeof(float));
    l->sigma = fixture_alloc(l->k * sizeof(float));
    for (size_t i = 0; i < l->n * l->k; i++)
        l->w[i] = (float)fixture_gauss(r);
    for (size_t i = 0; i < TOKENS * l->k; i++)
        l->x[i] = (float)fixture_gauss(r);
    for (size_t i = 0; i < l->k; i++)
        l->sigma[i] = (float)(0.5 + sq_rng_unit(r));
    assert_ok(sq_calibration_init(&l->calibration, l->k, true, NULL));
    assert_ok(sq_calibration_add(&l->calibration, l->x, TOKENS, NULL));
}

static void free_layer(struct layer *l)
{
    sq_calibration_free(&l->calibration);
}

static enum sq_status encode(const struct layer *l, const struct sq_recipe *r,
                             struct sq_quant_layer *q, struct sq_error *err)
{
    struct sq_factor factor = {0};
    struct sq_quant_input in = {.calibration = &l->calibration,
                                .sigma = r->is_smooth ? l->sigma : NULL,
                                .sample = l->x,
                                .n_sample = TOKENS};
    if ((sq_recipe_needs(r) & SQ_NEED_FACTOR) == SQ_NEED_FACTOR) {
        assert_ok(sq_factor_init(&factor, &l->calibration, in.sigma, 0.5, err));
        in.factor = &factor;
    }
    const enum sq_status status = sq_quant_layer_init(q, r, l->w, l->n, l->k, &in, err);
    sq_factor_free(&factor);
    return status;
}

// Bits of all tensors but those that follow from others.
static double bits_of_file(const struct sq_safetensors *st)
{
    double nbytes = 0;
    for (size_t i = 0; i < st->n_tensors; i++)
        if (!strstr(st->tensor[i].name, ".perm_"))
            nbytes += (double)st->tensor[i].nbytes;
    return 8 * nbytes;
}

static void check_file(const struct sq_recipe *r, const struct sq_quant_layer *q, double nbits,
                       const char *what)
{
    const char *path = tmpdir_path(directory, "layer.safetensors");
    struct sq_error err;
    struct sq_quant_layer back;
    if (sq_recipe_is_packed(r)) {
        const struct sq_operand_file_item item = {.name = "w", .n = q->n, .k_orig = q->k_orig};
        const struct sq_operand_file_info info = {sq_recipe_banks(r), "golden", "synthetic", 1};
        const struct sq_format_packed *packed = r->format->file->packed;
        struct sq_operand_file_writer writer;
        struct sq_operand_file f;
        assert_ok(sq_operand_file_begin(&writer, path, &info, &item, 1, &err));
        assert_ok(sq_operand_file_put(&writer, 0, packed->operand(q->state), &err));
        assert_ok(sq_operand_file_commit(&writer, &err));
        assert_ok(sq_operand_file_open(&f, path, &err));
        CHECK_EQ(bits_of_file(&f.file), nbits, "%s: the file\n", what);
        assert_ok(packed->load(&f, 0, &back, &err));
        CHECK_EQ(sq_quant_layer_nbits(&back), nbits, "%s: read back\n", what);
        sq_operand_file_close(&f);
    } else {
        const struct sq_weight_item item = {
            .name = "w", .n = q->n, .k_orig = q->k_orig, .layer = q};
        struct sq_weight_file f;
        assert_ok(sq_weight_file_write(path, r, "synthetic", &item, 1, &err));
        if (sq_weight_file_open(&f, path, &err) != SQ_OK)
            fail_msg("%s: %s", what, err.text);
        CHECK_EQ(bits_of_file(&f.st), nbits, "%s: the file\n", what);
        assert_ok(sq_weight_file_load(&f, 0, &back, &err));
        CHECK_EQ(sq_quant_layer_nbits(&back), nbits, "%s: read back\n", what);
        sq_weight_file_close(&f);
    }
    sq_quant_layer_free(&back);
    assert_int_equal(unlink(path), 0);
}

// False where these options are refused, or the shape is.
static bool check_encoded(const struct sq_format_ops *f, struct sq_rng *rng)
{
    struct words w = {0};
    struct sq_recipe r, eval;
    struct layer l;
    struct sq_quant_layer q;
    struct sq_error err;
    char word[32], text[600], what[700];
    for (const struct sq_format_option *o = f->option; o->name; o++)
        if ((o->taken & SQ_IN_QUANTIZE) && o->kind < SQ_OPTION_FLAG && sq_rng_below(rng, 2)) {
            random_word(o, rng, word);
            give(&w, o->name, word);
        }
    if (sq_format_recipe(f, SQ_IN_QUANTIZE, &w.given, &r, &err) != SQ_OK)
        return false;
    describe(&w, text);
    snprintf(what, sizeof what, "%s%s", f->name, text);
    make_layer(&l, rng);
    const bool is_done = encode(&l, &r, &q, &err) == SQ_OK;
    if (is_done) {
        const double nbits = sq_quant_layer_nbits(&q);
        struct sq_recipe as_is = r;
        struct sq_own own = {0};
        if (f->cost->own && f->cost->own->weights)
            assert_ok(f->cost->own->weights(q.state, &own, &as_is, &err));
        free(own.before);
        if (!(sq_recipe_sized_by(&r) && strcmp(f->name, "spqr") == 0 &&
              sq_option_get(sq_option_find(f, SQ_IN_QUANTIZE, "outlier-layout"), &r) !=
                  0)) // padded to the fullest row
            CHECK_EQ(sq_recipe_nbits(&as_is, l.n, l.k), nbits, "%s: its shape\n", what);
        if (!sq_recipe_sized_by(&r))
            CHECK_EQ(sq_recipe_nbits(&r, l.n, l.k), nbits, "%s: exact by shape\n", what);
        if (sq_format_recipe(f, SQ_IN_EVAL, &w.given, &eval, &err) == SQ_OK &&
            !sq_recipe_sized_by(&r))
            CHECK_EQ(sq_recipe_nbits(&eval, l.n, l.k), nbits, "%s: of eval\n", what);
        check_file(&r, &q, nbits, what);
        sq_quant_layer_free(&q);
    }
    free_layer(&l);
    return is_done;
}

SQ_TEST(encoded_shape_and_file)
{
    for (size_t i = 0; sq_formats[i]; i++) {
        struct sq_rng rng = {fixture_seed() + 1000 * i};
        unsigned done = 0;
        for (unsigned t = 0; t < TRIES && done < OPTION_SETS; t++)
            done += check_encoded(sq_formats[i], &rng);
        CHECK_EQ(done, OPTION_SETS, "%s\n", sq_formats[i]->name);
    }
}

// ---- run and sweep ----------------------------------------------------------------------------

// The recipe of quantize by options of another scope, those that it does not have left out.
static bool quantize_recipe(const struct sq_recipe *as, struct words *w, struct sq_recipe *r)
{
    struct sq_error err;
    struct sq_given given = {0};
    for (size_t i = 0; i < w->given.n; i++)
        if (is_taken(as->format, SQ_IN_QUANTIZE, w->given.option[i].name) &&
            !sq_recipe_sized_by(as))
            given.option[given.n++] = w->given.option[i];
    return sq_format_recipe(as->format, SQ_IN_QUANTIZE, &given, r, &err) == SQ_OK;
}

static void check_equal(const struct sq_recipe *a, const struct sq_recipe *b, const struct words *w,
                        const char *who, struct sq_rng *rng)
{
    const size_t n = 1 + sq_rng_below(rng, 3000), k = 256 + 4 * sq_rng_below(rng, 1000);
    char text[600];
    describe(w, text);
    CHECK_EQ(sq_recipe_nbits(a, n, k), sq_recipe_nbits(b, n, k), "%s of %s%s, %zu x %zu\n", who,
             a->format->name, text, n, k);
}

// spqr: outliers are a share in run, a threshold in quantize.
static void take_outliers(const struct sq_recipe *run, struct sq_recipe *quantize)
{
    const struct sq_format_option *o = sq_option_find(run->format, SQ_IN_RUN, "outliers");
    if (o)
        sq_option_put(o, sq_option_get(o, run), quantize);
}

static bool check_run(const struct sq_format_ops *f, struct sq_rng *rng)
{
    struct words w = {0};
    struct sq_recipe run, quantize;
    struct sq_error err;
    char word[32];
    for (const struct sq_format_option *o = f->option; o->name; o++)
        if ((o->taken & SQ_IN_RUN) && o->kind < SQ_OPTION_FLAG) {
            random_word(o, rng, word);
            give(&w, o->name, word);
        }
    if (sq_format_recipe(f, SQ_IN_RUN, &w.given, &run, &err) != SQ_OK)
        return false;
    if (is_taken(f, SQ_IN_QUANTIZE, "algorithm"))
        give(&w, "algorithm", "rtn"); // which run has: nothing is compensated
    if (!quantize_recipe(&run, &w, &quantize))
        return false;
    take_outliers(&run, &quantize);
    check_equal(&run, &quantize, &w, "run", rng);
    return true;
}

SQ_TEST(run_says_the_same)
{
    for (size_t i = 0; sq_formats[i]; i++) {
        struct sq_rng rng = {fixture_seed() + 2000 * i};
        unsigned done = 0;
        for (unsigned t = 0; t < TRIES && done < OPTION_SETS; t++)
            done += check_run(sq_formats[i], &rng);
        CHECK_EQ(done, OPTION_SETS, "%s\n", sq_formats[i]->name);
    }
}

// A value of the axis as a specification has it; false where the format has none of it.
static bool axis_word(const struct sq_format_ops *f, unsigned a, struct sq_rng *rng, char text[32])
{
    static const char *const pairs[] = {"8/4", "8/3", "8/2", "4/3", "4/2"};
    const struct sq_format_option *o =
        sq_axes[a].option ? sq_option_find(f, SQ_IN_SWEEP, sq_axes[a].option) : NULL;
    if (!o)
        return false;
    random_word(o, rng, text);
    if (a == SQ_AXIS_PRECISION)
        snprintf(text, 32, "%s", pairs[sq_rng_below(rng, LEN(pairs))]);
    return true;
}

static bool check_sweep(const struct sq_format_ops *f, struct sq_rng *rng)
{
    struct words w = {0};
    struct sq_recipe quantize;
    struct sq_sweep_grid s;
    struct sq_sweep_point p;
    struct sq_error err;
    char yaml[1200], word[32];
    int at = snprintf(yaml, sizeof yaml, "name: s\naxes:\n  format: [%s]\n  machine: [%s]\n",
                      f->name, "sim/machines/default.yaml");
    for (unsigned a = 0; a < SQ_N_AXES; a++)
        if (axis_word(f, a, rng, word)) {
            at += snprintf(yaml + at, sizeof yaml - (size_t)at, "  %s: [%s]\n", sq_axes[a].name,
                           word);
            if (a == SQ_AXIS_PRECISION) {
                const char low[] = {word[2], '\0'};
                give(&w, "low-bits", low);
                word[1] = '\0';
            }
            give(&w, sq_axes[a].option, word);
        }
    snprintf(yaml + at, sizeof yaml - (size_t)at, "measures: [stored_bits]\n");
    if (sq_sweep_grid_parse(&s, yaml, strlen(yaml), "test", ".", &err) != SQ_OK)
        return false;
    sq_sweep_grid_point(&s, 0, &p);
    const bool is_done = quantize_recipe(&p.recipe, &w, &quantize);
    take_outliers(&p.recipe, &quantize);
    if (is_done)
        check_equal(&p.recipe, &quantize, &w, "sweep", rng);
    sq_sweep_grid_free(&s);
    return is_done;
}

SQ_TEST(sweep_says_the_same)
{
    for (size_t i = 0; sq_formats[i]; i++) {
        struct sq_rng rng = {fixture_seed() + 3000 * i};
        unsigned done = 0;
        for (unsigned t = 0; t < TRIES && done < OPTION_SETS; t++)
            done += check_sweep(sq_formats[i], &rng);
        CHECK_EQ(done, OPTION_SETS, "%s\n", sq_formats[i]->name);
    }
}
