// SPDX-License-Identifier: Apache-2.0
// What the modes of `sqsim run` share: a core, whole workloads on a machine (cores, buffers and
// DRAM), shares of workers, where a number comes from. Program code.
#pragma once

#include "sim/cli/sq_cli_core.h"
#include "sim/cli/sq_cli_option.h"
#include "sim/cli/sq_cli_wires.h"
#include "sim/dram/sq_dram.h"
#include "sim/format/sq_cost.h"
#include "sim/gpu/sq_gpu.h"
#include "sim/io/sq_digest.h"
#include "sim/llm/text/sq_token_source.h"
#include "sim/machine/sq_fair.h"
#include "sim/machine/sq_machine.h"
#include "sim/machine/sq_machine_energy.h"
#include "sim/machine/sq_workload.h"

enum sq_run_phase { SQ_RUN_NO_PHASE, SQ_RUN_PREFILL, SQ_RUN_DECODE, SQ_RUN_SERVE };
extern const char *const sq_run_phases[]; // from SQ_RUN_PREFILL on

struct sq_run_request {
    const char *machine;             // path; NULL: sim/machines/default.yaml
    const struct sq_machine *loaded; // what is there, by sq_machine_load_unclocked; NULL: not yet
    const char *workload;            // path of a table; NULL: the GEMM, or the model
    const char *model;               // path; NULL: traces/tiny-llama
    const char *weights;             // path of encoded layers of the model; NULL: none
    struct sq_token_source source;   // what those layers see; empty: the model's own tokens
    uint64_t seed;                   // of inputs where the model has none
    const char *records;             // path of measured times of a GPU; NULL: none
    struct sq_gemm gemm;             // n = 0: none; m also of the model
    struct sq_core_config core;      // options that replace the machine's
    struct sq_recipe recipe;         // of the format
    enum sq_fair fair;               // which PEs each format gets
    const char *liberty;             // standard cells for areas; NULL: the default ones
    const char *energy;              // path of joules a MAC; NULL: time alone
    const char *memory, *dram; // path of joules of memory, type of DRAM; NULL: the default ones
    const char *sram[8];       // paths of SRAM macros
    size_t n_sram;
    uint64_t workers, tile_rows; // of --share
    const char *device;          // a DRAM: a name, or a path of YAML; of --device
    const char *commands;        // path for the commands of the machine's DRAM; NULL: none
    struct sq_dram_options timed;
    unsigned phase; // of a whole pass: enum sq_run_phase
    struct sq_workload_options pass;
    const char *kv_format, *kv_energy; // of the cache; path of joules of its products, NULL: none
    const char *head_energy;           // of those of lm_head
    const char *head_format;           // of lm_head: bf16, layers, FORMAT:OPTION=VALUE
    const char *and[16];               // further formats, a row for each: FORMAT:OPTION=VALUE
    size_t n_and;
    const char *requests;       // path of a trace, of SQ_RUN_SERVE
    const char *tables;         // folder for latencies that other simulators take
    uint64_t budget, sequences; // tokens and sequences of a step there
    const char *kl;             // path of lines of `eval --json`; NULL: none
    const char *sram_area;      // folder of Liberty files of memories; NULL: none
    double period_ns;           // rows: of all netlists; 0: each at its knee
    bool is_clock_machine;      // rows: the machine's clock, not that of each netlist
    bool is_wireless;           // rows: netlists without the wire load of the library
    struct sq_cli_wires *wires; // rows: netlists are placed; NULL: they are not
    bool is_causes, is_json;
};

// One core (sq_cmd_run_core.c), SQ on weights: the request's GEMM, or every layer of its model.
struct sq_run_core {
    const struct sq_run_request *r;
    struct sq_format format;
    struct sq_core_config config; // its format fields agree with `format`
    unsigned jobs;                // threads of the encoder, >= 1
    bool timing_only;             // no values
};
enum sq_status sq_run_on_core(const struct sq_run_core *in, struct sq_error *err);

// Times every row and prints it, then the sum; seconds_host is what planning and timing took.
enum sq_status sq_run_on_machine(const struct sq_run_request *request, struct sq_error *err);

// The same on a GPU: predicted times, and measured ones where records have them.
enum sq_status sq_run_on_gpu(const struct sq_run_request *request, const struct sq_gpu *gpu,
                             const struct sq_workload *workload, const char *name,
                             struct sq_error *err);

// The PEs that the format gets.
struct sq_run_fair {
    struct sq_fair_pe pe;
    struct sq_fair_second second; // of rows, for attention; um2 = 0: there is none
    bool attention_is_own;        // of rows: PEs of the format multiply the cache
    char liberty[SQ_DIGEST_SIZE]; // digest of the library; empty: nothing was synthesized
};

// A whole pass of the request's model: time, bytes and joules by part (sq_cmd_run_pass.c, sq_pass.h).
enum sq_status sq_run_pass(const struct sq_run_request *request, struct sq_error *err);
// The times of a trace of requests (sq_cmd_run_serve.c).
enum sq_status sq_run_serve(const struct sq_run_request *request, struct sq_error *err);
// A row for each format of the request (sq_cmd_run_rows.c).
enum sq_status sq_run_rows(const struct sq_run_request *request, struct sq_error *err);

// The machine of the path, unless the request has one loaded, with the core options that were given and the
// PEs of --fair; SQ_ERR_DAMAGED and the like where it is none.
enum sq_status sq_run_load_machine(const struct sq_run_request *request, const char *path,
                                   struct sq_machine *machine, struct sq_run_fair *fair,
                                   struct sq_error *err);

// One row per layer of the checkpoint `model` at M tokens, or the request's one GEMM
// (sq_cmd_run_own.c).
enum sq_status sq_run_shapes(const struct sq_run_request *in, const char *model,
                             struct sq_workload *w, struct sq_error *err);

// One layer of an encoded file (sq_cmd_run_own.c).
struct sq_run_layer {
    struct sq_own own;       // before = NULL: nothing of its own
    double nbits;            // stored, as counted
    struct sq_recipe recipe; // with the shares that its rows have
};
// The layers of an encoded file: the request's model, or its `weights`, whose layers then see the
// first gemm.m tokens of the model. Into the workload and, in the same order,
// *layer, whose recipes point to what they own; the request's recipe gets the file's group and the
// shares of all layers together; *data says what they are, NULL: the model is no such file. A file
// of another format than the request's is refused. Free the layers when the workload is done; after
// a failure there are none.
enum sq_status sq_run_read_own(struct sq_run_request *request, struct sq_workload *workload,
                               struct sq_run_layer **layer, const char **data,
                               struct sq_error *err);
void sq_run_free_own(struct sq_run_layer *layer, size_t n);

// Changes the core of the machine as the request has it.
enum sq_status sq_run_make_fair(const struct sq_run_request *request, struct sq_machine *machine,
                                struct sq_run_fair *fair, struct sq_error *err);
// By which netlists rows are priced, and a machine that is fair by area (sq_synth_for).
static inline double sq_run_period(const struct sq_run_request *in)
{
    return in->period_ns > 0 ? in->period_ns : in->n_and > 0 ? SQ_SYNTH_KNEE : SQ_SYNTH_SMALLEST;
}
// A line under the head of the table, if machines are fair.
void sq_run_fair_text(const struct sq_run_request *request, const struct sq_run_fair *fair);
// Lanes, and what they are fair by.
json_t *sq_run_fair_json(const struct sq_run_request *request, const struct sq_machine *machine,
                         const struct sq_run_fair *fair);

// Joules (sq_cmd_run_energy.c): of the request's format a MAC, of vector units, and of memory.
struct sq_run_energy {
    struct sq_mac_energy mac;
    struct sq_vector_energy vector, attend; // attend: of a chip that computes a token by itself
    struct sq_energy_memory memory;
    bool is_chip; // of a machine that is one: the line of its netlist
    struct sq_energy_chip chip;
};
enum sq_status sq_run_energy_open(const struct sq_run_request *request,
                                  const struct sq_machine *machine, struct sq_run_energy *e,
                                  struct sq_error *err);
// A line under the head of the table; the parts of the sum.
void sq_run_energy_text(const struct sq_run_request *request, const struct sq_run_energy *e);
// Sets the clock of a machine that has the one of its netlist.
enum sq_status sq_run_clock_netlist(const struct sq_run_energy *e, struct sq_machine *machine,
                                    struct sq_error *err);
// On standard error, where the netlist does not reach the clock.
void sq_run_energy_note(const struct sq_run_energy *e, double clock_hz);
void sq_run_energy_print(const struct sq_machine_energy *e, double seconds, double tokens);
// Parts, totals and EDP; and where they come from, with joules a token.
json_t *sq_run_energy_json(const struct sq_machine_energy *e, double seconds);
json_t *sq_run_energy_all_json(const struct sq_run_energy *e, const struct sq_machine_energy *sum,
                               double seconds, double tokens);
json_t *sq_run_energy_source_json(const struct sq_run_energy *e,
                                  const struct sq_machine_energy *sum, double tokens);

// Prints how evenly the work of each layer of the encoded file `weights`, or else `model`, falls on
// the workers (sq_cmd_run_share.c).
enum sq_status sq_run_share(const struct sq_run_request *request, struct sq_error *err);

// Prints latencies and bandwidths of the DRAM `device` (sq_cmd_run_dram.c).
enum sq_status sq_run_dram(const struct sq_run_request *request, struct sq_error *err);

// What --explain takes (sq_cmd_run_explain.c).
enum sq_run_topic { SQ_RUN_NO_TOPIC, SQ_RUN_CYCLES, SQ_RUN_TABLE10, SQ_RUN_V13, SQ_RUN_ROOFLINE };
extern const char *const sq_run_topics[]; // from SQ_RUN_CYCLES on
// Prints where a number comes from; SQ_RUN_CYCLES takes the request's GEMM in the format on the core.
enum sq_status sq_run_explain(enum sq_run_topic topic, const struct sq_run_request *request,
                              const struct sq_format *format, const struct sq_core_config *core,
                              struct sq_error *err);

// Core options that were given replace the others: 0 (gather: above SQ_GATHER_LOG) = not given.
void sq_run_override_core(struct sq_core_config *core, const struct sq_core_config *given);
