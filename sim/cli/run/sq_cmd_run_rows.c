// SPDX-License-Identifier: Apache-2.0
// --phase with --and of `sqsim run`: a row for each format, every figure of it of one design.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/run/sq_cmd_run_pass.h"
#include "sim/cli/sq_cli_synth.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/format/sq_layer_rule.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_json.h"

// What all rows share.
struct rows {
    const struct sq_run_request *request; // with the PEs that rows get
    struct sq_synth synth;
    double sram_um2;  // of a bit; NAN: no memories
    bool is_token;    // the machine is a chip that computes a token by itself
    json_t *measured; // array of summaries of eval; NULL: none
    json_t *refused;  // array: formats without a row, and why
    struct sq_cli_table table;
};

// ---- KL -------------------------------------------------------------------------------------

static enum sq_status keep_summary(const json_t *object, unsigned line, void *user,
                                   struct sq_error *err)
{
    (void)line;
    if (json_object_get(object, "summary") && json_object_get(object, "kl_mean"))
        json_array_append(user, (json_t *)(uintptr_t)object);
    return SQ_HAVE(user, err, "summaries");
}

static enum sq_status read_kl(struct rows *r, struct sq_error *err)
{
    SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
    if (!r->request->kl)
        return SQ_OK;
    r->measured = json_array();
    SQ_TRY(sq_file_map(r->request->kl, &map, err));
    return sq_json_lines(r->request->kl, map.data ? (const char *)map.data : "", map.nbytes,
                         keep_summary, r->measured, err);
}

// Whether the summary is of the recipe. A run does not say how weights are rounded, only what it can show and
// what codes there are, which are objects.
static bool is_of(const json_t *summary, const json_t *evaluated, const json_t *run)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)evaluated, key, value)
    {
        const json_t *other = json_object_get(summary, key);
        const bool is_known = json_is_object(value) || json_object_get(run, key);
        if (is_known && !(other && json_equal(other, value)))
            return false;
    }
    return true;
}

// The first summary of the recipe; NULL: none.
static const json_t *summary_of(const struct rows *r, const struct sq_recipe *recipe)
{
    json_t *run = sq_recipe_json(recipe, SQ_IN_RUN);
    json_auto_t *evaluated = sq_recipe_json(recipe, SQ_IN_EVAL);
    json_t *summary;
    const json_t *found = NULL;
    size_t i;
    json_array_foreach(r->measured, i, summary)
    {
        if (!found && is_of(summary, evaluated, run))
            found = summary;
    }
    json_decref(run);
    return found;
}

static double figure(const json_t *summary, const char *key)
{
    const json_t *v = json_object_get(summary, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

// ---- a row ----------------------------------------------------------------------------------

// An end of the 95 % interval.
static double end_of(const json_t *summary, size_t end)
{
    const json_t *v = json_array_get(json_object_get(summary, "kl_mean_95"), end);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

// Whether the netlists have the clock of the row.
static bool is_met(const struct sq_run_request *in, const struct sq_fair_silicon *s)
{
    return !(in->period_ns > 0 && s->period_ns > in->period_ns);
}

static double ms_of(const struct sq_pass_result *x, enum sq_pass_part part, bool meets)
{
    return meets ? 1e3 * x->seconds[part] : NAN;
}

// The unit says more, where it lends the tail.
static const char *text_of_sum(const struct sq_fair_silicon *s)
{
    return s->unit ? s->unit : s->sum;
}

static void put(struct rows *r, const struct sq_run_one *one, const struct sq_fair_silicon *s)
{
    const struct sq_machine *m = &one->machine;
    const struct sq_recipe *recipe = &one->request->recipe;
    const struct sq_pass_result *x = &one->result;
    const bool meets = is_met(r->request, s);
    const double tokens = (double)one->workload.rest.tokens;
    const double ms = meets ? 1e3 * x->total_seconds : NAN;
    const double chips = (double)one->workload.rest.chips, mm2 = chips * s->mm2;
    const bool has_energy = one->request->energy && meets;
    const double low = 1e-12 * (double)sq_machine_energy_total(&x->energy, SQ_CASE_LOW) / tokens;
    const double high = 1e-12 * (double)sq_machine_energy_total(&x->energy, SQ_CASE_HIGH) / tokens;
    const json_t *summary = r->measured ? summary_of(r, recipe) : NULL;
    const struct sq_fair_second *const second = &one->fair.second;
    char text[96], shape[32];
    snprintf(shape, sizeof shape, "%ux%ux%u", m->core.rows, m->core.cols, one->fair.pe.low_lanes);
    if (recipe->format->text)
        recipe->format->text(recipe, text);
    else
        snprintf(text, sizeof text, "%s", recipe->format->name);
    // A chip's own units.
    const bool is_short = !r->table.is_json && !r->is_token;
    const double own = r->is_token ? 1 : NAN;
    const struct sq_cli_column units[] = {
        SQ_COLUMN("attend_mm2", own * s->attend_mm2, "attn mm2", 9, .as = "%.4f",
                  .is_absent = is_short),
        SQ_COLUMN("encoder_mm2", own * s->encoder_mm2, "enc mm2", 8, .as = "%.4f",
                  .is_absent = is_short),
        SQ_COLUMN("dma_mm2", own * s->dma_mm2, "DMA mm2", 8, .as = "%.4f", .is_absent = is_short),
        SQ_KEYS("rest_mm2", own * s->rest_mm2), SQ_COLUMNS_END};
    const struct sq_cli_column row[] = {
        SQ_COLUMN(NULL, text, "format", -30),
        SQ_KEYS("recipe", r->table.is_json ? sq_recipe_json(recipe, SQ_IN_RUN) : NULL),
        SQ_COLUMN("stored_bits_per_weight", x->nbits / x->weights, "bits", 8, .as = "%.4f"),
        SQ_COLUMN("kl_mean", figure(summary, "kl_mean"), "KL", 9, .as = "%.5f"),
        SQ_COLUMN("kl_low", end_of(summary, 0), "from", 9, .as = "%.5f"),
        SQ_COLUMN("kl_high", end_of(summary, 1), "to", 9, .as = "%.5f"),
        SQ_KEYS("kl_loss_reference", figure(summary, "loss_reference")),
        SQ_KEYS("cores", m->cores, "rows", m->core.rows, "cols", m->core.cols),
        SQ_KEYS("low_lanes", one->fair.pe.low_lanes, "high_lanes", one->fair.pe.high_lanes),
        SQ_COLUMN(NULL, shape, "PEs", 9),
        SQ_COLUMN("filled", one->fair.pe.filled, "filled", 7, .as = "%.1f%%", .scale = 100),
        SQ_KEYS("second_rows", second->um2 > 0 ? second->machine.core.rows : 0, "second_cols",
                second->um2 > 0 ? second->machine.core.cols : 0, "second_lanes", second->lanes),
        SQ_KEYS("attention_on", one->attention_on, "head_on", one->head_on),
        SQ_COLUMN("netlist_ns", s->period_ns, "needs ns", 9, .as = "%.3f"),
        SQ_COLUMN("clock_ghz", 1e-9 * m->clock_hz, "GHz", 8, .as = "%.4f"),
        SQ_KEYS("clock_from",
                r->request->is_clock_machine || isnan(s->period_ns) ? "machine"
                : r->request->period_ns > 0                         ? "period"
                                                                    : "netlist",
                "meets_clock", json_boolean(meets), "wire_load", sq_synth_wire_load(&r->synth)),
        SQ_KEYS("is_placed", json_boolean(r->request->wires), "energy_has_wires",
                has_energy ? json_boolean(one->energy.mac.has_wires) : json_null()),
        SQ_COLUMN("mm2", mm2, "mm2", 10, .as = "%.4f"),
        SQ_KEYS("pe_mm2", chips * s->pe_mm2, "line_mm2", chips * s->line_mm2, "sram_mm2",
                chips * s->sram_mm2),
        SQ_KEYS("output_mm2", chips * s->output_mm2, "second_mm2",
                1e-6 * chips * m->cores * second->um2),
        SQ_KEYS("vector_mm2", chips * s->vector_mm2, "vector_ns", s->vector_ns, "vector_clock_ghz",
                1e-9 * sq_machine_vector_hz(m)),
        SQ_ROW(units),
        SQ_COLUMN("ms", ms, "ms", 12, .as = "%.4f"),
        SQ_COLUMN("linear_ms", ms_of(x, SQ_PASS_LINEAR, meets), "linear", 10, .as = "%.3f"),
        SQ_COLUMN("head_ms", ms_of(x, SQ_PASS_HEAD, meets), "head", 9, .as = "%.3f"),
        SQ_COLUMN("attention_ms", ms_of(x, SQ_PASS_ATTENTION, meets), "attention", 10,
                  .as = "%.3f"),
        SQ_COLUMN("vector_ms", ms_of(x, SQ_PASS_VECTOR, meets), "vector", 9, .as = "%.3f"),
        SQ_COLUMN("memory_ms", ms_of(x, SQ_PASS_MEMORY, meets), "memory", 9, .as = "%.3f"),
        SQ_COLUMN("encode_ms", r->is_token ? 1e3 * one->encode_s : NAN, "encoders", 9, .as = "%.3f",
                  .is_absent = is_short),
        SQ_COLUMN("compute_ms", meets ? 1e3 * x->compute : NAN, "multiply", 10, .as = "%.3f"),
        SQ_COLUMN("dram_ms", meets ? 1e3 * x->dram : NAN, "DRAM", 10, .as = "%.3f"),
        SQ_COLUMN("binds", r->is_token ? NULL : sq_run_binds(x), "bound by", -16),
        SQ_KEYS("rows_used", tokens < m->core.rows ? tokens : m->core.rows),
        SQ_COLUMN("tokens_per_second", 1e3 * tokens / ms, "tokens/s", 12, .as = "%.3f"),
        SQ_COLUMN("ttft_ms", meets ? 1e3 * one->first_s : NAN, "TTFT ms", 12, .as = "%.2f"),
        SQ_COLUMN("energy_low_j_per_token", has_energy ? low : NAN, "J/token", 10, .as = "%.4g"),
        SQ_COLUMN("energy_high_j_per_token", has_energy ? high : NAN, "to", 10, .as = "%.4g"),
        SQ_COLUMN("ms_mm2", ms * mm2, "ms x mm2", 12, .as = "%.2f"),
        SQ_KEYS("energy_block", has_energy ? one->energy.mac.block : NULL, "pe_unit", s->unit),
        SQ_KEYS("sum", s->sum),
        SQ_COLUMN(NULL, meets ? text_of_sum(s) : "no PE meets it", "blocks add", -10),
        SQ_COLUMNS_END};
    sq_cli_put(&r->table, row);
}

static enum sq_status price(const struct rows *r, struct sq_run_one *one, struct sq_fair_silicon *s,
                            struct sq_error *err)
{
    if (r->request->fair != SQ_FAIR_AREA)
        return SQ_OK;
    const double period_ns = r->request->period_ns;
    const struct sq_fair_second *const second = &one->fair.second;
    SQ_TRY(sq_fair_silicon_of(&r->synth, &one->request->recipe, &one->machine, r->sram_um2,
                              SQ_FAIR_WHOLE, s, err));
    if (second->um2 > 0) {
        s->period_ns = fmax(s->period_ns, second->period_ns);
        s->mm2 += 1e-6 * second->um2 * one->machine.cores;
    }
    if (!r->request->is_clock_machine && s->period_ns > 0)
        SQ_TRY(
            sq_machine_set_netlist(&one->machine, period_ns > 0 ? period_ns : s->period_ns, err));
    if (!r->request->is_clock_machine && s->vector_ns > 0)
        one->machine.vector_hz = 1e9 / s->vector_ns;
    return SQ_OK;
}

static enum sq_status time_design(struct rows *r, const struct sq_run_request *request,
                                  struct sq_error *err)
{
    SQ_CLOSED(sq_run_one_free) struct sq_run_one one = {0};
    struct sq_fair_silicon silicon = sq_fair_silicon_none;
    enum sq_status status = sq_run_one_open(request, &one, err);
    if (r->is_token) {
        const struct sq_synth *const synth = request->fair == SQ_FAIR_AREA ? &r->synth : NULL;
        SQ_THEN(status, sq_run_one_energy(&one, err));
        SQ_THEN(status, sq_run_token_row(&one, sq_run_model_path(request), synth, &silicon, err));
    } else {
        SQ_THEN(status, price(r, &one, &silicon, err));
        SQ_THEN(status, sq_run_one_time(&one, err));
    }
    sq_cli_progress_end();
    if (status == SQ_OK)
        put(r, &one, &silicon);
    return status;
}

// A format whose joules nobody measured has none; one that cannot be such a design, or does not fit its memory,
// is named at the end.
static enum sq_status time_row(struct rows *r, const struct sq_run_request *request,
                               struct sq_error *err)
{
    struct sq_run_request other = *request;
    other.energy = other.kv_energy = other.head_energy = NULL;
    sq_cli_stage("run", request->recipe.format->name);
    enum sq_status status = time_design(r, request, err);
    if (status == SQ_ERR_UNSUPPORTED && request->energy)
        status = time_design(r, &other, err);
    if (status != SQ_ERR_UNSUPPORTED && status != SQ_ERR_RANGE && status != SQ_ERR_SHAPE)
        return status;
    json_array_append_new(r->refused, json_pack("{s:s, s:s}", "format",
                                                request->recipe.format->name, "why", err->text));
    return SQ_OK;
}

// ---- all of them ----------------------------------------------------------------------------

static enum sq_status open_silicon(struct rows *r, struct sq_error *err)
{
    r->sram_um2 = NAN;
    if (r->request->fair == SQ_FAIR_AREA)
        SQ_TRY(sq_cli_synth_open(&r->synth, r->request->liberty, err));
    r->synth.is_wireless = r->request->is_wireless;
    r->synth.period_ns = sq_run_period(r->request);
    if (r->request->wires)
        SQ_TRY(sq_cli_wires_open(r->request->wires, &r->synth, err));
    sq_cli_synth_show(&r->synth, "run");
    return r->request->sram_area ? sq_fair_sram(r->request->sram_area, &r->sram_um2, err) : SQ_OK;
}

static void print_token_head(const struct rows *r, bool is_netlist)
{
    printf("formats on the chip as the machine has it, a netlist each; a token by its program; KV "
           "cache of chip.cache; lm_head in binary32; clock of %s\n",
           is_netlist ? "the whole netlist" : "the machine, decreed");
    if (r->request->fair == SQ_FAIR_AREA)
        printf("mm2: cells and memories of the smallest netlist of `sqsim area --block top`; DMA: "
               "with ring, sequencer and registers; delays: %s\n",
               sq_cli_synth_wires(&r->synth));
    else
        printf("mm2: not priced without --fair area\n");
}

static void print_head(const struct rows *r)
{
    const struct sq_run_request *in = r->request;
    const bool is_netlist = in->fair == SQ_FAIR_AREA && !in->is_clock_machine;
    if (!in->is_json && r->is_token)
        print_token_head(r, is_netlist);
    if (in->is_json || r->is_token)
        return;
    printf("formats %s; KV cache %s; lm_head %s; clock of %s\n", sq_fair_texts[in->fair],
           sq_cli_text(in->kv_format), sq_cli_text(in->head_format),
           !is_netlist         ? "the machine, decreed: no netlist was asked"
           : in->period_ns > 0 ? "all rows"
                               : "each netlist (least um2 x ns)");
    if (in->period_ns > 0)
        printf("PEs and decoders: the smallest netlists that meet %g ns, %s\n", in->period_ns,
               in->wires ? "placed, with larger drivers and buffers for their wires"
                         : "before placement");
    if (in->wires && in->energy)
        printf("joules: of lines of --energy, whose wires count where they were measured with "
               "--wires\n");
    if (is_netlist)
        printf("delays: %s; vector units have a clock of their own where their netlist is slower\n",
               sq_cli_synth_wires(&r->synth));
    printf("mm2: PEs%s%s\n",
           in->fair == SQ_FAIR_AREA
               ? ", decoders of rows and columns of formats that have them and the second array "
                 "fill the silicon of the machine's own PEs; output stage, vector units"
               : " are not priced without --fair area",
           in->sram_area ? ", buffers by the densest memory given" : ", no buffers (--sram-area)");
    if (in->kl)
        printf("KL: %s, of the model that was evaluated there\n", sq_cli_text(in->kl));
}

// Before anything is synthesized.
static enum sq_status read_recipes(const struct rows *r, struct sq_recipe *recipe,
                                   struct sq_error *err)
{
    for (size_t i = 0; i < r->request->n_and; i++) {
        SQ_FREED char *text = strdup(r->request->and[i]);
        SQ_NEED(text, err, "a format");
        SQ_TRY(sq_recipe_read(text, "--and", SQ_IN_RUN, NULL, &recipe[i], err));
    }
    return SQ_OK;
}

static enum sq_status time_recipes(struct rows *r, const struct sq_recipe *recipe,
                                   struct sq_error *err)
{
    SQ_TRY(read_kl(r, err));
    SQ_TRY(open_silicon(r, err));
    print_head(r);
    SQ_TRY(time_row(r, r->request, err));
    for (size_t i = 0; i < r->request->n_and; i++) {
        struct sq_run_request one = *r->request;
        one.recipe = recipe[i];
        SQ_TRY(time_row(r, &one, err));
    }
    return SQ_OK;
}

static enum sq_status time_rows(struct rows *r, struct sq_error *err)
{
    SQ_FREED struct sq_recipe *recipe = calloc(r->request->n_and, sizeof *recipe);
    SQ_NEED(recipe, err, "%zu formats", r->request->n_and);
    SQ_TRY(read_recipes(r, recipe, err));
    return time_recipes(r, recipe, err);
}

enum sq_status sq_run_rows(const struct sq_run_request *in, struct sq_error *err)
{
    struct sq_machine machine;
    struct sq_run_request request = *in;
    if (in->machine && sq_machine_load_unclocked(in->machine, &machine, NULL) == SQ_OK)
        request.loaded = &machine; // else each row says what is wrong
    struct rows r = {.request = &request,
                     .is_token = request.loaded && sq_machine_has_token(request.loaded),
                     .refused = json_array(),
                     .table.is_json = in->is_json};
    enum sq_status status = time_rows(&r, err);
    if (status == SQ_OK && json_array_size(r.refused) == 1 + in->n_and)
        status = SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "no format has a row: %.200s",
                         json_string_value(json_object_get(json_array_get(r.refused, 0), "why")));
    json_t *one;
    size_t i;
    json_array_foreach(r.refused, i, one)
    {
        if (status == SQ_OK)
            fprintf(stderr, "sqsim run: note: no row of %s: %s\n",
                    json_string_value(json_object_get(one, "format")),
                    json_string_value(json_object_get(one, "why")));
    }
    if (in->is_json && status == SQ_OK) {
        const struct sq_cli_column row[] = {
            SQ_KEYS("formats", 1 + in->n_and, "fair", sq_fair_names[in->fair], "kv_format",
                    r.is_token ? NULL : in->kv_format, "head_format",
                    r.is_token ? NULL : in->head_format),
            SQ_KEYS("context", in->pass.context, "batch", in->pass.batch, "chips", in->pass.chips,
                    "period_ns", in->period_ns > 0 ? in->period_ns : NAN),
            SQ_KEYS("refused", json_incref(r.refused)), SQ_COLUMNS_END};
        sq_cli_put_summary(
            row,
            sq_cli_provenance("shapes", "synthesis by Yosys, paths by OpenSTA; time modelled", 0));
    }
    if (in->fair == SQ_FAIR_AREA)
        sq_synth_close(&r.synth);
    json_decref(r.measured);
    json_decref(r.refused);
    return status;
}
