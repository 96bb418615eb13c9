// SPDX-License-Identifier: Apache-2.0
// What cells take whatever their operands do: clock pins and leakage (sq_energy.h).
#include <string.h>

#include "sim/energy/sq_energy.h"

// Both edges of the clock pin: of each supply the mean of its states.
static double clock_pin(const struct sq_lib_model *c)
{
    const struct sq_lib_pin *const pin = &c->pin[c->clock];
    double sum = 0;
    for (unsigned supply = 0; supply < SQ_LIB_SUPPLIES; supply++) {
        double joules = 0, groups = 0;
        for (size_t i = 0; i < pin->n_power; i++) {
            const struct sq_lib_power *const p = &pin->power[i];
            if (p->supply != supply)
                continue;
            groups++;
            for (unsigned e = 0; e < 2; e++)
                if (p->table[e].n_slew > 0)
                    joules += sq_lib_table_at(&p->table[e], SQ_ENERGY_SLEW, 0);
        }
        sum += groups > 0 ? joules / groups : 0;
    }
    return sum;
}

// Watts of the cell; where it names none, of each supply the mean of its states.
static double leakage(const struct sq_lib_model *c)
{
    double sum = 0;
    for (unsigned supply = 0; supply < SQ_LIB_SUPPLIES; supply++) {
        double watts = 0, states = 0;
        for (size_t i = 0; i < c->n_leak; i++)
            if (c->leak[i].supply == supply) {
                watts += c->leak[i].watts;
                states++;
            }
        sum += states > 0 ? watts / states : 0;
    }
    return c->has_leakage || c->n_leak == 0 ? c->leakage : sum;
}

enum sq_status sq_energy_idle_of(struct sq_lib_models *models, const struct sq_synth_cells *cell,
                                 size_t n, struct sq_energy_idle *idle, struct sq_error *err)
{
    *idle = (struct sq_energy_idle){0};
    for (size_t i = 0; i < n; i++) {
        const struct sq_lib_model *c;
        if (!sq_liberty_find(models->lib, cell[i].name)) // a memory
            continue;
        SQ_TRY(sq_lib_models_get(models, cell[i].name, &c, err));
        idle->leak += cell[i].count * leakage(c);
        if (c->is_flop)
            idle->clock += cell[i].count *
                           (c->pin[c->clock].cap * models->volts * models->volts + clock_pin(c));
    }
    return SQ_OK;
}
