// SPDX-License-Identifier: Apache-2.0
// One product Y = X W^T as the RTL blocks of a format read it: encoded operands and the integer
// sums that they give, as tensors and whole numbers with names. Routes (sq_route.h) make beats of
// it. It comes from a file that a CUDA kernel left (sq_trace.h), or from an encoded layer and the
// activations that it sees.
#pragma once

#include "sim/io/sq_safetensors.h"

enum { SQ_PRODUCT_OWNED_MAX = 64, SQ_PRODUCT_TENSORS_MAX = 20, SQ_PRODUCT_NUMBERS_MAX = 12 };

// Zeros: empty. Buffers that the functions below hand out live until sq_product_free.
struct sq_product {
    const char *source; // what errors begin with: a file or a layer; of the caller
    size_t m, n, k;     // k: as the blocks take it, padded
    // The product of a layer gives codes alone, as a chip reads them: x keeps its bits and is no tensor; else it is rounded to
    // what the encoder in front of the first block reads.
    bool is_coded;
    bool is_shape; // no value is looked at: a scale above blocks is what the encoder makes of it
    // What was not put is looked for here, numbers in the metadata; NULL: nowhere.
    const struct sq_safetensors *file;
    struct sq_product_tensor {
        const char *name;
        enum sq_dtype dtype;
        size_t n_elements;
        const void *data;
    } tensor[SQ_PRODUCT_TENSORS_MAX];
    size_t n_tensors;
    struct sq_product_number {
        const char *name;
        size_t value;
    } number[SQ_PRODUCT_NUMBERS_MAX];
    size_t n_numbers;
    void *owned[SQ_PRODUCT_OWNED_MAX];
    size_t n_owned;
};
void sq_product_free(struct sq_product *p);

// 64-byte aligned, zero.
enum sq_status sq_product_keep(struct sq_product *p, size_t nbytes, void **data,
                               struct sq_error *err);
// A tensor or a number of this name from here on; names are literals, data stays the caller's
// (aligned, as long as *p lives).
void sq_product_put(struct sq_product *p, const char *name, enum sq_dtype dtype, size_t n,
                    const void *data);
void sq_product_put_number(struct sq_product *p, const char *name, size_t value);

// Number `name` in min..max: SQ_ERR_DAMAGED with name and value.
enum sq_status sq_product_number(const struct sq_product *p, const char *name, size_t min,
                                 size_t max, size_t *value, struct sq_error *err);
// The same where a product may leave it out.
enum sq_status sq_product_option(const struct sq_product *p, const char *name, size_t min,
                                 size_t max, size_t fallback, size_t *value, struct sq_error *err);
// A tensor of this dtype and of n elements, aligned: SQ_ERR_DAMAGED where there is none.
enum sq_status sq_product_tensor(struct sq_product *p, const char *name, enum sq_dtype dtype,
                                 size_t n, const void **data, struct sq_error *err);
// A copy of it that the product keeps.
enum sq_status sq_product_copy(struct sq_product *p, const char *name, enum sq_dtype dtype,
                               size_t n, void **data, struct sq_error *err);
// Elements of a tensor, SIZE_MAX where it is missing.
size_t sq_product_count(const struct sq_product *p, const char *name);

// Numbers bank and k, of which K is a multiple.
enum sq_status sq_product_bank(const struct sq_product *p, unsigned *bank, unsigned *high,
                               struct sq_error *err);
// Scale groups of a weight row: K over the number `group`; 1 without it.
enum sq_status sq_product_groups(const struct sq_product *p, size_t *groups, struct sq_error *err);

struct sq_format;
// Numbers bank, k, group, and high_bits, low_bits (8, 4) of weights in the SQ-format.
enum sq_status sq_product_format(const struct sq_product *p, struct sq_format *f,
                                 struct sq_error *err);

// The same into a typed pointer, in a function with `err` that returns a status.
#define SQ_PRODUCT_KEEP(p, pointer, n)                                                             \
    do {                                                                                           \
        void *data_;                                                                               \
        SQ_TRY(sq_product_keep((p), (n) * sizeof *(pointer), &data_, err));                        \
        (pointer) = data_;                                                                         \
    } while (0)
#define SQ_PRODUCT_COPY(p, name, dtype, n, pointer)                                                \
    do {                                                                                           \
        void *data_;                                                                               \
        SQ_TRY(sq_product_copy((p), (name), (dtype), (n), &data_, err));                           \
        (pointer) = data_;                                                                         \
    } while (0)
#define SQ_PRODUCT_TENSOR(p, name, dtype, n, pointer)                                              \
    do {                                                                                           \
        const void *data_;                                                                         \
        SQ_TRY(sq_product_tensor((p), (name), (dtype), (n), &data_, err));                         \
        (pointer) = data_;                                                                         \
    } while (0)
