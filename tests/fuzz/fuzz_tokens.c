// SPDX-License-Identifier: Apache-2.0
// Token files: a vocabulary of 48 and sequences of at most 64.
#include "sim/llm/text/sq_tokens.h"
#include "tests/fuzz/fuzz.h"

enum { VOCAB = 48, MAX_POSITION = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sq_tokens t;
    struct sq_error err;
    fuzz_file(FUZZ_FILE, data, n);
    if (!fuzz_ok(sq_tokens_read(&t, FUZZ_FILE, VOCAB, MAX_POSITION, &err), &err))
        return 0;
    FUZZ_CHECK(t.n_sequences >= 1 && t.offset[0] == 0);
    for (size_t i = 0; i < t.n_sequences; i++) {
        const size_t len = t.offset[i + 1] - t.offset[i];
        FUZZ_CHECK(t.offset[i + 1] > t.offset[i] && len >= 2 && len <= MAX_POSITION);
    }
    for (size_t i = 0; i < sq_tokens_count(&t); i++)
        FUZZ_CHECK(t.id[i] >= 0 && t.id[i] < VOCAB);
    FUZZ_CHECK(sq_tokens_predicted(&t) == sq_tokens_count(&t) - t.n_sequences);
    sq_tokens_free(&t);
    return 0;
}
