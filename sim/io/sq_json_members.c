// SPDX-License-Identifier: Apache-2.0
// The members of a large object one by one (sq_json.h).
#include <string.h>

#include "sim/io/sq_json.h"

struct scan {
    const char *what, *at, *end;
    struct sq_error *err;
};

static enum sq_status bad(const struct scan *s, const char *sentence)
{
    return SQ_FAIL(s->err, SQ_ERR_DAMAGED, "%s: bad JSON, %zu bytes before its end: %s", s->what,
                   (size_t)(s->end - s->at), sentence);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_blank(struct scan *s)
{
    while (s->at < s->end && is_blank(*s->at))
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

// Up to the comma or brace behind it, without blanks at either end; what is between is judged by
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
    while (to > from && is_blank(to[-1]))
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
