// SPDX-License-Identifier: Apache-2.0
// Readers of sq_tokenizer.h: tokenizer.json, and the vocabulary of a GGUF file.
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_grow.h"
#include "sim/io/sq_json.h"
#include "sim/llm/text/sq_tokenizer.h"
#include "sim/llm/text/sq_tokenizer_json.h"

enum { MAX_TOKEN = 4096, MAX_ID = 1 << 24 };

struct reader {
    struct sq_tokenizer *t;
    const char *what;
    size_t text_n;
    const json_t *merges; // of tokenizer.json
};

// ---- tokens ---------------------------------------------------------------------------------

// The byte that a character of the byte-level alphabet stands for, -1 where it is none: printable
// Latin-1 is itself, all other bytes in their order are U+0100, U+0101, ...
static int byte_of(utf8proc_int32_t c)
{
    if ((c >= 0x21 && c <= 0x7e) || (c >= 0xa1 && c <= 0xac) || (c >= 0xae && c <= 0xff))
        return (int)c;
    const int i = (int)c - 256;
    return i < 0 || i > 67 ? -1 : i <= 32 ? i : i <= 66 ? i - 33 + 0x7f : 0xad;
}

// Bytes into out, which holds n; *length = 0 where the text is outside the alphabet.
static void to_bytes(const char *text, size_t n, char *out, size_t *length)
{
    *length = 0;
    for (size_t at = 0; at < n;) {
        utf8proc_int32_t c;
        const utf8proc_ssize_t step =
            utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(n - at), &c);
        const int byte = step > 0 ? byte_of(c) : -1;
        if (byte < 0) {
            *length = 0;
            return;
        }
        out[(*length)++] = (char)byte;
        at += (size_t)step;
    }
}

static enum sq_status append(struct sq_token **list, size_t *n, struct sq_token token,
                             struct sq_error *err)
{
    SQ_TRY(SQ_GROW(*list, *n, err, "%zu tokens", *n));
    (*list)[(*n)++] = token;
    return SQ_OK;
}

// A token of the vocabulary, in the byte-level alphabet. What is outside it no text becomes.
static enum sq_status add_token(struct reader *r, const char *text, size_t n, int64_t id,
                                struct sq_error *err)
{
    SQ_FAIL_IF(id < 0 || id >= MAX_ID, err, SQ_ERR_DAMAGED, "%s: id of a token = %lld, need 0..%d",
               r->what, (long long)id, MAX_ID - 1);
    char *to = r->t->text + r->text_n;
    size_t length = n;
    if (r->t->rank)
        memcpy(to, text, n); // SentencePiece has the text itself
    else
        to_bytes(text, n, to, &length);
    r->text_n += length;
    return length ? append(&r->t->token, &r->t->n_tokens,
                           (struct sq_token){to, length, (int32_t)id}, err)
                  : SQ_OK;
}

// A token found in the text as it is (pass 0) or as it is after NFC (pass 1).
static enum sq_status add_added(struct reader *r, unsigned pass, const char *text, size_t n,
                                int64_t id, struct sq_error *err)
{
    SQ_FAIL_IF(n == 0 || id < 0 || id >= MAX_ID, err, SQ_ERR_DAMAGED,
               "%s: an added token of %zu bytes with id %lld, need 1 byte, 0..%d", r->what, n,
               (long long)id, MAX_ID - 1);
    char *to = r->t->text + r->text_n;
    memcpy(to, text, n);
    r->text_n += n;
    return append(&r->t->added[pass], &r->t->n_added[pass], (struct sq_token){to, n, (int32_t)id},
                  err);
}

// ---- merges ---------------------------------------------------------------------------------

static enum sq_status add_merge(struct reader *r, const char *left, size_t n_left,
                                const char *right, size_t n_right, struct sq_error *err)
{
    char bytes[2 * MAX_TOKEN];
    size_t a, b = 0;
    struct sq_tokenizer *t = r->t;
    SQ_FAIL_IF(n_left > MAX_TOKEN || n_right > MAX_TOKEN, err, SQ_ERR_DAMAGED,
               "%s: merge %zu has %zu bytes, need at most %d a side", r->what, t->n_merges,
               n_left + n_right, MAX_TOKEN);
    to_bytes(left, n_left, bytes, &a);
    to_bytes(right, n_right, bytes + a, &b);
    const struct sq_merge m = {.left = sq_tokenizer_find(t, bytes, a),
                               .right = sq_tokenizer_find(t, bytes + a, b),
                               .rank = (uint32_t)t->n_merges,
                               .id = sq_tokenizer_find(t, bytes, a + b)};
    SQ_FAIL_IF(a == 0 || b == 0 || m.left < 0 || m.right < 0 || m.id < 0, err, SQ_ERR_DAMAGED,
               "%s: merge %zu is of tokens outside the vocabulary", r->what, t->n_merges);
    t->merge[t->n_merges++] = m;
    return SQ_OK;
}

// "left right"
static enum sq_status add_merge_text(struct reader *r, const char *text, size_t n,
                                     struct sq_error *err)
{
    const char *space = memchr(text, ' ', n);
    SQ_FAIL_IF(!space, err, SQ_ERR_DAMAGED, "%s: merge %zu has no two parts", r->what,
               r->t->n_merges);
    const size_t left = (size_t)(space - text);
    return add_merge(r, text, left, space + 1, n - left - 1, err);
}

static enum sq_status make_room_for_merges(struct reader *r, size_t n, struct sq_error *err)
{
    SQ_FAIL_IF(n >= MAX_ID, err, SQ_ERR_DAMAGED, "%s: %zu merges, need less than %d", r->what, n,
               MAX_ID);
    r->t->merge = calloc(n + 1, sizeof *r->t->merge);
    return SQ_HAVE(r->t->merge, err, "%s", r->what);
}

// ---- tokenizer.json ---------------------------------------------------------------------------

static enum sq_status visit_token(void *context, struct sq_json_text key, struct sq_json_text value,
                                  struct sq_error *err)
{
    struct reader *r = context;
    char text[MAX_TOKEN + 1], number[24];
    SQ_FAIL_IF(key.n > MAX_TOKEN || value.n >= sizeof number, err, SQ_ERR_DAMAGED,
               "%s: a token of %zu bytes, need at most %d", r->what, key.n, MAX_TOKEN);
    SQ_TRY(sq_json_decode(r->what, key, text, err));
    memcpy(number, value.at, value.n);
    number[value.n] = '\0';
    char *end;
    const long long id = strtoll(number, &end, 10);
    SQ_FAIL_IF(*end || end == number, err, SQ_ERR_DAMAGED, "%s: the id of a token is no integer",
               r->what);
    return add_token(r, text, strlen(text), id, err);
}

static bool is_key(struct sq_json_text key, const char *name)
{
    const size_t n = strlen(name);
    return key.n == n + 2 && memcmp(key.at + 1, name, n) == 0;
}

// Values that change what BPE does and must be as they are in a byte-level one.
static enum sq_status check_plain(const struct reader *r, struct sq_json_text key,
                                  struct sq_json_text value, struct sq_error *err)
{
    static const struct {
        const char *key, *plain[3];
    } field[] = {{"type", {"\"BPE\"", NULL, NULL}},
                 {"dropout", {"null", "0.0", NULL}},
                 {"continuing_subword_prefix", {"null", "\"\"", NULL}},
                 {"end_of_word_suffix", {"null", "\"\"", NULL}},
                 {"byte_fallback", {"false", "null", NULL}}};
    for (size_t i = 0; i < sizeof field / sizeof field[0]; i++) {
        if (!is_key(key, field[i].key))
            continue;
        for (size_t j = 0; j < 3 && field[i].plain[j]; j++)
            if (value.n == strlen(field[i].plain[j]) &&
                memcmp(value.at, field[i].plain[j], value.n) == 0)
                return SQ_OK;
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "%s: %s of the model, need %s: only byte-level BPE is supported (no "
                       "SentencePiece, no WordPiece)",
                       r->what, field[i].key, field[i].plain[0]);
    }
    return SQ_OK;
}

static enum sq_status visit_model(void *context, struct sq_json_text key, struct sq_json_text value,
                                  struct sq_error *err)
{
    struct reader *r = context;
    if (is_key(key, "vocab"))
        return sq_json_members(r->what, value, visit_token, r, err);
    if (is_key(key, "merges")) {
        json_t *merges;
        SQ_TRY(sq_json_value(r->what, value, &merges, err));
        json_decref((json_t *)(uintptr_t)r->merges);
        r->merges = merges;
        return SQ_OK;
    }
    if (is_key(key, "ignore_merges"))
        r->t->ignores_merges = value.n == 4 && memcmp(value.at, "true", 4) == 0;
    return check_plain(r, key, value, err);
}

static enum sq_status add_json_merges(struct reader *r, struct sq_error *err)
{
    SQ_TRY(make_room_for_merges(r, json_array_size(r->merges), err));
    size_t i;
    const json_t *m;
    json_array_foreach(r->merges, i, m)
    {
        const json_t *a = json_array_get(m, 0), *b = json_array_get(m, 1);
        if (json_is_string(m))
            SQ_TRY(add_merge_text(r, json_string_value(m), json_string_length(m), err));
        else if (json_array_size(m) == 2 && json_is_string(a) && json_is_string(b))
            SQ_TRY(add_merge(r, json_string_value(a), json_string_length(a), json_string_value(b),
                             json_string_length(b), err));
        else
            return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: merge %zu is no pair", r->what, i);
    }
    return SQ_OK;
}

static enum sq_status add_json_added(struct reader *r, const json_t *list, struct sq_error *err)
{
    static const char *const never[] = {"lstrip", "rstrip", "single_word"};
    size_t i;
    const json_t *a;
    json_array_foreach((json_t *)(uintptr_t)list, i, a)
    {
        const char *text = json_string_value(json_object_get(a, "content"));
        const json_t *id = json_object_get(a, "id");
        SQ_FAIL_IF(!text || !json_is_integer(id), err, SQ_ERR_DAMAGED,
                   "%s: added token %zu has no content or no id", r->what, i);
        for (size_t j = 0; j < 3; j++)
            SQ_FAIL_IF(json_is_true(json_object_get(a, never[j])), err, SQ_ERR_UNSUPPORTED,
                       "%s: %s of added token '%.40s' = true, need false", r->what, never[j], text);
        const unsigned pass = json_is_true(json_object_get(a, "normalized"));
        SQ_TRY(add_added(r, pass, text, strlen(text), json_integer_value(id), err));
    }
    return SQ_OK;
}

// Where the text is brought to NFC before a token is looked for, the token is, too.
static enum sq_status normalize_added(struct reader *r, struct sq_error *err)
{
    struct sq_token *a = r->t->added[1];
    const size_t n = r->t->is_nfc ? r->t->n_added[1] : 0;
    size_t room = 1, used = 0;
    for (size_t i = 0; i < n; i++)
        room += 3 * a[i].n; // the most that NFC makes of UTF-8 (Unicode, UAX 15)
    r->t->nfc_text = malloc(room);
    SQ_NEED(r->t->nfc_text, err, "%s", r->what);
    for (size_t i = 0; i < n; i++) {
        utf8proc_uint8_t *nfc;
        const utf8proc_ssize_t length =
            utf8proc_map((const utf8proc_uint8_t *)a[i].at, (utf8proc_ssize_t)a[i].n, &nfc,
                         UTF8PROC_STABLE | UTF8PROC_COMPOSE);
        SQ_FAIL_IF(length < 0, err, SQ_ERR_MEMORY, "%s: NFC of an added token: %s", r->what,
                   utf8proc_errmsg(length));
        assert(used + (size_t)length <= room);
        memcpy(r->t->nfc_text + used, nfc, (size_t)length);
        free(nfc);
        a[i].at = r->t->nfc_text + used;
        a[i].n = (size_t)length;
        used += (size_t)length;
    }
    return SQ_OK;
}

static enum sq_status visit_root(void *context, struct sq_json_text key, struct sq_json_text value,
                                 struct sq_error *err)
{
    struct reader *r = context;
    if (is_key(key, "model"))
        return sq_json_members(r->what, value, visit_model, r, err);
    json_auto_t *part = NULL;
    SQ_TRY(sq_json_value(r->what, value, &part, err));
    if (is_key(key, "added_tokens"))
        return add_json_added(r, part, err);
    if (is_key(key, "normalizer"))
        return sq_tokenizer_json_normalizer(r->what, part, &r->t->is_nfc, err);
    if (is_key(key, "pre_tokenizer"))
        return sq_tokenizer_json_steps(r->what, part, &r->t->pretokenizer, err);
    return is_key(key, "post_processor") ? sq_tokenizer_json_around(part, r->t, err) : SQ_OK;
}

static enum sq_status read_json(struct reader *r, struct sq_json_text file, struct sq_error *err)
{
    r->t->text = malloc(file.n + 1); // what is decoded is shorter
    SQ_NEED(r->t->text, err, "%s", r->what);
    SQ_TRY(sq_json_check_depth(r->what, file, err));
    SQ_TRY(sq_json_members(r->what, file, visit_root, r, err));
    SQ_FAIL_IF(r->t->n_tokens == 0 || !json_is_array(r->merges), err, SQ_ERR_UNSUPPORTED,
               "%s: no vocab with merges: only byte-level BPE is supported", r->what);
    SQ_FAIL_IF(r->t->pretokenizer.n == 0, err, SQ_ERR_UNSUPPORTED,
               "%s: no pre_tokenizer: only byte-level BPE is supported", r->what);
    SQ_TRY(normalize_added(r, err));
    sq_tokenizer_sort(r->t);
    SQ_TRY(add_json_merges(r, err));
    sq_tokenizer_sort_merges(r->t);
    return SQ_OK;
}

enum sq_status sq_tokenizer_read(struct sq_tokenizer *t, const char *path, struct sq_error *err)
{
    SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
    struct reader r = {.t = t, .what = sq_path_tail(path)};
    *t = (struct sq_tokenizer){.bos = SQ_TOKEN_NONE};
    SQ_TRY(sq_file_map(path, &map, err));
    const struct sq_json_text file = {(const char *)map.data, map.nbytes};
    const enum sq_status status =
        map.nbytes > 0 ? read_json(&r, file, err)
                       : SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: the file is empty", r.what);
    json_decref((json_t *)(uintptr_t)r.merges);
    return SQ_ELSE(status, sq_tokenizer_free(t));
}

// ---- GGUF -----------------------------------------------------------------------------------

// Steps by the name of the pre-tokenizer, and whether it takes whole pieces of the vocabulary.
static const struct sq_tokenizer_kind known[] = {
    {"gpt-2", {SQ_REGEX_GPT2, NULL}, false, false},
    {"smollm", {SQ_REGEX_DIGIT, SQ_REGEX_GPT2}, false, false},
    {"llama-bpe", {SQ_REGEX_LLAMA3, NULL}, true, false},
    {"qwen2", {SQ_REGEX_QWEN2, NULL}, false, true},
};

static enum sq_status find_text(const char *what, const struct sq_gguf *g, const char *key,
                                char out[64], struct sq_error *err)
{
    const struct sq_gguf_value *v = sq_gguf_find(g, key);
    json_auto_t *j = v ? sq_gguf_json(v) : NULL;
    const bool is = json_is_string(j) && json_string_length(j) < 64;
    if (is)
        snprintf(out, 64, "%s", json_string_value(j));
    return is ? SQ_OK : SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "%s: %s is missing or no name", what, key);
}

static enum sq_status find_strings(const char *what, const struct sq_gguf *g, const char *key,
                                   const struct sq_gguf_value **v, struct sq_error *err)
{
    *v = sq_gguf_find(g, key);
    SQ_FAIL_IF(!*v || !(*v)->is_array || (*v)->type != SQ_GGUF_STRING || (*v)->n >= MAX_ID, err,
               SQ_ERR_DAMAGED, "%s: %s is no array of less than %d strings", what, key, MAX_ID);
    return SQ_OK;
}

static enum sq_status find_byte_level(const char *what, const struct sq_gguf *g,
                                      struct sq_tokenizer_source *s, struct sq_error *err)
{
    char pre[64];
    SQ_TRY(find_text(what, g, "tokenizer.ggml.pre", pre, err));
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, pre) == 0)
            s->kind = &known[i];
    SQ_FAIL_IF(!s->kind, err, SQ_ERR_UNSUPPORTED,
               "%s: tokenizer.ggml.pre = %.60s, need gpt-2, llama-bpe, qwen2 or smollm", what, pre);
    return find_strings(what, g, "tokenizer.ggml.merges", &s->merges, err);
}

static enum sq_status find_scores(const char *what, const struct sq_gguf *g,
                                  struct sq_tokenizer_source *s, struct sq_error *err)
{
    s->scores = sq_gguf_find(g, "tokenizer.ggml.scores");
    return s->scores && s->scores->is_array && s->scores->type == SQ_GGUF_F32 &&
                   s->scores->n == s->tokens->n
               ? SQ_OK
               : SQ_FAIL(err, SQ_ERR_DAMAGED,
                         "%s: tokenizer.ggml.scores is no array of %zu binary32 numbers", what,
                         s->tokens->n);
}

enum sq_status sq_tokenizer_source(const struct sq_gguf *g, const char *what,
                                   struct sq_tokenizer_source *s, struct sq_error *err)
{
    char kind[64];
    *s = (struct sq_tokenizer_source){0};
    SQ_TRY(find_text(what, g, "tokenizer.ggml.model", kind, err));
    const bool is_spm = strcmp(kind, "llama") == 0;
    SQ_FAIL_IF(!is_spm && strcmp(kind, "gpt2") != 0, err, SQ_ERR_UNSUPPORTED,
               "%s: tokenizer.ggml.model = %s, need gpt2 (byte-level BPE) or llama "
               "(SentencePiece)",
               what, kind);
    SQ_TRY(find_strings(what, g, "tokenizer.ggml.tokens", &s->tokens, err));
    SQ_TRY(is_spm ? find_scores(what, g, s, err) : find_byte_level(what, g, s, err));
    s->type = sq_gguf_find(g, "tokenizer.ggml.token_type");
    SQ_FAIL_IF(s->type && (!s->type->is_array || s->type->n != s->tokens->n ||
                           s->type->type == SQ_GGUF_STRING),
               err, SQ_ERR_DAMAGED, "%s: tokenizer.ggml.token_type is no array of %zu integers",
               what, s->tokens->n);
    return SQ_OK;
}

enum sq_token_class sq_tokenizer_class(const struct sq_tokenizer_source *s, size_t token)
{
    enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, USER = 4, BYTE = 6 }; // of llama.cpp
    const int64_t kind = s->type ? sq_gguf_integer(s->type, token) : NORMAL;
    return kind == NORMAL                       ? SQ_TOKEN_NORMAL
           : kind == CONTROL || kind == UNKNOWN ? SQ_TOKEN_CONTROL
           : kind == USER                       ? SQ_TOKEN_USER
           : kind == BYTE                       ? SQ_TOKEN_BYTE
                                                : SQ_TOKEN_UNUSED;
}

// "<0x0A>"
static enum sq_status add_byte(struct reader *r, struct sq_gguf_text text, int64_t id,
                               struct sq_error *err)
{
    char copy[7] = "";
    unsigned byte;
    int end = 0;
    if (text.n == 6)
        memcpy(copy, text.at, 6);
    SQ_FAIL_IF(sscanf(copy, "<0x%2X>%n", &byte, &end) != 1 || end != 6, err, SQ_ERR_DAMAGED,
               "%s: token %lld is a byte, need <0x00>..<0xFF>", r->what, (long long)id);
    r->t->of_byte[byte] = (int32_t)id;
    return SQ_OK;
}

struct scored {
    float score;
    int32_t id;
};

static int by_score(const void *a, const void *b)
{
    const struct scored *s = a, *t = b;
    return (s->score < t->score) - (s->score > t->score);
}

// Ranks of all tokens, highest score first; equal scores have one rank, so that the leftmost pair wins.
static enum sq_status rank_scores(struct reader *r, const struct sq_tokenizer_source *s,
                                  struct sq_error *err)
{
    const size_t n = s->scores->n;
    SQ_FREED struct scored *order = malloc((n + 1) * sizeof *order);
    r->t->rank = calloc(n + 1, sizeof *r->t->rank);
    SQ_NEED(order && r->t->rank, err, "%s", r->what);
    for (size_t i = 0; i < n; i++) {
        memcpy(&order[i].score, s->scores->at + i * sizeof(float), sizeof(float));
        order[i].id = (int32_t)i;
        SQ_FAIL_IF(order[i].score != order[i].score, err, SQ_ERR_DAMAGED,
                   "%s: the score of token %zu is no number", r->what, i);
    }
    qsort(order, n, sizeof *order, by_score);
    for (size_t i = 0, rank = 0; i < n; i++) {
        rank += i > 0 && order[i].score != order[i - 1].score;
        r->t->rank[order[i].id] = (uint32_t)rank;
    }
    return SQ_OK;
}

static enum sq_status add_gguf_tokens(struct reader *r, const struct sq_tokenizer_source *s,
                                      struct sq_error *err)
{
    size_t nbytes = 1;
    const uint8_t *at = s->tokens->at;
    for (size_t i = 0; i < s->tokens->n; i++)
        nbytes += sq_gguf_next(&at).n;
    r->t->text = malloc(2 * nbytes); // added tokens are in both lists
    SQ_NEED(r->t->text, err, "%s", r->what);
    at = s->tokens->at;
    for (size_t i = 0; i < s->tokens->n; i++) {
        const struct sq_gguf_text text = sq_gguf_next(&at);
        const enum sq_token_class class = sq_tokenizer_class(s, i);
        if (class == SQ_TOKEN_CONTROL || class == SQ_TOKEN_USER)
            SQ_TRY(add_added(r, 0, text.at, text.n, (int64_t)i, err));
        else if (class == SQ_TOKEN_BYTE && r->t->rank)
            SQ_TRY(add_byte(r, text, (int64_t)i, err));
        // Merges reach tokens of every type.
        SQ_TRY(add_token(r, text.at, text.n, (int64_t)i, err));
    }
    return SQ_OK;
}

static void read_gguf_bos(const struct sq_gguf *g, struct sq_tokenizer *t)
{
    const struct sq_gguf_value *bos = sq_gguf_find(g, "tokenizer.ggml.bos_token_id");
    const struct sq_gguf_value *adds = sq_gguf_find(g, "tokenizer.ggml.add_bos_token");
    const int64_t id = bos && !bos->is_array ? sq_gguf_integer(bos, 0) : SQ_TOKEN_NONE;
    t->bos = id >= 0 && id < MAX_ID ? (int32_t)id : SQ_TOKEN_NONE;
    t->adds_bos = t->bos >= 0 && adds && !adds->is_array && sq_gguf_integer(adds, 0) != 0;
}

static enum sq_status read_spm(struct reader *r, const struct sq_gguf *g,
                               const struct sq_tokenizer_source *s, struct sq_error *err)
{
    const struct sq_gguf_value *first = sq_gguf_find(g, "tokenizer.ggml.add_space_prefix");
    const struct sq_gguf_value *unknown = sq_gguf_find(g, "tokenizer.ggml.unknown_token_id");
    const int64_t id = unknown && !unknown->is_array ? sq_gguf_integer(unknown, 0) : 0;
    SQ_FAIL_IF(id < 0 || (uint64_t)id >= s->tokens->n, err, SQ_ERR_DAMAGED,
               "%s: tokenizer.ggml.unknown_token_id = %lld, need 0..%zu", r->what, (long long)id,
               s->tokens->n - 1);
    for (unsigned byte = 0; byte < 256; byte++)
        r->t->of_byte[byte] = (int32_t)id;
    r->t->is_space_first = !first || first->is_array || sq_gguf_integer(first, 0) != 0;
    SQ_TRY(rank_scores(r, s, err));
    SQ_TRY(add_gguf_tokens(r, s, err));
    sq_tokenizer_sort(r->t);
    read_gguf_bos(g, r->t);
    return SQ_OK;
}

static enum sq_status read_gguf(struct reader *r, const struct sq_gguf *g, struct sq_error *err)
{
    struct sq_tokenizer_source s;
    SQ_TRY(sq_tokenizer_source(g, r->what, &s, err));
    if (!s.kind)
        return read_spm(r, g, &s, err);
    r->t->ignores_merges = s.kind->ignores_merges;
    r->t->is_nfc = s.kind->is_nfc;
    for (size_t i = 0; i < 2 && s.kind->step[i]; i++)
        SQ_TRY(sq_pretokenizer_add(&r->t->pretokenizer, s.kind->step[i], false, err));
    SQ_TRY(add_gguf_tokens(r, &s, err));
    sq_tokenizer_sort(r->t);
    SQ_TRY(make_room_for_merges(r, s.merges->n, err));
    const uint8_t *at = s.merges->at;
    for (size_t i = 0; i < s.merges->n; i++) {
        const struct sq_gguf_text text = sq_gguf_next(&at);
        SQ_TRY(add_merge_text(r, text.at, text.n, err));
    }
    sq_tokenizer_sort_merges(r->t);
    read_gguf_bos(g, r->t);
    return SQ_OK;
}

enum sq_status sq_tokenizer_of_gguf(struct sq_tokenizer *t, const struct sq_gguf *g,
                                    const char *what, struct sq_error *err)
{
    struct reader r = {.t = t, .what = what};
    *t = (struct sq_tokenizer){.bos = SQ_TOKEN_NONE};
    const enum sq_status status = read_gguf(&r, g, err);
    return SQ_ELSE(status, sq_tokenizer_free(t));
}
