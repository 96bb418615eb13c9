// SPDX-License-Identifier: Apache-2.0
// sqsim area --svg, --def: the placement of a row as a picture, its cells by the part that they work for
// (sq_energy_parts), and as a file for other tools.
#include <stdlib.h>

#include "sim/cli/area/sq_cmd_area.h"
#include "sim/energy/sq_energy.h"
#include "sim/io/sq_file.h"
#include "sim/place/sq_place_svg.h"
#include "sim/place/sq_wires.h"

// The part of each cell: gates of a netlist stand in the order of the cells of a placement.
static enum sq_status find_groups(const struct sq_synth *s, const struct sq_area_row *row,
                                  const struct sq_place *p, struct sq_place_groups *g,
                                  struct sq_error *err)
{
    const struct sq_netlist_edge edge = {SQ_ENERGY_SLEW, 0, NULL, 0};
    const char *const clock = row->result.clock[0] ? row->result.clock : NULL;
    SQ_CLOSED(sq_lib_models_close) struct sq_lib_models models = {0};
    SQ_CLOSED(sq_netlist_free) struct sq_netlist n = {.n_nets = 0};
    SQ_FREED char *path = NULL;
    SQ_TRY(sq_synth_mapped(s, &row->synth, &path, err));
    SQ_TRY(sq_lib_models_open(&models, &s->lib, err));
    SQ_TRY(sq_netlist_read(&n, path, clock, &models, &edge, err));
    SQ_TRY(sq_energy_parts(&n, &g->of, err));
    for (size_t i = 0; i < p->n_cells; i++)
        g->of[i] &= (uint8_t)~SQ_PART_IN_PE;
    for (unsigned i = 0; i < SQ_N_PARTS; i++)
        snprintf(g->name[i], sizeof g->name[i], "%s", sq_energy_part_name((enum sq_energy_part)i));
    return SQ_OK;
}

static enum sq_status draw(const char *path, const struct sq_place *p,
                           const struct sq_place_groups *g, const char *report,
                           struct sq_error *err)
{
    SQ_CLOSED(sq_outfile_abort) struct sq_outfile out = {0};
    SQ_TRY(sq_outfile_open(&out, path, err));
    SQ_TRY(sq_place_svg(out.stream, p, g, report, err));
    return sq_outfile_commit(&out, err);
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
    struct sq_place_groups g = {0};
    SQ_TRY(sq_wires_place(s, &row->synth, &row->result, &p, &report, err));
    enum sq_status status = def ? put_def(def, &p, row->synth.top, err) : SQ_OK;
    if (svg) {
        SQ_THEN(status, row->block.is_chip ? sq_place_instances(&p, &g, err)
                                           : find_groups(s, row, &p, &g, err));
        SQ_THEN(status, draw(svg, &p, &g, report, err));
    }
    free(g.of);
    return status;
}
