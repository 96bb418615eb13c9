// SPDX-License-Identifier: Apache-2.0
// Mask files of Algorithm 2 (sq_mask_file): what is written is read back, and every contradiction
// between bits, lists and metadata is refused. Sampled: masks of a few banks; one refusal per rule.
#include "sim/format/file/sq_mask_file.h"
#include "tests/unit/fixture.h"
#include "tests/unit/tmpdir.h"

enum { K = 20, BANK = 4, HIGH = 1 };

SQ_TEST(round_trip)
{
    struct sq_rng r = {fixture_seed()};
    char dir[64];
    const char *path = tmpdir_path(tmpdir_make(dir), "m.safetensors");
    for (unsigned round = 0; round < 50; round++) {
        uint8_t bits[2][K] = {{0}}, back[K];
        struct sq_mask m[2] = {{"a.b", K, 18, bits[0]}, {"c", 12, 12, bits[1]}};
        for (unsigned layer = 0; layer < 2; layer++)
            for (size_t b = 0; b < m[layer].k; b += BANK)
                bits[layer][b + sq_rng_below(&r, BANK)] = 1;
        struct sq_error err = {.text = ""};
        CHECK_EQ(sq_masks_write(path, m, 2, BANK, HIGH, "real", &err), SQ_OK, "%s\n", err.text);
        struct sq_safetensors st;
        assert_ok(sq_safetensors_open(&st, path, NULL));
        for (unsigned layer = 0; layer < 2; layer++) {
            CHECK_EQ(sq_masks_read(&st, m[layer].name, m[layer].k, back, &err), SQ_OK, "%s\n",
                     err.text);
            assert_memory_equal(back, bits[layer], m[layer].k);
        }
        assert_string_equal(sq_safetensors_metadata(&st, "system"), "sq_a");
        assert_string_equal(sq_safetensors_metadata(&st, "a.b.k_orig"), "18");
        sq_safetensors_close(&st);
    }
    tmpdir_remove(dir);
}

// A file with one layer "l" of 12 channels; every part can be bent.
struct file {
    uint8_t mask[2];
    int32_t hi[3], lo[9];
    size_t n_mask, n_hi, n_lo;
    const char *bank, *k;
};

static enum sq_status read_back(const char *path, const struct file *f, struct sq_error *err)
{
    const struct sq_tensor t[] = {
        {.name = "l.perm_hi",
         .dtype = SQ_I32,
         .n_dims = 1,
         .dim = {f->n_hi},
         .data = (const void *)f->hi},
        {.name = "l.perm_lo",
         .dtype = SQ_I32,
         .n_dims = 1,
         .dim = {f->n_lo},
         .data = (const void *)f->lo},
        {.name = "l.mask", .dtype = SQ_U8, .n_dims = 1, .dim = {f->n_mask}, .data = f->mask}};
    const struct sq_metadata meta[] = {{"bank", f->bank}, {"k", f->k}};
    uint8_t mask[12];
    struct sq_safetensors st;
    assert_ok(sq_safetensors_write(path, t, 3, meta, 2, NULL));
    assert_ok(sq_safetensors_open(&st, path, NULL));
    const enum sq_status status = sq_masks_read(&st, "l", 12, mask, err);
    sq_safetensors_close(&st);
    return status;
}

SQ_TEST(contradictions)
{
    static const struct file good = {
        {0x21, 0x08}, {0, 5, 11}, {1, 2, 3, 4, 6, 7, 8, 9, 10}, 2, 3, 9, "4", "1"};
    char dir[64];
    const char *path = tmpdir_path(tmpdir_make(dir), "m.safetensors");
    struct sq_error err = {.text = ""};
    struct file f = good;
    CHECK_EQ(read_back(path, &f, &err), SQ_OK, "%s\n", err.text);
    f.mask[1] = 0x18;
    check_refused(read_back(path, &f, &err), SQ_ERR_PADDING, &err, "beyond channel 11");
    f = good, f.mask[1] = 0x0c;
    check_refused(read_back(path, &f, &err), SQ_ERR_MASK_COUNT, &err, "bank 2: 2 channels");
    f = good, f.hi[1] = 6;
    check_refused(read_back(path, &f, &err), SQ_ERR_INDEX, &err, "l.perm_hi[1] = 6");
    f = good, f.lo[0] = 2, f.lo[1] = 1;
    check_refused(read_back(path, &f, &err), SQ_ERR_INDEX, &err, "l.perm_lo[0] = 2");
    f = good, f.n_lo = 8;
    check_refused(read_back(path, &f, &err), SQ_ERR_INDEX, &err, "l.perm_lo[8]");
    f = good, f.n_mask = 1;
    check_refused(read_back(path, &f, &err), SQ_ERR_DAMAGED, &err, "1 bytes, need 2");
    f = good, f.bank = "0";
    check_refused(read_back(path, &f, &err), SQ_ERR_DAMAGED, &err, "metadata 'bank' = '0'");
    f = good, f.bank = "5";
    check_refused(read_back(path, &f, &err), SQ_ERR_SHAPE, &err, "12 channels in banks of 5");
    uint8_t bits[4] = {1, 1, 0, 0};
    const struct sq_mask bad = {"l", 4, 4, bits};
    check_refused(sq_masks_write(path, &bad, 1, 4, 1, "real", &err), SQ_ERR_MASK_COUNT, &err,
                  "2 channels masked, need 1");
    struct sq_safetensors st;
    assert_ok(sq_safetensors_open(&st, path, NULL));
    check_refused(sq_masks_read(&st, "other", 12, bits, &err), SQ_ERR_DAMAGED, &err, "other.mask");
    sq_safetensors_close(&st);
    tmpdir_remove(dir);
}
