// SPDX-License-Identifier: Apache-2.0
// Reads metadata and tensors of a GGUF file, and checks that the tensors fill it (sq_gguf.h).
#include "sim/io/sq_gguf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DAMAGED(...) SQ_FAIL(err, SQ_ERR_DAMAGED, __VA_ARGS__)
#define UNSUPPORTED(...) SQ_FAIL(err, SQ_ERR_UNSUPPORTED, __VA_ARGS__)

enum {
    MAX_DIMS = 4, // of ggml
    MAX_NAME = 255,
    MAX_ALIGNMENT = 1 << 16,
    MIN_VALUE_NBYTES = 8 + 1 + 4 + 1,      // key of one letter, type, one byte
    MIN_TENSOR_NBYTES = 8 + 1 + 4 + 4 + 8, // name of one letter, dimensions, type, offset
};

static const struct {
    const char *name;
    size_t nbytes; // 0: told by the bytes
} type_table[SQ_GGUF_TYPE_COUNT] = {
    [SQ_GGUF_U8] = {"u8", 1},       [SQ_GGUF_I8] = {"i8", 1},     [SQ_GGUF_U16] = {"u16", 2},
    [SQ_GGUF_I16] = {"i16", 2},     [SQ_GGUF_U32] = {"u32", 4},   [SQ_GGUF_I32] = {"i32", 4},
    [SQ_GGUF_F32] = {"f32", 4},     [SQ_GGUF_BOOL] = {"bool", 1}, [SQ_GGUF_STRING] = {"string", 0},
    [SQ_GGUF_ARRAY] = {"array", 0}, [SQ_GGUF_U64] = {"u64", 8},   [SQ_GGUF_I64] = {"i64", 8},
    [SQ_GGUF_F64] = {"f64", 8},
};

const char *sq_gguf_type_name(enum sq_gguf_type type)
{
    return type < SQ_GGUF_TYPE_COUNT ? type_table[type].name : "?";
}

// ggml's number of each type of tensor; what is named only is known and not read.
static const struct {
    uint32_t code;
    const char *name;
    enum sq_dtype dtype; // SQ_DTYPE_END: not read
} tensor_types[] = {
    {0, "F32", SQ_F32},         {1, "F16", SQ_F16},         {2, "Q4_0", SQ_Q4_0},
    {3, "Q4_1", SQ_Q4_1},       {6, "Q5_0", SQ_Q5_0},       {7, "Q5_1", SQ_Q5_1},
    {8, "Q8_0", SQ_Q8_0},       {9, "Q8_1", SQ_DTYPE_END},  {10, "Q2_K", SQ_Q2_K},
    {11, "Q3_K", SQ_Q3_K},      {12, "Q4_K", SQ_Q4_K},      {13, "Q5_K", SQ_Q5_K},
    {14, "Q6_K", SQ_Q6_K},      {15, "Q8_K", SQ_DTYPE_END}, {20, "IQ4_NL", SQ_IQ4_NL},
    {23, "IQ4_XS", SQ_IQ4_XS},  {30, "BF16", SQ_BF16},      {34, "TQ1_0", SQ_TQ1_0},
    {35, "TQ2_0", SQ_TQ2_0},    {39, "MXFP4", SQ_MXFP4},    {40, "NVFP4", SQ_NVFP4},
    {41, "Q1_0", SQ_DTYPE_END}, {42, "Q2_0", SQ_DTYPE_END},
};

uint32_t sq_gguf_tensor_type(enum sq_dtype dtype)
{
    for (size_t i = 0; i < sizeof tensor_types / sizeof tensor_types[0]; i++)
        if (tensor_types[i].dtype == dtype && dtype != SQ_DTYPE_END)
            return tensor_types[i].code;
    return UINT32_MAX;
}

// ---- bytes ----------------------------------------------------------------------------------

struct reader {
    const char *what;
    const uint8_t *at, *end;
};

static uint64_t little(const uint8_t *p, size_t nbytes)
{
    uint64_t v = 0;
    for (size_t i = nbytes; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

static size_t left(const struct reader *r)
{
    return (size_t)(r->end - r->at);
}

static enum sq_status take(struct reader *r, size_t nbytes, uint64_t *v, struct sq_error *err)
{
    *v = 0;
    if (left(r) < nbytes)
        return DAMAGED("%s: the file ends in its header, it is truncated", r->what);
    *v = little(r->at, nbytes);
    r->at += nbytes;
    return SQ_OK;
}

static enum sq_status skip_string(struct reader *r, struct sq_error *err)
{
    uint64_t n;
    SQ_TRY(take(r, 8, &n, err));
    if (n > left(r))
        return DAMAGED("%s: a string of %llu bytes where %zu are left", r->what,
                       (unsigned long long)n, left(r));
    r->at += n;
    return SQ_OK;
}

// A key or the name of a tensor, on the heap.
static enum sq_status take_name(struct reader *r, const char *kind, char **name,
                                struct sq_error *err)
{
    const uint8_t *start = r->at;
    SQ_TRY(skip_string(r, err));
    const char *text = (const char *)start + 8;
    const size_t n = (size_t)(r->at - start) - 8;
    if (n == 0 || n > MAX_NAME)
        return DAMAGED("%s: %s of %zu bytes, need 1..%d", r->what, kind, n, MAX_NAME);
    for (size_t i = 0; i < n; i++)
        if (text[i] < 0x20 || text[i] > 0x7e)
            return DAMAGED("%s: %s holds a byte outside printable ASCII", r->what, kind);
    *name = strndup(text, n);
    return SQ_HAVE(*name, err, "%s", r->what);
}

// ---- metadata -------------------------------------------------------------------------------

static enum sq_status skip_elements(struct reader *r, const struct sq_gguf_value *v,
                                    struct sq_error *err)
{
    const size_t nbytes = type_table[v->type].nbytes;
    if (v->n > left(r) / (nbytes ? nbytes : 8))
        return DAMAGED("%s: '%.60s' has %zu elements in %zu bytes, the file is truncated", r->what,
                       v->key, v->n, left(r));
    if (nbytes) {
        r->at += v->n * nbytes;
        return SQ_OK;
    }
    for (size_t i = 0; i < v->n; i++)
        SQ_TRY(skip_string(r, err));
    return SQ_OK;
}

static enum sq_status read_value(struct reader *r, struct sq_gguf_value *v, struct sq_error *err)
{
    uint64_t type, n = 1;
    SQ_TRY(take_name(r, "a metadata key", &v->key, err));
    SQ_TRY(take(r, 4, &type, err));
    if (type == SQ_GGUF_ARRAY) {
        v->is_array = true;
        SQ_TRY(take(r, 4, &type, err));
        SQ_TRY(take(r, 8, &n, err));
        if (type == SQ_GGUF_ARRAY)
            return UNSUPPORTED("%s: '%.60s' is an array of arrays", r->what, v->key);
    }
    if (type >= SQ_GGUF_TYPE_COUNT)
        return DAMAGED("%s: type of '%.60s' = %llu, need 0..%d", r->what, v->key,
                       (unsigned long long)type, SQ_GGUF_TYPE_COUNT - 1);
    if (n > SIZE_MAX)
        return DAMAGED("%s: '%.60s' has %llu elements", r->what, v->key, (unsigned long long)n);
    v->type = (enum sq_gguf_type)type;
    v->n = (size_t)n;
    v->at = r->at;
    return skip_elements(r, v, err);
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct sq_gguf_value *)a)->key, ((const struct sq_gguf_value *)b)->key);
}

static enum sq_status read_values(struct reader *r, struct sq_gguf *g, uint64_t n,
                                  struct sq_error *err)
{
    if (n > left(r) / MIN_VALUE_NBYTES)
        return DAMAGED("%s: %llu metadata keys in a file of %zu bytes", r->what,
                       (unsigned long long)n, g->map.nbytes);
    g->value = calloc((size_t)n + 1, sizeof *g->value);
    SQ_NEED(g->value, err, "%s", r->what);
    while (g->n_values < n)
        SQ_TRY(read_value(r, &g->value[g->n_values++], err));
    qsort(g->value, g->n_values, sizeof *g->value, by_key);
    for (size_t i = 1; i < g->n_values; i++)
        if (strcmp(g->value[i - 1].key, g->value[i].key) == 0)
            return DAMAGED("%s: duplicate metadata key '%.60s'", r->what, g->value[i].key);
    return SQ_OK;
}

static enum sq_status read_alignment(struct sq_gguf *g, const char *what, struct sq_error *err)
{
    const struct sq_gguf_value *v = sq_gguf_find(g, "general.alignment");
    const int64_t a = !v ? 32 : v->is_array ? 0 : sq_gguf_integer(v, 0);
    if (a < 1 || a > MAX_ALIGNMENT || (a & (a - 1)) != 0)
        return DAMAGED("%s: general.alignment = %lld, need a power of two, 1..%d", what,
                       (long long)a, MAX_ALIGNMENT);
    g->alignment = (size_t)a;
    return SQ_OK;
}

// ---- tensors --------------------------------------------------------------------------------

static enum sq_status find_dtype(const char *what, struct sq_tensor *t, uint64_t code,
                                 struct sq_error *err)
{
    const char *name = "";
    t->dtype = SQ_DTYPE_END;
    for (size_t i = 0; i < sizeof tensor_types / sizeof tensor_types[0]; i++)
        if (tensor_types[i].code == code) {
            t->dtype = tensor_types[i].dtype;
            name = tensor_types[i].name;
        }
    if (t->dtype == SQ_DTYPE_END)
        return UNSUPPORTED(
            "%s: type of tensor '%.60s' = %llu%s%s, need F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, "
            "Q5_1, Q2_K .. Q6_K, IQ4_NL, IQ4_XS, TQ1_0, TQ2_0, MXFP4 or NVFP4",
            what, t->name, (unsigned long long)code, *name ? " " : "", name);
    return SQ_OK;
}

// *offset from the start of the data, whose place is not known yet.
static enum sq_status read_tensor(struct reader *r, struct sq_tensor *t, uint64_t *offset,
                                  struct sq_error *err)
{
    uint64_t n_dims, code;
    char *name = NULL;
    SQ_TRY(take_name(r, "a tensor name", &name, err));
    t->name = name;
    SQ_TRY(take(r, 4, &n_dims, err));
    if (n_dims > MAX_DIMS)
        return DAMAGED("%s: tensor '%.60s' has %llu dimensions, need 0..%d", r->what, t->name,
                       (unsigned long long)n_dims, MAX_DIMS);
    t->n_dims = (unsigned)n_dims;
    for (unsigned i = t->n_dims; i-- > 0;) // the first one stored varies fastest
        SQ_TRY(take(r, 8, &t->dim[i], err));
    SQ_TRY(take(r, 4, &code, err));
    SQ_TRY(find_dtype(r->what, t, code, err));
    SQ_TRY(take(r, 8, offset, err));
    return sq_tensor_derive(r->what, t, err);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum sq_status check_names(const struct sq_gguf *g, const char *what, struct sq_error *err)
{
    SQ_FREED const char **name = calloc(g->n_tensors + 1, sizeof *name);
    SQ_NEED(name, err, "%s", what);
    for (size_t i = 0; i < g->n_tensors; i++)
        name[i] = g->tensor[i].name;
    qsort(name, g->n_tensors, sizeof *name, by_name);
    for (size_t i = 1; i < g->n_tensors; i++)
        if (strcmp(name[i - 1], name[i]) == 0)
            return DAMAGED("%s: duplicate tensor '%.60s'", what, name[i]);
    return SQ_OK;
}

// By their place in the file, empty ones before those that start at the same byte.
static int by_position(const void *a, const void *b)
{
    const struct sq_tensor *s = a, *t = b;
    if (s->data != t->data)
        return s->data < t->data ? -1 : 1;
    return s->nbytes < t->nbytes ? -1 : s->nbytes > t->nbytes;
}

static enum sq_status check_places(const struct sq_gguf *g, const char *what, const uint8_t *data,
                                   struct sq_error *err)
{
    const size_t mask = g->alignment - 1;
    size_t expected = 0;
    for (size_t i = 0; i < g->n_tensors; i++) {
        const struct sq_tensor *t = &g->tensor[i];
        const size_t at = (size_t)(t->data - data);
        if (at != expected)
            return DAMAGED(
                "%s: tensor '%.60s' starts at byte %zu of the data, %s %zu", what, t->name, at,
                at < expected ? "overlapping what ends at" : "leaving a hole after", expected);
        expected = (at + t->nbytes + mask) & ~mask;
    }
    return SQ_OK;
}

// The header ends here: offsets become places.
static enum sq_status place(struct reader *r, struct sq_gguf *g, const uint64_t *offset,
                            struct sq_error *err)
{
    const size_t mask = g->alignment - 1;
    const size_t header = ((size_t)(r->at - g->map.data) + mask) & ~mask;
    const size_t room = header < g->map.nbytes ? g->map.nbytes - header : 0;
    for (size_t i = 0; i < g->n_tensors; i++) {
        struct sq_tensor *t = &g->tensor[i];
        if ((offset[i] & mask) != 0)
            return DAMAGED("%s: offset of tensor '%.60s' = %llu, need a multiple of %zu", r->what,
                           t->name, (unsigned long long)offset[i], g->alignment);
        if (offset[i] > room || t->nbytes > room - offset[i])
            return DAMAGED("%s: tensor '%.60s' of %zu bytes at byte %llu of %zu, the file is "
                           "truncated",
                           r->what, t->name, t->nbytes, (unsigned long long)offset[i], room);
        // An empty tensor may stand after a header without padding: it has no place.
        t->data = room ? g->map.data + header + offset[i] : g->map.data + g->map.nbytes;
    }
    qsort(g->tensor, g->n_tensors, sizeof *g->tensor, by_position);
    SQ_TRY(check_names(g, r->what, err));
    return check_places(g, r->what, room ? g->map.data + header : g->map.data + g->map.nbytes, err);
}

static enum sq_status read_tensors(struct reader *r, struct sq_gguf *g, uint64_t n,
                                   struct sq_error *err)
{
    if (n > left(r) / MIN_TENSOR_NBYTES)
        return DAMAGED("%s: %llu tensors in a file of %zu bytes", r->what, (unsigned long long)n,
                       g->map.nbytes);
    g->tensor = calloc((size_t)n + 1, sizeof *g->tensor);
    SQ_FREED uint64_t *offset = calloc((size_t)n + 1, sizeof *offset);
    enum sq_status status = SQ_HAVE(g->tensor && offset, err, "%s", r->what);
    while (status == SQ_OK && g->n_tensors < n) {
        status = read_tensor(r, &g->tensor[g->n_tensors], &offset[g->n_tensors], err);
        g->n_tensors++;
    }
    SQ_THEN(status, place(r, g, offset, err));
    return status;
}

// ---- opening --------------------------------------------------------------------------------

bool sq_gguf_is(const char *path)
{
    SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
    const char *dot = strrchr(path, '.');
    if (sq_file_map(path, &map, NULL) != SQ_OK)
        return false;
    const bool is = map.nbytes >= 4 && memcmp(map.data, "GGUF", 4) == 0;
    return is || (dot && strcasecmp(dot, ".gguf") == 0);
}

static enum sq_status read_all(struct reader *r, struct sq_gguf *g, struct sq_error *err)
{
    uint64_t version, n_tensors, n_values;
    if (left(r) < 4 || memcmp(r->at, "GGUF", 4) != 0)
        return DAMAGED("%s: does not begin with GGUF", r->what);
    r->at += 4;
    SQ_TRY(take(r, 4, &version, err));
    if (version == 2u << 24 || version == 3u << 24)
        return UNSUPPORTED("%s: big-endian, need little-endian", r->what);
    if (version < 2 || version > 3)
        return UNSUPPORTED("%s: GGUF version = %llu, need 2 or 3", r->what,
                           (unsigned long long)version);
    g->version = (unsigned)version;
    SQ_TRY(take(r, 8, &n_tensors, err));
    SQ_TRY(take(r, 8, &n_values, err));
    SQ_TRY(read_values(r, g, n_values, err));
    SQ_TRY(read_alignment(g, r->what, err));
    return read_tensors(r, g, n_tensors, err);
}

enum sq_status sq_gguf_open(struct sq_gguf *g, const char *path, struct sq_error *err)
{
    *g = (struct sq_gguf){0};
    SQ_TRY(sq_file_map(path, &g->map, err));
    const char *what = sq_path_tail(path);
    if (!g->map.data)
        return DAMAGED("%s: the file is empty", what);
    struct reader r = {what, g->map.data, g->map.data + g->map.nbytes};
    const enum sq_status status = read_all(&r, g, err);
    if (status != SQ_OK)
        sq_gguf_close(g);
    return status;
}

void sq_gguf_close(struct sq_gguf *g)
{
    for (size_t i = 0; i < g->n_values; i++)
        free(g->value[i].key);
    for (size_t i = 0; i < g->n_tensors; i++)
        free((void *)(uintptr_t)g->tensor[i].name);
    free(g->value);
    free(g->tensor);
    sq_file_unmap(&g->map);
    *g = (struct sq_gguf){0};
}

void sq_gguf_forget(const struct sq_gguf *g, const struct sq_tensor *t)
{
    sq_file_forget(&g->map, t->data, t->nbytes);
}

// ---- values ---------------------------------------------------------------------------------

const struct sq_gguf_value *sq_gguf_find(const struct sq_gguf *g, const char *key)
{
    const struct sq_gguf_value wanted = {.key = (char *)(uintptr_t)key};
    if (g->n_values == 0)
        return NULL;
    return bsearch(&wanted, g->value, g->n_values, sizeof *g->value, by_key);
}

int64_t sq_gguf_integer(const struct sq_gguf_value *v, size_t i)
{
    const size_t nbytes = type_table[v->type].nbytes;
    const uint64_t bits = nbytes ? little(v->at + i * nbytes, nbytes) : 0;
    switch (v->type) {
    case SQ_GGUF_I8:
        return (int8_t)bits;
    case SQ_GGUF_I16:
        return (int16_t)bits;
    case SQ_GGUF_I32:
        return (int32_t)bits;
    case SQ_GGUF_F32:
    case SQ_GGUF_F64:
        return 0;
    default:
        return (int64_t)bits;
    }
}

struct sq_gguf_text sq_gguf_next(const uint8_t **at)
{
    const struct sq_gguf_text text = {(const char *)*at + 8, (size_t)little(*at, 8)};
    *at += 8 + text.n;
    return text;
}

static double real_of(const struct sq_gguf_value *v)
{
    float f;
    double d;
    memcpy(&f, v->at, sizeof f);
    if (v->type == SQ_GGUF_F32)
        return (double)f;
    memcpy(&d, v->at, sizeof d);
    return d;
}

json_t *sq_gguf_json(const struct sq_gguf_value *v)
{
    if (v->is_array)
        return NULL;
    const int64_t integer = sq_gguf_integer(v, 0);
    const uint8_t *at = v->at;
    switch (v->type) {
    case SQ_GGUF_STRING: {
        const struct sq_gguf_text text = sq_gguf_next(&at);
        return json_stringn(text.at, text.n);
    }
    case SQ_GGUF_F32:
    case SQ_GGUF_F64:
        return json_real(real_of(v)); // jansson refuses what is not finite
    case SQ_GGUF_BOOL:
        return json_boolean(integer != 0);
    case SQ_GGUF_U64:
        return integer < 0 ? json_real((double)(uint64_t)integer) : json_integer(integer);
    default:
        return json_integer(integer);
    }
}
