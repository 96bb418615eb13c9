// SPDX-License-Identifier: Apache-2.0
// Reads a token file, or encodes a text and cuts it into windows (sq_token_source.h).
#include "sim/llm/text/sq_token_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/io/sq_json.h"

enum { DEFAULT_WINDOW = 2048, MAX_CONFIG_NBYTES = 16 << 20, PATH_SIZE = 4096 };

static const char *const bos_name[SQ_BOS_COUNT] = {"default", "none", "first", "each"};

const char *sq_bos_name(enum sq_bos bos)
{
    return bos < SQ_BOS_COUNT ? bos_name[bos] : "?";
}

// ---- the tokenizer of a model -----------------------------------------------------------------

// bos_token_id of config.json, where the tokenizer itself names none.
static void read_config_bos(const char *model, struct sq_tokenizer *t)
{
    char path[PATH_SIZE];
    json_auto_t *root = NULL;
    uint64_t id;
    snprintf(path, sizeof path, "%s/config.json", model);
    if (sq_json_load(path, MAX_CONFIG_NBYTES, &root, NULL) != SQ_OK)
        return;
    if (json_is_integer(json_object_get(root, "bos_token_id")) &&
        sq_json_uint(root, path, "bos_token_id", 0, 1 << 24, 0, &id, NULL) == SQ_OK)
        t->bos = (int32_t)id;
}

// A token of the model is a byte of the text: it has 256 of them, and the token file beside it says
// so under "tokenizer" ("bytes: ..", as traces/tiny-llama/train.py writes it).
static bool is_of_bytes(const struct sq_checkpoint *ck, const char *model, const char *beside)
{
    char path[PATH_SIZE];
    SQ_CLOSED(sq_safetensors_close) struct sq_safetensors file = {0};
    sq_tokens_beside(model, beside, path, sizeof path);
    if (ck->config.vocab_size != 256 || sq_safetensors_open(&file, path, NULL) != SQ_OK)
        return false;
    const char *tokenizer = sq_safetensors_metadata(&file, "tokenizer");
    const bool is = tokenizer && strncmp(tokenizer, "bytes:", 6) == 0;
    return is;
}

enum sq_status sq_tokenizer_of_model(struct sq_tokenizer *t, const struct sq_checkpoint *ck,
                                     const char *model, const char *beside, bool *is_bytes,
                                     struct sq_error *err)
{
    char path[PATH_SIZE];
    *is_bytes = false;
    if (ck->tensor)
        return sq_tokenizer_of_gguf(t, &ck->gguf, sq_path_tail(model), err);
    snprintf(path, sizeof path, "%s/tokenizer.model", model);
    const bool is_sentencepiece = access(path, F_OK) == 0;
    snprintf(path, sizeof path, "%s/tokenizer.json", model);
    const bool has_json = access(path, F_OK) == 0;
    if (!is_sentencepiece && !has_json && is_of_bytes(ck, model, beside)) {
        *t = (struct sq_tokenizer){.bos = SQ_TOKEN_NONE};
        read_config_bos(model, t);
        t->adds_bos = t->bos != SQ_TOKEN_NONE;
        *is_bytes = true;
        return SQ_OK;
    }
    SQ_FAIL_IF(is_sentencepiece && !has_json, err, SQ_ERR_UNSUPPORTED,
               "%s has a SentencePiece tokenizer.model and no tokenizer.json: only "
               "byte-level BPE is supported",
               sq_path_tail(model));
    SQ_TRY(sq_tokenizer_read(t, path, err));
    if (t->bos == SQ_TOKEN_NONE)
        read_config_bos(model, t);
    return SQ_OK;
}

// ---- windows --------------------------------------------------------------------------------

struct ids {
    int32_t *id;
    size_t n;
};

// Sequences of `window` ids of the stream each, `stride` apart, each after `lead` where it is a
// token.
static enum sq_status cut(const struct ids *stream, size_t window, size_t stride, int32_t lead,
                          struct sq_tokens *out, struct sq_error *err)
{
    const size_t extra = lead != SQ_TOKEN_NONE;
    const size_t body = stream->n < window - extra ? stream->n : window - extra;
    const size_t n = 1 + (stream->n - body) / stride;
    SQ_FAIL_IF(body + extra < 2, err, SQ_ERR_RANGE, "the text has %zu tokens, need 2 or more",
               body);
    *out = (struct sq_tokens){.n_sequences = n,
                              .offset = calloc(n + 1, sizeof *out->offset),
                              .id = calloc(n, (body + extra) * sizeof *out->id),
                              .context = body > stride ? extra + body - stride : 0};
    if (!out->offset || !out->id) {
        sq_tokens_free(out);
        return SQ_NO_MEMORY(err, "%zu windows of %zu tokens", n, body + extra);
    }
    for (size_t i = 0; i < n; i++) {
        int32_t *to = out->id + i * (body + extra);
        if (extra)
            *to++ = lead;
        memcpy(to, stream->id + i * stride, body * sizeof *to);
        out->offset[i + 1] = (i + 1) * (body + extra);
    }
    return SQ_OK;
}

static enum sq_status check_ids(const struct ids *ids, size_t vocab_size, struct sq_error *err)
{
    for (size_t i = 0; i < ids->n; i++)
        SQ_FAIL_IF((size_t)ids->id[i] >= vocab_size, err, SQ_ERR_INDEX,
                   "token %zu of the text = %d, need 0..%zu: the tokenizer is of another "
                   "model",
                   i, (int)ids->id[i], vocab_size - 1);
    return SQ_OK;
}

static enum sq_status settle(struct sq_token_source *s, const struct sq_tokenizer *t,
                             size_t max_position, struct sq_error *err)
{
    if (s->window == 0)
        s->window = max_position < DEFAULT_WINDOW ? max_position : DEFAULT_WINDOW;
    SQ_FAIL_IF(s->window < 2 || s->window > max_position, err, SQ_ERR_RANGE,
               "--window = %zu, need 2..%zu, the model's context", s->window, max_position);
    if (s->bos == SQ_BOS_DEFAULT)
        s->bos = t->adds_bos ? SQ_BOS_FIRST : SQ_BOS_NONE;
    SQ_FAIL_IF(s->bos != SQ_BOS_NONE && t->bos == SQ_TOKEN_NONE, err, SQ_ERR_ARG,
               "--bos %s, but the model names no BOS token", sq_bos_name(s->bos));
    const size_t room = s->window - (s->bos == SQ_BOS_EACH);
    s->stride = s->stride ? s->stride : room;
    SQ_FAIL_IF(s->stride > room, err, SQ_ERR_RANGE,
               "--stride = %zu, need 1..%zu, the text in a window", s->stride, room);
    return SQ_OK;
}

// As sq_tokenizer_encode, of a model whose tokens are bytes.
static enum sq_status bytes_of(const struct sq_file_view *text, struct ids *ids,
                               struct sq_error *err)
{
    ids->n = text->nbytes;
    ids->id = malloc((ids->n + 1) * sizeof *ids->id);
    SQ_NEED(ids->id, err, "%zu tokens", ids->n);
    for (size_t i = 0; i < ids->n; i++)
        ids->id[i] = text->data[i];
    return SQ_OK;
}

static enum sq_status read_text(struct sq_token_source *s, const struct sq_checkpoint *ck,
                                const struct sq_tokenizer *t, bool is_bytes,
                                struct sq_tokens *tokens, struct sq_error *err)
{
    SQ_CLOSED(sq_file_unmap) struct sq_file_view text = {0};
    struct ids ids;
    SQ_TRY(settle(s, t, ck->config.max_position, err));
    SQ_TRY(sq_file_map(s->text, &text, err));
    SQ_TRY(is_bytes ? bytes_of(&text, &ids, err)
                    : sq_tokenizer_encode(t, (const char *)text.data, text.nbytes, &ids.id, &ids.n,
                                          err));
    if (s->bos == SQ_BOS_FIRST) { // encode leaves room for one
        memmove(ids.id + 1, ids.id, ids.n * sizeof *ids.id);
        ids.id[0] = t->bos;
        ids.n++;
    }
    enum sq_status status = check_ids(&ids, ck->config.vocab_size, err);
    const int32_t lead = s->bos == SQ_BOS_EACH ? t->bos : SQ_TOKEN_NONE;
    if (status == SQ_OK && lead != SQ_TOKEN_NONE)
        status = check_ids(&(const struct ids){(int32_t[]){lead}, 1}, ck->config.vocab_size, err);
    SQ_THEN(status, cut(&ids, s->window, s->stride, lead, tokens, err));
    free(ids.id);
    return status;
}

enum sq_status sq_token_source_read(struct sq_token_source *s, const struct sq_checkpoint *ck,
                                    const char *model, const char *beside, struct sq_tokens *tokens,
                                    struct sq_error *err)
{
    char path[PATH_SIZE];
    SQ_CLOSED(sq_tokenizer_free) struct sq_tokenizer t = {0};
    *tokens = (struct sq_tokens){0};
    SQ_FAIL_IF(s->tokens && s->text, err, SQ_ERR_ARG,
               "a token file and a text given, need one of them");
    if (!s->text) {
        SQ_FAIL_IF(s->window || s->stride || s->bos != SQ_BOS_DEFAULT, err, SQ_ERR_ARG,
                   "--window, --stride and --bos cut a text; a token file is cut already");
        sq_tokens_beside(model, beside, path, sizeof path);
        return sq_tokens_read(tokens, s->tokens ? s->tokens : path, ck->config.vocab_size,
                              ck->config.max_position, err);
    }
    bool is_bytes;
    SQ_TRY(sq_tokenizer_of_model(&t, ck, model, beside, &is_bytes, err));
    return read_text(s, ck, &t, is_bytes, tokens, err);
}
