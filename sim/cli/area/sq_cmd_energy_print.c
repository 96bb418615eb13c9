// SPDX-License-Identifier: Apache-2.0
// sqsim energy: what it prints. Joules are rounded once, part by part, to whole attojoules; every
// total is the sum of what was rounded, so that columns add up to the last digit.
#include <math.h>
#include <string.h>

#include "sim/cli/area/sq_cmd_energy.h"
#include "sim/cli/sq_cli_synth.h"
#include "sim/cli/sq_cli_table.h"

static const char basis[] = "netlist of the RTL, tables of the library";

enum { N_LINES = SQ_N_PARTS + 2 }; // the parts, clock pins, leakage

static long long attojoules(double joules)
{
    return llround(1e18 * joules);
}

// Lines of the table, of joules / `of`.
static void add_up(const struct sq_energy *e, double of, long long line[N_LINES], long long *total)
{
    double sum[N_LINES] = {0};
    for (unsigned p = 0; p < SQ_N_PARTS; p++) {
        sum[p] = e->part[p][SQ_ENERGY_SWITCHING] + e->part[p][SQ_ENERGY_WIRES] +
                 e->part[p][SQ_ENERGY_INTERNAL];
        sum[SQ_N_PARTS] += e->part[p][SQ_ENERGY_CLOCK];
        sum[SQ_N_PARTS + 1] += e->part[p][SQ_ENERGY_LEAKAGE];
    }
    *total = 0;
    for (unsigned i = 0; i < N_LINES; i++)
        *total += line[i] = attojoules(sum[i] / of);
}

static const char *line_name(unsigned line)
{
    return line < SQ_N_PARTS    ? sq_energy_part_name((enum sq_energy_part)line)
           : line == SQ_N_PARTS ? "clock pins"
                                : "leakage";
}

// What joules are divided by.
static double per(const struct sq_measured *m, const char **unit)
{
    const double beats = m->drive.beats > 0 ? (double)m->drive.beats : 1;
    *unit = m->drive.macs > 0 ? "MAC" : "beat";
    return m->drive.macs > 0 ? m->drive.macs : beats;
}

static double watts(const struct sq_energy_args *in, const struct sq_measured *m, double joules)
{
    return joules / ((double)m->drive.cycles * 1e-9 * in->run.clock_ns);
}

static double total_of(const struct sq_energy *e)
{
    double sum = 0;
    for (unsigned k = 0; k < SQ_N_ENERGIES; k++)
        sum += e->pe[k];
    return sum;
}

// ---- text ---------------------------------------------------------------------------------------

void sq_energy_print_head(const struct sq_energy_args *in)
{
    if (in->c.is_json)
        return;
    json_t *p = sq_cli_provenance(NULL, basis, 0);
    char digest[SQ_DIGEST_SIZE];
    sq_digest_hex(in->synth.liberty_digest, digest);
    printf("# %s | %s, revision %s | %s | %s, digest %s\n", sq_cli_text(in->command),
           json_string_value(json_object_get(p, "tool")),
           json_string_value(json_object_get(p, "revision")), in->synth.yosys_version,
           sq_cli_text(in->liberty ? in->liberty : SQ_CLI_LIBERTY), digest);
    json_decref(p);
    printf("# Not counted: %sthe clock tree, memories, what ports drive outside.%s%s%s\n",
           in->run.wires ? "" : "wires, ", in->run.period_ns > 0 ? " The longest path has " : "",
           in->run.period_ns > 0 ? sq_cli_synth_wires(&in->synth) : "",
           in->run.period_ns > 0 ? "." : "");
}

// All of what changes on wires.
static double wires_of(const struct sq_energy *e)
{
    double sum = 0;
    for (unsigned p = 0; p < SQ_N_PARTS; p++)
        sum += e->part[p][SQ_ENERGY_WIRES];
    return sum;
}

static void print_wires(const struct sq_measured *m, double of)
{
    const struct sq_energy *const e = m->energy;
    printf("  %-22s %14.3f %14.3f   %.1f %%, %.1f %%\n", "of it in wires",
           1e15 * wires_of(&e[0]) / of, 1e15 * wires_of(&e[1]) / of,
           100 * wires_of(&e[0]) / e[0].total, 100 * wires_of(&e[1]) / e[1].total);
    printf("  %.0f um of wire, %.4g pF; the pins of these nets %.4g pF\n", m->wire_um,
           1e12 * m->wire_farads, 1e12 * m->pin_farads);
}

static void print_lines(const struct sq_measured *m)
{
    const char *unit;
    const double of = per(m, &unit);
    long long zero[N_LINES], delays[N_LINES], total[SQ_N_MODES];
    add_up(&m->energy[SQ_ZERO_DELAY], of, zero, &total[SQ_ZERO_DELAY]);
    add_up(&m->energy[SQ_WITH_DELAYS], of, delays, &total[SQ_WITH_DELAYS]);
    printf("  fJ a %-17s %14s %14s\n", unit, "zero delay", "with delays");
    for (unsigned i = 0; i < N_LINES; i++)
        if (zero[i] || delays[i])
            printf("  %-22s %14.3f %14.3f\n", line_name(i), 1e-3 * (double)zero[i],
                   1e-3 * (double)delays[i]);
    printf("  %-22s %14.3f %14.3f   x%.2f\n", "total", 1e-3 * (double)total[0],
           1e-3 * (double)total[1], (double)total[1] / (double)total[0]);
    if (total_of(&m->energy[0]) > 0)
        printf("  %-22s %14.3f %14.3f\n", "of it inside of PEs",
               1e15 * total_of(&m->energy[0]) / of, 1e15 * total_of(&m->energy[1]) / of);
    if (m->wire_um > 0)
        print_wires(m, of);
}

static void print_text(const struct sq_energy_args *in, const struct sq_energy_row *row)
{
    const struct sq_measured *m = row->m;
    const struct sq_drive *d = &m->drive;
    printf("\n%s %s", row->block->name, row->point->name);
    for (size_t i = 0; row->block->param[i]; i++)
        if (*row->block->param[i])
            printf(" %s=%u", row->block->param[i], row->point->value[i]);
    printf("\n  %zu cells, %zu of them flip-flops, %g V\n", m->n_cells, m->n_flops, m->volts);
    if (in->run.period_ns > 0)
        printf("  netlist for a clock of %g ns%s; in one piece its longest path is %.3f ns\n",
               in->run.period_ns, m->path_ns > in->run.period_ns ? ", which none meets" : "",
               m->path_ns);
    if (row->layer)
        printf("  operands of %s in %s, %zu tokens\n", sq_cli_text(row->layer),
               in->c.options.format->name, in->c.m);
    else
        printf("  drawn operands, of no model: seed %llu\n", (unsigned long long)in->c.seed);
    if (d->mismatch[0] || (row->o && row->o->difference[0])) {
        printf("MISMATCH %s: %s\n", row->block->name,
               d->mismatch[0] ? d->mismatch : row->o->difference);
        return;
    }
    printf("  %llu cycles, %llu beats, %.0f MACs; %llu outputs equal the golden model, handshakes "
           "the cycle model\n",
           (unsigned long long)d->cycles, (unsigned long long)d->beats, d->macs,
           (unsigned long long)d->outputs);
    print_lines(m);
    printf("  %-22s %14.4g %14.4g   at %g ns\n", "W", watts(in, m, m->energy[0].total),
           watts(in, m, m->energy[1].total), in->run.clock_ns);
    printf("  %-22s %14.1f %14.1f\n", "changes a cycle", m->energy[0].changes / (double)d->cycles,
           m->energy[1].changes / (double)d->cycles);
    printf("  the slowest cycle settles in %.3f ns%s\n", 1e9 * m->settled,
           1e9 * m->settled > in->run.clock_ns ? ": longer than the clock, which must be slower"
                                               : "");
    fflush(stdout);
}

// ---- JSON ---------------------------------------------------------------------------------------

static json_t *json_mode(const struct sq_energy_args *in, const struct sq_measured *m,
                         const struct sq_energy *e)
{
    json_t *parts = json_array(), *pes = json_object();
    long long total = 0, inside = 0;
    for (unsigned k = 0; k < SQ_N_ENERGIES; k++) {
        const long long aj = attojoules(e->pe[k]);
        inside += aj;
        json_object_set_new(pes, sq_energy_kind_name((enum sq_energy_kind)k), json_integer(aj));
    }
    for (unsigned p = 0; p < SQ_N_PARTS; p++) {
        json_t *part = json_object();
        json_object_set_new(part, "part", json_string(sq_energy_part_name((enum sq_energy_part)p)));
        for (unsigned k = 0; k < SQ_N_ENERGIES; k++) {
            const long long aj = attojoules(e->part[p][k]);
            total += aj;
            json_object_set_new(part, sq_energy_kind_name((enum sq_energy_kind)k),
                                json_integer(aj));
        }
        json_array_append_new(parts, part);
    }
    const double fj = 1e-3 * (double)total, macs = m->drive.macs, beats = (double)m->drive.beats;
    const struct sq_cli_column row[] = {
        SQ_KEYS("parts_aj", parts, "total_aj", sq_cli_whole(total), "pes_aj", pes),
        SQ_KEYS("inside_pes_aj", sq_cli_whole(inside)),
        SQ_KEYS("fj_per_mac", macs > 0 ? fj / macs : NAN),
        SQ_KEYS("fj_per_beat", beats > 0 ? fj / beats : NAN, "watts", watts(in, m, e->total)),
        SQ_KEYS("changes_per_cycle", e->changes / (double)m->drive.cycles),
        SQ_KEY_IF(m->wire_um > 0, "wires_share", wires_of(e) / e->total),
        SQ_COLUMNS_END};
    return sq_cli_object(row);
}

static void print_json(const struct sq_energy_args *in, const struct sq_energy_row *row)
{
    const struct sq_measured *m = row->m;
    const struct sq_drive *d = &m->drive;
    const bool is_wrong = d->mismatch[0] || (row->o && row->o->value_mismatches > 0);
    const bool has_period = in->run.period_ns > 0;
    json_t *modes = json_object();
    char digest[SQ_DIGEST_SIZE];
    sq_digest_hex(in->synth.liberty_digest, digest);
    for (unsigned i = 0; !is_wrong && i < SQ_N_MODES; i++)
        json_object_set_new(modes, sq_energy_mode_name((enum sq_energy_mode)i),
                            json_mode(in, m, &m->energy[i]));
    const struct sq_cli_column columns[] = {
        SQ_KEYS("block", row->block->name, "point", row->point->name),
        SQ_KEYS("parameters", sq_cli_parameters_json(row->block, row->point->value)),
        SQ_KEYS("operands", row->layer ? "layer" : "drawn", "layer", row->layer),
        SQ_KEYS("format", row->layer ? in->c.options.format->name : NULL),
        SQ_KEYS("recipe", row->layer ? sq_recipe_json(row->recipe, SQ_IN_RUN) : json_null()),
        SQ_KEYS("liberty", in->liberty ? in->liberty : SQ_CLI_LIBERTY, "liberty_digest", digest),
        SQ_KEYS("n_cells", m->n_cells, "n_flops", m->n_flops, "volts", m->volts),
        SQ_KEYS("clock_ns", in->run.clock_ns, "period_ns", has_period ? in->run.period_ns : NAN),
        SQ_KEYS("path_ns", has_period ? m->path_ns : NAN, "wire_load",
                sq_synth_wire_load(&in->synth), "settled_ns", 1e9 * m->settled),
        SQ_KEY_IF(in->run.wires, "wire_um", m->wire_um),
        SQ_KEY_IF(in->run.wires, "wire_pf", 1e12 * m->wire_farads),
        SQ_KEY_IF(in->run.wires, "pin_pf", 1e12 * m->pin_farads),
        SQ_KEYS("cycles", d->cycles, "beats", d->beats, "macs", d->macs, "outputs", d->outputs),
        SQ_KEYS("is_golden", (bool)!is_wrong),
        SQ_KEY_IF(is_wrong, "difference",
                  d->mismatch[0] ? d->mismatch
                  : row->o       ? row->o->difference
                                 : NULL),
        SQ_MEMBERS(modes),
        SQ_COLUMNS_END};
    sq_cli_json_line(sq_cli_object(columns));
}

void sq_energy_print_row(const struct sq_energy_args *in, const struct sq_energy_row *row)
{
    if (in->c.is_json)
        print_json(in, row);
    else
        print_text(in, row);
}

void sq_energy_print_summary(const struct sq_energy_args *in, size_t n_rows, bool is_real)
{
    char digest[SQ_DIGEST_SIZE];
    const char *data = !in->c.layer ? "drawn" : is_real ? "real" : "synthetic inputs";
    if (!in->c.is_json)
        return;
    sq_digest_hex(in->synth.liberty_digest, digest);
    const struct sq_cli_column row[] = {
        SQ_KEYS("command", in->command, "rows", n_rows),
        SQ_KEYS("liberty", in->liberty ? in->liberty : SQ_CLI_LIBERTY, "liberty_digest", digest),
        SQ_KEYS("yosys", in->synth.yosys_version), SQ_COLUMNS_END};
    sq_cli_put_summary(row, sq_cli_provenance(data, basis, in->c.seed));
}
