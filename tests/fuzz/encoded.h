// SPDX-License-Identifier: Apache-2.0
// Encoded weights of every format, as the product writes them, and everything it does with them.
#pragma once

#include "tests/fuzz/fuzz.h"

enum { ENCODED_TEMPLATES = 32, ENCODED_SQ_W = 3 }; // the first three are sq_w

// A valid file in format i < ENCODED_TEMPLATES, small. Owned here.
const uint8_t *encoded_template(unsigned i, size_t *n);

// Opens the file as format sq_w or as one of the others, and loads, decodes and multiplies every
// layer. With `rewrite` each is also written again, and what comes back must be the same.
void encoded_use(const char *path, bool is_sq_w, bool rewrite);

// The same without writing on template i, its data altered by the list; the header is read only
// once.
void encoded_use_altered(unsigned i, struct fuzz_reader *list);
