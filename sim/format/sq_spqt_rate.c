// SPDX-License-Identifier: Apache-2.0
#include "sim/format/sq_spqt_rate.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "models/sq_q4k.h"
#include "sim/block/sq_flow_sim.h"
#include "sim/synth/sq_area_table.h"

const char *const sq_spqt_layout_names[SQ_SPQT_LAYOUTS + 1] = {"zigzag", "row"};
const char *const sq_spqt_schedule_names[] = {"balanced", "static", NULL};

// ---- bytes ----------------------------------------------------------------------------------

enum { BLOCK = SQ_Q4K_NBYTES, COLUMNS = SQ_Q4K_LEN, SCALES = BLOCK - COLUMNS / 2 };

static unsigned gcd(unsigned a, unsigned b)
{
    return b ? gcd(b, a % b) : a;
}

// Columns of one superblock that have bytes in [begin, end) of it.
static unsigned columns_in(enum sq_spqt_layout layout, unsigned begin, unsigned end)
{
    if (layout == SQ_SPQT_ZIGZAG)
        return 1;
    return begin < SCALES ? COLUMNS : 2 * (end - begin);
}

double sq_spqt_fetched(enum sq_spqt_layout layout, unsigned burst, double active)
{
    if (burst == 0)
        return 1 - pow(1 - active, columns_in(layout, 0, BLOCK));
    const unsigned n = BLOCK / gcd(BLOCK, burst); // bursts until the pattern repeats
    double fetched = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned columns = 0;
        for (unsigned at = i * burst, end; at < (i + 1) * burst; at = end) {
            const unsigned block_end = (at / BLOCK + 1) * BLOCK;
            end = block_end < (i + 1) * burst ? block_end : (i + 1) * burst;
            columns += columns_in(layout, at % BLOCK, at % BLOCK + end - at);
        }
        fetched += 1 - pow(1 - active, columns);
    }
    return fetched / n;
}

// ---- cycles ---------------------------------------------------------------------------------

double sq_spqt_busiest(uint64_t k, uint64_t workers, double active)
{
    const uint64_t slice = (k + workers - 1) / workers;
    if (active <= 0 || active >= 1)
        return active <= 0 ? 0 : (double)slice;
    // P(count = t) by its ratio to the one before, in logarithms: the first ones are tiny.
    const double odds = log(active) - log1p(-active);
    double log_p = (double)slice * log1p(-active), cumulative = 0, sum = 0;
    for (uint64_t t = 0; t < slice; t++) {
        cumulative += exp(log_p);
        sum += 1 - pow(fmin(cumulative, 1), (double)workers);
        log_p += odds + log((double)(slice - t) / (double)(t + 1));
    }
    return sum;
}

static unsigned parameter(const char *name)
{
    size_t n;
    const struct sq_block_unit *unit = sq_block_units(&n);
    while (strcmp(unit->name, "spqt_idx") != 0)
        unit++;
    const struct sq_synth_param *p = unit->param;
    while (strcmp(p->name, name) != 0)
        p++;
    return (unsigned)p->value;
}

uint64_t sq_spqt_index_cycles(uint64_t k, double active)
{
    const unsigned width = parameter("SegLen");
    const uint64_t segments = (k + width - 1) / width;
    const uint64_t total = (uint64_t)llround((double)k * active);
    struct sq_flow_sim unit;
    uint64_t cycles = 0, segment = 0;
    assert(total < UINT64_C(1) << 32 && segments < UINT64_C(1) << 31);
    sq_flow_sim_init(&unit, SQ_FLOW_PACK, parameter("Lanes"));
    for (bool ended = false; !ended; cycles++) {
        const uint64_t n = (segment + 1) * total / segments - segment * total / segments;
        const struct sq_flow_beat in[SQ_FLOW_STREAMS] = {
            {.valid = segment < segments, .last = segment + 1 == segments, .n = (uint32_t)n}};
        struct sq_flow_out out;
        sq_flow_comb(&unit, in, true, &out);
        ended = out.out_valid && unit.held_last && unit.held <= unit.depth;
        segment += in[0].valid && out.in_ready[0];
        sq_flow_clock(&unit, in, true);
    }
    return cycles;
}
