// SPDX-License-Identifier: Apache-2.0
// Two accounts of time that share no line: the cycle models of all blocks, stepped, and the
// recurrences over beats of tests/sim/oracle*.h. At every point of every block, under drawn groups
// and all stall patterns, every cycle in which an input beat is taken, an output beat is first
// offered and taken must be the same, and in every cycle the counters and mask errors of the cores. The co-simulation holds the RTL to the cycle models, so what
// is shown is about both.
//
// Space: points x cases; the cases are those of the co-simulation, cut after CYCLES. The source of
// a beat and the readiness of the sink are what they were in the run; the rest is predicted.
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/array/sq_array.h"
#include "models/core/sq_topk.h"
#include "sim/block/flow/sq_case.h"
#include "tests/sim/oracle.h"
#include "tests/sim/oracle_blocks.h"
#include "tests/sim/oracle_engine_scaled.h"
#include "tests/sim/oracle_engines.h"
#include "tests/sim/oracle_output.h"
#include "tests/sim/oracle_scaled.h"
#include "tests/sim/oracle_top.h"
#include "tests/test.h"

enum { CASES = 60, CYCLES = 6000, QUIET = 2000 };

enum { ORACLES_MAX = 64 };
static struct oracle {
    const char *block;
    void (*predict)(const struct input *in, struct prediction *w);
} oracles[ORACLES_MAX];
static size_t n_oracles;

// The account of a block.
#define SQ_ORACLE(name, function)                                                                  \
    SQ_AT_START(oracle_of_##name)                                                                  \
    {                                                                                              \
        assert(n_oracles < ORACLES_MAX);                                                           \
        oracles[n_oracles++] = (struct oracle){#name, function};                                   \
    }

SQ_ORACLE(core, predict_core)
SQ_ORACLE(gather, predict_gather)
SQ_ORACLE(topk, predict_topk)
SQ_ORACLE(array, predict_array)
SQ_ORACLE(requant, predict_requant)
SQ_ORACLE(vector, predict_vector)
SQ_ORACLE(act_buffer, predict_act_buffer)
SQ_ORACLE(array_static, predict_array_static)
SQ_ORACLE(core_act, predict_core_act)
SQ_ORACLE(array_scaled, predict_array_scaled)
SQ_ORACLE(act_scale, predict_act_scale)
SQ_ORACLE(combine, predict_combine)
SQ_ORACLE(output, predict_output)
SQ_ORACLE(core_out, predict_core_out)
SQ_ORACLE(fp_mac, predict_fp_mac)
SQ_ORACLE(hadamard, predict_hadamard)
SQ_ORACLE(operand_buffer, predict_operand_buffer)
SQ_ORACLE(engine_array, predict_engine_array)
SQ_ORACLE(engine_scaled, predict_engine_scaled)
SQ_ORACLE(engine_static, predict_engine_array)
SQ_ORACLE(engine_dynamic, predict_engine_array)
SQ_ORACLE(engine_core_act, predict_engine_core_act)

#include SQ_PARTS

// ---- the run of a cycle model ----------------------------------------------------------------

static uint64_t *times(size_t n)
{
    uint64_t *t = fixture_zeros(n, sizeof *t);
    for (size_t i = 0; i < n; i++)
        t[i] = NEVER;
    return t;
}

// The records of the beats of each stream, in order.
static void lay_out(const struct sq_case *c, struct input *in, struct prediction *w)
{
    *in = (struct input){.c = c, .ports = sq_ports_of(c->block, c->point->value)};
    const size_t len = sq_field_offset(in->ports.in, in->ports.n_in);
    for (unsigned s = 0; s < SQ_STREAMS_MAX && in->ports.stream[s].n_fields > 0; s++) {
        size_t n = 0, record = 0;
        for (size_t g = 0; g < c->n_groups; g++)
            n += c->len[g][s] < CYCLES ? c->len[g][s] : CYCLES;
        in->record[s] = fixture_zeros(n, sizeof *in->record[s]);
        w->in[s].n = n;
        w->in[s].offered = times(n);
        w->in[s].taken = times(n);
        n = 0;
        for (size_t g = 0; g < c->n_groups; g++) {
            for (uint32_t b = 0; b < c->len[g][s] && b < CYCLES; b++)
                in->record[s][n++] =
                    c->beats + (record + (c->wrap[s] > 0 ? b % c->wrap[s] : b)) * len;
            record += sq_case_records(c, g);
        }
    }
    w->max_out = CYCLES;
    w->next = times(CYCLES + 1);
    w->shown = times(CYCLES);
    w->left = times(CYCLES);
    w->n_status = sq_field_offset(in->ports.status, in->ports.n_status);
    w->status = fixture_zeros(CYCLES * w->n_status, sizeof *w->status);
}

static unsigned long cycles_compared, beats_compared, status_compared;

// The job whose output comes next, as the co-simulation tells the status of it.
struct due {
    size_t job, record; // its number and its first record
    uint64_t left;      // tiles to come
};

static void tile_left(const struct sq_case *c, const struct input *in, struct due *d)
{
    if (--d->left > 0)
        return;
    d->record += sq_case_records(c, d->job++);
    if (d->job < c->n_groups)
        d->left = (uint32_t)*field(in, 0, d->job, "groups");
}

static void read_status(const struct sq_case *c, const struct input *in, const void *state,
                        const struct due *d, int32_t *status)
{
    const size_t len = sq_field_offset(in->ports.in, in->ports.n_in);
    const bool is_due = d->job < c->n_groups;
    const struct sq_group due = {.record = c->beats + (is_due ? d->record * len : 0),
                                 .len = c->len[is_due ? d->job : 0],
                                 .wrap = c->wrap};
    c->block->status(c->point->value, state, &due, status);
}

// Steps the model: when beats are offered and taken, and when the sink is ready.
static void observe(const struct sq_case *c, const struct input *in, struct prediction *w)
{
    const struct sq_block *block = c->block;
    void *state = fixture_zeros(1, block->timing->nbytes);
    struct sq_source source[SQ_STREAMS_MAX], out;
    size_t at[SQ_STREAMS_MAX] = {0};
    unsigned n = 0, quiet = 0;
    bool *ready = fixture_zeros(CYCLES, sizeof *ready), is_shown = false;
    block->init(c->point->value, state);
    for (; n < SQ_STREAMS_MAX && in->ports.stream[n].n_fields > 0; n++) {
        sq_source_init(&source[n], &c->stall[n], c->stall_seed[n]);
        source[n].left = w->in[n].n;
    }
    sq_source_init(&out, &c->stall[SQ_SINK], c->stall_seed[SQ_SINK]);
    int32_t status[64] = {0};
    assert_true(w->n_status <= 64);
    struct due due = w->n_status > 0 && block->get_core
                         ? (struct due){0, 0, (uint32_t)*field(in, 0, 0, "groups")}
                         : (struct due){0, 0, 0};
    for (w->end = 0; w->end < CYCLES && quiet < QUIET; w->end++) {
        struct sq_offer offer[SQ_STREAMS_MAX] = {{0}};
        struct sq_handshake shake = {{0}, false};
        for (unsigned s = 0; s < n; s++) {
            if (!sq_source_valid(&source[s]))
                continue;
            offer[s] = sq_offer_of(block, &in->ports, c->point->value, s, in->record[s][at[s]]);
            if (w->in[s].offered[at[s]] == NEVER)
                w->in[s].offered[at[s]] = w->end;
        }
        ready[w->end] = sq_sink_ready(&out);
        block->timing->comb(state, offer, ready[w->end], &shake);
        if (w->n_status > 0) {
            read_status(c, in, state, &due, status);
            memcpy(w->status + w->end * w->n_status, status, w->n_status * sizeof *status);
        }
        block->timing->clock(state, offer, ready[w->end]);
        quiet++;
        for (unsigned s = 0; s < n; s++) {
            const bool fire = offer[s].valid && shake.in_ready[s];
            if (fire)
                w->in[s].taken[at[s]++] = w->end;
            if (fire || source[s].left > 0)
                quiet = fire ? 0 : quiet;
            sq_source_clock(&source[s], fire, shake.in_ready[s]);
        }
        if (shake.out_valid && !is_shown)
            w->shown[w->n_out++] = w->end;
        is_shown = shake.out_valid && !ready[w->end];
        if (shake.out_valid && ready[w->end]) {
            w->left[w->n_out - 1] = w->end;
            if (w->n_status > 0 && strcmp(block->name, "core") == 0)
                tile_left(c, in, &due);
            quiet = 0;
        }
        sq_sink_clock(&out, shake.out_valid && ready[w->end]);
    }
    for (uint64_t t = w->end; t-- > 0;)
        w->next[t] = ready[t] ? t : w->next[t + 1];
}

// ---- comparison ------------------------------------------------------------------------------

static bool same(const char *what, uint64_t end, size_t n, const uint64_t *model,
                 const uint64_t *predicted)
{
    for (size_t i = 0; i < n; i++) {
        const bool out = model[i] >= end && predicted[i] >= end;
        beats_compared += !out;
        if (!out && model[i] != predicted[i]) {
            printf("# %s %zu: cycle model %llu, oracle %llu (of %llu)\n", what, i,
                   (unsigned long long)model[i], (unsigned long long)predicted[i],
                   (unsigned long long)end);
            return false;
        }
    }
    return true;
}

static bool same_status(const struct prediction *model, const struct prediction *predicted)
{
    const size_t n = model->n_status;
    for (size_t i = 0; i < model->end * n; i++, status_compared++)
        if (model->status[i] != predicted->status[i]) {
            printf("# status %zu in cycle %zu: cycle model %d, oracle %d (of %llu)\n", i % n, i / n,
                   (int)model->status[i], (int)predicted->status[i],
                   (unsigned long long)model->end);
            return false;
        }
    return true;
}

static bool compare(const struct sq_case *c,
                    void (*predict)(const struct input *in, struct prediction *w))
{
    struct input in, again;
    struct prediction model = {0}, predicted = {0};
    lay_out(c, &in, &model);
    lay_out(c, &again, &predicted);
    observe(c, &in, &model);
    predicted.end = model.end;
    memcpy(predicted.next, model.next, (CYCLES + 1) * sizeof *model.next);
    for (unsigned s = 0; s < SQ_STREAMS_MAX; s++)
        if (model.in[s].n > 0)
            memcpy(predicted.in[s].offered, model.in[s].offered,
                   model.in[s].n * sizeof *model.in[s].offered);
    predict(&in, &predicted);
    bool is_same = true;
    for (unsigned s = 0; s < SQ_STREAMS_MAX && is_same; s++)
        is_same = same(in.ports.stream[s].n_fields > 0 ? in.ports.stream[s].name : "", model.end,
                       model.in[s].n, model.in[s].taken, predicted.in[s].taken);
    is_same = is_same && same("out shown", model.end, CYCLES, model.shown, predicted.shown);
    is_same = is_same && same("out taken", model.end, CYCLES, model.left, predicted.left);
    is_same = is_same && same_status(&model, &predicted);
    cycles_compared += model.end;
    sq_test_free(); // of this case
    return is_same;
}

// Drawn case i of a point, without the resets, which no oracle predicts.
static void draw(const struct sq_block *block, const struct sq_point *point, uint64_t seed,
                 uint64_t i, struct sq_case *c)
{
    const uint64_t number = sq_case_n_fixed(block, point) + i;
    assert_ok(sq_case_draw(block, point, seed, number, c, NULL));
    c->reset_every = 0;
}

// An account of another block, a cycle shorter or longer, is found.
SQ_TEST(test_wrong_account_is_found)
{
    const struct {
        const struct sq_block *block;
        void (*predict)(const struct input *in, struct prediction *w);
    } wrong[] = {{&sq_gather_block, predict_two_stages},
                 {&sq_array_block, predict_array_static},
                 {&sq_requant_block, predict_two_stages}};
    for (size_t i = 0; i < SQ_LEN(wrong); i++) {
        struct sq_case c;
        draw(wrong[i].block, wrong[i].block->points, 1, 0, &c);
        assert_false(compare(&c, wrong[i].predict));
        sq_case_free(&c);
    }
}

SQ_TEST(test_every_block_has_an_oracle)
{
    size_t n = 0; // what an environment answers is in no case: those blocks have no oracle yet
    for (size_t b = 0; b < sq_n_blocks; b++)
        n += !sq_blocks[b]->env;
    assert_int_equal(n, n_oracles);
}

SQ_TEST(test_cycle_model_is_oracle)
{
    const char *seed = getenv("SQ_SEED"), *only = getenv("ORACLE_BLOCK");
    unsigned wrong = 0;
    for (size_t b = 0; b < sq_n_blocks; b++) {
        size_t oracle = 0;
        if (sq_blocks[b]->env)
            continue;
        while (strcmp(oracles[oracle].block, sq_blocks[b]->name) != 0)
            assert_true(++oracle < n_oracles);
        if (only && strcmp(only, sq_blocks[b]->name) != 0)
            continue;
        const unsigned long before = beats_compared;
        for (size_t p = 0; p < sq_blocks[b]->n_points; p++)
            for (uint64_t i = 0; i < CASES; i++) {
                struct sq_case c;
                draw(sq_blocks[b], &sq_blocks[b]->points[p], seed ? strtoull(seed, NULL, 10) : 1, i,
                     &c);
                const bool is_same = compare(&c, oracles[oracle].predict);
                if (!is_same)
                    printf("# block %s, point %s, case %llu\n", sq_blocks[b]->name,
                           sq_blocks[b]->points[p].name, (unsigned long long)i);
                sq_case_free(&c);
                wrong += !is_same;
                if (!is_same)
                    break;
            }
        printf("# %s: %lu times of beats\n", sq_blocks[b]->name, beats_compared - before);
    }
    printf("# %lu cycles, %lu times of beats, %lu values of status\n", cycles_compared,
           beats_compared, status_compared);
    assert_true(only || status_compared > 1000000);
    assert_int_equal(wrong, 0);
}

static void free_bank(struct oracle_core *c, bool first, bool last, struct prediction *w)
{
    for (unsigned s = 0; s < c->low_steps; s++) {
        uint64_t act = 0, lo = 0;
        core_low(c, s + 1 == c->low_steps, last && s + 1 == c->low_steps, &act, &lo);
    }
    for (unsigned s = 0; s < c->high_steps; s++) {
        uint64_t hi = 0;
        core_high(c, first && s == 0, s + 1 == c->high_steps, last && s + 1 == c->high_steps, &hi);
    }
    if (last)
        core_tile(c, w);
}

// SPEC R.2: free streams, a job of n banks.
SQ_TEST(test_core_meets_its_closed_form)
{
    enum { END = 4000 };
    uint64_t next[END + 1], shown[64], left[64];
    for (unsigned t = 0; t <= END; t++)
        next[t] = t;
    for (unsigned ls = 1; ls <= 8; ls++)
        for (unsigned hs = 1; hs <= 8; hs++)
            for (unsigned banks = 1; banks <= 5; banks++)
                for (unsigned groups = 1; groups <= 40; groups += 13) {
                    struct prediction w = {
                        .end = END, .next = next, .max_out = 64, .shown = shown, .left = left};
                    struct oracle_core c = {.low_steps = ls, .high_steps = hs};
                    const uint64_t n = (uint64_t)banks * groups, most = ls > hs ? ls : hs;
                    const uint64_t start = core_job(&c, 0, true);
                    for (uint64_t b = 0; b < n; b++)
                        free_bank(&c, b % banks == 0, (b + 1) % banks == 0, &w);
                    assert_int_equal(left[groups - 1] - start, ls + (n - 1) * most + hs + 3);
                }
}
