// SPDX-License-Identifier: Apache-2.0
// A layer that another program quantized, by each method in turn (sim/llm/foreign/). The header of the file is made
// here and honest, so that every input gets as far as codes and scales; on demand bytes of it are altered afterwards.
// Input: method, rows, columns, whether bytes are altered, then the list of alterations, the rest is data, over and over.
// Or shapes are altered in place of bytes, and each tensor has memory of its own, so that an access beyond it is seen:
// config, whether numbers are plain, a change of each tensor's shape or dtype (16 of them, most of them none), data.
#include "sim/io/sq_json.h"
#include "sim/llm/foreign/sq_foreign.h"
#include "tests/fuzz/checkpoint.h"

enum { HEAD_MAX = 2048, PARTS_MAX = 6, METHODS = 13, GROUP = 32 };

struct part {
    const char *name, *dtype;
    size_t nbytes; // of an element
    size_t dim[4]; // up to a 0
};

// The tensors of a layer of n rows and k columns, up to one without a name.
static void list_parts(unsigned method, size_t n, size_t k, struct part part[PARTS_MAX + 1])
{
    const size_t groups = k / GROUP;
    const struct part all[METHODS][PARTS_MAX] = {
        {{"l.weight_packed", "U8", 1, {n, k / 2}},
         {"l.weight_scale", "F8_E4M3", 1, {n, k / 16}},
         {"l.weight_global_scale", "F32", 4, {1}},
         {"l.input_global_scale", "F32", 4, {1}}},
        {{"l.weight", "U8", 1, {n, k / 2}},
         {"l.weight_scale", "F8_E4M3", 1, {n, k / 16}},
         {"l.weight_scale_2", "F32", 4, {1}},
         {"l.input_scale", "F32", 4, {1}}},
        {{"l.weight_packed", "U8", 1, {n, k / 2}}, {"l.weight_scale", "U8", 1, {n, groups}}},
        {{"l.weight", "F8_E4M3", 1, {n, k}}, {"l.weight_scale", "F32", 4, {n, 1}}},
        {{"l.weight", "I8", 1, {n, k}}, {"l.weight_scale", "F32", 4, {n, 1}}},
        {{"l.weight_packed", "I32", 4, {n, k / 8}},
         {"l.weight_scale", "F32", 4, {n, groups}},
         {"l.weight_shape", "I64", 8, {2}}},
        {{"l.qweight", "I32", 4, {k / 8, n}},
         {"l.qzeros", "I32", 4, {groups, n / 8}},
         {"l.scales", "F16", 2, {groups, n}},
         {"l.g_idx", "I32", 4, {k}}},
        {{"l.qweight", "I32", 4, {k, n / 8}},
         {"l.qzeros", "I32", 4, {groups, n / 8}},
         {"l.scales", "F16", 2, {groups, n}}},
        {{"l.weight", "I8", 1, {n, k}},
         {"l.weight_scale", "F32", 4, {n, groups}},
         {"l.weight_zero_point", "I8", 1, {n, groups}}},
        {{"l.weight", "F8_E4M3", 1, {n, k}},
         {"l.weight_scale_inv", "F32", 4, {(n + 127) / 128, (k + 127) / 128}}},
        {{"l.weight_packed", "I32", 4, {n, k / 8}},
         {"l.weight_scale", "F16", 2, {n, groups}},
         {"l.weight_shape", "I64", 8, {2}},
         {"l.weight_zero_point", "I32", 4, {n / 8, groups}},
         {"l.weight_g_idx", "I32", 4, {k}}},
        {{"l.weight", "U8", 1, {n * k / 2, 1}},
         {"l.weight.absmax", "F32", 4, {n * k / 64}},
         {"l.weight.quant_map", "F32", 4, {16}},
         {"l.weight.quant_state.bitsandbytes__nf4", "U8", 1, {24}}},
        {{"l_blocks", "U8", 1, {2, n, groups, 16}}, {"l_scales", "U8", 1, {2, n, groups}}}};
    memset(part, 0, (PARTS_MAX + 1) * sizeof *part);
    memcpy(part, all[method], sizeof all[method]);
}

static size_t nbytes_of(const struct part *p)
{
    size_t n = p->nbytes;
    for (unsigned i = 0; i < 4 && p->dim[i]; i++)
        n *= p->dim[i];
    return n;
}

// A safetensors file in memory of the caller; its data are zeros.
static uint8_t *make(const struct part *part, size_t *nbytes, size_t *head)
{
    char text[HEAD_MAX];
    size_t at = 0, end = 0;
    for (const struct part *p = part; p->name; p++) {
        at +=
            (size_t)snprintf(text + at, sizeof text - at, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[",
                             p == part ? "{" : ",", p->name, p->dtype);
        for (unsigned i = 0; i < 4 && p->dim[i]; i++)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%zu", i ? "," : "", p->dim[i]);
        at += (size_t)snprintf(text + at, sizeof text - at, "],\"data_offsets\":[%zu,%zu]}", end,
                               end + nbytes_of(p));
        end += nbytes_of(p);
    }
    at += (size_t)snprintf(text + at, sizeof text - at, "}");
    FUZZ_CHECK(at < sizeof text);
    const uint64_t length = at;
    uint8_t *file = calloc(1, 8 + at + end);
    FUZZ_CHECK(file);
    memcpy(file, &length, 8);
    memcpy(file + 8, text, at);
    *head = 8 + at;
    *nbytes = 8 + at + end;
    return file;
}

static void read_layer(const struct sq_checkpoint *ck, size_t i)
{
    const struct sq_layer *l = &ck->layer[i];
    struct sq_error err;
    float *w = malloc(l->n * l->k * sizeof *w);
    FUZZ_CHECK(w);
    fuzz_ok(sq_checkpoint_read_layer(ck, i, w, &err), &err);
    free(w);
    fuzz_stored(ck, i);
}

// ---- shapes -----------------------------------------------------------------------------------------

// One change of each part's shape or dtype; whether there was none.
static bool bend(struct part *part, struct fuzz_reader *r)
{
    static const struct part dtype[] = {
        {.dtype = "F32", .nbytes = 4},     {.dtype = "F16", .nbytes = 2},
        {.dtype = "I32", .nbytes = 4},     {.dtype = "I64", .nbytes = 8},
        {.dtype = "I8", .nbytes = 1},      {.dtype = "U8", .nbytes = 1},
        {.dtype = "F8_E4M3", .nbytes = 1}, {.dtype = "BF16", .nbytes = 2}};
    bool is_whole = true;
    for (struct part *p = part; p->name; p++) {
        const unsigned kind = fuzz_byte(r) % 16, value = fuzz_byte(r);
        const size_t n = nbytes_of(p) / p->nbytes, first = p->dim[0];
        size_t last = 0;
        while (last < 3 && p->dim[last + 1])
            last++;
        if (kind == 1) {
            p->dim[0]++;
        } else if (kind == 2) {
            p->dim[last] -= p->dim[last] > 1;
        } else if (kind == 3) {
            p->dim[0] = p->dim[last];
            p->dim[last] = first;
        } else if (kind == 4 || kind == 5) { // all in one dimension, one element
            memset(p->dim, 0, sizeof p->dim);
            p->dim[0] = kind == 4 ? n : 1;
        } else if (kind == 6 && last > 0) {
            p->dim[last] = 0;
        } else if (kind == 7) {
            p->dim[value % (last + 1)] = 1 + value / 4;
        } else if (kind == 8) {
            p->dtype = dtype[value % 8].dtype;
            p->nbytes = dtype[value % 8].nbytes;
        }
        is_whole = is_whole && (kind == 0 || kind > 8);
    }
    return is_whole;
}

// What a tensor must hold so that its layer gets as far as its shapes.
static void fill_plainly(const struct sq_tensor *t, uint8_t *data, size_t n, size_t k)
{
    static const char block[] = "{\"blocksize\":64}";
    const int64_t shape[] = {(int64_t)n, (int64_t)k};
    memset(data, 0x3f, t->nbytes); // a finite number > 0 in every dtype
    if (strstr(t->name, "g_idx"))
        memset(data, 0, t->nbytes);
    if (strstr(t->name, "shape") && t->nbytes >= sizeof shape)
        memcpy(data, shape, sizeof shape);
    if (strstr(t->name, "quant_state"))
        memcpy(memset(data, ' ', t->nbytes), block,
               t->nbytes < sizeof block ? 0 : sizeof block - 1);
}

static bool open_and_read(const struct sq_foreign *f, const char *name, size_t n, size_t k)
{
    struct sq_foreign_layer l;
    struct sq_recipe r;
    struct sq_quant_layer q;
    struct sq_error err;
    bool is_there = false;
    const char *why;
    if (!fuzz_ok(sq_foreign_open(f, name, n, k, &l, &is_there, &err), &err) || !is_there)
        return false;
    float *w = malloc(n * k * sizeof *w);
    FUZZ_CHECK(w);
    fuzz_ok(sq_foreign_read(&l, 0, n, w, &err), &err);
    free(w);
    if (fuzz_ok(sq_foreign_recipe(&l, &r, &why, &err), &err) &&
        fuzz_ok(sq_foreign_encoded(&l, &r, &q, &err), &err))
        sq_quant_layer_free(&q);
    sq_foreign_free(&l);
    return true;
}

static void read_shapes(unsigned method, size_t n, size_t k, struct part *part,
                        struct fuzz_reader *r)
{
#define CT(bits)                                                                                   \
    "{\"quant_method\":\"compressed-tensors\",\"config_groups\":{\"g\":{\"targets\":[\"re:l.*\"]," \
    "\"weights\":{\"num_bits\":" #bits "}}}}"
    static const char *const configs[] = {
        "",
        CT(3),
        CT(4),
        CT(8),
        "{\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":32}",
        "{\"quant_method\":\"gptq\",\"bits\":8}",
        "{\"quant_method\":\"awq\",\"bits\":4}",
        "{\"quant_method\":\"fp8\",\"weight_block_size\":[8,64]}"};
    const unsigned config = fuzz_byte(r) % 8;
    const bool is_plain = fuzz_byte(r) % 2 == 0, is_whole = bend(part, r);
    const char *const name = method == METHODS - 1 ? "l.1" : "l";
    struct sq_safetensors st;
    struct sq_foreign_expressions expressions = {0};
    struct sq_foreign_size size;
    struct sq_error err;
    json_t *const root = config ? json_loads(configs[config], 0, NULL) : NULL;
    uint8_t *data[PARTS_MAX] = {NULL};
    size_t nbytes, head;
    uint8_t *const file = make(part, &nbytes, &head);
    FUZZ_CHECK(sq_safetensors_open_memory(&st, file, nbytes, "file", &err) == SQ_OK);
    for (size_t i = 0; i < st.n_tensors; i++) {
        data[i] = malloc(st.tensor[i].nbytes + (st.tensor[i].nbytes == 0));
        FUZZ_CHECK(data[i]);
        for (size_t j = 0; j < st.tensor[i].nbytes; j++)
            data[i][j] = r->n > 0 ? r->data[j % r->n] : 0;
        if (is_plain)
            fill_plainly(&st.tensor[i], data[i], n, k);
        st.tensor[i].data = data[i];
    }
    const struct sq_foreign f = {&st, 1, root, NULL, &expressions};
    const bool is_open = open_and_read(&f, name, n, k);
    FUZZ_CHECK(is_open || !is_plain || !is_whole || root);
    if (sq_foreign_size(&f, "l", &size) && size.n < 1024 && size.k < 1024)
        (void)open_and_read(&f, size.n_layers > 1 ? "l.0" : "l", size.n, size.k);
    for (size_t i = 0; i < st.n_tensors; i++)
        free(data[i]);
    sq_foreign_expressions_free(&expressions);
    sq_safetensors_close(&st);
    json_decref(root);
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fuzz_reader r = {data, n};
    const unsigned method = fuzz_byte(&r) % METHODS;
    const size_t rows = 8 * (1 + fuzz_byte(&r) % 3), columns = 128 * (1 + fuzz_byte(&r) % 2);
    const unsigned kind = fuzz_byte(&r) % 4;
    const bool is_altered = kind == 1;
    struct part part[PARTS_MAX + 1];
    struct sq_checkpoint ck;
    struct sq_error err;
    size_t nbytes, head;
    list_parts(method, rows, columns, part);
    if (kind == 2) {
        read_shapes(method, rows, columns, part, &r);
        return 0;
    }
    uint8_t *file = make(part, &nbytes, &head);
    for (size_t i = head; i < nbytes; i++)
        file[i] = r.n > 0 ? r.data[(i - head) % r.n] : 0;
    const int64_t shape[] = {(int64_t)rows, (int64_t)columns};
    if (strcmp(part[2].name ? part[2].name : "", "l.weight_shape") == 0)
        memcpy(file + nbytes - sizeof shape, shape, sizeof shape);
    if (is_altered)
        fuzz_alter(file, nbytes, &r);
    fuzz_file(FUZZ_FILE, file, nbytes);
    if (fuzz_ok(sq_checkpoint_open(&ck, FUZZ_FILE, &err), &err)) {
        FUZZ_CHECK(is_altered || ck.n_layers == (method == METHODS - 1 ? 2 : 1));
        for (size_t i = 0; i < ck.n_layers; i++)
            read_layer(&ck, i);
        sq_checkpoint_close(&ck);
    }
    fuzz_forget();
    free(file);
    return 0;
}
