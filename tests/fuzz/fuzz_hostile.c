// SPDX-License-Identifier: Apache-2.0
// Hostile encodings: a valid header and altered data. The first byte chooses the format, the rest
// is the list of changes (fuzz_alter).
#include "tests/fuzz/encoded.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fuzz_reader r = {data, n};
    const unsigned format = fuzz_byte(&r) % ENCODED_TEMPLATES;
    encoded_use_altered(format, &r);
    return 0;
}
