// SPDX-License-Identifier: Apache-2.0
// A GGUF file: the container with all its metadata and values, and the model in it; every layer
// read, and a forward pass of what is small.
#include "sim/io/sq_gguf.h"
#include "tests/fuzz/checkpoint.h"

static void read_value(const struct sq_gguf *g, const struct sq_gguf_value *v)
{
    FUZZ_CHECK(sq_gguf_find(g, v->key) == v && (v->is_array || v->n == 1));
    json_t *j = sq_gguf_json(v);
    FUZZ_CHECK(!(j && v->is_array));
    json_decref(j);
    const uint8_t *at = v->at;
    for (size_t i = 0; i < v->n; i++)
        if (v->type == SQ_GGUF_STRING) {
            const struct sq_gguf_text text = sq_gguf_next(&at);
            for (size_t c = 0; c < text.n; c++)
                fuzz_sink += (unsigned char)text.at[c];
        } else {
            fuzz_sink += (uint64_t)sq_gguf_integer(v, i);
        }
    FUZZ_CHECK(at >= g->map.data && at <= g->map.data + g->map.nbytes);
}

static void read_tensor(const struct sq_gguf *g, const struct sq_tensor *t)
{
    struct sq_error err;
    FUZZ_CHECK(t->nbytes ==
               t->n_elements / sq_dtype_block_length(t->dtype) * sq_dtype_nbytes(t->dtype));
    FUZZ_CHECK(t->nbytes == 0 ||
               (t->data >= g->map.data && t->data + t->nbytes <= g->map.data + g->map.nbytes));
    float *values = malloc(t->n_elements * sizeof *values + 1);
    FUZZ_CHECK(values);
    fuzz_ok(sq_tensor_read_f32(t, values, &err), &err);
    sq_gguf_forget(g, t);
    free(values);
}

static void read_container(void)
{
    struct sq_gguf g;
    struct sq_error err;
    if (!fuzz_ok(sq_gguf_open(&g, FUZZ_FILE, &err), &err))
        return;
    for (size_t i = 0; i < g.n_values; i++)
        read_value(&g, &g.value[i]);
    for (size_t i = 0; i < g.n_tensors; i++)
        read_tensor(&g, &g.tensor[i]);
    sq_gguf_close(&g);
}

static void read_model(void)
{
    struct sq_checkpoint ck;
    struct sq_error err;
    if (!fuzz_ok(sq_checkpoint_open(&ck, FUZZ_FILE, &err), &err))
        return;
    for (size_t i = 0; i < ck.n_layers; i++) {
        const struct sq_layer *l = &ck.layer[i];
        FUZZ_CHECK(l->n > 0 && l->k > 0 && l->weight->n_elements == l->n * l->k);
        FUZZ_CHECK(!l->n_interleaved_heads || l->n % (2 * l->n_interleaved_heads) == 0);
        float *w = malloc(l->n * l->k * sizeof *w);
        FUZZ_CHECK(w);
        fuzz_ok(sq_checkpoint_read_layer(&ck, i, w, &err), &err);
        free(w);
    }
    fuzz_forward(&ck);
    sq_checkpoint_close(&ck);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_file(FUZZ_FILE, data, n);
    read_container();
    if (sq_gguf_is(FUZZ_FILE))
        read_model();
    return 0;
}
