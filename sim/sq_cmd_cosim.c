// SPDX-License-Identifier: Apache-2.0
// sqsim cosim: verilated RTL against golden values and cycle model.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sq_cli.h"
#include "sq_cmd_cosim.h"
#include "sq_cosim.h"

enum {
    KEY_BLOCK = 0x2000,
    KEY_CASES,
    KEY_SEED,
    KEY_POINT,
    KEY_NETLIST,
    KEY_LAYERS,
    KEY_TOKENS,
    KEY_M,
    KEY_JOBS,
    KEY_JSON,
    KEY_LIST,
    KEY_WAVES
};

static const struct argp_option options[] = {
    {"block", KEY_BLOCK, "B", 0, "core, gather, topk, meta24, array, act_split or array_a (core)",
     0},
    {"cases", KEY_CASES, "N", 0, "random cases over all points, 1..10^9 (2000)", 0},
    {"seed", KEY_SEED, "S", 0, "seed of all random choices (1)", 0},
    {"point", KEY_POINT, "P", 0, "a point of the table, `quick` or `all` (all); may repeat", 0},
    {"list", KEY_LIST, NULL, 0, "print the table of points and stop", 0},
    {"netlist", KEY_NETLIST, NULL, 0, "simulate the Yosys netlist of each point, not the RTL", 0},
    {"layers", KEY_LAYERS, NULL, 0,
     "every linear layer of MODEL, whole, in place of random cases (the embedded "
     "traces/tiny-llama without MODEL)",
     0},
    {"tokens", KEY_TOKENS, "FILE", 0,
     "token file whose first sequences feed --layers (the model's tokens_calib.safetensors)", 0},
    {"m", KEY_M, "M", 0, "tokens with --layers, 1..1048576 (8)", 0},
    {"output", 'o', "DIR", 0, "where a failing case leaves its waveform (build/cosim)", 0},
    {"waves", KEY_WAVES, "DIR", 0,
     "leave a waveform of case 0 of the first point there, whatever it shows, and stop", 0},
    {"jobs", KEY_JOBS, "N", 0, "threads, 1..64 (all processors); the result does not depend on it",
     3},
    {"json", KEY_JSON, NULL, 0, "one JSON object per point or layer, the summary last", 3},
    {0}};

static const char doc[] =
    "Runs the RTL, compiled by Verilator, in lock step with the cycle model: every handshake "
    "signal of every cycle, "
    "every accumulator tile against the golden model, every cause counter. Any difference is "
    "printed with its operands, "
    "shrunk to a small case, and left as an FST window with a GTKWave save file; exit status 1. "
    "With core or format options "
    "the one point they describe replaces the table.\v"
    "Examples:\n"
    "  sqsim cosim --cases 200 --point quick\n"
    "  sqsim cosim --bank 64 --sparsity 0.875 --rows 4 --cols 4 --gather log --cases 100\n"
    "  sqsim cosim --block gather --seed 7\n"
    "  sqsim cosim --block array --point split_a\n"
    "  sqsim cosim --layers\n"
    "  sqsim cosim ~/models/my-llama --rows 4 --cols 8\n";

// Names of --block: the two with a parameter set of their own, then the stream blocks.
static size_t block_names(const char *names[SQ_COSIM_MAX_POINTS])
{
    size_t n;
    const struct sq_stream_block *const *streams = sq_stream_blocks(&n);
    names[SQ_RTL_CORE] = "core";
    names[SQ_RTL_GATHER] = "gather";
    for (size_t i = 0; i < n; i++)
        names[SQ_RTL_STREAM + i] = streams[i]->name;
    return SQ_RTL_STREAM + n;
}

static const char *block_name(const struct sq_cosim_args *in)
{
    const char *names[SQ_COSIM_MAX_POINTS];
    (void)block_names(names);
    return in->block == SQ_RTL_STREAM ? in->stream->name : names[in->block];
}

static enum sq_status parse_block(struct sq_cosim_args *in, const char *arg)
{
    const char *names[SQ_COSIM_MAX_POINTS];
    const size_t n = block_names(names);
    size_t index, n_streams;
    SQ_TRY(sq_cli_name("--block", arg, names, n, &index, in->err));
    in->block = index < SQ_RTL_STREAM ? (enum sq_rtl_block)index : SQ_RTL_STREAM;
    if (in->block == SQ_RTL_STREAM)
        in->stream = sq_stream_blocks(&n_streams)[index - SQ_RTL_STREAM];
    return SQ_OK;
}

// "p01", "quick" or "all": adds to the list.
static enum sq_status add_points(struct sq_cosim_args *in, const char *name)
{
    const struct sq_cosim_point *table;
    const size_t n = sq_cosim_points(&table);
    const char *names[SQ_COSIM_MAX_POINTS] = {"quick", "all"};
    size_t index;
    for (size_t i = 0; i < n; i++)
        names[i + 2] = table[i].name;
    SQ_TRY(sq_cli_name("--point", name, names, n + 2, &index, in->err));
    for (size_t i = 0; i < n; i++) {
        const bool wanted = index == 1 || (index == 0 && table[i].quick) || index == i + 2;
        bool known = false;
        for (size_t j = 0; j < in->n_points; j++)
            known = known || in->points[j].name == table[i].name;
        if (wanted && !known)
            in->points[in->n_points++] = table[i];
    }
    return SQ_OK;
}

static enum sq_status parse_value(int key, const char *arg, struct sq_cosim_args *in)
{
    uint64_t v;
    switch (key) {
    case KEY_BLOCK:
        return parse_block(in, arg);
    case KEY_CASES:
        return sq_cli_uint("--cases", arg, 1, 1000000000, &in->cases, in->err);
    case KEY_SEED:
        return sq_cli_uint("--seed", arg, 0, UINT64_MAX, &in->seed, in->err);
    case KEY_POINT: // its table depends on --block
        if (in->n_wanted == SQ_COSIM_MAX_POINTS)
            return SQ_FAIL(in->err, SQ_ERR_RANGE, "--point given more than %d times",
                           SQ_COSIM_MAX_POINTS);
        in->wanted[in->n_wanted++] = arg;
        return SQ_OK;
    case KEY_M:
        SQ_TRY(sq_cli_uint("--m", arg, 1, 1 << 20, &v, in->err));
        in->m = v;
        return SQ_OK;
    case KEY_JOBS:
        SQ_TRY(sq_cli_uint("--jobs", arg, 1, 64, &v, in->err));
        in->jobs = (unsigned)v;
        return SQ_OK;
    default:
        return SQ_ERR_INTERNAL;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct sq_cosim_args *in = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = state->child_inputs[1] = &in->format;
        state->child_inputs[2] = &in->core;
        return 0;
    case KEY_BLOCK:
    case KEY_CASES:
    case KEY_SEED:
    case KEY_POINT:
    case KEY_M:
    case KEY_JOBS:
        return parse_value(key, arg, in) == SQ_OK ? 0 : EINVAL;
    case KEY_NETLIST:
        in->is_netlist = true;
        return 0;
    case KEY_LAYERS:
        in->is_model = true;
        return 0;
    case ARGP_KEY_ARG:
        if (in->model)
            return ARGP_ERR_UNKNOWN;
        in->model = arg;
        in->is_model = true;
        return 0;
    case KEY_TOKENS:
        in->tokens = arg;
        return 0;
    case KEY_WAVES:
        in->waves = arg;
        return 0;
    case 'o':
        in->output = arg;
        return 0;
    case KEY_JSON:
        in->is_json = true;
        return 0;
    case KEY_LIST:
        in->is_list = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// ---- the table of points --------------------------------------------------------------------

static void print_point(const struct sq_cosim_point *p)
{
    const struct sq_core_config *c = &p->config;
    printf("%-6s %ux%u L=%-3u H=%-2u bank=%-3u k=%-2u act=%u w=%u/%u %-8s", p->name, c->rows,
           c->cols, c->low_lanes, c->high_lanes, c->bank, c->high_per_bank, c->act_bits,
           c->high_bits, c->low_bits, c->gather == SQ_GATHER_LOG ? "log" : "crossbar");
}

static int list_points(void)
{
    const struct sq_cosim_point *table;
    const size_t n = sq_cosim_points(&table);
    for (size_t i = 0; i < n; i++) {
        print_point(&table[i]);
        printf("%s\n", table[i].quick ? "  quick" : "");
    }
    return SQ_EXIT_OK;
}

// ---- a divergence ---------------------------------------------------------------------------

static void print_hex(const char *name, const int8_t *v, unsigned n, unsigned bits)
{
    printf("    %-4s", name);
    for (unsigned i = 0; i < n; i++)
        printf(" %0*x", bits > 4 ? 2 : 1, (unsigned)v[i] & ((1u << bits) - 1));
    printf("\n");
}

// The operands of a wrong value: the banks of its tile, row and column.
static void print_operands(const struct sq_owned_case *o, const struct sq_mismatch *m)
{
    const struct sq_core_config *g = &o->c.config;
    const struct sq_core_operands *x = &o->c.operands;
    uint64_t bank = 0, tile = m->tile;
    unsigned j = 0;
    for (; j + 1 < o->c.n_jobs && tile >= o->c.job[j].groups; j++) {
        tile -= o->c.job[j].groups;
        bank += (uint64_t)o->c.job[j].groups * o->c.job[j].group_banks;
    }
    bank += tile * o->c.job[j].group_banks;
    for (uint64_t b = bank; b < bank + o->c.job[j].group_banks && b < bank + 4 && b < x->n_banks;
         b++) {
        printf("  bank %llu of row %u, column %u, element 0 first:\n", (unsigned long long)b,
               m->row, m->col);
        print_hex("act", x->act + (b * g->rows + m->row) * g->bank, g->bank, g->act_bits);
        print_hex("lo", x->lo + (b * g->cols + m->col) * g->bank, g->bank, g->low_bits);
        print_hex("hi", x->hi + (b * g->cols + m->col) * g->high_per_bank, g->high_per_bank,
                  g->high_bits);
    }
}

void sq_cosim_print_failure(const struct sq_cosim_args *in, const struct sq_cosim_failure *f)
{
    const struct sq_mismatch *m = &f->result->mismatch;
    const struct sq_core_case *c = &f->failing->c;
    static const char *const stalls[] = {"free", "interval", "random", "burst", "starve"};
    printf("MISMATCH %s: cycle %llu, tile %llu: %s rtl 0x%llx (%lld), model 0x%llx (%lld)\n",
           f->label, (unsigned long long)m->cycle, (unsigned long long)m->tile, m->what,
           (unsigned long long)m->got & 0xffffffff, (long long)m->got,
           (unsigned long long)m->want & 0xffffffff, (long long)m->want);
    printf("  shrunk to %u job(s):", c->n_jobs);
    for (unsigned i = 0; i < c->n_jobs; i++)
        printf(" %u group(s) of %u bank(s)", c->job[i].groups, c->job[i].group_banks);
    printf("; stalls");
    for (unsigned i = 0; i < 4; i++)
        printf(" %s=%s/%u", (const char *[]){"act", "lo", "hi", "out"}[i], stalls[c->stall[i].kind],
               c->stall[i].n);
    printf("; seed %llu\n", (unsigned long long)c->seed);
    if (m->kind == SQ_MISMATCH_VALUE && in->block == SQ_RTL_CORE)
        print_operands(f->failing, m);
    fflush(stdout);

    struct sq_error err;
    char home_dir[1024], dir[1200];
    snprintf(home_dir, sizeof home_dir, "%s/build/cosim", sq_cli_home());
    const char *base = in->output ? in->output : home_dir;
    (void)mkdir(base, 0777); // sq_cosim_dump reports what is wrong with it
    snprintf(dir, sizeof dir, "%.1000s/%s", base, f->label);
    if (sq_cosim_dump(in->block, f->failing, in->is_netlist, f->result, sq_cli_home(), dir, &err) ==
        SQ_OK)
        printf("  waveform: cd %s && gtkwave wave.gtkw\n", dir);
    else
        printf("  no waveform: %s\n", err.text);
}

// ---- random cases ---------------------------------------------------------------------------

static void progress(void *context, uint64_t done, uint64_t total)
{
    (void)context;
    sq_cli_progress("cosim", done, total);
}

static void report_point(const struct sq_cosim_args *in, const struct sq_cosim_point *p,
                         const struct sq_campaign_point *r)
{
    if (!in->is_json) {
        print_point(p);
        printf(" %6llu %10llu %9llu %5llu %5llu\n", (unsigned long long)r->cases,
               (unsigned long long)r->cycles, (unsigned long long)r->beats,
               (unsigned long long)r->value_mismatches, (unsigned long long)r->cycle_mismatches);
        return;
    }
    json_t *o = json_object();
    json_object_set_new(o, "point", json_string(p->name));
    sq_cli_core_json(&p->config, o);
    json_object_set_new(o, "bank", json_integer(p->config.bank));
    json_object_set_new(o, "high_per_bank", json_integer(p->config.high_per_bank));
    json_object_set_new(o, "high_bits", json_integer(p->config.high_bits));
    json_object_set_new(o, "low_bits", json_integer(p->config.low_bits));
    json_object_set_new(o, "cases", json_integer((json_int_t)r->cases));
    json_object_set_new(o, "cycles", json_integer((json_int_t)r->cycles));
    json_object_set_new(o, "beats", json_integer((json_int_t)r->beats));
    json_object_set_new(o, "value_mismatches", json_integer((json_int_t)r->value_mismatches));
    json_object_set_new(o, "cycle_mismatches", json_integer((json_int_t)r->cycle_mismatches));
    sq_cli_json_line(o);
}

int sq_cosim_summary(const struct sq_cosim_args *in, const char *unit, size_t n,
                     const struct sq_cosim_total *t, const char *data)
{
    const bool failed = t->value_mismatches + t->cycle_mismatches > 0;
    if (!in->is_json) {
        printf("%s: %zu %s, %llu cases, %llu beats compared with %s, %llu value mismatches, %llu "
               "cycle mismatches, seed %llu\n",
               failed ? "FAIL" : "PASS", n, unit, (unsigned long long)t->cases,
               (unsigned long long)t->beats, in->is_netlist ? "the netlist" : "RTL",
               (unsigned long long)t->value_mismatches, (unsigned long long)t->cycle_mismatches,
               (unsigned long long)in->seed);
    } else {
        json_t *o = json_object();
        json_object_set_new(o, "summary", json_true());
        json_object_set_new(o, "block", json_string(block_name(in)));
        json_object_set_new(o, unit, json_integer((json_int_t)n));
        json_object_set_new(o, "cases", json_integer((json_int_t)t->cases));
        json_object_set_new(o, "beats", json_integer((json_int_t)t->beats));
        json_object_set_new(o, "value_mismatches", json_integer((json_int_t)t->value_mismatches));
        json_object_set_new(o, "cycle_mismatches", json_integer((json_int_t)t->cycle_mismatches));
        json_object_set_new(o, "seed", json_integer((json_int_t)in->seed));
        json_object_set_new(o, "netlist", json_boolean(in->is_netlist));
        json_object_set_new(o, "provenance",
                            sq_cli_provenance(data, "measured (RTL simulation)", in->seed));
        sq_cli_json_line(o);
    }
    return failed ? SQ_EXIT_CHECK_FAILED : SQ_EXIT_OK;
}

static int run_random(const struct sq_cosim_args *in)
{
    struct sq_campaign_point result[SQ_COSIM_MAX_POINTS];
    struct sq_cosim_total total = {0};
    struct sq_error err;
    const struct sq_campaign campaign = {.block = in->block,
                                         .points = in->points,
                                         .n_points = in->n_points,
                                         .cases = in->cases,
                                         .seed = in->seed,
                                         .netlist = in->is_netlist,
                                         .jobs = in->jobs,
                                         .home = sq_cli_home(),
                                         .progress = progress};
    if (sq_campaign_run(&campaign, result, &err) != SQ_OK) {
        sq_campaign_free(result, in->n_points);
        return sq_cli_fail("cosim", &err);
    }
    if (!in->is_json)
        printf("%-62s %6s %10s %9s %5s %5s\n", "point", "cases", "cycles", "beats", "value",
               "cycle");
    for (size_t i = 0; i < in->n_points; i++) {
        const struct sq_campaign_point *r = &result[i];
        report_point(in, &in->points[i], r);
        total.cases += r->cases;
        total.beats += r->beats;
        total.value_mismatches += r->value_mismatches;
        total.cycle_mismatches += r->cycle_mismatches;
    }
    for (size_t i = 0; i < in->n_points && !in->is_json; i++) {
        char label[96];
        if (result[i].result.mismatch.kind == SQ_MISMATCH_NONE)
            continue;
        snprintf(label, sizeof label, "%s-seed%llu-case%llu", in->points[i].name,
                 (unsigned long long)in->seed, (unsigned long long)result[i].failing_case);
        const struct sq_cosim_failure f = {label, &result[i].failing, &result[i].result};
        sq_cosim_print_failure(in, &f);
    }
    sq_campaign_free(result, in->n_points);
    return sq_cosim_summary(in, "points", in->n_points, &total, "synthetic");
}

// A waveform of case 0 of the first point.
static int leave_waves(const struct sq_cosim_args *in)
{
    struct sq_core_config config = in->points[0].config;
    struct sq_core_cosim_result whole = {0};
    struct sq_owned_case o;
    struct sq_error err;
    if (in->block == SQ_RTL_GATHER)
        config.cols = 1;
    enum sq_status status = sq_cosim_case(&config, in->seed, 0, &o, &err);
    if (status != SQ_OK)
        return sq_cli_fail("cosim", &err);
    status = sq_cosim_dump(in->block, &o, in->is_netlist, &whole, sq_cli_home(), in->waves, &err);
    sq_owned_case_free(&o);
    if (status != SQ_OK)
        return sq_cli_fail("cosim", &err);
    printf("waveform: cd %s && gtkwave wave.gtkw\n", in->waves);
    return SQ_EXIT_OK;
}

// Core or format options were given.
static bool has_point_options(const struct sq_cosim_args *in, int argc, char **argv)
{
    static const char *const names[] = {"--high-bits", "--low-bits", "--bank", "--sparsity",
                                        "--act-bits"};
    bool given = in->core.given;
    for (int i = 1; i < argc; i++)
        for (size_t j = 0; j < sizeof names / sizeof names[0]; j++)
            given = given || strncmp(argv[i], names[j], strlen(names[j])) == 0;
    return given;
}

// Core or format options describe one point of their own.
static enum sq_status custom_point(struct sq_cosim_args *in, int argc, char **argv)
{
    const bool given = has_point_options(in, argc, argv);
    if (!given && (in->n_points > 0 || !in->is_model))
        return SQ_OK;
    if (in->n_points > 0)
        return SQ_FAIL(
            in->err, SQ_ERR_ARG,
            "--point names a point of the table, core and format options describe another");
    if (!in->core.given) { // a small core that builds in seconds
        in->core.config.rows = 2;
        in->core.config.cols = 4;
    }
    in->points[0] = (struct sq_cosim_point){"custom", {0}, false};
    in->n_points = 1;
    return sq_cli_core_config(&in->core, &in->format, &in->points[0].config, in->err);
}

int sq_cmd_cosim(int argc, char **argv)
{
    struct sq_error err;
    struct sq_cosim_point points[SQ_COSIM_MAX_POINTS];
    struct sq_cosim_args in = {.format = sq_cli_format_default(&err),
                               .core = sq_cli_core_default(&err),
                               .points = points,
                               .cases = 2000,
                               .seed = 1,
                               .m = 8,
                               .err = &err};
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    in.jobs = processors < 1 ? 1 : processors > 64 ? 64 : (unsigned)processors;
    const struct argp_child children[] = {{&sq_cli_format_argp, 0, NULL, 0},
                                          {&sq_cli_act_argp, 0, NULL, 0},
                                          {&sq_cli_core_argp, 0, NULL, 0},
                                          {0}};
    const struct argp argp = {options, parse, "[MODEL]", doc, children, NULL, NULL};

    if (sq_cli_parse(&argp, argc, argv, &in, &err) != SQ_OK)
        return sq_cli_fail("cosim", &err);
    if (in.block == SQ_RTL_STREAM) {
        if (in.is_model || has_point_options(&in, argc, argv)) {
            (void)SQ_FAIL(&err, SQ_ERR_ARG, "--block %s has only the points of its table (--list)",
                          in.stream->name);
            return sq_cli_fail("cosim", &err);
        }
        return sq_cosim_stream(&in);
    }
    for (size_t i = 0; i < in.n_wanted; i++)
        if (add_points(&in, in.wanted[i]) != SQ_OK)
            return sq_cli_fail("cosim", &err);
    if (custom_point(&in, argc, argv) != SQ_OK)
        return sq_cli_fail("cosim", &err);
    if (in.is_list)
        return list_points();
    if (in.is_model)
        return sq_cosim_model(&in);
    if (in.n_points == 0 && add_points(&in, "all") != SQ_OK)
        return sq_cli_fail("cosim", &err);
    return in.waves ? leave_waves(&in) : run_random(&in);
}
