// SPDX-License-Identifier: Apache-2.0
// Reads a Liberty file group by group for cells, areas, the reference gate and the full adder
// (sq_liberty.h).
#include "sim/synth/sq_liberty.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_grow.h"
#include "sim/io/sq_quote.h"

// ---- one cell ---------------------------------------------------------------------------------

enum { MAX_PINS = 4, FUNCTION_LEN = 256 }; // no more pins are looked at

struct pin {
    char name[SQ_LIB_NAME_LEN];
    char function[FUNCTION_LEN]; // "" = none or too long
    double cap;
};

struct cell_scan {
    struct sq_lib_cell cell;
    bool dont_use;
    bool has_ff;
    size_t n_in, n_out; // may exceed MAX_PINS
    struct pin in[MAX_PINS], out[MAX_PINS];
};

// What the whole file has shown so far.
struct reader {
    const char *path, *text, *at;
    struct sq_liberty *lib;
    struct sq_error *err;
    char nand2[SQ_LIB_NAME_LEN];
    double nand2_area; // 0 = none yet
    bool has_flop;
};

static void consider_nand2(struct reader *r, const struct cell_scan *s)
{
    char in[2][SQ_LIB_NAME_LEN];
    unsigned table;
    if (s->n_in != 2 || s->n_out != 1 || s->cell.area <= 0 ||
        (r->nand2_area > 0 && s->cell.area >= r->nand2_area))
        return;
    memcpy(in[0], s->in[0].name, sizeof in[0]);
    memcpy(in[1], s->in[1].name, sizeof in[1]);
    if (!sq_liberty_truth(s->out[0].function, in, 2, &table) || table != 0x7)
        return;
    memcpy(r->nand2, s->cell.name, sizeof r->nand2);
    r->nand2_area = s->cell.area;
    r->lib->nand2_input_cap = s->in[0].cap;
}

// A list of pins, or a name of more than 63 characters, has none here.
static bool has_pin_names(const struct cell_scan *s)
{
    for (size_t i = 0; i < s->n_in; i++)
        if (!sq_name_is_pin(s->in[i].name))
            return false;
    for (size_t i = 0; i < s->n_out; i++)
        if (!sq_name_is_pin(s->out[i].name))
            return false;
    return true;
}

static void consider_adder(struct sq_liberty *lib, const struct cell_scan *s)
{
    struct sq_lib_adder a = {.area = s->cell.area};
    unsigned table[2];
    if (s->n_in != 3 || s->n_out != 2 || s->cell.area <= 0 || !has_pin_names(s) ||
        (lib->adder.cell[0] && s->cell.area >= lib->adder.area))
        return;
    for (int i = 0; i < 3; i++)
        memcpy(a.in[i], s->in[i].name, sizeof a.in[i]);
    for (int i = 0; i < 2; i++)
        if (!sq_liberty_truth(s->out[i].function, a.in, 3, &table[i]))
            return;
    int sum = table[0] == 0x96 || table[0] == 0x69 ? 0 : 1;
    if ((table[sum] != 0x96 && table[sum] != 0x69) ||
        (table[1 - sum] != 0xe8 && table[1 - sum] != 0x17))
        return;
    memcpy(a.cell, s->cell.name, sizeof a.cell);
    memcpy(a.sum, s->out[sum].name, sizeof a.sum);
    memcpy(a.carry, s->out[1 - sum].name, sizeof a.carry);
    a.sum_inverted = table[sum] == 0x69;
    a.carry_inverted = table[1 - sum] == 0x17;
    lib->adder = a;
}

// ---- the file ---------------------------------------------------------------------------------

static unsigned line_of(const struct reader *r)
{
    unsigned line = 1;
    for (const char *c = r->text; c < r->at; c++)
        line += *c == '\n';
    return line;
}

static enum sq_status damaged(struct reader *r, const char *what)
{
    return SQ_FAIL(r->err, SQ_ERR_DAMAGED, "'%s' line %u: %s", sq_path_tail(r->path), line_of(r),
                   what);
}

// The tools read the same file and write its names into netlists: what they get is checked here,
// wherever it stands.
static enum sq_status bad_name(struct reader *r, const char *group, const char *text, size_t n,
                               const char *need)
{
    return SQ_FAIL(r->err, SQ_ERR_DAMAGED, "'%s' line %u: %.20s (%.*s), need %s",
                   sq_path_tail(r->path), line_of(r), group, n < 60 ? (int)n : 60, text, need);
}

static bool is_blank_or_quote(char c)
{
    return isspace((unsigned char)c) || c == '"';
}

// The names between commas, each with or without quotes.
static bool are_names(const char *from, const char *to, bool (*is_name)(const char *))
{
    for (const char *next; from <= to; from = next + 1) {
        const char *end = memchr(from, ',', (size_t)(to - from));
        char name[2 * SQ_LIB_NAME_LEN];
        next = end = end ? end : to;
        while (from < end && is_blank_or_quote(*from))
            from++;
        while (from < end && is_blank_or_quote(end[-1]))
            end--;
        if ((size_t)(end - from) >= sizeof name)
            return false;
        memcpy(name, from, (size_t)(end - from));
        name[end - from] = '\0';
        if (!is_name(name))
            return false;
    }
    return true;
}

// name (from..to) {
static enum sq_status check_group(struct reader *r, const char *name, const char *from,
                                  const char *to)
{
    const size_t n = (size_t)(to - from);
    if (strcmp(name, "cell") == 0 && !are_names(from, to, sq_name_is_verilog))
        return bad_name(r, name, from, n, "letters, digits and _");
    if ((strcmp(name, "pin") == 0 || strcmp(name, "bus") == 0 || strcmp(name, "bundle") == 0) &&
        !are_names(from, to, sq_name_is_pin))
        return bad_name(r, name, from, n, "letters, digits, _ and [n] or [n:m] behind");
    for (const char *c = from; c < to; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_.+-:[], \"\t\r\n\\", *c))
            return bad_name(r, name, from, n, "letters, digits and _ . + - : [ ]");
    return SQ_OK;
}

// White space, comments and line continuations; newlines only where `lines`.
static void skip_blank(struct reader *r, bool lines)
{
    for (;;) {
        const char *c = r->at;
        if (c[0] == '\\' && (c[1] == '\n' || c[1] == '\r')) {
            r->at += 2;
        } else if (c[0] == '/' && c[1] == '*') {
            const char *end = strstr(c + 2, "*/");
            r->at = end ? end + 2 : c + strlen(c);
        } else if (c[0] == '/' && c[1] == '/') {
            r->at += strcspn(c, "\n");
        } else if (c[0] != '\0' && isspace((unsigned char)c[0]) && (lines || c[0] != '\n')) {
            r->at++;
        } else {
            return;
        }
    }
}

// Text up to one of `stops` outside quotes, trimmed and without the quotes of a single string, into
// out (empty where it is too long).
static enum sq_status read_until(struct reader *r, const char *stops, char *out, size_t cap)
{
    const char *from = r->at;
    while (*r->at && !strchr(stops, *r->at)) {
        if (*r->at == '"') {
            const char *end = strchr(r->at + 1, '"');
            if (!end)
                return damaged(r, "a string does not end");
            r->at = end;
        }
        if (r->at[0] == '/' && (r->at[1] == '/' || r->at[1] == '*'))
            return damaged(r, "a comment inside a statement");
        r->at++;
    }
    if (!*r->at)
        return damaged(r, "the file ends inside a statement");
    const char *to = r->at;
    while (from < to && (isspace((unsigned char)*from) || *from == '"'))
        from++;
    while (from < to && (isspace((unsigned char)to[-1]) || to[-1] == '"'))
        to--;
    size_t n = (size_t)(to - from) < cap ? (size_t)(to - from) : 0; // too long: as if empty
    memcpy(out, from, n);
    out[n] = '\0';
    return SQ_OK;
}

// What the group being read means.
enum scope { SCOPE_FILE, SCOPE_LIBRARY, SCOPE_CELL, SCOPE_PIN, SCOPE_OTHER };

struct scan {
    struct cell_scan cell;
    struct pin pin;
    bool pin_is_in, pin_is_out;
};

static void on_attribute(enum scope scope, struct scan *s, const char *name, const char *value)
{
    if (scope == SCOPE_CELL && strcmp(name, "area") == 0)
        s->cell.cell.area = strtod(value, NULL);
    else if (scope == SCOPE_CELL && strcmp(name, "dont_use") == 0)
        s->cell.dont_use = strcmp(value, "true") == 0;
    else if (scope == SCOPE_PIN && strcmp(name, "capacitance") == 0)
        s->pin.cap = strtod(value, NULL);
    else if (scope == SCOPE_PIN && strcmp(name, "function") == 0 && strlen(value) < FUNCTION_LEN)
        memcpy(s->pin.function, value, strlen(value) + 1);
    else if (scope == SCOPE_PIN && strcmp(name, "direction") == 0) {
        s->pin_is_in = strcmp(value, "input") == 0;
        s->pin_is_out = strcmp(value, "output") == 0;
    }
}

static enum scope enter(enum scope scope, struct scan *s, const char *name, const char *args)
{
    char id[SQ_LIB_NAME_LEN] = "";
    if (strlen(args) < sizeof id)
        memcpy(id, args, strlen(args) + 1);
    if (scope == SCOPE_FILE)
        return SCOPE_LIBRARY;
    if (scope == SCOPE_LIBRARY && strcmp(name, "cell") == 0) {
        *s = (struct scan){.cell.cell.area = -1};
        memcpy(s->cell.cell.name, id, sizeof id);
        return SCOPE_CELL;
    }
    if (scope != SCOPE_CELL)
        return SCOPE_OTHER;
    if (strcmp(name, "pin") == 0) {
        s->pin = (struct pin){0};
        s->pin_is_in = s->pin_is_out = false;
        memcpy(s->pin.name, id, sizeof id);
        return SCOPE_PIN;
    }
    bool is_ff = strcmp(name, "ff") == 0 || strcmp(name, "ff_bank") == 0;
    s->cell.has_ff = s->cell.has_ff || is_ff;
    if (is_ff || strncmp(name, "latch", 5) == 0 || strcmp(name, "statetable") == 0)
        s->cell.cell.is_sequential = true;
    return SCOPE_OTHER;
}

static enum sq_status leave(struct reader *r, enum scope scope, struct scan *s)
{
    struct cell_scan *c = &s->cell;
    if (scope == SCOPE_PIN) {
        if (s->pin_is_in && c->n_in++ < MAX_PINS)
            c->in[c->n_in - 1] = s->pin;
        if (s->pin_is_out && c->n_out++ < MAX_PINS)
            c->out[c->n_out - 1] = s->pin;
        return SQ_OK;
    }
    if (scope != SCOPE_CELL)
        return SQ_OK;
    if (c->cell.name[0] == '\0')
        return damaged(r, "a cell has no name, or one of more than 63 characters");
    struct sq_liberty *lib = r->lib;
    if (lib->n_cells == SQ_LIB_MAX_CELLS)
        return damaged(r, "more than 100000 cells");
    SQ_TRY(SQ_GROW(lib->cell, lib->n_cells, r->err, "'%s'", sq_path_tail(r->path)));
    lib->cell[lib->n_cells] = c->cell;
    r->has_flop = r->has_flop || (c->has_ff && c->cell.area > 0);
    if (!c->cell.is_sequential && !c->dont_use) {
        consider_nand2(r, c);
        consider_adder(lib, c);
    }
    lib->n_cells++;
    return SQ_OK;
}

static enum sq_status read_group(struct reader *r, enum scope scope, struct scan *s,
                                 unsigned depth);

// name : value ;   name (args) ;   name (args) { ... }
static enum sq_status read_statement(struct reader *r, enum scope scope, struct scan *s,
                                     unsigned depth)
{
    char name[SQ_LIB_NAME_LEN], value[FUNCTION_LEN];
    SQ_TRY(read_until(r, ":({};", name, sizeof name));
    if (*r->at == ':') {
        r->at++;
        SQ_TRY(read_until(r, ";\n}", value, sizeof value));
        on_attribute(scope, s, name, value);
        if (scope == SCOPE_LIBRARY && strcmp(name, "default_wire_load") == 0 &&
            strlen(value) < sizeof r->lib->wire_load)
            memcpy(r->lib->wire_load, value, strlen(value) + 1);
        r->at += *r->at == ';';
        return SQ_OK;
    }
    if (*r->at != '(')
        return damaged(r, "a statement is neither 'name : value' nor 'name (...)'");
    if (scope == SCOPE_FILE && strcmp(name, "library") != 0)
        return damaged(r, "this is no Liberty file: it does not start with 'library (...)'");
    const char *from = ++r->at;
    SQ_TRY(read_until(r, ")", value, sizeof value));
    const char *to = r->at++;
    skip_blank(r, false);
    const char *here = r->at;
    skip_blank(r, true);
    if (*r->at == '{') {
        r->at++;
        SQ_TRY(check_group(r, name, from, to));
        return read_group(r, scope == SCOPE_OTHER ? SCOPE_OTHER : enter(scope, s, name, value), s,
                          depth + 1);
    }
    if (scope == SCOPE_FILE)
        return damaged(r, "the library has no body");
    r->at = here;
    r->at += *here == ';';
    return SQ_OK;
}

// The statements of a group up to its closing brace.
static enum sq_status read_group(struct reader *r, enum scope scope, struct scan *s, unsigned depth)
{
    if (depth > 32)
        return damaged(r, "groups are nested more than 32 deep");
    for (;;) {
        skip_blank(r, true);
        if (*r->at == '\0')
            return damaged(r, "the file ends inside a group");
        if (*r->at == '}') {
            r->at++;
            return leave(r, scope, s);
        }
        if (*r->at == ';')
            r->at++;
        else
            SQ_TRY(read_statement(r, scope, s, depth));
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct sq_lib_cell *)a)->name, ((const struct sq_lib_cell *)b)->name);
}

const struct sq_lib_cell *sq_liberty_find(const struct sq_liberty *lib, const char *name)
{
    struct sq_lib_cell key;
    if (strlen(name) >= sizeof key.name)
        return NULL;
    memcpy(key.name, name, strlen(name) + 1);
    return bsearch(&key, lib->cell, lib->n_cells, sizeof key, by_name);
}

static enum sq_status read_text(struct sq_liberty *lib, const char *path, bool is_logic,
                                struct sq_error *err)
{
    struct reader r = {.path = path, .text = lib->text, .at = lib->text, .lib = lib, .err = err};
    struct scan s;
    if (strlen(lib->text) != lib->nbytes)
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "'%s' holds a zero byte: no text", sq_path_tail(path));
    // Wherever it stands: the tools split the text into words by rules of their own.
    const char *include = strstr(lib->text, "include_file");
    if (include) {
        r.at = include;
        return damaged(&r, "include_file is not supported");
    }
    skip_blank(&r, true);
    if (strncmp(r.at, "library", 7) != 0)
        return damaged(&r, "this is no Liberty file: it does not start with 'library (...)'");
    SQ_TRY(read_statement(&r, SCOPE_FILE, &s, 0));
    skip_blank(&r, true);
    if (*r.at != '\0')
        return damaged(&r, "text after the end of the library");
    if (is_logic && !r.has_flop)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "'%s' holds %zu cells but no flip-flop; of a library in parts, merge those "
                       "of one corner into one file",
                       sq_path_tail(path), lib->n_cells);
    if (is_logic && r.nand2_area <= 0)
        return SQ_FAIL(
            err, SQ_ERR_UNSUPPORTED,
            "'%s' holds %zu cells but no 2-input NAND, the unit of area; of a library in "
            "parts, merge those of one corner into one file",
            sq_path_tail(path), lib->n_cells);
    qsort(lib->cell, lib->n_cells, sizeof *lib->cell, by_name);
    lib->nand2 = is_logic ? sq_liberty_find(lib, r.nand2) : NULL;
    return SQ_OK;
}

// ---- bytes ------------------------------------------------------------------------------------

static enum sq_status too_long(const char *path, struct sq_error *err)
{
    return SQ_FAIL(err, SQ_ERR_RANGE, "'%s' holds more than %d MiB of text, need less",
                   sq_path_tail(path), SQ_LIB_MAX_NBYTES >> 20);
}

static enum sq_status gunzip(struct sq_liberty *lib, const char *path,
                             const struct sq_file_view *map, struct sq_error *err)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)map->data, .avail_in = (uInt)map->nbytes};
    // Never more than the limit and a byte after it, whatever the file says of its length.
    const size_t most = (size_t)SQ_LIB_MAX_NBYTES + 2;
    size_t cap = 2048;
    int code = inflateInit2(&z, 16 + MAX_WBITS); // 16: a gzip header
    while (code == Z_OK && lib->nbytes <= SQ_LIB_MAX_NBYTES) {
        const bool is_full = !lib->text || lib->nbytes + 1 >= cap;
        cap = is_full ? (2 * cap < most ? 2 * cap : most) : cap;
        char *grown = is_full ? realloc(lib->text, cap) : lib->text;
        if (!grown) {
            code = Z_MEM_ERROR;
            break;
        }
        lib->text = grown;
        size_t room = cap - 1 - lib->nbytes;
        z.next_out = (Bytef *)lib->text + lib->nbytes;
        z.avail_out = (uInt)room;
        code = inflate(&z, Z_NO_FLUSH);
        lib->nbytes += room - z.avail_out;
        if (code == Z_BUF_ERROR && z.avail_in == 0)
            code = Z_DATA_ERROR;
        else if (code == Z_BUF_ERROR)
            code = Z_OK;
        else if (code == Z_OK && z.avail_in == 0 && z.avail_out > 0)
            code = Z_DATA_ERROR; // the input ends early
    }
    inflateEnd(&z);
    if (lib->nbytes > SQ_LIB_MAX_NBYTES)
        return too_long(path, err);
    if (code != Z_STREAM_END)
        return SQ_FAIL(err, code == Z_MEM_ERROR ? SQ_ERR_MEMORY : SQ_ERR_DAMAGED,
                       "'%s' is a damaged or truncated gzip file", sq_path_tail(path));
    lib->text[lib->nbytes] = '\0';
    return SQ_OK;
}

static enum sq_status load(struct sq_liberty *lib, const char *path, struct sq_error *err)
{
    SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
    SQ_TRY(sq_file_map(path, &map, err));
    enum sq_status status = SQ_OK;
    if (map.nbytes > SQ_LIB_MAX_NBYTES) {
        status = too_long(path, err);
    } else if (map.nbytes > 2 && map.data[0] == 0x1f && map.data[1] == 0x8b) {
        status = gunzip(lib, path, &map, err);
    } else if (!(lib->text = malloc(map.nbytes + 1))) {
        status = SQ_NO_MEMORY(err, "'%s'", sq_path_tail(path));
    } else {
        if (map.nbytes > 0)
            memcpy(lib->text, map.data, map.nbytes);
        lib->text[map.nbytes] = '\0';
        lib->nbytes = map.nbytes;
    }
    return status;
}

// ABC ends at a unit in capitals, "(1,PF)", which Liberty allows.
static void lower_unit(char *text)
{
    char *at = strstr(text, "capacitive_load_unit");
    for (; at && *at && *at != ')'; at++)
        *at = (char)tolower((unsigned char)*at);
}

static enum sq_status read_file(struct sq_liberty *lib, const char *path, bool is_logic,
                                struct sq_error *err)
{
    *lib = (struct sq_liberty){0};
    enum sq_status status = load(lib, path, err);
    if (status == SQ_OK)
        lower_unit(lib->text);
    SQ_THEN(status, read_text(lib, path, is_logic, err));
    if (status != SQ_OK)
        sq_liberty_free(lib);
    return status;
}

enum sq_status sq_liberty_read(struct sq_liberty *lib, const char *path, struct sq_error *err)
{
    return read_file(lib, path, true, err);
}

enum sq_status sq_liberty_read_macros(struct sq_liberty *lib, const char *path,
                                      struct sq_error *err)
{
    return read_file(lib, path, false, err);
}

void sq_liberty_free(struct sq_liberty *lib)
{
    free(lib->text);
    free(lib->cell);
    *lib = (struct sq_liberty){0};
}
