// SPDX-License-Identifier: Apache-2.0
// A small vocabulary, texts, and their ids by the Python package tokenizers (tokenizer/make.py); in
// a directory of the test's own.
#pragma once

#include <jansson.h>

#include "tests/unit/tmpdir.h"

static char dir[64];
static json_t *model, *texts, *kinds;

static inline json_t *load(const char *path)
{
    json_error_t e;
    json_t *root = json_load_file(path, JSON_ALLOW_NUL, &e);
    if (!root)
        fail_msg("%s: %s", path, e.text);
    return root;
}

static inline json_t *get(const json_t *o, const char *key)
{
    json_t *v = json_object_get(o, key);
    assert_non_null(v);
    return v;
}

// tokenizer.json of a kind; the caller's.
static inline json_t *tokenizer_of(const json_t *kind)
{
    return json_pack("{s:s, s:O, s:O, s:O, s:{s:s, s:O, s:O, s:O, s:n, s:b}}", "version", "1.0",
                     "added_tokens", get(kind, "added_tokens"), "normalizer",
                     get(kind, "normalizer"), "pre_tokenizer", get(kind, "pre_tokenizer"), "model",
                     "type", "BPE", "vocab", get(model, "vocab"), "merges", get(model, "merges"),
                     "ignore_merges", get(kind, "ignore_merges"), "unk_token", "byte_fallback", 0);
}

static inline const char *write_json(const json_t *o, size_t indent)
{
    const char *path = tmpdir_path(dir, "tokenizer.json");
    assert_int_equal(json_dump_file(o, path, JSON_INDENT(indent)), 0);
    return path;
}

static inline int set_up(void **state)
{
    (void)state;
    tmpdir_make(dir);
    model = load("tests/unit/tokenizer/model.json");
    json_t *vectors = load("tests/unit/tokenizer/vectors.json");
    texts = json_incref(get(vectors, "texts"));
    kinds = json_incref(get(vectors, "kinds"));
    json_decref(vectors);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    json_decref(model);
    json_decref(texts);
    json_decref(kinds);
    tmpdir_remove(dir);
    return 0;
}
