// SPDX-License-Identifier: Apache-2.0
// Hashes pieces with XXH3, and writes and reads digests in hex (sq_digest.h).
#include "sim/io/sq_digest.h"
#include "sim/io/sq_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

struct sq_digest sq_digest_of(const void *bytes, size_t n)
{
    const XXH128_hash_t h = XXH3_128bits(bytes, n);
    return (struct sq_digest){h.low64, h.high64};
}

static void put_be(uint8_t *out, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)(v >> (56 - 8 * i));
}

void sq_digest_add(struct sq_digest *d, const void *bytes, size_t n)
{
    const struct sq_digest piece = sq_digest_of(bytes, n);
    uint8_t all[40];
    put_be(all, d->high);
    put_be(all + 8, d->low);
    for (int i = 0; i < 8; i++)
        all[16 + i] = (uint8_t)((uint64_t)n >> 8 * i);
    put_be(all + 24, piece.high);
    put_be(all + 32, piece.low);
    *d = sq_digest_of(all, sizeof all);
}

enum sq_status sq_digest_add_file(struct sq_digest *d, const char *path, struct sq_error *err)
{
    SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
    SQ_TRY(sq_file_map(path, &map, err));
    sq_digest_add(d, map.data, map.nbytes);
    return SQ_OK;
}

bool sq_digest_is_equal(struct sq_digest a, struct sq_digest b)
{
    return a.low == b.low && a.high == b.high;
}

void sq_digest_hex(struct sq_digest d, char text[SQ_DIGEST_SIZE])
{
    snprintf(text, SQ_DIGEST_SIZE, "%016" PRIx64 "%016" PRIx64, d.high, d.low);
}

bool sq_digest_parse(const char *text, struct sq_digest *d)
{
    *d = (struct sq_digest){0};
    for (unsigned i = 0; i < SQ_DIGEST_SIZE - 1; i++) {
        const char *digits = "0123456789abcdef";
        const char *at = text[i] ? strchr(digits, text[i]) : NULL;
        if (!at)
            return false;
        uint64_t *half = i < 16 ? &d->high : &d->low;
        *half = *half << 4 | (uint64_t)(at - digits);
    }
    return text[SQ_DIGEST_SIZE - 1] == '\0';
}

void sq_digest_label(struct sq_digest d, char text[SQ_DIGEST_LABEL_SIZE])
{
    snprintf(text, SQ_DIGEST_LABEL_SIZE, "xxh3-128:%016" PRIx64 "%016" PRIx64, d.high, d.low);
}
