// SPDX-License-Identifier: Apache-2.0
// Compiles expressions by PCRE2 and counts the steps of their matches (sq_foreign_expression.h).
#define PCRE2_CODE_UNIT_WIDTH 8
#include "sim/llm/foreign/sq_foreign_expression.h"

#include <ctype.h>
#include <pcre2.h>
#include <string.h>

#define FIELD "quantization_config: targets or ignore has "

enum {
    COMPILED_NBYTES = 1 << 13, // of one: repeats by number are copies of what they repeat
    HEAP_KIB = 1 << 10,        // of a match
    STEPS = 1 << 14,           // of a match
    STEPS_IN_ALL = 1 << 22     // 0.2 s
};

// Whether PCRE2 knows no more in an expression than Python does, which has no verbs, recursion or classes by name.
static bool is_of_python(const char *at)
{
    static const char *const group[] = {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?P<", "(?P="};
    bool is_class = false;
    for (; *at; at++) {
        if (*at == '\\') {
            at++;
            if (!*at || (isalpha((unsigned char)*at) && !strchr("AbBdDsSwWZnrtf", *at)))
                return false;
        } else if (is_class) {
            if (*at == '[')
                return false;
            is_class = *at != ']';
        } else if (*at == '[') {
            is_class = true;
            at += at[1] == '^';
            at += at[1] == ']';
        } else if (at[0] == '(' && (at[1] == '?' || at[1] == '*')) {
            size_t i = 0;
            while (i < 7 && strncmp(at, group[i], strlen(group[i])) != 0)
                i++;
            if (i == 7)
                return false;
        } else if (at[0] == '{' && at[1] == ',') {
            return false; // {,n} is text to PCRE2
        }
    }
    return true;
}

static enum sq_status compile(struct sq_foreign_expressions *e, const char *text,
                              struct sq_error *err)
{
    int code = 0;
    PCRE2_SIZE at = 0, size = 0;
    PCRE2_UCHAR why[120] = "it is not one of Python's module re";
    pcre2_code *c = NULL;
    SQ_FAIL_IF(e->n == SQ_FOREIGN_EXPRESSIONS, err, SQ_ERR_RANGE,
               FIELD "more than %d different expressions", SQ_FOREIGN_EXPRESSIONS);
    SQ_FAIL_IF(strlen(text) > SQ_FOREIGN_EXPRESSION_NBYTES, err, SQ_ERR_RANGE,
               FIELD "'re:%.80s' of %zu bytes, need a plain expression of at most %d", text,
               strlen(text), SQ_FOREIGN_EXPRESSION_NBYTES);
    if (is_of_python(text)) {
        // Optimisations off: each step is counted, whatever PCRE2 could have known of the name.
        c = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
                          PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED | PCRE2_NEVER_BACKSLASH_C |
                              PCRE2_AUTO_CALLOUT | PCRE2_NO_START_OPTIMIZE | PCRE2_NO_AUTO_POSSESS,
                          &code, &at, NULL);
        if (!c)
            pcre2_get_error_message(code, why, sizeof why);
    }
    SQ_FAIL_IF(!c, err, SQ_ERR_UNSUPPORTED,
               FIELD "'re:%.80s', need a plain expression: %.100s at %zu", text, (char *)why,
               (size_t)at);
    e->code[e->n] = c;
    e->match[e->n] = pcre2_match_data_create_from_pattern(c, NULL);
    pcre2_pattern_info(c, PCRE2_INFO_SIZE, &size);
    e->place = e->place ? e->place : json_object();
    const bool is_kept =
        e->match[e->n] && json_object_set_new(e->place, text, json_integer((json_int_t)e->n)) == 0;
    e->n++;
    SQ_NEED(is_kept, err, "an expression of %zu bytes", strlen(text));
    return size <= COMPILED_NBYTES
               ? SQ_OK
               : SQ_FAIL(err, SQ_ERR_RANGE,
                         FIELD "'re:%.80s', which is %zu bytes compiled, need at most %d", text,
                         (size_t)size, COMPILED_NBYTES);
}

// Each part of an expression at each place where it is tried.
struct count {
    uint64_t n, most;
};

static int step(pcre2_callout_block *block, void *context)
{
    struct count *c = context;
    (void)block;
    return ++c->n > c->most ? PCRE2_ERROR_MATCHLIMIT : 0;
}

enum sq_status sq_foreign_is_match(struct sq_foreign_expressions *e, const char *expression,
                                   const char *name, bool *is_match, struct sq_error *err)
{
    struct count count = {0, STEPS};
    if (!json_object_get(e->place, expression))
        SQ_TRY(compile(e, expression, err));
    const size_t i = (size_t)json_integer_value(json_object_get(e->place, expression));
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    SQ_NEED(limits, err, "a match of '%.80s'", name);
    pcre2_set_callout(limits, step, &count);
    pcre2_set_match_limit(limits, 16 * STEPS);
    pcre2_set_heap_limit(limits, HEAP_KIB);
    const int found =
        pcre2_match(e->code[i], (PCRE2_SPTR)name, strlen(name), 0, 0, e->match[i], limits);
    pcre2_match_context_free(limits);
    *is_match = found > 0;
    e->n_steps += count.n;
    SQ_FAIL_IF(found < 0 && found != PCRE2_ERROR_NOMATCH, err, SQ_ERR_RANGE,
               FIELD "'re:%.80s', which takes too long (more than %d steps) at '%.80s'", expression,
               STEPS, name);
    return e->n_steps <= STEPS_IN_ALL
               ? SQ_OK
               : SQ_FAIL(err, SQ_ERR_RANGE, FIELD "expressions that take more than %d steps",
                         STEPS_IN_ALL);
}

static enum sq_status add_list(struct sq_foreign_expressions *e, const json_t *list, size_t *n,
                               struct sq_error *err)
{
    *n += json_array_size(list);
    SQ_FAIL_IF(*n > SQ_FOREIGN_TARGETS, err, SQ_ERR_RANGE, FIELD "%zu entries, need at most %d", *n,
               SQ_FOREIGN_TARGETS);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (text && strncmp(text, "re:", 3) == 0 && !json_object_get(e->place, text + 3))
            SQ_TRY(compile(e, text + 3, err));
    }
    return SQ_OK;
}

enum sq_status sq_foreign_expressions_add(struct sq_foreign_expressions *e, const json_t *config,
                                          struct sq_error *err)
{
    const char *key;
    json_t *group, *list;
    const json_t *inner = json_object_get(config, "quantization"); // of modelopt
    size_t n = 0;
    json_object_foreach((json_t *)(uintptr_t)config, key, list) SQ_TRY(add_list(e, list, &n, err));
    json_object_foreach((json_t *)(uintptr_t)inner, key, list) SQ_TRY(add_list(e, list, &n, err));
    json_object_foreach((json_t *)(uintptr_t)json_object_get(config, "config_groups"), key, group)
        SQ_TRY(add_list(e, json_object_get(group, "targets"), &n, err));
    return SQ_OK;
}

void sq_foreign_expressions_free(struct sq_foreign_expressions *e)
{
    for (size_t i = 0; i < e->n; i++) {
        pcre2_match_data_free(e->match[i]);
        pcre2_code_free(e->code[i]);
    }
    json_decref(e->place);
    *e = (struct sq_foreign_expressions){0};
}
