// SPDX-License-Identifier: Apache-2.0
// What a source of somebody else includes (sq_synth_run.h): files below its folder, and nothing else
// of the machine. They are read here and copied beside the source, so that Yosys finds them without
// seeing the folder, and their text is in the digest of the result.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_confine.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_quote.h"
#include "sim/synth/sq_synth_run.h"

struct visit {
    struct sq_synth *synth;
    const char *folder; // of the source
    char real[PATH_MAX];
    size_t open[SQ_SYNTH_MAX_SOURCES]; // the files that include one another down to here
    size_t n_open;
    struct sq_error *err;
};

static enum sq_status visit(struct visit *v, size_t i);

// Past the comment or string that begins at c; c itself where none does.
static const char *skip_quoted(const char *c)
{
    if (c[0] == '/' && c[1] == '/')
        return c + strcspn(c, "\n");
    if (c[0] == '/' && c[1] == '*') {
        const char *end = strstr(c + 2, "*/");
        return end ? end + 2 : c + strlen(c);
    }
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

// Folders and a file, each a plain name, with / between.
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

// *index of the file that is called `name` below rtl/; n_sources: none is.
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

// Reads folder/name as one more source. *index of it; n_sources as it was where there is no such
// file.
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

// As Yosys looks for it: beside the file that includes it, then below the folder of the source. A
// file of ours, or none, is left to Yosys.
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
    bool is_new = true;
    SQ_TRY(read_file(v, beside, &i));
    if (i >= v->synth->n_sources && slash)
        SQ_TRY(read_file(v, name, &i));
    is_new = v->synth->n_sources > n_sources;
    if (i >= v->synth->n_sources || (!is_new && !v->synth->source[i].is_foreign))
        return SQ_OK;
    for (size_t k = 0; k < v->n_open; k++)
        if (v->open[k] == i)
            return SQ_FAIL(v->err, SQ_ERR_ARG, "%.60s includes itself, by way of %.60s",
                           v->synth->source[i].name, of);
    return visit(v, i);
}

// Behind the word `include.
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

static enum sq_status visit(struct visit *v, size_t i)
{
    v->open[v->n_open++] = i;
    for (const char *c = v->synth->source[i].text; *c;) {
        const char *next = skip_quoted(c);
        if (next != c) {
            c = next;
            continue;
        }
        if (starts_with(c, "`include"))
            SQ_TRY(read_directive(v, i, c + strlen("`include")));
        if (starts_with(c, "$readmem") && !sq_confine_is_whole())
            return SQ_FAIL(v->err, SQ_ERR_ARG,
                           "%.60s: $readmem can read any file, which needs bubblewrap (bwrap)",
                           v->synth->source[i].name);
        c++;
    }
    v->n_open--;
    return SQ_OK;
}

enum sq_status sq_synth_add_includes(struct sq_synth *s, size_t source, const char *path,
                                     struct sq_error *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    struct visit v = {.synth = s, .folder = folder, .err = err};
    enum sq_status status = SQ_OK;
    if (!folder)
        status = SQ_NO_MEMORY(err, "'%s'", sq_path_tail(path));
    else if (!realpath(folder, v.real))
        status =
            SQ_FAIL(err, SQ_ERR_IO, "cannot open '%s': %s", sq_path_tail(folder), strerror(errno));
    else
        status = visit(&v, source);
    free(folder);
    return status;
}
