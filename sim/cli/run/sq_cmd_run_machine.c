// SPDX-License-Identifier: Apache-2.0
// Times each different GEMM of a workload once, on several threads, and prints lines and totals
// (sq_cmd_run.h).
#include "sim/cli/run/sq_cmd_run.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/sq_cli_table.h"
#include "sim/io/sq_checked.h"
#include "sim/io/sq_process.h"
#include "sim/machine/sq_machine_run.h"

struct run {
    const struct sq_run_request *request;
    bool is_gpu;
    struct sq_machine machine; // either
    struct sq_gpu gpu;
    struct sq_run_fair fair; // PEs, on a machine
    struct sq_run_energy energy;
    struct sq_workload workload;
    struct sq_run_layer *layer; // of the workload, from a file; NULL: shapes alone
    const char *data;           // what that is
    const char *name;           // of the workload
    int name_width;             // of the column of its rows
};

// One GEMM, or the sum of many. A GEMM's counts pass 2^63 nowhere (sq_mapping_make); sums are
// long double and cannot wrap: exact up to 2^64 where it has as many bits.
enum { N_SUMS = 9 + SQ_N_STREAMS + 2 * SQ_N_UNIT_CAUSES + SQ_DRAM_CAUSES + 1 };
struct result {
    union {
        struct {
            long double macs, compute, dram, bound; // cycles of the bounds
            long double bus, bursts;                // of a chip: struct sq_mapping_sums
            long double cycles, nbytes[SQ_N_STREAMS];
            long double low[SQ_N_UNIT_CAUSES], high[SQ_N_UNIT_CAUSES], index, memory;
            long double slow;                        // cycles at the slow end of the DRAM's ranges
            long double dram_clocks[SQ_DRAM_CAUSES]; // of the data buses of one that keeps time
        };
        long double all[N_SUMS];
    };
    struct sq_mapping_use use;
    double weights, nbits; // stored
    struct sq_machine_energy energy;
};

static_assert(offsetof(struct result, use) == N_SUMS * sizeof(long double), "all of them");
struct timed {
    struct result result;
    struct sq_mapping plan;
};

static bool has_high(const struct result *x)
{
    return x->use.high_slots > 0;
}

// The same machine with all that is slow in the DRAM's ranges: *cycles; 0 where nothing is a range.
static enum sq_status time_slow(const struct sq_machine *m, const struct sq_recipe *recipe,
                                const struct sq_gemm *gemm, struct sq_machine_memo *memo,
                                long double *cycles, struct sq_error *err)
{
    struct sq_machine slow = *m;
    struct sq_machine_stats s;
    struct sq_mapping plan;
    *cycles = 0;
    if (!m->timed.is_timed || !m->timed.is_range)
        return SQ_OK;
    slow.timed.at = SQ_DRAM_SLOW;
    SQ_TRY(sq_mapping_run(&slow, recipe, gemm, &plan, &s, memo, err));
    *cycles = (long double)s.cycles;
    return SQ_OK;
}

// `layer`: of a file, NULL for shapes.
static enum sq_status time_gemm(const struct run *r, const struct sq_run_layer *layer,
                                const struct sq_gemm *gemm, struct sq_machine_memo *memo,
                                struct timed *timed, struct sq_error *err)
{
    const struct sq_recipe *recipe = layer ? &layer->recipe : &r->request->recipe;
    const struct sq_machine *hw = &r->machine;
    struct result *out = &timed->result;
    struct sq_machine_stats s;
    SQ_TRY(sq_mapping_run(hw, recipe, gemm, &timed->plan, &s, memo, err));
    const struct sq_mapping *p = &timed->plan;
    memset(out, 0, sizeof *out);
    out->bound = (long double)p->bound;
    out->compute = (long double)p->sum.compute;
    out->dram = (long double)p->sum.dram;
    out->bus = (long double)p->sum.bus;
    out->bursts = (long double)p->sum.bursts;
    out->cycles = (long double)s.cycles;
    out->macs = (long double)gemm->m * gemm->n * gemm->k;
    SQ_TRY(time_slow(hw, recipe, gemm, memo, &out->slow, err));
    for (unsigned i = 0; i < SQ_DRAM_CAUSES; i++)
        out->dram_clocks[i] = (long double)s.dram.clocks[i];
    out->index = (long double)s.index;
    out->memory = (long double)s.memory;
    for (unsigned i = 0; i < SQ_N_STREAMS; i++)
        out->nbytes[i] = (long double)s.nbytes[i];
    for (unsigned i = 0; i < SQ_N_UNIT_CAUSES; i++) {
        out->low[i] = (long double)s.low[i];
        out->high[i] = (long double)s.high[i];
    }
    out->use = sq_mapping_used(hw, p, (double)out->cycles);
    if (r->request->energy) {
        struct sq_machine_accesses a;
        sq_machine_count(hw, p, &s, &a);
        if (r->request->dram) // of that type
            memset(a.dram_joules, 0, sizeof a.dram_joules);
        sq_machine_energy(hw, &r->energy.mac, &r->energy.memory,
                          r->energy.is_chip ? &r->energy.chip : NULL, p, &a, (double)out->cycles,
                          &out->energy);
    }
    out->weights = (double)gemm->n * (double)gemm->k;
    out->nbits = layer ? layer->nbits : sq_recipe_nbits(recipe, (size_t)gemm->n, (size_t)gemm->k);
    return SQ_OK;
}

static void add_times(struct result *sum, const struct result *x, uint64_t count)
{
    const double n = (double)count;
    sq_machine_energy_add(&sum->energy, &x->energy, count);
    for (size_t i = 0; i < N_SUMS; i++)
        sum->all[i] += n * x->all[i];
    sum->use.low_slots += n * x->use.low_slots;
    sum->use.low += n * x->use.low;
    sum->use.high_slots += n * x->use.high_slots;
    sum->use.high += n * x->use.high;
    sum->weights += n * x->weights;
    sum->nbits += n * x->nbits;
}

static double use_low(const struct result *x)
{
    return sq_utilisation(x->use.low, x->use.low_slots);
}

static double use_high(const struct result *x)
{
    return has_high(x) ? sq_utilisation(x->use.high, x->use.high_slots) : 0;
}

static const char *bound_name(const struct result *x)
{
    const char *const moves = x->bus > x->bursts ? "bus" : "memory";
    return x->dram > x->compute ? moves : "compute";
}

// What is the layers' own; NULL: nothing.
static const char *own_text(const struct run *r)
{
    return r->layer && r->layer[0].own.before ? r->request->recipe.format->cost->own->text : NULL;
}

// What of the weights is not counted but taken as the share that an option says; NULL: nothing.
static const char *expected_text(const struct run *r)
{
    return r->layer ? NULL : sq_recipe_sized_by(&r->request->recipe);
}

static double seconds_of(const struct run *r, const struct result *x)
{
    return (double)x->cycles / r->machine.clock_hz;
}

static long double total_nbytes(const struct result *x)
{
    long double sum = 0;
    for (unsigned i = 0; i < SQ_N_STREAMS; i++)
        sum += x->nbytes[i];
    return sum;
}

// ---- rows -----------------------------------------------------------------------------------

static json_t *json_amount(long double v)
{
    return v < 0x1p63L ? json_integer((json_int_t)v) : json_real((double)v);
}

static json_t *json_path(const long double counts[SQ_N_UNIT_CAUSES], const struct result *x)
{
    json_t *o = json_object();
    for (unsigned i = 0; i < SQ_N_UNIT_CAUSES; i++)
        json_object_set_new(o, sq_cause_name((enum sq_cause)i), json_amount(counts[i]));
    json_object_set_new(o, "index", json_amount(x->index));
    json_object_set_new(o, "memory", json_amount(x->memory));
    return o;
}

static json_t *json_causes(const struct result *x)
{
    json_t *o = json_object();
    json_object_set_new(o, "low", json_path(x->low, x));
    if (has_high(x))
        json_object_set_new(o, "high", json_path(x->high, x));
    return o;
}

// Clocks of the data buses of a DRAM that keeps time; of an ideal one null.
static json_t *json_dram(const struct run *r, const struct result *x)
{
    if (!r->machine.timed.is_timed)
        return json_null();
    json_t *o = json_object();
    for (unsigned i = 0; i < SQ_DRAM_CAUSES; i++)
        json_object_set_new(o, sq_dram_cause_name((enum sq_dram_cause)i),
                            json_amount(x->dram_clocks[i]));
    return o;
}

static json_t *json_streams(const struct result *x)
{
    json_t *o = json_object();
    for (unsigned i = 0; i < SQ_N_STREAMS; i++)
        json_object_set_new(o, sq_stream_name((enum sq_stream_id)i), json_amount(x->nbytes[i]));
    return o;
}

static double micro(const struct result *x, unsigned end)
{
    return 1e-6 * (double)sq_machine_energy_total(&x->energy, end);
}

// Tokens of a workload: rows with fewer (experts) see some of them.
static double tokens_of(const struct run *r)
{
    uint64_t most = 1;
    for (size_t i = 0; i < r->workload.n; i++)
        most = r->workload.row[i].gemm.m > most ? r->workload.row[i].gemm.m : most;
    return (double)most;
}

// A row of the workload, or, `row` NULL, the sum: to the table of people, or, `text` NULL, as an
// object. By several threads at once.
static json_t *put(const struct run *r, const struct sq_workload_row *row, const struct result *x,
                   struct sq_cli_table *text)
{
    const struct sq_workload_row none = {0}, *w = row ? row : &none;
    const bool has_energy = r->request->energy != NULL;
    char shape[64];
    snprintf(shape, sizeof shape, "%llux%llux%llu", (unsigned long long)w->gemm.m,
             (unsigned long long)w->gemm.n, (unsigned long long)w->gemm.k);
    const struct sq_cli_column columns[] = {
        SQ_COLUMN("layer", w->name, "layer", -r->name_width, .is_absent = !row),
        SQ_KEY_IF(row, "m", w->gemm.m),
        SQ_KEY_IF(row, "n", w->gemm.n),
        SQ_KEY_IF(row, "k", w->gemm.k),
        SQ_COLUMN(NULL, shape, "MxNxK", 22),
        SQ_COLUMN("count", w->count, "count", 6, .is_absent = !row),
        SQ_KEYS("macs", sq_cli_amount(x->macs), "stored_bits_per_weight", x->nbits / x->weights),
        SQ_COLUMN("bound_cycles", sq_cli_amount(x->bound), "bound", 12, .as = "%.0f"),
        SQ_KEYS("compute_cycles", sq_cli_amount(x->compute), "dram_cycles", sq_cli_amount(x->dram)),
        SQ_KEY_IF(r->machine.chip.bus_nbytes, "bus_cycles", sq_cli_amount(x->bus)),
        SQ_COLUMN("cycles", sq_cli_amount(x->cycles), "cycles", 12, .as = "%.0f"),
        SQ_COLUMN("cycles_slow", sq_cli_amount(x->slow), "slow", 12, .as = "%.0f",
                  .is_absent = !r->machine.timed.is_range),
        SQ_KEYS("seconds", seconds_of(r, x)),
        SQ_COLUMN("utilisation_low", use_low(x), "low", 7, .as = "%.1f%%", .scale = 100),
        SQ_COLUMN(NULL, use_high(x), "high", 7, .as = "%.1f%%", .scale = 100),
        SQ_KEYS("utilisation_high", has_high(x) ? use_high(x) : NAN),
        SQ_COLUMN("bytes", sq_cli_amount(total_nbytes(x)), "MB", 10, .as = "%.2f", .scale = 1e-6),
        SQ_KEYS("bytes_by_stream", text ? NULL : json_streams(x)),
        SQ_COLUMN("bound", bound_name(x), "bound by", 8),
        SQ_COLUMN(NULL, micro(x, SQ_CASE_LOW), "uJ low", 12, .as = "%.3f",
                  .is_absent = !has_energy),
        SQ_COLUMN(NULL, micro(x, SQ_CASE_HIGH), "uJ high", 12, .as = "%.3f",
                  .is_absent = !has_energy),
        SQ_MEMBERS(has_energy && !text ? sq_run_energy_json(&x->energy, seconds_of(r, x)) : NULL),
        SQ_KEYS("causes", text ? NULL : json_causes(x)),
        SQ_KEY_IF(r->machine.timed.is_timed, "dram_clocks", text ? NULL : json_dram(r, x)),
        SQ_COLUMNS_END};
    if (!text)
        return sq_cli_object(columns);
    sq_cli_put(text, columns);
    return NULL;
}

static void print_json_sum(const struct run *r, const struct result *sum, double seconds)
{
    const struct sq_machine *m = &r->machine;
    const char *own = own_text(r), *law = own ? NULL : sq_cost_law(&r->request->recipe);
    const struct sq_cli_column row[] = {
        SQ_KEYS("machine", m->name, "workload", r->name),
        SQ_KEYS("has_lm_head", json_boolean(sq_workload_has_lm_head(&r->workload))),
        SQ_MEMBERS(sq_recipe_json(&r->request->recipe, SQ_IN_RUN)),
        SQ_KEYS("cores", m->cores, "rows", m->core.rows, "cols", m->core.cols),
        SQ_MEMBERS(sq_run_fair_json(r->request, m, &r->fair)),
        SQ_KEYS("drawn", law, "own", own, "stored_bits_expected", expected_text(r)),
        SQ_MEMBERS(put(r, NULL, sum, NULL)),
        SQ_MEMBERS(r->request->energy
                       ? sq_run_energy_source_json(&r->energy, &sum->energy, tokens_of(r))
                       : NULL),
        SQ_KEYS("seconds_host", seconds),
        SQ_COLUMNS_END};
    const char *const basis =
        m->chip.bus_nbytes
            ? "modelled (cycle model of the chip, equal to RTL; DRAM modelled)"
            : "modelled (cycle model of the core, equal to RTL; buffers and DRAM modelled)";
    sq_cli_put_summary(row, sq_cli_provenance(r->data ? r->data : "shapes", basis, 0));
}

// ---- text -----------------------------------------------------------------------------------

static void print_plan(const struct sq_mapping *p)
{
    printf("    plan  cores %ux%ux%u (rows x columns x K)  blocks %llux%llux%llu of %llux%llu "
           "outputs, %llu of K  %s outside%s%s\n",
           p->cores_m, p->cores_n, p->cores_k, (unsigned long long)p->count_m,
           (unsigned long long)p->count_n, (unsigned long long)p->count_k,
           (unsigned long long)p->block_m, (unsigned long long)p->block_n,
           (unsigned long long)(p->block_k * p->cost.step), p->n_outer ? "columns" : "rows",
           p->act_kept ? ", activations kept" : "", p->weight_kept ? ", weights kept" : "");
}

// Where the clocks of the data buses went.
static void print_dram(const struct result *x)
{
    long double sum = 0;
    for (unsigned i = 0; i < SQ_DRAM_CAUSES; i++)
        sum += x->dram_clocks[i];
    if (sum == 0)
        return;
    printf("    dram");
    for (unsigned i = 0; i < SQ_DRAM_CAUSES; i++)
        printf("  %s %.1Lf%%", sq_dram_cause_name((enum sq_dram_cause)i),
               100 * x->dram_clocks[i] / sum);
    printf("\n");
}

static void print_causes(const struct result *x)
{
    for (unsigned path = 0; path < (has_high(x) ? 2u : 1u); path++) {
        const long double *counts = path ? x->high : x->low;
        printf("    %-4s", path ? "high" : "low");
        for (unsigned i = 0; i < SQ_N_UNIT_CAUSES; i++)
            if (counts[i] > 0)
                printf("  %s %.0Lf", sq_cause_name((enum sq_cause)i), counts[i]);
        if (x->index > 0)
            printf("  index %.0Lf", x->index);
        if (x->memory > 0)
            printf("  memory %.0Lf", x->memory);
        printf("\n    bytes");
        for (unsigned i = 0; i < SQ_N_STREAMS; i++)
            if (x->nbytes[i] > 0)
                printf("  %s %.0Lf", sq_stream_name((enum sq_stream_id)i), x->nbytes[i]);
        printf("\n");
    }
    print_dram(x);
}

// No name is cut: q_proj and k_proj of one layer would read the same.
static int name_width(const struct sq_workload *w)
{
    size_t width = 24;
    for (size_t i = 0; i < w->n; i++)
        width = strlen(w->row[i].name) > width ? strlen(w->row[i].name) : width;
    return (int)width;
}

static void print_head(const struct run *r)
{
    const struct sq_machine *m = &r->machine;
    const struct sq_recipe *recipe = &r->request->recipe;
    char format[96];
    if (recipe->format->text)
        recipe->format->text(recipe, format);
    else
        snprintf(format, sizeof format, "%s A%u", recipe->format->name, sq_recipe_act_bits(recipe));
    printf("%s on machine %s: ", sq_cli_text(r->name), sq_cli_text(m->name));
    if (m->chip.bus_nbytes)
        printf(
            "a chip of %ux%u PEs, %u elements of K and %u bit products a cycle in each%s, bus of "
            "%u B",
            m->core.rows, m->core.cols, r->fair.pe.low_lanes, r->fair.pe.products,
            m->chip.has_lanes ? "" : " as the format needs", m->chip.bus_nbytes);
    else
        printf("%u cores of %ux%u PEs, L=%u, H=%u", m->cores, m->core.rows, m->core.cols,
               r->request->fair ? r->fair.pe.low_lanes : m->core.low_lanes,
               r->request->fair ? r->fair.pe.high_lanes : m->core.high_lanes);
    printf(" at %g GHz, DRAM %g GB/s", m->clock_hz * 1e-9, m->dram_bytes_per_s * 1e-9);
    if (m->timed.is_timed)
        printf(" (%u x %s, timed%s)", m->timed.end[0].channels, m->timed.end[0].rules.device.name,
               m->timed.is_range ? "; slow: all that is slow in its ranges" : "");
    printf("; %s\n", format);
    if (!r->request->gemm.n && !sq_workload_has_lm_head(&r->workload))
        printf("%s\n", SQ_WITHOUT_LM_HEAD);
    sq_run_fair_text(r->request, &r->fair);
    if (m->chip.bus_nbytes)
        printf("a chip: cycles are those of the RTL (sqsim cosim --block top --machine)%s\n",
               r->request->energy ? "" : "; its clock is decreed, no netlist was asked (--energy)");
    if (r->request->energy)
        sq_run_energy_text(r->request, &r->energy);
    if (m->chip.bus_nbytes && recipe->format->cost->own)
        printf("even: all channels have as many %s, whatever the weights are\n",
               recipe->format->cost->own->text);
    else if (own_text(r))
        printf("own: %s of the %s\n", own_text(r),
               recipe->format->cost->own->tokens ? "model's tokens" : "file's rows");
    else if (sq_cost_law(recipe))
        printf("drawn: %s\n", sq_cost_law(recipe));
}

static void print_sum(const struct run *r, const struct result *x, double seconds)
{
    printf("%.4Lg MAC, %.0Lf cycles (bound %.0Lf) = %.6g ms, low path %.1f %%, high path %.1f %%, "
           "%.6Lg GB, %s-bound, %.4f stored bits per weight%s%s\n",
           x->macs, x->cycles, x->bound, 1e3 * seconds_of(r, x), 100 * use_low(x),
           100 * use_high(x), total_nbytes(x) * 1e-9L, bound_name(x), x->nbits / x->weights,
           expected_text(r) ? ", expected by the share of " : "",
           expected_text(r) ? expected_text(r) : "");
    if (r->machine.timed.is_range)
        printf("at the slow end of the DRAM's ranges %.0Lf cycles = %.6g ms\n", x->slow,
               1e3 * (double)x->slow / r->machine.clock_hz);
    if (r->request->is_causes)
        print_causes(x);
    if (r->request->energy)
        sq_run_energy_print(&x->energy, seconds_of(r, x), tokens_of(r));
    fprintf(stderr, "timed in %.2f ms\n", 1e3 * seconds);
}

// ---- work -----------------------------------------------------------------------------------

static bool same_gemm(const struct sq_gemm *a, const struct sq_gemm *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k;
}

enum { N_LAST = 64, N_AHEAD = 1024 }; // layers of a model repeat within a few rows

// Rows first .. first + n - 1 of the workload, timed on all processors, and put into JSON, which
// takes about as long.
struct block {
    struct timed timed[N_AHEAD];
    enum sq_status status[N_AHEAD];
    struct sq_error err[N_AHEAD];
    size_t same[N_AHEAD]; // the row of the block that is timed in its place
    char *line[N_AHEAD];  // JSON
    size_t first, n;
    struct sq_machine_memo *memo; // of every thread
};

static void time_block(const struct run *r, struct block *b)
{
    const struct sq_workload_row *row = r->workload.row + b->first;
    for (size_t i = 0; i < b->n; i++) {
        b->same[i] = i < N_LAST ? 0 : i - N_LAST;
        while (b->same[i] < i && (r->layer || !same_gemm(&row[b->same[i]].gemm, &row[i].gemm)))
            b->same[i]++;
        b->same[i] = b->same[i] == i ? i : b->same[b->same[i]];
    }
#pragma omp parallel for schedule(dynamic, 16)
    for (size_t i = 0; i < b->n; i++)
        if (b->same[i] == i)
            b->status[i] = time_gemm(r, r->layer ? &r->layer[b->first + i] : NULL, &row[i].gemm,
                                     &b->memo[omp_get_thread_num()], &b->timed[i], &b->err[i]);
}

static void make_lines(const struct run *r, struct block *b)
{
    const struct sq_workload_row *row = r->workload.row + b->first;
#pragma omp parallel for schedule(dynamic, 16)
    for (size_t i = 0; i < b->n; i++)
        if (b->status[b->same[i]] == SQ_OK)
            b->line[i] = sq_cli_json_dump(put(r, &row[i], &b->timed[b->same[i]].result, NULL));
}

static void free_lines(struct block *b)
{
    for (size_t i = 0; i < b->n; i++)
        free(b->line[i]);
    memset(b->line, 0, sizeof b->line);
}

static enum sq_status print_block(const struct run *r, const struct block *b,
                                  struct sq_cli_table *table, struct result *sum,
                                  struct sq_error *err)
{
    for (size_t i = 0; i < b->n; i++) {
        const struct sq_workload_row *row = &r->workload.row[b->first + i];
        const struct timed *timed = &b->timed[b->same[i]];
        if (b->status[b->same[i]] != SQ_OK) {
            *err = b->err[b->same[i]];
            return b->status[b->same[i]];
        }
        add_times(sum, &timed->result, row->count);
        if (r->request->is_json && !b->line[i])
            return SQ_NO_MEMORY(err, "row %zu", b->first + i + 1);
        if (r->request->is_json)
            puts(b->line[i]);
        else
            put(r, row, &timed->result, table);
        if (r->request->is_causes && !r->request->is_json) {
            print_plan(&timed->plan);
            print_causes(&timed->result);
        }
    }
    return SQ_OK;
}

static enum sq_status run_all(const struct run *r, struct sq_error *err)
{
    const struct sq_workload *w = &r->workload;
    SQ_FREED struct block *b = calloc(1, sizeof *b);
    const size_t n_threads = (size_t)omp_get_max_threads();
    struct sq_cli_table table = {.is_json = r->request->is_json};
    struct result sum;
    double seconds = 0;
    enum sq_status status = SQ_OK;
    memset(&sum, 0, sizeof sum);
    if (b)
        b->memo = calloc(n_threads, sizeof *b->memo);
    if (!b || !b->memo)
        return SQ_NO_MEMORY(err, "%d rows", N_AHEAD);
    if (!r->request->is_json)
        print_head(r);
    for (b->first = 0; b->first < w->n && status == SQ_OK; b->first += N_AHEAD) {
        const double start = sq_process_clock();
        b->n = w->n - b->first < N_AHEAD ? w->n - b->first : N_AHEAD;
        time_block(r, b);
        seconds += sq_process_clock() - start;
        if (r->request->is_json)
            make_lines(r, b);
        status = print_block(r, b, &table, &sum, err);
        free_lines(b);
    }
    if (status == SQ_OK && r->request->is_json)
        print_json_sum(r, &sum, seconds);
    else if (status == SQ_OK)
        print_sum(r, &sum, seconds);
    sq_machine_memos_free(b->memo, n_threads);
    return status;
}

// Core options that were given replace the machine's own; 0 = not given.
void sq_run_override_core(struct sq_core_config *core, const struct sq_core_config *given)
{
    core->rows = given->rows ? given->rows : core->rows;
    core->cols = given->cols ? given->cols : core->cols;
    core->low_lanes = given->low_lanes ? given->low_lanes : core->low_lanes;
    core->high_lanes = given->high_lanes ? given->high_lanes : core->high_lanes;
    core->gather = given->gather <= SQ_GATHER_LOG ? given->gather : core->gather;
}

// A machine of ours, or a GPU.
static enum sq_status load_machine(const char *path, struct run *r, struct sq_error *err)
{
    const enum sq_status status = sq_machine_load_unclocked(path, &r->machine, err);
    r->is_gpu = status != SQ_OK && sq_gpu_load(path, &r->gpu, NULL) == SQ_OK;
    if (r->is_gpu && r->request->fair)
        return SQ_FAIL(err, SQ_ERR_ARG, "--fair has no use on a GPU");
    if (r->is_gpu && r->request->energy)
        return SQ_FAIL(err, SQ_ERR_ARG, "--energy has no use on a GPU");
    if (r->is_gpu && r->request->commands)
        return SQ_FAIL(err, SQ_ERR_ARG, "--commands has no use on a GPU");
    if (r->is_gpu || status != SQ_OK)
        return r->is_gpu ? SQ_OK : status;
    if (r->request->records)
        return SQ_FAIL(err, SQ_ERR_ARG, "--records has no use on machine %s, need a GPU",
                       r->machine.name);
    struct sq_run_request request = *r->request;
    request.loaded = &r->machine;
    return sq_run_load_machine(&request, path, &r->machine, &r->fair, err);
}

enum sq_status sq_run_load_machine(const struct sq_run_request *in, const char *path,
                                   struct sq_machine *machine, struct sq_run_fair *fair,
                                   struct sq_error *err)
{
    const struct sq_core_config *given = &in->core;
    if (in->loaded)
        *machine = *in->loaded;
    else
        SQ_TRY(sq_machine_load_unclocked(path, machine, err));
    if (!in->energy)
        SQ_TRY(sq_machine_check_clock(machine, path, err));
    const bool is_chip = machine->chip.bus_nbytes;
    if (is_chip && given->gather <= SQ_GATHER_LOG)
        return SQ_FAIL(err, SQ_ERR_ARG, "--gather: a chip (machine %s) has a crossbar",
                       machine->name);
    if (is_chip && !machine->chip.has_lanes && !given->low_lanes != !given->high_lanes)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "--low-lanes, --high-lanes: chip %s states no multipliers, need both",
                       machine->name);
    machine->chip.has_lanes = is_chip && (machine->chip.has_lanes || given->low_lanes);
    sq_run_override_core(&machine->core, given);
    return sq_run_make_fair(in, machine, fair, err);
}

// ---- commands of the DRAM ------------------------------------------------------------------------

static void put_command(void *ctx, uint32_t channel, uint64_t clock, enum sq_dram_command command,
                        uint32_t bank, uint32_t row)
{
    fprintf(ctx, "%llu,%u,%s,%u,%u\n", (unsigned long long)clock, channel,
            sq_dram_command_name(command), bank, row);
}

// All rows, with the commands of the only one in the file that the request names.
static enum sq_status run_noted(struct run *r, struct sq_error *err)
{
    struct sq_dram_setup *const dram = &r->machine.timed.end[r->machine.timed.at];
    SQ_CLOSED(sq_outfile_abort) struct sq_outfile file = {0};
    if (!r->request->commands)
        return run_all(r, err);
    if (!r->machine.timed.is_timed)
        return SQ_FAIL(err, SQ_ERR_ARG, "--commands: machine %s has no key dram.device",
                       r->machine.name);
    SQ_TRY(sq_outfile_open(&file, r->request->commands, err));
    fputs("clock,channel,command,bank,row\n", file.stream);
    dram->note = (struct sq_dram_note){put_command, file.stream};
    SQ_TRY(run_all(r, err));
    return sq_outfile_commit(&file, err);
}

static void close_run(struct run *r)
{
    sq_run_free_own(r->layer, r->workload.n);
    sq_workload_free(&r->workload);
}

enum sq_status sq_run_on_machine(const struct sq_run_request *in, struct sq_error *err)
{
    struct sq_run_request of_file = *in; // with what the file says of its format
    SQ_CLOSED(close_run) struct run r = {.request = in, .name = in->workload};
    const char *usual = sq_cli_home_path("sim/machines/default.yaml");
    if (!r.name)
        r.name = in->gemm.n ? "one GEMM" : in->model ? in->model : "traces/tiny-llama";
    SQ_TRY(load_machine(in->machine ? in->machine : usual, &r, err));
    if (in->energy)
        SQ_TRY(sq_run_energy_open(in, &r.machine, &r.energy, err));
    if (r.machine.is_clock_netlist)
        SQ_TRY(sq_run_clock_netlist(&r.energy, &r.machine, err));
    const struct sq_dram_device *const dram = &r.machine.timed.end[0].rules.device;
    if (in->energy && !r.is_gpu && r.machine.timed.is_timed && !in->dram &&
        dram->energy.is_there) { // its commands are counted, not bits
        snprintf(r.energy.memory.type, sizeof r.energy.memory.type, "%s", dram->name);
        snprintf(r.energy.memory.dram_source, sizeof r.energy.memory.dram_source,
                 "commands, refreshes and standby of the device %s", dram->name);
    }
    if (r.is_gpu && in->weights)
        return SQ_FAIL(err, SQ_ERR_ARG, "--weights has no use on a GPU");
    if (!r.is_gpu)
        SQ_TRY(sq_run_read_own(&of_file, &r.workload, &r.layer, &r.data, err));
    if (r.data)
        r.request = &of_file;
    else
        SQ_TRY(in->workload ? sq_workload_read(in->workload, &r.workload, err)
                            : sq_run_shapes(in, sq_cli_model(in->model), &r.workload, err));
    r.name_width = name_width(&r.workload);
    SQ_TRY(r.is_gpu ? sq_run_on_gpu(in, &r.gpu, &r.workload, r.name, err) : run_noted(&r, err));
    if (in->energy)
        sq_run_energy_note(&r.energy, r.machine.clock_hz);
    return SQ_OK;
}
