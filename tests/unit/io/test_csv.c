// SPDX-License-Identifier: Apache-2.0
// CSV rows: cells with and without quotes, line ends inside and outside of them, lines of rows,
// limits; every text of up to six of the eight characters that mean something, each cut from its
// own block: no byte is read twice or beyond, cells of accepted texts are those of a parser of
// twenty lines.
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sim/io/sq_csv_read.h"
#include "tests/test.h"

// "LINE:cell|cell;..." of all rows, or the error.
static void flat(const char *text, size_t n, size_t max_row, char *out, size_t cap)
{
    struct sq_csv_reader r;
    struct sq_error err;
    bool more;
    size_t at = 0;
    assert_ok(sq_csv_reader_init(&r, text, n, "t", max_row, NULL));
    *out = '\0';
    for (;;) {
        if (sq_csv_next(&r, &more, &err) != SQ_OK) {
            snprintf(out, cap, "%s", err.text);
            break;
        }
        if (!more)
            break;
        at += (size_t)snprintf(out + at, cap - at, "%u:", r.line);
        for (unsigned i = 0; i < r.n && i < SQ_CSV_CELLS_MAX; i++)
            at += (size_t)snprintf(out + at, cap - at, "%s%s", i ? "|" : "", r.cell[i]);
        at += (size_t)snprintf(out + at, cap - at, ";");
    }
    sq_csv_reader_free(&r);
}

SQ_TEST(test_rows)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"\n \r\n\t\n", ""},
        {"a", "1:a;"},
        {"a,b\n", "1:a|b;"},
        {"a,b,\n", "1:a|b|;"},
        {"\n\n a , b \r\n\n1,2", "3:a|b;5:1|2;"},
        {"\"a,b\",c\n", "1:a,b|c;"},
        {"\" a \",c\n", "1: a |c;"},
        {"\"a\"\"b\"\n", "1:a\"b;"},
        {"\"a\nb\",c\nd\n", "1:a\nb|c;3:d;"},
        {"x\n\"a\r\n\r\nb\"\r\nd\n", "1:x;2:a\r\n\r\nb;5:d;"},
        {"\"\"\n", "1:;"},
        {"\xef\xbb\xbfq\n", "1:q;"},
        {"\xef\xbb\xbf\"q\"\n", "1:q;"},
        {"a\rb\n", "1:a\rb;"},
        {"a\n\"b", "'t' line 2: a quote does not end"},
        {"a\"b\n", "'t' line 1: a quote in the middle of a cell"},
        {"c\n\"a\"b\n", "'t' line 2: a quote in the middle of a cell"},
        {"123456789\n", "1:123456789;"},
        {"1234567890\n", "'t' line 1: longer than 9 characters"},
        {"\"1234\n5678\"", "'t' line 2: longer than 9 characters"},
    };
    char got[sizeof(struct sq_error)];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const size_t limit = strstr(cases[i][0], "1234") ? 9 : 100;
        flat(cases[i][0], strlen(cases[i][0]), limit, got, sizeof got);
        if (strcmp(got, cases[i][1]) != 0)
            fail_msg("case %zu gave '%s', want '%s'", i, got, cases[i][1]);
    }
    flat("a\n\0b", 4, 100, got, sizeof got);
    assert_string_equal(got, "'t' line 2: holds a zero byte, no text");
}

SQ_TEST(test_many_cells)
{
    char text[300];
    struct sq_csv_reader r;
    bool more;
    memset(text, ',', sizeof text);
    for (size_t n = 1; n <= sizeof text; n++) {
        char *copy = fixture_exact(n);
        memcpy(copy, text, n);
        copy[n - 1] = 'x';
        assert_ok(sq_csv_reader_init(&r, copy, n, "t", n, NULL));
        assert_ok(sq_csv_next(&r, &more, NULL));
        assert_true(more && r.n == n);
        for (unsigned i = 0; i < SQ_CSV_CELLS_MAX; i++)
            assert_true(i < n ? r.cell[i] && strlen(r.cell[i]) == (i == n - 1) : !r.cell[i]);
        assert_ok(sq_csv_next(&r, &more, NULL));
        assert_false(more);
        sq_csv_reader_free(&r);
    }
}

// Cells of a text without quotes, as flat() writes them.
static void plain(const char *text, char *out)
{
    unsigned line = 0;
    for (const char *at = text; *at; line++) {
        const char *stop = strchr(at, '\n'), *end = stop ? stop : at + strlen(at);
        const char *c = at;
        while (c < end && strchr(" \r", *c))
            c++;
        if (c < end)
            out += sprintf(out, "%u:", line + 1);
        for (const char *from = at; c < end && from <= end;) {
            const char *comma = memchr(from, ',', (size_t)(end - from)), *to = comma ? comma : end;
            const char *next = to + 1;
            while (from < to && strchr(" \r", *from))
                from++;
            while (to > from && strchr(" \r", to[-1]))
                to--;
            out += sprintf(out, "%.*s%s", (int)(to - from), from, comma ? "|" : ";");
            from = next;
        }
        at = stop ? stop + 1 : end;
    }
    *out = '\0';
}

SQ_TEST(test_exhausted)
{
    static const char alphabet[] = "ab, \r\n\"";
    enum { LETTERS = sizeof alphabet - 1, LONGEST = 6 };
    size_t n_accepted = 0;
    for (unsigned n = 0, count = 1; n <= LONGEST; n++, count *= LETTERS)
        for (unsigned i = 0; i < count; i++) {
            char *text = fixture_exact(n + 1), got[sizeof(struct sq_error)],
                 want[256]; // its own block: ASan sees beyond it
            for (unsigned at = 0, rest = i; at < n; at++, rest /= LETTERS)
                text[at] = alphabet[rest % LETTERS];
            text[n] = '\0';
            char *copy = fixture_exact(n ? n : 1);
            memcpy(copy, text, n);
            flat(copy, n, 100, got, sizeof got);
            plain(text, want);
            if (!strchr(text, '"') && strcmp(got, want) != 0)
                fail_msg("'%s' gave '%s', want '%s'", text, got, want);
            n_accepted += strncmp(got, "'t'", 3) != 0;
        }
    assert_true(n_accepted > 50000);
}
