// SPDX-License-Identifier: Apache-2.0
// A tokenizer, from tokenizer.json or from a GGUF file, and a text by it. Input: length of the
// tokenizer (u16), its bytes, the rest is the text.
#include "sim/llm/text/sq_token_source.h"
#include "sim/llm/text/sq_tokenizer.h"
#include "tests/fuzz/fuzz.h"

// Ids cover no more than the text, and the text by itself gives the same again.
static void encode(const struct sq_tokenizer *t, const uint8_t *text, size_t n_text)
{
    struct sq_error err;
    int32_t *id, *again;
    size_t n, n_again;
    if (!fuzz_ok(sq_tokenizer_encode(t, (const char *)text, n_text, &id, &n, &err), &err))
        return;
    for (size_t i = 0; i < n; i++)
        FUZZ_CHECK(id[i] >= 0);
    FUZZ_CHECK(n <= 4 * n_text); // NFC makes a character longer
    FUZZ_CHECK(sq_tokenizer_encode(t, (const char *)text, n_text, &again, &n_again, &err) == SQ_OK);
    FUZZ_CHECK(n == n_again && memcmp(id, again, n * sizeof *id) == 0);
    free(id);
    free(again);
}

static void cut(const struct sq_checkpoint *ck, const char *model)
{
    for (enum sq_bos bos = SQ_BOS_DEFAULT; bos < SQ_BOS_COUNT; bos++) {
        struct sq_token_source s = {.text = "mem/text", .window = 7, .stride = 3, .bos = bos};
        struct sq_tokens t;
        struct sq_error err;
        if (!fuzz_ok(sq_token_source_read(&s, ck, model, "x", &t, &err), &err))
            continue;
        FUZZ_CHECK(sq_tokens_predicted(&t) < sq_tokens_count(&t));
        for (size_t i = 0; i < sq_tokens_count(&t); i++)
            FUZZ_CHECK(t.id[i] >= 0 && (size_t)t.id[i] < ck->config.vocab_size);
        sq_tokens_free(&t);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fuzz_reader r = {data, n};
    size_t length;
    const size_t n_tokenizer = fuzz_u16(&r);
    const uint8_t *bytes = fuzz_bytes(&r, n_tokenizer, &length);
    struct sq_checkpoint ck = {.is_model = true,
                               .config = {.vocab_size = 1 << 24, .max_position = 64}};
    struct sq_tokenizer t;
    struct sq_error err;
    fuzz_forget();
    fuzz_file("mem/m/tokenizer.json", bytes, length);
    fuzz_file("mem/m/config.json", "{\"bos_token_id\":3}", 18);
    fuzz_file("mem/text", r.data, r.n);
    enum sq_status status;
    if (sq_gguf_is("mem/m/tokenizer.json")) {
        status = sq_gguf_open(&ck.gguf, "mem/m/tokenizer.json", &err);
        fuzz_ok(status, &err);
        if (status != SQ_OK)
            return 0;
        ck.tensor = ck.gguf.tensor;
        status = sq_tokenizer_of_gguf(&t, &ck.gguf, "f", &err);
    } else {
        status = sq_tokenizer_read(&t, "mem/m/tokenizer.json", &err);
    }
    fuzz_ok(status, &err);
    if (status == SQ_OK) {
        encode(&t, r.data, r.n);
        sq_tokenizer_free(&t);
        cut(&ck, "mem/m");
    }
    sq_gguf_close(&ck.gguf);
    return 0;
}
