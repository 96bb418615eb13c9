// SPDX-License-Identifier: Apache-2.0
// Multiplies what a plan and its run count by the measured joules, part by part
// (sq_machine_energy.h).
#include "sim/machine/sq_machine_energy.h"

#include <math.h>
#include <string.h>

#include "sim/format/sq_format_cost.h"
#include "sim/format/sq_format_ops.h"
#include "sim/io/sq_checked.h"

const char *sq_machine_part_name(enum sq_machine_part part)
{
    static const char *const name[SQ_N_MACHINE_PARTS] = {
        "products",   "array_clock",  "array_leakage", "lines", "output",
        "sram_read",  "sram_write",   "sram_leakage",  "dram",  "vector",
        "chip_clock", "chip_leakage", "attention"};
    return name[part];
}

// ---- what is counted ----------------------------------------------------------------------------

static uint64_t size_of(uint64_t total, uint64_t block, uint64_t count, bool is_last)
{
    return is_last ? total - (count - 1) * block : block;
}

static double tiles_of(uint64_t n, unsigned lines)
{
    return ceil((double)n / lines);
}

// One kind of step: every tile reads its activations and its weights from the buffers, and adds its
// outputs to the sums in the output buffer.
static void count_step(const struct sq_mapping *p, unsigned index, double kept,
                       struct sq_machine_accesses *a)
{
    const struct sq_step_class *s = &p->step[index];
    const uint64_t m = size_of(p->gemm.m, p->block_m, p->count_m, index & 1);
    const uint64_t n = size_of(p->gemm.n, p->block_n, p->count_n, index & 2);
    const double steps = (double)sq_mapping_count(p->count_m, index & 1) *
                         (double)sq_mapping_count(p->count_n, index & 2) *
                         (double)sq_mapping_count(p->count_k, index & 4);
    const double act = 8 * (double)s->act_nbytes * steps;
    const struct sq_cost_unit *const u = &p->cost;
    const double once = u->reads ? act : act * tiles_of(n, u->lines); // an engine keeps them
    a->act_nbits[SQ_LOW] += once;
    a->act_nbits[SQ_HIGH] += u->reads ? act * tiles_of(n, u->reads) * kept : once;
    a->weight_nbits += 8 * (double)sq_cost_weight_nbytes(s->nbytes) * u->weight_share * steps *
                       tiles_of(m, u->weight_rows);
    a->out_nbits += 32 * (double)m * (double)n * p->cores_k * steps;
}

// The engine of a chip takes a beat of all PEs at once.
static void count_chip(const struct sq_mapping *p, const struct sq_machine_stats *stats,
                       struct sq_machine_accesses *a)
{
    const double slots = (double)p->cost.rows * p->cost.lines * p->cost.step;
    a->macs = (double)p->sum.compute * slots;
    a->slots = (double)stats->cycles * slots;
    a->act_nbits[SQ_LOW] = a->act_nbits[SQ_HIGH] = (double)stats->sram_read_nbits;
    a->load_nbits = (double)stats->sram_write_nbits;
}

void sq_machine_count(const struct sq_machine *machine, const struct sq_mapping *plan,
                      const struct sq_machine_stats *stats, struct sq_machine_accesses *a)
{
    const struct sq_mapping_use use = sq_mapping_used(machine, plan, (double)stats->cycles);
    const double macs = (double)plan->gemm.m * (double)plan->gemm.n * (double)plan->gemm.k;
    memset(a, 0, sizeof *a);
    a->macs = use.low / plan->cost.low;
    a->slots = use.low_slots / plan->cost.low;
    a->busy = 1 - ((double)stats->memory + (double)stats->index) / (double)stats->cycles;
    a->load_nbits =
        8 * ((double)stats->nbytes[SQ_STREAM_ACT] + (double)stats->nbytes[SQ_STREAM_ACT_SCALE] +
             (double)sq_cost_weight_nbytes(stats->nbytes));
    if (machine->chip.bus_nbytes)
        count_chip(plan, stats, a);
    for (unsigned i = 0; i < SQ_STEP_CLASSES && !machine->chip.bus_nbytes; i++)
        if (plan->step[i].job.tiles > 0)
            count_step(plan, i, a->macs / macs, a);
    for (unsigned i = 0; i < SQ_N_STREAMS; i++)
        a->dram_nbits += 8 * (double)stats->nbytes[i];
    const struct sq_dram_setup *const dram = &machine->timed.end[machine->timed.at];
    if (!machine->timed.is_timed || !dram->rules.device.energy.is_there)
        return;
    sq_dram_picojoules(dram, &stats->dram, (double)stats->cycles / machine->clock_hz,
                       a->dram_joules);
    for (unsigned i = 0; i < SQ_N_ENDS; i++)
        a->dram_joules[i] *= 1e-12;
}

// ---- joules -------------------------------------------------------------------------------------

static uint64_t picojoules(double joules)
{
    const double pj = nearbyint(1e12 * joules);
    return pj < 0x1p62 ? (uint64_t)pj : SQ_COUNT_OVER;
}

static double less(double a, double b)
{
    return a < b ? a : b;
}

// What a line of a 1x1 block costs a PE of the array: the longer side shares it at best, at worst the
// shorter one of what is in use.
static void share_lines(const struct sq_machine *machine, const struct sq_mapping *p,
                        double used[SQ_N_ENDS], double all[SQ_N_ENDS])
{
    const double rows = machine->core.rows, cols = machine->core.cols;
    const double m = less((double)p->gemm.m, rows), n = less((double)p->gemm.n, cols);
    used[SQ_LOW] = 1 / (m > n ? m : n);
    used[SQ_HIGH] = 1 / less(m, n);
    all[SQ_LOW] = 1 / (rows > cols ? rows : cols);
    all[SQ_HIGH] = 1 / less(rows, cols);
}

static double dram_joules(const struct sq_energy_memory *memory,
                          const struct sq_machine_accesses *a, unsigned end)
{
    return a->dram_joules[end] > 0 ? a->dram_joules[end] : a->dram_nbits * memory->dram.end[end];
}

static void chip_energy(const struct sq_machine *machine, const struct sq_mac_energy *mac,
                        const struct sq_energy_memory *memory, const struct sq_energy_chip *chip,
                        const struct sq_machine_accesses *a, double cycles,
                        struct sq_machine_energy *e)
{
    const struct sq_energy_idle *const engine = &chip->idle[SQ_CHIP_ENGINE];
    const struct sq_energy_idle *const rest = &chip->idle[SQ_CHIP_REST];
    const double seconds = cycles / machine->clock_hz;
    const double sram = 8. * chip->has_memories *
                        (double)(sq_machine_buffer_nbytes(machine) + 2 * machine->scale_nbytes);
    const double clocked[SQ_N_CASES] = {[SQ_CASE_LOW] = cycles * a->macs / a->slots,
                                        [SQ_CASE_HIGH] = cycles,
                                        [SQ_CASE_GATED] = cycles * a->busy};
    for (unsigned of = 0; of < SQ_N_CASES; of++) {
        const unsigned end = of == SQ_CASE_LOW ? SQ_LOW : SQ_HIGH;
        const double joules[SQ_N_MACHINE_PARTS] = {
            [SQ_MACHINE_PRODUCTS] = a->macs * mac->change[SQ_MAC_PE][end],
            [SQ_MACHINE_CLOCK] = clocked[of] * engine->clock,
            [SQ_MACHINE_LEAKAGE] = seconds * engine->leak,
            [SQ_MACHINE_LINES] = a->macs * mac->change[SQ_MAC_LINE][end],
            [SQ_MACHINE_OUTPUT] = a->macs * mac->change[SQ_MAC_OUTPUT][end],
            [SQ_MACHINE_SRAM_READ] = chip->has_memories * a->act_nbits[end] * memory->read.end[end],
            [SQ_MACHINE_SRAM_WRITE] = chip->has_memories * a->load_nbits * memory->write.end[end],
            [SQ_MACHINE_SRAM_LEAKAGE] = sram * memory->leak.end[end] * seconds,
            [SQ_MACHINE_DRAM] = dram_joules(memory, a, end),
            [SQ_MACHINE_CHIP_CLOCK] = cycles * rest->clock,
            [SQ_MACHINE_CHIP_LEAKAGE] = seconds * rest->leak};
        for (unsigned i = 0; i < SQ_N_MACHINE_PARTS; i++)
            e->pj[i][of] = picojoules(joules[i]);
    }
}

void sq_machine_energy(const struct sq_machine *machine, const struct sq_mac_energy *mac,
                       const struct sq_energy_memory *memory, const struct sq_energy_chip *chip,
                       const struct sq_mapping *plan, const struct sq_machine_accesses *a,
                       double cycles, struct sq_machine_energy *e)
{
    memset(e, 0, sizeof *e);
    e->is_chip = chip;
    if (chip) {
        chip_energy(machine, mac, memory, chip, a, cycles, e);
        return;
    }
    const double seconds = cycles / machine->clock_hz;
    const double lanes = a->slots / cycles; // slots a cycle of the machine
    const double ports =
        machine->cores * (machine->port_nbits ? ceil(machine->port_nbits / 16.0) : 1) * mac->slots;
    const double sram = 8. * machine->cores * (double)sq_machine_buffer_nbytes(machine);
    double used[SQ_N_ENDS], all[SQ_N_ENDS];
    share_lines(machine, plan, used, all);
    for (unsigned of = 0; of < SQ_N_CASES; of++) {
        const bool is_high = of != SQ_CASE_LOW;
        const unsigned end = is_high ? SQ_HIGH : SQ_LOW;
        const double running = of == SQ_CASE_GATED ? a->busy : 1;
        const double clocked = is_high ? a->slots * running : a->macs;
        const double joules[SQ_N_MACHINE_PARTS] = {
            [SQ_MACHINE_PRODUCTS] = a->macs * mac->change[SQ_MAC_PE][end],
            [SQ_MACHINE_CLOCK] = clocked * mac->clock[SQ_MAC_PE],
            [SQ_MACHINE_LEAKAGE] = lanes * mac->leak[SQ_MAC_PE] * seconds,
            [SQ_MACHINE_LINES] = a->macs * mac->change[SQ_MAC_LINE][end] * used[end] +
                                 clocked * mac->clock[SQ_MAC_LINE] * (is_high ? all : used)[end] +
                                 lanes * mac->leak[SQ_MAC_LINE] * seconds * all[end],
            [SQ_MACHINE_OUTPUT] = a->macs * mac->change[SQ_MAC_OUTPUT][end] +
                                  is_high * ports *
                                      (cycles * running * mac->clock[SQ_MAC_OUTPUT] +
                                       seconds * mac->leak[SQ_MAC_OUTPUT]),
            [SQ_MACHINE_SRAM_READ] =
                (a->act_nbits[end] + a->weight_nbits + a->out_nbits) * memory->read.end[end],
            [SQ_MACHINE_SRAM_WRITE] = (a->load_nbits + a->out_nbits) * memory->write.end[end],
            [SQ_MACHINE_SRAM_LEAKAGE] = sram * memory->leak.end[end] * seconds,
            [SQ_MACHINE_DRAM] = dram_joules(memory, a, end)};
        for (unsigned i = 0; i < SQ_N_MACHINE_PARTS; i++)
            e->pj[i][of] = picojoules(joules[i]);
    }
}

void sq_machine_energy_vector(const struct sq_machine *machine, const struct sq_vector_energy *v,
                              double operations, double busy, double seconds,
                              struct sq_machine_energy *e)
{
    const double lanes = (double)machine->vector_lanes * machine->cores;
    const double hz = sq_machine_vector_hz(machine);
    const double clocked[SQ_N_CASES] = {[SQ_CASE_LOW] = operations,
                                        [SQ_CASE_GATED] = lanes * hz * busy,
                                        [SQ_CASE_HIGH] = lanes * hz * seconds};
    for (unsigned of = 0; of < SQ_N_CASES; of++)
        e->pj[SQ_MACHINE_VECTOR][of] =
            picojoules(operations * v->change[of == SQ_CASE_LOW ? SQ_LOW : SQ_HIGH] +
                       clocked[of] * v->clock + lanes * seconds * v->leak);
}

void sq_machine_energy_unit(const struct sq_vector_energy *v, double n, enum sq_machine_part part,
                            struct sq_machine_energy *e)
{
    for (unsigned of = 0; of < SQ_N_CASES; of++)
        e->pj[part][of] = picojoules(n * v->change[of == SQ_CASE_LOW ? SQ_LOW : SQ_HIGH]);
}

void sq_machine_energy_add(struct sq_machine_energy *sum, const struct sq_machine_energy *e,
                           uint64_t n)
{
    sum->is_chip = sum->is_chip || e->is_chip;
    sum->has_attend = sum->has_attend || e->has_attend;
    for (unsigned i = 0; i < SQ_N_MACHINE_PARTS; i++)
        for (unsigned of = 0; of < SQ_N_CASES; of++)
            sq_sat_sum(&sum->pj[i][of], n, e->pj[i][of]);
}

uint64_t sq_machine_energy_total(const struct sq_machine_energy *e, unsigned of)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < SQ_N_MACHINE_PARTS; i++)
        sum = sq_sat_add(sum, e->pj[i][of]);
    return sum;
}
