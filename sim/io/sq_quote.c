// SPDX-License-Identifier: Apache-2.0
// Tests names, and quotes text for terminals, gnuplot, YAML, scripts and JSON (sq_quote.h).
#include "sim/io/sq_quote.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sim/io/sq_digest.h"

// ---- names ------------------------------------------------------------------------------------

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static size_t identifier_len(const char *name)
{
    return *name && strchr(LETTERS "_", *name) ? strspn(name, LETTERS DIGITS "_") : 0;
}

bool sq_name_is_verilog(const char *name)
{
    const size_t len = identifier_len(name);
    return len > 0 && name[len] == '\0';
}

bool sq_name_is_pin(const char *name)
{
    const size_t len = identifier_len(name);
    const char *at = name + len;
    if (len == 0 || *at == '\0')
        return len > 0;
    if (*at++ != '[')
        return false;
    size_t digits = strspn(at, DIGITS);
    at += digits;
    if (digits > 0 && *at == ':') {
        digits = strspn(++at, DIGITS);
        at += digits;
    }
    return digits > 0 && strcmp(at, "]") == 0;
}

bool sq_name_is_stem(const char *name)
{
    const size_t len = strspn(name, LETTERS DIGITS "_-");
    return len >= 1 && len <= 60 && name[len] == '\0';
}

bool sq_name_is_file(const char *name)
{
    return *name && *name != '.' && name[strspn(name, LETTERS DIGITS "_-.")] == '\0';
}

void sq_quote_file(char out[SQ_FILE_NAME_MAX + 1], const char *text)
{
    enum { CUT = SQ_FILE_NAME_MAX - 2 - (SQ_DIGEST_SIZE - 1) };
    size_t n = 0, n_cut = 0;
    const char *at = text;
    for (; *at && n <= SQ_FILE_NAME_MAX - 3; at++) {
        const bool is_plain = strchr(LETTERS DIGITS "_-.", *at) && (*at != '.' || n > 0);
        n += (size_t)sprintf(out + n, is_plain ? "%c" : "%%%02X", (unsigned char)*at);
        if (n <= CUT)
            n_cut = n;
    }
    out[n] = '\0';
    if (!*at && n > 0)
        return;
    out[n_cut] = '%';
    out[n_cut + 1] = '-';
    sq_digest_hex(sq_digest_of(text, strlen(text)), out + n_cut + 2);
}

// ---- characters ---------------------------------------------------------------------------------

// The length of the character at s[0..n), n >= 1, and its code; code = -1 for a byte that is no
// UTF-8, length 0 where the text ends inside a character.
static size_t decode(const unsigned char *s, size_t n, int32_t *code)
{
    static const int32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t len = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : 4;
    *code = -1;
    if (len == 0 || *s > 0xf4)
        return 1;
    int32_t c = len == 1 ? *s : *s & (0x7f >> len);
    for (size_t i = 1; i < len; i++) {
        if (i == n)
            return 0;
        if ((s[i] & 0xc0) != 0x80)
            return 1;
        c = c << 6 | (s[i] & 0x3f);
    }
    if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return 1;
    *code = c;
    return len;
}

static bool is_hidden(int32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

// The character at s[0..n) as visible text; returns the bytes read, 0 where it is not complete.
static size_t quote_one(const unsigned char *s, size_t n, char out[SQ_QUOTE_GROWTH + 1],
                        size_t *n_out)
{
    int32_t code;
    size_t len = decode(s, n, &code);
    if (len == 0)
        return 0;
    if (code < 0) {
        *n_out = (size_t)snprintf(out, SQ_QUOTE_GROWTH + 1, "\\x%02x", *s);
    } else if (is_hidden(code)) {
        *n_out = (size_t)snprintf(out, SQ_QUOTE_GROWTH + 1, "\\u%04x", (unsigned)code & 0xffff);
    } else {
        memcpy(out, s, len);
        *n_out = len;
    }
    return len;
}

// The same at the end of a text: what is not complete is no UTF-8.
static size_t quote_last(const unsigned char *s, size_t n, char out[SQ_QUOTE_GROWTH + 1],
                         size_t *n_out)
{
    const size_t len = quote_one(s, n, out, n_out);
    if (len > 0)
        return len;
    *n_out = (size_t)snprintf(out, SQ_QUOTE_GROWTH + 1, "\\x%02x", *s);
    return 1;
}

static void put_text(FILE *out, const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    while (n > 0) {
        char one[SQ_QUOTE_GROWTH + 1];
        size_t n_one, len = quote_last(s, n, one, &n_one);
        fwrite(one, 1, n_one, out);
        s += len;
        n -= len;
    }
}

void sq_put_text(FILE *out, const char *text)
{
    put_text(out, text, strlen(text));
}

bool sq_quote_text(char *out, size_t cap, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t n = strlen(text), at = 0;
    while (n > 0) {
        char one[SQ_QUOTE_GROWTH + 1];
        size_t n_one, len = quote_last(s, n, one, &n_one);
        if (at + n_one >= cap)
            break;
        memcpy(out + at, one, n_one);
        at += n_one;
        s += len;
        n -= len;
    }
    out[at] = '\0';
    return strcmp(out, text) == 0;
}

static bool is_plain(unsigned char c)
{
    return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t';
}

size_t sq_quote_stream(struct sq_quote_stream *s, const char *in, size_t n, char *out)
{
    size_t n_out = 0, at = 0;
    while (at < n || s->n_rest > 0) {
        if (s->n_rest == 0 && is_plain((unsigned char)in[at])) {
            out[n_out++] = in[at++];
            continue;
        }
        while (s->n_rest < sizeof s->rest && at < n)
            s->rest[s->n_rest++] = (unsigned char)in[at++];
        char one[SQ_QUOTE_GROWTH + 1] = {(char)s->rest[0]};
        size_t n_one = 1, len = 1;
        if (!is_plain(s->rest[0]))
            len = quote_one(s->rest, s->n_rest, one, &n_one);
        if (len == 0)
            break; // the piece ends inside a character
        memcpy(out + n_out, one, n_one);
        n_out += n_one;
        s->n_rest -= len;
        memmove(s->rest, s->rest + len, s->n_rest);
    }
    return n_out;
}

// ---- gnuplot, YAML, HTML ------------------------------------------------------------------------

// Single quotes would do but for a text that begins with one: gnuplot reads ''' as an empty string
// and the start of another. Its \ooo goes on as long as there are digits, so none follows one.
static bool is_plain_gnuplot(unsigned char c, bool after_escape)
{
    return c >= 0x80 || (strchr(DIGITS, c) ? !after_escape : strchr(LETTERS " ,.:=_-", c) != NULL);
}

void sq_put_gnuplot(FILE *out, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    bool after_escape = false;
    fputc('"', out);
    for (size_t n = strlen(text); n > 0;) {
        char one[SQ_QUOTE_GROWTH + 1];
        size_t n_one, len = quote_last(s, n, one, &n_one);
        for (size_t i = 0; i < n_one; i++) {
            const unsigned char c = (unsigned char)one[i];
            after_escape = !is_plain_gnuplot(c, after_escape);
            fprintf(out, after_escape ? "\\%03o" : "%c", c);
        }
        s += len;
        n -= len;
    }
    fputc('"', out);
}

void sq_put_yaml(FILE *out, const char *text)
{
    fputc('"', out);
    for (;;) {
        const size_t n = strcspn(text, "\\\"");
        put_text(out, text, n);
        text += n;
        if (*text == '\0')
            break;
        fprintf(out, "\\%c", *text++);
    }
    fputc('"', out);
}

void sq_put_argument(FILE *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=.,:/@%";
    if (*text && text[strspn(text, plain)] == '\0') {
        fputs(text, out);
        return;
    }
    fputc('\'', out);
    for (;;) {
        const size_t n = strcspn(text, "'");
        put_text(out, text, n);
        text += n;
        if (*text == '\0')
            break;
        fputs("'\\''", out);
        text++;
    }
    fputc('\'', out);
}

char *sq_command_line(int argc, char **argv)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    if (!out)
        return NULL;
    fputs("sqsim", out);
    for (int i = 0; i < argc; i++) {
        fputc(' ', out);
        sq_put_argument(out, argv[i]);
    }
    fclose(out);
    return text;
}

void sq_put_script_json(FILE *out, const char *json)
{
    for (; *json; json++)
        if (*json == '<') // only inside strings
            fputs("\\u003c", out);
        else
            fputc((unsigned char)*json < 0x20 ? ' ' : *json, out);
}

void sq_put_json_line(FILE *out, const char *json)
{
    for (; *json; json++)
        fputc((unsigned char)*json < 0x20 ? ' ' : *json, out);
}
