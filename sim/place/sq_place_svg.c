// SPDX-License-Identifier: Apache-2.0
// Draws a placement as SVG (sq_place_svg.h); a unit of the drawing is a micrometre.
#include "sim/place/sq_place_svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const colour[SQ_PLACE_SVG_GROUPS] = {
    "#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f", "#edc948", "#b07aa1", "#ff9da7",
    "#9c755f", "#bab0ac", "#86bcb6", "#d37295", "#a0cbe8", "#8cd17d", "#499894", "#79706e"};

// A cell is "M x y h width v height h -width z" of its group's one path; y grows downwards.
static void put_cells(FILE *out, const struct sq_place *p, const uint8_t *group)
{
    for (unsigned g = 0; g < SQ_PLACE_SVG_GROUPS; g++) {
        bool has_any = false;
        for (size_t i = 0; i < p->n_cells; i++) {
            const struct sq_place_cell *const c = &p->cell[i];
            if (group[i] != g)
                continue;
            fprintf(out, has_any ? "\n" : "<path fill=\"%s\" d=\"", colour[g]);
            fprintf(out, "M%.6g %.6gh%.6gv%.6gh-%.6gz", c->x, p->height - c->y - c->macro->height,
                    c->macro->width, c->macro->height, c->macro->width);
            has_any = true;
        }
        fprintf(out, has_any ? "\"/>\n" : "");
    }
}

enum { ACROSS = 192 }; // tiles

// The group that has most area of a tile; SQ_PLACE_SVG_GROUPS where cells cover less than a tenth.
static unsigned most_of(const double area[SQ_PLACE_SVG_GROUPS], double tile)
{
    double all = 0;
    unsigned most = 0;
    for (unsigned k = 0; k < SQ_PLACE_SVG_GROUPS; k++) {
        all += area[k];
        most = area[k] > area[most] ? k : most;
    }
    return all > .1 * tile ? most : SQ_PLACE_SVG_GROUPS;
}

// Many cells as tiles, those of one group side by side as one.
static enum sq_status put_tiles(FILE *out, const struct sq_place *p, const uint8_t *group,
                                struct sq_error *err)
{
    SQ_FREED double(*const area)[SQ_PLACE_SVG_GROUPS] =
        calloc((size_t)ACROSS * ACROSS, sizeof *area);
    const double w = p->width / ACROSS, h = p->height / ACROSS;
    SQ_NEED(area, err, "a picture");
    for (size_t i = 0; i < p->n_cells; i++) {
        const struct sq_place_cell *const c = &p->cell[i];
        const size_t x = (size_t)((c->x + c->macro->width / 2) / w);
        const size_t y = (size_t)((c->y + c->macro->height / 2) / h);
        if (x < ACROSS && y < ACROSS)
            area[y * ACROSS + x][group[i]] += c->macro->width * c->macro->height;
    }
    for (size_t t = 0, n; t < (size_t)ACROSS * ACROSS; t += n) {
        const unsigned g = most_of(area[t], w * h);
        n = 1;
        while ((t + n) % ACROSS != 0 && most_of(area[t + n], w * h) == g)
            n++;
        if (g < SQ_PLACE_SVG_GROUPS)
            fprintf(out, "<path fill=\"%s\" d=\"M%.5g %.5gh%.4gv%.4gh-%.4gz\"/>", colour[g],
                    (double)(t % ACROSS) * w, p->height - (double)(t / ACROSS + 1) * h,
                    (double)n * w, h, (double)n * w);
    }
    fputc('\n', out);
    return SQ_OK;
}

enum sq_status sq_place_instances(const struct sq_place *p, struct sq_place_groups *g,
                                  struct sq_error *err)
{
    static const char made[] = "$flatten\\"; // before names that are not the source's
    const unsigned others = SQ_PLACE_SVG_GROUPS - 1;
    unsigned n = 0;
    *g = (struct sq_place_groups){.of = calloc(p->n_cells + 1, 1)};
    SQ_NEED(g->of, err, "a picture");
    snprintf(g->name[others], SQ_PLACE_SVG_NAME, "others");
    for (size_t i = 0; i < p->n_cells; i++) {
        const char *cell = p->cell[i].name;
        cell += strncmp(cell, made, sizeof made - 1) == 0 ? sizeof made - 1 : 0;
        const size_t length = strcspn(cell, ".");
        unsigned at = 0;
        while (at < n && !(strncmp(g->name[at], cell, length) == 0 && !g->name[at][length]))
            at++;
        if (!cell[length] || *cell == '$' || length >= SQ_PLACE_SVG_NAME)
            at = others;
        else if (at == n && n < others)
            snprintf(g->name[n++], SQ_PLACE_SVG_NAME, "%.*s", (int)length, cell);
        g->of[i] = (uint8_t)at;
    }
    return SQ_OK;
}

static void put_blocks(FILE *out, const struct sq_place *p)
{
    for (size_t i = p->n_cells + p->n_ports; i < sq_place_n_all(p); i++) {
        const struct sq_place_cell *const c = &p->cell[i];
        fprintf(out,
                "<rect x=\"%.6g\" y=\"%.6g\" width=\"%.6g\" height=\"%.6g\" fill=\"#e8e4d8\" "
                "stroke=\"#888\" stroke-width=\".5\"><title>%s</title></rect>\n",
                c->x, p->height - c->y - c->macro->height, c->macro->width, c->macro->height,
                c->macro->name);
    }
}

static void put_rows(FILE *out, const struct sq_place *p)
{
    fprintf(out, "<path stroke=\"#ddd\" stroke-width=\".2\" d=\"");
    for (size_t r = 0; r <= p->n_rows; r++)
        fprintf(out, "M0 %.6gh%.6g", (double)r * p->lef->row_height, p->width);
    fprintf(out, "\"/>\n");
}

// What a line of the report stands for: "... c12/Y (CELL)", or "... p3 (in)"; NULL: no pin.
static const struct sq_place_pin *pin_of(const struct sq_place *p, const char *line, bool *is_bad)
{
    char name[SQ_LIB_NAME_LEN];
    unsigned cell;
    const char *at = strstr(line, " ^ ");
    at = at ? at : strstr(line, " v ");
    *is_bad = false;
    if (!at)
        return NULL;
    if (sscanf(at + 3, "c%u/%63[^ ]", &cell, name) == 2) {
        for (uint32_t i = 0; cell < sq_place_n_all(p) && i < p->cell[cell].n_pins; i++) {
            const struct sq_place_pin *const pin = &p->pin[p->cell[cell].pin + i];
            if (strcmp(pin->lef->name, name) == 0)
                return pin;
        }
        *is_bad = true;
    } else if (sscanf(at + 3, "p%u ", &cell) == 1) {
        *is_bad = cell >= p->n_ports;
        return *is_bad ? NULL : &p->pin[p->cell[p->n_cells + cell].pin];
    }
    return NULL;
}

// The longest path, up to *end: behind the last heading, as before it are paths of half a period, that with the least
// slack, as OpenSTA reports one of each group.
static const char *longest(const char *report, const char **end)
{
    const char *last = report, *best;
    for (const char *at; (at = strstr(last, "Longest path")); last = at + 1) {
    }
    double least = INFINITY, slack;
    best = last;
    *end = last + strlen(last);
    for (const char *at = strstr(last, "Startpoint:"), *next; at; at = next) {
        next = strstr(at + 1, "Startpoint:");
        const char *line = strstr(at, " slack (");
        while (line && line > at && line[-1] != '\n')
            line--;
        if (line && (!next || line < next) && sscanf(line, "%lf", &slack) == 1 && slack < least) {
            least = slack;
            best = at;
            *end = next ? next : at + strlen(at);
        }
    }
    return best;
}

static enum sq_status put_path(FILE *out, const struct sq_place *p, const char *report,
                               struct sq_error *err)
{
    const char *last;
    const char *const first = longest(report, &last);
    fprintf(out, "<polyline fill=\"none\" stroke=\"#000\" stroke-width=\".8\" points=\"");
    for (const char *line = first; line && line < last;) {
        const char *const end = strchr(line, '\n');
        char text[256];
        bool is_bad;
        snprintf(text, sizeof text, "%.*s", end ? (int)(end - line) : 255, line);
        const struct sq_place_pin *const pin = pin_of(p, text, &is_bad);
        if (is_bad)
            return SQ_FAIL(err, SQ_ERR_DAMAGED, "the report of OpenSTA names no pin: %.80s", text);
        if (pin)
            fprintf(out, "%.6g,%.6g ", sq_place_x(p, pin), p->height - sq_place_y(p, pin));
        line = end ? end + 1 : NULL;
    }
    fprintf(out, "\"/>\n");
    return SQ_OK;
}

static void put_legend(FILE *out, const struct sq_place *p, const struct sq_place_groups *groups)
{
    const double size = p->height / 36;
    double extent[2], y = size;
    sq_place_extent(p, extent);
    const double right = extent[1];
    for (unsigned g = 0; g < SQ_PLACE_SVG_GROUPS; g++) {
        size_t n = 0;
        for (size_t i = 0; i < p->n_cells; i++)
            n += groups->of[i] == g;
        if (n == 0)
            continue;
        fprintf(out,
                "<rect x=\"%.6g\" y=\"%.6g\" width=\"%.6g\" height=\"%.6g\" fill=\"%s\"/>"
                "<text x=\"%.6g\" y=\"%.6g\" font-size=\"%.6g\">%s (%zu)</text>\n",
                right + size, y, size, size, colour[g], right + 2.5 * size, y + .85 * size, size,
                groups->name[g], n);
        y += 1.6 * size;
    }
}

enum sq_status sq_place_svg(FILE *out, const struct sq_place *p, const struct sq_place_groups *g,
                            const char *report, struct sq_error *err)
{
    double extent[2];
    sq_place_extent(p, extent);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"%.6g -2 %.6g %.6g\" "
            "font-family=\"sans-serif\">\n<rect x=\"0\" y=\"0\" width=\"%.6g\" height=\"%.6g\" "
            "fill=\"#fff\" stroke=\"#888\" stroke-width=\".5\"/>\n",
            extent[0] - 2, extent[1] - extent[0] + .45 * p->width + 4, p->height + 4, p->width,
            p->height);
    put_blocks(out, p);
    if (p->n_cells > SQ_PLACE_SVG_CELLS) {
        SQ_TRY(put_tiles(out, p, g->of, err));
    } else {
        put_rows(out, p);
        put_cells(out, p, g->of);
    }
    SQ_TRY(put_path(out, p, report, err));
    put_legend(out, p, g);
    fprintf(out, "</svg>\n");
    return SQ_OK;
}
