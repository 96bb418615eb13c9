// SPDX-License-Identifier: Apache-2.0
// Rows of results (sq_cli_table.h): every kind of value, there and missing, for people and as JSON;
// heads, widths, units, scales; columns that only one of both has, and absent ones.
#include <math.h>
#include <string.h>

#include "sim/cli/sq_cli_table.h"
#include "tests/test.h"

struct sample {
    const char *name;
    size_t n;
    double use, error;
    bool is_dense, has_periods;
};

static void put(struct sq_cli_table *t, const struct sample *s)
{
    char shape[24];
    snprintf(shape, sizeof shape, "%zux8", s->n);
    const struct sq_cli_column row[] = {
        SQ_COLUMN("layer", s->name, "layer", -6),
        SQ_KEYS("n", s->n, "less", -3),
        SQ_COLUMN(NULL, shape, "NxK", 5),
        SQ_COLUMN("use", s->use, "use", 7, .as = "%.1f%%", .scale = 100),
        SQ_COLUMN("error", s->error, "error", 9, .unit = "um2", .as = "%.3f"),
        SQ_COLUMN("period", 2.5, "period", 6, .is_absent = !s->has_periods),
        SQ_KEYS("cells", json_pack("{s:i}", "AND", 2)),
        SQ_MEMBERS(json_pack("{s:i,s:n}", "a", 1, "b")),
        SQ_COLUMN("dense", s->is_dense, "dense", 5),
        SQ_COLUMN(NULL, s->is_dense ? "dense" : "", "", 0),
        SQ_COLUMNS_END};
    sq_cli_put(t, row);
}

// What the rows print, the same memory every time.
static const char *printed(bool is_json, const struct sample *s, size_t n)
{
    static char text[1024];
    FILE *out = fmemopen(text, sizeof text, "w");
    struct sq_cli_table t = {.out = out, .is_json = is_json};
    assert_non_null(out);
    for (size_t i = 0; i < n; i++)
        put(&t, &s[i]);
    fclose(out);
    return text;
}

SQ_TEST(a_table_has_one_head_and_aligned_rows)
{
    const struct sample s[] = {{"q", 4, .125, 1.5, true, false},
                               {NULL, 12, NAN, INFINITY, false, false}};
    assert_string_equal(printed(false, s, 2), "layer    NxK     use error um2 dense\n"
                                              "q        4x8   12.5%     1.500   yes dense\n"
                                              "-       12x8       -       inf    no\n");
}

SQ_TEST(an_object_has_the_keys_in_their_order)
{
    const struct sample s = {"q", 4, .125, 1.5, true, false};
    assert_string_equal(
        printed(true, &s, 1),
        "{\"layer\":\"q\",\"n\":4,\"less\":-3,\"use\":0.125,\"error\":1.5,\"cells\":{\"AND\":2},"
        "\"a\":1,\"b\":null,\"dense\":true}\n");
}

SQ_TEST(what_does_not_exist_is_null)
{
    const struct sample s = {NULL, 4, NAN, INFINITY, false, true};
    assert_string_equal(
        printed(true, &s, 1),
        "{\"layer\":null,\"n\":4,\"less\":-3,\"use\":null,\"error\":\"inf\",\"period\":2.5,"
        "\"cells\":{\"AND\":2},\"a\":1,\"b\":null,\"dense\":false}\n");
}

SQ_TEST(a_column_is_there_where_it_is_not_absent)
{
    const struct sample s = {"q", 4, 1, 1, false, true};
    assert_non_null(strstr(printed(false, &s, 1), " period "));
}

// JSON has no bytes that are no UTF-8; a file name may.
SQ_TEST(a_foreign_text_is_quoted)
{
    const struct sample s = {"b\xff", 4, 1, 1, false, false};
    assert_ptr_equal(strstr(printed(true, &s, 1), "{\"layer\":\"b\\\\xff\""), printed(true, &s, 1));
}
