// SPDX-License-Identifier: Apache-2.0
// What all commands of `sqsim` share: exit codes, one-line errors, option parsing with ranges,
// nearest names, progress, JSON lines, the format options. Only sq_main.c, sq_cli*.c and the
// sq_cmd_*.c files print or decide exit codes.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "models/core/sq_config.h"
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
int sq_cmd_generate(int argc, char **argv);
int sq_cmd_run(int argc, char **argv);
int sq_cmd_cosim(int argc, char **argv);
int sq_cmd_compare(int argc, char **argv);
int sq_cmd_area(int argc, char **argv);
int sq_cmd_energy(int argc, char **argv);
int sq_cmd_sweep(int argc, char **argv);
int sq_cmd_point(int argc, char **argv);
int sq_cmd_report(int argc, char **argv);
int sq_cmd_image(int argc, char **argv);
int sq_cmd_inspect(int argc, char **argv);
int sq_cmd_explain(int argc, char **argv);

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

// Whole string must be a number in [min, max]; the error reads "--bank = 33, need 4..128".
enum sq_status sq_cli_uint(const char *option, const char *text, uint64_t min, uint64_t max,
                           uint64_t *value, struct sq_error *err);
enum sq_status sq_cli_double(const char *option, const char *text, double min, double max,
                             double *value, struct sq_error *err);

// Index of `text` in names[0..n-1]; the error lists the names and the nearest one.
enum sq_status sq_cli_name(const char *option, const char *text, const char *const *names, size_t n,
                           size_t *index, struct sq_error *err);
// "none, peak or area" into text[nbytes], cut where it is longer; returns text.
const char *sq_cli_join(const char *const *names, size_t n, char *text, size_t nbytes);
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
// sq_home_around of the running program. Static string.
const char *sq_cli_home(void);

// home/relative. Static memory, valid until the eighth call after this one; one thread.
const char *sq_cli_home_path(const char *relative);
// The same below where tools keep what they made (sq_cache_root): "synth".
const char *sq_cli_cache_path(const char *relative);
// An input file as the user names it, found as sq_home_find says.
const char *sq_cli_found(const char *name, const char *pattern);
// Refuses a short name that names neither a file nor what comes with sqsim, with the one that was probably meant. Whatever
// else cannot be opened is left to who opens it.
enum sq_status sq_cli_check_found(const char *option, const char *name, const char *pattern,
                                  struct sq_error *err);
// The model that was given, or, NULL, the embedded one: traces/tiny-llama.
const char *sq_cli_model(const char *given);

// "c80c618-dirty": git describe of the sources, or "unknown".
const char *sq_cli_revision(void);

// Ends a command: flushes stdout, and turns a full disk there into exit code 2 with a line on
// stderr. Where nobody reads the pipe any more (`| head`) the program ends by SIGPIPE without a
// word, as other tools do. Returns `code` otherwise.
int sq_cli_finish(const char *command, int code);
