// SPDX-License-Identifier: Apache-2.0
// Models of sqsim.h: their tensors, what a GGUF file holds beside them, their tokens.
#include <stdlib.h>
#include <string.h>

#include "lib/sq_api.h"
#include "sim/llm/sq_checkpoint.h"
#include "sim/llm/sq_gguf_export.h"
#include "sim/llm/text/sq_token_source.h"

struct sqsim_model {
    char *path;
    struct sq_checkpoint ck;
    char *file; // the last one that sqsim_model_file gave
};

static enum sq_status open_model(struct sqsim_model *m, const char *path, struct sq_error *err)
{
    char found[SQ_API_PATH];
    m->path = strdup(sq_api_found(path, SQ_HOME_MODEL, found));
    SQ_NEED(m->path, err, "a path");
    SQ_TRY(sq_checkpoint_open(&m->ck, m->path, err));
    if (m->ck.tensor && m->ck.is_model)
        return SQ_OK;
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                   "'%s' is no GGUF file: the files of a directory are there to be read",
                   sq_path_tail(path));
}

enum sqsim_status sqsim_model_open(const char *path, sqsim_model **model, struct sqsim_error *err)
{
    SQ_API_ENTER();
    SQ_API_MAKE(model, "a model", open_model(*model, path, &inner), sqsim_model_close);
}

void sqsim_model_close(sqsim_model *model)
{
    if (!model)
        return;
    sq_checkpoint_close(&model->ck);
    SQ_FREE(model->path, model->file, model);
}

size_t sqsim_model_n_tensors(const sqsim_model *model)
{
    return model->ck.gguf.n_tensors;
}

const char *sqsim_model_tensor_name(const sqsim_model *model, size_t i)
{
    return i < sqsim_model_n_tensors(model) ? model->ck.tensor[i].name : NULL;
}

size_t sqsim_model_tensor_shape(const sqsim_model *model, size_t i, size_t shape[8])
{
    if (i >= sqsim_model_n_tensors(model))
        return 0;
    const struct sq_tensor *t = &model->ck.tensor[i];
    for (unsigned d = 0; d < t->n_dims; d++)
        shape[d] = t->dim[d];
    return t->n_dims;
}

static enum sq_status read_tensor(const struct sqsim_model *m, size_t i, float *out,
                                  struct sq_error *err)
{
    SQ_FAIL_IF(i >= sqsim_model_n_tensors(m), err, SQ_ERR_RANGE, "tensor = %zu, need 0..%zu", i,
               sqsim_model_n_tensors(m) - 1);
    const struct sq_tensor *t = &m->ck.tensor[i];
    for (size_t l = 0; l < m->ck.n_layers; l++) // whose rows may lie otherwise
        if (m->ck.layer[l].weight == t)
            return sq_checkpoint_read_layer(&m->ck, l, out, err);
    return sq_checkpoint_read(&m->ck, t->name, out, t->n_elements, err);
}

enum sqsim_status sqsim_model_tensor_read(const sqsim_model *model, size_t i, float *out,
                                          struct sqsim_error *err)
{
    SQ_API_ENTER();
    struct sq_error inner;
    return sq_api_status(read_tensor(model, i, out, &inner), &inner, err);
}

static enum sq_status make_file(struct sqsim_model *m, const char *name, struct sq_error *err)
{
    json_auto_t *json = NULL;
    SQ_TRY(sq_gguf_export(&m->ck.gguf, sq_path_tail(m->path), name, &json, err));
    free(m->file);
    m->file = json_dumps(json, JSON_INDENT(2));
    return SQ_HAVE(m->file, err, "%.60s", name);
}

enum sqsim_status sqsim_model_file(sqsim_model *model, const char *name, const char **text,
                                   struct sqsim_error *err)
{
    SQ_API_ENTER();
    struct sq_error inner;
    const enum sq_status status = make_file(model, name, &inner);
    *text = status == SQ_OK ? model->file : NULL;
    return sq_api_status(status, &inner, err);
}

// ---- tokens -----------------------------------------------------------------------------------

static enum sq_status write_tokens(const char *path, const struct sq_tokens *t,
                                   struct sq_error *err)
{
    SQ_FREED int64_t *offset = calloc(t->n_sequences + 1, sizeof *offset);
    SQ_NEED(offset, err, "%zu sequences", t->n_sequences);
    for (size_t i = 0; i <= t->n_sequences; i++)
        offset[i] = (int64_t)t->offset[i];
    const struct sq_tensor tensor[] = {{.name = "offsets",
                                        .dtype = SQ_I64,
                                        .n_dims = 1,
                                        .dim = {t->n_sequences + 1},
                                        .data = (const uint8_t *)offset},
                                       {.name = "ids",
                                        .dtype = SQ_I32,
                                        .n_dims = 1,
                                        .dim = {t->offset[t->n_sequences]},
                                        .data = (const uint8_t *)t->id}};
    return sq_safetensors_write(path, tensor, 2, NULL, 0, err);
}

static enum sq_status tokenize(const char *model, const char *text, size_t window, const char *path,
                               struct sq_error *err)
{
    SQ_CLOSED(sq_checkpoint_close) struct sq_checkpoint ck = {0};
    SQ_CLOSED(sq_tokens_free) struct sq_tokens tokens = {0};
    struct sq_token_source source = {.text = text, .window = window};
    SQ_TRY(sq_checkpoint_open(&ck, model, err));
    SQ_TRY(ck.is_model
               ? sq_token_source_read(&source, &ck, model, "", &tokens, err)
               : SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                         "'%s' is no model: need a directory with config.json or a GGUF file",
                         sq_path_tail(model)));
    return write_tokens(path, &tokens, err);
}

enum sqsim_status sqsim_tokenize(const char *model, const char *text, size_t window,
                                 const char *path, struct sqsim_error *err)
{
    SQ_API_ENTER();
    struct sq_error inner;
    char found[SQ_API_PATH];
    model = sq_api_found(model, SQ_HOME_MODEL, found);
    return sq_api_status(tokenize(model, text, window, path, &inner), &inner, err);
}
