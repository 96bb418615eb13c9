// SPDX-License-Identifier: Apache-2.0
// gguf_dump IN.gguf OUT.safetensors: every tensor of the file in binary32 under its own name, then,
// where it is a model, every linear layer under the name and in the order of Hugging Face. For
// gguf.t, which compares with the Python package gguf.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/llm/sq_checkpoint.h"

static void must(enum sq_status status, const struct sq_error *err)
{
    if (status == SQ_OK)
        return;
    fprintf(stderr, "gguf_dump: %s\n", err->text);
    exit(2);
}

static void *room_for(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);
    if (!p)
        exit(2);
    return p;
}

int main(int argc, char **argv)
{
    struct sq_gguf g;
    struct sq_checkpoint ck = {0};
    struct sq_error err;
    if (argc != 3)
        return 2;
    must(sq_gguf_open(&g, argv[1], &err), &err);
    if (sq_checkpoint_open(&ck, argv[1], &err) != SQ_OK)
        printf("no model: %s\n", err.text);
    const size_t n = g.n_tensors + ck.n_layers;
    struct sq_tensor *t = room_for(n, sizeof *t);
    for (size_t i = 0; i < n; i++) {
        t[i] = i < g.n_tensors ? g.tensor[i] : *ck.layer[i - g.n_tensors].weight;
        t[i].dtype = SQ_F32;
    }
    struct sq_safetensors_writer w;
    must(sq_safetensors_begin(&w, argv[2], t, n, NULL, 0, &err), &err);
    for (size_t i = 0; i < n; i++) {
        float *v = room_for(t[i].n_elements, sizeof *v);
        must(i < g.n_tensors ? sq_tensor_read_f32(&g.tensor[i], v, &err)
                             : sq_checkpoint_read_layer(&ck, i - g.n_tensors, v, &err),
             &err);
        must(sq_safetensors_put(&w, i, v, &err), &err);
        free(v);
    }
    must(sq_safetensors_commit(&w, &err), &err);
    printf("%zu tensors, %zu layers\n", g.n_tensors, ck.n_layers);
    free(t);
    sq_checkpoint_close(&ck);
    sq_gguf_close(&g);
    return 0;
}
