// SPDX-License-Identifier: Apache-2.0
// Draws a placement as SVG (sq_place_svg.h); a unit of the drawing is a micrometre.
#include "sim/place/sq_place_svg.h"

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
        for (uint32_t i = 0; cell < p->n_cells && i < p->cell[cell].n_pins; i++) {
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

static enum sq_status put_path(FILE *out, const struct sq_place *p, const char *report,
                               struct sq_error *err)
{
    const char *last = report; // the longest one is the last: before it come paths of half a period
    for (const char *at; (at = strstr(last, "Longest path")); last = at + 1) {
    }
    fprintf(out, "<polyline fill=\"none\" stroke=\"#000\" stroke-width=\".8\" points=\"");
    for (const char *line = last; line && *line;) {
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

static void put_legend(FILE *out, const struct sq_place *p, const uint8_t *group,
                       const char *const *name)
{
    const double size = p->height / 36;
    double y = size;
    for (unsigned g = 0; g < SQ_PLACE_SVG_GROUPS; g++) {
        size_t n = 0;
        for (size_t i = 0; i < p->n_cells; i++)
            n += group[i] == g;
        if (n == 0)
            continue;
        fprintf(out,
                "<rect x=\"%.6g\" y=\"%.6g\" width=\"%.6g\" height=\"%.6g\" fill=\"%s\"/>"
                "<text x=\"%.6g\" y=\"%.6g\" font-size=\"%.6g\">%s (%zu)</text>\n",
                p->width + size, y, size, size, colour[g], p->width + 2.5 * size, y + .85 * size,
                size, name[g], n);
        y += 1.6 * size;
    }
}

enum sq_status sq_place_svg(FILE *out, const struct sq_place *p, const uint8_t *group,
                            const char *const *name, const char *report, struct sq_error *err)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-2 -2 %.6g %.6g\" "
            "font-family=\"sans-serif\">\n<rect x=\"0\" y=\"0\" width=\"%.6g\" height=\"%.6g\" "
            "fill=\"#fff\" stroke=\"#888\" stroke-width=\".5\"/>\n",
            1.45 * p->width + 4, p->height + 4, p->width, p->height);
    put_rows(out, p);
    put_cells(out, p, group);
    SQ_TRY(put_path(out, p, report, err));
    put_legend(out, p, group, name);
    fprintf(out, "</svg>\n");
    return SQ_OK;
}
