// SPDX-License-Identifier: Apache-2.0
// A model directory: config.json, the index and two shards, or a single file; every layer read, and
// a forward pass of what is small. Input: lengths of config, index and first shard (u16 each), then
// their bytes, the rest is the second shard or, without an index, model.safetensors. Without a
// config that file is opened by itself.
#include "tests/fuzz/checkpoint.h"

static void read_layers(const struct sq_checkpoint *ck)
{
    struct sq_error err;
    for (size_t i = 0; i < ck->n_layers; i++) {
        const struct sq_layer *l = &ck->layer[i];
        FUZZ_CHECK(l->n > 0 && l->k > 0);
        FUZZ_CHECK(l->foreign || l->weight->n_elements == l->n * l->k);
        float *w = malloc(l->n * l->k * sizeof *w);
        FUZZ_CHECK(w);
        fuzz_ok(sq_checkpoint_read_layer(ck, i, w, &err), &err);
        free(w);
        fuzz_stored(ck, i);
    }
}

static void open_path(const char *path)
{
    struct sq_checkpoint ck;
    struct sq_error err;
    if (!fuzz_ok(sq_checkpoint_open(&ck, path, &err), &err))
        return;
    read_layers(&ck);
    fuzz_forward(&ck);
    sq_checkpoint_close(&ck);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fuzz_reader r = {data, n};
    const size_t n_config = fuzz_u16(&r), n_index = fuzz_u16(&r), n_shard = fuzz_u16(&r);
    size_t config_len, index_len, shard_len;
    const uint8_t *config = fuzz_bytes(&r, n_config, &config_len);
    const uint8_t *index = fuzz_bytes(&r, n_index, &index_len);
    const uint8_t *shard = fuzz_bytes(&r, n_shard, &shard_len);
    fuzz_forget();
    fuzz_file("mem/dir/config.json", config, config_len);
    if (n_index > 0) {
        fuzz_file("mem/dir/model.safetensors.index.json", index, index_len);
        fuzz_file("mem/dir/a", shard, shard_len);
        fuzz_file("mem/dir/b", r.data, r.n);
    } else {
        fuzz_file("mem/dir/model.safetensors", r.data, r.n);
    }
    if (n_config > 0)
        open_path("mem/dir");
    else
        open_path(n_index > 0 ? "mem/dir/b" : "mem/dir/model.safetensors");
    return 0;
}
