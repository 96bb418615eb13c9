// SPDX-License-Identifier: Apache-2.0
// Rewrites Oniguruma's expressions for PCRE2, and cuts texts by them within a bound of time
// (sq_pretokenizer.h).
#define PCRE2_CODE_UNIT_WIDTH 8
#include "sim/llm/text/sq_pretokenizer.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// ---- from Oniguruma to PCRE2 ------------------------------------------------------------------

// White_Space of Unicode, which is Oniguruma's \s; PCRE2's has U+180E as well.
#define SPACES                                                                                     \
    "\\x09-\\x0d\\x20\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}"        \
    "\\x{205f}\\x{3000}"

struct rewriting {
    char *out;
    size_t n;
    bool is_class; // inside [ ]
};

static void put(struct rewriting *w, const char *text, size_t n)
{
    memcpy(w->out + w->n, text, n);
    w->n += n;
}

// What follows a backslash. The escapes whose meaning is the same stay.
static enum sq_status put_escape(struct rewriting *w, const char *at, struct sq_error *err)
{
    const char c = at[1];
    if (c == 's' && w->is_class) {
        put(w, SPACES, sizeof SPACES - 1);
    } else if (c == 's') {
        put(w, "[" SPACES "]", sizeof SPACES + 1);
    } else if (c == 'S' && !w->is_class) {
        put(w, "[^" SPACES "]", sizeof SPACES + 2);
    } else if (c && (strchr("pPrntdDxfv", c) ||
                     (c > 0 && !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                 (c >= '0' && c <= '9'))))) {
        put(w, at, 2);
    } else {
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "regular expression of the tokenizer: \\%c%s is not supported",
                       c >= 0x20 && c < 0x7f ? c : '?', w->is_class ? " in a class" : "");
    }
    return SQ_OK;
}

static enum sq_status rewrite(const char *regex, struct rewriting *w, struct sq_error *err)
{
    for (const char *at = regex; *at; at++) {
        if (*at == '\\') {
            SQ_TRY(put_escape(w, at, err));
            at++;
            continue;
        }
        SQ_FAIL_IF(w->is_class && (*at == '[' || (*at == '&' && at[1] == '&')), err,
                   SQ_ERR_UNSUPPORTED,
                   "regular expression of the tokenizer: a class inside a class");
        SQ_FAIL_IF(*at == '[' && at[1] == ']', err, SQ_ERR_UNSUPPORTED,
                   "regular expression of the tokenizer: an empty class");
        w->is_class = w->is_class ? *at != ']' : *at == '[';
        put(w, at, 1);
    }
    w->out[w->n] = '\0';
    return SQ_OK;
}

// ---- steps ----------------------------------------------------------------------------------

static enum sq_status compile(struct sq_pretokenizer *p, const char *regex, uint32_t options,
                              struct sq_error *err)
{
    int code;
    PCRE2_SIZE at;
    PCRE2_UCHAR why[120];
    pcre2_code *step = pcre2_compile(
        (PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED,
        PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT | options, &code, &at, NULL);
    if (!step) {
        pcre2_get_error_message(code, why, sizeof why);
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "regular expression of the tokenizer: %.120s at %zu", (char *)why,
                       (size_t)at);
    }
    (void)pcre2_jit_compile(step, PCRE2_JIT_COMPLETE); // where it can: only speed
    p->step[p->n++] = step;
    return SQ_OK;
}

enum sq_status sq_pretokenizer_add(struct sq_pretokenizer *p, const char *regex, bool is_literal,
                                   struct sq_error *err)
{
    SQ_FAIL_IF(p->n == SQ_PRETOKENIZER_MAX, err, SQ_ERR_UNSUPPORTED,
               "pre_tokenizer: more than %d steps", SQ_PRETOKENIZER_MAX);
    if (is_literal)
        return compile(p, regex, PCRE2_LITERAL, err);
    SQ_FREED char *out = malloc(strlen(regex) * (sizeof SPACES + 2) / 2 + 8);
    struct rewriting w = {.out = out};
    SQ_NEED(out, err, "a regular expression");
    SQ_TRY(rewrite(regex, &w, err));
    return compile(p, out, PCRE2_UCP, err);
}

void sq_pretokenizer_free(struct sq_pretokenizer *p)
{
    for (unsigned i = 0; i < p->n; i++)
        pcre2_code_free(p->step[i]);
    *p = (struct sq_pretokenizer){0};
}

// ---- cutting --------------------------------------------------------------------------------

// PCRE2 limits the steps at one place of the text, but an expression can look from every place to
// the end. So the time is looked at, after each match, and where there is none, after a window of
// places that grows while it takes no time.
enum { FIRST_WINDOW = 16, QUICK_NS = 10000000 };

struct cut {
    const struct sq_pretokenizer *p;
    struct sq_cut_time *time;
    sq_piece_visit *visit;
    void *context;
    pcre2_match_context *limits;
    pcre2_match_data *match[SQ_PRETOKENIZER_MAX];
};

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

struct sq_cut_time sq_cut_time_of(size_t nbytes)
{
    return (struct sq_cut_time){.most_ns = 2000000000 + 2000 * (int64_t)nbytes,
                                .begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID)};
}

// The clock of the wall is the cheap one to ask; on a busy machine it runs ahead of the work.
static bool is_over(const struct sq_cut_time *t)
{
    return t->spent_ns > t->most_ns && clock_ns(CLOCK_THREAD_CPUTIME_ID) - t->begin_ns > t->most_ns;
}

// The next match at or after `at`: PCRE2's answer.
static int find(struct cut *c, unsigned step, const char *text, size_t n, size_t at)
{
    size_t window = FIRST_WINDOW;
    for (;;) {
        const size_t last = n - at > window ? at + window : n;
        const int64_t begin = clock_ns(CLOCK_MONOTONIC);
        pcre2_set_offset_limit(c->limits, last);
        const int found =
            pcre2_match(c->p->step[step], (PCRE2_SPTR)text, n, at,
                        PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, c->match[step], c->limits);
        const int64_t took = clock_ns(CLOCK_MONOTONIC) - begin;
        c->time->spent_ns += took;
        if (is_over(c->time))
            return PCRE2_ERROR_MATCHLIMIT;
        if (found != PCRE2_ERROR_NOMATCH || last == n)
            return found;
        if (took < QUICK_NS)
            window *= 2;
        at = last + 1;
        while (at < n && ((unsigned char)text[at] & 0xc0) == 0x80)
            at++; // to the next character
    }
}

// Pieces of step `step` and those after it. A match of nothing cuts nothing.
static enum sq_status cut_from(struct cut *c, unsigned step, const char *text, size_t n,
                               struct sq_error *err)
{
    if (step == c->p->n)
        return n > 0 ? c->visit(c->context, text, n, err) : SQ_OK;
    size_t done = 0, at = 0;
    while (at < n) {
        const int found = find(c, step, text, n, at);
        if (found == PCRE2_ERROR_NOMATCH)
            break;
        SQ_FAIL_IF(found < 0, err, SQ_ERR_RANGE,
                   "the tokenizer's regular expression %s on the text (PCRE2 error %d)",
                   found == PCRE2_ERROR_MATCHLIMIT ? "takes too long" : "gives up", found);
        const PCRE2_SIZE *o = pcre2_get_ovector_pointer(c->match[step]);
        const size_t begin = o[0], end = o[1];
        SQ_TRY(cut_from(c, step + 1, text + done, begin - done, err));
        SQ_TRY(cut_from(c, step + 1, text + begin, end - begin, err));
        done = at = end;
    }
    return cut_from(c, step + 1, text + done, n - done, err);
}

enum sq_status sq_pretokenizer_cut(const struct sq_pretokenizer *p, const char *text, size_t n,
                                   struct sq_cut_time *time, sq_piece_visit *visit, void *context,
                                   struct sq_error *err)
{
    struct cut c = {.p = p, .visit = visit, .context = context, .time = time};
    enum sq_status status = SQ_OK;
    if (!(c.limits = pcre2_match_context_create(NULL)))
        return SQ_NO_MEMORY(err, "a match");
    for (unsigned i = 0; i < p->n; i++) {
        c.match[i] = pcre2_match_data_create_from_pattern(p->step[i], NULL);
        if (!c.match[i])
            status = SQ_NO_MEMORY(err, "a match");
    }
    SQ_THEN(status, cut_from(&c, 0, text, n, err));
    for (unsigned i = 0; i < p->n; i++)
        pcre2_match_data_free(c.match[i]);
    pcre2_match_context_free(c.limits);
    return status;
}
