// SPDX-License-Identifier: Apache-2.0
// --fair of `sqsim run` (sq_fair.h).
#include <math.h>

#include "sim/cli/run/sq_cmd_run.h"
#include "sim/cli/sq_cli_synth.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/format/sq_cache_format.h"

// Attention of rows: on PEs of the format where these multiply the cache, too, else on a second array.
static enum sq_status make_second(const struct sq_run_request *in, const struct sq_synth *synth,
                                  const struct sq_machine *machine, struct sq_run_fair *fair,
                                  struct sq_error *err)
{
    struct sq_recipe cache;
    if (in->n_and == 0 || machine->chip.bus_nbytes)
        return SQ_OK;
    SQ_TRY(sq_cache_recipe(in->kv_format, SQ_IN_RUN, &cache, err));
    fair->attention_is_own = sq_fair_takes(machine, &in->recipe, &cache);
    return fair->attention_is_own ? SQ_OK
                                  : sq_fair_second(synth, &cache, machine, &fair->second, err);
}

enum sq_status sq_run_make_fair(const struct sq_run_request *in, struct sq_machine *machine,
                                struct sq_run_fair *fair, struct sq_error *err)
{
    SQ_CLOSED(sq_synth_close) struct sq_synth synth = {0};
    SQ_TRY(sq_cost_check(&in->recipe, err));
    *fair = (struct sq_run_fair){.liberty = ""};
    const bool is_kept =
        in->n_and > 0 && sq_machine_has_token(machine); // a row of the chip as it is
    if (in->fair != SQ_FAIR_AREA || is_kept)
        return sq_fair_machine(is_kept ? SQ_FAIR_NONE : in->fair, NULL, &in->recipe, 0, machine,
                               &fair->pe, err);
    SQ_TRY(sq_cli_synth_open(&synth, in->liberty, err));
    sq_cli_synth_show(&synth, "run");
    synth.is_wireless = in->is_wireless;
    synth.period_ns = sq_run_period(in);
    sq_digest_hex(synth.liberty_digest, fair->liberty);
    enum sq_status status = in->wires ? sq_cli_wires_open(in->wires, &synth, err) : SQ_OK;
    SQ_THEN(status, make_second(in, &synth, machine, fair, err));
    SQ_THEN(status, sq_fair_machine(in->fair, &synth, &in->recipe, fair->second.um2, machine,
                                    &fair->pe, err));
    sq_cli_progress_end();
    return status;
}

void sq_run_fair_text(const struct sq_run_request *in, const struct sq_run_fair *fair)
{
    const struct sq_fair_pe *pe = &fair->pe;
    if (in->fair == SQ_FAIR_PEAK)
        printf("fair by peak: a PE of %u bit products, where the machine's has %u\n", pe->products,
               pe->reference);
    if (in->fair == SQ_FAIR_AREA)
        printf("fair by area: a PE of %.0f um2 (%u bit products), where the machine's has %.0f "
               "(%u), in %.1f %% of the silicon of those; library %.16s\n",
               pe->area_um2, pe->products, pe->reference_um2, pe->reference, 100 * pe->filled,
               fair->liberty);
}

static json_t *lanes(const struct sq_machine *machine, unsigned n)
{
    return machine->chip.bus_nbytes ? json_null() : json_integer(n);
}

json_t *sq_run_fair_json(const struct sq_run_request *in, const struct sq_machine *machine,
                         const struct sq_run_fair *fair)
{
    const bool is_fair = in->fair != SQ_FAIR_NONE;
    const struct sq_core_config *core = &machine->core;
    const struct sq_fair_pe *pe = &fair->pe;
    const struct sq_cli_column row[] = {
        SQ_KEYS("low_lanes", lanes(machine, is_fair ? pe->low_lanes : core->low_lanes)),
        SQ_KEYS("high_lanes", lanes(machine, is_fair ? pe->high_lanes : core->high_lanes)),
        SQ_KEYS("fair", sq_fair_names[in->fair], "bit_products", pe->products),
        SQ_KEYS("bit_products_reference", pe->reference, "pe_area_um2", pe->area_um2),
        SQ_KEYS("pe_area_reference_um2", pe->reference_um2),
        SQ_KEYS("liberty_digest", fair->liberty[0] ? fair->liberty : NULL),
        SQ_COLUMNS_END};
    return sq_cli_object(row);
}
