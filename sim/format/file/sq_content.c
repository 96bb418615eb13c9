// SPDX-License-Identifier: Apache-2.0
// Makes and reads names, metadata and tensors of files of layers (sq_content.h).
#include "sim/format/file/sq_content.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *sq_content_name(const char *layer, const char *part)
{
    const size_t n = strlen(layer) + strlen(part) + 2;
    char *full = malloc(n);
    if (full)
        snprintf(full, n, "%s%s%s", layer, *layer ? "." : "", part);
    return full;
}

long sq_content_layer_length(const char *name, const char *part)
{
    const size_t n = strlen(name), tail = strlen(part);
    if (strcmp(name, part) == 0)
        return 0;
    return n > tail + 1 && name[n - tail - 1] == '.' && strcmp(name + n - tail, part) == 0
               ? (long)(n - tail - 1)
               : -1;
}

enum sq_status sq_content_find(const struct sq_safetensors *st, const char *layer, const char *key,
                               const char **text, struct sq_error *err)
{
    SQ_FREED char *full = sq_content_name(layer, key);
    SQ_NEED(full, err, "metadata");
    *text = sq_safetensors_metadata(st, full);
    SQ_FAIL_IF(!*text, err, SQ_ERR_DAMAGED, "metadata %s of '%.60s' is missing", key, layer);
    return SQ_OK;
}

bool sq_content_is_number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
    const size_t len = strspn(text, "0123456789");
    *value = 0;
    for (size_t i = 0; i < len && i < 11; i++)
        *value = 10 * *value + (uint64_t)(text[i] - '0');
    return len > 0 && len <= 10 && text[len] == '\0' && *value >= min && *value <= max;
}

void sq_content_init(struct sq_content *c, size_t max_pairs, size_t max_tensors)
{
    *c = (struct sq_content){.pair = calloc(max_pairs, sizeof *c->pair),
                             .tensor = calloc(max_tensors, sizeof *c->tensor)};
    c->has_failed = !c->pair || !c->tensor;
}

void sq_content_free(struct sq_content *c)
{
    for (size_t i = 0; c->tensor && i < c->n_tensors; i++)
        free((void *)(uintptr_t)c->tensor[i].name);
    for (size_t i = 0; i < c->n_pairs; i++)
        SQ_FREE((void *)(uintptr_t)c->pair[i].key, (void *)(uintptr_t)c->pair[i].value);
    SQ_FREE(c->tensor, c->pair);
}

void sq_content_text(struct sq_content *c, const char *layer, const char *key, const char *text)
{
    if (c->has_failed)
        return;
    struct sq_metadata *const p = &c->pair[c->n_pairs++];
    *p = (struct sq_metadata){sq_content_name(layer, key), strdup(text)};
    c->has_failed = !p->key || !p->value;
}

void sq_content_number(struct sq_content *c, const char *layer, const char *key, uint64_t v)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, v);
    sq_content_text(c, layer, key, text);
}

void sq_content_layer(struct sq_content *c, const char *layer, size_t n, size_t k, size_t k_orig,
                      const struct sq_digest *input)
{
    char digest[SQ_DIGEST_LABEL_SIZE];
    sq_content_number(c, layer, "N", n);
    sq_content_number(c, layer, "K", k);
    sq_content_number(c, layer, "k_orig", k_orig);
    sq_digest_label(*input, digest);
    sq_content_text(c, layer, "input_digest", digest);
}

void sq_content_matrix(struct sq_content *c, size_t at, const char *layer, const char *part,
                       enum sq_dtype dtype, size_t rows, size_t cols)
{
    c->tensor[at] = (struct sq_tensor){
        .name = sq_content_name(layer, part), .dtype = dtype, .n_dims = 2, .dim = {rows, cols}};
    c->has_failed = c->has_failed || !c->tensor[at].name;
}
