// SPDX-License-Identifier: Apache-2.0
// Sweep specifications and their points; first byte 1: a constraint alone.
#include <jansson.h>

#include "sim/sweep/sq_sweep_grid.h"
#include "tests/fuzz/fuzz.h"

static const char machine[] =
    "{name: m, clock: 1 GHz, cores: 1, core: {rows: 8, cols: 8, low_lanes: 16, high_lanes: 4, "
    "low_bits: 4, high_bits: 8, act_bits: 8, gather: crossbar}, buffers: {activation: 256 KiB, "
    "weight: 256 KiB, output: 512 KiB}, dram: {bandwidth: 128 GB/s, latency: 100 ns, burst: 64 "
    "B}}\n";

static void constraint(struct fuzz_reader *r)
{
    struct sq_constraint c;
    struct sq_error err;
    double quantity[SQ_CONSTRAINT_VALUES];
    char *text = fuzz_text(r);
    const enum sq_status status = sq_constraint_parse(text, &c, &err);
    fuzz_ok(status, &err);
    for (unsigned i = 0; i < SQ_CONSTRAINT_VALUES; i++)
        quantity[i] = i;
    if (status == SQ_OK)
        fuzz_sink += sq_constraint_holds(&c, quantity);
    free(text);
}

static void points(const struct sq_sweep_grid *s)
{
    char text[SQ_PARAMETERS_SIZE];
    for (size_t i = 0; i < s->n_points && i < 8; i++) {
        struct sq_sweep_point p;
        sq_sweep_grid_point(s, s->n_points - 1 - i, &p);
        sq_sweep_parameters(&p, text);
        json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        FUZZ_CHECK(json_is_object(json));
        json_decref(json);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fuzz_reader r = {data, n};
    struct sq_sweep_grid s = {.n_points = 0};
    struct sq_error err;
    if (n > 0 && data[0] == 1) {
        (void)fuzz_byte(&r);
        constraint(&r);
        return 0;
    }
    fuzz_file("mem/m.yaml", machine, sizeof machine - 1);
    fuzz_file(FUZZ_FILE, data, n);
    if (fuzz_ok(sq_sweep_grid_load(&s, FUZZ_FILE, "mem", &err), &err)) {
        FUZZ_CHECK(s.n_points > 0 && s.n_points <= SQ_SWEEP_POINTS_MAX && s.n_measures > 0);
        points(&s);
    }
    sq_sweep_grid_free(&s);
    return 0;
}
