// SPDX-License-Identifier: Apache-2.0
// sq_output_port.h: the closed forms against the cycle model of the output stage, stepped, behind a
// source that gives a tile of sums every so many cycles and has one register for it. Tiles of 1..16
// outputs, all lanes and words that divide, 1..4 scale groups, intervals 1..20, a queue of a tile.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/block/output/sq_output_sim.h"
#include "tests/test.h"

enum { FIRST = 2, CYCLES = 20000 };

struct run {
    uint64_t cycles;      // up to and with the last word
    uint64_t last_period; // between the last words of the last two tiles
};

static struct run step(const struct sq_output_config *c, uint64_t tiles, uint64_t groups,
                       uint64_t interval)
{
    struct sq_output_sim s;
    struct run r = {0};
    uint64_t next = FIRST, given = 0, words = 0, end = 0;
    const uint64_t per_tile = (uint64_t)c->rows * c->cols / c->port_len;
    sq_output_init(&s, c);
    for (uint64_t t = 0; t < CYCLES && words < tiles * per_tile; t++) {
        struct sq_output_out out;
        const struct sq_output_in in = {.tile_valid = given < tiles * groups && t >= next,
                                        .scale_valid = true,
                                        .scale_last = (given - s.held) % groups == groups - 1,
                                        .out_ready = true};
        sq_output_comb(&s, &in, &out);
        sq_output_clock(&s, &in);
        if (in.tile_valid && out.tile_ready) { // the next one, begun meanwhile
            next = next + interval > t + 1 ? next + interval : t + 1;
            given++;
        }
        if (out.out_valid && ++words % per_tile == 0) {
            r.last_period = t + 1 - end;
            end = r.cycles = t + 1;
        }
    }
    return r;
}

static unsigned long n_compared;

static void check(const struct sq_output_config *c)
{
    const struct sq_output_port p = sq_output_port_of(c);
    for (uint64_t groups = 1; groups <= 4; groups++)
        for (uint64_t interval = 1; interval <= 20; interval++)
            for (uint64_t tiles = 1; tiles <= 5; tiles += 2) {
                const struct run r = step(c, tiles, groups, interval);
                const uint64_t cycles = sq_output_job_cycles(&p, FIRST, tiles, groups, interval);
                if (r.cycles != cycles)
                    printf("# tile %ux%u, lanes %u, port %u, hold %u, form %u, kind %u, groups "
                           "%llu, interval %llu, tiles %llu: stepped %llu, closed %llu\n",
                           c->rows, c->cols, c->lanes, c->port_len, c->hold, c->form, c->kind,
                           (unsigned long long)groups, (unsigned long long)interval,
                           (unsigned long long)tiles, (unsigned long long)r.cycles,
                           (unsigned long long)cycles);
                assert_int_equal(r.cycles, cycles);
                if (tiles == 5)
                    assert_int_equal(r.last_period, sq_output_tile_cycles(&p, groups, interval));
                n_compared++;
            }
}

SQ_TEST(test_closed_form_is_stepping)
{
    for (unsigned tile = 1; tile <= 16; tile++)
        for (unsigned lanes = 1; lanes <= tile; lanes++)
            for (unsigned port = 1; port <= lanes; port++)
                for (unsigned i = 0; i < 4 && tile % lanes == 0 && lanes % port == 0; i++) {
                    const unsigned slots = tile / lanes;
                    const struct sq_output_config c = {.rows = 1,
                                                       .cols = tile,
                                                       .lanes = lanes,
                                                       .form = (enum sq_combine_form)(i % 3),
                                                       .kind = (enum sq_output_kind)(i % 3),
                                                       .port_len = port,
                                                       .depth = slots < 2 ? 2 : slots,
                                                       .hold = i / 2};
                    check(&c);
                }
    printf("# %lu jobs\n", n_compared);
}

// The default core of SPEC R.1: 1024 pairs every 8 cycles, groups of 128 of K = 4096.
SQ_TEST(test_default_core)
{
    const struct sq_output_port p = {
        .rows = 32, .cols = 32, .lanes = 128, .form = 1, .out_bits = 16, .port_bits = 512};
    assert_int_equal(sq_output_slots(&p), 8);
    assert_int_equal(sq_output_drain(&p), 32);
    assert_int_equal(sq_output_tile_cycles(&p, 32, 8), 256); // no stall
    assert_int_equal(sq_output_tile_cycles(&p, 1, 8), 32);   // the port is the bound
}
