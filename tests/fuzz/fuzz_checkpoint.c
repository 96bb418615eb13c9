// SPDX-License-Identifier: Apache-2.0
// A model directory: config.json, the index and two shards, or a single file; every layer read, and
// a forward pass of what is small. Input: lengths of config, index and first shard (u16 each), then
// their bytes, the rest is the second shard or, without an index, model.safetensors. Without a
// config that file is opened by itself.
#include "sim/llm/sq_checkpoint.h"
#include "sim/llm/sq_llama.h"
#include "tests/fuzz/fuzz.h"

enum { SMALL = 64 };

// The layer as it is stored, in the format that holds it.
static void read_stored(const struct sq_checkpoint *ck, size_t i)
{
    struct sq_recipe r;
    struct sq_quant_layer q;
    struct sq_error err;
    const char *why;
    enum sq_status status = sq_checkpoint_recipe(ck, i, &r, &why, &err);
    SQ_THEN(status, sq_checkpoint_encoded(ck, i, &r, &q, &err));
    fuzz_status(status, &err);
    if (status == SQ_OK)
        sq_quant_layer_free(&q);
}

static void read_layers(const struct sq_checkpoint *ck)
{
    struct sq_error err;
    for (size_t i = 0; i < ck->n_layers; i++) {
        const struct sq_layer *l = &ck->layer[i];
        FUZZ_CHECK(l->n > 0 && l->k > 0);
        FUZZ_CHECK(l->foreign || l->weight->n_elements == l->n * l->k);
        FUZZ_CHECK(sq_checkpoint_layer_index(ck, l->name) <= i);
        float *w = malloc(l->n * l->k * sizeof *w);
        FUZZ_CHECK(w);
        fuzz_status(sq_checkpoint_read_layer(ck, i, w, &err), &err);
        free(w);
        read_stored(ck, i);
    }
}

static void forward(const struct sq_checkpoint *ck)
{
    const struct sq_model_config *c = &ck->config;
    if (!ck->is_model || c->hidden_size > SMALL || c->intermediate_size > SMALL ||
        c->vocab_size > SMALL || c->n_heads * c->head_dim > SMALL || c->n_layers > 2 ||
        c->max_position < 3)
        return;
    size_t offset[] = {0, 3};
    const int32_t last = (int32_t)c->vocab_size - 1;
    int32_t id[] = {last, 0, last / 2};
    const struct sq_tokens tokens = {1, offset, id, 0};
    struct sq_error err;
    double loss = 0;
    fuzz_status(sq_llama_loss(ck, &tokens, NULL, NULL, &loss, &err), &err);
}

static void open_path(const char *path)
{
    struct sq_checkpoint ck;
    struct sq_error err;
    const enum sq_status status = sq_checkpoint_open(&ck, path, &err);
    fuzz_status(status, &err);
    if (status != SQ_OK)
        return;
    read_layers(&ck);
    forward(&ck);
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
