// SPDX-License-Identifier: Apache-2.0
// The part of a format's table that GPU models read (sim/gpu/sq_gpu_predict.h): which kind of
// product the format is on a GPU, and which measured kernels of gpu/ belong to it.
#pragma once

#include <stdbool.h>

struct sq_recipe;

enum sq_gpu_product { SQ_GPU_PRODUCT_BF16, SQ_GPU_PRODUCT_INT8 };
// The `product` of formats that always take the one or the other.
enum sq_gpu_product sq_gpu_product_bf16(const struct sq_recipe *r);
enum sq_gpu_product sq_gpu_product_int8(const struct sq_recipe *r);

// A measured kernel, as far as a format recognizes its own by it.
struct sq_gpu_sample {
    const char *dtype_a, *dtype_w;
    double sparsity;
};
bool sq_gpu_is_f16(const struct sq_gpu_sample *s); // its activations
// Whether its sparsity is this share; a record has the one that whole banks and columns gave.
bool sq_gpu_is_share(const struct sq_gpu_sample *s, double share);

struct sq_format_gpu {
    bool is_split; // a record of it with two data types is a product split between them
    // The tensor core product that a decoded tile goes to.
    enum sq_gpu_product (*product)(const struct sq_recipe *r);
    bool is_sparse;                                // 2:4
    bool (*is_library)(const struct sq_recipe *r); // a library's product counts; NULL: not
    const char *record; // what its records are called; NULL: as the format
    bool (*is_record)(const struct sq_recipe *r, const struct sq_gpu_sample *s); // NULL: any
};
