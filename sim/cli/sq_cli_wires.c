// SPDX-License-Identifier: Apache-2.0
// The options of placed wires (sq_cli_wires.h).
#include "sim/cli/sq_cli_wires.h"

#include <stdlib.h>
#include <string.h>

#include "sim/cli/sq_cli.h"

static enum sq_status add_files(void *context, const struct sq_cli_row *row, const char *text,
                                struct sq_error *err)
{
    struct sq_cli_wires *const w = context;
    (void)row;
    for (const char *at = text;; at++) {
        const size_t n = strcspn(at, ",");
        if (n == 0)
            return SQ_FAIL(err, SQ_ERR_ARG, "--lef = '%.60s', need FILE,...", text);
        if (w->n_files == SQ_LEF_FILES)
            return SQ_FAIL(err, SQ_ERR_RANGE, "--lef has more than %d files", SQ_LEF_FILES);
        w->file[w->n_files] = strndup(at, n);
        SQ_NEED(w->file[w->n_files], err, "the files");
        w->n_files++;
        at += n;
        if (!*at)
            return SQ_OK;
    }
}

static enum sq_status set_layer(void *context, const struct sq_cli_row *row, const char *text,
                                struct sq_error *err)
{
    struct sq_spef_layer *const layer = &((struct sq_cli_wires *)context)->wires.layer;
    char ohm[32];
    double femtofarads = 0;
    const size_t n = strcspn(text, ",");
    (void)row;
    if (text[n] != ',' || n >= sizeof ohm)
        return SQ_FAIL(err, SQ_ERR_ARG, "--wire = '%.60s', need OHM,FF", text);
    snprintf(ohm, sizeof ohm, "%.*s", (int)n, text);
    SQ_TRY(sq_cli_double("--wire", ohm, 1e-6, 1e3, &layer->ohm_per_um, err));
    SQ_TRY(sq_cli_double("--wire", text + n + 1, 1e-6, 1e3, &femtofarads, err));
    layer->farad_per_um = 1e-15 * femtofarads;
    return SQ_OK;
}

#define AT(field) SQ_CLI_AT(struct sq_cli_wires, field)
const struct sq_cli_row sq_cli_wires_rows[] = {
    SQ_CLI_FLAG("wires", AT(is_on),
                "place each netlist on rows and put its wires into the delays, in place of the "
                "library's wire load; needs --lef"),
    SQ_CLI_OWN("lef", "FILE,...", add_files,
               "of --wires: LEF files of the library, cells and layers; may repeat"),
    SQ_CLI_OWN(
        "wire", "OHM,FF", set_layer,
        "of --wires: resistance in ohms and capacitance in femtofarads of a micrometre, each "
        "1e-6..1000",
        .usual = "mean of the second and third routing layer of --lef"),
    SQ_CLI_REAL("utilisation", "U", .1, .95, AT(wires.utilisation),
                "of --wires: area of the cells by that of the rows"),
    SQ_CLI_END};
#undef AT

struct sq_cli_wires sq_cli_wires_default(void)
{
    return (struct sq_cli_wires){.wires = {.utilisation = .7, .seed = 1}};
}

enum sq_status sq_cli_wires_end(void *context, struct sq_error *err)
{
    const struct sq_cli_wires *const w = context;
    if (w->is_on && w->n_files == 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "--wires needs --lef FILE,...: sizes of cells and layers");
    if (!w->is_on && (w->n_files > 0 || w->wires.layer.ohm_per_um > 0))
        return SQ_FAIL(err, SQ_ERR_ARG, "%s needs --wires", w->n_files > 0 ? "--lef" : "--wire");
    return SQ_OK;
}

enum sq_status sq_cli_wires_open(struct sq_cli_wires *w, struct sq_synth *synth,
                                 struct sq_error *err)
{
    struct sq_spef_layer *const layer = &w->wires.layer;
    if (!w->is_on)
        return SQ_OK;
    if (!synth->sta_version[0])
        return SQ_FAIL(err, SQ_ERR_TOOL, "sta does not run: --wires needs OpenSTA");
    if (w->lef.n_macros == 0)
        SQ_TRY(sq_lef_read(&w->lef, (const char *const *)w->file, w->n_files, err));
    if (!(layer->ohm_per_um > 0))
        *layer = (struct sq_spef_layer){w->lef.ohm_per_um, w->lef.farad_per_um};
    if (!(layer->ohm_per_um > 0 && layer->farad_per_um > 0))
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "--lef: no file has resistance and capacitance of the second and third "
                       "routing layer, need --wire OHM,FF");
    w->wires.lef = &w->lef;
    synth->on_area = sq_wires_on_area;
    synth->on_area_context = &w->wires;
    return SQ_OK;
}

void sq_cli_wires_free(struct sq_cli_wires *w)
{
    for (size_t i = 0; i < w->n_files; i++)
        free(w->file[i]);
    sq_lef_free(&w->lef);
}
