// SPDX-License-Identifier: Apache-2.0
// sqsim sweep: a grid of points into a database, resumable, in shards; and databases into one.
#include <errno.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/cli/sq_cli_synth.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/cli/sq_cli_tools.h"
#include "sim/cli/sq_cmd_sweep.h"
#include "sim/io/sq_process.h"
#include "sim/sweep/sq_sweep_export.h"

#ifndef SQ_CODE
#error "SQ_CODE, the digest of the sources, comes from sim/rules.mk"
#endif

struct arguments {
    const char *db, *output;
    struct sq_sweep_prices prices;
    const char **file; // the specification, or the databases to merge
    size_t n_files;
    size_t shard, n_shards;
    unsigned jobs;
    bool is_merge, is_dry_run, is_json, is_measures;
    struct sq_cli_tools tools;
    struct sq_error *err;
};

enum { MERGE = 2, MEASURES = 4 };

static const char doc[] =
    "Computes every point of the grid that SPEC spans and that the database lacks. May be killed "
    "at any moment and started again; several may work on one database. The results do not depend "
    "on --jobs. sim/sweeps/ holds specifications to start from; docs/files.md describes them.\v"
    "Examples:\n"
    "  sqsim sweep sim/sweeps/paper_grid.yaml --db grid.db --jobs 2 -o grid.csv\n"
    "  sqsim sweep big.yaml --db part3.db --shard 3/8\n"
    "  sqsim sweep --merge part*.db --db all.db\n"
    "  parallel sqsim sweep big.yaml --db part{}.db --shard {}/8 ::: 1 2 3 4 5 6 7 8\n";

#define AT(field) SQ_CLI_AT(struct sq_sweep_prices, field)
const struct sq_cli_row sq_sweep_prices_rows[] = {
    SQ_CLI_TEXT("liberty", "FILE", AT(liberty), "standard cells for areas",
                .usual = "qflow-tech-osu018"),
    SQ_CLI_TEXT("sram-area", "DIR", AT(sram_area),
                "of area_mm2: buffers by the densest memory of these Liberty files",
                .usual = "without buffers"),
    SQ_CLI_TEXT("energy", "FILE", AT(energy),
                "of energy_per_token: joules a MAC that `sqsim energy --layer --json` has written, "
                "and those of --block vector"),
    SQ_CLI_TEXT("memory", "FILE", AT(memory), "with --energy: joules of SRAM and DRAM",
                .usual = "sim/machines/memory/default.yaml"),
    SQ_CLI_TEXT("dram", "TYPE", AT(dram), "with --energy: a type of that file",
                .usual = "the first"),
    SQ_CLI_END};
#undef AT

static enum sq_status set_shard(void *context, const struct sq_cli_row *row, const char *text,
                                struct sq_error *err)
{
    struct arguments *in = context;
    (void)row;
    char first[32] = "";
    uint64_t i, n;
    const char *slash = strchr(text, '/');
    if (slash && slash - text < 20)
        memcpy(first, text, (size_t)(slash - text));
    if (!slash || sq_cli_uint("", slash + 1, 1, 1000000, &n, NULL) != SQ_OK ||
        sq_cli_uint("", first, 1, n, &i, NULL) != SQ_OK)
        return SQ_FAIL(err, SQ_ERR_ARG, "--shard = %.40s, need I/N with 1 <= I <= N <= 1000000",
                       text);
    in->shard = i - 1;
    in->n_shards = n;
    return SQ_OK;
}

static enum sq_status add_file(void *context, const struct sq_cli_row *row, const char *text,
                               struct sq_error *err)
{
    struct arguments *in = context; // with room for all words
    (void)row, (void)err;
    in->file[in->n_files++] = text;
    return SQ_OK;
}

#define AT(field) SQ_CLI_AT(struct arguments, field)
static const struct sq_cli_row rows[] = {
    SQ_CLI_TEXT("db", "FILE", AT(db), "database of the results, created where missing",
                .usual = "sweep.db", .modes = SQ_CLI_PLAIN | MERGE),
    SQ_CLI_TEXT("output", "FILE", AT(output),
                "when done, all points of SPEC as CSV; provenance in FILE.json", .letter = 'o',
                .is_output = true),
    SQ_CLI_OWN("shard", "I/N", set_shard, "only part I of N parts, 1/N .. N/N (1/1)"),
    SQ_CLI_FLAG("merge", AT(is_merge), "add the databases FILE... to --db instead of running",
                .mode = MERGE),
    SQ_CLI_FLAG("dry-run", AT(is_dry_run),
                "check SPEC, list what is no legal format or core, count the points and those "
                "already in --db; compute nothing"),
    SQ_CLI_FLAG("measures", AT(is_measures), "list the measures that SPEC may name",
                .mode = MEASURES),
    SQ_SWEEP_PRICES(AT(prices)),
    SQ_CLI_UINT("jobs", "N", 1, 256, AT(jobs), "points computed at a time", .group = SQ_CLI_COMMON),
    SQ_CLI_FLAG("json", AT(is_json), "one JSON object per point, the summary last",
                .group = SQ_CLI_COMMON, .modes = SQ_CLI_ALL),
    SQ_CLI_TOOLS(AT(tools)),
    SQ_CLI_OWN(NULL, "SPEC", add_file, NULL, .found = SQ_HOME_SWEEP, .modes = SQ_CLI_PLAIN | MERGE),
    SQ_CLI_END};

static enum sq_status check(const struct arguments *in)
{
    struct sq_error *err = in->err;
    if (in->is_merge && in->n_files == 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "--merge needs the databases to add");
    if (!in->is_merge && in->n_files == 0)
        return SQ_FAIL(err, SQ_ERR_ARG, "needs a specification, as sim/sweeps/paper_grid.yaml");
    if ((in->prices.memory || in->prices.dram) && !in->prices.energy)
        return SQ_FAIL(err, SQ_ERR_ARG, "--%s needs --energy",
                       in->prices.memory ? "memory" : "dram");
    if (!in->is_merge && in->n_files > 1)
        return SQ_FAIL(err, SQ_ERR_ARG, "unexpected argument '%.80s', see --help", in->file[1]);
    return SQ_OK;
}

// ---- results ------------------------------------------------------------------------------------

enum sq_status sq_sweep_print_json(void *context, const struct sq_sweep_row *row,
                                   struct sq_error *err)
{
    (void)context;
    SQ_TRY(sq_sweep_row_check(row, err));
    sq_put_row_json(stdout, row);
    return SQ_OK;
}

// A CSV file, which any reader takes as it is, and its provenance in a file beside it.
struct csv_export {
    struct sq_outfile table, sidecar;
    struct sq_csv csv;
};

static enum sq_status csv_row(void *context, const struct sq_sweep_row *row, struct sq_error *err)
{
    struct csv_export *e = context;
    SQ_TRY(sq_sweep_row_check(row, err));
    if (!e->csv.head)
        sq_csv_sidecar(e->sidecar.stream, "sweep", row);
    return sq_csv_row(&e->csv, row, err);
}

static void abort_export(struct csv_export *e)
{
    sq_csv_free(&e->csv);
    sq_outfile_abort(&e->table);
    sq_outfile_abort(&e->sidecar);
}

static enum sq_status open_export(const struct arguments *in, struct csv_export *e)
{
    char path[4096 + 8];
    if (snprintf(path, sizeof path, "%s.json", in->output) >= (int)sizeof path)
        return SQ_FAIL(in->err, SQ_ERR_RANGE, "--output has %zu bytes, need <= 4096",
                       strlen(in->output));
    SQ_TRY(sq_outfile_open(&e->table, in->output, in->err));
    e->csv.out = e->table.stream;
    return sq_outfile_open(&e->sidecar, path, in->err);
}

static enum sq_status write_csv(const struct arguments *in, const struct sq_sweep_grid *spec,
                                struct sq_sweep_db *db)
{
    SQ_CLOSED(abort_export) struct csv_export e = {0};
    SQ_TRY(open_export(in, &e));
    SQ_TRY(sq_sweep_rows(spec, in->shard, in->n_shards, db, csv_row, &e, in->err));
    SQ_TRY(sq_outfile_flush(&e.table, in->err)); // both are on disk before the first has its name
    SQ_TRY(sq_outfile_commit(&e.sidecar, in->err));
    return sq_outfile_commit(&e.table, in->err);
}

// --dry-run: the combinations that the grid has and no format or core can be.
static void print_illegal(const struct arguments *in, const struct sq_sweep_grid *spec)
{
    for (size_t i = 0; i < spec->n_illegal; i++) {
        struct sq_sweep_point p;
        char parameters[SQ_PARAMETERS_SIZE];
        sq_sweep_grid_illegal(spec, i, &p);
        sq_sweep_parameters(&p, parameters);
        printf(in->is_json ? "{\"illegal\":%s}\n" : "no legal format or core: %s\n",
               in->is_json ? parameters : sq_cli_text(parameters));
    }
}

static void print_summary(const struct arguments *in, const struct sq_sweep_grid *spec,
                          const struct sq_sweep_count *count, double seconds)
{
    const double rate = seconds > 0 ? 60.0 * (double)count->computed / seconds : 0;
    if (!in->is_json) {
        printf("%s: %llu points (%zu combinations without legal format or core, %zu excluded), "
               "%llu computed, %llu already there\n",
               spec->name, (unsigned long long)count->total, spec->n_illegal, spec->n_excluded,
               (unsigned long long)count->computed, (unsigned long long)count->cached);
        if (spec->is_fair_usual)
            printf("formats %s\n", sq_fair_texts[SQ_FAIR_AREA]);
        if (count->damaged > 0)
            printf("%llu rows of the database were damaged%s\n", (unsigned long long)count->damaged,
                   in->is_dry_run ? "" : " and computed anew");
        if (count->encoded > 0)
            printf("%llu models encoded\n", (unsigned long long)count->encoded);
        if (!in->is_dry_run)
            printf("%.2f s, %.0f points per minute, results in %s\n", seconds, rate, in->db);
        return;
    }
    const struct sq_cli_column row[] = {
        SQ_KEYS("sweep", spec->name, "points", count->total, "illegal", spec->n_illegal),
        SQ_KEYS("excluded", spec->n_excluded, "computed", count->computed, "cached", count->cached),
        SQ_KEYS("damaged", count->damaged, "encoded", count->encoded, "seconds_host", seconds),
        SQ_KEYS("points_per_minute", rate), SQ_COLUMNS_END};
    sq_cli_put_summary(row, sq_cli_provenance(NULL, NULL, 1));
}

// ---- work ---------------------------------------------------------------------------------------

// Where a sweep is; read by another thread when a signal comes.
struct state {
    const char *name;
    _Atomic uint64_t total, kept;
    atomic_bool is_known; // what the database has
};

static void stage(void *context, const char *text)
{
    const struct state *s = context;
    sq_cli_stage(s->name, text);
}

static void progress(void *context, const struct sq_sweep_count *count)
{
    struct state *s = context;
    s->total = count->total;
    s->kept = count->computed + count->cached;
    s->is_known = true;
    sq_cli_progress_resumed(s->name, s->kept, count->total, count->computed);
}

static void say_kept(void *context)
{
    const struct state *s = context;
    const char *clear = isatty(STDERR_FILENO) ? "\r\033[K" : "";
    if (s->is_known)
        dprintf(STDERR_FILENO, "%ssqsim sweep: %llu of %llu points kept; run again to resume\n",
                clear, (unsigned long long)s->kept, (unsigned long long)s->total);
    else
        dprintf(STDERR_FILENO,
                "%ssqsim sweep: stopped before the first point; run again to resume\n", clear);
}

struct sq_sweep_options sq_sweep_options_of(const struct sq_sweep_prices *prices, char **members)
{
    json_auto_t *p = sq_cli_provenance(NULL, NULL, 1);
    if (asprintf(members, "\"tool\":\"%s\",\"revision\":\"%s\",\"code\":\"%s\"",
                 json_string_value(json_object_get(p, "tool")),
                 json_string_value(json_object_get(p, "revision")), SQ_CODE) < 0)
        *members = NULL;
    return (struct sq_sweep_options){
        .home = sq_cli_home(),
        .cache = sq_cli_cache_path("synth"),
        .liberty = prices->liberty,
        .kept = sq_cli_cache_path("kl"),
        .reference = sq_cli_cache_path("reference"),
        .sram_area = prices->sram_area,
        .energy = prices->energy,
        .memory =
            prices->memory ? prices->memory : sq_cli_home_path("sim/machines/memory/default.yaml"),
        .dram = prices->dram,
        .code = SQ_CODE,
        .provenance = *members,
        .jobs = 1,
        .n_shards = 1};
}

static enum sq_status write_results(const struct arguments *in, const struct sq_sweep_grid *spec)
{
    struct sq_sweep_db *db;
    enum sq_status status = SQ_OK;
    if (!in->output && !in->is_json)
        return SQ_OK;
    SQ_TRY(sq_sweep_db_open(&db, in->db, false, in->err));
    if (in->output)
        status = write_csv(in, spec, db);
    if (status == SQ_OK && in->is_json)
        status =
            sq_sweep_rows(spec, in->shard, in->n_shards, db, sq_sweep_print_json, NULL, in->err);
    sq_sweep_db_close(db);
    return status;
}

// Hours before it is needed.
static enum sq_status check_output(const struct arguments *in)
{
    struct csv_export e;
    if (in->output) {
        SQ_TRY(open_export(in, &e));
        sq_outfile_abort(&e.table);
        sq_outfile_abort(&e.sidecar);
    }
    return SQ_OK;
}

static enum sq_status run(const struct arguments *in, struct sq_sweep_grid *spec)
{
    SQ_FREED char *members = NULL;
    struct state state = {.name = spec->name};
    struct sq_sweep_options o = sq_sweep_options_of(&in->prices, &members);
    o.db = in->db;
    o.jobs = in->jobs;
    o.is_dry_run = in->is_dry_run;
    o.shard = in->shard;
    o.n_shards = in->n_shards;
    o.stage = stage;
    o.progress = progress;
    o.context = &state;
    struct sq_sweep_count count = {.total = spec->n_points};
    const double start = sq_process_clock();
    enum sq_status status = check_output(in);
    if (status == SQ_OK && !members)
        status = SQ_NO_MEMORY(in->err, "a sweep");
    if (status == SQ_OK && (!in->is_dry_run || access(in->db, F_OK) == 0)) {
        sq_cli_on_signal(say_kept, &state);
        status = sq_sweep_run(spec, &o, &count, in->err);
        sq_cli_on_signal(NULL, NULL);
    }
    const double seconds = sq_process_clock() - start;
    if (status == SQ_OK && !in->is_dry_run)
        status = write_results(in, spec);
    if (status == SQ_OK && in->is_dry_run)
        print_illegal(in, spec);
    if (status == SQ_OK)
        print_summary(in, spec, &count, seconds);
    return status;
}

static enum sq_status merge(const struct arguments *in)
{
    struct sq_sweep_db *db;
    uint64_t added, total = 0;
    for (size_t i = 0; i < in->n_files; i++) { // all readable before --db is made
        SQ_TRY(sq_sweep_db_open(&db, in->file[i], false, in->err));
        sq_sweep_db_close(db);
    }
    SQ_TRY(sq_sweep_db_open(&db, in->db, true, in->err));
    enum sq_status status = SQ_OK;
    for (size_t i = 0; i < in->n_files && status == SQ_OK; i++) {
        status = sq_sweep_db_merge(db, in->file[i], &added, in->err);
        total += added;
    }
    sq_sweep_db_close(db);
    if (status == SQ_OK && in->is_json)
        sq_cli_json_line(json_pack("{s:b, s:I, s:I, s:o}", "summary", 1, "merged",
                                   (json_int_t)in->n_files, "added", (json_int_t)total,
                                   "provenance", sq_cli_provenance(NULL, NULL, 1)));
    else if (status == SQ_OK)
        printf("%zu databases merged into %s, %llu points added\n", in->n_files, in->db,
               (unsigned long long)total);
    return status;
}

// --measures: those that a specification may name, beside "causes".
static enum sq_status list_measures(const struct arguments *in)
{
    struct sq_cli_table table = {.is_json = in->is_json};
    for (size_t i = 0; i < sq_n_measures; i++) {
        const struct sq_measure *const m = &sq_measures[i];
        const struct sq_cli_column row[] = {
            SQ_COLUMN("measure", m->name, "measure", -24), SQ_COLUMN("unit", m->unit, "unit", -16),
            SQ_COLUMN("basis", m->basis, "basis", -1), SQ_COLUMNS_END};
        sq_cli_put(&table, row);
    }
    return SQ_OK;
}

int sq_cmd_sweep(int argc, char **argv)
{
    struct sq_error err;
    SQ_FREED const char **file = calloc((size_t)argc + 1, sizeof *file);
    struct arguments in = {.db = "sweep.db",
                           .prices.liberty = SQ_CLI_LIBERTY,
                           .file = file,
                           .n_shards = 1,
                           .jobs = 1,
                           .tools = sq_cli_tools_default(),
                           .err = &err};
    SQ_CLOSED(sq_sweep_grid_free) struct sq_sweep_grid spec = {0};
    static const struct sq_cli_line line = {rows, "SPEC | --merge FILE...", doc};
    enum sq_status status = SQ_HAVE(file, &err, "the arguments");
    SQ_THEN(status, sq_cli_parse(&line, argc, argv, &in, &err));
    if (in.jobs > (unsigned)omp_get_thread_limit())
        in.jobs = (unsigned)omp_get_thread_limit(); // what a limit of memory lets in
    if (status == SQ_OK && !in.is_measures)
        status = check(&in);
    if (status == SQ_OK && in.is_measures)
        status = list_measures(&in);
    else if (status == SQ_OK && in.is_merge)
        status = merge(&in);
    else if (status == SQ_OK &&
             (status = sq_sweep_grid_load(&spec, file[0], sq_cli_home(), &err)) == SQ_OK)
        status = run(&in, &spec);
    return status == SQ_OK ? SQ_EXIT_OK : sq_cli_fail("sweep", &err);
}
