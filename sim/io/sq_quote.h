// SPDX-License-Identifier: Apache-2.0
// Foreign text (names and texts of files, databases and arguments) on its way into another
// language: the one place that knows the rules. Two kinds of treatment:
//
// Names that another tool must accept as they are get tested, and whoever read them refuses the
// others with field and value (exit code 2):
//
//   Verilog, Liberty, Yosys  cells and pins of a library: sq_name_is_verilog, sq_name_is_pin
//   file names               sweeps, sources of files.f: sq_name_is_stem, sq_name_is_file
//   Tcl, Make                nothing else reaches them: names tested as above, digests and numbers
//
// All other text gets quoted, so that every text is accepted and means itself:
//
//   gnuplot       sq_put_gnuplot       a string constant
//   YAML          sq_put_yaml          a string
//   HTML          sq_put_script_json   JSON inside a script element; the page's own script puts
//                                      texts into the document as text nodes, never as markup
//   file name     sq_quote_file        a name in one folder, a different one for each text
//   terminal, TAP sq_put_text, sq_quote_text, sq_quote_stream   visible characters
//   SQL           bound parameters of SQLite, never part of a statement
//   shell         none is used: tools are started by argument lists (sq_process.h); sq_put_argument
//                 for commands that are only shown
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

// ---- names ------------------------------------------------------------------------------------

// A plain Verilog identifier: a letter or _, then letters, digits and _ (no $, with which Verilog's
// system tasks and Yosys' own cells begin). ASCII, not empty.
bool sq_name_is_verilog(const char *name);

// The same, or a bit or range of it: "A", "A[3]", "A[3:0]".
bool sq_name_is_pin(const char *name);

// 1 to 60 letters, digits, _ and -: a file name when an ending is added, and a part of an address.
bool sq_name_is_stem(const char *name);

// Letters, digits, _, - and ., the first one no dot: a file name in one directory.
bool sq_name_is_file(const char *name);

// Any text as a file name in one folder, of at most SQ_FILE_NAME_MAX bytes, so that an ending fits
// behind it. Letters, digits, _, - and . stand for themselves, everything else and a leading . as
// %XX; what would be longer is cut, and its digest stands behind "%-". Different texts get different
// names. No path is made from a foreign text in another way.
enum { SQ_FILE_NAME_MAX = 200 };
void sq_quote_file(char out[SQ_FILE_NAME_MAX + 1], const char *text);

// What the tests above ask for, for error sentences.
#define SQ_NAME_STEM_RULE "need letters, digits, _ and -, 1 to 60 of them"

// ---- gnuplot, YAML, HTML ----------------------------------------------------------------------

// A string constant in double quotes: visible text (sq_put_text), of which letters, digits, blanks
// and , . : = _ - stand for themselves and other ASCII as \ooo: there is nothing to substitute.
// Enhanced text modes still read _ ^ { } @ &: say `noenhanced` beside it.
void sq_put_gnuplot(FILE *out, const char *text);

// A YAML string in double quotes: reads back as the same text, if that is UTF-8.
void sq_put_yaml(FILE *out, const char *text);

// A valid JSON text as data of a script element, on one line: no "<" that could end the element or
// open a comment, blanks for the line ends that JSON allows between its tokens.
void sq_put_script_json(FILE *out, const char *json);

// The same without a change of "<": a JSON text on one line.
void sq_put_json_line(FILE *out, const char *json);

// ---- shells -----------------------------------------------------------------------------------

// An argument in a command that is shown to be repeated by hand: as it is where it is plain, else
// in single quotes, visible as below. No shell is ever given it from here.
void sq_put_argument(FILE *out, const char *text);

// "sqsim" and these arguments, in memory of the caller's; NULL without memory.
char *sq_command_line(int argc, char **argv);

// ---- terminals --------------------------------------------------------------------------------

// Text as characters that neither steer a terminal nor change the order or the line of others. \xNN
// for a byte that is no UTF-8; \uNNNN for controls (C0, DEL, C1), for the marks and controls of
// writing direction (U+061C, U+200E, U+200F, U+202A..202E, U+2066..2069) and for U+2028, U+2029.
// Everything else stays: ordinary text is not changed, and inside JSON the text keeps its meaning.
void sq_put_text(FILE *out, const char *text);

// The same into out[cap], terminated and cut between characters where it is too long (cap >= 1).
// Returns false where the text was changed or cut.
bool sq_quote_text(char *out, size_t cap, const char *text);

// The same on a stream that comes in pieces, where line ends and tabs are ours and stay. Start with
// {0}. Quotes in[0..n) into out[SQ_QUOTE_GROWTH * (n + 4)] and returns the number of bytes; a
// character that is not complete yet waits in *s for the next piece.
struct sq_quote_stream {
    unsigned char rest[4];
    size_t n_rest;
};
enum { SQ_QUOTE_GROWTH = 6 };
size_t sq_quote_stream(struct sq_quote_stream *s, const char *in, size_t n, char *out);
