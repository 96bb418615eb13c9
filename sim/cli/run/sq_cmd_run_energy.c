// SPDX-License-Identifier: Apache-2.0
// --energy of `sqsim run` (sq_machine_energy.h).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/block/vector/sq_top_attend.h"
#include "sim/cli/run/sq_cmd_run.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/io/sq_checked.h"
#include "sim/io/sq_json.h"
#include "sim/machine/sq_chip_machine.h"

// The attention unit of the chip, where the file has its line.
static enum sq_status read_attend(const char *path, const unsigned *value, struct sq_run_energy *e,
                                  struct sq_error *err)
{
    const struct sq_ta_unit unit = sq_ta_unit_of(value[SQ_TOP_ATTEND]);
    const unsigned lanes = sq_ta_lanes(value[SQ_TOP_ATTEND], value[SQ_TOP_DATA_W] / 8);
    const struct sq_energy_need need[] = {{"Lanes", lanes},         {"Heads", unit.heads},
                                          {"HeadDim", unit.size},   {"Ahead", SQ_TA_AHEAD},
                                          {"IsInt8", unit.is_int8}, {NULL, 0}};
    SQ_TRY(sq_energy_table_attend(path, need, &e->attend, err));
    if (e->attend.is_there && strcmp(e->attend.liberty, e->mac.liberty) != 0)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "%s: liberty_digest of engine and block attend = %.16s, %.16s, need one "
                       "library",
                       sq_path_tail(path), e->mac.liberty, e->attend.liberty);
    return SQ_OK;
}

// The engine of the chip as it was measured, and its netlist, both of one library.
static enum sq_status read_chip(const struct sq_run_request *in, const struct sq_machine *m,
                                struct sq_run_energy *e, struct sq_error *err)
{
    struct sq_chip_layer c;
    SQ_TRY(sq_machine_chip_for(m, &in->recipe, sq_machine_chip_products(m), &c, err));
    const struct sq_energy_array array = {c.value[SQ_TOP_ROWS], c.value[SQ_TOP_COLS],
                                          c.value[SQ_TOP_BANK_LEN]};
    SQ_TRY(sq_energy_table_read(in->energy, &in->recipe, &array, &e->mac, err));
    SQ_TRY(sq_energy_chip_read(in->energy, c.value, &e->chip, err));
    if (strcmp(e->chip.liberty, e->mac.liberty) != 0)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "%s: liberty_digest of engine and chip = %.16s, %.16s, need one library",
                       sq_path_tail(in->energy), e->mac.liberty, e->chip.liberty);
    if (sq_machine_has_token(m))
        SQ_TRY(read_attend(in->energy, c.value, e, err));
    e->is_chip = true;
    e->mac.needs_ns = fmax(e->mac.needs_ns, e->chip.period_ns); // of a NAN the other one
    return SQ_OK;
}

enum sq_status sq_run_energy_open(const struct sq_run_request *in, const struct sq_machine *machine,
                                  struct sq_run_energy *e, struct sq_error *err)
{
    const char *usual = sq_cli_home_path("sim/machines/memory/default.yaml");
    SQ_TRY(sq_energy_memory_load(in->memory ? in->memory : usual, in->dram, &e->memory, err));
    if (in->n_sram > 0)
        SQ_TRY(sq_energy_memory_macros(in->sram, in->n_sram, &e->memory, err));
    SQ_TRY(sq_energy_table_vector(in->energy, &e->vector, err));
    SQ_TRY(machine->chip.bus_nbytes
               ? read_chip(in, machine, e, err)
               : sq_energy_table_read(in->energy, &in->recipe, NULL, &e->mac, err));
    if (e->vector.is_there && strcmp(e->vector.liberty, e->mac.liberty) != 0)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "--energy: the line of block vector is of library %s, those of the format "
                       "of %s: need one",
                       e->vector.liberty, e->mac.liberty);
    return SQ_OK;
}

void sq_run_energy_text(const struct sq_run_request *in, const struct sq_run_energy *e)
{
    printf("energy: joules a MAC of %s, %u layer%s of %s, library %s%.16s; DRAM %s; SRAM %s\n",
           sq_cli_text(in->energy), e->mac.n_layers, e->mac.n_layers > 1 ? "s" : "", e->mac.block,
           *e->mac.library ? sq_cli_text(e->mac.library) : "without a name: digest ",
           *e->mac.library ? "" : e->mac.liberty, e->memory.type,
           sq_cli_text(e->memory.sram_source));
}

enum sq_status sq_run_clock_netlist(const struct sq_run_energy *e, struct sq_machine *machine,
                                    struct sq_error *err)
{
    if (!(e->chip.period_ns > 0))
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "clock = netlist: the line of the chip has no min_period_ns, which OpenSTA "
                       "finds");
    return sq_machine_set_netlist(machine, e->mac.needs_ns, err);
}

void sq_run_energy_note(const struct sq_run_energy *e, double clock_hz)
{
    if (e->mac.needs_ns > 1e9 / clock_hz)
        fprintf(stderr,
                "sqsim run: note: the netlist of these joules needs %.3g ns a cycle, the clock of "
                "%g GHz has %.3g ns: joules and time are not of one machine\n",
                e->mac.needs_ns, clock_hz * 1e-9, 1e9 / clock_hz);
}

// A number, or null where the count does not fit.
static json_t *json_pj(uint64_t pj)
{
    return pj <= SQ_COUNT_MAX ? json_integer((json_int_t)pj) : json_null();
}

static json_t *json_parts(const struct sq_machine_energy *e)
{
    json_t *parts = json_array();
    for (unsigned i = 0; i < sq_machine_n_parts(e); i++) {
        if (i == SQ_MACHINE_VECTOR && e->lacks_vector)
            continue;
        json_t *part = json_object();
        json_object_set_new(part, "part",
                            json_string(sq_machine_part_name((enum sq_machine_part)i)));
        json_object_set_new(part, "low_pj", json_pj(e->pj[i][SQ_CASE_LOW]));
        json_object_set_new(part, "gated_pj", json_pj(e->pj[i][SQ_CASE_GATED]));
        json_object_set_new(part, "high_pj", json_pj(e->pj[i][SQ_CASE_HIGH]));
        json_array_append_new(parts, part);
    }
    return parts;
}

static double joules(const struct sq_machine_energy *e, unsigned of)
{
    return 1e-12 * (double)sq_machine_energy_total(e, of);
}

json_t *sq_run_energy_json(const struct sq_machine_energy *e, double seconds)
{
    const struct sq_cli_column row[] = {
        SQ_KEYS("energy_parts", json_parts(e)),
        SQ_KEYS("energy_low_pj", json_pj(sq_machine_energy_total(e, SQ_CASE_LOW))),
        SQ_KEYS("energy_gated_pj", json_pj(sq_machine_energy_total(e, SQ_CASE_GATED))),
        SQ_KEYS("energy_high_pj", json_pj(sq_machine_energy_total(e, SQ_CASE_HIGH))),
        SQ_KEYS("edp_low_js", joules(e, SQ_CASE_LOW) * seconds),
        SQ_KEYS("edp_high_js", joules(e, SQ_CASE_HIGH) * seconds),
        SQ_COLUMNS_END};
    return sq_cli_object(row);
}

json_t *sq_run_energy_source_json(const struct sq_run_energy *e,
                                  const struct sq_machine_energy *sum, double tokens)
{
    const struct sq_cli_column row[] = {
        SQ_KEYS("energy_low_j_per_token", joules(sum, SQ_CASE_LOW) / tokens),
        SQ_KEYS("energy_gated_j_per_token", joules(sum, SQ_CASE_GATED) / tokens),
        SQ_KEYS("energy_high_j_per_token", joules(sum, SQ_CASE_HIGH) / tokens),
        SQ_KEYS("energy_block", e->mac.block, "energy_library",
                *e->mac.library ? sq_cli_json_text(e->mac.library) : json_null(),
                "energy_liberty_digest", e->mac.liberty, "energy_needs_ns",
                e->mac.needs_ns > 0 ? json_real(e->mac.needs_ns) : json_null()),
        SQ_KEYS("dram_type", e->memory.type, "dram_source", e->memory.dram_source),
        SQ_KEYS("sram_source", e->memory.sram_source),
        SQ_COLUMNS_END};
    return sq_cli_object(row);
}

json_t *sq_run_energy_all_json(const struct sq_run_energy *e, const struct sq_machine_energy *sum,
                               double seconds, double tokens)
{
    json_t *const all = sq_run_energy_json(sum, seconds);
    json_auto_t *source = sq_run_energy_source_json(e, sum, tokens);
    json_object_update(all, source);
    return all;
}

void sq_run_energy_print(const struct sq_machine_energy *e, double seconds, double tokens)
{
    const double low = joules(e, SQ_CASE_LOW), gated = joules(e, SQ_CASE_GATED);
    const double high = joules(e, SQ_CASE_HIGH);
    printf("  %-16s %14s %14s %14s %8s\n", "uJ", "low", "high, gated", "high", "of high");
    for (unsigned i = 0; i < sq_machine_n_parts(e); i++)
        if (i != SQ_MACHINE_VECTOR || e->pj[i][SQ_CASE_HIGH] > 0)
            printf("  %-16s %14.6f %14.6f %14.6f %7.1f%%\n",
                   sq_machine_part_name((enum sq_machine_part)i),
                   1e-6 * (double)e->pj[i][SQ_CASE_LOW], 1e-6 * (double)e->pj[i][SQ_CASE_GATED],
                   1e-6 * (double)e->pj[i][SQ_CASE_HIGH],
                   100 * 1e-12 * (double)e->pj[i][SQ_CASE_HIGH] / high);
    printf("  %-16s %14.6f %14.6f %14.6f\n", "total", 1e6 * low, 1e6 * gated, 1e6 * high);
    printf("  %-16s %14.6g %14.6g %14.6g\n", "mJ a token", 1e3 * low / tokens, 1e3 * gated / tokens,
           1e3 * high / tokens);
    printf("  %-16s %14.6g %14.6g %14.6g\n", "W", low / seconds, gated / seconds, high / seconds);
    printf("  %-16s %14.6g %14.6g %14.6g\n", "EDP, J s", low * seconds, gated * seconds,
           high * seconds);
}
