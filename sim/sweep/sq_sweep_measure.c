// SPDX-License-Identifier: Apache-2.0
// The measures of a sweep: one line each. The engines behind them are in sq_sweep_engine.c.
#include <math.h>
#include <string.h>

#include "sim/format/sq_quantize.h"
#include "sim/io/sq_checked.h"
#include "sim/sweep/sq_sweep_grid.h"

typedef const struct sq_sweep_point point;
typedef const struct sq_sweep_result result;

// What a measure is, by the value of its field.

static double relative_error(point *p, result *r, double value)
{
    (void)p, (void)value;
    return sq_sqnr_relative(&(struct sq_sqnr){r->output_signal, r->output_noise});
}

static double output_sqnr_db(point *p, result *r, double value)
{
    (void)p, (void)value;
    return sq_sqnr_db(&(struct sq_sqnr){r->output_signal, r->output_noise});
}

static double weight_sqnr_db(point *p, result *r, double value)
{
    (void)p, (void)value;
    return sq_sqnr_db(&(struct sq_sqnr){r->weight_signal, r->weight_noise});
}

// Whether bits were counted while layers were encoded, which is needed where the weights decide the size;
// else the shapes give the same number. A table's layers are not those of the model that was encoded beside it.
static bool is_counted(point *p, result *r)
{
    return sq_recipe_sized_by(&p->recipe) && r->evaluated_bits > 0 && !p->workload;
}

static double stored_bits(point *p, result *r, double counted)
{
    return is_counted(p, r) ? counted : r->stored_nbits / r->weights;
}

// The utilisation over all layers together: products made, over all multipliers and cycles.
static double utilisation_low(point *p, result *r, double products)
{
    (void)p;
    return r->low_slots > 0 ? sq_utilisation(products, r->low_slots) : NAN;
}

static double utilisation_high(point *p, result *r, double products)
{
    (void)p;
    return r->high_slots > 0 ? sq_utilisation(products, r->high_slots) : NAN;
}

static double high_cause(point *p, result *r, double cycles)
{
    (void)p;
    return r->high_slots > 0 ? cycles : NAN;
}

static double time_ms(point *p, result *r, double cycles)
{
    (void)p;
    return 1e3 * cycles / r->clock_hz;
}

static double netlist_ghz(point *p, result *r, double period_ns)
{
    (void)p, (void)r;
    return 1 / period_ns;
}

static double format_low_lanes(point *p, result *r, double value)
{
    (void)p, (void)value;
    return r->pe.low_lanes;
}

static double format_high_lanes(point *p, result *r, double value)
{
    (void)p, (void)value;
    return r->pe.high_lanes;
}

static double array_area_um2(point *p, result *r, double mm2)
{
    (void)p, (void)r;
    return 1e6 * mm2;
}

static double tokens_per_second(point *p, result *r, double seconds)
{
    (void)p;
    return r->tokens > 0 ? r->tokens / seconds : NAN;
}

static double ttft_ms(point *p, result *r, double seconds)
{
    (void)p;
    return r->tokens > 0 ? 1e3 * seconds : NAN;
}

static double energy_per_token(point *p, result *r, double joules)
{
    (void)p;
    return r->tokens > 0 ? joules / r->tokens : NAN;
}

// Useful multiplications per cycle and square millimetre of PEs.
static double macs_per_cycle_mm2(point *p, result *r, double macs)
{
    const double mm2 = 1e-6 * r->pe_area_um2 * p->config.rows * p->config.cols;
    return macs / r->cycles / mm2;
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

static void note_high(point *p, result *r, double value, char text[SQ_NOTE_SIZE])
{
    (void)r;
    if (!isfinite(value))
        snprintf(text, SQ_NOTE_SIZE, "%s has no high path", p->recipe.format->name);
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
#define AT(field_) .field = offsetof(struct sq_sweep_result, field_)
#define CAUSE(path, what, cause, ...)                                                              \
    {                                                                                              \
        .name = #path "_" what, "cycles", MODELLED, TIMING, AT(path[cause]), .get = __VA_ARGS__    \
    }
#define CAUSES(path, ...)                                                                          \
    CAUSE(path, "busy", SQ_CAUSE_BUSY, __VA_ARGS__),                                               \
        CAUSE(path, "filling", SQ_CAUSE_FILLING, __VA_ARGS__),                                     \
        CAUSE(path, "wait_act", SQ_CAUSE_WAIT_ACT, __VA_ARGS__),                                   \
        CAUSE(path, "wait_weight", SQ_CAUSE_WAIT_WEIGHT, __VA_ARGS__),                             \
        CAUSE(path, "wait_high", SQ_CAUSE_WAIT_HIGH, __VA_ARGS__),                                 \
        CAUSE(path, "wait_mask", SQ_CAUSE_WAIT_MASK, __VA_ARGS__),                                 \
        CAUSE(path, "blocked_output", SQ_CAUSE_BLOCKED_OUTPUT, __VA_ARGS__),                       \
        CAUSE(path, "imbalance", SQ_CAUSE_IMBALANCE, __VA_ARGS__),                                 \
        CAUSE(path, "wait_index", SQ_CAUSE_WAIT_INDEX, __VA_ARGS__),                               \
        CAUSE(path, "draining", SQ_CAUSE_DRAINING, __VA_ARGS__)

static const char no_number[] = "the loss is beyond what a number holds";
static const char no_interval[] = "no interval of one sequence";
static const char no_path[] = "OpenSTA (sta) is not installed";
static const char no_cause[] = "of a whole pass no causes are counted";

const struct sq_measure sq_measures[] = {
    {"relative_error", "", GOLDEN, SQ_ENGINE_VALUES, .get = relative_error, .note = note_error},
    {"output_sqnr_db", "dB", GOLDEN, SQ_ENGINE_VALUES, .get = output_sqnr_db, .note = note_error},
    {"weight_sqnr_db", "dB", GOLDEN, SQ_ENGINE_VALUES, .get = weight_sqnr_db, .note = note_error},
    {"loss", "nats per token", EVALUATED, SQ_ENGINE_EVAL, AT(loss), .no_value = no_number},
    {"perplexity", "", EVALUATED, SQ_ENGINE_EVAL, AT(perplexity), .no_value = no_number},
    {"kl", "nats per token", EVALUATED ", from the model as it is", SQ_ENGINE_KL, AT(kl)},
    {"kl_low", "nats per token", RESAMPLED, SQ_ENGINE_KL, AT(kl_95[SQ_LOW]),
     .no_value = no_interval},
    {"kl_high", "nats per token", RESAMPLED, SQ_ENGINE_KL, AT(kl_95[SQ_HIGH]),
     .no_value = no_interval},
    {"stored_bits", "bits per weight", COUNTED, TIMING | SQ_ENGINE_SHAPES | SQ_ENGINE_SIZE,
     AT(evaluated_bits), .get = stored_bits, .note = note_stored_bits},
    {"cycles", "cycles", MODELLED, TIMING, AT(cycles)},
    {"bound_cycles", "cycles", "closed form", TIMING, AT(bound)},
    {"macs", "", "closed form", TIMING | SQ_ENGINE_SHAPES, AT(macs)},
    {"netlist_ghz", "GHz", STA " of the format's PE; times are at this clock",
     MACHINE | SQ_ENGINE_ARRAY, AT(silicon.period_ns), .get = netlist_ghz, .note = note_netlist},
    {"time_ms", "ms", ON_MACHINE, MACHINE, AT(cycles), .get = time_ms},
    {"dram_bytes", "bytes", ON_MACHINE, MACHINE, AT(nbytes)},
    {"memory_cycles", "cycles", ON_MACHINE, MACHINE, AT(memory)},
    {"index_cycles", "cycles", ON_MACHINE, MACHINE, AT(index)},
    {"format_low_lanes", "", "closed form, by axis fair", MACHINE, .get = format_low_lanes},
    {"format_high_lanes", "", "closed form, by axis fair", MACHINE, .get = format_high_lanes},
    {"format_area_um2", "um2", SYNTHESIS " of the PE, fair by area", MACHINE, AT(pe.area_um2),
     .no_value = "only axis fair = area makes a PE by its area"},
    {"array_area_um2", "um2", SYNTHESIS " of the format's PE, times PEs and cores",
     MACHINE | SQ_ENGINE_ARRAY, AT(silicon.pe_mm2), .get = array_area_um2, .note = note_array_area},
    {"area_mm2", "mm2",
     SYNTHESIS " of PEs, decoders of rows and columns, vector units; buffers by --sram-area",
     MACHINE | SQ_ENGINE_ARRAY | SQ_ENGINE_OUTPUTS, AT(silicon.mm2), .note = note_machine_area},
    {"tokens_per_second", "1/s", ON_PASS, MACHINE, AT(pass_s), .get = tokens_per_second,
     .note = note_pass},
    {"ttft_ms", "ms", ON_PASS, MACHINE, AT(first_s), .get = ttft_ms, .note = note_pass},
    {"energy_per_token", "J", ON_ENERGY ", high end", MACHINE | SQ_ENGINE_JOULES,
     AT(joules[SQ_HIGH]), .get = energy_per_token, .note = note_joules},
    {"energy_per_token_low", "J", ON_ENERGY ", low end", MACHINE | SQ_ENGINE_JOULES,
     AT(joules[SQ_LOW]), .get = energy_per_token, .note = note_joules},
    {"utilisation_low", "", MODELLED, TIMING, AT(low_macs), .get = utilisation_low,
     .no_value = no_cause},
    {"utilisation_high", "", MODELLED, TIMING, AT(high_macs), .get = utilisation_high,
     .note = note_high},
    {"pe_area_um2", "um2", SYNTHESIS, SQ_ENGINE_PE, AT(pe_area_um2)},
    {"pe_critical_path_ns", "ns", STA, SQ_ENGINE_PE, AT(pe_critical_path_ns), .no_value = no_path},
    {"pe_fj_per_mac", "fJ", NETLIST ", zero delay", SQ_ENGINE_ENERGY, AT(pe_fj_per_mac[0])},
    {"pe_fj_per_mac_delays", "fJ", NETLIST ", with delays", SQ_ENGINE_ENERGY, AT(pe_fj_per_mac[1])},
    {"gather_area_um2", "um2", SYNTHESIS, SQ_ENGINE_GATHER, AT(gather_area_um2)},
    {"gather_critical_path_ns", "ns", STA, SQ_ENGINE_GATHER, AT(gather_critical_path_ns),
     .no_value = no_path},
    {"macs_per_cycle_mm2", "1/mm2", SYNTHESIS " and cycle model", TIMING | SQ_ENGINE_PE, AT(macs),
     .get = macs_per_cycle_mm2},
    CAUSES(low, NULL),
    CAUSES(high, high_cause, .note = note_high),
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
    const double value = *(const double *)(const void *)((const char *)r + m->field);
    return !has_value(m, r) ? NAN : m->get ? m->get(p, r, value) : value;
}

void sq_measure_note(const struct sq_measure *m, const struct sq_sweep_point *p,
                     const struct sq_sweep_result *r, char text[SQ_NOTE_SIZE])
{
    text[0] = '\0';
    if (!has_value(m, r))
        memcpy(text, r->unfair, sizeof r->unfair);
    else if (m->note)
        m->note(p, r, sq_measure_of(m, p, r), text);
    else if (m->no_value && !isfinite(sq_measure_of(m, p, r)))
        snprintf(text, SQ_NOTE_SIZE, "%s", m->no_value);
}
