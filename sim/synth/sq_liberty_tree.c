// SPDX-License-Identifier: Apache-2.0
// Parses a group into nodes, and finds statements among them (sq_liberty_tree.h).
#include "sim/synth/sq_liberty_tree.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_grow.h"

static enum sq_status damaged(const struct sq_lib_tree *t, const char *what)
{
    return SQ_FAIL(t->err, SQ_ERR_DAMAGED, "a group of the Liberty file %s", what);
}

// White space, comments, line continuations.
static void skip_blank(struct sq_lib_tree *t)
{
    while (t->at < t->end) {
        const char *c = t->at;
        if (isspace((unsigned char)*c) || (*c == '\\' && c + 1 < t->end)) {
            t->at++;
        } else if (c + 1 < t->end && c[0] == '/' && c[1] == '*') {
            const char *to = strstr(c + 2, "*/");
            t->at = to && to + 2 < t->end ? to + 2 : t->end;
        } else if (c + 1 < t->end && c[0] == '/' && c[1] == '/') {
            while (t->at < t->end && *t->at != '\n')
                t->at++;
        } else {
            return;
        }
    }
}

// Up to one of `stops` outside quotes, trimmed.
static enum sq_status take(struct sq_lib_tree *t, const char *stops, struct sq_lib_text *out)
{
    const char *from = t->at;
    bool is_quoted = false;
    for (; t->at < t->end && (is_quoted || !strchr(stops, *t->at)); t->at++)
        is_quoted ^= *t->at == '"';
    if (t->at == t->end)
        return damaged(t, "does not end");
    const char *to = t->at;
    while (from < to && isspace((unsigned char)*from))
        from++;
    while (from < to && isspace((unsigned char)to[-1]))
        to--;
    *out = (struct sq_lib_text){from, (size_t)(to - from)};
    return SQ_OK;
}

static enum sq_status add_node(struct sq_lib_tree *t, uint32_t *number)
{
    SQ_TRY(SQ_GROW(t->node, t->n, t->err, "a Liberty file"));
    t->node[t->n] = (struct sq_lib_node){0};
    *number = (uint32_t)t->n++;
    return SQ_OK;
}

static bool is_named(const struct sq_lib_node *n, const char *name)
{
    return n->name.n == strlen(name) && memcmp(n->name.at, name, n->name.n) == 0;
}

// Behind the brace that closes the group that is open.
static enum sq_status pass_group(struct sq_lib_tree *t)
{
    unsigned depth = 1;
    bool is_quoted = false;
    while (t->at < t->end && depth > 0) {
        const char c = *t->at;
        if (!is_quoted && c == '/') {
            const char *before = t->at;
            skip_blank(t);
            t->at += t->at == before;
            continue;
        }
        is_quoted ^= c == '"';
        depth += !is_quoted && c == '{';
        depth -= !is_quoted && c == '}';
        t->at++;
    }
    return depth == 0 ? SQ_OK : damaged(t, "does not end");
}

static enum sq_status read_body(struct sq_lib_tree *t, uint32_t group, const char *skip,
                                unsigned depth);

static enum sq_status read_statement(struct sq_lib_tree *t, uint32_t number, const char *skip,
                                     unsigned depth)
{
    struct sq_lib_text name, text;
    SQ_TRY(take(t, ":({};", &name));
    const char kind = *t->at;
    if (kind != ':' && kind != '(')
        return damaged(t, "has a statement that is none");
    t->at++;
    SQ_TRY(take(t, kind == ':' ? ";\n}" : ")", &text));
    t->at += kind == '(' || *t->at == ';';
    t->node[number].name = name;
    t->node[number].text = text;
    if (kind == ':')
        return SQ_OK;
    skip_blank(t);
    if (t->at < t->end && *t->at == '{') {
        t->at++;
        t->node[number].is_group = true;
        if (skip && is_named(&t->node[number], skip))
            return pass_group(t);
        return read_body(t, number, skip, depth + 1);
    }
    return SQ_OK;
}

static enum sq_status read_body(struct sq_lib_tree *t, uint32_t group, const char *skip,
                                unsigned depth)
{
    uint32_t last = 0;
    if (depth > 33)
        return damaged(t, "is nested more than 32 deep");
    for (;;) {
        skip_blank(t);
        if (t->at == t->end)
            return damaged(t, "does not end");
        if (*t->at == '}' || *t->at == ';') {
            if (*t->at++ == '}')
                return SQ_OK;
            continue;
        }
        uint32_t number;
        SQ_TRY(add_node(t, &number));
        SQ_TRY(read_statement(t, number, skip, depth));
        if (last)
            t->node[last].next = number;
        else
            t->node[group].child = number;
        last = number;
    }
}

enum sq_status sq_lib_tree_read(struct sq_lib_tree *tree, const char *at, const char *end,
                                const char *skip, struct sq_error *err)
{
    uint32_t number;
    *tree = (struct sq_lib_tree){.at = at, .end = end, .err = err};
    skip_blank(tree);
    enum sq_status status = add_node(tree, &number);
    SQ_THEN(status, read_statement(tree, number, skip, 0));
    if (status == SQ_OK && !tree->node[0].is_group)
        status = damaged(tree, "has no body");
    if (status != SQ_OK)
        sq_lib_tree_free(tree);
    return status;
}

void sq_lib_tree_free(struct sq_lib_tree *tree)
{
    free(tree->node);
    *tree = (struct sq_lib_tree){0};
}

static const struct sq_lib_node *find(const struct sq_lib_tree *t, uint32_t number,
                                      const char *name)
{
    for (; number; number = t->node[number].next)
        if (is_named(&t->node[number], name))
            return &t->node[number];
    return NULL;
}

const struct sq_lib_node *sq_lib_child(const struct sq_lib_tree *tree,
                                       const struct sq_lib_node *group, const char *name)
{
    return find(tree, group->child, name);
}

const struct sq_lib_node *sq_lib_next(const struct sq_lib_tree *tree,
                                      const struct sq_lib_node *node, const char *name)
{
    return find(tree, node->next, name);
}

void sq_lib_unquote(struct sq_lib_text text, char *out, size_t size)
{
    const char *from = text.at, *to = text.at + text.n;
    while (from < to && (isspace((unsigned char)*from) || *from == '"'))
        from++;
    while (from < to && (isspace((unsigned char)to[-1]) || to[-1] == '"'))
        to--;
    const size_t n = (size_t)(to - from) < size ? (size_t)(to - from) : 0;
    memcpy(out, from, n);
    out[n] = '\0';
}

bool sq_lib_string(const struct sq_lib_tree *tree, const struct sq_lib_node *group,
                   const char *name, char *out, size_t size)
{
    const struct sq_lib_node *n = sq_lib_child(tree, group, name);
    *out = '\0';
    if (n)
        sq_lib_unquote(n->text, out, size);
    return *out != '\0';
}

double sq_lib_number(const struct sq_lib_tree *tree, const struct sq_lib_node *group,
                     const char *name, double fallback)
{
    const struct sq_lib_node *n = sq_lib_child(tree, group, name);
    double value;
    return n && sq_lib_numbers(n->text, &value, 1) > 0 ? value : fallback;
}

size_t sq_lib_numbers(struct sq_lib_text text, double *out, size_t max)
{
    size_t n = 0;
    for (const char *c = text.at, *end = c + text.n; c < end && (!out || n < max);) {
        char *to;
        const bool starts = isdigit((unsigned char)*c) || strchr("+-.", *c);
        const double value = starts ? strtod(c, &to) : 0;
        if (!starts || to == c) {
            c++;
            continue;
        }
        if (out)
            out[n] = value;
        n++;
        c = to;
    }
    return n;
}

double sq_lib_cap_unit(const struct sq_lib_tree *tree)
{
    const struct sq_lib_node *n = sq_lib_child(tree, tree->node, "capacitive_load_unit");
    double number = 1;
    if (!n)
        return 1e-12;
    (void)sq_lib_numbers(n->text, &number, 1);
    for (size_t i = 0; i + 1 < n->text.n; i++)
        if ((n->text.at[i + 1] | 0x20) == 'f' && (n->text.at[i] | 0x20) == 'f')
            return number * 1e-15;
    return number * 1e-12;
}
