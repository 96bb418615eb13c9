// SPDX-License-Identifier: Apache-2.0
// Formats that a description says (sq_bs_describe.h): their tables, and the files they come from.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/format/scaled/sq_bs_describe.h"
#include "sim/format/scaled/sq_bs_format.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_home.h"
#include "sim/io/sq_quote.h"

// A format that was read, with its text.
struct described {
    struct described *next;
    char *text;
    size_t nbytes;
    struct sq_bs_description d;
    struct sq_bs_variant variant;
    struct sq_format_option option[12];
    struct sq_format_ops ops;
};
static struct described *all;

static const struct sq_format_option usual[] = {SQ_BS_HEAD, SQ_BS_ACT_SCALE, SQ_BS_TAIL, {0}};

static void fill(struct described *f)
{
    const struct sq_bs_table *const t = &f->d.table;
    size_t n = 0;
    _Static_assert(sizeof usual <= sizeof f->option, "room for all options");
    for (const struct sq_format_option *o = usual; o->name; o++) {
        const bool is_scale = strcmp(o->name, "act-scale") == 0;
        if (is_scale && !t->has_global)
            continue;
        f->option[n] = *o;
        f->option[n].fallback = is_scale                          ? (double)f->d.act_scale
                                : strcmp(o->name, "operand") == 0 ? (double)f->d.operand
                                                                  : o->fallback;
        n++;
    }
    f->variant =
        (struct sq_bs_variant){.blocks = {.kind = SQ_BS_TABLE, .table = t, .block = t->length},
                               .numbers = t->has_global ? sq_bs_act_scale_number : NULL};
    f->ops = (struct sq_format_ops){SQ_BS_FORMAT_MEMBERS(t->name, f->option),
                                    .description = f->text, .variant = &f->variant};
}

enum sq_status sq_format_described(const char *text, size_t nbytes, const char *what,
                                   const struct sq_format_ops **f, struct sq_error *err)
{
    struct described *one = all;
    while (one && !(one->nbytes == nbytes && memcmp(one->text, text, nbytes) == 0))
        one = one->next;
    if (one) {
        *f = &one->ops;
        return SQ_OK;
    }
    one = calloc(1, sizeof *one);
    SQ_NEED(one, err, "a format");
    one->text = strndup(text, nbytes);
    one->nbytes = nbytes;
    enum sq_status status = SQ_HAVE(one->text, err, "a format");
    SQ_THEN(status, sq_bs_describe(text, nbytes, what, &one->d, err));
    if (status == SQ_OK) {
        fill(one);
        status = sq_format_add(&one->ops, err);
    }
    if (status != SQ_OK) {
        SQ_FREE(one->text, one);
        return status;
    }
    one->next = all;
    all = one;
    *f = &one->ops;
    return SQ_OK;
}

// ---- files --------------------------------------------------------------------------------

static enum sq_status open_file(const char *path, const char *sets, const struct sq_format_ops **f,
                                struct sq_error *err)
{
    struct sq_file_view map;
    SQ_TRY(sq_file_map(path, &map, err));
    SQ_FREED char *text = strndup(map.data ? (const char *)map.data : "",
                                  map.nbytes <= SQ_BS_DESCRIPTION_MAX ? map.nbytes : 0);
    const bool is_whole = text && strlen(text) == map.nbytes;
    enum sq_status status = text ? SQ_OK : SQ_NO_MEMORY(err, "%.60s", sq_path_tail(path));
    if (status == SQ_OK && !is_whole)
        status = SQ_FAIL(err, SQ_ERR_ARG, "%.60s: %zu bytes, need a text of at most %d",
                         sq_path_tail(path), map.nbytes, SQ_BS_DESCRIPTION_MAX);
    sq_file_unmap(&map);
    while (status == SQ_OK && *sets == '@') {
        const size_t len = strcspn(sets + 1, "@");
        status = sq_bs_describe_set(&text, path, sets + 1, len, err);
        sets += len + 1;
    }
    return status == SQ_OK ? sq_format_described(text, strlen(text), path, f, err) : status;
}

enum sq_status sq_format_named(const char *name, const char *home, const struct sq_format_ops **f,
                               struct sq_error *err)
{
    char file[512], path[SQ_HOME_SIZE];
    const size_t len = strcspn(name, "@");
    *f = sq_format_find(name);
    if (*f || len >= sizeof file)
        return SQ_OK;
    snprintf(file, sizeof file, "%.*s", (int)len, name);
    sq_home_find(home, file, SQ_HOME_FORMAT, path, sizeof path);
    return access(path, F_OK) == 0 ? open_file(path, name + len, f, err) : SQ_OK;
}
