// SPDX-License-Identifier: Apache-2.0
// Unpacks codes, zero points and scales of other programs, and computes values of them (sq_foreign.h).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/number/sq_bits.h"
#include "models/scaled/sq_bs_scale.h"
#include "sim/llm/foreign/sq_foreign_parts.h"

uint32_t sq_foreign_word(const uint8_t *data, size_t i)
{
    const uint8_t *p = data + 4 * i;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

float sq_foreign_number(const struct sq_tensor *t, size_t i)
{
    const uint8_t *p = t->data;
    switch (t->dtype) {
    case SQ_F16:
        return sq_f16_to_f32((uint16_t)(p[2 * i] | p[2 * i + 1] << 8));
    case SQ_BF16:
        return sq_bf16_to_f32((uint16_t)(p[2 * i] | p[2 * i + 1] << 8));
    case SQ_F8_E4M3:
        return sq_element_decode(SQ_ELEMENT_E4M3, p[i]);
    case SQ_U8:
    case SQ_F8_E8M0:
        return p[i] == 0xff ? NAN : sq_bs_e8m0_value(p[i]);
    default:
        return sq_float_of(sq_foreign_word(p, i));
    }
}

// ---- codes ------------------------------------------------------------------------------------

// `bits` bits from bit `at` of a stream on, in which byte i is data[i * step + i % 4 ..]: bytes of words that lie
// `stride` words apart.
static unsigned stream_bits(const uint8_t *data, size_t stride, size_t at, unsigned bits)
{
    unsigned code = 0;
    for (unsigned b = 0; b < bits;) {
        const size_t byte = (at + b) / 8;
        const unsigned shift = (unsigned)((at + b) % 8), here = 8 - shift;
        code |= (unsigned)(data[byte / 4 * 4 * stride + byte % 4] >> shift) << b;
        b += here;
    }
    return code & ((1u << bits) - 1);
}

// AWQ's place of column i of eight in a word.
static unsigned awq_shift(size_t i)
{
    return (unsigned)(4 * (i % 8 / 2 + i % 2 * 4));
}

// A row of blocks in a GGUF file. Rows of heads that are stored in pairs stand in the order of Hugging Face.
static struct sq_tensor row_of(const struct sq_foreign_layer *l, size_t row)
{
    if (l->n_interleaved_heads) {
        const size_t dim = l->n / l->n_interleaved_heads, in_head = row % dim, half = dim / 2;
        row = row - in_head + (in_head < half ? 2 * in_head : 2 * (in_head - half) + 1);
    }
    return sq_tensor_rows(l->used[0], row, 1);
}

static const uint8_t *block_at(const struct sq_foreign_layer *l, size_t row, size_t b)
{
    return row_of(l, row).data + b * sq_dtype_nbytes(l->used[0]->dtype);
}

void sq_foreign_block(const struct sq_foreign_layer *l, size_t row, size_t j,
                      struct sq_ggml_block *b)
{
    l->ggml->unpack(l->ggml, block_at(l, row, j), b);
}

// A code of E2M1.
static unsigned ggml_code(const struct sq_foreign_layer *l, size_t row, size_t column)
{
    const size_t length = sq_dtype_block_length(l->used[0]->dtype);
    const uint8_t *block = block_at(l, row, column / length);
    const unsigned i = (unsigned)(column % length);
    return length == 32 ? sq_ggml_nibble(block + 1, 32, i)
                        : sq_ggml_nibble(block + 4 + i / 16 * 8, 16, i % 16);
}

uint8_t sq_foreign_scale_byte(const struct sq_foreign_layer *l, size_t row, size_t group)
{
    if (l->layout != SQ_FOREIGN_GGML)
        return l->scale->data[sq_foreign_scale_place(l, row, group)];
    const size_t a_block = sq_dtype_block_length(l->used[0]->dtype) / l->group;
    return block_at(l, row, group / a_block)[group % a_block];
}

static unsigned code_of(const struct sq_foreign_layer *l, size_t row, size_t column)
{
    const size_t n = l->n, k = l->k, row_nbytes = (k * l->bits + 31) / 32 * 4;
    const size_t a_word = 32 / l->bits;
    switch (l->layout) {
    case SQ_FOREIGN_ROWS:
        if (l->bits == 8)
            return l->data[row * k + column];
        if (l->bits == 4)
            return (unsigned)l->data[(row * k + column) / 2] >> 4 * (column % 2) & 15u;
        return stream_bits(l->data + row * row_nbytes, 1, column * l->bits, l->bits);
    case SQ_FOREIGN_WORDS:
        return sq_foreign_word(l->data, row * ((k + a_word - 1) / a_word) + column / a_word) >>
                   (column % a_word * l->bits) &
               ((1u << l->bits) - 1);
    case SQ_FOREIGN_COLUMNS:
        return stream_bits(l->data + 4 * row, n, column * l->bits, l->bits);
    case SQ_FOREIGN_AWQ:
        return sq_foreign_word(l->data, column * (n / 8) + row / 8) >> awq_shift(row) & 15u;
    case SQ_FOREIGN_GGML:
        return ggml_code(l, row, column);
    case SQ_FOREIGN_HIGH:
        break;
    }
    const size_t i = row * k + column;
    return (unsigned)l->data[i / 2] >> (i % 2 ? 0 : 4) & 15u;
}

size_t sq_foreign_groups(const struct sq_foreign_layer *l)
{
    return (l->k + l->group - 1) / l->group;
}

size_t sq_foreign_n_scales(const struct sq_foreign_layer *l)
{
    return (l->n + l->scale_rows - 1) / l->scale_rows * sq_foreign_groups(l);
}

unsigned sq_foreign_zero(const struct sq_foreign_layer *l, size_t row, size_t group)
{
    const struct sq_tensor *z = l->zero;
    const size_t n = l->n, groups = sq_foreign_groups(l);
    if (!z)
        return 1u << (l->bits - 1);
    if (z->dtype == SQ_I8) // compressed-tensors, beside signed codes
        return (unsigned)(int)(int8_t)z->data[row * groups + group];
    if (l->layout == SQ_FOREIGN_AWQ)
        return sq_foreign_word(z->data, group * (n / 8) + row / 8) >> awq_shift(row) & 15u;
    if (l->layout == SQ_FOREIGN_COLUMNS) // [groups][n * bits / 32]
        return (stream_bits(z->data + group * (n * l->bits / 8), 1, row * l->bits, l->bits) +
                l->zero_more) &
               ((1u << l->bits) - 1);
    const size_t a_word = 32 / l->bits;
    if (l->is_zero_loose)
        return sq_foreign_word(z->data, row / a_word * groups + group) >> (row % a_word * l->bits) &
               ((1u << l->bits) - 1);
    return stream_bits(z->data + 4 * group, groups, row * l->bits, l->bits); // down the rows
}

void sq_foreign_codes(const struct sq_foreign_layer *l, size_t row, uint8_t *code)
{
    const unsigned middle =
        l->code == SQ_FOREIGN_INTEGER && !l->is_signed ? 1u << (l->bits - 1) : 0;
    for (size_t j = 0; l->ggml && j < l->k; j += l->ggml->length) {
        struct sq_ggml_block b;
        sq_foreign_block(l, row, j / l->ggml->length, &b);
        memcpy(code + j, b.code, l->ggml->length);
    }
    for (size_t j = 0; j < l->k; j++)
        code[j] = (uint8_t)((l->ggml ? code[j] : code_of(l, row, j)) - middle);
}

// ---- scales -----------------------------------------------------------------------------------

size_t sq_foreign_scale_place(const struct sq_foreign_layer *l, size_t row, size_t group)
{
    const size_t groups = sq_foreign_groups(l);
    return l->scale_at +
           (l->is_scale_across ? group * l->n + row : row / l->scale_rows * groups + group);
}

float sq_foreign_scale(const struct sq_foreign_layer *l, size_t row, size_t group)
{
    const size_t at = sq_foreign_scale_place(l, row, group);
    return l->scales ? l->scales[at] : sq_foreign_number(l->scale, at);
}

static float scale_of(const struct sq_foreign_layer *l, size_t row, size_t group)
{
    const float scale = sq_foreign_scale(l, row, group);
    return !l->has_global ? scale : l->is_global_divisor ? scale / l->global : scale * l->global;
}

// ---- values -----------------------------------------------------------------------------------

static size_t group_of(const struct sq_foreign_layer *l, size_t column)
{
    return l->order ? sq_foreign_word(l->order->data, column) : column / l->group;
}

static float value_of(const struct sq_foreign_layer *l, size_t row, size_t group, unsigned code)
{
    if (l->code == SQ_FOREIGN_TABLE)
        return l->table[code];
    if (l->code == SQ_FOREIGN_ELEMENT)
        return sq_element_decode(l->element, (uint8_t)code);
    if (l->is_signed)
        return (float)((int)(int8_t)code - (l->zero ? (int)sq_foreign_zero(l, row, group) : 0));
    return (float)((int)code - (int)sq_foreign_zero(l, row, group));
}

// A row of blocks, as llama.cpp computes them, times what is above them.
static void read_blocks(const struct sq_foreign_layer *l, size_t row, float *v)
{
    const struct sq_tensor t = row_of(l, row);
    (void)sq_tensor_read_f32(&t, v, NULL); // what is not finite is refused below, with its row
    for (size_t j = 0; l->has_global && j < l->k; j++)
        v[j] *= l->global;
}

// A row of codes at scale[groups].
static void read_codes(const struct sq_foreign_layer *l, size_t row, float *scale, float *v)
{
    for (size_t g = 0; g < sq_foreign_groups(l); g++)
        scale[g] = scale_of(l, row, g);
    for (size_t j = 0; j < l->k; j++) {
        const size_t g = group_of(l, j);
        v[j] = value_of(l, row, g, code_of(l, row, j)) * scale[g];
    }
}

enum sq_status sq_foreign_read(const struct sq_foreign_layer *l, size_t first, size_t end,
                               float *out, struct sq_error *err)
{
    const size_t groups = sq_foreign_groups(l);
    SQ_FREED float *scale = malloc(groups * sizeof *scale);
    SQ_NEED(scale, err, "%zu groups", groups);
    for (size_t row = first; row < end; row++) {
        float *v = out + (row - first) * l->k;
        size_t j = 0;
        if (l->layout == SQ_FOREIGN_GGML)
            read_blocks(l, row, v);
        else
            read_codes(l, row, scale, v);
        while (j < l->k && isfinite(v[j]))
            j++;
        if (j < l->k)
            return SQ_FAIL(err, SQ_ERR_NON_FINITE, "row %zu, column %zu of tensor '%.80s' is %s",
                           row, j, l->used[0]->name, isnan(v[j]) ? "NaN" : "infinite");
    }
    return SQ_OK;
}

void sq_foreign_free(struct sq_foreign_layer *l)
{
    free(l->scales);
    *l = (struct sq_foreign_layer){0};
}
