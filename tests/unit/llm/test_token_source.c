// SPDX-License-Identifier: Apache-2.0
// Texts cut into windows. Exhausted: every window and stride of a text of 40 tokens under every
// BOS, each token of it predicted once; every refusal.
#include "sim/llm/text/sq_token_source.h"
#include "tests/unit/llm/tokenizer_fixture.h"

enum { VOCAB = 1000, CONTEXT = 64, BOS = 420 }; // "<|end|>"

static struct sq_checkpoint a_model(void)
{
    static const char config[] = "{\"bos_token_id\":420}";
    json_t *file = tokenizer_of(json_array_get(kinds, 0));
    write_json(file, 0);
    json_decref(file);
    write_bytes(tmpdir_path(dir, "config.json"), config, strlen(config));
    return (struct sq_checkpoint){.is_model = true,
                                  .config = {.vocab_size = VOCAB, .max_position = CONTEXT}};
}

// Every digit is a token: token i of the text is id[i].
static void check_windows(const struct sq_tokens *t, const int32_t *id, size_t n_text,
                          const struct sq_token_source *s)
{
    const size_t lead = s->bos == SQ_BOS_EACH, first = s->bos == SQ_BOS_FIRST, n = n_text + first;
    size_t predicted = 0;
    uint8_t seen[256] = {0};
    for (size_t i = 0; i < t->n_sequences; i++) {
        const size_t length = t->offset[i + 1] - t->offset[i];
        const int32_t *at = t->id + t->offset[i];
        if (lead)
            assert_int_equal(at[0], BOS);
        for (size_t k = lead; k < length; k++) {
            const size_t place = i * s->stride + k - lead;
            assert_int_equal(at[k], first && place == 0 ? BOS : id[place - first]);
            if (k >= sq_tokens_first_predicted(t, i))
                seen[place]++;
        }
        predicted += length - sq_tokens_first_predicted(t, i);
    }
    assert_int_equal(predicted, sq_tokens_predicted(t));
    const size_t end = (t->n_sequences - 1) * s->stride + s->window - lead;
    assert_true(end <= n && n - end < s->stride); // no whole window more
    for (size_t place = 0; place < end; place++)  // once each; without overlap not a window's first
        assert_int_equal(seen[place], lead || (place % s->stride != 0 || s->stride < s->window)
                                          ? place > 0 || lead
                                          : 0);
}

SQ_TEST(every_window_and_stride)
{
    enum { N = 40 };
    struct sq_checkpoint ck = a_model();
    char text[N + 1];
    int32_t id[N];
    for (int i = 0; i < N; i++) { // no two of them are a token of the vocabulary
        text[i] = (char)('0' + i * 7 % 10);
        id[i] = 15 + i * 7 % 10;
    }
    text[N] = '\0';
    write_bytes(tmpdir_path(dir, "text"), text, N);
    const char *path = tmpdir_path(dir, "text");
    for (enum sq_bos bos = SQ_BOS_NONE; bos < SQ_BOS_COUNT; bos++)
        for (size_t window = 2; window <= N; window++)
            for (size_t stride = 1; stride <= window - (bos == SQ_BOS_EACH); stride++) {
                struct sq_token_source s = {
                    .text = path, .window = window, .stride = stride, .bos = bos};
                struct sq_tokens t;
                struct sq_error err;
                CHECK_EQ(sq_token_source_read(&s, &ck, dir, "x", &t, &err), SQ_OK, "%s\n",
                         err.text);
                check_windows(&t, id, N, &s);
                sq_tokens_free(&t);
            }
    struct sq_token_source s = {.text = path};
    struct sq_tokens t;
    assert_ok(sq_token_source_read(&s, &ck, dir, "x", &t, NULL));
    assert_true(s.window == CONTEXT && s.stride == CONTEXT && s.bos == SQ_BOS_NONE);
    assert_true(t.n_sequences == 1 && t.offset[1] == N && t.context == 0); // shorter than a window
    sq_tokens_free(&t);
}

SQ_TEST(sources_that_are_refused)
{
    struct sq_checkpoint ck = a_model(), small = ck;
    small.config.vocab_size = 20;
    write_bytes(tmpdir_path(dir, "text"), "0123456789", 10);
    write_bytes(tmpdir_path(dir, "one"), "0", 1);
    const char *text = tmpdir_path(dir, "text"), *one = tmpdir_path(dir, "one");
    const struct {
        struct sq_token_source s;
        const struct sq_checkpoint *ck;
        enum sq_status status;
        const char *part;
    } bad[] = {
        {{.text = text, .tokens = "x"}, &ck, SQ_ERR_ARG, "need one of them"},
        {{.window = 8}, &ck, SQ_ERR_ARG, "cut a text"},
        {{.bos = SQ_BOS_EACH}, &ck, SQ_ERR_ARG, "cut a text"},
        {{.text = text, .window = 1}, &ck, SQ_ERR_RANGE, "--window = 1, need 2..64"},
        {{.text = text, .window = 65}, &ck, SQ_ERR_RANGE, "--window = 65, need 2..64"},
        {{.text = text, .window = 8, .stride = 9}, &ck, SQ_ERR_RANGE, "--stride = 9, need 1..8"},
        {{.text = text, .window = 8, .stride = 8, .bos = SQ_BOS_EACH},
         &ck,
         SQ_ERR_RANGE,
         "need 1..7"},
        {{.text = one}, &ck, SQ_ERR_RANGE, "1 tokens, need 2"},
        {{.text = text}, &small, SQ_ERR_INDEX, "token 5 of the text = 20, need 0..19"},
        {{.text = "none"}, &ck, SQ_ERR_IO, "none"},
    };
    for (size_t i = 0; i < LEN(bad); i++) {
        struct sq_token_source s = bad[i].s;
        struct sq_tokens t;
        struct sq_error err = {0};
        const enum sq_status status = sq_token_source_read(&s, bad[i].ck, dir, "x", &t, &err);
        CHECK_EQ(status, bad[i].status, "case %zu: %s\n", i, err.text);
        if (!strstr(err.text, bad[i].part))
            fail_msg("'%s' does not say '%s'", err.text, bad[i].part);
    }
}

SQ_BEFORE_ALL(set_up)
SQ_AFTER_ALL(tear_down)
