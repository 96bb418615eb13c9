// SPDX-License-Identifier: Apache-2.0
// --phase decode of `sqsim run` on a chip with vector and attention unit: the program of a token, descriptor by
// descriptor, in the cycles of the chip's own counters (sim/llm/chip/sq_token_program.h).
#include <math.h>
#include <string.h>

#include "sim/block/vector/sq_top_attend.h"
#include "sim/cli/run/sq_cmd_run_pass.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/format/sq_layer_rule.h"
#include "sim/llm/chip/sq_token_program.h"
#include "sim/machine/sq_chip_machine.h"
#include "sim/synth/sq_area_chip.h"

enum sq_status sq_run_token_check(const struct sq_run_request *in, const struct sq_machine *m,
                                  struct sq_error *err)
{
    const char *const what = in->phase != SQ_RUN_DECODE                   ? "--phase prefill, serve"
                             : in->fair != SQ_FAIR_NONE && in->n_and == 0 ? "--fair"
                             : in->fair == SQ_FAIR_PEAK                   ? "--fair peak"
                             : in->period_ns > 0                          ? "--period"
                             : in->wires                                  ? "--wires"
                             : in->kv_energy                              ? "--kv-energy"
                             : in->head_energy                            ? "--head-energy"
                             : in->pass.batch > 1                         ? "--batch"
                             : in->pass.chips > 1                         ? "--chips"
                             : strcmp(in->kv_format, "bf16") != 0         ? "--kv-format"
                             : strcmp(in->head_format, "bf16") != 0       ? "--head-format"
                             : m->timed.is_timed                          ? "dram.device"
                             : !m->chip.has_encoder                       ? "chip.encoder: no"
                                                                          : NULL;
    if (what && sq_machine_has_token(m))
        return SQ_FAIL(
            err, SQ_ERR_UNSUPPORTED,
            "%s with machine %.40s: its chip computes a token by itself, so --phase times one "
            "decoded token of one sequence behind an ideal DRAM, as the chip has it",
            what, m->name);
    return SQ_OK;
}

static enum sq_status build_token(const struct sq_run_one *r, struct sq_checkpoint *ck,
                                  struct sq_token_program *p, struct sq_error *err)
{
    const size_t context = (size_t)r->request->pass.context;
    struct sq_chip_linear chip = {
        .rows = r->machine.core.rows, .cols = r->machine.core.cols, .has_no_values = true};
    struct sq_token_builder *b;
    if (!ck->is_model || context == 0)
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "a %s with %zu tokens in the cache, need a model and at least 1",
                       ck->is_model ? "model" : "bag of tensors", context);
    SQ_TRY(sq_machine_chip(&r->machine, &chip.chip, err));
    enum sq_status status = sq_token_begin(&b, ck, &r->request->recipe, &chip, context, p, err);
    for (size_t i = 0; status == SQ_OK && i < ck->n_layers; i++)
        status = sq_token_layer(b, i, NULL, err);
    SQ_THEN(status, sq_token_end(b, err));
    sq_token_builder_free(b);
    return status;
}

// Joules of all descriptors: those of the engine and of memories as of layers, the netlist around it all the time, and what changes in the units
// whose lines --energy has.
static void take_energy(struct sq_run_one *r, const unsigned *value,
                        const struct sq_chip_cost *cost, const struct sq_token_counts *n)
{
    const struct sq_run_energy *const e = &r->energy;
    struct sq_machine_energy *const to = &r->result.energy;
    const double slots = (double)value[SQ_TOP_ROWS] * value[SQ_TOP_COLS] * value[SQ_TOP_BANK_LEN];
    struct sq_chip_cost all = {0};
    for (unsigned i = 0; i < SQ_TOKEN_PARTS; i++)
        sq_chip_cost_add(&all, &cost[i]);
    const double cycles = (double)all.cycles, read = (double)n->sram_read_nbits;
    const struct sq_machine_accesses a = {
        .macs = (double)n->layer.busy * slots,
        .slots = cycles * slots,
        .act_nbits = {read, read},
        .load_nbits = (double)n->sram_write_nbits,
        .dram_nbits = 8 * ((double)all.read_nbytes + (double)all.write_nbytes),
        .busy = (double)(n->layer.cycles - n->layer.wait) / cycles};
    sq_machine_energy(&r->machine, &e->mac, &e->memory, &e->chip, NULL, &a, cycles, to);
    to->lacks_vector = !e->vector.is_there;
    to->has_attend = e->attend.is_there;
    if (e->vector.is_there)
        sq_machine_energy_unit(&e->vector, (double)n->vector_beats * (value[SQ_TOP_DATA_W] / 32),
                               SQ_MACHINE_VECTOR, to);
    if (e->attend.is_there)
        sq_machine_energy_unit(&e->attend, (double)n->key_beats, SQ_MACHINE_ATTEND, to);
}

static enum sq_status time_token(struct sq_run_one *r, struct sq_checkpoint *ck,
                                 struct sq_token_program *p, struct sq_chip_cost *cost,
                                 struct sq_error *err)
{
    struct sq_token_counts counts;
    SQ_TRY(build_token(r, ck, p, err));
    SQ_TRY(sq_token_time(p, (size_t)r->request->pass.context - 1, cost, &counts, err));
    for (unsigned i = 0; i < SQ_TOKEN_PARTS; i++)
        r->result.total_seconds += (double)cost[i].cycles / r->machine.clock_hz;
    r->workload.rest.tokens = r->workload.rest.chips = 1;
    if (r->request->energy)
        take_energy(r, p->value, cost, &counts);
    return SQ_OK;
}

static enum sq_status open_model(const struct sq_run_one *r, const char *path,
                                 struct sq_checkpoint *ck, struct sq_error *err)
{
    const char *const end = strrchr(path, '.');
    if (end && strcmp(end, ".json") == 0)
        return SQ_FAIL(
            err, SQ_ERR_UNSUPPORTED,
            "MODEL = %.80s: need a folder with weights or a GGUF file, whose tensors the "
            "program of a token is of, with machine %.40s",
            r->name, r->machine.name);
    return sq_checkpoint_open(ck, path, err);
}

static void put(const struct sq_run_one *r, const char *name, const struct sq_chip_cost *c,
                uint64_t all, struct sq_cli_table *table)
{
    const struct sq_cli_column row[] = {
        SQ_COLUMN("part", name, "part", -12),
        SQ_COLUMN("descriptors", c->layers + c->passes, "descriptors", 11),
        SQ_COLUMN("cycles", c->cycles, "cycles", 12),
        SQ_COLUMN("ms", 1e3 * (double)c->cycles / r->machine.clock_hz, "ms", 12, .as = "%.6f"),
        SQ_COLUMN("share", (double)c->cycles / (double)all, "share", 8, .as = "%.1f%%",
                  .scale = 100),
        SQ_COLUMN("busy", c->busy, "busy", 10),
        SQ_COLUMN("wait", c->wait, "waits", 10),
        SQ_COLUMN("blocked", c->blocked, "blocked", 9),
        SQ_COLUMN("read_bytes", c->read_nbytes, "bytes read", 12),
        SQ_COLUMN("write_bytes", c->write_nbytes, "written", 12),
        SQ_COLUMNS_END};
    sq_cli_put(table, row);
}

// Which units have no joules of what changes in them.
static void print_energy(const struct sq_run_one *r)
{
    const struct sq_run_energy *const e = &r->energy;
    sq_run_energy_text(r->request, e);
    printf("energy: clock pins and leakage of the whole chip; no changes of encoder, DMA, ring, "
           "sequencer, registers and buffers%s%s\n",
           e->vector.is_there ? "" : ", of the vector unit (`sqsim energy --block vector --json`)",
           e->attend.is_there ? "" : ", of attention (`sqsim energy --block attend --json`)");
}

static void print(const struct sq_run_one *r, const struct sq_token_program *p,
                  const struct sq_chip_cost *cost)
{
    struct sq_cli_table table = {.is_json = r->request->is_json};
    const struct sq_machine *const m = &r->machine;
    const struct sq_ta_unit unit = sq_ta_unit_of(p->value[SQ_TOP_ATTEND]);
    struct sq_chip_cost all = {0};
    char heading[96];
    for (unsigned i = 0; i < SQ_TOKEN_PARTS; i++)
        sq_chip_cost_add(&all, &cost[i]);
    sq_recipe_heading(&r->request->recipe, heading);
    if (!table.is_json)
        printf(
            "%s on chip %s: %ux%u PEs, vector unit of %u lanes, attention of %u queries, a cache "
            "of %s, lm_head in binary32, at %g GHz (decreed); %s\ndecode: the last of %llu tokens "
            "of a sequence, one doorbell; the counters of the chip, whose cycle model has been "
            "compared with its RTL\n",
            sq_cli_text(r->name), sq_cli_text(m->name), m->core.rows, m->core.cols,
            p->value[SQ_TOP_DATA_W] / 32, unit.heads, sq_ta_cache_names[unit.is_int8],
            m->clock_hz * 1e-9, heading, (unsigned long long)r->request->pass.context);
    if (!table.is_json && r->request->energy)
        print_energy(r);
    for (unsigned i = 0; i < SQ_TOKEN_PARTS; i++)
        put(r, sq_token_part_names[i], &cost[i], all.cycles, &table);
    const double seconds = (double)all.cycles / m->clock_hz;
    if (!table.is_json) {
        put(r, "all", &all, all.cycles, &table);
        printf("%.6g ms, %.6g tokens/s\n", 1e3 * seconds, 1 / seconds);
        if (r->request->energy)
            sq_run_energy_print(&r->result.energy, seconds, 1);
        return;
    }
    const struct sq_cli_column row[] = {
        SQ_KEYS("machine", m->name, "model", r->name, "phase", "decode"),
        SQ_KEYS("context", r->request->pass.context, "tokens", 1),
        SQ_KEYS("recipe", sq_recipe_json(&r->request->recipe, SQ_IN_RUN)),
        SQ_KEYS("cache", sq_ta_cache_names[unit.is_int8], "queries", unit.heads),
        SQ_KEYS("clock_ghz", 1e-9 * m->clock_hz, "clock_from", "machine"),
        SQ_KEYS("descriptors", p->n, "cycles", all.cycles, "busy", all.busy, "wait", all.wait),
        SQ_KEYS("blocked", all.blocked, "read_bytes", all.read_nbytes, "write_bytes",
                all.write_nbytes),
        SQ_KEYS("ms", 1e3 * seconds, "tokens_per_second", 1 / seconds, "energy",
                r->request->energy
                    ? sq_run_energy_all_json(&r->energy, &r->result.energy, seconds, 1)
                    : json_null()),
        SQ_COLUMNS_END};
    sq_cli_put_summary(row, sq_cli_provenance("shapes",
                                              "modelled (cycle model of the chip, equal "
                                              "to its RTL in every signal)",
                                              0));
}

enum sq_status sq_run_token(struct sq_run_one *r, const char *path, struct sq_error *err)
{
    struct sq_chip_cost cost[SQ_TOKEN_PARTS];
    SQ_CLOSED(sq_token_program_free) struct sq_token_program p = {0};
    SQ_CLOSED(sq_checkpoint_close) struct sq_checkpoint ck = {0};
    SQ_TRY(open_model(r, path, &ck, err));
    SQ_TRY(time_token(r, &ck, &p, cost, err));
    print(r, &p, cost);
    return SQ_OK;
}

// ---- a row ----------------------------------------------------------------------------------

// Where the area of a unit of `area --block top` counts.
static double *place_of(struct sq_fair_silicon *s, const char *unit)
{
    const struct {
        const char *unit;
        double *mm2;
    } place[] = {{"PEs", &s->pe_mm2},
                 {"decoders", &s->line_mm2},
                 {"output stage", &s->output_mm2},
                 {"memories", &s->sram_mm2},
                 {"vector unit", &s->vector_mm2},
                 {"attention", &s->attend_mm2},
                 {"encoder", &s->encoder_mm2},
                 {"DMA and ring", &s->dma_mm2},
                 {"control", &s->dma_mm2}};
    for (size_t i = 0; i < sizeof place / sizeof place[0]; i++)
        if (strcmp(place[i].unit, unit) == 0)
            return place[i].mm2;
    return &s->rest_mm2;
}

// The chip of these parameters; its one clock is that of all units.
static enum sq_status price(const struct sq_run_one *r, const unsigned *value,
                            const struct sq_synth *synth, struct sq_fair_silicon *s,
                            struct sq_error *err)
{
    const struct sq_machine *const m = &r->machine;
    SQ_CLOSED(sq_area_chip_free) struct sq_area_chip chip;
    SQ_CLOSED(sq_synth_result_free) struct sq_synth_result result = {0};
    struct sq_synth_part unit;
    SQ_TRY(sq_area_chip_make(&chip, value, m->name, sq_machine_buffer_nbytes(m),
                             r->request->sram_area, err));
    const struct sq_synth_block block = sq_area_synth(&chip.item);
    SQ_TRY(sq_synth_area(synth, &block, &result, err));
    *s = (struct sq_fair_silicon){.pe_um2 = NAN,
                                  .line_um2 = NAN,
                                  .period_ns = result.has_delay ? result.min_period_ns : NAN,
                                  .vector_ns = NAN};
    for (size_t i = 0; i < result.n_parts;) {
        i = sq_area_chip_unit(&result, i, &unit);
        double *const mm2 = place_of(s, unit.name);
        *mm2 += 1e-6 * unit.area;
        s->mm2 += 1e-6 * unit.area;
        if (mm2 == &s->vector_mm2)
            s->vector_ns = unit.path_ns;
    }
    return SQ_OK;
}

// Seconds by part of a pass: what the vector unit does in the program is in its part.
static void take_parts(struct sq_run_one *r, const struct sq_chip_cost *cost)
{
    static const enum sq_pass_part of[SQ_TOKEN_PARTS] = {[SQ_TOKEN_EMBED] = SQ_PASS_MEMORY,
                                                         [SQ_TOKEN_NORM] = SQ_PASS_VECTOR,
                                                         [SQ_TOKEN_QKV] = SQ_PASS_LINEAR,
                                                         [SQ_TOKEN_ROTARY] = SQ_PASS_VECTOR,
                                                         [SQ_TOKEN_ATTENTION] = SQ_PASS_ATTENTION,
                                                         [SQ_TOKEN_O] = SQ_PASS_LINEAR,
                                                         [SQ_TOKEN_RESIDUAL] = SQ_PASS_VECTOR,
                                                         [SQ_TOKEN_GATE_UP] = SQ_PASS_LINEAR,
                                                         [SQ_TOKEN_SILU] = SQ_PASS_VECTOR,
                                                         [SQ_TOKEN_DOWN] = SQ_PASS_LINEAR,
                                                         [SQ_TOKEN_HEAD] = SQ_PASS_HEAD};
    for (unsigned i = 0; i < SQ_TOKEN_PARTS; i++) {
        const double seconds = (double)cost[i].cycles / r->machine.clock_hz;
        if (i == SQ_TOKEN_ENCODE)
            r->encode_s += seconds;
        else
            r->result.seconds[of[i]] += seconds;
    }
    r->result.compute = r->result.dram = r->first_s = NAN; // nobody asks what either alone takes
}

enum sq_status sq_run_token_row(struct sq_run_one *r, const char *path,
                                const struct sq_synth *synth, struct sq_fair_silicon *s,
                                struct sq_error *err)
{
    struct sq_chip_cost cost[SQ_TOKEN_PARTS];
    SQ_CLOSED(sq_token_program_free) struct sq_token_program p = {0};
    SQ_CLOSED(sq_checkpoint_close) struct sq_checkpoint ck = {0};
    SQ_TRY(open_model(r, path, &ck, err));
    if (synth) {
        SQ_TRY(build_token(r, &ck, &p, err));
        SQ_TRY(price(r, p.value, synth, s, err));
        sq_token_program_free(&p);
    }
    if (synth && !r->request->is_clock_machine && s->period_ns > 0) // memory takes other cycles
        SQ_TRY(sq_machine_set_netlist(&r->machine, s->period_ns, err));
    SQ_TRY(time_token(r, &ck, &p, cost, err));
    for (size_t i = 0; i < ck.n_layers; i++) {
        const double n = (double)ck.layer[i].n, k = (double)ck.layer[i].k;
        r->result.weights += n * k;
        r->result.nbits += sq_recipe_nbits(&r->request->recipe, ck.layer[i].n, ck.layer[i].k);
    }
    take_parts(r, cost);
    return SQ_OK;
}
