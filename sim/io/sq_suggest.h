// SPDX-License-Identifier: Apache-2.0
// The name that was probably meant.
#pragma once

#include <stddef.h>

// The nearest of names[0..n-1] to `text` by edit distance, a name that begins with `text` before
// all others; NULL if none is near. Texts longer than 63 are near nothing.
const char *sq_suggest(const char *text, const char *const *names, size_t n);
