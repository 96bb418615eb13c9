// SPDX-License-Identifier: Apache-2.0
// Rebuilds the PEs of a machine for one format, by bit products or by area (sq_fair.h).
#include "sim/machine/sq_fair.h"

#include <math.h>
#include <string.h>

#include "sim/format/sq_cost.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_format_unit.h"
#include "sim/machine/sq_chip_machine.h"
#include "sim/synth/sq_area_block.h"

const char *const sq_fair_names[] = {"none", "peak", "area", NULL};
const char *const sq_fair_texts[] = {
    [SQ_FAIR_NONE] = "not of equal silicon: PEs as the machine has them, re-partitioned",
    [SQ_FAIR_PEAK] = "of equal bit products, not of equal silicon",
    [SQ_FAIR_AREA] =
        "of equal silicon: PEs and decoders of lines that fill that of the machine's own PEs"};

enum {
    LOW_MAX = 128,
    HIGH_MAX = 64, // lanes (sq_config.h)
    ANY_M = 64,    // a GEMM for units, whose lanes do not depend on it ...
    ANY_K = 4096,  // ... but through whole banks
    TIMES_MAX = 8, // a PE of the same area has no more bit products than so many times
    COLS_MAX = 64,
};

static unsigned products_of(const struct sq_core_config *core)
{
    return sq_cost_products(core, 1, 1);
}

static struct sq_cost_unit unit_of(const struct sq_recipe *r, const struct sq_core_config *core)
{
    struct sq_demand d;
    sq_demand_of(r, core, ANY_M, ANY_K, 0, &d);
    return d.cost;
}

static bool has_both_paths(const struct sq_cost_unit *u)
{
    return u->unit.kind == SQ_UNIT_CORE || u->unit.kind == SQ_UNIT_CORE_ACT;
}

// Cycles of an element.
static double pace_of(const struct sq_core_config *core)
{
    const unsigned low = sq_core_low_steps(core), high = sq_core_high_steps(core);
    return (double)(low > high ? low : high) / core->bank;
}

// L and H for the banks of the format, of so many bit products. False: not even one of each.
static bool choose_lanes(const struct sq_recipe *r, unsigned products, struct sq_core_config *core)
{
    const struct sq_core_config like = unit_of(r, core).unit.core;
    struct sq_core_config c = *core;
    double best = INFINITY;
    c.low_bits = like.low_bits;
    c.high_bits = like.high_bits;
    c.act_bits = like.act_bits;
    for (c.low_lanes = 1; c.low_lanes <= LOW_MAX; c.low_lanes++) {
        c.high_lanes = 1;
        for (; c.high_lanes <= HIGH_MAX && products_of(&c) <= products; c.high_lanes++) {
            const struct sq_cost_unit u = unit_of(r, &c);
            const double pace = pace_of(&u.unit.core);
            if (pace < best || (pace == best && products_of(&c) < products_of(core))) {
                *core = c;
                best = pace;
            }
        }
    }
    return best < INFINITY;
}

// The core of `machine` for r with so many bit products.
static bool rebuild(const struct sq_machine *machine, const struct sq_recipe *r, unsigned products,
                    struct sq_core_config *core)
{
    *core = machine->core;
    const struct sq_cost_unit u = unit_of(r, core);
    if (has_both_paths(&u))
        return choose_lanes(r, products, core);
    core->low_lanes = products; // an array re-partitions them
    core->high_lanes = 0;
    core->low_bits = core->act_bits = 1;
    return products > 0;
}

// ---- chips ------------------------------------------------------------------------------------

// The PE of sq_array for codes of two parts (sq_array.sv).
static void mixed_pe(const struct sq_top_shape *s, struct sq_cost_pe *pe)
{
    const struct sq_array_config *const a = &s->array;
    const struct sq_top_beat_shape *const plain = &s->part[s->on_acts ? SQ_TOP_WEIGHT : SQ_TOP_ACT];
    const bool is_split = a->layout == SQ_ARRAY_SPLIT;
    const struct sq_synth_block block = {
        .top = "sq_pe_mixed",
        .n_params = 10,
        .param = {{"BankLen", a->bank},
                  {"LowLanes", sq_array_low_lanes(a)},
                  {"HighLanes", a->high_per_bank},
                  {"PlainW", plain->field[0].width},
                  {"LowW", a->low_bits},
                  {"HighW", a->high_bits},
                  {"LowGather", a->layout == SQ_ARRAY_COMPACT},
                  {"OneAcc", a->one_acc},
                  {"LowShift", is_split ? 0 : a->high_bits - a->low_bits},
                  {"HighShift", is_split ? a->low_bits : 0}}};
    sq_cost_pe_add(pe, 1, &block);
}

// The modules of a PE of the chip; *u: what stands in a beat.
static void chip_pe(const struct sq_recipe *r, const unsigned *value, struct sq_cost_unit *u,
                    struct sq_cost_pe *pe)
{
    const struct sq_top_shape s = sq_top_shape(value);
    pe->is_engine = true;
    *u = (struct sq_cost_unit){
        .span = value[SQ_TOP_BANK_LEN], .span_beats = 1, .low_lanes = value[SQ_TOP_BANK_LEN]};
    const bool is_mixed =
        !s.is_scaled && s.array.layout != SQ_ARRAY_DENSE && s.array.layout != SQ_ARRAY_SP24;
    if (is_mixed)
        mixed_pe(&s, pe);
    else if (r->format->cost->pe)
        r->format->cost->pe(r, u, pe);
}

// ---- area -----------------------------------------------------------------------------------

// Area and the shortest period of some modules.
struct netlist {
    double area, ns; // ns: NAN without OpenSTA
};

// By `period_ns` (sq_synth_for), each part by itself.
static enum sq_status net_of(const struct sq_synth *synth, const struct sq_cost_pe *pe,
                             double period_ns, struct netlist *net, struct sq_error *err)
{
    *net = (struct netlist){0, 0};
    for (unsigned i = 0; i < pe->n_parts; i++) {
        struct sq_synth_block block = pe->part[i];
        SQ_CLOSED(sq_synth_result_free) struct sq_synth_result result = {0};
        SQ_TRY(sq_synth_for(synth, &block, period_ns, &result, err));
        net->area += pe->count[i] * result.area;
        net->ns = result.has_delay ? fmax(net->ns, result.min_period_ns) : NAN;
    }
    return SQ_OK;
}

static enum sq_status area_of(const struct sq_synth *synth, const struct sq_cost_pe *pe,
                              double *area, struct sq_error *err)
{
    struct netlist net;
    SQ_TRY(net_of(synth, pe, SQ_SYNTH_SMALLEST, &net, err));
    *area = net.area;
    return SQ_OK;
}

static bool is_better(const struct netlist *a, const struct netlist *b, double period_ns)
{
    const bool meets = a->ns <= period_ns;
    if (period_ns < 0)
        return a->area * a->ns < b->area * b->ns;
    if (meets != (b->ns <= period_ns))
        return meets;
    return meets ? a->area < b->area : a->ns < b->ns;
}

// The PE of the best tail: at a period the smallest that meets it, else the fastest; at the knee the least area times
// period. The smallest netlist is asked for of the first tail alone.
static enum sq_status choose_tail(const struct sq_synth *synth, const struct sq_recipe *r,
                                  const struct sq_cost_unit *u, struct sq_cost_pe *best,
                                  struct netlist *net, struct sq_error *err)
{
    const double period_ns = synth->period_ns;
    struct sq_cost_pe pe = *best;
    for (unsigned i = 0; i < (period_ns == SQ_SYNTH_SMALLEST ? 1 : pe.n_tails); i++) {
        struct sq_cost_pe other = {.is_engine = pe.is_engine, .tail = i};
        struct netlist its;
        r->format->cost->pe(r, u, &other);
        SQ_TRY(net_of(synth, &other, period_ns, &its, err));
        if (i == 0 || is_better(&its, net, period_ns)) {
            *net = its;
            *best = other;
        }
    }
    return pe.n_tails > 0 ? SQ_OK : net_of(synth, &pe, period_ns, net, err);
}

static enum sq_status reference_area(const struct sq_synth *synth, const struct sq_machine *machine,
                                     double *area, struct sq_error *err)
{
    const struct sq_core_config defaults = sq_core_config_default();
    struct sq_core_config core = machine->core;
    struct sq_cost_pe pe = {.n_parts = 0};
    core.bank = defaults.bank;
    core.high_per_bank = defaults.high_per_bank;
    sq_cost_pe_core(&pe, &core);
    return area_of(synth, &pe, area, err);
}

// The decoder of a line takes as many blocks as a beat has.
static enum sq_status line_of(const struct sq_synth *synth, const struct sq_recipe *r,
                              const struct sq_cost_unit *u, struct sq_fair_silicon *silicon,
                              struct sq_error *err)
{
    const double period_ns = synth->period_ns;
    struct sq_format_unit unit[SQ_FORMAT_UNITS];
    SQ_CLOSED(sq_synth_result_free) struct sq_synth_result result = {0};
    memset(unit, 0, sizeof unit);
    const size_t n = r->format->cost->units ? r->format->cost->units(r, unit) : 0;
    if (n < 2)
        return SQ_OK;
    unit[1].area.name = unit[1].name;
    const struct sq_area_item item = {.kind = SQ_AREA_UNIT,
                                      .unit = &unit[1].area,
                                      .source_of = unit[1].source,
                                      .value = unit[1].value};
    struct sq_synth_block block = sq_area_synth(&item);
    const double at = period_ns < 0 ? silicon->period_ns : period_ns; // of a knee the PE's
    SQ_TRY(
        sq_synth_for(synth, &block, silicon->period_ns > 0 ? at : SQ_SYNTH_SMALLEST, &result, err));
    const unsigned blocks = u->low_lanes / unit[1].area.weights;
    silicon->line_um2 = (blocks > 1 ? blocks : 1) * result.area;
    silicon->period_ns = result.has_delay ? fmax(silicon->period_ns, result.min_period_ns) : NAN;
    return SQ_OK;
}

// PE and decoder of a line.
static enum sq_status price_pe(const struct sq_synth *synth, const struct sq_recipe *r,
                               const struct sq_cost_unit *u, struct sq_cost_pe *pe,
                               struct sq_fair_silicon *silicon, struct sq_error *err)
{
    struct netlist net;
    SQ_TRY(choose_tail(synth, r, u, pe, &net, err));
    silicon->pe_um2 = net.area;
    silicon->period_ns = net.ns;
    return line_of(synth, r, u, silicon, err);
}

// As many of the smallest netlists as one for each output of 16 bits of the port has at the clock of the row.
static enum sq_status add_lanes(const struct sq_synth *synth, const struct sq_machine *machine,
                                const struct sq_synth_block *lane, struct sq_fair_silicon *silicon,
                                struct sq_error *err)
{
    enum { NBITS = 16 };
    const double clock_ns = synth->period_ns > 0 ? synth->period_ns : silicon->period_ns;
    SQ_CLOSED(sq_synth_result_free) struct sq_synth_result result = {0};
    SQ_TRY(sq_synth_area(synth, lane, &result, err));
    const double each =
        result.has_delay && clock_ns > 0 ? ceil(result.min_period_ns / clock_ns) : 1;
    silicon->output_mm2 +=
        1e-6 * result.area * machine->cores * each * ceil(machine->port_nbits / (double)NBITS);
    return SQ_OK;
}

// What scales and adds sums; before it, of exact sums, what makes binary32 of them.
static enum sq_status output_of(const struct sq_synth *synth, const struct sq_machine *machine,
                                const struct sq_cost_unit *u, struct sq_fair_silicon *silicon,
                                struct sq_error *err)
{
    enum { SLOTS = 8 };
    const struct sq_synth_block lane = {
        .top = "sq_combine",
        .n_params = 3,
        .param = {{"Lanes", 1}, {"Slots", SLOTS}, {"Form", u->unit.output.form}}};
    if (!machine->port_nbits || machine->chip.bus_nbytes)
        return SQ_OK;
    silicon->output_mm2 = 0;
    SQ_TRY(add_lanes(synth, machine, &lane, silicon, err));
    for (size_t i = 0; silicon->sum && strcmp(silicon->sum, "exact") == 0 && sq_area_unit(i); i++) {
        const struct sq_area_item item = {.kind = SQ_AREA_UNIT, .unit = sq_area_unit(i)};
        const struct sq_synth_block total = sq_area_synth(&item);
        if (strcmp(total.top, "sq_fixed_float") == 0)
            return add_lanes(synth, machine, &total, silicon, err);
    }
    return SQ_OK;
}

static enum sq_status vector_of(const struct sq_synth *synth, const struct sq_machine *machine,
                                struct sq_fair_silicon *silicon, struct sq_error *err)
{
    const struct sq_synth_block lane = {
        .top = "sq_vector", .n_params = 2, .param = {{"Lanes", 1}, {"Cut", 1}}};
    SQ_CLOSED(sq_synth_result_free) struct sq_synth_result result = {0};
    SQ_TRY(sq_synth_area(synth, &lane, &result, err));
    silicon->vector_mm2 = 1e-6 * result.area * machine->vector_lanes * machine->cores;
    silicon->vector_ns = result.has_delay ? result.min_period_ns : NAN;
    return SQ_OK;
}

static double or_none(double v)
{
    return isnan(v) ? 0 : v;
}

double sq_fair_n_lines(const struct sq_machine *machine)
{
    return (double)machine->cores * (machine->core.rows + machine->core.cols);
}

const struct sq_fair_silicon sq_fair_silicon_none = {NULL, NULL, NAN, NAN, NAN, NAN, NAN, NAN,
                                                     NAN,  NAN,  NAN, NAN, NAN, NAN, NAN, NAN};

enum sq_status sq_fair_silicon_of(const struct sq_synth *synth, const struct sq_recipe *r,
                                  const struct sq_machine *machine, double sram_um2,
                                  enum sq_fair_extent extent, struct sq_fair_silicon *silicon,
                                  struct sq_error *err)
{
    const struct sq_core_config *core = &machine->core;
    struct sq_cost_unit u = unit_of(r, core);
    const double cores = machine->cores;
    struct sq_cost_pe pe = {.n_parts = 0};
    *silicon = sq_fair_silicon_none;
    if (machine->chip.bus_nbytes) {
        struct sq_chip_layer layer;
        SQ_TRY(sq_machine_chip_for(machine, r, sq_machine_chip_products(machine), &layer, err));
        chip_pe(r, layer.value, &u, &pe);
    } else if (r->format->cost->pe) {
        r->format->cost->pe(r, &u, &pe);
    }
    if (pe.n_parts > 0)
        SQ_TRY(price_pe(synth, r, &u, &pe, silicon, err));
    silicon->sum = pe.sum;
    silicon->unit = pe.unit;
    if (extent == SQ_FAIR_WHOLE)
        SQ_TRY(output_of(synth, machine, &u, silicon, err));
    if (extent >= SQ_FAIR_VECTOR)
        SQ_TRY(vector_of(synth, machine, silicon, err));
    silicon->pe_mm2 = 1e-6 * silicon->pe_um2 * cores * core->rows * core->cols;
    silicon->line_mm2 = 1e-6 * silicon->line_um2 * sq_fair_n_lines(machine);
    silicon->sram_mm2 = 1e-6 * sram_um2 * 8 * cores * (double)sq_machine_buffer_nbytes(machine);
    silicon->mm2 = extent == SQ_FAIR_WHOLE ? silicon->pe_mm2 + or_none(silicon->line_mm2) +
                                                 or_none(silicon->output_mm2) +
                                                 silicon->vector_mm2 + or_none(silicon->sram_mm2)
                                           : NAN;
    return SQ_OK;
}

enum sq_status sq_fair_sram(const char *dir, double *um2, struct sq_error *err)
{
    enum { WORD_NBITS = 64 }; // of sq_sram.sv
    struct sq_synth_macro macro[SQ_SYNTH_MACROS];
    *um2 = NAN;
    const enum sq_status status = sq_synth_macros_read(macro, dir, err);
    for (unsigned i = 0; status == SQ_OK && i < SQ_SYNTH_MACROS && macro[i].words; i++) {
        const double bit = macro[i].lib.cell[0].area / (double)macro[i].words / WORD_NBITS;
        *um2 = fmin(isnan(*um2) ? INFINITY : *um2, bit);
    }
    sq_synth_macros_free(macro);
    return status;
}

// ---- lanes and columns ------------------------------------------------------------------------

// A power of two of lanes that divides the scale group. Both paths of a core take what suits their banks.
static bool is_whole(const struct sq_cost_unit *u)
{
    const unsigned n = u->low_lanes;
    return has_both_paths(u) ||
           (n > 0 && (n & (n - 1)) == 0 && (u->flush == 0 || u->flush % n == 0));
}

// The PE with so many bit products, of its first tail; without parts: RTL has none, or not of whole lanes.
static void pe_of(const struct sq_machine *machine, const struct sq_recipe *r, unsigned products,
                  struct sq_cost_unit *u, struct sq_cost_pe *pe)
{
    struct sq_core_config core;
    *pe = (struct sq_cost_pe){.n_parts = 0};
    *u = (struct sq_cost_unit){.low_lanes = 0};
    if (!rebuild(machine, r, products, &core))
        return;
    *u = unit_of(r, &core);
    if (is_whole(u))
        r->format->cost->pe(r, u, pe);
}

// The fewest bit products with other lanes than those of `at`, above or below; 0: there are none.
static unsigned next_pe(const struct sq_machine *machine, const struct sq_recipe *r, unsigned at,
                        bool is_up)
{
    const unsigned most = TIMES_MAX * products_of(&machine->core);
    struct sq_cost_unit was, u;
    struct sq_cost_pe pe;
    pe_of(machine, r, at, &was, &pe);
    const bool by_halves = has_both_paths(&was); // whose lanes are searched for each number
    unsigned found = 0, lanes = 0, p = at;
    while ((p = is_up ? (by_halves ? 2 * p : p + 1) : (by_halves ? p / 2 : p - 1)) > 0 &&
           p <= most) {
        pe_of(machine, r, p, &u, &pe);
        const bool is_other = pe.n_parts > 0 && (by_halves || u.low_lanes != was.low_lanes);
        if (found > 0 && (!is_other || u.low_lanes != lanes))
            break;
        if (is_other) {
            found = p;
            lanes = u.low_lanes;
        }
        if (found > 0 && (is_up || by_halves))
            break;
    }
    return found;
}

// A first guess: the machine's own number of bit products, or the next above it, or below.
static unsigned first_pe(const struct sq_machine *machine, const struct sq_recipe *r)
{
    const unsigned reference = products_of(&machine->core);
    struct sq_cost_unit u;
    struct sq_cost_pe pe;
    pe_of(machine, r, reference, &u, &pe);
    if (has_both_paths(&u) && pe.n_parts > 0)
        return reference;
    const unsigned up = next_pe(machine, r, reference - 1, true);
    return up > 0 ? up : next_pe(machine, r, reference, false);
}

// The most lanes whose smallest PE is no larger than the machine's own; where none is, the fewest.
static enum sq_status search_lanes(const struct sq_synth *synth, const struct sq_machine *machine,
                                   const struct sq_recipe *r, double limit, unsigned *products,
                                   struct sq_error *err)
{
    unsigned at = first_pe(machine, r);
    struct sq_cost_unit u;
    struct sq_cost_pe pe;
    double area, other = 0;
    if (at == 0)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "fair = area: RTL has no PE of %s with these bits",
                       r->format->name);
    pe_of(machine, r, at, &u, &pe);
    SQ_TRY(area_of(synth, &pe, &area, err));
    const bool is_up = area <= limit;
    for (unsigned next; (next = next_pe(machine, r, at, is_up)) > 0; at = next) {
        if (!is_up && area <= limit)
            break;
        // A large PE takes the tools minutes: not tried where twice the lanes are more than fits.
        const double before = u.low_lanes;
        pe_of(machine, r, next, &u, &pe);
        if (is_up && area * u.low_lanes / before > 1.2 * limit)
            break;
        SQ_TRY(area_of(synth, &pe, &other, err));
        if (is_up && other > limit)
            break;
        area = other;
    }
    *products = at;
    return SQ_OK;
}

// Rows and columns of PEs that fill the silicon of the machine's own, less what is taken: as many rows as it has, or down
// to three quarters of them where that fills more than 97 %.
static enum sq_status fill(const struct sq_recipe *r, struct sq_fair_pe *pe, double taken_um2,
                           struct sq_machine *machine, struct sq_error *err)
{
    const unsigned most = machine->core.rows, had = machine->core.cols;
    const double silicon = most * had * pe->reference_um2, budget = silicon - taken_um2;
    const double line = isnan(pe->line_um2) ? 0 : pe->line_um2;
    pe->filled = 0;
    for (unsigned rows = most; rows >= 1 && 4 * rows >= 3 * most && pe->filled < 0.97; rows--) {
        const double fits = floor((budget - rows * line) / (rows * pe->area_um2 + line));
        const double cols = fmin(fits, COLS_MAX);
        const double filled =
            (taken_um2 + rows * cols * pe->area_um2 + (rows + cols) * line) / silicon;
        if (cols >= 1 && filled > pe->filled) {
            pe->filled = filled;
            machine->core.rows = rows;
            machine->core.cols = (unsigned)cols;
        }
    }
    if (pe->filled == 0)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "fair = area: the smallest PE of %s has %.0f um2, need at most the %.0f of "
                       "the machine's own %u columns",
                       r->format->name, pe->area_um2, had * pe->reference_um2, had);
    return SQ_OK;
}

// ---- a second array ---------------------------------------------------------------------------

static bool is_same_pe(const struct sq_cost_pe *a, const struct sq_cost_pe *b)
{
    bool is_same = a->n_parts == 1 && b->n_parts == 1 &&
                   strcmp(a->part[0].top, b->part[0].top) == 0 &&
                   a->part[0].n_params == b->part[0].n_params;
    for (size_t i = 0; is_same && i < a->part[0].n_params; i++)
        is_same = strcmp(a->part[0].param[i].name, "Lanes") == 0 ||
                  a->part[0].param[i].value == b->part[0].param[i].value;
    return is_same;
}

static void first_pe_of(const struct sq_machine *machine, const struct sq_recipe *r,
                        unsigned *products, struct sq_cost_pe *pe)
{
    struct sq_cost_unit u;
    *pe = (struct sq_cost_pe){.n_parts = 0};
    *products = r->format->cost->pe ? first_pe(machine, r) : 0;
    if (*products > 0)
        pe_of(machine, r, *products, &u, pe);
}

bool sq_fair_takes(const struct sq_machine *machine, const struct sq_recipe *r,
                   const struct sq_recipe *other)
{
    unsigned products;
    struct sq_cost_pe pe, its;
    first_pe_of(machine, r, &products, &pe);
    first_pe_of(machine, other, &products, &its);
    return is_same_pe(&pe, &its);
}

void sq_fair_second_size(struct sq_core_config *core)
{
    core->rows = (core->rows + 3) / 4;
    core->cols = (core->cols + 1) / 2;
}

enum sq_status sq_fair_second(const struct sq_synth *synth, const struct sq_recipe *r,
                              const struct sq_machine *machine, struct sq_fair_second *second,
                              struct sq_error *err)
{
    struct sq_core_config *const core = &second->machine.core;
    struct sq_cost_pe pe;
    struct netlist net;
    unsigned products;
    *second = (struct sq_fair_second){.machine = *machine};
    first_pe_of(machine, r, &products, &pe);
    if (pe.n_parts == 0)
        return SQ_OK;
    (void)rebuild(machine, r, products, core);
    const struct sq_cost_unit u = unit_of(r, core);
    sq_fair_second_size(core);
    second->lanes = u.low_lanes;
    SQ_TRY(choose_tail(synth, r, &u, &pe, &net, err));
    second->um2 = net.area * core->rows * core->cols;
    second->period_ns = net.ns;
    return SQ_OK;
}

// ---- a chip ---------------------------------------------------------------------------------

// A PE of a chip, and how much of the limit it takes: bit products, or um2.
struct chip_pe {
    struct sq_chip_layer layer;
    double takes;
};

static enum sq_status try_chip(enum sq_fair fair, const struct sq_synth *synth,
                               const struct sq_machine *machine, const struct sq_recipe *r,
                               unsigned products, struct chip_pe *to, struct sq_error *err)
{
    struct sq_cost_pe pe = {.n_parts = 0};
    struct sq_cost_unit u;
    SQ_TRY(sq_machine_chip_for(machine, r, products, &to->layer, err));
    to->takes = sq_chip_products(to->layer.value);
    if (fair != SQ_FAIR_AREA)
        return SQ_OK;
    chip_pe(r, to->layer.value, &u, &pe);
    if (pe.n_parts == 0)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "fair = area: RTL has no PE of %s",
                       r->format->name);
    return area_of(synth, &pe, &to->takes, err);
}

// The longest beat whose PE is no larger than `limit`; where none is, the shortest there is.
static enum sq_status search_chip(enum sq_fair fair, const struct sq_synth *synth,
                                  const struct sq_machine *machine, const struct sq_recipe *r,
                                  double limit, struct chip_pe *best, struct sq_error *err)
{
    const unsigned reference = sq_machine_chip_products(machine);
    unsigned products = reference;
    enum sq_status status = try_chip(fair, synth, machine, r, products, best, err);
    while (status == SQ_ERR_RANGE &&
           products < TIMES_MAX * reference) { // a bank or block is one beat
        products *= 2;
        status = try_chip(fair, synth, machine, r, products, best, err);
    }
    SQ_TRY(status);
    const bool is_small = best->takes <= limit;
    while (products > 1 && products < TIMES_MAX * reference) {
        struct chip_pe next;
        products = is_small ? 2 * products : products / 2;
        status = try_chip(fair, synth, machine, r, products, &next, err);
        if (status == SQ_ERR_RANGE ||
            (status == SQ_OK && ((is_small && next.takes > limit) || next.takes == best->takes)))
            return SQ_OK;
        SQ_TRY(status);
        *best = next;
        if (!is_small && best->takes <= limit)
            return SQ_OK;
    }
    return SQ_OK;
}

// As many columns as the silicon, or the bit products, of the machine's own pay for, and as a chip may have.
static enum sq_status chip_columns(const struct sq_machine *machine, const struct sq_recipe *r,
                                   double limit, const struct chip_pe *pe, struct sq_machine *fair,
                                   struct sq_error *err)
{
    const double cols = floor(machine->core.cols * limit / pe->takes);
    struct sq_chip_layer layer;
    *fair = *machine;
    if (cols < 1)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "fair: the smallest PE of %s takes %.0f, need at most the %.0f of the "
                       "machine's own %u columns",
                       r->format->name, pe->takes, machine->core.cols * limit, machine->core.cols);
    fair->core.cols = (unsigned)fmin(cols, COLS_MAX);
    if (cols < machine->core.cols) // sums of as many tiles
        fair->out_nbytes = fair->out_nbytes * fair->core.cols / machine->core.cols;
    fair->core.low_lanes = sq_chip_products(pe->layer.value);
    fair->core.high_lanes = 0;
    fair->core.low_bits = fair->core.act_bits = 1;
    while (fair->core.cols > machine->core.cols &&
           sq_machine_chip_for(fair, r, fair->core.low_lanes, &layer, NULL) == SQ_ERR_RANGE)
        fair->core.cols--;
    return SQ_OK;
}

static enum sq_status fair_chip(enum sq_fair fair, const struct sq_synth *synth,
                                const struct sq_recipe *r, struct sq_machine *machine,
                                struct sq_fair_pe *pe, struct sq_error *err)
{
    const unsigned reference = sq_machine_chip_products(machine);
    struct sq_machine changed = *machine;
    struct chip_pe found;
    double limit = reference;
    if (fair != SQ_FAIR_NONE && reference == 0)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "fair = %s: chip %.40s states no multipliers, need core.low_lanes and "
                       "core.high_lanes",
                       sq_fair_names[fair], machine->name);
    if (fair == SQ_FAIR_AREA) {
        SQ_TRY(reference_area(synth, machine, &pe->reference_um2, err));
        limit = pe->reference_um2;
    }
    if (fair == SQ_FAIR_NONE) {
        SQ_TRY(try_chip(fair, synth, machine, r, reference, &found, err));
    } else {
        SQ_TRY(search_chip(fair, synth, machine, r, limit, &found, err));
        SQ_TRY(chip_columns(machine, r, limit, &found, &changed, err));
    }
    if (fair == SQ_FAIR_AREA)
        pe->area_um2 = found.takes;
    *machine = changed;
    pe->products = sq_chip_products(found.layer.value);
    pe->reference = reference ? reference : pe->products;
    pe->low_lanes = found.layer.value[SQ_TOP_BANK_LEN];
    pe->high_lanes = 0;
    return SQ_OK;
}

// Lanes by the smallest netlists, then as many PEs of the wanted ones as fit.
static enum sq_status fair_area(const struct sq_synth *synth, const struct sq_recipe *r,
                                double taken_um2, struct sq_machine *machine,
                                struct sq_fair_pe *fair, unsigned *products, struct sq_error *err)
{
    struct sq_fair_silicon silicon = sq_fair_silicon_none;
    struct sq_cost_unit u;
    struct sq_cost_pe pe;
    if (!r->format->cost->pe)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "fair = area: RTL has no PE of %s",
                       r->format->name);
    SQ_TRY(reference_area(synth, machine, &fair->reference_um2, err));
    SQ_TRY(search_lanes(synth, machine, r, fair->reference_um2, products, err));
    pe_of(machine, r, *products, &u, &pe);
    SQ_TRY(price_pe(synth, r, &u, &pe, &silicon, err));
    fair->area_um2 = silicon.pe_um2;
    fair->line_um2 = silicon.line_um2;
    return fill(r, fair, taken_um2, machine, err);
}

enum sq_status sq_fair_machine(enum sq_fair fair, const struct sq_synth *synth,
                               const struct sq_recipe *r, double taken_um2,
                               struct sq_machine *machine, struct sq_fair_pe *pe,
                               struct sq_error *err)
{
    unsigned products = products_of(&machine->core);
    struct sq_core_config core;
    *pe = (struct sq_fair_pe){.reference = products,
                              .area_um2 = NAN,
                              .reference_um2 = NAN,
                              .line_um2 = NAN,
                              .filled = NAN};
    if (machine->chip.bus_nbytes)
        return fair_chip(fair, synth, r, machine, pe, err);
    if (fair == SQ_FAIR_AREA)
        SQ_TRY(fair_area(synth, r, taken_um2, machine, pe, &products, err));
    core = machine->core;
    if (fair != SQ_FAIR_NONE && !rebuild(machine, r, products, &core))
        return SQ_FAIL(err, SQ_ERR_RANGE, "fair: %u bit products have no room for %s", products,
                       r->format->name);
    machine->core = core;
    const struct sq_cost_unit u = unit_of(r, &core);
    pe->products = products_of(&core);
    pe->low_lanes = u.low_lanes;
    pe->high_lanes = u.high_lanes;
    return SQ_OK;
}
