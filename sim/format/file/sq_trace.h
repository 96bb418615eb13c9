// SPDX-License-Identifier: Apache-2.0
// Kernel traces (SPEC O.1): what a CUDA kernel read and what it wrote, in safetensors files, and
// their replay by the golden model: every output recomputed from the inputs in the file and
// compared bit for bit. sq_route_cosim.h takes the same product through cycle
// model and RTL.
//
// Metadata: system, version = 1, scale_type = f32 (of scales that no format fixes), producer (cuda:
// a GPU wrote it; emulator: the same kernels on the host), M, N, K, what a system needs besides,
// and input_digest: of the bytes of all inputs, a piece each (sq_digest.h), in the order below.
// Outputs are recomputed and inputs digested, so no bit of the data can change unseen.
//
//   system  inputs                                      outputs
//   sq_w    w F32 [N][K], x I8 [M][K], s_x F32 [M]      lo, hi U8, s_lo, s_hi F32 (SPEC A.6), p_lo,
//                                                       p_hi I32 [M][N][K/group], y F32 [M][N]
//   sq_a    x F32 [M][K] (values of BF16), w I8 [N][K]  code I8 [M][K], s_lo, s_hi F32 [M], p_lo,
//           4-bit codes, s_w F32 [N]; flags = static:   p_hi I32, y F32 [M][N]; flags = dynamic:
//           mask U8 [K]                                 mask U8 [M][K] (SPEC B.5, B.6)
//   dense   x F32 [M][K] (values of BF16), w I8 [N][K], code I8 [M][K], s_x F32 [M], p_lo I32, y
//           s_w F32 [N]; act_bits, weight_bits 4 or 8   F32 [M][N]
//   sp24    w I8 [N][K] pruned, x I8 [M][K], s_x F32    values I8 [N][K/2], meta U8 [N][K/8]
//           [M], s_w F32 [N]                            (little-endian words, E.3), p_lo, y [M][N]
//   gqsa    w F32 [N][K], x I8 [M][K], row_index I32    values U8 [nnz][8], s_w F16 [nnz], zero U8
//           [N+1], groups U8 [nnz][2] (SPEC F.4)        (nibbles), p_lo I32 [M][N]: the integers of
//                                                       a row's groups, all scales 1
//   spqt    w F32 [N][K], x F16 [M][K], theta F32 [1]   superblocks U8 [N/256][K][144], n_active
//                                                       I32 [M], index I32 [M][K], -1 behind the
//                                                       last (SPEC G.4, G.6)
//   spqr    dense64 I64 [N/16][K/16][16], row_offsets   words I64: dense64 through the order of the
//           I32 [N+1], col_val I32 [nnz], x F16 [M][K]  repacked kernel and back; y F16 [M][N], the
//                                                       published kernel (SPEC H.3, H.4, H.7)
#pragma once

#include "sim/format/sq_product.h"
#include "sim/io/sq_digest.h"

enum { SQ_TRACE_GQSA_GROUP = 16 };

struct sq_format_ops;

// An open trace; p points into it, so it is not moved. Buffers that the functions below hand out
// live until sq_trace_close.
struct sq_trace {
    struct sq_safetensors st;
    struct sq_product p; // what the file holds; p.source: the path, of the caller
    const struct sq_format_ops *format;
    const char *system_name, *producer; // of the metadata
    size_t n_values;                    // outputs compared so far
    bool is_different;       // the failure was an output that the golden model does not give
    struct sq_digest digest; // of the inputs taken so far
};

// True where the metadata name a system: a kernel trace, or an encoded operand, which
// sq_trace_open refuses by its first missing field.
bool sq_trace_is(const char *path);

// Errors as sq_safetensors_open; SQ_ERR_DAMAGED and SQ_ERR_UNSUPPORTED name the metadata field, its
// value and what is needed. After a failure *r is closed.
enum sq_status sq_trace_open(struct sq_trace *r, const char *path, struct sq_error *err);
void sq_trace_close(struct sq_trace *r);

// Recomputes and compares everything. A difference is SQ_ERR_DAMAGED with r->is_different, tensor,
// element and both values; a field out of range or an input that its digest denies is an error
// without it.
enum sq_status sq_trace_values(struct sq_trace *r, struct sq_error *err);

// Puts the scales into r->p, so that it is a product whose output is `y`, as those of layers are. For the
// chip: SQ_ERR_UNSUPPORTED names a system that the chip does not run, and those that it runs.
enum sq_status sq_trace_put_output(struct sq_trace *r, struct sq_error *err);

// Open, values, close; *n_values counts compared values.
enum sq_status sq_trace_check(const char *path, size_t *n_values, struct sq_error *err);

// ---- for the formats ------------------------------------------------------------------------

// A tensor of this dtype and of n elements, aligned, that also goes into the digest.
enum sq_status sq_trace_input(struct sq_trace *r, const char *name, enum sq_dtype dtype, size_t n,
                              const void **data, struct sq_error *err);
// An output against what it should be.
enum sq_status sq_trace_compare(struct sq_trace *r, const char *name, enum sq_dtype dtype, size_t n,
                                const void *want, struct sq_error *err);

// Into a typed pointer, in a function with `err` that returns a status.
#define SQ_TRACE_KEEP(r, pointer, n) SQ_PRODUCT_KEEP(&(r)->p, pointer, n)
#define SQ_TRACE_TENSOR(r, name, dtype, n, pointer)                                                \
    SQ_PRODUCT_TENSOR(&(r)->p, name, dtype, n, pointer)
#define SQ_TRACE_COPY(r, name, dtype, n, pointer) SQ_PRODUCT_COPY(&(r)->p, name, dtype, n, pointer)
// An input, as the copy of it that is kept already.
#define SQ_TRACE_INPUT_COPY(r, name, dtype, n, pointer)                                            \
    do {                                                                                           \
        const void *data_;                                                                         \
        SQ_TRY(sq_trace_input((r), (name), (dtype), (n), &data_, err));                            \
        (pointer) = (void *)(uintptr_t)data_;                                                      \
    } while (0)
#define SQ_TRACE_INPUT(r, name, dtype, n, pointer)                                                 \
    do {                                                                                           \
        const void *data_;                                                                         \
        SQ_TRY(sq_trace_input((r), (name), (dtype), (n), &data_, err));                            \
        (pointer) = data_;                                                                         \
    } while (0)

// p_lo and y of x[m][k], w[n][k] with a scale per token and per channel, against the file's.
enum sq_status sq_trace_product(struct sq_trace *r, const int8_t *x, const float *s_x,
                                const int8_t *w, const float *s_w, struct sq_error *err);
