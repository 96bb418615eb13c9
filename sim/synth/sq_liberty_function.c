// SPDX-License-Identifier: Apache-2.0
// sq_liberty_truth: the expressions of Liberty's `function` attribute.
#include <ctype.h>
#include <string.h>

#include "sim/synth/sq_liberty.h"

// Liberty precedence, tightest first: ! and ', ^, and, or. A value is a truth table.
struct expr {
    const char *at;
    char (*in)[SQ_LIB_NAME_LEN];
    size_t n;
    unsigned depth;
    bool bad;
};

static unsigned parse_or(struct expr *e);

static char peek(struct expr *e)
{
    while (isspace((unsigned char)*e->at))
        e->at++;
    return *e->at;
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '[' || c == ']';
}

static unsigned parse_name(struct expr *e)
{
    static const unsigned table[3] = {0xaa, 0xcc, 0xf0};
    size_t len = 0;
    while (is_name_char(e->at[len]))
        len++;
    const char *name = e->at;
    e->at += len;
    for (size_t i = 0; i < e->n; i++)
        if (strlen(e->in[i]) == len && strncmp(e->in[i], name, len) == 0)
            return table[i];
    if (len == 1 && (*name == '0' || *name == '1'))
        return *name == '1' ? 0xff : 0;
    e->bad = true;
    return 0;
}

static unsigned parse_factor(struct expr *e)
{
    unsigned v = 0;
    char c = peek(e);
    if (e->bad || ++e->depth > 64) {
        e->bad = true;
        return 0;
    }
    if (c == '!') {
        e->at++;
        v = ~parse_factor(e);
    } else if (c == '(') {
        e->at++;
        v = parse_or(e);
        e->bad = e->bad || peek(e) != ')';
        e->at += !e->bad;
    } else if (is_name_char(c)) {
        v = parse_name(e);
    } else {
        e->bad = true;
    }
    while (!e->bad && peek(e) == '\'') {
        e->at++;
        v = ~v;
    }
    e->depth--;
    return v;
}

static unsigned parse_xor(struct expr *e)
{
    unsigned v = parse_factor(e);
    while (!e->bad && peek(e) == '^') {
        e->at++;
        v ^= parse_factor(e);
    }
    return v;
}

static unsigned parse_and(struct expr *e)
{
    unsigned v = parse_xor(e);
    for (char c; !e->bad && (c = peek(e)) != '\0' && c != ')' && c != '+' && c != '|';) {
        if (c == '*' || c == '&')
            e->at++;
        v &= parse_xor(e);
    }
    return v;
}

static unsigned parse_or(struct expr *e)
{
    unsigned v = parse_and(e);
    for (char c; !e->bad && ((c = peek(e)) == '+' || c == '|');) {
        e->at++;
        v |= parse_and(e);
    }
    return v;
}

bool sq_liberty_truth(const char *function, char in[][SQ_LIB_NAME_LEN], size_t n, unsigned *table)
{
    struct expr e = {.at = function, .in = in, .n = n};
    unsigned v = parse_or(&e);
    *table = v & ((1u << (1u << n)) - 1);
    return !e.bad && peek(&e) == '\0';
}
