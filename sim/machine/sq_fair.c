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
    [SQ_FAIR_AREA] = "of equal silicon: PEs that take no more than the machine's own"};

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
        struct sq_synth_result result;
        SQ_TRY(sq_synth_for(synth, &block, period_ns, &result, err));
        net->area += pe->count[i] * result.area;
        net->ns = result.has_delay ? fmax(net->ns, result.min_period_ns) : NAN;
        sq_synth_result_free(&result);
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
                                  const struct sq_cost_unit *u, double period_ns,
                                  struct sq_cost_pe *best, struct netlist *net,
                                  struct sq_error *err)
{
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

// The area of the PE with so many bit products; 0: no PE has so few.
static enum sq_status format_area(const struct sq_synth *synth, const struct sq_machine *machine,
                                  const struct sq_recipe *r, unsigned products, double *area,
                                  struct sq_error *err)
{
    struct sq_core_config core;
    struct sq_cost_pe pe = {.n_parts = 0};
    *area = 0;
    if (!rebuild(machine, r, products, &core))
        return SQ_OK;
    const struct sq_cost_unit u = unit_of(r, &core);
    r->format->cost->pe(r, &u, &pe);
    return area_of(synth, &pe, area, err);
}

// The decoder of a line takes as many blocks as a beat has.
static enum sq_status line_of(const struct sq_synth *synth, const struct sq_recipe *r,
                              const struct sq_cost_unit *u, double period_ns,
                              struct sq_fair_silicon *silicon, struct sq_error *err)
{
    struct sq_format_unit unit[SQ_FORMAT_UNITS];
    struct sq_synth_result result;
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
    sq_synth_result_free(&result);
    return SQ_OK;
}

static enum sq_status vector_of(const struct sq_synth *synth, const struct sq_machine *machine,
                                struct sq_fair_silicon *silicon, struct sq_error *err)
{
    const struct sq_synth_block lane = {.top = "sq_vector", .n_params = 1, .param = {{"Lanes", 1}}};
    struct sq_synth_result result;
    SQ_TRY(sq_synth_area(synth, &lane, &result, err));
    silicon->vector_mm2 = 1e-6 * result.area * machine->vector_lanes * machine->cores;
    silicon->vector_ns = result.has_delay ? result.min_period_ns : NAN;
    sq_synth_result_free(&result);
    return SQ_OK;
}

static double or_none(double v)
{
    return isnan(v) ? 0 : v;
}

enum sq_status sq_fair_silicon_of(const struct sq_synth *synth, const struct sq_recipe *r,
                                  const struct sq_machine *machine, double period_ns,
                                  double sram_um2, struct sq_fair_silicon *silicon,
                                  struct sq_error *err)
{
    const struct sq_core_config *core = &machine->core;
    struct sq_cost_unit u = unit_of(r, core);
    const double cores = machine->cores;
    const double buffers =
        (double)machine->act_nbytes + (double)machine->weight_nbytes + (double)machine->out_nbytes;
    struct sq_cost_pe pe = {.n_parts = 0};
    *silicon = (struct sq_fair_silicon){.pe_um2 = NAN, .line_um2 = NAN, .period_ns = NAN};
    if (machine->chip.bus_nbytes) {
        struct sq_chip_layer layer;
        SQ_TRY(sq_machine_chip_for(machine, r, sq_machine_chip_products(machine), &layer, err));
        chip_pe(r, layer.value, &u, &pe);
    } else if (r->format->cost->pe) {
        r->format->cost->pe(r, &u, &pe);
    }
    if (pe.n_parts > 0) {
        struct netlist net;
        SQ_TRY(choose_tail(synth, r, &u, period_ns, &pe, &net, err));
        silicon->pe_um2 = net.area;
        silicon->period_ns = net.ns;
        SQ_TRY(line_of(synth, r, &u, period_ns, silicon, err));
    }
    silicon->sum = pe.sum;
    silicon->unit = pe.unit;
    SQ_TRY(vector_of(synth, machine, silicon, err));
    silicon->pe_mm2 = 1e-6 * silicon->pe_um2 * cores * core->rows * core->cols;
    silicon->line_mm2 = 1e-6 * silicon->line_um2 * cores * (core->rows + core->cols);
    silicon->sram_mm2 = 1e-6 * sram_um2 * 8 * cores * buffers;
    silicon->mm2 = silicon->pe_mm2 + or_none(silicon->line_mm2) + silicon->vector_mm2 +
                   or_none(silicon->sram_mm2);
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

// The most bit products whose PE is no larger than `limit`: by the rule of three, then by halves. Where
// none is, those of the smallest PE, whose area is then above it.
static enum sq_status search_area(const struct sq_synth *synth, const struct sq_machine *machine,
                                  const struct sq_recipe *r, double limit, unsigned *products,
                                  double *area, struct sq_error *err)
{
    const unsigned reference = products_of(&machine->core);
    const unsigned most = TIMES_MAX * reference;
    unsigned fits = 0, over = most + 1, at = reference, least = 0;
    double smallest = INFINITY;
    *area = 0;
    for (unsigned i = 0; over - fits > 1 && at <= most; i++) {
        double a;
        SQ_TRY(format_area(synth, machine, r, at, &a, err));
        if (a > limit && a < smallest) {
            smallest = a;
            least = at;
        }
        if (a <= limit) {
            fits = at;
            *area = a;
        } else {
            over = at;
        }
        const unsigned guess = a > 0 ? (unsigned)fmin(at * limit / a, most) : 0;
        if (over > most) // nothing too large yet: large ones take the tools minutes
            at = guess > fits + fits / 8 ? guess : fits + fits / 8 + 1;
        else
            at = i < 3 && guess > fits && guess < over ? guess : fits + (over - fits) / 2;
    }
    *products = fits;
    if (*area > 0)
        return SQ_OK;
    if (isinf(smallest))
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "fair = area: RTL has no PE of %s with these bits",
                       r->format->name);
    *products = least;
    *area = smallest;
    return SQ_OK;
}

// The fewest bit products with the lanes that `products` give r: what else runs on the array, such as
// attention in the format of the cache, has no more multipliers than its PE.
static unsigned trim(const struct sq_machine *machine, const struct sq_recipe *r, unsigned products)
{
    struct sq_core_config core;
    (void)rebuild(machine, r, products, &core);
    const struct sq_cost_unit has = unit_of(r, &core);
    bool is_same = !has_both_paths(&has);
    while (is_same && products > 1) {
        is_same = rebuild(machine, r, products - 1, &core);
        const struct sq_cost_unit u = unit_of(r, &core);
        is_same = is_same && u.low_lanes == has.low_lanes && u.high_lanes == has.high_lanes &&
                  u.engines == has.engines && u.span_beats == has.span_beats;
        products -= is_same;
    }
    return products;
}

// Columns of a PE that is larger than the machine's own: no more silicon in all of them.
static enum sq_status take_fewer(const struct sq_recipe *r, const struct sq_fair_pe *pe,
                                 struct sq_machine *machine, struct sq_error *err)
{
    const unsigned cols = (unsigned)(machine->core.cols * pe->reference_um2 / pe->area_um2);
    if (cols == 0)
        return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                       "fair = area: the smallest PE of %s has %.0f um2, need at most the %.0f of "
                       "the machine's own %u columns",
                       r->format->name, pe->area_um2, machine->core.cols * pe->reference_um2,
                       machine->core.cols);
    machine->core.cols = cols;
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

enum sq_status sq_fair_machine(enum sq_fair fair, const struct sq_synth *synth,
                               const struct sq_recipe *r, struct sq_machine *machine,
                               struct sq_fair_pe *pe, struct sq_error *err)
{
    unsigned products = products_of(&machine->core);
    struct sq_core_config core;
    *pe = (struct sq_fair_pe){.reference = products, .area_um2 = NAN, .reference_um2 = NAN};
    if (machine->chip.bus_nbytes)
        return fair_chip(fair, synth, r, machine, pe, err);
    if (fair == SQ_FAIR_AREA) {
        if (!r->format->cost->pe)
            return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "fair = area: RTL has no PE of %s",
                           r->format->name);
        SQ_TRY(reference_area(synth, machine, &pe->reference_um2, err));
        SQ_TRY(search_area(synth, machine, r, pe->reference_um2, &products, &pe->area_um2, err));
        if (pe->area_um2 > pe->reference_um2)
            SQ_TRY(take_fewer(r, pe, machine, err));
        products = trim(machine, r, products);
    }
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
