// SPDX-License-Identifier: Apache-2.0
// Foreign text in other languages. Names: every byte in first and later place. Text: every code
// point and every two-byte text against a second, slow decision; the stream in pieces of every
// length equals the whole. gnuplot, YAML and JSON: worked vectors, and YAML by its own reader.
#include <ctype.h>
#include <jansson.h>

#include "sim/gpu/sq_gpu.h"
#include "sim/io/sq_quote.h"
#include "tests/unit/fixture.h"

SQ_TEST(test_names)
{
    for (int c = 1; c < 256; c++) {
        const char first[] = {(char)c, '\0'}, second[] = {'A', (char)c, '\0'};
        const bool is_letter = c < 128 && isalpha(c), is_digit = c < 128 && isdigit(c);
        CHECK_EQ(sq_name_is_verilog(first), is_letter || c == '_', "byte %d", c);
        CHECK_EQ(sq_name_is_verilog(second), is_letter || is_digit || c == '_', "byte %d", c);
        CHECK_EQ(sq_name_is_pin(second), sq_name_is_verilog(second), "byte %d", c);
        const bool is_stem = is_letter || is_digit || c == '_' || c == '-';
        CHECK_EQ(sq_name_is_stem(first), is_stem, "byte %d", c);
        CHECK_EQ(sq_name_is_stem(second), is_stem, "byte %d", c);
        CHECK_EQ(sq_name_is_file(first), is_stem, "byte %d", c);
        CHECK_EQ(sq_name_is_file(second), is_stem || c == '.', "byte %d", c);
    }
    assert_false(sq_name_is_verilog("") || sq_name_is_pin("") || sq_name_is_stem("") ||
                 sq_name_is_file(""));
    assert_true(sq_name_is_pin("A[0]") && sq_name_is_pin("A_1[31:0]"));
    static const char *const bad[] = {"A[",    "A[]",   "A[1",   "A[1:",    "A[1:]",
                                      "A[:1]", "A]",    "[1]",   "A[1]x",   "A[1][2]",
                                      "A[x]",  "A[-1]", "A[1 ]", "A[1:2:3]"};
    for (size_t i = 0; i < LEN(bad); i++)
        if (sq_name_is_pin(bad[i]))
            fail_msg("'%s' is a pin", bad[i]);
    assert_false(sq_name_is_file("..") || sq_name_is_file("../x") || sq_name_is_file("a/b"));
}

// ---- text -------------------------------------------------------------------------------------

static size_t encode(unsigned c, char *out)
{
    if (c < 0x80)
        return (size_t)sprintf(out, "%c", (int)c);
    if (c < 0x800)
        return (size_t)sprintf(out, "%c%c", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 63)));
    if (c < 0x10000)
        return (size_t)sprintf(out, "%c%c%c", (int)(0xe0 | c >> 12), (int)(0x80 | (c >> 6 & 63)),
                               (int)(0x80 | (c & 63)));
    return (size_t)sprintf(out, "%c%c%c%c", (int)(0xf0 | c >> 18), (int)(0x80 | (c >> 12 & 63)),
                           (int)(0x80 | (c >> 6 & 63)), (int)(0x80 | (c & 63)));
}

SQ_TEST(test_code_points)
{
    static const unsigned marks[] = {0x61c, 0x200e, 0x200f, 0x2028, 0x2029};
    for (unsigned c = 1; c < 0x110000; c++) {
        char text[8], got[64], want[64];
        encode(c, text);
        bool is_hidden = c < 32 || (c >= 127 && c < 160) || (c >= 0x202a && c <= 0x202e) ||
                         (c >= 0x2066 && c <= 0x2069);
        for (size_t i = 0; i < LEN(marks); i++)
            is_hidden = is_hidden || c == marks[i];
        if (c >= 0xd800 && c < 0xe000) // halves of a pair are no UTF-8
            sprintf(want, "\\x%02x\\x%02x\\x%02x", 0xe0 | c >> 12, 0x80 | (c >> 6 & 63),
                    0x80 | (c & 63));
        else if (is_hidden)
            sprintf(want, "\\u%04x", c);
        else
            strcpy(want, text);
        CHECK_EQ(sq_quote_text(got, sizeof got, text), strcmp(want, text) == 0, "U+%04x", c);
        if (strcmp(got, want) != 0)
            fail_msg("U+%04x: %s, want %s", c, got, want);
    }
}

// Whatever the bytes: what comes out is UTF-8, and pieces give what the whole gives.
SQ_TEST(test_bytes)
{
    struct sq_rng r = {fixture_seed()};
    static const unsigned char odd[] = {0x1b, '\n', 0xc2, 0x9b, 0xe2, 0x80, 0xae, 0xf0, 0x9f,
                                        0x98, 0x80, 0xff, 0xc0, 0xed, 0xa0, 0xf4, 'a',  0x7f};
    for (unsigned n = 0; n < 20000; n++) {
        char text[24], whole[256], pieces[256];
        const size_t len = (size_t)(sq_rng_next(&r) % sizeof text);
        for (size_t i = 0; i < len; i++)
            text[i] = (char)odd[sq_rng_next(&r) % sizeof odd];
        struct sq_quote_stream a = {.n_rest = 0}, b = {.n_rest = 0};
        const size_t n_whole = sq_quote_stream(&a, text, len, whole);
        size_t n_pieces = 0;
        for (size_t at = 0, some; at < len; at += some) {
            some = 1 + (size_t)(sq_rng_next(&r) % 4);
            some = some < len - at ? some : len - at;
            n_pieces += sq_quote_stream(&b, text + at, some, pieces + n_pieces);
        }
        CHECK_EQ(n_pieces, n_whole, "case %u", n);
        assert_memory_equal(whole, pieces, n_whole);
        CHECK_EQ(b.n_rest, a.n_rest, "case %u", n);
        json_t *valid = json_stringn(whole, n_whole);
        assert_non_null(valid);
        json_decref(valid);
        for (size_t i = 0; i < n_whole; i++)
            assert_false((unsigned char)whole[i] < 32 && whole[i] != '\n');
    }
}

SQ_TEST(test_cut)
{
    char out[6];
    assert_true(sq_quote_text(out, sizeof out, "abcde"));
    assert_false(sq_quote_text(out, sizeof out, "abcdef"));
    assert_string_equal(out, "abcde");
    assert_false(sq_quote_text(out, sizeof out, "abcd\xc3\xa9")); // never half a character
    assert_string_equal(out, "abcd");
    assert_false(sq_quote_text(out, sizeof out, "\033"));
    assert_string_equal(out, ""); // nor half an escape
    assert_true(sq_quote_text(out, 1, ""));
}

// ---- languages ----------------------------------------------------------------------------------

static void check_put(void (*put)(FILE *, const char *), const char *text, const char *want)
{
    char *got = NULL;
    size_t n;
    FILE *out = open_memstream(&got, &n);
    put(out, text);
    fclose(out);
    assert_string_equal(got, want);
    free(got);
}

SQ_TEST(test_languages)
{
    check_put(sq_put_gnuplot, "", "\"\"");
    check_put(sq_put_gnuplot, "H200, a.b: c_d-e", "\"H200, a.b: c_d-e\"");
    check_put(sq_put_gnuplot, "'\"`@\\\n", "\"\\047\\042\\140\\100\\134\\134u000a\"");
    check_put(sq_put_gnuplot, "(123)4a5", "\"\\050\\061\\062\\063\\051\\064a5\"");
    check_put(sq_put_gnuplot, "\xc3\xa9\xc2\x9b", "\"\xc3\xa9\\134u009b\"");
    check_put(sq_put_argument, "--rows", "--rows");
    check_put(sq_put_argument, "a b", "'a b'");
    check_put(sq_put_argument, "", "''");
    check_put(sq_put_argument, "$(x)'\n", "'$(x)'\\''\\u000a'");
    check_put(sq_put_yaml, "a\"b\\c\n'#: ", "\"a\\\"b\\\\c\\u000a'#: \"");
    check_put(sq_put_script_json, "{\"a\":\n\"</script><!--\"}",
              "{\"a\": \"\\u003c/script>\\u003c!--\"}");
    check_put(sq_put_json_line, "{\"a\":\r\n\t1}", "{\"a\":   1}");
    check_put(sq_put_text, "a\tb\n\xe2\x80\xae\xe2", "a\\u0009b\\u000a\\u202e\\xe2");
}

// A name in one folder for every text, and another one for another text.
SQ_TEST(test_file)
{
    static char text[12][400] = {"model.layers.0.mlp.up_proj",
                                 "../../victim/pwn",
                                 "",
                                 ".",
                                 "..",
                                 "a/b",
                                 "a%2Fb",
                                 "a\xff\n",
                                 ".hidden"};
    static const char *const want[] = {"model.layers.0.mlp.up_proj",
                                       "%2E.%2F..%2Fvictim%2Fpwn",
                                       NULL,
                                       "%2E",
                                       "%2E.",
                                       "a%2Fb",
                                       "a%252Fb",
                                       "a%FF%0A",
                                       "%2Ehidden"};
    char name[LEN(text)][SQ_FILE_NAME_MAX + 1];
    memset(text[9], 'n', 300);
    memset(text[10], 'n', 301);
    memset(text[11], '/', 201);
    for (size_t i = 0; i < LEN(text); i++) {
        sq_quote_file(name[i], text[i]);
        if (i < LEN(want) && want[i])
            assert_string_equal(name[i], want[i]);
        assert_in_range(strlen(name[i]), 1, SQ_FILE_NAME_MAX);
        assert_null(strchr(name[i], '/'));
        assert_true(name[i][0] != '.');
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(name[i], name[k]);
    }
}

// A machine that calibration writes reads back with the same names, whatever they are.
SQ_TEST(test_yaml)
{
    static const char *const names[] = {"A100", "x\nsms: 1", "a\"b\\", "# no",
                                        "null", "'",         ": -",    "\xc2\x9b\xe2\x80\xae",
                                        " x ",  "%",         "- a",    "\xf0\x9f\x98\x80"};
    for (size_t i = 0; i < LEN(names); i++) {
        struct sq_gpu gpu, again;
        struct sq_error err;
        char *text = NULL;
        size_t n;
        if (sq_gpu_load("sim/machines/h200.yaml", &gpu, &err) != SQ_OK)
            fail_msg("%s", err.text);
        strcpy(gpu.name, names[i]);
        strcpy(gpu.device, names[i]);
        strcpy(gpu.calibration, names[i]);
        FILE *out = open_memstream(&text, &n);
        sq_gpu_write(&gpu, "# a comment\n", out);
        fclose(out);
        if (sq_gpu_parse(text, n, "memory", &again, &err) != SQ_OK)
            fail_msg("%s: %s", text, err.text);
        assert_string_equal(again.name, names[i]);
        assert_string_equal(again.device, names[i]);
        assert_string_equal(again.calibration, names[i]);
        assert_int_equal(again.sms, gpu.sms);
        free(text);
    }
}
