// SPDX-License-Identifier: Apache-2.0
// What all commands of `sqsim` share: exit codes, one-line errors, option parsing with ranges,
// nearest names, progress, JSON lines, the format options. Only sq_main.c, sq_cli*.c and the
// sq_cmd_*.c files print or decide exit codes.
#ifndef SQ_CLI_H
#define SQ_CLI_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "models/sq_config.h"
#include "models/sq_status.h"
#include "sim/io/sq_file.h" // struct sq_outfile: atomic output files

enum sq_exit {
    SQ_EXIT_OK = 0,
    SQ_EXIT_CHECK_FAILED = 1, // a check ran and found a difference
    SQ_EXIT_USAGE = 2,        // bad input or usage: one line with field, value, range
    SQ_EXIT_MISSING = 3,      // a tool or device is missing
};

// One command. run() parses its own argv (argv[0] is the command name) and returns an sq_exit.
struct sq_command {
    const char *name;
    const char *summary; // one line for `sqsim --help`
    int (*run)(int argc, char **argv);
};

int sq_cmd_quantize(int argc, char **argv);
int sq_cmd_eval(int argc, char **argv);
int sq_cmd_run(int argc, char **argv);
int sq_cmd_cosim(int argc, char **argv);
int sq_cmd_compare(int argc, char **argv);
int sq_cmd_explain(int argc, char **argv);
int sq_cmd_schedule(int argc, char **argv);
int sq_cmd_workload(int argc, char **argv);
int sq_cmd_area(int argc, char **argv);
int sq_cmd_sweep(int argc, char **argv);
int sq_cmd_report(int argc, char **argv);
int sq_cmd_compare_runs(int argc, char **argv);
int sq_cmd_inspect(int argc, char **argv);
int sq_cmd_vectors(int argc, char **argv);

// Puts a filter between stdout and file descriptor 1: nothing that a file or an argument contains
// reaches a terminal as an escape sequence, C1 control, writing direction or broken UTF-8, whoever
// prints it (sq_quote_stream: line ends and tabs pass). Call once, before any output.
void sq_cli_guard_stdout(void);

// Foreign text for a place inside a line, line ends and tabs visible as well (sq_quote_text).
// Static memory, valid until the eighth call after this one; one thread.
const char *sq_cli_text(const char *text);

// A JSON string of foreign text: as it is, or as sq_cli_text where it is no UTF-8, which JSON lacks
// and file names and CSV files may hold.
json_t *sq_cli_json_text(const char *text);

// Prints "sqsim COMMAND: sentence" ("sqsim: sentence" for an empty command) on stderr and returns
// the exit code that fits the status (SQ_ERR_TOOL -> 3, SQ_ERR_BUILD -> 1, everything else -> 2).
int sq_cli_fail(const char *command, const struct sq_error *err);
// Says on stderr that calibration tokens were named for a recipe that needs none.
void sq_cli_note_calib(const char *command);

// Parses argv with the given argp and its children. Option names are matched whole: no abbreviation
// silently means another option. argp's own multi-line messages are replaced by one line that names
// the nearest known option for a typo. --help prints on stdout and exits 0. Positional arguments
// that the parser does not take (ARGP_ERR_UNKNOWN for ARGP_KEY_ARG) are refused here. -h is --help.
// --complete prints what completion scripts want, a line each, and exits 0: "--name", argument or
// nothing, words it may be; separated by tabs.
//
// A parser function that refuses a value fills the same *err (keep the pointer in `input`) and
// returns EINVAL; sq_cli_uint and its relatives fill it. Returns that status, or SQ_ERR_ARG.
enum sq_status sq_cli_parse(const struct argp *argp, int argc, char **argv, void *input,
                            struct sq_error *err);

// Whole string must be a number in [min, max]; the error reads "--bank = 33, need 4..128".
enum sq_status sq_cli_uint(const char *option, const char *text, uint64_t min, uint64_t max,
                           uint64_t *value, struct sq_error *err);
enum sq_status sq_cli_double(const char *option, const char *text, double min, double max,
                             double *value, struct sq_error *err);

// Index of `text` in names[0..n-1]; the error lists the names and the nearest one.
enum sq_status sq_cli_name(const char *option, const char *text, const char *const *names, size_t n,
                           size_t *index, struct sq_error *err);
// The nearest of names by edit distance, or NULL if none is near.
const char *sq_cli_suggest(const char *text, const char *const *names, size_t n);

// ---- memory -----------------------------------------------------------------------------------

// First of all: under a limit of memory (ulimit -v) that OpenBLAS' threads do not fit into, starts
// the program again with less of them.
void sq_cli_fit_memory(char **argv);
// SQ_ERR_TOOL where the limit leaves OpenBLAS no buffer: it would wait for one for ever.
enum sq_status sq_cli_check_memory(struct sq_error *err);

// ---- signals ----------------------------------------------------------------------------------

// From here on INT, TERM and HUP (where they are not ignored) end the tools that run, remove what
// they were making (sq_process.h, sq_cache.h) and let the program die of the signal. A mapped file
// that becomes shorter (SIGBUS) ends the program with one line and exit code 2.
void sq_cli_signals(void);
// What to do last, in another thread, while those of the command may still compute; f NULL:
// nothing. It writes with write() or dprintf(), as others may hold the streams.
void sq_cli_on_signal(void (*f)(void *context), void *context);
// Does not return once a signal has come: what it broke is no news.
void sq_cli_settle(void);

// ---- progress, JSON, provenance ---------------------------------------------------------------

// Progress "label done/total (rate/s, ETA)" on stderr, at most four times a second for a label,
// only when stderr is a terminal. done == total ends the line. Rate and ETA count from the first
// call on.
void sq_cli_progress(const char *label, uint64_t done, uint64_t total);
// The same where some of `done` were there before: rate and ETA are those of the n_run others.
void sq_cli_progress_resumed(const char *label, uint64_t done, uint64_t total, uint64_t n_run);
// What happens meanwhile, on the same line, the next progress replaces it: "label: text".
void sq_cli_stage(const char *label, const char *text);
// --progress: from here on both say it, a line each, where stderr is no terminal either.
void sq_cli_progress_everywhere(void);
// Takes the line away where a stage or progress still stands on it.
void sq_cli_progress_end(void);

// One JSON object on one line of stdout; takes over the reference to `object`.
void sq_cli_json_line(json_t *object);
// The text of that line, which the caller frees; NULL without memory. The same reference. For
// several threads at once.
char *sq_cli_json_dump(json_t *object);

// A figure: null for NaN, "inf" for infinity. The same for people, "-" for NaN, into text[32].
json_t *sq_cli_json_number(double v);
const char *sq_cli_number_text(double v, int decimals, char text[32]);

// Provenance object that every --json summary carries: tool, revision, data ("real"/"synthetic"),
// basis ("measured RTL"/"modelled"/...), seed. Strings may be NULL.
json_t *sq_cli_provenance(const char *data, const char *basis, uint64_t seed);

// Repository root, or share/sqsim of an install, where traces/, rtl/ and sim/machines live:
// $SQSIM_HOME, else of the directories above the running program the nearest that has a traces/ or
// a share/sqsim/traces (build/ and build/san/ differ). Static string.
const char *sq_cli_home(void);

// home/relative in memory the caller frees: the embedded defaults, e.g. "traces/tiny-llama".
char *sq_cli_home_path(const char *relative);

// The same below where tools keep what they made (sq_cache_root): "synth".
char *sq_cli_cache_path(const char *relative);

// "c80c618-dirty": git describe of the sources, or "unknown".
const char *sq_cli_revision(void);

// Ends a command: flushes stdout, and turns a full disk there into exit code 2 with a line on
// stderr. Where nobody reads the pipe any more (`| head`) the program ends by SIGPIPE without a
// word, as other tools do. Returns `code` otherwise.
int sq_cli_finish(const char *command, int code);

// ---- options several commands share -----------------------------------------------------------

// --format --high-bits --low-bits --bank --sparsity --group, and --act-bits apart, as argp
// children:
//
//   struct input { struct sq_cli_format format; ... } in = {.format = sq_cli_format_default(&err)};
//   const struct argp_child children[] = {{&sq_cli_format_argp, 0, NULL, 0},
//                                         {&sq_cli_act_argp, 0, NULL, 0}, {0}};
//   in the parser, on ARGP_KEY_INIT:
//       state->child_inputs[0] = state->child_inputs[1] = &in->format;
//
// After a successful sq_cli_parse, format.format is a legal combination (sq_format_check).
struct sq_cli_format {
    struct sq_format format;
    double sparsity;      // as given; format.high_per_bank follows at the end of parsing
    unsigned act_bits;    // 4 or 8; only commands with sq_cli_act_argp offer it
    struct sq_error *err; // where parsing reports
};
struct sq_cli_format sq_cli_format_default(struct sq_error *err);
extern const struct argp sq_cli_format_argp;
extern const struct argp sq_cli_act_argp;

// "SQ(8,4,32,0.75) G=128" or "... G=row" into text[64].
void sq_cli_format_text(const struct sq_format *f, char text[64]);
// The same as keys of a JSON object: format, high_bits, low_bits, bank, high_per_bank, sparsity,
// group (0 = row).
void sq_cli_format_json(const struct sq_format *f, json_t *object);

// --rows --cols --low-lanes --high-lanes --gather: what a core has besides its format. Child input:
// struct sq_cli_core. After a successful parse sq_cli_core_config() joins it with the format.
struct sq_cli_core {
    struct sq_core_config config; // only the five fields above are set by the options
    bool given;                   // any of them was
    bool is_given[5];             // rows, cols, low-lanes, high-lanes, gather
    struct sq_error *err;
};
struct sq_cli_core sq_cli_core_default(struct sq_error *err);
extern const struct argp sq_cli_core_argp;
// SQ_ERR_RANGE and the like where the combination is illegal (sq_core_config_check).
enum sq_status sq_cli_core_config(const struct sq_cli_core *core,
                                  const struct sq_cli_format *format, struct sq_core_config *config,
                                  struct sq_error *err);
// Keys rows, cols, low_lanes, high_lanes, act_bits, gather.
void sq_cli_core_json(const struct sq_core_config *config, json_t *object);

#endif
