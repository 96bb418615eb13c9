// SPDX-License-Identifier: Apache-2.0
// The law of all GPUs, and leaving one GPU out. The law's shares are computed here by hand; times
// that a known law made give it back; and on such times the table of leave-one-out is known: a GPU
// all of whose times are 1.25 times the law's is predicted a fifth too fast by what the others say,
// and right after its own fit.
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/sq_rng.h"
#include "sim/gpu/sq_gpu_cross.h"
#include "tests/test.h"

// Data sheets that differ in size, power and DRAM; three kinds each.
static struct sq_gpu sheet(const char *name, unsigned sms, double watts, double dram_peak)
{
    struct sq_gpu g = {.sms = sms, .clock_hz = 1.5e9, .watts = watts, .dram_peak = dram_peak};
    snprintf(g.name, sizeof g.name, "%s", name);
    g.n_kinds = 3;
    g.kind[0] = (struct sq_gpu_kind){.dtype = SQ_GPU_BF16, .macs = 1024};
    g.kind[1] = (struct sq_gpu_kind){.dtype = SQ_GPU_FP8, .macs = 2048};
    g.kind[2] = (struct sq_gpu_kind){.dtype = SQ_GPU_FP8, .is_sparse = true, .macs = 4096};
    return g;
}

static const struct sq_gpu_law made = {.share = 0.7,
                                       .per_watt = 0.25,
                                       .watts = 0.1,
                                       .sparse = 0.7,
                                       .launch_s = 6e-6,
                                       .alone = 2,
                                       .dram = 0.8,
                                       .quantize = 1,
                                       .tail = 1500,
                                       .knee = 3};

// 60 shapes of every kind, M from 1 on, at the times of the law, `slower` times as long.
static void make_records(const struct sq_gpu *gpu, double slower, struct sq_gpu_records *g)
{
    struct sq_rng r = {7};
    struct sq_gpu truth = *gpu;
    memset(g, 0, sizeof *g);
    g->r = calloc(180, sizeof *g->r);
    sq_gpu_law_apply(&made, &truth);
    for (unsigned i = 0; i < 60; i++) {
        const uint64_t m = UINT64_C(1) << i % 14, n = 512 * (1 + sq_rng_below(&r, 24)),
                       k = 512 * (1 + sq_rng_below(&r, 24));
        for (unsigned kind = 0; kind < 3; kind++) {
            struct sq_gpu_record *x = &g->r[g->n++];
            struct sq_gpu_time t;
            x->gemm = (struct sq_gpu_gemm){.m = m,
                                           .n = n,
                                           .k = k,
                                           .dtype = gpu->kind[kind].dtype,
                                           .is_sparse = gpu->kind[kind].is_sparse,
                                           .is_alone = i % 3 == 1,
                                           .out_nbytes = 2};
            assert_ok(sq_gpu_time_gemm(&truth, &x->gemm, &t, NULL));
            x->seconds = slower * t.seconds;
        }
    }
    assert_ok(sq_gpu_records_number(g, NULL));
    for (size_t i = 0; i < g->n; i++) // one shape in three: few files
        g->r[i].is_calibration = i / 3 % 3 == 0;
}

SQ_TEST(test_shares)
{
    struct sq_gpu g = sheet("g", 100, 400, 2e12);
    const struct sq_gpu_law law = {.share = 0.5,
                                   .per_watt = 0.5,
                                   .watts = 1,
                                   .sparse = 0.5,
                                   .launch_s = 1e-6,
                                   .alone = 2,
                                   .dram = 0.8,
                                   .quantize = 3,
                                   .tail = 100,
                                   .knee = 4};
    g.clock_hz = 1e9;
    g.kind[0].macs = 2000; // 400 T/s: a watt for each
    g.kind[1].macs = 8000; // a quarter of that
    g.kind[2].macs = 8192; // 2:4: of half the energy; the edge of a tile is twice that of 2048
    sq_gpu_law_apply(&law, &g);
    assert_true(fabs(g.kind[0].sustained - 0.5) < 1e-12);
    assert_true(fabs(g.kind[1].sustained - 0.25) < 1e-12);
    assert_true(fabs(g.dram_bytes_per_s - 1.6e12) < 1 && g.kind[0].dram == 0.8);
    assert_true(g.kind[2].launch_s == 1e-6 && g.kind[2].tail == 200 && g.knee == 4);
    assert_true(fabs(g.kind[2].sustained - 0.5 * sqrt(400 / (1638.4 / 2))) < 1e-12);
    assert_true(g.quantize == 3);
    g.watts = 800; // twice: sqrt(2) x 2
    sq_gpu_law_apply(&law, &g);
    assert_true(fabs(g.kind[1].sustained - 0.25 * sqrt(8)) < 1e-12);
    assert_true(g.kind[0].sustained == 1); // 1.41 by the power
}

SQ_TEST(test_law_fit)
{
    const struct sq_gpu gpu[3] = {sheet("a", 100, 300, 1.5e12), sheet("b", 140, 700, 4e12),
                                  sheet("c", 60, 350, 8e11)};
    const bool skip[3] = {false, false, false}, all[3] = {true, true, true};
    struct sq_gpu_records g[3];
    struct sq_gpu_law law;
    struct sq_error err;
    for (unsigned i = 0; i < 3; i++)
        make_records(&gpu[i], 1, &g[i]);
    assert_ok(sq_gpu_law_fit(gpu, g, skip, 3, &law, NULL));
    for (unsigned i = 0; i < 3; i++) {
        struct sq_gpu by = gpu[i];
        sq_gpu_law_apply(&law, &by);
        for (size_t j = 0; j < g[i].n; j++) {
            struct sq_gpu_time t;
            assert_ok(sq_gpu_time_gemm(&by, &g[i].r[j].gemm, &t, NULL));
            if (fabs(t.seconds / g[i].r[j].seconds - 1) > 0.05)
                fail_msg("file %u row %zu: %g s, want %g", i, j, t.seconds, g[i].r[j].seconds);
        }
    }
    assert_int_equal(sq_gpu_law_fit(gpu, g, all, 3, &law, &err), SQ_ERR_RANGE);
    for (unsigned i = 0; i < 3; i++)
        sq_gpu_records_free(&g[i]);
}

static const struct sq_gpu_cross_line *line_of(const struct sq_gpu_cross *c, size_t file,
                                               enum sq_gpu_cross_rows rows_of, bool is_small)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->line[i].file == file && c->line[i].rows_of == rows_of &&
            c->line[i].is_small == is_small)
            return &c->line[i];
    fail();
    return NULL;
}

static unsigned heard;

static void hear(size_t done, size_t total)
{
    heard++;
    assert_true(done == heard && total == 4);
}

SQ_TEST(test_leave_one_out)
{
    const struct sq_gpu gpu[4] = {sheet("a", 100, 300, 1.5e12), sheet("b", 140, 700, 4e12),
                                  sheet("c", 60, 350, 8e11), sheet("slow", 120, 500, 2e12)};
    struct sq_gpu_records g[4];
    struct sq_gpu_cross c;
    struct sq_error err;
    for (unsigned i = 0; i < 4; i++)
        make_records(&gpu[i], i == 3 ? 1.25 : 1, &g[i]);
    heard = 0;
    assert_ok(sq_gpu_cross(gpu, g, 4, hear, &c, NULL));
    assert_int_equal(heard, 4);
    for (unsigned is_small = 0; is_small < 2; is_small++) {
        const struct sq_gpu_cross_line *l = line_of(&c, 3, SQ_GPU_CROSS_ALL, is_small == 1);
        const struct sq_gpu_score *out = &l->score[0][SQ_GPU_MODEL],
                                  *own = &l->score[1][SQ_GPU_MODEL];
        assert_true(fabs(out->error - 0.2) < 0.02 && own->error < 0.02);
        // The factor is in both times of a speedup.
        assert_true(out->speedup_error < 0.03 && out->rank > 0.98);
        // A roofline has neither the tail nor the knee nor calls alone.
        assert_true(l->score[0][SQ_GPU_ROOFLINE].error > own->error);
        // M of 1..64: 7 of 14 powers of two; one shape in three is fitted; each with three kinds.
        size_t want = 0;
        for (unsigned i = 0; i < 60; i++)
            want += i % 3 != 0 && (i % 14 < 7) == (is_small == 1) ? 3 : 0;
        assert_int_equal(l->rows, want);
        assert_int_equal(l->pairs, 2 * want / 3); // FP8 over BF16, 2:4 over dense
        assert_int_equal(line_of(&c, 3, SQ_GPU_CROSS_KIND, is_small == 1)->rows, want / 3);
    }
    size_t rows = 0, sum = 0;
    for (size_t i = 0; i < c.n; i++)
        if (c.line[i].rows_of == SQ_GPU_CROSS_ALL && !c.line[i].is_small)
            *(c.line[i].file == SQ_GPU_CROSS_MAX ? &sum : &rows) += c.line[i].rows;
    assert_true(sum == rows && rows > 0);
    sq_gpu_cross_free(&c);
    const struct sq_gpu same[2] = {gpu[0], gpu[0]};
    assert_int_equal(sq_gpu_cross(same, g, 2, NULL, &c, &err), SQ_ERR_ARG);
    assert_non_null(strstr(err.text, "at least two"));
    for (unsigned i = 0; i < 4; i++)
        sq_gpu_records_free(&g[i]);
}
