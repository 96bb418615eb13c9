// SPDX-License-Identifier: Apache-2.0
// --phase serve of `sqsim run`: a trace of requests through a machine that batches continuously (sim/serve/).
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/cli/run/sq_cmd_run_pass.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/format/sq_cache_format.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_order.h"
#include "sim/serve/sq_pass_table.h"
#include "sim/serve/sq_profile.h"
#include "sim/serve/sq_requests.h"

struct serve {
    const struct sq_run_one *one;
    struct sq_requests requests;
    struct sq_serve_options options;
    struct sq_pass_request request;
    struct sq_pass_table table;
    struct sq_serve_result result;
};

// ---- what is measured of a request ------------------------------------------------------------

enum measure { WAIT, FIRST, EACH, WHOLE, N_MEASURES };

static const char *const names[N_MEASURES] = {"wait", "ttft", "tpot", "latency"};
static const char *const texts[N_MEASURES] = {
    "until the prompt begins", "to the first token (TTFT)",
    "between two tokens (TPOT), requests of two tokens or more", "to the last token"};

// Seconds; NAN where the request has no such thing.
static double measure_of(const struct serve *s, enum measure m, size_t i)
{
    const struct sq_request *q = &s->requests.request[i];
    const struct sq_served *x = &s->result.served[i];
    switch (m) {
    case WAIT:
        return x->start_s - q->arrived_s;
    case FIRST:
        return x->first_s - q->arrived_s;
    case EACH:
        return q->outputs > 1 ? (x->end_s - x->first_s) / (double)(q->outputs - 1) : NAN;
    default:
        return x->end_s - q->arrived_s;
    }
}

// The smallest value that at least the share of all values does not exceed.
static double percentile(const double *sorted, size_t n, double share)
{
    const double rank = ceil(share * (double)n);
    return n == 0 ? NAN : sorted[rank < 1 ? 0 : (size_t)rank - 1];
}

static enum sq_status put_measure(const struct serve *s, enum measure m, struct sq_cli_table *table,
                                  struct sq_error *err)
{
    SQ_FREED double *v = malloc((s->requests.n + 1) * sizeof *v);
    double sum = 0;
    size_t n = 0;
    SQ_NEED(v, err, "%zu requests", s->requests.n);
    for (size_t i = 0; i < s->requests.n; i++) {
        const double one = measure_of(s, m, i);
        if (!isnan(one))
            v[n++] = 1e3 * one;
        sum += isnan(one) ? 0 : 1e3 * one;
    }
    qsort(v, n, sizeof *v, sq_by_number);
    const struct sq_cli_column row[] = {
        SQ_COLUMN("measure", names[m], "ms", -8),
        SQ_KEYS("requests", n),
        SQ_COLUMN("mean_ms", n ? sum / (double)n : NAN, "mean", 14, .as = "%.3f"),
        SQ_COLUMN("p50_ms", percentile(v, n, .5), "p50", 14, .as = "%.3f"),
        SQ_COLUMN("p90_ms", percentile(v, n, .9), "p90", 14, .as = "%.3f"),
        SQ_COLUMN("p99_ms", percentile(v, n, .99), "p99", 14, .as = "%.3f"),
        SQ_COLUMN("max_ms", percentile(v, n, 1), "max", 14, .as = "%.3f"),
        SQ_COLUMN(NULL, texts[m], "", -1),
        SQ_COLUMNS_END};
    sq_cli_put(table, row);
    return SQ_OK;
}

// ---- what is printed ----------------------------------------------------------------------------

static void print_head(const struct serve *s)
{
    const struct sq_run_request *in = s->one->request;
    const struct sq_requests *q = &s->requests;
    printf("%s in %s with a cache of %s on machine %s, %g GHz, DRAM %g GB/s%s\n",
           sq_cli_text(s->one->name), in->recipe.format->name, sq_cli_text(in->kv_format),
           sq_cli_text(s->one->machine.name), s->one->machine.clock_hz * 1e-9,
           s->one->machine.dram_bytes_per_s * 1e-9,
           in->fair == SQ_FAIR_NONE ? "; PEs re-partitioned for the format, not of equal silicon"
                                    : "");
    sq_run_fair_text(in, &s->one->fair);
    printf("%zu requests in %.6g s; a step has at most %llu tokens and %llu sequences", q->n,
           q->request[q->n - 1].arrived_s, (unsigned long long)s->options.budget,
           (unsigned long long)s->options.sequences);
    printf(isinf(s->options.room) ? ", the cache any size\n" : ", the cache %.0f tokens\n",
           s->options.room);
    printf("a sketch of continuous batching with chunked prompts; times between whole passes by "
           "straight lines; clock and vector unit as in --phase decode\n");
}

static void print_sum(const struct serve *s)
{
    const struct sq_serve_result *x = &s->result;
    printf("%.6g s, %.6g new tokens/s, %.6g prompt tokens/s; busy %.1f %% of the time; %llu steps, "
           "%.4g sequences on average, at most %llu; cache at most %.0f tokens (%.4f GB)\n",
           x->end_s, (double)x->new_tokens / x->end_s, (double)x->prompt_tokens / x->end_s,
           100 * x->busy_s / x->end_s, (unsigned long long)x->steps, x->sequence_s / x->busy_s,
           (unsigned long long)x->sequences_max, x->keys_max,
           1e-9 * x->keys_max * s->table.token_nbytes);
}

static void put_sum(const struct serve *s)
{
    const struct sq_run_request *in = s->one->request;
    const struct sq_serve_result *x = &s->result;
    const struct sq_cli_column row[] = {
        SQ_KEYS("machine", s->one->machine.name, "model", s->one->name, "phase", "serve"),
        SQ_KEYS("recipe", sq_recipe_json(&in->recipe, SQ_IN_RUN), "kv_recipe",
                sq_recipe_json(&s->one->cache, SQ_IN_RUN), "head_recipe",
                sq_recipe_json(sq_run_head(s->one), SQ_IN_RUN)),
        SQ_KEYS("clock_ghz", 1e-9 * s->one->machine.clock_hz, "clock_from", "machine"),
        SQ_KEYS("pe", sq_run_fair_json(in, &s->one->machine, &s->one->fair)),
        SQ_KEYS("requests", s->requests.n, "token_budget", s->options.budget, "sequences",
                s->options.sequences),
        SQ_KEYS("cache_tokens", isinf(s->options.room) ? NAN : s->options.room, "kv_token_bytes",
                s->table.token_nbytes),
        SQ_KEYS("prompt_tokens", x->prompt_tokens, "new_tokens", x->new_tokens, "steps", x->steps,
                "passes", s->table.passes),
        SQ_KEYS("seconds", x->end_s, "busy_seconds", x->busy_s, "tokens_per_second",
                (double)x->new_tokens / x->end_s),
        SQ_KEYS("mean_sequences", x->sequence_s / x->busy_s, "max_sequences", x->sequences_max,
                "max_cache_tokens", x->keys_max),
        SQ_COLUMNS_END};
    sq_cli_put_summary(row, sq_cli_provenance("a trace of requests, shapes",
                                              "modelled (a schedule over the cycle model)", 0));
}

static enum sq_status print(const struct serve *s, struct sq_error *err)
{
    struct sq_cli_table table = {.is_json = s->one->request->is_json};
    if (!table.is_json)
        print_head(s);
    for (unsigned m = 0; m < N_MEASURES; m++)
        SQ_TRY(put_measure(s, (enum measure)m, &table, err));
    if (table.is_json)
        put_sum(s);
    else
        print_sum(s);
    return SQ_OK;
}

// ---- tables for other simulators ------------------------------------------------------------------

static enum sq_status make_folder(const char *dir, bool *is_new, struct sq_error *err)
{
    *is_new = mkdir(dir, 0777) == 0;
    return *is_new || errno == EEXIST
               ? SQ_OK
               : SQ_FAIL(err, SQ_ERR_IO, "cannot make the folder '%.80s': %s", dir,
                         strerror(errno));
}

static enum sq_status write_tables(const struct serve *s, char *const text[], const size_t nbytes[],
                                   struct sq_error *err)
{
    const char *dir = s->one->request->tables;
    const unsigned long long chips = (unsigned long long)s->one->request->pass.chips;
    char path[4300], below[4300];
    bool is_new, is_new_below = false;
    snprintf(below, sizeof below, "%.4096s/tp%llu", dir, chips);
    SQ_TRY(make_folder(dir, &is_new, err));
    enum sq_status status = make_folder(below, &is_new_below, err);
    sq_outset_begin();
    for (unsigned i = 0; i < SQ_N_PROFILE_FILES && status == SQ_OK; i++) {
        if (i == SQ_PROFILE_META)
            snprintf(path, sizeof path, "%.4096s/%s", dir, sq_profile_names[i]);
        else
            snprintf(path, sizeof path, "%.4096s/tp%llu/%s", dir, chips, sq_profile_names[i]);
        status = sq_outfile_write(path, text[i], nbytes[i], err);
    }
    status = sq_outset_end(status, err);
    if (status != SQ_OK && is_new_below)
        (void)rmdir(below);
    if (status != SQ_OK && is_new)
        (void)rmdir(dir);
    return status;
}

// All of them are in memory before the first one is written.
static enum sq_status make_tables(struct serve *s, struct sq_error *err)
{
    char *text[SQ_N_PROFILE_FILES] = {NULL};
    size_t nbytes[SQ_N_PROFILE_FILES];
    enum sq_status status = SQ_OK;
    for (unsigned i = 0; i < SQ_N_PROFILE_FILES && status == SQ_OK; i++) {
        FILE *out = open_memstream(&text[i], &nbytes[i]);
        status = SQ_HAVE(out, err, "a table");
        SQ_THEN(status, sq_profile_write(&s->table, s->one->request->kv_format,
                                         (enum sq_profile_file)i, out, err));
        if (out && fclose(out) != 0 && status == SQ_OK)
            status = SQ_NO_MEMORY(err, "a table");
    }
    SQ_THEN(status, write_tables(s, text, nbytes, err));
    for (unsigned i = 0; i < SQ_N_PROFILE_FILES; i++)
        free(text[i]);
    if (status == SQ_OK && !s->one->request->is_json)
        printf("%d tables of latencies in %s\n", SQ_N_PROFILE_FILES,
               sq_cli_text(s->one->request->tables));
    return status;
}

// ---- command ------------------------------------------------------------------------------------

static enum sq_status serve(struct serve *s, struct sq_error *err)
{
    const struct sq_run_one *one = s->one;
    const double capacity = (double)one->machine.capacity_nbytes;
    s->request = (struct sq_pass_request){.machine = &one->machine,
                                          .recipe = &one->request->recipe,
                                          .head = sq_run_head(one),
                                          .cache = &one->cache};
    if (one->request->requests)
        SQ_TRY(sq_requests_read(one->request->requests, &s->requests, err));
    SQ_TRY(sq_pass_table_open(&s->request, one->config, sq_path_tail(one->name),
                              &one->request->pass, &s->table, err));
    if (one->request->tables)
        SQ_TRY(make_tables(s, err));
    if (!one->request->requests)
        return SQ_OK;
    s->options = (struct sq_serve_options){
        .budget = one->request->budget,
        .sequences = one->request->sequences,
        .room = capacity > 0 ? floor((capacity - s->table.weights_nbytes) / s->table.token_nbytes)
                             : INFINITY};
    SQ_TRY(sq_serve(&s->requests, &s->options, sq_pass_table_seconds, &s->table, &s->result, err));
    return print(s, err);
}

enum sq_status sq_run_serve(const struct sq_run_request *in, struct sq_error *err)
{
    SQ_CLOSED(sq_run_one_free) struct sq_run_one one = {0};
    struct serve s = {.one = &one};
    enum sq_status status = sq_run_one_open(in, &one, err);
    SQ_THEN(status, serve(&s, err));
    sq_serve_free(&s.result);
    sq_pass_table_free(&s.table);
    sq_requests_free(&s.requests);
    return status;
}
