// SPDX-License-Identifier: Apache-2.0
// The bytes and the work of a stretch of K, from the numbers of a demand (sim/format/sq_demand.h). No format is
// asked.
#pragma once

#include "sim/format/sq_demand.h"

// Beats of an array over so many elements of K.
uint64_t sq_work_beats(const struct sq_cost_unit *u, uint64_t elements);

// Bytes of m tokens and n output channels over the stretch; streams from SQ_STREAM_OUT on are left alone.
void sq_work_nbytes(const struct sq_demand *d, uint64_t m, uint64_t n, const struct sq_stretch *t,
                    uint64_t nbytes[SQ_N_STREAMS]);

// flushes, beats and loads of the job of a tile over `elements` of K; their mean where they are random.
void sq_work_job(const struct sq_demand *d, uint64_t elements, struct sq_unit_job *job);

// Random work over `elements` of K, of c->n entries. False where every tile is the same.
bool sq_work_draw(const struct sq_demand *d, uint64_t elements, uint64_t seed,
                  struct sq_cost_counts *c);
// What the engine does that has most to do; kept: the share of the products of each entry, of all
// engines, that is made.
void sq_work_tiles(const struct sq_demand *d, uint64_t elements, const struct sq_cost_counts *c,
                   struct sq_tile_work tile[SQ_TILES_DRAWN], double kept[SQ_TILES_DRAWN]);
// The real work of the engines in the tile from `row` on, over `elements` of K from `first` on; the demand has
// its own.
void sq_work_own(const struct sq_demand *d, uint64_t row, uint64_t first, uint64_t elements,
                 uint32_t count[SQ_LINES_MAX]);
