// SPDX-License-Identifier: Apache-2.0
// --fair of `sqsim run` (sq_fair.h).
#include <math.h>

#include "sim/cli/sq_cli_synth.h"
#include "sim/cli/sq_cmd_run.h"

enum sq_status sq_run_make_fair(const struct sq_run_request *in, struct sq_machine *machine,
                                struct sq_run_fair *fair, struct sq_error *err)
{
    struct sq_synth synth;
    SQ_TRY(sq_cost_check(&in->recipe, err));
    if (in->fair != SQ_FAIR_AREA)
        return sq_fair_machine(in->fair, NULL, &in->recipe, machine, &fair->pe, err);
    SQ_TRY(sq_cli_synth_open(&synth, in->liberty, err));
    sq_digest_hex(synth.liberty_digest, fair->liberty);
    const enum sq_status status =
        sq_fair_machine(in->fair, &synth, &in->recipe, machine, &fair->pe, err);
    sq_synth_close(&synth);
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
               "(%u); library %.16s\n",
               pe->area_um2, pe->products, pe->reference_um2, pe->reference, fair->liberty);
}

static json_t *json_area(double um2)
{
    return isnan(um2) ? json_null() : json_real(um2);
}

void sq_run_fair_json(const struct sq_run_request *in, const struct sq_machine *machine,
                      const struct sq_run_fair *fair, json_t *o)
{
    const bool is_fair = in->fair != SQ_FAIR_NONE;
    const struct sq_core_config *core = &machine->core;
    const struct sq_fair_pe *pe = &fair->pe;
    json_object_set_new(o, "low_lanes", json_integer(is_fair ? pe->low_lanes : core->low_lanes));
    json_object_set_new(o, "high_lanes", json_integer(is_fair ? pe->high_lanes : core->high_lanes));
    json_object_set_new(o, "fair", json_string(sq_fair_names[in->fair]));
    json_object_set_new(o, "bit_products", json_integer(pe->products));
    json_object_set_new(o, "bit_products_reference", json_integer(pe->reference));
    json_object_set_new(o, "pe_area_um2", json_area(pe->area_um2));
    json_object_set_new(o, "pe_area_reference_um2", json_area(pe->reference_um2));
    json_object_set_new(o, "liberty_digest",
                        fair->liberty[0] ? json_string(fair->liberty) : json_null());
}
