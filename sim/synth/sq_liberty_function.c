// SPDX-License-Identifier: Apache-2.0
// The expressions of Liberty: `function`, `when`, `next_state`. Yosys reads them as well, but only to
// map onto cells: the netlist that it writes names cells, and whoever interprets that netlist
// (sim/energy/) must know what each computes and when a state holds. So they are read here.
#include <ctype.h>
#include <string.h>

#include "sim/synth/sq_liberty.h"
#include "sim/synth/sq_liberty_expr.h"

// Liberty precedence, tightest first: ! and ', ^, and, or.
struct parser {
    const char *at;
    const char *const *name;
    size_t n;
    unsigned depth;
    bool bad;
    struct sq_lib_expr *out;
};

static void parse_or(struct parser *e);

static void emit(struct parser *e, unsigned op)
{
    if (e->out->n == SQ_LIB_EXPR_LEN)
        e->bad = true;
    else
        e->out->op[e->out->n++] = (uint8_t)op;
}

static char peek(struct parser *e)
{
    while (isspace((unsigned char)*e->at))
        e->at++;
    return *e->at;
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '[' || c == ']';
}

static void parse_name(struct parser *e)
{
    size_t len = 0;
    while (is_name_char(e->at[len]))
        len++;
    const char *name = e->at;
    e->at += len;
    for (size_t i = 0; i < e->n; i++)
        if (strlen(e->name[i]) == len && strncmp(e->name[i], name, len) == 0) {
            emit(e, (unsigned)i);
            return;
        }
    if (len == 1 && (*name == '0' || *name == '1'))
        emit(e, *name == '1' ? SQ_LIB_ONE : SQ_LIB_ZERO);
    else
        e->bad = true;
}

static void parse_factor(struct parser *e)
{
    const char c = peek(e);
    if (e->bad || ++e->depth > SQ_LIB_EXPR_NESTED) {
        e->bad = true;
        return;
    }
    if (c == '!') {
        e->at++;
        parse_factor(e);
        emit(e, SQ_LIB_NOT);
    } else if (c == '(') {
        e->at++;
        parse_or(e);
        e->bad = e->bad || peek(e) != ')';
        e->at += !e->bad;
    } else if (is_name_char(c)) {
        parse_name(e);
    } else {
        e->bad = true;
    }
    while (!e->bad && peek(e) == '\'') {
        e->at++;
        emit(e, SQ_LIB_NOT);
    }
    e->depth--;
}

static void parse_xor(struct parser *e)
{
    parse_factor(e);
    while (!e->bad && peek(e) == '^') {
        e->at++;
        parse_factor(e);
        emit(e, SQ_LIB_XOR);
    }
}

static void parse_and(struct parser *e)
{
    parse_xor(e);
    for (char c; !e->bad && (c = peek(e)) != '\0' && c != ')' && c != '+' && c != '|';) {
        if (c == '*' || c == '&')
            e->at++;
        parse_xor(e);
        emit(e, SQ_LIB_AND);
    }
}

static void parse_or(struct parser *e)
{
    parse_and(e);
    for (char c; !e->bad && ((c = peek(e)) == '+' || c == '|');) {
        e->at++;
        parse_and(e);
        emit(e, SQ_LIB_OR);
    }
}

// Variables with or without a NOT after them, ANDs in any place, and a NOT at the end.
static void find_product(struct sq_lib_expr *e)
{
    unsigned n = e->n, open = 0;
    e->is_product = true;
    if (n > 2 && e->op[n - 1] == SQ_LIB_NOT && e->op[n - 2] == SQ_LIB_AND) {
        e->is_inverted = true;
        n--;
    }
    for (unsigned i = 0; i < n; i++) {
        const unsigned op = e->op[i];
        if (op < 32) {
            const bool has_not = i + 1 < n && e->op[i + 1] == SQ_LIB_NOT;
            *(has_not ? &e->inverted : &e->plain) |= UINT32_C(1) << op;
            i += has_not;
            open++;
        } else if (op != SQ_LIB_AND || open-- < 2) {
            e->is_product = false;
        }
    }
}

bool sq_lib_expr_parse(const char *text, const char *const *name, size_t n, struct sq_lib_expr *out)
{
    struct parser e = {.at = text, .name = name, .n = n, .out = out};
    *out = (struct sq_lib_expr){0};
    if (n > SQ_LIB_NOT)
        return false;
    parse_or(&e);
    if (e.bad || peek(&e) != '\0')
        return false;
    find_product(out);
    return true;
}

uint64_t sq_lib_expr_eval(const struct sq_lib_expr *e, const uint64_t *value)
{
    uint64_t stack[SQ_LIB_EXPR_DEPTH];
    unsigned top = 0;
    if (e->is_product) {
        uint64_t all = UINT64_MAX;
        for (uint32_t m = e->plain; m; m &= m - 1)
            all &= value[__builtin_ctz(m)];
        for (uint32_t m = e->inverted; m; m &= m - 1)
            all &= ~value[__builtin_ctz(m)];
        return e->is_inverted ? ~all : all;
    }
    for (unsigned i = 0; i < e->n; i++) {
        const unsigned op = e->op[i];
        if (op < SQ_LIB_NOT)
            stack[top++] = value[op];
        else if (op == SQ_LIB_NOT)
            stack[top - 1] = ~stack[top - 1];
        else if (op >= SQ_LIB_ZERO)
            stack[top++] = op == SQ_LIB_ONE ? UINT64_MAX : 0;
        else {
            const uint64_t b = stack[--top], a = stack[top - 1];
            stack[top - 1] = op == SQ_LIB_AND ? a & b : op == SQ_LIB_OR ? a | b : a ^ b;
        }
    }
    return stack[0];
}

bool sq_liberty_truth(const char *function, char in[][SQ_LIB_NAME_LEN], size_t n, unsigned *table)
{
    static const uint64_t column[3] = {0xaa, 0xcc, 0xf0};
    const char *name[3] = {NULL};
    struct sq_lib_expr e;
    for (size_t i = 0; i < n; i++)
        name[i] = in[i];
    if (!sq_lib_expr_parse(function, name, n, &e))
        return false;
    *table = (unsigned)(sq_lib_expr_eval(&e, column) & ((1u << (1u << n)) - 1));
    return true;
}
