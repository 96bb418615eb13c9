// SPDX-License-Identifier: Apache-2.0
// Digests of 128 bits (XXH3, libxxhash): of one run of bytes, or of several pieces in their order.
// They find damage and tell inputs apart; they are no protection against who forges one.
//
//   struct sq_digest d = {0};                 // nothing yet
//   sq_digest_add(&d, name, strlen(name));    // a piece: its bytes and where it ends
//   sq_digest_add(&d, data, nbytes);
//
// The same pieces give the same digest on every machine; the same bytes cut elsewhere another.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sq_status.h"

struct sq_digest {
    uint64_t low, high;
};

// XXH3-128 of n bytes: what `xxh128sum` prints. bytes may be NULL where n = 0.
struct sq_digest sq_digest_of(const void *bytes, size_t n);

// d followed by one more piece: XXH3-128 of (d as 16 bytes, n as 8, XXH3-128 of the piece as 16),
// digests big-endian as they are printed, n little-endian.
void sq_digest_add(struct sq_digest *d, const void *bytes, size_t n);

// The same with the bytes of a file as the piece. Errors of sq_file_map().
enum sq_status sq_digest_add_file(struct sq_digest *d, const char *path, struct sq_error *err);

bool sq_digest_is_equal(struct sq_digest a, struct sq_digest b);

// As 32 lower-case hex digits, high half first.
enum { SQ_DIGEST_SIZE = 33 };
void sq_digest_hex(struct sq_digest d, char text[SQ_DIGEST_SIZE]);
// Back from such a text; false where it is anything else.
bool sq_digest_parse(const char *text, struct sq_digest *d);

// The same behind its name, as metadata of files hold it: "xxh3-128:0123...".
enum { SQ_DIGEST_LABEL_SIZE = 42 };
void sq_digest_label(struct sq_digest d, char text[SQ_DIGEST_LABEL_SIZE]);
