// SPDX-License-Identifier: Apache-2.0
// The engines of a sweep: what each computes of a point (sq_sweep_grid.h).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/block/core/sq_core_run.h"
#include "sim/energy/sq_measure.h"
#include "sim/format/sq_cache_format.h"
#include "sim/machine/sq_machine_run.h"
#include "sim/machine/sq_pass.h"
#include "sim/sweep/sq_sweep_inputs.h"

typedef enum sq_status engine(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                              struct sq_sweep_result *r, struct sq_error *err);

// One GEMM, and how often it counts.
struct gemm {
    struct sq_gemm size;
    double count;
};

static void add_gemm(const struct sq_sweep_point *p, const struct gemm *g, double cycles,
                     const struct sq_mapping_use *use, struct sq_sweep_result *r)
{
    const double weights = (double)g->size.n * (double)g->size.k * g->count;
    r->macs += (double)g->size.m * weights;
    r->weights += weights;
    r->stored_nbits += g->count * sq_recipe_nbits(&p->recipe, (size_t)g->size.n, (size_t)g->size.k);
    r->cycles += cycles;
    r->low_slots += g->count * use->low_slots;
    r->low_macs += g->count * use->low;
    r->high_slots += g->count * use->high_slots;
    r->high_macs += g->count * use->high;
}

static void add_causes(const uint64_t *low, const uint64_t *high, unsigned n, double count,
                       struct sq_sweep_result *r)
{
    for (unsigned i = 0; i < n; i++) {
        r->low[i] += count * (double)low[i];
        r->high[i] += count * (double)high[i];
    }
}

static enum sq_status time_on_core(const struct sq_sweep_point *p, const struct gemm *g,
                                   struct sq_sweep_result *r, struct sq_error *err)
{
    static const struct sq_rates free_streams = {1, 1, 1, 1};
    struct sq_job job;
    const struct sq_format banks = sq_recipe_banks(&p->recipe);
    const size_t k_padded = sq_k_padded(&banks, (size_t)g->size.k);
    const struct sq_core_config core = sq_gemm_core(&p->config, &banks, k_padded);
    SQ_TRY(sq_gemm_job(&core, &banks, (size_t)g->size.m, (size_t)g->size.n, k_padded, &job, err));
    const struct sq_core_stats stats = sq_core_run_fast(&core, &job, &free_streams);
    const double macs = (double)g->size.m * (double)g->size.n * (double)g->size.k;
    const double pe = (double)stats.cycles * p->config.rows * p->config.cols;
    const struct sq_mapping_use use = {pe * p->config.low_lanes, macs, pe * p->config.high_lanes,
                                       macs * banks.high_per_bank / banks.bank};
    add_gemm(p, g, g->count * (double)stats.cycles, &use, r);
    add_causes(stats.low, stats.high, SQ_N_CAUSES, g->count, r);
    r->bound += g->count * (double)sq_job_bound(&core, &job);
    return SQ_OK;
}

static enum sq_status time_on_machine(const struct sq_sweep_point *p,
                                      const struct sq_machine *machine, const struct gemm *g,
                                      struct sq_machine_memo *memo, struct sq_sweep_result *r,
                                      struct sq_error *err)
{
    struct sq_mapping plan;
    struct sq_machine_stats stats;
    SQ_TRY(sq_mapping_run(machine, &p->recipe, &g->size, &plan, &stats, memo, err));
    const struct sq_mapping_use use = sq_mapping_used(machine, &plan, (double)stats.cycles);
    add_gemm(p, g, g->count * (double)stats.cycles, &use, r);
    add_causes(stats.low, stats.high, SQ_N_UNIT_CAUSES, g->count, r);
    r->bound += g->count * (double)plan.bound;
    r->memory += g->count * (double)stats.memory;
    r->index += g->count * (double)stats.index;
    for (unsigned i = 0; i < SQ_N_STREAMS; i++)
        r->nbytes += g->count * (double)stats.nbytes[i];
    r->clock_hz = machine->clock_hz;
    return SQ_OK;
}

static enum sq_status time_gemm(const struct sq_sweep_point *p, const struct sq_machine *machine,
                                const struct gemm *g, struct sq_machine_memo *memo,
                                struct sq_sweep_result *r, struct sq_error *err)
{
    return p->machine_name ? time_on_machine(p, machine, g, memo, r, err)
                           : time_on_core(p, g, r, err);
}

// An axis of the point, or what stands for it.
static double axis_or(const struct sq_sweep_point *p, enum sq_quantity axis, double other)
{
    return p->absent >> axis & 1 ? other : p->quantity[axis];
}

static enum sq_status time_pass(const struct sq_pass_request *request, const json_t *config,
                                const char *name, const struct sq_workload_options *o,
                                struct sq_workload *w, struct sq_pass_result *x,
                                struct sq_error *err)
{
    SQ_TRY(sq_workload_of_config(config, name, o, w, err));
    const enum sq_status status = sq_pass_run(request, w, x, err);
    if (status != SQ_OK)
        sq_workload_free(w);
    return status;
}

// Joules a MAC of the point's recipe; *is_there: somebody measured it.
static enum sq_status find_joules(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                                  struct sq_mac_energy *mac, bool *is_there, struct sq_error *err)
{
    *is_there = false;
    if (!(in->engines & SQ_ENGINE_JOULES) || p->machine.chip.bus_nbytes)
        return SQ_OK;
    const enum sq_status status =
        sq_energy_table_read(in->options->energy, &p->recipe, NULL, mac, err);
    *is_there = status == SQ_OK;
    return status == SQ_ERR_UNSUPPORTED ? SQ_OK : status;
}

static void take_joules(const struct sq_sweep_inputs *in, bool is_there,
                        const struct sq_machine_energy *e, struct sq_sweep_result *r)
{
    for (unsigned i = 0; i < SQ_N_ENDS; i++)
        r->joules[i] = is_there ? 1e-12 * (double)sq_machine_energy_total(e, i) : NAN;
    r->has_vector_joules = in->vector.is_there;
}

// A token of each sequence, and the prompt before it.
static enum sq_status run_pass(const struct sq_sweep_inputs *in, const struct sq_sweep_table *t,
                               const struct sq_sweep_point *p, const struct sq_machine *machine,
                               struct sq_sweep_result *r, struct sq_error *err)
{
    const double bits = axis_or(p, SQ_AXIS_KV_BITS, 16);
    struct sq_workload_options o = {.is_decode = true,
                                    .batch = (uint64_t)axis_or(p, SQ_AXIS_BATCH, 1),
                                    .seq = (uint64_t)axis_or(p, SQ_AXIS_CONTEXT, 2048),
                                    .is_whole = true};
    struct sq_recipe cache, head;
    struct sq_workload w;
    struct sq_pass_result x;
    struct sq_machine any = *machine; // what does not fit has a time, but no tokens
    any.capacity_nbytes = 0;
    struct sq_mac_energy mac;
    bool has_joules;
    o.context = o.seq;
    SQ_TRY(find_joules(in, p, &mac, &has_joules, err));
    struct sq_pass_request request = {.machine = &any,
                                      .recipe = &p->recipe,
                                      .head = &head,
                                      .cache = &cache,
                                      .mac = has_joules ? &mac : NULL,
                                      .memory = &in->memory,
                                      .vector = in->vector.is_there ? &in->vector : NULL};
    SQ_TRY(sq_cache_recipe(bits == 4   ? "int4"
                           : bits == 8 ? "int8"
                                       : "bf16",
                           SQ_IN_RUN, &cache, err));
    SQ_TRY(sq_cache_recipe("bf16", SQ_IN_RUN, &head, err)); // as run has it
    SQ_TRY(time_pass(&request, t->config, t->name, &o, &w, &x, err));
    const bool fits = machine->capacity_nbytes == 0 ||
                      x.weights_nbytes + x.cache_nbytes <= (double)machine->capacity_nbytes;
    r->tokens = fits ? (double)w.rest.tokens : -1;
    r->pass_s = x.total_seconds;
    r->clock_hz = machine->clock_hz;
    r->cycles = x.total_seconds * machine->clock_hz;
    r->bound = (x.compute > x.dram ? x.compute : x.dram) * machine->clock_hz;
    r->nbytes = x.total_nbytes;
    r->weights = x.weights;
    r->stored_nbits = x.nbits;
    for (unsigned i = 0; i < SQ_N_PASS_PARTS; i++)
        r->macs += x.macs[i];
    take_joules(in, has_joules, &x.energy, r);
    sq_pass_free(&x);
    sq_workload_free(&w);
    request.mac = NULL;
    o = (struct sq_workload_options){.batch = 1, .seq = o.seq, .is_whole = true};
    SQ_TRY(time_pass(&request, t->config, t->name, &o, &w, &x, err));
    r->first_s = x.total_seconds;
    sq_pass_free(&x);
    sq_workload_free(&w);
    return SQ_OK;
}

// A format that has no such PE keeps those of the machine, for what its shapes alone decide.
static enum sq_status make_fair(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                                struct sq_machine *machine, struct sq_sweep_result *r,
                                struct sq_error *err)
{
    struct sq_error why;
    const enum sq_status status =
        sq_fair_machine((enum sq_fair)p->quantity[SQ_AXIS_FAIR], in->has_synth ? &in->synth : NULL,
                        &p->recipe, 0, machine, &r->pe, &why);
    if (status == SQ_ERR_UNSUPPORTED || status == SQ_ERR_RANGE) {
        snprintf(r->unfair, sizeof r->unfair, "%.*s", SQ_NOTE_SIZE - 1, why.text);
        for (char *c = r->unfair; *c; c++) // a note has no character that JSON escapes
            *c = *c == '"' || *c == '\\' || (unsigned char)*c < 0x20 ? '\'' : *c;
        return SQ_OK;
    }
    if (status != SQ_OK && err)
        *err = why;
    return status;
}

// The rows of a table, the layers of a model, or the point's own GEMM.
static enum sq_status time_gemms(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                                 const struct sq_machine *machine, struct sq_machine_memo *memo,
                                 struct sq_sweep_result *r, struct sq_error *err)
{
    const struct sq_sweep_model *m = sq_sweep_model_of(in, p);
    const struct sq_sweep_table *t = sq_sweep_table_of(in, p);
    for (size_t i = 0; t && i < t->rows.n; i++) {
        const struct gemm g = {t->rows.row[i].gemm, (double)t->rows.row[i].count};
        SQ_TRY(time_gemm(p, machine, &g, memo, r, err));
    }
    for (size_t i = 0; m && !t && i < m->ck.n_layers; i++) {
        const struct gemm g = {{p->m, m->ck.layer[i].n, m->ck.layer[i].k}, 1};
        SQ_TRY(time_gemm(p, machine, &g, memo, r, err));
    }
    if (!t && !m)
        SQ_TRY(time_gemm(p, machine, &(struct gemm){{p->m, p->n, p->k}, 1}, memo, r, err));
    return SQ_OK;
}

// Beside areas times are at the clock of the PE's netlist, unless axis clock_ghz has another.
static enum sq_status take_clock(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                                 struct sq_machine *machine, struct sq_sweep_result *r,
                                 struct sq_error *err)
{
    const bool is_axis = !(p->absent >> SQ_AXIS_CLOCK & 1);
    r->clock_from = is_axis ? "axis clock_ghz" : "the machine's file";
    if (is_axis || !(in->engines & SQ_ENGINE_ARRAY) || !(r->silicon.period_ns > 0))
        return SQ_OK;
    r->clock_from = "smallest netlist of the PE";
    if (r->silicon.vector_ns > 0)
        machine->vector_hz = 1e9 / r->silicon.vector_ns;
    return sq_machine_set_netlist(machine, r->silicon.period_ns, err);
}

static enum sq_status run_timing(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                                 struct sq_sweep_result *r, struct sq_error *err)
{
    static _Thread_local struct sq_machine_memo memo; // its times of jobs are of other points, too
    const struct sq_sweep_table *t = sq_sweep_table_of(in, p);
    struct sq_machine machine = p->machine;
    if (p->machine_name)
        SQ_TRY(make_fair(in, p, &machine, r, err));
    const bool is_pass = t && t->config;
    const enum sq_fair_extent extent = in->engines & SQ_ENGINE_OUTPUTS ? SQ_FAIR_WHOLE
                                       : is_pass                       ? SQ_FAIR_VECTOR
                                                                       : SQ_FAIR_PES;
    if (in->engines & SQ_ENGINE_ARRAY)
        SQ_TRY(sq_fair_silicon_of(&in->synth, &p->recipe, &machine, in->sram_um2, extent,
                                  &r->silicon, err));
    if (p->machine_name)
        SQ_TRY(take_clock(in, p, &machine, r, err));
    if (is_pass)
        return run_pass(in, t, p, &machine, r, err);
    const enum sq_status status = time_gemms(in, p, &machine, &memo, r, err);
    sq_machine_memo_clear(&memo);
    return status;
}

static struct sq_sweep_source source_of(const struct sq_sweep_model *m)
{
    return (struct sq_sweep_source){&m->ck, m->path, m->tokens, m->eval_tokens, m->values_digest};
}

// Losses and errors, by the tokens beside the model; or what its weights take, where they decide.
// Tensors that are no model have no tokens to calibrate by, so that nothing but shapes is left.
static enum sq_status run_values(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                                 struct sq_sweep_result *r, struct sq_error *err)
{
    const struct sq_sweep_model *m = sq_sweep_model_of(in, p);
    if (!m || (!(in->engines & (SQ_ENGINE_VALUES | SQ_ENGINE_EVAL)) &&
               (!m->ck.is_model || !sq_recipe_sized_by(&p->recipe))))
        return SQ_OK;
    const struct sq_sweep_source source = source_of(m);
    return sq_sweep_values(in->memo, &source, in->engines, p, r, err);
}

static enum sq_status run_kl(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                             struct sq_sweep_result *r, struct sq_error *err)
{
    const struct sq_sweep_model *m = sq_sweep_model_of(in, p);
    const struct sq_sweep_source source = source_of(m);
    return sq_sweep_kl(in->options, &source, &p->recipe, r, err);
}

static enum sq_status synthesize(const struct sq_sweep_inputs *in,
                                 const struct sq_synth_block *block, double *area, double *path_ns,
                                 struct sq_error *err)
{
    SQ_CLOSED(sq_synth_result_free) struct sq_synth_result result = {0};
    SQ_TRY(sq_synth_area(&in->synth, block, &result, err));
    *area = result.area;
    *path_ns = result.has_delay ? result.critical_path_ns : NAN;
    return SQ_OK;
}

static enum sq_status run_pe(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                             struct sq_sweep_result *r, struct sq_error *err)
{
    struct sq_core_config g = p->config;
    (void)sq_core_join_banks(&g, p->recipe.group);
    const struct sq_synth_block block = {.top = "sq_pe",
                                         .n_params = 7,
                                         .param = {{"LowLanes", g.low_lanes},
                                                   {"HighLanes", g.high_lanes},
                                                   {"BankLen", g.bank},
                                                   {"ActW", g.act_bits},
                                                   {"LowW", g.low_bits},
                                                   {"HighW", g.high_bits},
                                                   {"Gather", g.gather}}};
    return synthesize(in, &block, &r->pe_area_um2, &r->pe_critical_path_ns, err);
}

static enum sq_status run_gather(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                                 struct sq_sweep_result *r, struct sq_error *err)
{
    const struct sq_core_config *g = &p->config;
    const struct sq_synth_block block = {.top = "sq_gather",
                                         .n_params = 6,
                                         .param = {{"Rows", 1},
                                                   {"BankLen", g->bank},
                                                   {"HighPerBank", g->high_per_bank},
                                                   {"ActW", g->act_bits},
                                                   {"LowW", g->low_bits},
                                                   {"Gather", g->gather}}};
    return synthesize(in, &block, &r->gather_area_um2, &r->gather_critical_path_ns, err);
}

// As `sqsim energy --block core` with the point's options and its usual clock, cycles and seed.
static enum sq_status run_energy(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                                 struct sq_sweep_result *r, struct sq_error *err)
{
    const struct sq_measure_options options = {.cycles = 32, .clock_ns = 10};
    struct sq_core_config g = p->config;
    struct sq_point point = {.name = "sweep"};
    struct sq_measured m;
    struct sq_case c;
    g.rows = g.cols = 1;
    sq_core_block.set_core(point.value, &g);
    SQ_TRY(sq_drive_draw(&sq_core_block, &point, 1, SQ_LANES * (options.cycles + SQ_DRIVE_FILL), &c,
                         err));
    const enum sq_status status = sq_measure_run(&in->synth, &c, &options, &m, err);
    sq_case_free(&c);
    SQ_TRY(status);
    if (m.drive.mismatch[0])
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "netlist of the core: %.100s", m.drive.mismatch);
    for (unsigned mode = 0; mode < SQ_N_MODES; mode++) {
        double joules = 0;
        for (unsigned k = 0; k < SQ_N_ENERGIES; k++)
            joules += m.energy[mode].pe[k];
        r->pe_fj_per_mac[mode] = 1e15 * joules / m.drive.macs;
    }
    return SQ_OK;
}

static const struct {
    unsigned bits;
    engine *run;
} engines[] = {
    {SQ_ENGINE_TIMING, run_timing}, {SQ_SWEEP_ENCODING, run_values}, {SQ_ENGINE_PE, run_pe},
    {SQ_ENGINE_GATHER, run_gather}, {SQ_ENGINE_ENERGY, run_energy},  {SQ_ENGINE_KL, run_kl},
};

enum sq_status sq_sweep_compute(const struct sq_sweep_inputs *in, const struct sq_sweep_point *p,
                                struct sq_sweep_result *r, struct sq_error *err)
{
    memset(r, 0, sizeof *r);
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++)
        if (in->engines & engines[i].bits)
            SQ_TRY(engines[i].run(in, p, r, err));
    return SQ_OK;
}
