// SPDX-License-Identifier: Apache-2.0
// JSON when memory runs out: every allocation that jansson makes for a text of all kinds of values
// fails once. A reader never blames the text for it, and says so where the text is bad.
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_json.h"
#include "tests/test.h"

static size_t left;

static void *scarce(size_t nbytes)
{
    const bool is_refused = left == 0;
    left -= !is_refused;
    return sq_json_malloc(is_refused ? SIZE_MAX / 4 : nbytes);
}

static const char good[] =
    "{\"name\": \"a text that is longer than one piece of jansson's buffer\", "
    "\"list\": [1, 2.5, true, null, \"\\u00e9\"], \"o\": {\"k\": -3e10}}";

static enum sq_status parse(const char *text, struct sq_error *err)
{
    json_t *root;
    const enum sq_status status = sq_json_parse("t", text, strlen(text), &root, err);
    json_decref(root);
    return status;
}

static enum sq_status value(const char *text, struct sq_error *err)
{
    json_t *root;
    const enum sq_status status =
        sq_json_value("t", (struct sq_json_text){text, strlen(text)}, &root, err);
    json_decref(root);
    return status;
}

static void starve(enum sq_status (*read)(const char *text, struct sq_error *err))
{
    struct sq_error err;
    enum sq_status status = SQ_ERR_MEMORY;
    size_t n = 0;
    json_set_alloc_funcs(scarce, free);
    for (; status != SQ_OK && n < 1000; n++) {
        left = n;
        status = read(good, &err);
        if (status != SQ_OK && (status != SQ_ERR_MEMORY || strcmp(err.text, "out of memory for t")))
            break;
    }
    json_set_alloc_funcs(malloc, free);
    assert_ok(status);
    assert_true(n > 10); // it did ask for memory
}

SQ_TEST(a_text_without_memory_is_not_bad)
{
    starve(parse);
}

SQ_TEST(a_value_without_memory_is_not_bad)
{
    starve(value);
}

SQ_TEST(a_bad_text_is_bad)
{
    struct sq_error err;
    assert_int_equal(parse("{\"a\": }", &err), SQ_ERR_DAMAGED);
    assert_string_equal(err.text, "t: bad JSON at line 1 column 7: unexpected token near '}'");
    assert_int_equal(value("[\x01]", &err), SQ_ERR_DAMAGED);
    assert_non_null(strstr(err.text, "t: bad JSON at line 1 column "));
    assert_null(strchr(err.text, '\x01'));
}
