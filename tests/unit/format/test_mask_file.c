// SPDX-License-Identifier: Apache-2.0
// Mask files of Algorithm 2 (sq_mask_file): bits and lists of channels are those of the masks. Sampled: masks of a few banks.
#include "sim/format/file/sq_mask_file.h"
#include "tests/unit/fixture.h"
#include "tests/unit/tmpdir.h"

enum { K = 20, BANK = 4, HIGH = 1 };

// Bit i of `mask`, and i in the one of the two lists that it says.
static void check_layer(const struct sq_safetensors *st, const struct sq_mask *m)
{
    static const char *const part[] = {"perm_lo", "perm_hi", "mask"};
    const struct sq_tensor *t[3];
    size_t n[2] = {0};
    for (size_t i = 0; i < 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "%.50s.%s", m->name, part[i]);
        t[i] = sq_safetensors_find(st, name);
        assert_non_null(t[i]);
        assert_true(t[i]->dtype == (i < 2 ? SQ_I32 : SQ_U8) && t[i]->n_dims == 1);
    }
    for (size_t i = 0; i < m->k; i++)
        n[m->mask[i]]++;
    CHECK_EQ(t[0]->n_elements, n[0], "%s\n", m->name);
    CHECK_EQ(t[1]->n_elements, n[1], "%s\n", m->name);
    CHECK_EQ(t[2]->n_elements, (m->k + 7) / 8, "%s\n", m->name);
    n[0] = n[1] = 0;
    for (size_t i = 0; i < m->k; i++) {
        const uint8_t *const at = t[m->mask[i]]->data + 4 * n[m->mask[i]]++;
        CHECK_EQ(t[2]->data[i / 8] >> i % 8 & 1, m->mask[i], "channel %zu\n", i);
        CHECK_EQ(at[0] | at[1] << 8 | at[2] << 16 | (long long)at[3] << 24, i, "channel %zu\n", i);
    }
    assert_true(m->k % 8 == 0 || t[2]->data[m->k / 8] >> m->k % 8 == 0);
}

SQ_TEST(bits_and_lists)
{
    struct sq_rng r = {fixture_seed()};
    char dir[64];
    const char *path = tmpdir_path(tmpdir_make(dir), "m.safetensors");
    for (unsigned round = 0; round < 50; round++) {
        uint8_t bits[2][K] = {{0}};
        struct sq_mask m[2] = {{"a.b", K, 18, bits[0]}, {"c", 12, 12, bits[1]}};
        for (unsigned layer = 0; layer < 2; layer++)
            for (size_t b = 0; b < m[layer].k; b += BANK)
                bits[layer][b + sq_rng_below(&r, BANK)] = 1;
        struct sq_error err = {.text = ""};
        CHECK_EQ(sq_masks_write(path, m, 2, BANK, HIGH, "real", &err), SQ_OK, "%s\n", err.text);
        struct sq_safetensors st;
        assert_ok(sq_safetensors_open(&st, path, NULL));
        for (unsigned layer = 0; layer < 2; layer++)
            check_layer(&st, &m[layer]);
        assert_string_equal(sq_safetensors_metadata(&st, "system"), "sq_a");
        assert_string_equal(sq_safetensors_metadata(&st, "bank"), "4");
        assert_string_equal(sq_safetensors_metadata(&st, "k"), "1");
        assert_string_equal(sq_safetensors_metadata(&st, "a.b.k_orig"), "18");
        sq_safetensors_close(&st);
    }
    tmpdir_remove(dir);
}

SQ_TEST(masks_of_other_counts)
{
    uint8_t bits[5] = {1, 1, 0, 0, 0};
    struct sq_error err;
    struct sq_mask bad = {"l", 4, 4, bits};
    check_refused(sq_masks_write("/nowhere/m", &bad, 1, 4, 1, "real", &err), SQ_ERR_MASK_COUNT,
                  &err, "2 channels masked, need 1");
    bad.k = 5;
    check_refused(sq_masks_write("/nowhere/m", &bad, 1, 4, 1, "real", &err), SQ_ERR_SHAPE, &err,
                  "5 channels in banks of 4");
}
