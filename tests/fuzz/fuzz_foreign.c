// SPDX-License-Identifier: Apache-2.0
// A layer that another program quantized, by each method in turn (sim/llm/foreign/). The header of the file is made
// here and honest, so that every input gets as far as codes and scales; on demand bytes of it are altered afterwards.
// Input: method, rows, columns, whether bytes are altered, then the list of alterations, the rest is data, over and over.
#include "sim/llm/sq_checkpoint.h"
#include "tests/fuzz/fuzz.h"

enum { HEAD_MAX = 2048, PARTS_MAX = 5, METHODS = 9, GROUP = 32 };

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
    struct sq_recipe r;
    struct sq_quant_layer q;
    struct sq_error err;
    const char *why;
    float *w = malloc(l->n * l->k * sizeof *w);
    FUZZ_CHECK(w);
    fuzz_status(sq_checkpoint_read_layer(ck, i, w, &err), &err);
    free(w);
    enum sq_status status = sq_checkpoint_recipe(ck, i, &r, &why, &err);
    if (status == SQ_OK)
        status = sq_checkpoint_encoded(ck, i, &r, &q, &err);
    fuzz_status(status, &err);
    if (status == SQ_OK)
        sq_quant_layer_free(&q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fuzz_reader r = {data, n};
    const unsigned method = fuzz_byte(&r) % METHODS;
    const size_t rows = 8 * (1 + fuzz_byte(&r) % 3), columns = 128 * (1 + fuzz_byte(&r) % 2);
    const bool is_altered = fuzz_byte(&r) % 4 == 1;
    struct part part[PARTS_MAX + 1];
    struct sq_checkpoint ck;
    struct sq_error err;
    size_t nbytes, head;
    list_parts(method, rows, columns, part);
    uint8_t *file = make(part, &nbytes, &head);
    for (size_t i = head; i < nbytes; i++)
        file[i] = r.n > 0 ? r.data[(i - head) % r.n] : 0;
    const int64_t shape[] = {(int64_t)rows, (int64_t)columns};
    if (strcmp(part[2].name ? part[2].name : "", "l.weight_shape") == 0)
        memcpy(file + nbytes - sizeof shape, shape, sizeof shape);
    if (is_altered)
        fuzz_alter(file, nbytes, &r);
    fuzz_file(FUZZ_FILE, file, nbytes);
    const enum sq_status status = sq_checkpoint_open(&ck, FUZZ_FILE, &err);
    fuzz_status(status, &err);
    if (status == SQ_OK) {
        FUZZ_CHECK(is_altered || ck.n_layers == (method == METHODS - 1 ? 2 : 1));
        for (size_t i = 0; i < ck.n_layers; i++)
            read_layer(&ck, i);
        sq_checkpoint_close(&ck);
    }
    fuzz_forget();
    free(file);
    return 0;
}
