// SPDX-License-Identifier: Apache-2.0
// The measures of a sweep: one line each. The engines behind them are in sq_sweep_engine.c.
#include <math.h>

#include "sim/format/sq_quantize.h"
#include "sim/io/sq_checked.h"
#include "sim/llm/sq_layer.h"
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

// Of what was encoded, where that depends on the weights: pruned rows, outliers, padding.
static double stored_bits(point *p, result *r, unsigned index)
{
    (void)index;
    if (p->recipe.format->has_own_size && r->evaluated_bits > 0)
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

// Of all layers together: products made over all multipliers and cycles.
static double utilisation_low(point *p, result *r, unsigned index)
{
    (void)p, (void)index;
    return sq_utilisation(r->low_macs, r->low_slots);
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
    return r->array_um2;
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

#define TIMING SQ_ENGINE_TIMING
#define MODELLED "modelled: cycle model, equal to the RTL in every beat"
#define MACHINE SQ_ENGINE_TIMING | SQ_ENGINE_MACHINE
#define ON_MACHINE "modelled: cores by the cycle model, buffers and DRAM by events"
#define GOLDEN "computed: bit-exact golden model against FP64"
#define EVALUATED "computed: bit-exact golden model over the evaluation tokens"
#define COUNTED "counted: bytes of the stored streams, scales included"
#define SYNTHESIS "measured: synthesis by Yosys"
#define STA "measured: OpenSTA on the synthesized netlist, before layout"
#define CAUSES(path, get)                                                                          \
    {path "_busy", "cycles", MODELLED, TIMING, get, SQ_CAUSE_BUSY},                                \
        {path "_filling", "cycles", MODELLED, TIMING, get, SQ_CAUSE_FILLING},                      \
        {path "_wait_act", "cycles", MODELLED, TIMING, get, SQ_CAUSE_WAIT_ACT},                    \
        {path "_wait_weight", "cycles", MODELLED, TIMING, get, SQ_CAUSE_WAIT_WEIGHT},              \
        {path "_wait_high", "cycles", MODELLED, TIMING, get, SQ_CAUSE_WAIT_HIGH},                  \
        {path "_wait_mask", "cycles", MODELLED, TIMING, get, SQ_CAUSE_WAIT_MASK},                  \
        {path "_blocked_output", "cycles", MODELLED, TIMING, get, SQ_CAUSE_BLOCKED_OUTPUT},        \
        {path "_imbalance", "cycles", MODELLED, TIMING, get, SQ_CAUSE_IMBALANCE},                  \
        {path "_wait_index", "cycles", MODELLED, TIMING, get, SQ_CAUSE_WAIT_INDEX},                \
    {                                                                                              \
        path "_draining", "cycles", MODELLED, TIMING, get, SQ_CAUSE_DRAINING                       \
    }

const struct sq_measure sq_measures[] = {
    {"relative_error", "", GOLDEN, SQ_ENGINE_VALUES, relative_error, 0},
    {"output_sqnr_db", "dB", GOLDEN, SQ_ENGINE_VALUES, output_sqnr_db, 0},
    {"weight_sqnr_db", "dB", GOLDEN, SQ_ENGINE_VALUES, weight_sqnr_db, 0},
    {"loss", "nats per token", EVALUATED, SQ_ENGINE_EVAL, loss, 0},
    {"perplexity", "", EVALUATED, SQ_ENGINE_EVAL, perplexity, 0},
    {"stored_bits", "bits per weight", COUNTED, TIMING, stored_bits, 0},
    {"cycles", "cycles", MODELLED, TIMING, cycles, 0},
    {"bound_cycles", "cycles", "closed form", TIMING, bound_cycles, 0},
    {"macs", "", "closed form", TIMING, macs, 0},
    {"time_ms", "ms", ON_MACHINE, MACHINE, time_ms, 0},
    {"dram_bytes", "bytes", ON_MACHINE, MACHINE, dram_bytes, 0},
    {"memory_cycles", "cycles", ON_MACHINE, MACHINE, memory_cycles, 0},
    {"index_cycles", "cycles", ON_MACHINE, MACHINE, index_cycles, 0},
    {"format_low_lanes", "", "closed form, by axis fair", MACHINE, format_low_lanes, 0},
    {"format_high_lanes", "", "closed form, by axis fair", MACHINE, format_high_lanes, 0},
    {"format_area_um2", "um2", SYNTHESIS " of the PE, fair by area", MACHINE, format_area_um2, 0},
    {"array_area_um2", "um2", SYNTHESIS " of the format's PE, times PEs and cores",
     MACHINE | SQ_ENGINE_ARRAY, array_area_um2, 0},
    {"utilisation_low", "", MODELLED, TIMING, utilisation_low, 0},
    {"utilisation_high", "", MODELLED, TIMING, utilisation_high, 0},
    {"pe_area_um2", "um2", SYNTHESIS, SQ_ENGINE_PE, pe_area_um2, 0},
    {"pe_critical_path_ns", "ns", STA, SQ_ENGINE_PE, pe_critical_path_ns, 0},
    {"gather_area_um2", "um2", SYNTHESIS, SQ_ENGINE_GATHER, gather_area_um2, 0},
    {"gather_critical_path_ns", "ns", STA, SQ_ENGINE_GATHER, gather_critical_path_ns, 0},
    {"macs_per_cycle_mm2", "1/mm2", SYNTHESIS " and cycle model", TIMING | SQ_ENGINE_PE,
     macs_per_cycle_mm2, 0},
    CAUSES("low", low_cause),
    CAUSES("high", high_cause),
};
const size_t sq_n_measures = sizeof sq_measures / sizeof sq_measures[0];
_Static_assert(sizeof sq_measures / sizeof sq_measures[0] <= SQ_MEASURES_MAX, "a larger list");
