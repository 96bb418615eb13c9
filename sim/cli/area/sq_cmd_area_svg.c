// SPDX-License-Identifier: Apache-2.0
// sqsim area --svg, --def: the placement of a row as a picture, its cells by the part that they work for
// (sq_energy_parts), and as a file for other tools.
#include <stdlib.h>
#include <string.h>

#include "sim/cli/area/sq_cmd_area.h"
#include "sim/energy/sq_energy.h"
#include "sim/io/sq_file.h"
#include "sim/place/sq_place_svg.h"
#include "sim/place/sq_wires.h"

// The part of each cell: gates of a netlist stand in the order of the cells of a placement.
static enum sq_status find_groups(const struct sq_synth *s, const struct sq_area_row *row,
                                  const struct sq_place *p, uint8_t **group, struct sq_error *err)
{
    const struct sq_netlist_edge edge = {SQ_ENERGY_SLEW, 0, NULL, 0};
    const char *const clock = row->result.clock[0] ? row->result.clock : NULL;
    SQ_CLOSED(sq_lib_models_close) struct sq_lib_models models = {0};
    SQ_CLOSED(sq_netlist_free) struct sq_netlist n = {.n_nets = 0};
    SQ_FREED char *path = NULL;
    SQ_TRY(sq_synth_mapped(s, &row->synth, &path, err));
    SQ_TRY(sq_lib_models_open(&models, &s->lib, err));
    SQ_TRY(sq_netlist_read(&n, path, clock, &models, &edge, err));
    SQ_TRY(sq_energy_parts(&n, group, err));
    for (size_t i = 0; i < p->n_cells; i++)
        (*group)[i] &= (uint8_t)~SQ_PART_IN_PE;
    return SQ_OK;
}

// Groups of a chip: the instance of its top that a cell is in, the first path of its name; the last group has what is in none.
#define FLATTEN "$flatten\\" // before the names of Yosys that are not the source's
static enum sq_status find_instances(const struct sq_place *p, uint8_t **group,
                                     char names[SQ_PLACE_SVG_GROUPS][32], struct sq_error *err)
{
    unsigned n = 0;
    *group = calloc(p->n_cells + 1, 1);
    SQ_NEED(*group, err, "a picture");
    snprintf(names[SQ_PLACE_SVG_GROUPS - 1], sizeof names[0], "others");
    for (size_t i = 0; i < p->n_cells; i++) {
        const char *const name = p->cell[i].name;
        const char *const cell =
            name + (strncmp(name, FLATTEN, sizeof FLATTEN - 1) == 0 ? sizeof FLATTEN - 1 : 0);
        const size_t length = strcspn(cell, ".");
        unsigned g = 0;
        while (g < n && !(strncmp(names[g], cell, length) == 0 && !names[g][length]))
            g++;
        if (!cell[length] || *cell == '$' || length >= sizeof names[0])
            g = SQ_PLACE_SVG_GROUPS - 1;
        else if (g == n && n < SQ_PLACE_SVG_GROUPS - 1)
            snprintf(names[n++], sizeof names[0], "%.*s", (int)length, cell);
        (*group)[i] = (uint8_t)g;
    }
    return SQ_OK;
}

static enum sq_status draw(const char *path, const struct sq_place *p, const uint8_t *group,
                           char instance[SQ_PLACE_SVG_GROUPS][32], const char *report,
                           struct sq_error *err)
{
    const char *name[SQ_PLACE_SVG_GROUPS];
    struct sq_outfile out;
    for (unsigned i = 0; i < SQ_PLACE_SVG_GROUPS; i++)
        name[i] = instance[SQ_PLACE_SVG_GROUPS - 1][0] ? instance[i]
                  : i < SQ_N_PARTS                     ? sq_energy_part_name((enum sq_energy_part)i)
                                                       : "";
    SQ_TRY(sq_outfile_open(&out, path, err));
    const enum sq_status status = sq_place_svg(out.stream, p, group, name, report, err);
    if (status == SQ_OK)
        return sq_outfile_commit(&out, err);
    sq_outfile_abort(&out);
    return status;
}

static enum sq_status put_def(const char *path, const struct sq_place *p, const char *module,
                              struct sq_error *err)
{
    struct sq_outfile out;
    SQ_TRY(sq_outfile_open(&out, path, err));
    sq_spef_def(out.stream, p, module);
    return sq_outfile_commit(&out, err);
}

enum sq_status sq_area_draw(const struct sq_synth *s, struct sq_area_row *row, const char *svg,
                            const char *def, struct sq_error *err)
{
    SQ_CLOSED(sq_place_free) struct sq_place p = {0};
    SQ_FREED char *report = NULL;
    SQ_FREED uint8_t *group = NULL;
    char instance[SQ_PLACE_SVG_GROUPS][32] = {""};
    SQ_TRY(sq_wires_place(s, &row->synth, &row->result, &p, &report, err));
    enum sq_status status = def ? put_def(def, &p, row->synth.top, err) : SQ_OK;
    if (svg) {
        if (row->block.is_chip)
            SQ_THEN(status, find_instances(&p, &group, instance, err));
        else
            SQ_THEN(status, find_groups(s, row, &p, &group, err));
        SQ_THEN(status, draw(svg, &p, group, instance, report, err));
    }
    return status;
}
