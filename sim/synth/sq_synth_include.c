// SPDX-License-Identifier: Apache-2.0
// Reads the files that a user's source includes (sq_synth_run.h): they lie below its folder, no other
// file is read. They are copied beside the source, so that Yosys finds them without seeing the folder,
// and their text is in the digest of the result.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_confine.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_quote.h"
#include "sim/synth/sq_synth_run.h"

// Limits of a file with all that it includes; Yosys needs 40 us for each included file.
enum { MAX_INCLUDED = 20000, MAX_NBYTES = 64 << 20 };

struct visit {
    struct sq_synth *synth;
    const char *folder; // of the source
    char real[PATH_MAX];
    // What is known of each source that was found below this folder.
    struct file {
        enum { NOT_SEEN, IS_OPEN, IS_DONE } state; // open: includes what is read now
        bool has_guard;
        size_t n_included, nbytes; // with all below
    } file[SQ_SYNTH_MAX_SOURCES];
    struct sq_error *err;
};

static enum sq_status visit(struct visit *v, size_t i);

void sq_synth_drop_returns(char *text)
{
    char *to = text;
    for (const char *c = text; *c; c++)
        if (*c != '\r')
            *to++ = *c;
    *to = '\0';
}

// Returns the end of the comment or string that begins at c for the preprocessor of Yosys, or c if none
// does. That preprocessor knows no escaped identifiers: a quote in one begins a string.
static const char *skip_quoted(const char *c)
{
    if (c[0] == '/' && c[1] == '/')
        return c + strcspn(c, "\n");
    if (c[0] == '/' && c[1] == '*') {
        const char *end = strstr(c + 2, "*/");
        return end ? end + 2 : c + strlen(c);
    }
    if (c[0] == '`' && (c[1] == '"' || c[1] == '`'))
        return c + 2;
    if (strncmp(c, "\"\"\"", 3) == 0)
        return c + 3;
    if (c[0] != '"')
        return c;
    for (c++; *c && *c != '"'; c++)
        if (c[0] == '\\' && c[1])
            c++;
    return *c ? c + 1 : c;
}

static bool starts_with(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

// Whether a path is plain names with / between.
static bool is_plain(const char *name)
{
    char part[sizeof((struct sq_synth_source *)0)->name];
    for (;; name++) {
        const size_t n = strcspn(name, "/");
        if (n >= sizeof part)
            return false;
        memcpy(part, name, n);
        part[n] = '\0';
        if (!sq_name_is_file(part))
            return false;
        name += n;
        if (!*name)
            return true;
    }
}

// Index of the source `name`; n_sources if there is none.
static size_t find(const struct sq_synth *s, const char *name)
{
    size_t i = 0;
    while (i < s->n_sources && strcmp(s->source[i].name, name) != 0)
        i++;
    return i;
}

static enum sq_status is_below(const struct visit *v, const char *name, const char *path)
{
    char real[PATH_MAX];
    const size_t n = strlen(v->real);
    if (realpath(path, real) && strncmp(real, v->real, n) == 0 &&
        (v->real[n - 1] == '/' || real[n] == '/'))
        return SQ_OK;
    return SQ_FAIL(v->err, SQ_ERR_ARG,
                   "`include \"%.80s\" leads out of the folder of the source, by a link", name);
}

// Reads folder/name as one more source, number *index. If there is no such file, *index is n_sources.
static enum sq_status read_file(struct visit *v, const char *name, size_t *index)
{
    struct sq_synth *s = v->synth;
    char path[PATH_MAX];
    struct sq_file_view map;
    *index = s->n_sources;
    if (snprintf(path, sizeof path, "%s/%s", v->folder, name) >= PATH_MAX)
        return SQ_FAIL(v->err, SQ_ERR_ARG, "`include \"%.80s\": the path is too long", name);
    char *real = realpath(path, NULL);
    if (!real)
        return SQ_OK;
    free(real);
    SQ_TRY(is_below(v, name, path));
    SQ_TRY(sq_file_map(path, &map, v->err));
    char *text = map.nbytes ? strndup((const char *)map.data, map.nbytes) : strdup("");
    const bool is_text = text && strlen(text) == map.nbytes;
    sq_file_unmap(&map);
    const size_t known = find(s, name);
    enum sq_status status = SQ_OK;
    if (text)
        sq_synth_drop_returns(text);
    if (!text)
        status = SQ_NO_MEMORY(v->err, "'%s'", sq_path_tail(path));
    else if (!is_text)
        status = SQ_FAIL(v->err, SQ_ERR_ARG, "'%s' is no text", sq_path_tail(path));
    else if (known < s->n_sources && strcmp(s->source[known].text, text) != 0)
        status =
            SQ_FAIL(v->err, SQ_ERR_ARG, "`include \"%.80s\": another file has that name", name);
    else if (known == s->n_sources && s->n_sources == SQ_SYNTH_MAX_SOURCES)
        status = SQ_FAIL(v->err, SQ_ERR_RANGE, "more than %d sources", SQ_SYNTH_MAX_SOURCES);
    if (status != SQ_OK || known < s->n_sources) {
        free(text);
        *index = known;
        return status;
    }
    struct sq_synth_source *f = &s->source[s->n_sources++];
    *f = (struct sq_synth_source){.text = text, .is_foreign = true};
    snprintf(f->name, sizeof f->name, "%s", name);
    f->path = strdup(path);
    return SQ_HAVE(f->path, v->err, "a synthesis");
}

// Reads no file twice.
static enum sq_status find_or_read(struct visit *v, const char *name, size_t *index)
{
    const size_t known = find(v->synth, name);
    if (known == v->synth->n_sources || v->file[known].state == NOT_SEEN)
        return read_file(v, name, index);
    *index = known;
    return SQ_OK;
}

// Adds the sizes of file i to those of file `to`, which includes it.
static enum sq_status add_sizes(struct visit *v, size_t to, size_t i)
{
    v->file[to].n_included += 1 + v->file[i].n_included;
    v->file[to].nbytes += v->file[i].nbytes;
    if (v->file[to].n_included <= MAX_INCLUDED && v->file[to].nbytes <= MAX_NBYTES)
        return SQ_OK;
    return SQ_FAIL(v->err, SQ_ERR_RANGE,
                   "%.60s includes %zu files of %zu bytes in all, need <= %d files and <= %d bytes",
                   v->synth->source[to].name, v->file[to].n_included, v->file[to].nbytes,
                   MAX_INCLUDED, MAX_NBYTES);
}

// Visits the file that `from` includes as `name`. Yosys looks for it beside `from`, then below the
// folder of the source. A file of sqsim's own, or a missing one, is left to Yosys.
static enum sq_status follow(struct visit *v, size_t from, const char *name)
{
    char beside[sizeof v->synth->source[0].name + 256]; // follow() gets names below 256
    const char *of = v->synth->source[from].name, *slash = strrchr(of, '/');
    const size_t n_sources = v->synth->n_sources;
    size_t i = n_sources;
    if (!is_plain(name))
        return SQ_FAIL(
            v->err, SQ_ERR_ARG,
            "`include \"%.80s\": need a path below the folder of the source, of letters, "
            "digits, _, -, . and /",
            name);
    snprintf(beside, sizeof beside, "%.*s%.255s", slash ? (int)(slash + 1 - of) : 0, of, name);
    if (strlen(beside) >= sizeof v->synth->source[0].name)
        return SQ_FAIL(v->err, SQ_ERR_ARG, "`include \"%.80s\": more than %zu characters", name,
                       sizeof v->synth->source[0].name - 1);
    SQ_TRY(find_or_read(v, beside, &i));
    if (i >= v->synth->n_sources && slash)
        SQ_TRY(find_or_read(v, name, &i));
    const bool is_new = v->synth->n_sources > n_sources;
    if (i >= v->synth->n_sources || (!is_new && !v->synth->source[i].is_foreign))
        return SQ_OK;
    if (v->file[i].state == IS_OPEN)
        return SQ_FAIL(v->err, SQ_ERR_ARG, "%.60s includes itself, by way of %.60s",
                       v->synth->source[i].name, of);
    const bool is_empty = v->file[i].state == IS_DONE && v->file[i].has_guard;
    SQ_TRY(visit(v, i));
    return is_empty ? SQ_OK : add_sizes(v, from, i);
}

// The next word of a text that is neither blank nor comment; *n = 0 at its end.
static const char *next_word(const char *c, size_t *n)
{
    for (;;) {
        const char *next = *c == '/' ? skip_quoted(c) : c + strspn(c, " \t\n");
        if (next == c)
            break;
        c = next;
    }
    *n = strcspn(c, " \t\n");
    return c;
}

// Whether the text begins with `ifndef NAME `define NAME: it is empty when it is included again.
static bool has_guard(const char *text)
{
    size_t n[4];
    const char *word[4];
    for (size_t i = 0; i < 4; i++)
        word[i] = next_word(i ? word[i - 1] + n[i - 1] : text, &n[i]);
    return n[0] == 7 && strncmp(word[0], "`ifndef", n[0]) == 0 && n[2] == 7 &&
           strncmp(word[2], "`define", n[2]) == 0 && n[1] == n[3] && n[1] > 0 &&
           strncmp(word[1], word[3], n[1]) == 0;
}

// Reads what follows the word `include.
static enum sq_status read_directive(struct visit *v, size_t i, const char *c)
{
    char name[256];
    c += strspn(c, " \t");
    const size_t n = *c == '"' ? strcspn(c + 1, "\"\n") : 0;
    if (*c == '"' && c[1 + n] == '"' && n > 0 && n < sizeof name) {
        memcpy(name, c + 1, n);
        name[n] = '\0';
        return follow(v, i, name);
    }
    // A macro can name any file. A confined Yosys finds none but the copies here.
    return sq_confine_is_whole()
               ? SQ_OK
               : SQ_FAIL(v->err, SQ_ERR_ARG, "%.60s: `include needs a name in quotes",
                         v->synth->source[i].name);
}

// ---- without bubblewrap: what could name any other file -----------------------------------------

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$';
}

// Whether c begins with `word`, or with a part of it that a macro can complete: it ends where the body
// or an argument of a macro does, or where another macro begins.
static bool is_word_or_part(const char *c, const char *word)
{
    size_t n = 0;
    while (word[n] && c[n] == word[n])
        n++;
    if (!word[n])
        return true;
    if (n == 0 || is_word(c[n]))
        return false;
    const char next = c[n + strspn(c + n, " \t")];
    return c[n] == '`' || c[n] == '\n' || !c[n] || next == ')' || next == ',';
}

// Searches strings and comments too: what the preprocessor of Yosys takes for one need not be one for
// its parser (an escaped identifier may hold the quote), or after a macro. sq_synth_run.c finds what
// this misses in the list of files that Yosys has read.
static enum sq_status check_text(const struct visit *v, const char *text, const char *name)
{
    for (const char *c = text; *c; c++) {
        if (is_word_or_part(c, "$readmem"))
            return SQ_FAIL(v->err, SQ_ERR_ARG,
                           "%.60s: $readmem can read any file, which needs bubblewrap (bwrap)",
                           name);
        if (starts_with(c, "`file_push"))
            return SQ_FAIL(v->err, SQ_ERR_ARG,
                           "%.60s: `file_push makes `include read any file, which needs bubblewrap "
                           "(bwrap)",
                           name);
        if (c[0] != '`' || !is_word(c[1]) || !is_word_or_part(c, "`include"))
            continue;
        const char *what = c + (starts_with(c, "`include") ? strlen("`include") : 0);
        if (what == c || what[strspn(what, " \t")] == '`')
            return SQ_FAIL(v->err, SQ_ERR_ARG, "%.60s: `include needs a name in quotes", name);
    }
    return SQ_OK;
}

static enum sq_status visit(struct visit *v, size_t i)
{
    if (v->file[i].state == IS_DONE)
        return SQ_OK;
    v->file[i] = (struct file){.state = IS_OPEN,
                               .has_guard = has_guard(v->synth->source[i].text),
                               .nbytes = strlen(v->synth->source[i].text)};
    if (!sq_confine_is_whole())
        SQ_TRY(check_text(v, v->synth->source[i].text, v->synth->source[i].name));
    for (const char *c = v->synth->source[i].text; *c;) {
        const char *next = skip_quoted(c);
        if (next != c) {
            c = next;
            continue;
        }
        if (starts_with(c, "`include"))
            SQ_TRY(read_directive(v, i, c + strlen("`include")));
        c++;
    }
    v->file[i].state = IS_DONE;
    return SQ_OK;
}

enum sq_status sq_synth_add_includes(struct sq_synth *s, size_t source, const char *path,
                                     struct sq_error *err)
{
    const char *slash = strrchr(path, '/');
    SQ_FREED char *folder =
        slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    struct visit v = {.synth = s, .folder = folder, .err = err};
    enum sq_status status = SQ_OK;
    if (!folder)
        status = SQ_NO_MEMORY(err, "'%s'", sq_path_tail(path));
    else if (!realpath(folder, v.real))
        status =
            SQ_FAIL(err, SQ_ERR_IO, "cannot open '%s': %s", sq_path_tail(folder), strerror(errno));
    else
        status = visit(&v, source);
    return status;
}
