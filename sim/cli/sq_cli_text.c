// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/sq_cli_text.h"

#include <errno.h>

enum { KEY_WINDOW = 0x1300, KEY_STRIDE, KEY_BOS };

static enum sq_status set(const char *option, const char *text, uint64_t min, size_t *value,
                          struct sq_error *err)
{
    uint64_t v;
    SQ_TRY(sq_cli_uint(option, text, min, INT32_MAX, &v, err));
    *value = (size_t)v;
    return SQ_OK;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    static const char *const names[] = {"none", "first", "each"};
    struct sq_cli_text *in = state->input;
    enum sq_status status = SQ_OK;
    size_t index;
    switch (key) {
    case KEY_WINDOW:
        status = set("--window", arg, 2, &in->source.window, in->err);
        break;
    case KEY_STRIDE:
        status = set("--stride", arg, 1, &in->source.stride, in->err);
        break;
    case KEY_BOS:
        status = sq_cli_name("--bos", arg, names, 3, &index, in->err);
        if (status == SQ_OK)
            in->source.bos = (enum sq_bos)(SQ_BOS_NONE + index);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return status == SQ_OK ? 0 : EINVAL;
}

static const struct argp_option options[] = {
    {"window", KEY_WINDOW, "N", 0,
     "of a text: tokens of a sequence (2048, or the model's context if that is shorter)", 1},
    {"stride", KEY_STRIDE, "N", 0,
     "of a text: tokens from one window to the next (no overlap); what an earlier window predicted "
     "is context",
     1},
    {"bos", KEY_BOS, "WHERE", 0,
     "of a text: BOS none, first (before the text) or each (before every window); first where the "
     "tokenizer adds it, else none",
     1},
    {0}};
const struct argp sq_cli_text_argp = {.options = options, .parser = parse};

void sq_cli_text_of(const struct sq_token_source *s, const struct sq_tokens *t, char text[160])
{
    if (s->text)
        snprintf(text, 160, "%zu window%s of %zu tokens, stride %zu, BOS %s", t->n_sequences,
                 t->n_sequences == 1 ? "" : "s", t->offset[1], s->stride, sq_bos_name(s->bos));
    else
        snprintf(text, 160, "%zu sequence%s of a token file", t->n_sequences,
                 t->n_sequences == 1 ? "" : "s");
}

void sq_cli_text_json(const struct sq_token_source *s, const struct sq_tokens *t, json_t *o)
{
    const bool is = s->text;
    json_object_set_new(o, "sequences", json_integer((json_int_t)t->n_sequences));
    json_object_set_new(o, "window", is ? json_integer((json_int_t)s->window) : json_null());
    json_object_set_new(o, "stride", is ? json_integer((json_int_t)s->stride) : json_null());
    json_object_set_new(o, "bos", is ? json_string(sq_bos_name(s->bos)) : json_null());
}
