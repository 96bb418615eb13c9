// SPDX-License-Identifier: Apache-2.0
// tokenizer.json of Hugging Face: the input is the file, so that libFuzzer's changes are those of
// JSON; a fixed text of many scripts is then cut by it, twice.
#include "sim/llm/text/sq_tokenizer.h"
#include "tests/fuzz/fuzz.h"

static const char text[] = "Hello  world, it's 12345\tA\xcc\x8a \xc3\xa9\xe4\xb8\xad\xe6\x96\x87 "
                           "\xf0\x9f\x98\x80<|endoftext|>\r\n\n  end";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sq_tokenizer t;
    struct sq_error err;
    fuzz_forget();
    fuzz_file("mem/tokenizer.json", data, n);
    if (!fuzz_ok(sq_tokenizer_read(&t, "mem/tokenizer.json", &err), &err))
        return 0;
    int32_t *id[2] = {NULL, NULL};
    size_t n_ids[2] = {0, 0};
    for (unsigned i = 0; i < 2; i++)
        FUZZ_CHECK(
            fuzz_ok(sq_tokenizer_encode(&t, text, sizeof text - 1, &id[i], &n_ids[i], &err), &err));
    FUZZ_CHECK(n_ids[0] == n_ids[1] && memcmp(id[0], id[1], n_ids[0] * sizeof *id[0]) == 0);
    for (size_t i = 0; i < n_ids[0]; i++)
        FUZZ_CHECK(id[0][i] >= 0);
    free(id[0]);
    free(id[1]);
    sq_tokenizer_free(&t);
    return 0;
}
