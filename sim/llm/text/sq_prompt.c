// SPDX-License-Identifier: Apache-2.0
// Encodes a prompt, and turns tokens back into bytes (sq_prompt.h).
#include "sim/llm/text/sq_prompt.h"

#include <stdlib.h>
#include <string.h>

// The blank of SentencePiece, U+2581.
static const char blank[] = "\xe2\x96\x81";
enum { BLANK_NBYTES = sizeof blank - 1 };

static enum sq_status bytes_of(const char *text, struct sq_prompt *p, struct sq_error *err)
{
    p->n = strlen(text);
    p->id = malloc((p->n + 1) * sizeof *p->id);
    SQ_NEED(p->id, err, "%zu tokens", p->n);
    for (size_t i = 0; i < p->n; i++)
        p->id[i] = (unsigned char)text[i];
    return SQ_OK;
}

static enum sq_status encode(struct sq_prompt *p, const struct sq_checkpoint *ck, const char *text,
                             struct sq_error *err)
{
    const struct sq_tokenizer *const t = &p->tokenizer;
    SQ_TRY(p->is_bytes ? bytes_of(text, p, err)
                       : sq_tokenizer_encode(t, text, strlen(text), &p->id, &p->n, err));
    const bool is_bos = !t->around && t->adds_bos && t->bos != SQ_TOKEN_NONE;
    const size_t front = is_bos ? 1 : t->n_front, back = t->n_back;
    int32_t *grown = realloc(p->id, (p->n + front + back + 1) * sizeof *grown);
    SQ_NEED(grown, err, "%zu tokens", p->n);
    p->id = grown;
    memmove(p->id + front, p->id, p->n * sizeof *p->id);
    if (front > 0)
        memcpy(p->id, is_bos ? &t->bos : t->around, front * sizeof *p->id);
    if (back > 0)
        memcpy(p->id + front + p->n, t->around + t->n_front, back * sizeof *p->id);
    p->n += front + back;
    SQ_FAIL_IF(p->n == 0, err, SQ_ERR_RANGE, "the prompt has 0 tokens, need 1 or more");
    for (size_t i = 0; i < p->n; i++)
        SQ_FAIL_IF((size_t)p->id[i] >= ck->config.vocab_size, err, SQ_ERR_INDEX,
                   "token %zu of the prompt = %d, need 0..%zu: the tokenizer is of another "
                   "model",
                   i, (int)p->id[i], ck->config.vocab_size - 1);
    return SQ_OK;
}

enum sq_status sq_prompt_read(struct sq_prompt *p, const struct sq_checkpoint *ck,
                              const char *model, const char *text, struct sq_error *err)
{
    *p = (struct sq_prompt){0};
    SQ_TRY(sq_tokenizer_of_model(&p->tokenizer, ck, model, "tokens_eval.safetensors", &p->is_bytes,
                                 err));
    const enum sq_status status = encode(p, ck, text, err);
    return SQ_ELSE(status, sq_prompt_free(p));
}

void sq_prompt_free(struct sq_prompt *p)
{
    sq_tokenizer_free(&p->tokenizer);
    free(p->id);
    *p = (struct sq_prompt){0};
}

// The entry of a token in the tables; NULL: it has none.
static const struct sq_token *entry_of(const struct sq_tokenizer *t, int32_t id)
{
    for (size_t i = 0; i < t->n_tokens; i++)
        if (t->token[i].id == id)
            return &t->token[i];
    return NULL;
}

size_t sq_prompt_bytes(const struct sq_prompt *p, int32_t id, char *out, size_t cap)
{
    const struct sq_tokenizer *const t = &p->tokenizer;
    const bool is_sentencepiece = t->rank != NULL;
    size_t n = 0;
    for (unsigned byte = 0; byte < 256 && cap > 0; byte++)
        if (p->is_bytes ? id == (int32_t)byte : is_sentencepiece && t->of_byte[byte] == id) {
            out[0] = (char)byte;
            return 1;
        }
    const struct sq_token *const e = p->is_bytes ? NULL : entry_of(t, id);
    for (size_t i = 0; e && i < e->n && n < cap; n++) {
        const bool is_blank = is_sentencepiece && e->n - i >= BLANK_NBYTES &&
                              memcmp(e->at + i, blank, BLANK_NBYTES) == 0;
        out[n] = is_blank ? ' ' : e->at[i];
        i += is_blank ? BLANK_NBYTES : 1;
    }
    return n;
}
