// SPDX-License-Identifier: Apache-2.0
// Writes the tensors and the metadata of encoded layers, and reads them back (sq_weight_file.h).
#include "sim/format/file/sq_weight_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/format/file/sq_content.h"
#include "sim/format/file/sq_operand_file.h"
#include "sim/io/sq_version.h"

// ---- writing --------------------------------------------------------------------------------

enum { N_INFO = 7 };

static void add_info(struct sq_content *c, const struct sq_recipe *r, const char *source)
{
    const struct sq_format_ops *ops = r->format;
    struct sq_recipe copy = *r;
    struct sq_metadata_value value[SQ_VALUES_MAX];
    const size_t n = ops->file->numbers ? ops->file->numbers(&copy, value) : 0;
    sq_content_text(c, "", "system", ops->name);
    sq_content_text(c, "", "version", "1");
    sq_content_text(c, "", "producer", "golden");
    sq_content_text(c, "", "source", source);
    sq_content_text(c, "", "tool", "sqsim " SQ_VERSION);
    if (r->format->description)
        sq_content_text(c, "", "description", r->format->description);
    for (size_t i = 0; i < n; i++)
        sq_content_number(c, "", value[i].key, *value[i].number);
    struct sq_recipe plain = sq_recipe_of(ops);
    struct sq_metadata_value usual[SQ_VALUES_MAX];
    const size_t n_optional = ops->file->optional ? ops->file->optional(&copy, value) : 0;
    if (n_optional > 0)
        ops->file->optional(&plain, usual);
    for (size_t i = 0; i < n_optional; i++)
        if (*value[i].number != *usual[i].number)
            sq_content_number(c, "", value[i].key, *value[i].number);
    char alpha[32];
    snprintf(alpha, sizeof alpha, "%.17g", r->alpha);
    if (r->is_smooth)
        sq_content_text(c, "", "smooth", alpha);
}

size_t sq_layer_parts(const struct sq_quant_layer *q, struct sq_part part[SQ_LAYER_PARTS_MAX])
{
    size_t n = q->format->file->parts(q->state, part);
    if (q->sigma)
        part[n++] = (struct sq_part){"sigma", SQ_F32, 1, {q->k_orig}, q->sigma};
    return n;
}

// The tensors of an item whose elements have `nbytes` bytes: files go by falling element size, so
// that every tensor is aligned.
static void add_tensors(struct sq_content *c, const struct sq_weight_item *item, size_t nbytes)
{
    struct sq_part part[SQ_LAYER_PARTS_MAX];
    const size_t n = sq_layer_parts(item->layer, part);
    for (size_t i = 0; i < n; i++) {
        if (sq_dtype_nbytes(part[i].dtype) != nbytes)
            continue;
        struct sq_tensor *t = &c->tensor[c->n_tensors++];
        *t = (struct sq_tensor){.name = sq_content_name(item->name, part[i].name),
                                .dtype = part[i].dtype,
                                .n_dims = part[i].n_dims,
                                .data = part[i].data};
        for (unsigned d = 0; d < part[i].n_dims; d++)
            t->dim[d] = part[i].dim[d];
        c->has_failed = c->has_failed || !t->name;
    }
}

static void fill(struct sq_content *c, const struct sq_recipe *r, const char *source,
                 const struct sq_weight_item *item, size_t n)
{
    add_info(c, r, source);
    for (size_t i = 0; i < n; i++)
        sq_content_layer(c, item[i].name, item[i].n, sq_recipe_padded(r, item[i].k_orig),
                         item[i].k_orig, &item[i].input_digest);
    for (size_t nbytes = 8; nbytes > 0; nbytes /= 2)
        for (size_t i = 0; i < n; i++)
            add_tensors(c, &item[i], nbytes);
}

enum sq_status sq_weight_file_write(const char *path, const struct sq_recipe *r, const char *source,
                                    const struct sq_weight_item *item, size_t n,
                                    struct sq_error *err)
{
    SQ_CLOSED(sq_content_free) struct sq_content c;
    sq_content_init(&c, N_INFO + SQ_VALUES_MAX + SQ_CONTENT_LAYER * n, SQ_LAYER_PARTS_MAX * n + 1);
    if (!c.has_failed)
        fill(&c, r, source, item, n);
    SQ_NEED(!c.has_failed, err, "%zu layers", n);
    return sq_safetensors_write(path, c.tensor, c.n_tensors, c.pair, c.n_pairs, err);
}

// ---- reading --------------------------------------------------------------------------------

static const char *system_of(const struct sq_safetensors *st)
{
    return sq_safetensors_metadata(st, "system");
}

bool sq_weight_file_is(const struct sq_safetensors *st)
{
    const struct sq_format_ops *f = system_of(st) ? sq_format_find(system_of(st)) : NULL;
    return (sq_safetensors_metadata(st, "description") || (f && f->file)) &&
           !sq_operand_file_is_encoded(st);
}

// The format of a file: the one of its name, or what the description in it says.
static enum sq_status format_of(const struct sq_safetensors *st, const struct sq_format_ops **f,
                                struct sq_error *err)
{
    const char *const text = sq_safetensors_metadata(st, "description");
    if (!text) {
        *f = sq_format_find(system_of(st));
        return SQ_OK;
    }
    SQ_TRY(sq_format_described(text, strlen(text), "metadata description", f, err));
    SQ_FAIL_IF(!system_of(st) || strcmp((*f)->name, system_of(st)) != 0, err, SQ_ERR_DAMAGED,
               "metadata system = %.31s, its description has the name %s",
               system_of(st) ? system_of(st) : "(missing)", (*f)->name);
    return SQ_OK;
}

// "prefix.key" or "key" as a decimal number, digits only.
static enum sq_status read_number(const struct sq_safetensors *st, const char *prefix,
                                  const char *key, uint64_t min, uint64_t max, uint64_t *value,
                                  struct sq_error *err)
{
    const char *text;
    SQ_TRY(sq_content_find(st, prefix, key, &text, err));
    SQ_FAIL_IF(!sq_content_is_number(text, min, max, value), err, SQ_ERR_DAMAGED,
               "metadata %s of '%.60s' is no number in %" PRIu64 "..%" PRIu64, key, prefix, min,
               max);
    return SQ_OK;
}

// SmoothQuant's alpha, where the file is smoothed.
static enum sq_status read_smooth(const struct sq_safetensors *st, struct sq_recipe *r,
                                  struct sq_error *err)
{
    const char *text = sq_safetensors_metadata(st, "smooth");
    char *end = NULL;
    if (!text)
        return SQ_OK;
    r->is_smooth = true;
    r->alpha = *text >= '0' && *text <= '9' ? strtod(text, &end) : NAN;
    SQ_FAIL_IF(
        !r->format->values->has_smoothing || !end || *end || !(r->alpha >= 0 && r->alpha <= 1), err,
        SQ_ERR_DAMAGED, "metadata smooth = %.20s, need 0..1, of a format that has it", text);
    return SQ_OK;
}

static enum sq_status read_recipe(const struct sq_safetensors *st, struct sq_recipe *r,
                                  struct sq_error *err)
{
    const char *version = sq_safetensors_metadata(st, "version");
    struct sq_metadata_value value[SQ_VALUES_MAX];
    *r = (struct sq_recipe){0};
    SQ_FAIL_IF(!sq_weight_file_is(st), err, SQ_ERR_UNSUPPORTED,
               "metadata system = %.20s is not known", system_of(st) ? system_of(st) : "(missing)");
    SQ_FAIL_IF(!version || strcmp(version, "1") != 0, err, SQ_ERR_UNSUPPORTED,
               "metadata version = %.20s, need 1", version ? version : "(missing)");
    const struct sq_format_ops *ops;
    SQ_TRY(format_of(st, &ops, err));
    *r = sq_recipe_of(ops);
    const size_t n = ops->file->numbers ? ops->file->numbers(r, value) : 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t v;
        SQ_TRY(read_number(st, "", value[i].key, value[i].min, value[i].max, &v, err));
        *value[i].number = (unsigned)v;
    }
    const size_t n_optional = ops->file->optional ? ops->file->optional(r, value) : 0;
    for (size_t i = 0; i < n_optional; i++) {
        uint64_t v;
        if (!sq_safetensors_metadata(st, value[i].key))
            continue;
        SQ_TRY(read_number(st, "", value[i].key, value[i].min, value[i].max, &v, err));
        *value[i].number = (unsigned)v;
    }
    SQ_TRY(read_smooth(st, r, err));
    SQ_TRY(sq_format_settle(SQ_IN_FILE, NULL, r, err));
    return sq_recipe_check(r, err);
}

static enum sq_status read_entry(const struct sq_weight_file *f, struct sq_weight_entry *e,
                                 struct sq_error *err)
{
    uint64_t n, k, k_orig;
    SQ_TRY(read_number(&f->st, e->name, "N", 1, SQ_DIM_MAX, &n, err));
    SQ_TRY(read_number(&f->st, e->name, "K", 1, SQ_DIM_MAX, &k, err));
    SQ_TRY(read_number(&f->st, e->name, "k_orig", 1, SQ_DIM_MAX, &k_orig, err));
    const size_t padded = sq_recipe_padded(&f->recipe, k_orig);
    SQ_FAIL_IF(k != padded, err, SQ_ERR_SHAPE,
               "layer '%.60s': K = %" PRIu64 ", k_orig = %" PRIu64 " is padded to %zu", e->name, k,
               k_orig, padded);
    e->n = n;
    e->k = k;
    e->k_orig = k_orig;
    return SQ_OK;
}

// The first n characters of a name.
struct prefix {
    const char *text;
    size_t n;
};

static int by_name(const void *key, const void *entry)
{
    const struct prefix *p = key;
    const struct sq_weight_entry *e = *(struct sq_weight_entry *const *)entry;
    const int order = strncmp(p->text, e->name, p->n);
    return order ? order : e->name[p->n] ? -1 : 0; // the entry's name is longer
}

static int by_names(const void *a, const void *b)
{
    return strcmp((*(struct sq_weight_entry *const *)a)->name,
                  (*(struct sq_weight_entry *const *)b)->name);
}

// Every tensor is "<layer>.<part>" of one of the layers, or "<part>" of the layer "".
static enum sq_status count_tensors(struct sq_weight_file *f, struct sq_error *err)
{
    SQ_FREED struct sq_weight_entry **sorted = calloc(f->n_layers + 1, sizeof *sorted);
    SQ_NEED(sorted, err, "%zu layers", f->n_layers);
    for (size_t i = 0; i < f->n_layers; i++)
        sorted[i] = &f->layer[i];
    qsort(sorted, f->n_layers, sizeof(void *), by_names);
    for (size_t i = 0; i < f->st.n_tensors; i++) {
        const char *name = f->st.tensor[i].name, *dot = strrchr(name, '.');
        const struct prefix layer = {name, dot ? (size_t)(dot - name) : 0};
        struct sq_weight_entry **e = bsearch(&layer, sorted, f->n_layers, sizeof(void *), by_name);
        if (e)
            (*e)->n_tensors++;
        else
            return SQ_FAIL(err, SQ_ERR_DAMAGED, "tensor '%.80s' belongs to no layer", name);
    }
    return SQ_OK;
}

static enum sq_status read_entries(struct sq_weight_file *f, struct sq_error *err)
{
    f->layer = calloc(f->st.n_metadata + 1, sizeof *f->layer);
    SQ_NEED(f->layer, err, "%zu layers", f->st.n_metadata);
    for (size_t i = 0; i < f->st.n_metadata; i++) {
        const long n = sq_content_layer_length(f->st.metadata[i].key, "k_orig");
        if (n < 0)
            continue;
        struct sq_weight_entry *e = &f->layer[f->n_layers++];
        e->name = strndup(f->st.metadata[i].key, (size_t)n);
        SQ_NEED(e->name, err, "a name");
        SQ_TRY(read_entry(f, e, err));
    }
    return f->n_layers > 0 ? count_tensors(f, err)
                           : SQ_FAIL(err, SQ_ERR_DAMAGED, "the file holds no layer");
}

enum sq_status sq_weight_file_open(struct sq_weight_file *f, const char *path, struct sq_error *err)
{
    struct sq_safetensors st;
    *f = (struct sq_weight_file){.n_layers = 0};
    SQ_TRY(sq_safetensors_open(&st, path, err));
    return sq_weight_file_adopt(f, &st, err);
}

enum sq_status sq_weight_file_adopt(struct sq_weight_file *f, struct sq_safetensors *st,
                                    struct sq_error *err)
{
    *f = (struct sq_weight_file){.st = *st};
    *st = (struct sq_safetensors){0};
    enum sq_status status = read_recipe(&f->st, &f->recipe, err);
    SQ_THEN(status, read_entries(f, err));
    return SQ_ELSE(status, sq_weight_file_close(f));
}

void sq_weight_file_close(struct sq_weight_file *f)
{
    for (size_t i = 0; i < f->n_layers; i++)
        free(f->layer[i].name);
    free(f->layer);
    sq_safetensors_close(&f->st);
    *f = (struct sq_weight_file){.n_layers = 0};
}

static enum sq_status load_sigma(struct sq_quant_layer *q, const struct sq_part_source *source,
                                 struct sq_error *err)
{
    const struct sq_tensor *t;
    SQ_TRY(sq_part_find(source, "sigma", SQ_F32, 1, &q->k_orig, &t, err));
    q->sigma = malloc(t->nbytes);
    SQ_NEED(q->sigma, err, "%zu channels", q->k_orig);
    memcpy(q->sigma, t->data, t->nbytes);
    for (size_t i = 0; i < q->k_orig; i++)
        SQ_FAIL_IF(!sq_scale_is_valid(q->sigma[i]), err, SQ_ERR_SCALE,
                   "sigma[%zu] = %g, need finite and > 0", i, (double)q->sigma[i]);
    return SQ_OK;
}

enum sq_status sq_weight_file_load(const struct sq_weight_file *f, size_t i,
                                   struct sq_quant_layer *q, struct sq_error *err)
{
    const struct sq_weight_entry *e = &f->layer[i];
    const struct sq_part_source source = {
        .file = &f->st, .layer = e->name, .n = e->n, .k_orig = e->k_orig};
    struct sq_part part[SQ_LAYER_PARTS_MAX];
    struct sq_error why;
    *q = (struct sq_quant_layer){
        .format = f->recipe.format, .n = e->n, .k = e->k, .k_orig = e->k_orig};
    enum sq_status status = q->format->file->load(&q->state, &f->recipe, &source, &why);
    if (status == SQ_OK && f->recipe.is_smooth)
        status = load_sigma(q, &source, &why);
    if (status != SQ_OK) {
        sq_quant_layer_free(q);
        return SQ_FAIL(err, status, "layer '%.60s' is not valid: %.150s", e->name, why.text);
    }
    if (e->n_tensors == sq_layer_parts(q, part))
        return SQ_OK;
    sq_quant_layer_free(q);
    return SQ_FAIL(err, SQ_ERR_DAMAGED, "layer '%.60s' has %zu tensors, more than its format knows",
                   e->name, e->n_tensors);
}
