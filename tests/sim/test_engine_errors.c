// SPDX-License-Identifier: Apache-2.0
// Which kind of error an engine tells, against what its module says of malformed beats (rtl/sq_engine_*.sv, from
// SPEC 0.3, A.8, G, H, Q). Engines and their golden models could forget a kind alike; here the kind stands
// in a table, by what was put into the job. Each job of the directed cases has one thing wrong, the
// next one nothing: the last word must tell this kind and no other, and no word takes back what one before it told.
//
// Exhausted: every directed job of each engine at every point. Behind it, job by job: what a malformed beat counts as.
#include <assert.h>
#include <string.h>

#include "sim/block/flow/sq_case.h"
#include "sim/block/flow/sq_engine.h"
#include "tests/sim/block_fixture.h"
#include "tests/test.h"
#include "tests/unit/fixture.h"

// Kinds in the order in which a block spoils its jobs, each `times` jobs long: Mask, Code, Scale, Both of these, Index; '-' where the
// format has nothing of the kind. any: what may be told beside it, as drawn bits of FP8 may be no number.
// Behind the last a room's part adds its own.
enum { CASES_MAX = 128 };
static struct {
    const char *block, *point, *kinds;
    unsigned times;
    char any;
} cases[CASES_MAX + 1] = {
    {"engine_array", "sp24", "MCS", 4, '-'},
    {"engine_array", "dense", "-CS", 4, '-'},
    {"engine_array", "compact", "MCS", 4, '-'},
    {"engine_array", "sentinel", "MCS", 4, '-'},
    {"engine_array", "split", "MCS", 4, '-'},
    {"engine_array", "tied", "MCS", 4, '-'},
    {"engine_array", "skid", "MCS", 4, '-'},
    {"engine_static", "b8", "-CS", 4, '-'},
    {"engine_static", "b16", "-CS", 4, '-'},
    {"engine_static", "b4_tied", "-CS", 4, '-'},
    // codes of activations, of weights
    {"engine_core_act", "rank", "CCS", 8, '-'},
    {"engine_core_act", "radix", "CCS", 8, '-'},
    {"engine_core_act", "few", "CCS", 8, '-'},
    {"engine_core_act", "one", "CCS", 8, '-'},
    {"engine_core_act", "odd", "CCS", 8, '-'},
    {"engine_core_act", "high", "CCS", 8, '-'},
    // E2M1 and encoders have no code without a value
    {"engine_scaled", "nvfp4", "--S", 4, '-'},
    {"engine_scaled", "nvfp4_exact", "--S", 4, '-'},
    {"engine_scaled", "nvfp4_saved", "--S", 4, '-'},
    {"engine_scaled", "nvint4_saved", "-CS", 4, '-'},
    {"engine_scaled", "mxfp4", "--S", 4, '-'},
    {"engine_scaled", "mxfp8", "-CS", 4, 'C'},
    {"engine_scaled", "mxfp4_aligned", "--S", 4, '-'},
    {"engine_scaled", "mxfp8_aligned", "-CS", 4, 'C'},
    {"engine_scaled", "mxfp8_after", "-CS", 4, 'C'},
    {"engine_scaled", "mxplus", "M-S", 4, '-'},
    {"engine_scaled", "razer", "--S", 4, '-'},
    {"engine_scaled", "nvint4_a", "-CS", 4, '-'},
    {"engine_scaled", "if4", "-CS", 4, '-'},
    {"engine_scaled", "if4_exact", "-CS", 4, '-'},
    {"engine_scaled", "split_a", "-CS", 4, '-'},
    {"engine_scaled", "split", "MCS", 4, '-'},
    {"engine_scaled", "own", "MCS", 4, '-'},
    {"engine_scaled", "block_fp", "MCS", 4, 'C'},
    {"engine_scaled", "mxfp6", "--S", 4, '-'},
    {"engine_scaled", "mxfp6_e3m2", "--S", 4, '-'},
    {"engine_scaled", "mxfp8_e5m2", "-CS", 4, 'C'},
    {"engine_scaled", "mxint8", "-CS", 4, '-'},
    {"engine_scaled", "nvint5", "-CS", 4, '-'},
    {"engine_scaled", "split_pow2", "MCS", 4, '-'},
    {"engine_scaled", "split_b32", "MCS", 4, '-'},
    {"engine_scaled", "own_a", "-CS", 4, '-'},
    {"engine_scaled", "skid", "MCS", 4, 'C'},
    {"engine_scaled", "own_fp", "MCS", 4, 'C'},
    {"engine_scaled", "block", "MCS", 4, 'C'},
    {"engine_scaled", "block_a", "MCS", 4, 'C'},
    {"engine_scaled", "mixfp4", "--S", 4, '-'},
    {"engine_scaled", "hif4", "--S", 4, '-'},
    {"engine_scaled", "three_grids", "-CS", 4, '-'},
    {"engine_scaled", "q4_0", "--S", 4, '-'},
    {"engine_scaled", "awq", "--S", 4, '-'},
    {"engine_scaled", "f32", "-CS", 4, 'C'},
};

#define ENGINE_ERRORS(block_, point_, kinds_)                                                      \
    SQ_AT_START(errors_of_##block_##_##point_)                                                     \
    {                                                                                              \
        size_t i = 0;                                                                              \
        while (cases[i].block)                                                                     \
            i++;                                                                                   \
        assert(i < CASES_MAX);                                                                     \
        cases[i].block = #block_, cases[i].point = #point_, cases[i].kinds = kinds_;               \
        cases[i].times = 1, cases[i].any = '-';                                                    \
    }

static int32_t bit_of(char kind)
{
    switch (kind) {
    case 'M':
        return 1 << SQ_SCALED_ERROR_MASK;
    case 'C':
        return 1 << SQ_SCALED_ERROR_CODE;
    case 'S':
        return 1 << SQ_SCALED_ERROR_SCALE;
    case 'B':
        return bit_of('C') | bit_of('S');
    case 'I':
        return 1 << SQ_ENGINE_ERROR_INDEX;
    default:
        return 0;
    }
}

// What the last of the words tells; what one of them told stays told.
static int32_t told(const struct sq_ports *p, const int32_t *out, uint64_t words)
{
    const size_t len = sq_field_offset(p->out, p->n_out);
    int32_t before = 0;
    for (uint64_t w = 0; w < words; w++) {
        const int32_t error = out[w * len + len - 1];
        assert_int_equal(before & ~error, 0);
        assert_int_equal(out[w * len + len - 2], w + 1 == words);
        before = error;
    }
    return before;
}

SQ_TEST(every_kind_is_told)
{
    for (size_t i = 0; cases[i].block; i++) {
        const struct sq_block *const block = block_named(cases[i].block);
        struct sq_case c = {.block = block, .point = point_named(block, cases[i].point)};
        struct sq_rng rng = {fixture_seed()};
        const struct sq_ports p = sq_ports_of(block, c.point->value);
        const size_t len = sq_field_offset(p.in, p.n_in), n_kinds = strlen(cases[i].kinds);
        assert_ok(block->draw_directed(&c, 0, &rng, NULL));
        assert_true(c.n_groups >= 2 * n_kinds * cases[i].times);
        const size_t room = p.outputs > c.max_outputs ? p.outputs : c.max_outputs;
        int32_t *const out = calloc(room, sq_field_offset(p.out, p.n_out) * sizeof *out);
        const int32_t *record = c.beats;
        assert_non_null(out);
        for (size_t g = 0; g < c.n_groups; record += sq_case_records(&c, g++) * len) {
            const struct sq_group group = {.record = record, .len = c.len[g], .wrap = c.wrap};
            const uint64_t words = block->golden(c.point->value, &group, out);
            const char kind = g % 2 ? '-' : cases[i].kinds[g / 2 / cases[i].times % n_kinds];
            CHECK_EQ(told(&p, out, words) & ~(bit_of(cases[i].any) & ~bit_of(kind)), bit_of(kind),
                     "%s %s, job %zu: %c\n", block->name, c.point->name, g, kind);
        }
        free(out);
        sq_case_free(&c);
    }
}

// A point that is added comes with its line.
SQ_TEST(every_engine_is_there)
{
    for (size_t b = 0; b < sq_n_blocks; b++)
        for (size_t p = 0; p < sq_blocks[b]->n_points; p++) {
            const char *const block = sq_blocks[b]->name, *const point =
                                                              sq_blocks[b]->points[p].name;
            bool is_there =
                strncmp(block, "engine_", 7) != 0 || strcmp(block, "engine_dynamic") == 0;
            for (size_t i = 0; cases[i].block; i++)
                is_there = is_there || (strcmp(cases[i].block, block) == 0 &&
                                        strcmp(cases[i].point, point) == 0);
            if (!is_there)
                fail_msg("%s %s has no line", block, point);
        }
}

// ---- what it counts as --------------------------------------------------------------------------

// The first directed job of `block` that is spoilt as kind number `kind` of its line, and its golden words.
struct job {
    const struct sq_block *block;
    struct sq_case c;
    struct sq_ports p;
    struct sq_group group;
    int32_t *record, *out;
    uint64_t words;
};

static void compute(struct job *j)
{
    j->words = j->block->golden(j->c.point->value, &j->group, j->out);
}

static struct job job_of(const char *block, const char *point, size_t number)
{
    struct job j = {.block = block_named(block)};
    struct sq_rng rng = {fixture_seed()};
    j.c = (struct sq_case){.block = j.block, .point = point_named(j.block, point)};
    j.p = sq_ports_of(j.block, j.c.point->value);
    assert_ok(j.block->draw_directed(&j.c, 0, &rng, NULL));
    j.record = j.c.beats;
    for (size_t g = 0; g < number; g++)
        j.record += sq_case_records(&j.c, g) * sq_field_offset(j.p.in, j.p.n_in);
    j.group = (struct sq_group){.record = j.record, .len = j.c.len[number], .wrap = j.c.wrap};
    j.out = calloc(j.p.outputs, sq_field_offset(j.p.out, j.p.n_out) * sizeof *j.out);
    assert_non_null(j.out);
    compute(&j);
    return j;
}

static void free_job(struct job *j)
{
    free(j->out);
    sq_case_free(&j->c);
}

// The outputs of both jobs are the same, whatever they tell.
static void check_outputs(const struct job *a, const struct job *b)
{
    const size_t len = sq_field_offset(a->p.out, a->p.n_out);
    assert_int_equal(a->words, b->words);
    for (uint64_t w = 0; w < a->words; w++)
        assert_memory_equal(a->out + w * len, b->out + w * len, (len - 2) * sizeof *a->out);
}

// ... once *b is computed again; the end of both.
static void end_alike(struct job *a, struct job *b)
{
    compute(b);
    check_outputs(a, b);
    free_job(a);
    free_job(b);
}

// Where field `name` of record i lies.
static int32_t *at(const struct job *j, size_t i, const char *name)
{
    size_t f = 0;
    while (strcmp(j->p.in[f].name, name) != 0)
        assert_true(++f < j->p.n_in);
    return j->record + i * sq_field_offset(j->p.in, j->p.n_in) + sq_field_offset(j->p.in, f);
}

#include SQ_PARTS

// A factor of the rows is read with the last scale group of an output alone: a wrong one before it is not told.
SQ_TEST(factor_of_rows_before_the_last_group)
{
    enum { RIGHT = 1 };
    struct job a = job_of("engine_array", "dense", RIGHT),
               b = job_of("engine_array", "dense", RIGHT);
    assert_int_equal(*at(&b, 0, "groups"), 2);
    *at(&b, 0, "row_lo") = 0;
    compute(&b);
    assert_int_equal(told(&b.p, b.out, b.words), 0);
    check_outputs(&a, &b);
    *at(&b, 1, "row_lo") = 0;
    compute(&b);
    assert_int_equal(told(&b.p, b.out, b.words), bit_of('S'));
    free_job(&a);
    free_job(&b);
}
