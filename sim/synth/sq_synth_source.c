// SPDX-License-Identifier: Apache-2.0
// The sources of synthesis (sq_synth_run.h): read once, and for each block only what it is built
// of. What is not read cannot change its result: neither the digest, nor the numbers in Yosys's
// names, by which the mappers break ties.
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_quote.h"
#include "sim/synth/sq_synth_run.h"

enum sq_status sq_synth_read_file(const char *dir, const char *name, struct sq_digest *digest,
                                  char **text, struct sq_error *err)
{
    char path[SQ_SYNTH_PATH_LEN];
    SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
    *text = NULL;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    SQ_TRY(sq_file_map(path, &map, err));
    sq_digest_add(digest, name, strlen(name));
    sq_digest_add(digest, map.data, map.nbytes);
    *text = map.nbytes ? strndup((const char *)map.data, map.nbytes) : strdup("");
    return SQ_HAVE(*text, err, "'%s'", name);
}

// A file, or one in a folder.
static bool is_source_name(const char *name)
{
    char folder[sizeof((struct sq_synth_source *)NULL)->name];
    const char *slash = strchr(name, '/');
    if (!slash)
        return sq_name_is_file(name);
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - name), name);
    return sq_name_is_stem(folder) && sq_name_is_file(slash + 1);
}

static const char *file_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

static enum sq_status read_one(struct sq_synth *s, const char *name, bool is_module,
                               struct sq_error *err)
{
    if (s->n_sources == SQ_SYNTH_MAX_SOURCES || strlen(name) >= sizeof s->source[0].name)
        return SQ_FAIL(err, SQ_ERR_RANGE, "files.f: '%.60s' is too long or one of more than %d",
                       name, SQ_SYNTH_MAX_SOURCES);
    if (!is_source_name(name))
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "files.f: '%.60s', need letters, digits, _, - and ., in at most one folder",
                       name);
    struct sq_synth_source *f = &s->source[s->n_sources++];
    f->is_module = is_module;
    snprintf(f->name, sizeof f->name, "%s", name);
    return sq_synth_read_file(s->rtl_dir, name, &s->digest, &f->text, err);
}

enum sq_status sq_synth_read_sources(struct sq_synth *s, struct sq_error *err)
{
    char *list, *save = NULL;
    s->source = calloc(SQ_SYNTH_MAX_SOURCES, sizeof *s->source);
    SQ_NEED(s->source, err, "a synthesis");
    SQ_TRY(sq_synth_read_file(s->rtl_dir, "files.f", &s->digest, &list, err));
    enum sq_status status = SQ_OK;
    for (char *f = strtok_r(list, "\n", &save); status == SQ_OK && f;
         f = strtok_r(NULL, "\n", &save))
        status = read_one(s, f, true, err);
    free(list);
    SQ_TRY(status);
    SQ_TRY(read_one(s, "synth_mul_star.sv", true, err));
    static const char *const more[] = {"synth_alu.v", "synth_prefix.v", "synth_dot.sv",
                                       "sq_assert.svh"};
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
        SQ_TRY(read_one(s, more[i], false, err));
    return SQ_OK;
}

static bool is_taken(const struct sq_synth *s, const char *name)
{
    for (size_t i = 0; i < s->n_sources; i++)
        if (strcmp(s->source[i].name, name) == 0)
            return true;
    return false;
}

enum sq_status sq_synth_add_source(struct sq_synth *s, const char *path, struct sq_error *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct sq_file_view map;
    if (s->n_sources == SQ_SYNTH_MAX_SOURCES)
        return SQ_FAIL(err, SQ_ERR_RANGE, "more than %d sources", SQ_SYNTH_MAX_SOURCES);
    SQ_TRY(sq_file_map(path, &map, err));
    struct sq_synth_source *f = &s->source[s->n_sources];
    *f = (struct sq_synth_source){.is_module = true, .is_foreign = true};
    if (sq_name_is_file(name) && strlen(name) < sizeof f->name && !is_taken(s, name))
        snprintf(f->name, sizeof f->name, "%s", name);
    else
        snprintf(f->name, sizeof f->name, "source%zu.sv", s->n_sources);
    f->path = strdup(path);
    f->text = map.nbytes ? strndup((const char *)map.data, map.nbytes) : strdup("");
    const bool is_text = f->text && strlen(f->text) == map.nbytes;
    sq_file_unmap(&map);
    if (f->text)
        sq_synth_drop_returns(f->text);
    s->n_sources++; // owns both
    SQ_NEED(f->text && f->path, err, "'%s'", sq_path_tail(path));
    if (!is_text)
        return SQ_FAIL(err, SQ_ERR_ARG, "'%s' is no text", sq_path_tail(path));
    return sq_synth_add_includes(s, s->n_sources - 1, path, err);
}

void sq_synth_free_sources(struct sq_synth *s)
{
    for (size_t i = 0; i < s->n_sources; i++) {
        free(s->source[i].text);
        free(s->source[i].path);
    }
    free(s->source);
}

// ---- what a block is built of -------------------------------------------------------------------

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

// The first place of this word outside a // comment, from `text`, a place of `whole`, on; NULL where
// there is none.
static const char *next_mention(const char *whole, const char *text, const char *word, size_t n)
{
    for (const char *at = text; (at = memmem(at, strlen(at), word, n)) != NULL; at += n) {
        if (is_word(at[n]) || (at > whole && is_word(at[-1])))
            continue;
        const char *line = at;
        while (line > whole && line[-1] != '\n' && !(line[0] == '/' && line[1] == '/'))
            line--;
        if (line[0] != '/' || line[1] != '/')
            return at;
    }
    return NULL;
}

static const char *mention(const char *text, const char *word, size_t n)
{
    return next_mention(text, text, word, n);
}

// Whether the text has "module NAME" or "package NAME".
static bool declares(const char *text, const char *name, size_t n)
{
    static const char *const kinds[] = {"module", "macromodule", "package", "interface"};
    for (const char *at = text; (at = next_mention(text, at, name, n)) != NULL; at += n) {
        const char *end = at;
        while (end > text && isspace((unsigned char)end[-1]))
            end--;
        for (size_t i = 0; end < at && i < sizeof kinds / sizeof kinds[0]; i++) {
            const size_t len = strlen(kinds[i]);
            if ((size_t)(end - text) >= len && memcmp(end - len, kinds[i], len) == 0 &&
                (end - len == text || !is_word(end[-(ptrdiff_t)len - 1])))
                return true;
        }
    }
    return false;
}

bool sq_synth_is_replaced(const struct sq_synth *s, const char *module)
{
    for (size_t i = 0; i < s->n_sources; i++)
        if (s->source[i].is_foreign && declares(s->source[i].text, module, strlen(module)))
            return true;
    return false;
}

static void put_place(const char *path, size_t line, char *text, size_t size)
{
    char *old = strdup(text);
    if (old && line)
        snprintf(text, size, "%s:%zu: %s", sq_path_tail(path), line, old);
    else if (old)
        snprintf(text, size, "%s%s", sq_path_tail(path), strchr(old, ':'));
    free(old);
}

void sq_synth_own_place(const struct sq_synth *s, char *text, size_t size)
{
    const char *quote = strstr(text, "`\\"), *at;
    for (size_t i = 0; i < s->n_sources; i++) {
        const struct sq_synth_source *f = &s->source[i];
        const size_t n = strlen(f->name);
        if (f->path && strncmp(text, "rtl/", 4) == 0 && strncmp(text + 4, f->name, n) == 0 &&
            text[4 + n] == ':') {
            put_place(f->path, 0, text, size);
            return;
        }
    }
    for (size_t i = 0; quote && strncmp(text, "rtl/", 4) != 0 && i < s->n_sources; i++) {
        const struct sq_synth_source *f = &s->source[i];
        const size_t n = strcspn(quote + 2, "'");
        size_t line = 1;
        if (!f->path || n == 0 || !(at = mention(f->text, quote + 2, n)))
            continue;
        for (const char *c = f->text; c < at; c++)
            line += *c == '\n';
        put_place(f->path, line, text, size);
        return;
    }
}

enum { NAMES_NOT = 1, NAMES = 2 };

// Whether source i mentions the module of source j, looked up once in a run of many areas. With foreign
// sources no module counts that is in one of them.
static bool names(const struct sq_synth *s, size_t i, size_t j, bool is_foreign)
{
    struct sq_synth_source *const f = &s->source[i];
    char name[sizeof f->name];
    if (f->names[j] && !is_foreign)
        return f->names[j] == NAMES;
    snprintf(name, sizeof name, "%s", file_of(s->source[j].name));
    name[strcspn(name, ".")] = '\0';
    const bool is = mention(f->text, name, strlen(name));
    f->names[j] = is ? NAMES : NAMES_NOT;
    return is && !(is_foreign && sq_synth_is_replaced(s, name));
}

// A module lies in the file of its name, so a file uses those files whose names it mentions.
static void mark(const struct sq_synth *s, size_t i, bool is_foreign,
                 bool used[SQ_SYNTH_MAX_SOURCES])
{
    used[i] = true;
    for (size_t j = 0; j < s->n_sources; j++)
        if (!used[j] && !s->source[j].is_foreign && names(s, i, j, is_foreign))
            mark(s, j, is_foreign, used);
}

enum sq_status sq_synth_select(const struct sq_synth *s, const struct sq_synth_block *b,
                               bool used[SQ_SYNTH_MAX_SOURCES], struct sq_error *err)
{
    const char *top = b->top;
    char name[sizeof s->source[0].name];
    memset(used, 0, SQ_SYNTH_MAX_SOURCES * sizeof *used);
    snprintf(name, sizeof name, "%.50s.sv", top);
    for (size_t i = 0; b->is_foreign && i < s->n_sources; i++)
        if (s->source[i].is_foreign)
            mark(s, i, true, used);
    if (b->is_foreign)
        return SQ_OK;
    for (size_t i = 0; i < s->n_sources; i++)
        if (s->source[i].is_module && !s->source[i].is_foreign &&
            strcmp(file_of(s->source[i].name), name) == 0) {
            mark(s, i, false, used);
            return SQ_OK;
        }
    return SQ_FAIL(err, SQ_ERR_ARG, "there is no module %.50s in rtl/files.f", top);
}

void sq_synth_select_named(const struct sq_synth *s, const char *script,
                           bool used[SQ_SYNTH_MAX_SOURCES])
{
    for (size_t i = 0; i < s->n_sources; i++)
        used[i] = used[i] || strstr(script, s->source[i].name) != NULL;
}

// The folders of path[from...], of a file that was included by such a path.
static enum sq_status make_folders(char *path, size_t from, struct sq_error *err)
{
    for (char *c = strchr(path + from, '/'); c; c = strchr(c + 1, '/')) {
        *c = '\0';
        const bool is_bad = mkdir(path, 0700) != 0 && errno != EEXIST;
        const int reason = errno;
        if (is_bad)
            return SQ_FAIL(err, SQ_ERR_IO, "cannot make '%s': %s", sq_path_tail(path),
                           strerror(reason));
        *c = '/';
    }
    return SQ_OK;
}

// The text of a source as the block has it, which the caller frees.
static enum sq_status text_of(const struct sq_synth_block *b, const struct sq_synth_source *f,
                              char **text, struct sq_error *err)
{
    size_t n;
    FILE *const out = open_memstream(text, &n);
    SQ_NEED(out, err, "a source");
    const char *const name = b->source ? b->source(b->value, out) : NULL;
    fclose(out);
    if (!name || strcmp(name, f->name) != 0) {
        free(*text);
        *text = strdup(f->text);
    }
    return SQ_HAVE(*text, err, "a source");
}

static enum sq_status write_source(const char *work, const struct sq_synth_source *f,
                                   const char *text, struct sq_error *err)
{
    char path[SQ_SYNTH_PATH_LEN + 128];
    snprintf(path, sizeof path, "%s/rtl/%s", work, f->name);
    SQ_TRY(make_folders(path, strlen(work) + strlen("/rtl/"), err));
    FILE *out = fopen(path, "w");
    bool bad = !out || fputs(text, out) < 0;
    bad = (out && fclose(out) != 0) || bad;
    return bad ? SQ_FAIL(err, SQ_ERR_IO, "cannot write '%s': %s", sq_path_tail(path),
                         strerror(errno))
               : SQ_OK;
}

enum sq_status sq_synth_write_sources(const struct sq_synth *s, const struct sq_synth_block *block,
                                      const bool used[SQ_SYNTH_MAX_SOURCES], const char *work,
                                      struct sq_error *err)
{
    char path[SQ_SYNTH_PATH_LEN + 128];
    snprintf(path, sizeof path, "%s/rtl", work);
    if (mkdir(path, 0777) != 0)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot make '%s': %s", sq_path_tail(path), strerror(errno));
    for (size_t i = 0; i < s->n_sources; i++) {
        char *text = NULL;
        if (!used[i])
            continue;
        SQ_TRY(text_of(block, &s->source[i], &text, err));
        const enum sq_status status = write_source(work, &s->source[i], text, err);
        free(text);
        SQ_TRY(status);
    }
    return SQ_OK;
}

enum sq_status sq_synth_digest_sources(const struct sq_synth *s, const struct sq_synth_block *block,
                                       const bool used[SQ_SYNTH_MAX_SOURCES],
                                       struct sq_digest *digest, struct sq_error *err)
{
    *digest = s->base_digest;
    for (size_t i = 0; i < s->n_sources; i++) {
        SQ_FREED char *text = NULL;
        if (!used[i])
            continue;
        SQ_TRY(text_of(block, &s->source[i], &text, err));
        sq_digest_add(digest, s->source[i].name, strlen(s->source[i].name));
        sq_digest_add(digest, text, strlen(text));
    }
    return SQ_OK;
}

void sq_synth_print_files(const struct sq_synth *s, const bool used[SQ_SYNTH_MAX_SOURCES],
                          FILE *out)
{
    for (size_t i = 0; i < s->n_sources; i++)
        if (used[i] && s->source[i].is_module)
            fprintf(out, "rtl/%s ", s->source[i].name);
}
