// SPDX-License-Identifier: Apache-2.0
// What files of layers have in common (SPEC O.1): names "<layer>.<part>", and metadata and tensors on their way out.
#pragma once

#include <inttypes.h>

#include "sim/io/sq_safetensors.h"

#define SQ_DIM_MAX (UINT64_C(1) << 31) // of N, K and k_orig

// "layer" + "meta" -> "layer.meta"; "" + "meta" -> "meta". The caller frees; NULL without memory.
char *sq_content_name(const char *layer, const char *part);
// Length of the layer's name in "<layer>.<part>", 0 of "<part>" alone; -1 where the name has another part.
long sq_content_layer_length(const char *name, const char *part);

// The text of "<layer>.<key>" (SQ_ERR_DAMAGED where it is missing); and whether a text is a decimal number of min..max,
// digits only.
enum sq_status sq_content_find(const struct sq_safetensors *st, const char *layer, const char *key,
                               const char **text, struct sq_error *err);
bool sq_content_is_number(const char *text, uint64_t min, uint64_t max, uint64_t *value);

// Lists that own their strings. Where memory is missing, has_failed is set and nothing more is added.
struct sq_content {
    struct sq_metadata *pair;
    struct sq_tensor *tensor;
    size_t n_pairs, n_tensors;
    bool has_failed;
};
// Room for so many; tensors up to n_tensors have names of sq_content_name, or NULL.
void sq_content_init(struct sq_content *c, size_t max_pairs, size_t max_tensors);
void sq_content_free(struct sq_content *c);
void sq_content_text(struct sq_content *c, const char *layer, const char *key, const char *text);
void sq_content_number(struct sq_content *c, const char *layer, const char *key, uint64_t v);
// What each layer has: N, K, k_orig, input_digest.
enum { SQ_CONTENT_LAYER = 4 };
void sq_content_layer(struct sq_content *c, const char *layer, size_t n, size_t k, size_t k_orig,
                      const struct sq_digest *input);
// Tensor `at`, a matrix, whose data is put later.
void sq_content_matrix(struct sq_content *c, size_t at, const char *layer, const char *part,
                       enum sq_dtype dtype, size_t rows, size_t cols);
