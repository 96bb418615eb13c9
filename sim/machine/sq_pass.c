// SPDX-License-Identifier: Apache-2.0
// Times the rows of a whole pass, and adds up its parts (sq_pass.h).
#include "sim/machine/sq_pass.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "sim/format/sq_cache_format.h"
#include "sim/io/sq_checked.h"
#include "sim/machine/sq_machine_run.h"

const char *sq_pass_part_name(enum sq_pass_part part)
{
    static const char *const names[SQ_N_PASS_PARTS] = {"linear", "head",   "attention",
                                                       "vector", "memory", "link"};
    return names[part];
}

enum { PLAIN_NBITS = 16 }; // of an element that no format encodes

// ---- rows -----------------------------------------------------------------------------------

// What all rows share, and what was found of each.
struct pass {
    const struct sq_pass_request *in;
    const struct sq_workload *w;
    struct sq_recipe cache[2]; // of scores, of values
    struct sq_cached cached[2];
    struct sq_pass_result *out;
    struct sq_machine_energy *energy; // of each row
    enum sq_status *status;
    struct sq_error *err; // of each row
};

static bool is_attention(const struct sq_workload_row *row)
{
    return row->part == SQ_ROW_SCORES || row->part == SQ_ROW_VALUES;
}

static const struct sq_recipe *recipe_of(const struct pass *p, const struct sq_workload_row *row)
{
    return is_attention(row)          ? &p->cache[row->part == SQ_ROW_VALUES]
           : row->part == SQ_ROW_HEAD ? p->in->head
                                      : p->in->recipe;
}

static const struct sq_machine *machine_of(const struct pass *p, const struct sq_workload_row *row)
{
    const struct sq_machine *const other = is_attention(row)          ? p->in->cache_machine
                                           : row->part == SQ_ROW_HEAD ? p->in->head_machine
                                                                      : NULL;
    return other ? other : p->in->machine;
}

static const struct sq_mac_energy *mac_of(const struct pass *p, const struct sq_workload_row *row)
{
    return is_attention(row)          ? p->in->cache_mac
           : row->part == SQ_ROW_HEAD ? p->in->head_mac
                                      : p->in->mac;
}

static enum sq_status time_row(const struct pass *p, size_t i, struct sq_machine_memo *memo,
                               struct sq_error *err)
{
    static const struct sq_mac_energy none = {.slots = 1};
    const struct sq_workload_row *row = &p->w->row[i];
    const struct sq_pass_request *in = p->in;
    const struct sq_machine *hw = machine_of(p, row);
    const struct sq_recipe *r = recipe_of(p, row);
    struct sq_pass_row *out = &p->out->row[i];
    struct sq_machine_stats s;
    SQ_FREED struct sq_mapping *plan = malloc(sizeof *plan);
    SQ_NEED(plan, err, "a plan");
    SQ_TRY(sq_mapping_run(hw, r, &row->gemm, plan, &s, memo, err));
    *out = (struct sq_pass_row){.cycles = (double)s.cycles,
                                .compute = (double)plan->sum.compute,
                                .dram = (double)plan->sum.dram,
                                .macs = (double)row->gemm.m * (double)row->gemm.n *
                                        (double)row->gemm.k};
    for (unsigned id = 0; id < SQ_N_STREAMS; id++)
        out->nbytes += (double)s.nbytes[id];
    if (in->mac) {
        const struct sq_mac_energy *mac = mac_of(p, row);
        struct sq_machine_accesses a;
        sq_machine_count(hw, plan, &s, &a);
        sq_machine_energy(hw, mac ? mac : &none, in->memory, in->chip, plan, &a, out->cycles,
                          &p->energy[i]);
    }
    return SQ_OK;
}

// The first row that takes the same time and joules.
static size_t same_row(const struct pass *p, size_t i)
{
    const struct sq_workload *w = p->w;
    for (size_t j = 0; j < i; j++)
        if (memcmp(&w->row[j].gemm, &w->row[i].gemm, sizeof w->row[i].gemm) == 0 &&
            recipe_of(p, &w->row[j]) == recipe_of(p, &w->row[i]) &&
            machine_of(p, &w->row[j]) == machine_of(p, &w->row[i]) &&
            mac_of(p, &w->row[j]) == mac_of(p, &w->row[i]))
            return j;
    return i;
}

static enum sq_status time_rows(struct pass *p, struct sq_error *err)
{
    const size_t n = p->w->n;
    const size_t n_threads = (size_t)omp_get_max_threads();
    struct sq_machine_memo *memo = calloc(n_threads, sizeof *memo);
    SQ_NEED(memo, err, "%zu threads", n_threads);
#pragma omp parallel for schedule(dynamic, 1)
    for (size_t i = 0; i < n; i++)
        if (same_row(p, i) == i)
            p->status[i] = time_row(p, i, &memo[omp_get_thread_num()], &p->err[i]);
    sq_machine_memos_free(memo, n_threads);
    for (size_t i = 0; i < n; i++) {
        const size_t j = same_row(p, i);
        if (p->status[j] != SQ_OK) {
            *err = p->err[j];
            return p->status[j];
        }
        p->out->row[i] = p->out->row[j];
        p->energy[i] = p->energy[j];
    }
    return SQ_OK;
}

// ---- parts ----------------------------------------------------------------------------------

static enum sq_pass_part part_of(const struct sq_workload_row *row)
{
    return is_attention(row)          ? SQ_PASS_ATTENTION
           : row->part == SQ_ROW_HEAD ? SQ_PASS_HEAD
                                      : SQ_PASS_LINEAR;
}

static void add_row(struct pass *p, size_t i)
{
    const struct sq_workload_row *row = &p->w->row[i];
    const struct sq_pass_row *x = &p->out->row[i];
    const enum sq_pass_part part = part_of(row);
    const double count = (double)row->count, hz = p->in->machine->clock_hz;
    p->out->seconds[part] += count * x->cycles / hz;
    p->out->compute += count * x->compute / hz;
    p->out->dram += count * x->dram / hz;
    p->out->nbytes[part] += count * x->nbytes;
    p->out->macs[part] += count * x->macs;
    sq_machine_energy_add(&p->out->energy, &p->energy[i], row->count);
}

double sq_pass_vector_seconds(const struct sq_machine *hw, enum sq_vector_op op, double rows,
                              double n)
{
    const unsigned lanes = sq_vector_unit_lanes(hw->vector_lanes);
    const double units = (double)hw->vector_lanes / lanes * hw->cores;
    return sq_vector_cycles(op, lanes, units, rows, n) / sq_machine_vector_hz(hw);
}

static void add_rest(struct pass *p)
{
    const struct sq_workload_rest *rest = &p->w->rest;
    const struct sq_machine *hw = p->in->machine;
    struct sq_pass_result *out = p->out;
    for (size_t i = 0; i < rest->n_calls; i++) {
        const struct sq_workload_call *const c = &rest->call[i];
        const double seconds = c->calls * sq_pass_vector_seconds(hw, c->op, c->rows, c->n);
        out->op_seconds[c->op] += seconds;
        out->seconds[SQ_PASS_VECTOR] += seconds;
    }
    const double moved = PLAIN_NBITS / 8 * rest->embedding +
                         sq_cost_act_nbits(p->in->cache) / 8 * rest->query +
                         rest->cache_new * out->cache_row_nbits / 8;
    out->nbytes[SQ_PASS_MEMORY] = moved;
    out->seconds[SQ_PASS_MEMORY] = moved / hw->dram_bytes_per_s;
    out->dram += out->seconds[SQ_PASS_MEMORY];
    if (p->in->mac)
        for (unsigned of = 0; of < SQ_N_CASES; of++)
            out->energy.pj[SQ_MACHINE_DRAM][of] +=
                (uint64_t)(1e12 * 8 * moved *
                           p->in->memory->dram.end[of == SQ_CASE_LOW ? SQ_LOW : SQ_HIGH]);
}

static enum sq_status add_link(struct pass *p, struct sq_error *err)
{
    const struct sq_workload_rest *rest = &p->w->rest;
    const struct sq_machine *hw = p->in->machine;
    const double reduces = 2 * (double)rest->layers + 1, steps = 2 * ((double)rest->chips - 1);
    const double part =
        PLAIN_NBITS / 8 * (double)rest->tokens * (double)rest->hidden / (double)rest->chips;
    if (rest->chips <= 1)
        return SQ_OK;
    if (hw->link_bytes_per_s <= 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "%llu chips of machine %.40s, need its key link",
                       (unsigned long long)rest->chips, hw->name);
    p->out->nbytes[SQ_PASS_LINK] = reduces * steps * part;
    p->out->seconds[SQ_PASS_LINK] =
        reduces * steps * (part / hw->link_bytes_per_s + 1e-9 * hw->link_latency_ns);
    for (unsigned i = 0; i < SQ_N_MACHINE_PARTS; i++)
        for (unsigned of = 0; of < SQ_N_CASES; of++)
            p->out->energy.pj[i][of] = sq_sat_mul(p->out->energy.pj[i][of], rest->chips);
    return SQ_OK;
}

// Joules of vector units over the time of all parts.
static void add_vector_energy(struct pass *p)
{
    const struct sq_workload_rest *rest = &p->w->rest;
    struct sq_machine_energy e = {.pj = {{0}}};
    double operations = 0;
    for (size_t i = 0; i < rest->n_calls; i++)
        operations += rest->call[i].calls *
                      sq_vector_operations(rest->call[i].op, rest->call[i].rows, rest->call[i].n);
    sq_machine_energy_vector(p->in->machine, p->in->vector, operations,
                             p->out->seconds[SQ_PASS_VECTOR], p->out->total_seconds, &e);
    sq_machine_energy_add(&p->out->energy, &e, rest->chips);
}

// ---- what lies in memory --------------------------------------------------------------------

static enum sq_status count_held(const struct pass *p, struct sq_error *err)
{
    const struct sq_workload_rest *rest = &p->w->rest;
    const uint64_t capacity = p->in->machine->capacity_nbytes;
    struct sq_pass_result *out = p->out;
    out->cache_row_nbits = sq_cache_row_nbits(p->in->cache, rest->cache_width);
    out->cache_nbytes = rest->cache_held * out->cache_row_nbits / 8;
    out->weights_nbytes = PLAIN_NBITS / 8 * rest->embedding_held;
    for (size_t i = 0; i < p->w->n; i++) {
        const struct sq_workload_row *row = &p->w->row[i];
        if (is_attention(row))
            continue;
        const double times = (double)(row->count + row->idle);
        const double nbits =
            sq_recipe_nbits(recipe_of(p, row), (size_t)row->gemm.n, (size_t)row->gemm.k);
        out->weights_nbytes += times * nbits / 8;
        if (row->part == SQ_ROW_LINEAR) {
            out->weights += times * (double)row->gemm.n * (double)row->gemm.k;
            out->nbits += times * nbits;
        }
    }
    const double all = out->weights_nbytes + out->cache_nbytes;
    if (capacity > 0 && all > (double)capacity)
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "weights of %.2f GB and a cache of %.2f GB are %.2f GB more than the "
                       "capacity of machine %.40s, %.2f GB",
                       1e-9 * out->weights_nbytes, 1e-9 * out->cache_nbytes,
                       1e-9 * (all - (double)capacity), p->in->machine->name,
                       1e-9 * (double)capacity);
    return SQ_OK;
}

static enum sq_status run(struct pass *p, struct sq_error *err)
{
    SQ_TRY(count_held(p, err));
    for (unsigned i = 0; i < 2; i++) {
        p->cached[i] =
            (struct sq_cached){.nbits = p->out->cache_row_nbits / (double)p->w->rest.cache_width,
                               .act_stays = true,
                               .out_stays = i == 0};
        p->cache[i] = *p->in->cache;
        p->cache[i].cached = &p->cached[i];
    }
    SQ_TRY(time_rows(p, err));
    for (size_t i = 0; i < p->w->n; i++)
        add_row(p, i);
    add_rest(p);
    SQ_TRY(add_link(p, err));
    for (unsigned i = 0; i < SQ_N_PASS_PARTS; i++) {
        p->out->total_seconds += p->out->seconds[i];
        p->out->total_nbytes += p->out->nbytes[i];
    }
    if (p->in->mac && p->in->vector)
        add_vector_energy(p);
    return SQ_OK;
}

enum sq_status sq_pass_run(const struct sq_pass_request *in, const struct sq_workload *w,
                           struct sq_pass_result *out, struct sq_error *err)
{
    struct pass p = {.in = in,
                     .w = w,
                     .out = out,
                     .energy = calloc(w->n + 1, sizeof *p.energy),
                     .status = calloc(w->n + 1, sizeof *p.status),
                     .err = calloc(w->n + 1, sizeof *p.err)};
    *out = (struct sq_pass_result){.row = calloc(w->n + 1, sizeof *out->row)};
    enum sq_status status =
        SQ_HAVE(out->row && p.energy && p.status && p.err, err, "%zu rows", w->n);
    if (status == SQ_OK && sq_machine_has_token(in->machine))
        status = SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                         "machine %.40s computes tokens by itself (chip.vector, chip.attend): need "
                         "`run --phase decode` alone",
                         in->machine->name);
    SQ_THEN(status, run(&p, err));
    free(p.energy);
    free(p.status);
    free(p.err);
    if (status != SQ_OK)
        sq_pass_free(out);
    return status;
}

void sq_pass_free(struct sq_pass_result *result)
{
    free(result->row);
    result->row = NULL;
}
