// SPDX-License-Identifier: Apache-2.0
// Writes GGUF byte by byte, lies included: what sim/io/sq_gguf.c reads, from its own knowledge of
// the layout.
#pragma once

#include "tests/unit/tmpdir.h"

struct gguf_bytes {
    uint8_t *at;
    size_t n, room;
};

static inline void gguf_raw(struct gguf_bytes *b, const void *bytes, size_t n)
{
    if (b->n + n > b->room) {
        b->room = 2 * (b->n + n) + 256;
        uint8_t *const at = fixture_exact(b->room);
        b->at = b->n > 0 ? memcpy(at, b->at, b->n) : at;
    }
    if (n > 0)
        memcpy(b->at + b->n, bytes, n);
    b->n += n;
}

static inline void gguf_number(struct gguf_bytes *b, uint64_t v, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        gguf_raw(b, &(uint8_t){(uint8_t)(v >> 8 * i)}, 1);
}

static inline void gguf_string(struct gguf_bytes *b, const char *text)
{
    gguf_number(b, strlen(text), 8);
    gguf_raw(b, text, strlen(text));
}

static inline void gguf_head(struct gguf_bytes *b, unsigned version, uint64_t n_tensors,
                             uint64_t n_values)
{
    gguf_raw(b, "GGUF", 4);
    gguf_number(b, version, 4);
    gguf_number(b, n_tensors, 8);
    gguf_number(b, n_values, 8);
}

enum { GGUF_U32 = 4, GGUF_I32 = 5, GGUF_F32 = 6, GGUF_BOOL = 7, GGUF_STRING = 8, GGUF_ARRAY = 9 };

static inline void gguf_u32(struct gguf_bytes *b, const char *key, uint32_t v)
{
    gguf_string(b, key);
    gguf_number(b, GGUF_U32, 4);
    gguf_number(b, v, 4);
}

static inline void gguf_f32(struct gguf_bytes *b, const char *key, float v)
{
    gguf_string(b, key);
    gguf_number(b, GGUF_F32, 4);
    gguf_number(b, sq_bits_of(v), 4);
}

static inline void gguf_text(struct gguf_bytes *b, const char *key, const char *v)
{
    gguf_string(b, key);
    gguf_number(b, GGUF_STRING, 4);
    gguf_string(b, v);
}

static inline void gguf_array(struct gguf_bytes *b, const char *key, unsigned type, uint64_t n)
{
    gguf_string(b, key);
    gguf_number(b, GGUF_ARRAY, 4);
    gguf_number(b, type, 4);
    gguf_number(b, n, 8);
}

// Rows of k elements, k varying fastest; n = 0: one dimension.
static inline void gguf_tensor(struct gguf_bytes *b, const char *name, uint64_t k, uint64_t n,
                               unsigned type, uint64_t offset)
{
    gguf_string(b, name);
    gguf_number(b, n ? 2 : 1, 4);
    gguf_number(b, k, 8);
    if (n)
        gguf_number(b, n, 8);
    gguf_number(b, type, 4);
    gguf_number(b, offset, 8);
}

static inline void gguf_pad(struct gguf_bytes *b, size_t alignment)
{
    while (b->n % alignment != 0)
        gguf_raw(b, "", 1);
}
