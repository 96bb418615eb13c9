// SPDX-License-Identifier: Apache-2.0
// Makes a token source of the options of a text, and writes it as JSON (sq_cli_text.h).
#include "sim/cli/sq_cli_text.h"

static const char *const bos[] = {"none", "first", "each", NULL};

#define AT(field) SQ_CLI_AT(struct sq_token_source, field)
const struct sq_cli_row sq_cli_text_rows[] = {
    SQ_CLI_UINT("window", "N", 2, INT32_MAX, AT(window), "of a text: tokens of a sequence",
                .usual = "2048, or the model's context if that is shorter"),
    SQ_CLI_UINT("stride", "N", 1, INT32_MAX, AT(stride),
                "of a text: tokens from one window to the next; what an earlier window predicted "
                "is context",
                .usual = "no overlap"),
    SQ_CLI_WORD("bos", "WHERE", bos, AT(bos),
                "of a text: BOS before nothing, the text or every window", .min = SQ_BOS_NONE,
                .usual = "first where the tokenizer adds it, else none"),
    SQ_CLI_END};
#undef AT

void sq_cli_text_of(const struct sq_token_source *s, const struct sq_tokens *t, char text[160])
{
    if (s->text)
        snprintf(text, 160, "%zu window%s of %zu tokens, stride %zu, BOS %s", t->n_sequences,
                 t->n_sequences == 1 ? "" : "s", t->offset[1], s->stride, sq_bos_name(s->bos));
    else
        snprintf(text, 160, "%zu sequence%s of a token file", t->n_sequences,
                 t->n_sequences == 1 ? "" : "s");
}

json_t *sq_cli_text_json(const struct sq_token_source *s, const struct sq_tokens *t)
{
    const json_int_t n = (json_int_t)t->n_sequences;
    if (!s->text)
        return json_pack("{s:I, s:n, s:n, s:n}", "sequences", n, "window", "stride", "bos");
    return json_pack("{s:I, s:I, s:I, s:s}", "sequences", n, "window", (json_int_t)s->window,
                     "stride", (json_int_t)s->stride, "bos", sq_bos_name(s->bos));
}
