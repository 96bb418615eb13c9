// SPDX-License-Identifier: Apache-2.0
// token_dump TOKENIZER TEXT: the ids of a text file, one a line, by tokenizer.json or a GGUF file.
// For text.t, which compares with the Python package tokenizers.
#include <stdio.h>
#include <stdlib.h>

#include "sim/llm/text/sq_tokenizer.h"

static void must(enum sq_status status, const struct sq_error *err)
{
    if (status == SQ_OK)
        return;
    fprintf(stderr, "token_dump: %s\n", err->text);
    exit(2);
}

int main(int argc, char **argv)
{
    struct sq_tokenizer t;
    struct sq_file_view text;
    struct sq_gguf g;
    struct sq_error err;
    int32_t *id;
    size_t n;
    if (argc != 3)
        return 2;
    if (sq_gguf_is(argv[1])) {
        must(sq_gguf_open(&g, argv[1], &err), &err);
        must(sq_tokenizer_of_gguf(&t, &g, argv[1], &err), &err);
        sq_gguf_close(&g);
    } else {
        must(sq_tokenizer_read(&t, argv[1], &err), &err);
    }
    must(sq_file_map(argv[2], &text, &err), &err);
    must(sq_tokenizer_encode(&t, (const char *)text.data, text.nbytes, &id, &n, &err), &err);
    for (size_t i = 0; i < n; i++)
        printf("%d\n", (int)id[i]);
    free(id);
    sq_file_unmap(&text);
    sq_tokenizer_free(&t);
    return 0;
}
