// SPDX-License-Identifier: Apache-2.0
// What sq_toggle.h counts, net by net against Icarus Verilog: the mapped
// netlists of four PEs with what lies around them, 64 lanes, every input port
// drawn anew in every cycle, without delays and with them. Icarus runs one lane
// after the other. No count may differ. Of the cells only the functions are
// shared. Delays are drawn, one rise and one fall for a net. Those that differ
// from input to input, and changes that meet, are worked out by hand in
// tests/unit/synth/test_energy.c.
//
// Sampled: dense, split, 2:4 and the core, as small as they come, in one
// library. Skipped aloud without Icarus Verilog, Yosys or the library.
#include <unistd.h>

#include "models/sq_rng.h"
#include "sim/energy/sq_measure.h"
#include "sim/io/sq_process.h"
#include "tests/sim/block_fixture.h"
#include "tests/skip.h"
#include "tests/unit/tmpdir.h"

static const char liberty[] = "/usr/share/qflow/tech/osu018/osu018_stdcells.lib";
enum { CYCLES = 4, FILL = 12 };

static char dir[64];
static struct sq_synth synth;
static struct sq_lib_models models;
static struct sq_netlist net;

// ---- the netlist in Verilog

static const struct sq_lib_pin *output_of(const struct sq_gate *g, unsigned p)
{
    const struct sq_lib_pin *pin = &g->model->pin[p];
    return pin->is_output && pin->has_function ? pin : NULL;
}

// The variables that an expression can name: all pins, and the states.
static size_t n_vars(const struct sq_gate *g)
{
    return g->model->n_pins + 2;
}

// Bit i of the constant is the expression where variable v is bit v of i: one
// step for Verilog, whatever changes.
static void put_table(FILE *f, const struct sq_gate *g, const struct sq_lib_expr *e)
{
    const size_t n = n_vars(g);
    uint64_t value[SQ_LIB_MODEL_PINS + 2];
    fprintf(f, "%zu'b", (size_t)1 << n);
    for (size_t i = (size_t)1 << n; i-- > 0;) {
        for (size_t v = 0; v < n; v++)
            value[v] = i >> v & 1;
        fputc(sq_lib_expr_eval(e, value) & 1 ? '1' : '0', f);
    }
}

// The nets lie in scopes of so many: Icarus looks for a name among all of a scope.
enum { SCOPE = 64 };
#define NET "p%u.n%u"
#define AT(i) (i) / SCOPE, (i)

// Another variable would make the output unknown as long as it is unknown
// itself.
static bool depends(const struct sq_gate *g, const struct sq_lib_expr *e, size_t v)
{
    uint64_t value[SQ_LIB_MODEL_PINS + 2];
    bool any = false;
    for (size_t i = 0; i < (size_t)1 << n_vars(g); i++) {
        uint64_t out[2];
        for (size_t k = 0; k < 2; k++) {
            for (size_t j = 0; j < n_vars(g); j++)
                value[j] = (i >> j & 1) ^ (j == v && k);
            out[k] = sq_lib_expr_eval(e, value) & 1;
        }
        any = any || out[0] != out[1];
    }
    return any;
}

static void put_vars(FILE *f, uint32_t number, const struct sq_lib_expr *e)
{
    const struct sq_gate *g = &net.gate[number];
    if (g->model->is_flop)
        fprintf(f, "{~s%u, s%u", number, number);
    else
        fprintf(f, "{2'b0");
    for (size_t p = g->model->n_pins; p-- > 0;)
        if (g->model->pin[p].is_output || !depends(g, e, p))
            fprintf(f, ", 1'b0");
        else
            fprintf(f, ", " NET, AT(g->net[p]));
    fputc('}', f);
}

// ---- delays

// Femtoseconds by the load of a net, in 1e-18 F.
static long time_of(long load, unsigned edge)
{
    return edge == SQ_LIB_RISE ? 15000 + load : 7013 + 2 * load;
}

static void fill_table(const struct sq_lib_table *t, unsigned edge)
{
    const double at_0 = 1e-15 * (double)time_of(0, edge), slope = edge == SQ_LIB_RISE ? 1e3 : 2e3;
    for (size_t i = 0; i < (size_t)t->n_slew * t->n_load; i++)
        t->value[i] = at_0 + slope * t->load[i % t->n_load];
}

// An assignment of Verilog has one rise and one fall, whichever input is the cause: the tables are
// filled with such. Each net draws a load of its own, so that hardly two changes meet: where many do,
// Icarus 11 ends cycles with gates whose output is not the function of their inputs.
static void set_delays(long *load)
{
    struct sq_rng rng = {12};
    for (uint32_t i = 0; i < net.n_nets; i++) {
        load[i] = 10000 + (long)(sq_rng_next(&rng) % 50000);
        net.net[i].load = 1e-18 * (double)load[i];
    }
    for (size_t i = 0; i < models.n_models; i++)
        for (size_t p = 0; p < models.model[i]->n_pins; p++)
            for (size_t k = 0; k < models.model[i]->pin[p].n_timing; k++)
                for (unsigned edge = 0; edge < 2; edge++)
                    fill_table(&models.model[i]->pin[p].timing[k].delay[edge], edge);
}

// ---- gates

// load: by net; NULL: no delays.
static void put_gate(FILE *f, uint32_t number, const long *load)
{
    const struct sq_gate *g = &net.gate[number];
    if (g->model->is_flop) {
        const struct sq_lib_expr *e = &g->model->next_state;
        fprintf(f, "  reg s%u = 0;\n  localparam [%zu:0] N%u = ", number,
                ((size_t)1 << n_vars(g)) - 1, number);
        put_table(f, g, e);
        fprintf(f, ";\n");
        // An edge at which reset ends still finds it.
        fprintf(f, "  always @(posedge clk) s%u <= ", number);
        for (unsigned k = 0; k < 2; k++)
            if (k ? g->model->has_preset : g->model->has_clear)
                fprintf(f, "f%u_%u ? %u : ", number, k, k);
        fprintf(f, "N%u[", number);
        put_vars(f, number, e);
        fprintf(f, "];\n");
        for (unsigned k = 0; k < 2; k++) {
            if (!(k ? g->model->has_preset : g->model->has_clear))
                continue;
            fprintf(f, "  localparam [%zu:0] F%u_%u = ", ((size_t)1 << n_vars(g)) - 1, number, k);
            const struct sq_lib_expr *force = k ? &g->model->preset : &g->model->clear;
            put_table(f, g, force);
            fprintf(f, ";\n  wire f%u_%u = F%u_%u[", number, k, number, k);
            put_vars(f, number, force);
            fprintf(f, "];\n  always @(f%u_%u or s%u) if (f%u_%u) s%u <= %u;\n", number, k, number,
                    number, k, number, k);
        }
    }
    for (unsigned p = 0; p < g->model->n_pins; p++) {
        const struct sq_lib_pin *pin = output_of(g, p);
        if (!pin)
            continue;
        fprintf(f, "  localparam [%zu:0] T%u_%u = ", ((size_t)1 << n_vars(g)) - 1, number, p);
        put_table(f, g, &pin->function);
        fprintf(f, ";\n  assign ");
        if (load)
            fprintf(f, "#(%ld, %ld) ", time_of(load[g->net[p]], SQ_LIB_RISE),
                    time_of(load[g->net[p]], SQ_LIB_FALL));
        fprintf(f, NET " = T%u_%u[", AT(g->net[p]), number, p);
        put_vars(f, number, &pin->function);
        fprintf(f, "];\n");
    }
}

// ---- operands

static size_t list_inputs(uint32_t *input)
{
    size_t n = 0;
    for (size_t i = 0; i < net.n_ports; i++)
        for (size_t b = 0; net.port[i].is_input && b < net.port[i].n_bits; b++)
            if (net.port[i].net[b] != net.clock)
                input[n++] = net.port[i].net[b];
    return n;
}

// Draws the lanes of an input. The first half of the cycles of the fill are in reset.
static uint64_t draw(struct sq_rng *rng, uint32_t input, unsigned cycle)
{
    const uint32_t reset = sq_netlist_port(&net, "rst_ni")->net[0];
    const uint64_t lanes = sq_rng_next(rng);
    return input == reset ? (cycle < FILL / 2 ? 0 : UINT64_MAX) : lanes;
}

// Yosys leaves numbers out; input ports that nothing reads have a name.
static bool is_used(uint32_t i)
{
    return i < 2 || net.net[i].gate != SQ_NET_NONE || net.net[i].n_sinks > 0 || *net.net[i].name;
}

static void put_test(FILE *f, const uint32_t *input, size_t n_inputs, const long *load)
{
    fprintf(f, "`timescale 1fs/1fs\nmodule lane (input clk, input [%zu:0] in);\n", n_inputs - 1);
    for (uint32_t i = 0; i < net.n_nets; i++) {
        if (i % SCOPE == 0)
            fprintf(f, "%s  if (1) begin : p%u\n", i ? "  end\n" : "", i / SCOPE);
        if (is_used(i))
            fprintf(f, "    wire n%u;\n    reg w%u = 0;\n", i, i);
    }
    fprintf(f, "  end\n  assign " NET " = 1'b0;\n  assign " NET " = 1'b1;\n", AT(0), AT(1));
    fprintf(f, "  assign " NET " = clk;\n", AT(net.clock));
    for (size_t i = 0; i < n_inputs; i++)
        fprintf(f, "  assign " NET " = in[%zu];\n", AT(input[i]), i);
    for (uint32_t g = 0; g < net.n_gates; g++)
        put_gate(f, g, load);
    if (!load)
        fprintf(f, "  always @(negedge clk) begin\n");
    for (uint32_t i = 2; i < net.n_nets; i++)
        if (is_used(i) && load)
            fprintf(f,
                    "  always @(" NET ") if (top.on)\n"
                    "    if (" NET ") top.r[%u] = top.r[%u] + 1; else top.f[%u] = top.f[%u] + 1;\n",
                    AT(i), AT(i), i, i, i, i);
        else if (is_used(i))
            fprintf(f,
                    "    if (top.on && p%u.w%u !== " NET ")\n"
                    "      if (" NET
                    ") top.r[%u] = top.r[%u] + 1; else top.f[%u] = top.f[%u] + 1;\n"
                    "    p%u.w%u = " NET ";\n",
                    AT(i), AT(i), AT(i), i, i, i, i, AT(i), AT(i));
    if (!load)
        fprintf(f, "  end\n");
    fprintf(f, "  task zero; begin\n");
    for (size_t i = 0; i < net.n_flops; i++)
        fprintf(f, "    s%u = 0;\n", net.flop[i]);
    fprintf(f,
            "  end endtask\nendmodule\n"
            "module top;\n  reg clk = 0, on = 0;\n  integer r [0:%zu], f "
            "[0:%zu], l, c, i;\n"
            "  reg [%zu:0] all [0:%d];\n  reg [%zu:0] now = 0;\n  lane u (clk, "
            "now);\n",
            net.n_nets, net.n_nets, n_inputs - 1, SQ_LANES * (FILL + CYCLES) - 1, n_inputs - 1);
    fprintf(f,
            "  initial begin\n    $readmemb(\"in.txt\", all);\n"
            "    for (i = 0; i < %zu; i = i + 1) begin r[i] = 0; f[i] = 0; end\n"
            "    for (l = 0; l < %d; l = l + 1) begin\n"
            "      on = 0; now = 0; u.zero; #100000000;\n"
            "      for (c = 0; c < %d; c = c + 1) begin\n"
            "        on = c >= %d;\n        clk <= 1; now <= all[l * %d + c];\n"
            "        #100000000; clk <= 0; #100000000;\n      end\n    end\n"
            "    for (i = 2; i < %zu; i = i + 1) $display(\"%%0d %%0d %%0d\", i, "
            "r[i], f[i]);\n"
            "  end\nendmodule\n",
            net.n_nets, SQ_LANES, FILL + CYCLES, FILL, FILL + CYCLES, net.n_nets);
}

// The same operands into the toggle and, lane by lane, into in.txt.
static void run_toggle(struct sq_toggle *t, const uint32_t *input, size_t n_inputs)
{
    enum { ALL = FILL + CYCLES };
    struct sq_rng rng = {11};
    struct sq_error err;
    FILE *f = fopen(tmpdir_path(dir, "in.txt"), "w");
    uint64_t *word = fixture_exact(ALL * n_inputs * sizeof *word);
    assert_non_null(f);
    for (unsigned c = 0; c < ALL; c++) {
        for (size_t i = 0; i < n_inputs; i++)
            sq_toggle_set(t, input[i], word[c * n_inputs + i] = draw(&rng, input[i], c));
        assert_ok(sq_toggle_step(t, c >= FILL, &err));
    }
    for (unsigned i = 0; i < SQ_LANES * ALL; i++, fputc('\n', f))
        for (size_t b = n_inputs; b-- > 0;)
            fputc(word[i % ALL * n_inputs + b] >> (i / ALL) & 1 ? '1' : '0', f);
    assert_int_equal(fclose(f), 0);
}

static void tool(char *const argv[])
{
    struct sq_error err;
    int code = -1;
    const char *log = tmpdir_path(dir, "log");
    if (sq_process_run(dir, argv, log, &code, &err) != SQ_OK || code != 0)
        fail_msg("%s: exit %d, see %s", argv[0], code, log);
}

static void compare(const struct sq_toggle *t, const char *name)
{
    size_t n, at = 0;
    uint64_t all = 0;
    uint8_t *text = read_bytes(tmpdir_path(dir, "log"), &n);
    unsigned number, differs = 0;
    unsigned long long rises, falls;
    int used;
    while (at < n &&
           sscanf((char *)text + at, "%u %llu %llu\n%n", &number, &rises, &falls, &used) == 3) {
        at += (size_t)used;
        assert_true(number < net.n_nets);
        all += rises + falls;
        if (number == net.clock || (t->net[number][0] == rises && t->net[number][1] == falls))
            continue;
        if (differs++ < 8)
            print_error("%s: net %u %s: %lu rises and %lu falls, Icarus %llu and %llu\n", name,
                        number, net.net[number].name, (unsigned long)t->net[number][0],
                        (unsigned long)t->net[number][1], rises, falls);
    }
    printf("# %s%s: %zu gates, %lu changes, %u nets differ\n", name,
           t->has_delays ? " with delays" : "", net.n_gates, (unsigned long)all, differs);
    assert_true(all > 10000);
    assert_int_equal(differs, 0);
}

static void run_netlist(const char *name, const long *load)
{
    struct sq_toggle t;
    struct sq_error err;
    uint32_t *input = fixture_exact(net.n_nets * sizeof *input);
    const size_t n_inputs = list_inputs(input);
    assert_ok(sq_toggle_open(&t, &net, load, &err));
    run_toggle(&t, input, n_inputs);
    FILE *f = fopen(tmpdir_path(dir, "top.v"), "w");
    assert_non_null(f);
    put_test(f, input, n_inputs, load);
    assert_int_equal(fclose(f), 0);
    tool((char *[]){"iverilog", "-g2005", "-o", "top.vvp", "top.v", NULL});
    tool((char *[]){"vvp", "-n", "top.vvp", NULL});
    compare(&t, name);
    sq_toggle_close(&t);
}

// ---- PEs

static struct sq_point one_pe(const struct sq_block *b, const char *name, unsigned banks,
                              unsigned bank)
{
    unsigned value[SQ_PARAMS_MAX] = {0};
    const struct {
        const char *name;
        unsigned value;
    } set[] = {{"Rows", 1}, {"Cols", 1}, {"Banks", banks}, {"BankLen", bank}};
    uint32_t given = 0;
    struct sq_point own;
    struct sq_error err;
    for (size_t i = 0; i < LEN(set); i++) {
        const size_t p = sq_param_find(b, set[i].name);
        if (p == SQ_PARAMS_MAX)
            continue;
        value[p] = set[i].value;
        given |= UINT32_C(1) << p;
    }
    for (size_t i = 0; i < b->n_points; i++)
        if (strcmp(b->points[i].name, name) == 0) {
            if (!b->free)
                return b->points[i];
            assert_ok(sq_point_own(b, &b->points[i], value, given, &own, &err));
            return own;
        }
    fail_msg("no point %s", name);
    return own;
}

static void check(const char *block, const char *point, unsigned banks, unsigned bank)
{
    struct sq_error err;
    char *path;
    char label[64];
    if (!synth.n_sources)
        SQ_SKIP("%s, no Icarus Verilog (iverilog), Yosys or osu018 here", block);
    const struct sq_block *b = block_named(block);
    const struct sq_point p = one_pe(b, point, banks, bank);
    const struct sq_synth_block s = sq_measure_block(b, &p);
    const struct sq_netlist_edge edge = {50e-12, 50e-15, NULL, 0};
    snprintf(label, sizeof label, "%s %s", block, point);
    if (sq_synth_mapped(&synth, &s, &path, &err) != SQ_OK ||
        sq_lib_models_open(&models, &synth.lib, &err) != SQ_OK ||
        sq_netlist_read(&net, path, "clk_i", &models, &edge, &err) != SQ_OK)
        fail_msg("%s: %s", label, err.text);
    free(path);
    long *load = fixture_exact(net.n_nets * sizeof *load);
    run_netlist(label, NULL);
    set_delays(load);
    run_netlist(label, load);
    sq_netlist_free(&net);
    sq_lib_models_close(&models);
}

SQ_TEST(dense)
{
    check("array", "int4x4", 1, 4);
}

SQ_TEST(split)
{
    check("array", "split_a", 1, 8);
}

SQ_TEST(two_of_four)
{
    check("array", "sp24", 1, 8);
}

SQ_TEST(core)
{
    check("core", "p01", 1, 4);
}

static int set_up(void **state)
{
    struct sq_error err;
    char text[64];
    (void)state;
    tmpdir_make(dir);
    if (access(liberty, R_OK) != 0 ||
        sq_process_version("iverilog", "-V", text, sizeof text, NULL) != SQ_OK)
        return 0;
    if (sq_synth_open(&synth, "rtl", liberty, "build/synth", &err) != SQ_OK &&
        err.code != SQ_ERR_TOOL)
        fail_msg("%s", err.text);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (synth.n_sources)
        sq_synth_close(&synth);
    tmpdir_remove(dir);
    return 0;
}

SQ_BEFORE_ALL(set_up)
SQ_AFTER_ALL(tear_down)
