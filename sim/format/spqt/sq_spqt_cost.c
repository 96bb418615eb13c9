// SPDX-License-Identifier: Apache-2.0
// Computes from the share of active columns which bursts are fetched and how long the index unit
// scans (sq_spqt_cost.h).
#include "sim/format/spqt/sq_spqt_cost.h"
#include "sim/io/sq_checked.h"

#include <math.h>

#include "models/number/sq_q4k.h"
#include "sim/block/spqt/sq_spqt_idx_block.h"

const char *const sq_spqt_layout_names[SQ_SPQT_LAYOUTS + 1] = {"zigzag", "row"};

// ---- bytes ----------------------------------------------------------------------------------

enum { BLOCK = SQ_Q4K_NBYTES, COLUMNS = SQ_Q4K_LEN, SCALES = BLOCK - COLUMNS / 2 };

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
    const unsigned n = BLOCK / (unsigned)sq_gcd(BLOCK, burst); // bursts until the pattern repeats
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

uint64_t sq_spqt_index_cycles(uint64_t k, double active)
{
    return sq_spqt_idx_cycles(k, (uint64_t)llround((double)k * active));
}
