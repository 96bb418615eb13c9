// SPDX-License-Identifier: Apache-2.0
// The measures of a sweep: one line each. The engines behind them are in sq_sweep_engine.c.
#include <math.h>
#include <string.h>

#include "sim/format/sq_quantize.h"
#include "sim/io/sq_checked.h"
#include "sim/sweep/sq_sweep_grid.h"

typedef const struct sq_sweep_point point;
typedef const struct sq_sweep_result result;

static double relative_error(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return sq_sqnr_relative(&(struct sq_sqnr){r->output_signal, r->output_noise});
}

static double output_sqnr_db(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return sq_sqnr_db(&(struct sq_sqnr){r->output_signal, r->output_noise});
}

static double weight_sqnr_db(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return sq_sqnr_db(&(struct sq_sqnr){r->weight_signal, r->weight_noise});
}

// Whether bits were counted while layers were encoded, which is needed where the weights decide the size;
// else the shapes give the same number. A table's layers are not those of the model that was encoded beside it.
static bool is_counted(point *p, result *r)
{
    return sq_recipe_sized_by(&p->recipe) && r->evaluated_bits > 0 && !p->workload;
}

static double stored_bits(point *p, result *r, unsigned index)
{
    (void)index;
    if (is_counted(p, r))
        return r->evaluated_bits;
    return r->stored_nbits / r->weights;
}

static double cycles(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return r->cycles;
}

static double bound_cycles(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return r->bound;
}

static double macs(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return r->macs;
}

// The utilisation over all layers together: products made, over all multipliers and cycles.
static double utilisation_low(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return r->low_slots > 0 ? sq_utilisation(r->low_macs, r->low_slots) : NAN;
}

static double utilisation_high(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return r->high_slots > 0 ? sq_utilisation(r->high_macs, r->high_slots) : NAN;
}

static double time_ms(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return 1e3 * r->cycles / r->clock_hz;
}

static double netlist_ghz(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return 1 / r->silicon.period_ns;
}

static double dram_bytes(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return r->nbytes;
}

static double memory_cycles(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return r->memory;
}

static double index_cycles(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return r->index;
}

static double low_cause(point *p, result *r, unsigned index)
{
    (void)p;
    return r->low[index];
}

static double high_cause(point *p, result *r, unsigned index)
{
    (void)p;
    return r->high_slots > 0 ? r->high[index] : NAN;
}

static double format_low_lanes(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return r->pe.low_lanes;
}

static double format_high_lanes(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return r->pe.high_lanes;
}

static double format_area_um2(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return r->pe.area_um2;
}

static double array_area_um2(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return 1e6 * r->silicon.pe_mm2;
}

static double area_mm2(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return r->silicon.mm2;
}

static double tokens_per_second(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return r->tokens > 0 ? r->tokens / r->pass_s : NAN;
}

static double ttft_ms(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return r->tokens > 0 ? 1e3 * r->first_s : NAN;
}

static double energy_per_token(point *p, result *r, unsigned index)
{
    (void)p;
    return r->tokens > 0 ? r->joules[index] / r->tokens : NAN;
}

static double kl(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return r->kl;
}

static double kl_95(point *p, result *r, unsigned index)
{
    (void)p;
    return r->kl_95[index];
}

static double pe_area_um2(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return r->pe_area_um2;
}

static double pe_critical_path_ns(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return r->pe_critical_path_ns;
}

static double pe_fj_per_mac(point *p, result *r, unsigned index)
{
    (void)p;
    return r->pe_fj_per_mac[index];
}

static double gather_area_um2(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return r->gather_area_um2;
}

static double gather_critical_path_ns(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return r->gather_critical_path_ns;
}

static double loss(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return r->loss;
}

static double perplexity(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return r->perplexity;
}

// Useful multiplications per cycle and square millimetre of PEs.
static double macs_per_cycle_mm2(point *p, result *r, unsigned index)
{
    (void)index;
    const double mm2 = 1e-6 * r->pe_area_um2 * p->config.rows * p->config.cols;
    return r->macs / r->cycles / mm2;
}

// ---- notes ------------------------------------------------------------------------------------

static void note_stored_bits(point *p, result *r, double value, char text[SQ_NOTE_SIZE])
{
    const char *by = sq_recipe_sized_by(&p->recipe);
    if (isnan(value))
        snprintf(text, SQ_NOTE_SIZE, "the weights stay as they are");
    else if (by && !is_counted(p, r))
        snprintf(text, SQ_NOTE_SIZE, "expected, by the share of %s", by);
}

static void note_error(point *p, result *r, double value, char text[SQ_NOTE_SIZE])
{
    (void)p, (void)r;
    if (!isfinite(value))
        snprintf(text, SQ_NOTE_SIZE, "%s", isinf(value) ? "without any error" : "of zeros alone");
}

static void note_loss(point *p, result *r, double value, char text[SQ_NOTE_SIZE])
{
    (void)p, (void)r;
    if (!isfinite(value))
        snprintf(text, SQ_NOTE_SIZE, "the loss is beyond what a number holds");
}

static void note_high(point *p, result *r, double value, char text[SQ_NOTE_SIZE])
{
    (void)r;
    if (!isfinite(value))
        snprintf(text, SQ_NOTE_SIZE, "%s has no high path", p->recipe.format->name);
}

static void note_format_area(point *p, result *r, double value, char text[SQ_NOTE_SIZE])
{
    (void)p, (void)r;
    if (!isfinite(value))
        snprintf(text, SQ_NOTE_SIZE, "only axis fair = area makes a PE by its area");
}

static void note_array_area(point *p, result *r, double value, char text[SQ_NOTE_SIZE])
{
    (void)r;
    if (!isfinite(value))
        snprintf(text, SQ_NOTE_SIZE, "RTL has no PE of %s with these bits and lanes",
                 p->recipe.format->name);
    else if (r->silicon.sum)
        snprintf(text, SQ_NOTE_SIZE, "blocks add: %s", r->silicon.sum);
}

static void note_netlist(point *p, result *r, double value, char text[SQ_NOTE_SIZE])
{
    note_array_area(p, r, value, text);
    if (isfinite(r->silicon.pe_um2) && !isfinite(value))
        snprintf(text, SQ_NOTE_SIZE, "OpenSTA (sta) is not installed");
}

static void note_machine_area(point *p, result *r, double value, char text[SQ_NOTE_SIZE])
{
    note_array_area(p, r, value, text);
    if (isfinite(value) && isnan(r->silicon.sram_mm2))
        snprintf(text, SQ_NOTE_SIZE, "without buffers (--sram-area)%s%s",
                 r->silicon.sum ? "; blocks add: " : "", r->silicon.sum ? r->silicon.sum : "");
}

static void note_pass(point *p, result *r, double value, char text[SQ_NOTE_SIZE])
{
    (void)p;
    if (r->tokens < 0)
        snprintf(text, SQ_NOTE_SIZE, "weights and KV cache are more than the machine's capacity");
    else if (!isfinite(value))
        snprintf(text, SQ_NOTE_SIZE, "only a workload that is a config.json is a whole pass");
}

static void note_joules(point *p, result *r, double value, char text[SQ_NOTE_SIZE])
{
    note_pass(p, r, value, text);
    if (r->tokens > 0 && !isfinite(value))
        snprintf(text, SQ_NOTE_SIZE, "%s",
                 p->machine.chip.bus_nbytes ? "joules of a chip are those of run --energy"
                                            : "--energy has no joules of this recipe");
    else if (isfinite(value))
        snprintf(text, SQ_NOTE_SIZE, "attention has joules of memory alone%s",
                 r->has_vector_joules ? "" : ", vector units have none");
}

static void note_interval(point *p, result *r, double value, char text[SQ_NOTE_SIZE])
{
    (void)p, (void)r;
    if (!isfinite(value))
        snprintf(text, SQ_NOTE_SIZE, "no interval of one sequence");
}

static void note_low(point *p, result *r, double value, char text[SQ_NOTE_SIZE])
{
    (void)p, (void)r;
    if (!isfinite(value))
        snprintf(text, SQ_NOTE_SIZE, "of a whole pass no causes are counted");
}

static void note_path(point *p, result *r, double value, char text[SQ_NOTE_SIZE])
{
    (void)p, (void)r;
    if (!isfinite(value))
        snprintf(text, SQ_NOTE_SIZE, "OpenSTA (sta) is not installed");
}

#define TIMING SQ_ENGINE_TIMING
#define MODELLED "modelled: cycle model, equal to the RTL in every beat"
#define MACHINE SQ_ENGINE_TIMING | SQ_ENGINE_MACHINE
#define ON_MACHINE "modelled: cores by the cycle model, buffers and DRAM by events"
#define ON_PASS ON_MACHINE "; vector unit by its cycle model"
#define ON_ENERGY "modelled: joules of --energy and of memory, times what the pass counts"
#define GOLDEN "computed: bit-exact golden model against FP64"
#define EVALUATED "computed: bit-exact golden model over the evaluation tokens"
#define RESAMPLED "computed: 95 % interval of kl, sequences drawn again"
#define COUNTED "counted: bytes of the stored streams, scales included"
#define SYNTHESIS "measured: synthesis by Yosys"
#define STA                                                                                        \
    "measured: OpenSTA on the synthesized netlist, before layout, default wire load of the "       \
    "library"
#define NETLIST "measured: changes in the netlist on drawn operands, tables of the library"
#define CAUSES(path, get, note)                                                                    \
    {path "_busy", "cycles", MODELLED, TIMING, get, SQ_CAUSE_BUSY, note},                          \
        {path "_filling", "cycles", MODELLED, TIMING, get, SQ_CAUSE_FILLING, note},                \
        {path "_wait_act", "cycles", MODELLED, TIMING, get, SQ_CAUSE_WAIT_ACT, note},              \
        {path "_wait_weight", "cycles", MODELLED, TIMING, get, SQ_CAUSE_WAIT_WEIGHT, note},        \
        {path "_wait_high", "cycles", MODELLED, TIMING, get, SQ_CAUSE_WAIT_HIGH, note},            \
        {path "_wait_mask", "cycles", MODELLED, TIMING, get, SQ_CAUSE_WAIT_MASK, note},            \
        {path "_blocked_output", "cycles", MODELLED, TIMING, get, SQ_CAUSE_BLOCKED_OUTPUT, note},  \
        {path "_imbalance", "cycles", MODELLED, TIMING, get, SQ_CAUSE_IMBALANCE, note},            \
        {path "_wait_index", "cycles", MODELLED, TIMING, get, SQ_CAUSE_WAIT_INDEX, note},          \
    {                                                                                              \
        path "_draining", "cycles", MODELLED, TIMING, get, SQ_CAUSE_DRAINING, note                 \
    }

const struct sq_measure sq_measures[] = {
    {"relative_error", "", GOLDEN, SQ_ENGINE_VALUES, relative_error, 0, note_error},
    {"output_sqnr_db", "dB", GOLDEN, SQ_ENGINE_VALUES, output_sqnr_db, 0, note_error},
    {"weight_sqnr_db", "dB", GOLDEN, SQ_ENGINE_VALUES, weight_sqnr_db, 0, note_error},
    {"loss", "nats per token", EVALUATED, SQ_ENGINE_EVAL, loss, 0, note_loss},
    {"perplexity", "", EVALUATED, SQ_ENGINE_EVAL, perplexity, 0, note_loss},
    {"kl", "nats per token", EVALUATED ", from the model as it is", SQ_ENGINE_KL, kl, 0, NULL},
    {"kl_low", "nats per token", RESAMPLED, SQ_ENGINE_KL, kl_95, SQ_LOW, note_interval},
    {"kl_high", "nats per token", RESAMPLED, SQ_ENGINE_KL, kl_95, SQ_HIGH, note_interval},
    {"stored_bits", "bits per weight", COUNTED, TIMING | SQ_ENGINE_SHAPES | SQ_ENGINE_SIZE,
     stored_bits, 0, note_stored_bits},
    {"cycles", "cycles", MODELLED, TIMING, cycles, 0, NULL},
    {"bound_cycles", "cycles", "closed form", TIMING, bound_cycles, 0, NULL},
    {"macs", "", "closed form", TIMING | SQ_ENGINE_SHAPES, macs, 0, NULL},
    {"netlist_ghz", "GHz", STA " of the format's PE; times are at this clock",
     MACHINE | SQ_ENGINE_ARRAY, netlist_ghz, 0, note_netlist},
    {"time_ms", "ms", ON_MACHINE, MACHINE, time_ms, 0, NULL},
    {"dram_bytes", "bytes", ON_MACHINE, MACHINE, dram_bytes, 0, NULL},
    {"memory_cycles", "cycles", ON_MACHINE, MACHINE, memory_cycles, 0, NULL},
    {"index_cycles", "cycles", ON_MACHINE, MACHINE, index_cycles, 0, NULL},
    {"format_low_lanes", "", "closed form, by axis fair", MACHINE, format_low_lanes, 0, NULL},
    {"format_high_lanes", "", "closed form, by axis fair", MACHINE, format_high_lanes, 0, NULL},
    {"format_area_um2", "um2", SYNTHESIS " of the PE, fair by area", MACHINE, format_area_um2, 0,
     note_format_area},
    {"array_area_um2", "um2", SYNTHESIS " of the format's PE, times PEs and cores",
     MACHINE | SQ_ENGINE_ARRAY, array_area_um2, 0, note_array_area},
    {"area_mm2", "mm2",
     SYNTHESIS " of PEs, decoders of rows and columns, vector units; buffers by --sram-area",
     MACHINE | SQ_ENGINE_ARRAY | SQ_ENGINE_OUTPUTS, area_mm2, 0, note_machine_area},
    {"tokens_per_second", "1/s", ON_PASS, MACHINE, tokens_per_second, 0, note_pass},
    {"ttft_ms", "ms", ON_PASS, MACHINE, ttft_ms, 0, note_pass},
    {"energy_per_token", "J", ON_ENERGY ", high end", MACHINE | SQ_ENGINE_JOULES, energy_per_token,
     SQ_HIGH, note_joules},
    {"energy_per_token_low", "J", ON_ENERGY ", low end", MACHINE | SQ_ENGINE_JOULES,
     energy_per_token, SQ_LOW, note_joules},
    {"utilisation_low", "", MODELLED, TIMING, utilisation_low, 0, note_low},
    {"utilisation_high", "", MODELLED, TIMING, utilisation_high, 0, note_high},
    {"pe_area_um2", "um2", SYNTHESIS, SQ_ENGINE_PE, pe_area_um2, 0, NULL},
    {"pe_critical_path_ns", "ns", STA, SQ_ENGINE_PE, pe_critical_path_ns, 0, note_path},
    {"pe_fj_per_mac", "fJ", NETLIST ", zero delay", SQ_ENGINE_ENERGY, pe_fj_per_mac, 0, NULL},
    {"pe_fj_per_mac_delays", "fJ", NETLIST ", with delays", SQ_ENGINE_ENERGY, pe_fj_per_mac, 1,
     NULL},
    {"gather_area_um2", "um2", SYNTHESIS, SQ_ENGINE_GATHER, gather_area_um2, 0, NULL},
    {"gather_critical_path_ns", "ns", STA, SQ_ENGINE_GATHER, gather_critical_path_ns, 0, note_path},
    {"macs_per_cycle_mm2", "1/mm2", SYNTHESIS " and cycle model", TIMING | SQ_ENGINE_PE,
     macs_per_cycle_mm2, 0, NULL},
    CAUSES("low", low_cause, NULL),
    CAUSES("high", high_cause, note_high),
};
const size_t sq_n_measures = sizeof sq_measures / sizeof sq_measures[0];
_Static_assert(sizeof sq_measures / sizeof sq_measures[0] <= SQ_MEASURES_MAX, "a larger list");

bool sq_measure_is_of_pes(const struct sq_measure *m)
{
    return (m->engines & SQ_ENGINE_TIMING) && !(m->engines & SQ_ENGINE_SHAPES);
}

static bool has_value(const struct sq_measure *m, const struct sq_sweep_result *r)
{
    return !r->unfair[0] || !sq_measure_is_of_pes(m);
}

double sq_measure_of(const struct sq_measure *m, const struct sq_sweep_point *p,
                     const struct sq_sweep_result *r)
{
    return has_value(m, r) ? m->get(p, r, m->index) : NAN;
}

void sq_measure_note(const struct sq_measure *m, const struct sq_sweep_point *p,
                     const struct sq_sweep_result *r, char text[SQ_NOTE_SIZE])
{
    text[0] = '\0';
    if (!has_value(m, r))
        memcpy(text, r->unfair, sizeof r->unfair);
    else if (m->note)
        m->note(p, r, m->get(p, r, m->index), text);
}
