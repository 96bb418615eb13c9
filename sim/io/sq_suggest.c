// SPDX-License-Identifier: Apache-2.0
// Finds the name that begins with the text, or has the smallest edit distance to it (sq_suggest.h).
#include "sim/io/sq_suggest.h"

#include <string.h>

enum { NAME_MAX_LEN = 63 };

// Levenshtein distance; both texts at most NAME_MAX_LEN long.
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[NAME_MAX_LEN + 1], nb = strlen(b);
    for (size_t j = 0; j <= nb; j++)
        row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < nb; j++) {
            size_t change = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            size_t step = (row[j] < diagonal ? row[j] : diagonal) + 1;
            row[j + 1] = change < step ? change : step;
        }
    }
    return row[nb];
}

const char *sq_suggest(const char *text, const char *const *names, size_t n)
{
    size_t len = strlen(text), best = 1 + (len > 9 ? 3 : len / 3);
    const char *nearest = NULL;
    if (len > NAME_MAX_LEN || len == 0)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        if (strlen(names[i]) > NAME_MAX_LEN)
            continue;
        // The start of a name is nearer than any typo.
        size_t d =
            len >= 2 && strncmp(text, names[i], len) == 0 ? 0 : edit_distance(text, names[i]);
        if (d < best || (d == best && !nearest)) {
            best = d;
            nearest = names[i];
        }
    }
    return nearest;
}
