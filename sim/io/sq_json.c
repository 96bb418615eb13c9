// SPDX-License-Identifier: Apache-2.0
// Parses JSON within bounds, and takes fields out of it with their ranges (sq_json.h).
#include "sim/io/sq_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_file.h"

// Nesting depth of the text, strings skipped; stops at SQ_JSON_MAX_DEPTH + 1.
static int depth_of(const char *text, size_t n)
{
    int depth = 0, deepest = 0;
    bool in_string = false;
    for (size_t i = 0; i < n && deepest <= SQ_JSON_MAX_DEPTH; i++) {
        char c = text[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
            deepest = depth > deepest ? depth : deepest;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return deepest;
}

enum sq_status sq_json_check_depth(const char *what, struct sq_json_text text, struct sq_error *err)
{
    if (depth_of(text.at, text.n) > SQ_JSON_MAX_DEPTH)
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: JSON nests deeper than %d", what,
                       SQ_JSON_MAX_DEPTH);
    return SQ_OK;
}

// Whether malloc refused jansson something in this thread. Jansson's lexer then blames a token that is good.
static _Thread_local bool is_refused;

void *sq_json_malloc(size_t nbytes)
{
    void *p = malloc(nbytes);
    is_refused = is_refused || !p;
    return p;
}

enum sq_status sq_json_tree(const char *what, struct sq_json_text text, size_t flags,
                            json_t **value, struct sq_error *err)
{
    json_error_t e;
    is_refused = false;
    *value = json_loadb(text.at, text.n, JSON_REJECT_DUPLICATES | flags, &e);
    if (*value)
        return SQ_OK;
    if (is_refused || !*e.text) // it has no word for that
        return SQ_NO_MEMORY(err, "%s", what);
    const enum sq_status status =
        SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: bad JSON at line %d column %d: %s", what, e.line,
                e.column, e.text);
    for (char *c = err ? err->text : (char[]){0}; *c; c++) // jansson quotes the text
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    return status;
}

enum sq_status sq_json_parse(const char *what, const void *text, size_t nbytes, json_t **root,
                             struct sq_error *err)
{
    const struct sq_json_text all = {text, nbytes};
    *root = NULL;
    SQ_TRY(sq_json_check_depth(what, all, err));
    SQ_TRY(sq_json_tree(what, all, 0, root, err));
    if (json_is_object(*root))
        return SQ_OK;
    json_decref(*root);
    *root = NULL;
    return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: JSON holds no object at the top", what);
}

enum sq_status sq_json_load(const char *path, size_t max_nbytes, json_t **root,
                            struct sq_error *err)
{
    SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
    *root = NULL;
    SQ_TRY(sq_file_map(path, &map, err));
    enum sq_status status;
    if (map.nbytes == 0)
        status = SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: the file is empty", sq_path_tail(path));
    else if (map.nbytes > max_nbytes)
        status = SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: %zu bytes, need at most %zu", sq_path_tail(path),
                         map.nbytes, max_nbytes);
    else
        status = sq_json_parse(sq_path_tail(path), map.data, map.nbytes, root, err);
    return status;
}

enum sq_status sq_json_uint(const json_t *object, const char *what, const char *key, uint64_t min,
                            uint64_t max, uint64_t fallback, uint64_t *value, struct sq_error *err)
{
    const json_t *v = sq_json_field(object, key);
    *value = fallback;
    if (!v && (fallback < min || fallback > max))
        return SQ_FAIL(err, SQ_ERR_RANGE, "%s: %s is missing, need %" PRIu64 "..%" PRIu64, what,
                       key, min, max);
    if (!v)
        return SQ_OK;
    if (!json_is_integer(v))
        return SQ_FAIL(err, SQ_ERR_RANGE, "%s: %s is no integer, need %" PRIu64 "..%" PRIu64, what,
                       key, min, max);
    json_int_t i = json_integer_value(v);
    if (i < 0 || (uint64_t)i < min || (uint64_t)i > max)
        return SQ_FAIL(err, SQ_ERR_RANGE, "%s: %s = %lld, need %" PRIu64 "..%" PRIu64, what, key,
                       (long long)i, min, max);
    *value = (uint64_t)i;
    return SQ_OK;
}

enum sq_status sq_json_double(const json_t *object, const char *what, const char *key, double min,
                              double max, double fallback, double *value, struct sq_error *err)
{
    const json_t *v = sq_json_field(object, key);
    *value = fallback;
    if (v && !json_is_number(v))
        return SQ_FAIL(err, SQ_ERR_RANGE, "%s: %s is no number, need %g..%g", what, key, min, max);
    if (v)
        *value = json_number_value(v);
    else if (!(fallback >= min && fallback <= max))
        return SQ_FAIL(err, SQ_ERR_RANGE, "%s: %s is missing, need %g..%g", what, key, min, max);
    if (!(*value >= min && *value <= max))
        return SQ_FAIL(err, SQ_ERR_RANGE, "%s: %s = %g, need %g..%g", what, key, *value, min, max);
    return SQ_OK;
}

enum sq_status sq_json_bool(const json_t *object, const char *what, const char *key, bool fallback,
                            bool *value, struct sq_error *err)
{
    const json_t *v = sq_json_field(object, key);
    *value = v ? json_is_true(v) : fallback;
    if (v && !json_is_boolean(v))
        return SQ_FAIL(err, SQ_ERR_RANGE, "%s: %s is neither true nor false", what, key);
    return SQ_OK;
}

enum sq_status sq_json_string(const json_t *object, const char *what, const char *key,
                              const char **value, struct sq_error *err)
{
    const json_t *v = sq_json_field(object, key);
    *value = v ? json_string_value(v) : NULL;
    if (v && !*value)
        return SQ_FAIL(err, SQ_ERR_RANGE, "%s: %s is no string", what, key);
    return SQ_OK;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_blank(const char *text, size_t n)
{
    while (n > 0 && strchr(" \t\r\n", text[n - 1]) && text[n - 1])
        n--;
    return n == 0;
}

static enum sq_status parse_line(const char *path, unsigned number, const char *line, size_t n,
                                 json_t **o, struct sq_error *err)
{
    struct sq_error inner;
    enum sq_status status =
        n >= 65536              ? SQ_FAIL(&inner, SQ_ERR_DAMAGED, "longer than 65535 characters")
        : memchr(line, '\0', n) ? SQ_FAIL(&inner, SQ_ERR_DAMAGED, "holds a zero byte")
                                : sq_json_parse("record", line, n, o, &inner);
    if (status == SQ_OK)
        return SQ_OK;
    return SQ_FAIL(err, SQ_ERR_DAMAGED, "'%s' line %u: %.120s", sq_path_tail(path), number,
                   inner.text);
}

enum sq_status sq_json_lines(const char *path, const char *text, size_t nbytes,
                             enum sq_status (*each)(const json_t *object, unsigned line, void *user,
                                                    struct sq_error *err),
                             void *user, struct sq_error *err)
{
    unsigned line = 0;
    for (const char *end = text + nbytes; text < end;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        const size_t n = (size_t)((stop ? stop : end) - text);
        line++;
        if (!is_blank(text, n)) {
            json_t *o = NULL;
            SQ_TRY(parse_line(path, line, text, n, &o, err));
            const enum sq_status status = each(o, line, user, err);
            json_decref(o);
            SQ_TRY(status);
        }
        text += n + (stop ? 1 : 0);
    }
    return SQ_OK;
}

// ---- the members of a large object, one by one --------------------------------------------------------
struct scan {
    const char *what, *at, *end;
    struct sq_error *err;
};

static enum sq_status bad(const struct scan *s, const char *sentence)
{
    return SQ_FAIL(s->err, SQ_ERR_DAMAGED, "%s: bad JSON, %zu bytes before its end: %s", s->what,
                   (size_t)(s->end - s->at), sentence);
}

static void skip_blank(struct scan *s)
{
    while (s->at < s->end && is_space(*s->at))
        s->at++;
}

// Behind the closing quote of the string that begins here; the end where there is none.
static const char *string_end(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\' && at + 1 < end)
            at++;
    return at < end ? at + 1 : end;
}

static enum sq_status read_key(struct scan *s, struct sq_json_text *key)
{
    skip_blank(s);
    if (s->at == s->end || *s->at != '"')
        return bad(s, "a key is no string");
    const char *end = string_end(s->at, s->end);
    *key = (struct sq_json_text){s->at, (size_t)(end - s->at)};
    s->at = end;
    skip_blank(s);
    if (s->at == s->end || *s->at != ':')
        return bad(s, "no colon after a key");
    s->at++;
    return SQ_OK;
}

// Up to the comma or brace after it, without blanks at either end; what is between is judged by
// whoever reads the value.
static enum sq_status read_value(struct scan *s, struct sq_json_text *value)
{
    skip_blank(s);
    const char *from = s->at;
    for (unsigned depth = 0; s->at < s->end; s->at++) {
        const char c = *s->at;
        if (c == '"')
            s->at = string_end(s->at, s->end) - 1;
        else if (depth == 0 && (c == ',' || c == '}'))
            break;
        else if (c == '{' || c == '[')
            depth++;
        else if (c == '}' || c == ']')
            depth--;
    }
    const char *to = s->at;
    while (to > from && is_space(to[-1]))
        to--;
    *value = (struct sq_json_text){from, (size_t)(to - from)};
    return s->at < s->end ? SQ_OK : bad(s, "the text ends inside an object");
}

enum sq_status sq_json_members(const char *what, struct sq_json_text object, sq_json_visit *visit,
                               void *context, struct sq_error *err)
{
    struct scan s = {what, object.at, object.at + object.n, err};
    skip_blank(&s);
    if (s.at == s.end || *s.at != '{')
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "%s: JSON holds no object at the top", what);
    s.at++;
    skip_blank(&s);
    for (bool more = s.at == s.end || *s.at != '}'; more;) {
        struct sq_json_text key, value;
        SQ_TRY(read_key(&s, &key));
        SQ_TRY(read_value(&s, &value));
        SQ_TRY(visit(context, key, value, err));
        more = *s.at == ',';
        s.at += more;
    }
    s.at++; // the brace
    skip_blank(&s);
    return s.at == s.end ? SQ_OK : bad(&s, "text behind the object");
}

enum sq_status sq_json_value(const char *what, struct sq_json_text text, json_t **value,
                             struct sq_error *err)
{
    return sq_json_tree(what, text, JSON_DECODE_ANY, value, err);
}

enum sq_status sq_json_decode(const char *what, struct sq_json_text text, char *out,
                              struct sq_error *err)
{
    const size_t n = text.n < 2 ? 0 : text.n - 2;
    bool is_plain = text.n >= 2 && text.at[0] == '"' && text.at[n + 1] == '"';
    for (size_t i = 0; is_plain && i < n; i++) { // nothing to decode, nothing to refuse
        const unsigned char c = (unsigned char)(out[i] = text.at[i + 1]);
        is_plain = c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
    }
    out[n] = '\0';
    if (is_plain)
        return SQ_OK;
    json_t *value;
    SQ_TRY(sq_json_value(what, text, &value, err));
    const char *decoded = json_string_value(value);
    if (decoded)
        memcpy(out, decoded, strlen(decoded) + 1); // never longer than its encoding
    json_decref(value);
    return decoded ? SQ_OK : SQ_FAIL(err, SQ_ERR_RANGE, "%s: a value is no string", what);
}
