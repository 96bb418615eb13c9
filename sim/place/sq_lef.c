// SPDX-License-Identifier: Apache-2.0
// Reads LEF (sq_lef.h): statements that end with a semicolon, in blocks that end with END and their name.
#include "sim/place/sq_lef.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_grow.h"

enum { DEPTH = 8, TOKEN = 128, SIGNAL_LAYERS = 3 };

// The blocks, by the word that opens them; `in`: the block that they may stand in, "": the file.
static const struct {
    const char *word, *in;
    enum { IS_NAMED, IS_WORD, IS_BARE } end; // END NAME, END WORD, END
} blocks[] = {
    {"MACRO", "", IS_NAMED},
    {"LAYER", "", IS_NAMED},
    {"SITE", "", IS_NAMED},
    {"VIA", "", IS_NAMED},
    {"VIARULE", "", IS_NAMED},
    {"NONDEFAULTRULE", "", IS_NAMED},
    {"UNITS", "", IS_WORD},
    {"SPACING", "", IS_WORD},
    {"PROPERTYDEFINITIONS", "", IS_WORD},
    {"PIN", "MACRO", IS_NAMED},
    {"OBS", "MACRO", IS_BARE},
    {"DENSITY", "MACRO", IS_BARE},
    {"PORT", "PIN", IS_BARE},
    {"LAYER", "NONDEFAULTRULE", IS_NAMED},
};

struct block {
    const char *word;
    char end[TOKEN]; // "": END alone
};

struct layer {
    bool is_routing;
    double width, ohm_per_square, farad_per_area, farad_per_edge;
};

struct reader {
    struct sq_lef *lef;
    const char *path, *at, *end;
    unsigned line;
    char token[TOKEN];
    size_t depth;
    struct block open[DEPTH];
    struct sq_lef_macro *macro; // of the block that is open
    struct sq_lef_pin *pin;
    double origin[2], box[4]; // of the macro; around the shapes of the pin
    bool is_core;
    double site[2];
    struct layer layer;
    unsigned n_layers; // routing layers, of all files
    struct sq_error *err;
};

static enum sq_status damaged(const struct reader *r, const char *what)
{
    return SQ_FAIL(r->err, SQ_ERR_DAMAGED, "'%s' line %u: %s", sq_path_tail(r->path), r->line,
                   what);
}

// ---- tokens -----------------------------------------------------------------------------------

// The next word, or ";"; "" at the end of the file.
static enum sq_status next(struct reader *r)
{
    size_t n = 0;
    while (r->at < r->end && (strchr(" \t\r\n", *r->at) || *r->at == '#')) {
        if (*r->at == '#')
            while (r->at + 1 < r->end && r->at[1] != '\n')
                r->at++;
        r->line += *r->at == '\n';
        r->at++;
    }
    const bool is_quoted = r->at < r->end && *r->at == '"';
    do {
        if (r->at == r->end)
            break;
        if (*r->at == '\0' || n + 1 == TOKEN)
            return damaged(r, "this is no LEF text");
        r->line += *r->at == '\n';
        r->token[n++] = *r->at++;
    } while (r->at < r->end && (is_quoted ? r->at[-1] != '"' || n == 1
                                          : r->token[0] != ';' && !strchr(" \t\r\n;#", *r->at)));
    r->token[n] = '\0';
    return SQ_OK;
}

static bool is(const struct reader *r, const char *word)
{
    return strcasecmp(r->token, word) == 0; // keywords have either case
}

// The rest of a statement, its ";" with it.
static enum sq_status skip(struct reader *r)
{
    while (!is(r, ";")) {
        if (!*r->token)
            return damaged(r, "the file ends inside a statement");
        SQ_TRY(next(r));
    }
    return SQ_OK;
}

static enum sq_status number(struct reader *r, double *value)
{
    char *end;
    SQ_TRY(next(r));
    *value = strtod(r->token, &end);
    return *end || !*r->token || !isfinite(*value) ? damaged(r, "a number is missing") : SQ_OK;
}

static enum sq_status name(struct reader *r, char out[SQ_LIB_NAME_LEN])
{
    SQ_TRY(next(r));
    if (!*r->token || is(r, ";") || strlen(r->token) >= SQ_LIB_NAME_LEN)
        return damaged(r, "a name is missing or has more than 63 characters");
    memcpy(out, r->token, strlen(r->token) + 1);
    return SQ_OK;
}

// ---- statements -------------------------------------------------------------------------------

static bool in(const struct reader *r, const char *word)
{
    return strcmp(r->depth ? r->open[r->depth - 1].word : "", word) == 0;
}

// Shapes of a pin: x y x y of RECT, points of POLYGON; MASK and its number may stand before them.
static enum sq_status shape(struct reader *r)
{
    double v;
    for (unsigned i = 0;; i++) {
        const char *const before = r->at;
        const unsigned line = r->line;
        SQ_TRY(next(r));
        if (is(r, ";"))
            return i % 2 || i < 4 ? damaged(r, "a shape lacks a number") : SQ_OK;
        if (is(r, "MASK")) {
            SQ_TRY(number(r, &v));
            i--;
            continue;
        }
        r->at = before;
        r->line = line;
        SQ_TRY(number(r, &v));
        r->box[i % 2] = fmin(r->box[i % 2], v);
        r->box[2 + i % 2] = fmax(r->box[2 + i % 2], v);
    }
}

static enum sq_status of_layer(struct reader *r)
{
    struct layer *const l = &r->layer;
    if (is(r, "TYPE")) {
        SQ_TRY(next(r));
        l->is_routing = is(r, "ROUTING");
    } else if (is(r, "WIDTH"))
        SQ_TRY(number(r, &l->width));
    else if (is(r, "EDGECAPACITANCE"))
        SQ_TRY(number(r, &l->farad_per_edge));
    else if (is(r, "RESISTANCE") || is(r, "CAPACITANCE")) {
        double *const to = is(r, "RESISTANCE") ? &l->ohm_per_square : &l->farad_per_area;
        SQ_TRY(next(r));
        if (is(r, "RPERSQ") || is(r, "CPERSQDIST")) // else of a via
            SQ_TRY(number(r, to));
    }
    return skip(r);
}

static enum sq_status statement(struct reader *r)
{
    if (in(r, "LAYER"))
        return of_layer(r);
    if (in(r, "PORT") && (is(r, "RECT") || is(r, "POLYGON")))
        return shape(r);
    if (in(r, "PIN") && (is(r, "DIRECTION") || is(r, "USE"))) {
        SQ_TRY(next(r));
        r->pin->is_output = r->pin->is_output || is(r, "OUTPUT");
        r->pin->is_supply = r->pin->is_supply || is(r, "POWER") || is(r, "GROUND");
    } else if (in(r, "SITE") && is(r, "CLASS")) {
        SQ_TRY(next(r));
        r->is_core = is(r, "CORE");
    } else if (in(r, "MACRO") && is(r, "ORIGIN")) {
        SQ_TRY(number(r, &r->origin[0]));
        SQ_TRY(number(r, &r->origin[1]));
    } else if ((in(r, "MACRO") || in(r, "SITE")) && is(r, "SIZE")) {
        double *const to = in(r, "SITE") ? r->site : &r->macro->width;
        SQ_TRY(number(r, &to[0]));
        SQ_TRY(next(r));
        if (!is(r, "BY"))
            return damaged(r, "SIZE has no BY");
        double *const height = in(r, "SITE") ? &to[1] : &r->macro->height;
        SQ_TRY(number(r, height));
        if (!(to[0] > 0 && *height > 0))
            return damaged(r, "SIZE needs two numbers above 0");
    }
    return skip(r);
}

// ---- blocks -----------------------------------------------------------------------------------

static enum sq_status begin(struct reader *r, size_t kind)
{
    struct sq_lef *const lef = r->lef;
    struct block *const b = &r->open[r->depth];
    char label[SQ_LIB_NAME_LEN] = "";
    if (r->depth == DEPTH)
        return damaged(r, "blocks stand too deep in one another");
    if (blocks[kind].end == IS_NAMED)
        SQ_TRY(name(r, label));
    b->word = blocks[kind].word;
    snprintf(b->end, sizeof b->end, "%s", blocks[kind].end == IS_WORD ? b->word : label);
    r->depth++;
    if (in(r, "MACRO")) {
        SQ_TRY(SQ_GROW(lef->macro, lef->n_macros, r->err, "a LEF file"));
        r->macro = &lef->macro[lef->n_macros++];
        *r->macro = (struct sq_lef_macro){.n_pins = 0};
        memcpy(r->macro->name, label, sizeof label);
        r->origin[0] = r->origin[1] = 0;
    } else if (in(r, "PIN")) {
        SQ_TRY(SQ_GROW(r->macro->pin, r->macro->n_pins, r->err, "a LEF file"));
        r->pin = &r->macro->pin[r->macro->n_pins++];
        *r->pin = (struct sq_lef_pin){.is_output = false};
        memcpy(r->pin->name, label, sizeof label);
        r->box[0] = r->box[1] = INFINITY;
        r->box[2] = r->box[3] = -INFINITY;
    } else if (in(r, "LAYER"))
        r->layer = (struct layer){.is_routing = false};
    else if (in(r, "SITE"))
        r->is_core = false;
    return SQ_OK;
}

static enum sq_status end_of_site(struct reader *r)
{
    struct sq_lef *const lef = r->lef;
    if (!r->is_core)
        return SQ_OK;
    if (lef->site_width > 0 && (lef->site_width != r->site[0] || lef->row_height != r->site[1]))
        return SQ_FAIL(r->err, SQ_ERR_UNSUPPORTED,
                       "'%s' line %u: a second site of class CORE, %g x %g um beside %g x %g",
                       sq_path_tail(r->path), r->line, r->site[0], r->site[1], lef->site_width,
                       lef->row_height);
    snprintf(lef->site, sizeof lef->site, "%s", r->open[r->depth - 1].end);
    lef->site_width = r->site[0];
    lef->row_height = r->site[1];
    return SQ_OK;
}

// A wire of the layer's own width: squares a micrometre, the area below, two edges.
static void end_of_layer(struct reader *r)
{
    const struct layer *const l = &r->layer;
    if (!l->is_routing || r->open[0].word != r->open[r->depth - 1].word)
        return;
    r->n_layers++;
    if (r->n_layers < 2 || r->n_layers > SIGNAL_LAYERS || !(l->width > 0))
        return;
    r->lef->ohm_per_um += l->ohm_per_square / l->width / (SIGNAL_LAYERS - 1);
    r->lef->farad_per_um +=
        1e-12 * (l->farad_per_area * l->width + 2 * l->farad_per_edge) / (SIGNAL_LAYERS - 1);
}

static enum sq_status end(struct reader *r)
{
    if (r->depth == 0)
        return next(r); // END LIBRARY
    const struct block *const b = &r->open[r->depth - 1];
    if (*b->end) {
        SQ_TRY(next(r));
        if (!is(r, b->end))
            return damaged(r, "a block ends with another name than it began with");
    }
    if (in(r, "SITE"))
        SQ_TRY(end_of_site(r));
    else if (in(r, "LAYER"))
        end_of_layer(r);
    else if (in(r, "PIN") && r->box[0] <= r->box[2]) {
        r->pin->x = (r->box[0] + r->box[2]) / 2 + r->origin[0];
        r->pin->y = (r->box[1] + r->box[3]) / 2 + r->origin[1];
    }
    r->depth--;
    return SQ_OK;
}

static enum sq_status read_file(struct reader *r)
{
    for (;;) {
        SQ_TRY(next(r));
        if (!*r->token)
            break;
        size_t kind = 0;
        const size_t n = sizeof blocks / sizeof blocks[0];
        while (kind < n && !(is(r, blocks[kind].word) && in(r, blocks[kind].in)))
            kind++;
        if (kind < n)
            SQ_TRY(begin(r, kind));
        else if (is(r, "END"))
            SQ_TRY(end(r));
        else
            SQ_TRY(statement(r));
    }
    return r->depth ? damaged(r, "the file ends inside a block") : SQ_OK;
}

// ---- together ---------------------------------------------------------------------------------

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct sq_lef_macro *)a)->name, ((const struct sq_lef_macro *)b)->name);
}

void sq_lef_free(struct sq_lef *lef)
{
    for (size_t i = 0; i < lef->n_macros; i++)
        free(lef->macro[i].pin);
    free(lef->macro);
    *lef = (struct sq_lef){0};
}

enum sq_status sq_lef_read(struct sq_lef *lef, const char *const *path, size_t n,
                           struct sq_error *err)
{
    struct reader r = {.lef = lef, .err = err};
    enum sq_status status = SQ_OK;
    *lef = (struct sq_lef){0};
    for (size_t i = 0; i < n && status == SQ_OK; i++) {
        SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
        status = sq_file_map_text(path[i], SQ_LEF_MAX_NBYTES, &map, err);
        if (status != SQ_OK)
            break;
        r.path = path[i];
        r.at = (const char *)map.data;
        r.end = r.at + map.nbytes;
        r.line = 1;
        r.depth = 0;
        status = read_file(&r);
    }
    if (status == SQ_OK && !(lef->site_width > 0))
        status = SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "'%s' has no site of class CORE",
                         n ? sq_path_tail(path[0]) : "");
    for (size_t i = 0; i < lef->n_macros && status == SQ_OK; i++)
        if (!(lef->macro[i].width > 0))
            status = SQ_FAIL(err, SQ_ERR_DAMAGED, "'%s': the macro %s has no SIZE",
                             sq_path_tail(path[0]), lef->macro[i].name);
    if (status == SQ_OK && lef->n_macros > 0)
        qsort(lef->macro, lef->n_macros, sizeof *lef->macro, by_name);
    if (status != SQ_OK)
        sq_lef_free(lef);
    return status;
}

const struct sq_lef_macro *sq_lef_find(const struct sq_lef *lef, const char *label)
{
    struct sq_lef_macro key;
    if (strlen(label) >= sizeof key.name || lef->n_macros == 0)
        return NULL;
    memcpy(key.name, label, strlen(label) + 1);
    return bsearch(&key, lef->macro, lef->n_macros, sizeof key, by_name);
}

const struct sq_lef_pin *sq_lef_pin(const struct sq_lef_macro *macro, const char *label)
{
    for (size_t i = 0; i < macro->n_pins; i++)
        if (strcmp(macro->pin[i].name, label) == 0)
            return &macro->pin[i];
    return NULL;
}
