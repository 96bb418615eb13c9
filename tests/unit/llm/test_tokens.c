// SPDX-License-Identifier: Apache-2.0
// Token files (sq_tokens): one refusal per rule.
#include "sim/io/sq_safetensors.h"
#include "sim/llm/text/sq_tokens.h"
#include "tests/unit/fixture.h"
#include "tests/unit/tmpdir.h"

static void write_tokens(const char *path, const int32_t *id, size_t n_ids, const int64_t *offset,
                         size_t n_offsets)
{
    const struct sq_tensor t[] = {
        {.name = "offsets",
         .dtype = SQ_I64,
         .n_dims = 1,
         .dim = {n_offsets},
         .data = (const void *)offset},
        {.name = "ids", .dtype = SQ_I32, .n_dims = 1, .dim = {n_ids}, .data = (const void *)id},
    };
    assert_ok(sq_safetensors_write(path, t, 2, NULL, 0, NULL));
}

SQ_TEST(token_files)
{
    char dir[64];
    tmpdir_make(dir);
    const char *path = tmpdir_path(dir, "t.safetensors");
    const int32_t id[] = {1, 9, 3, 0, 2};
    struct sq_tokens t;
    struct sq_error err;
    write_tokens(path, id, 5, (int64_t[]){0, 3, 5}, 3);
    assert_ok(sq_tokens_read(&t, path, 10, 3, &err));
    assert_true(t.n_sequences == 2 && sq_tokens_count(&t) == 5 && sq_tokens_predicted(&t) == 3);
    assert_memory_equal(t.id, id, sizeof id);
    sq_tokens_free(&t);
    const struct {
        int64_t offset[4];
        size_t n;
        enum sq_status want;
        const char *part;
    } bad[] = {
        {{1, 3, 5}, 3, SQ_ERR_OFFSETS, "offsets[0] = 1, need 0..0"},
        {{0, 3, 6}, 3, SQ_ERR_OFFSETS, "offsets[2] = 6, need 3..5"},
        {{0, 3, 2}, 3, SQ_ERR_OFFSETS, "offsets[2] = 2, need 3..5"},
        {{0, 3, -1}, 3, SQ_ERR_OFFSETS, "offsets[2] = -1"},
        {{0, 2, 4}, 3, SQ_ERR_OFFSETS, "the last offset is 4, need 5"},
        {{0, 3, 3, 5}, 4, SQ_ERR_RANGE, "sequence 1 has 0 tokens, need 2..3"},
        {{0, 2, 3, 5}, 4, SQ_ERR_RANGE, "sequence 1 has 1 tokens, need 2..3"},
        {{0, 5}, 2, SQ_ERR_RANGE, "sequence 0 has 5 tokens, need 2..3"},
        {{0}, 1, SQ_ERR_OFFSETS, "1 offsets, need at least 2"},
    };
    for (size_t i = 0; i < LEN(bad); i++) {
        write_tokens(path, id, 5, bad[i].offset, bad[i].n);
        check_refused(sq_tokens_read(&t, path, 10, 3, &err), bad[i].want, &err, bad[i].part);
    }
    write_tokens(path, id, 5, (int64_t[]){0, 3, 5}, 3);
    check_refused(sq_tokens_read(&t, path, 9, 3, &err), SQ_ERR_INDEX, &err,
                  "ids[1] = 9, need 0..8");
    const int32_t negative[] = {1, 2, 3, 0, -1};
    write_tokens(path, negative, 5, (int64_t[]){0, 3, 5}, 3);
    check_refused(sq_tokens_read(&t, path, 9, 3, &err), SQ_ERR_INDEX, &err, "ids[4] = -1");
    tmpdir_remove(dir);
}
