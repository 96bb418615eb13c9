// SPDX-License-Identifier: Apache-2.0
// Shared by the harnesses fuzz_NAME.c, each one LLVMFuzzerTestOneInput over one reader of sqsim.
// The same object runs under libFuzzer and AFL++ (`make fuzz`, `make fuzz-afl`) and, with replay.c,
// over the committed corpus (`make test`).
//
// No file is opened: names below "mem/" are files in memory. The linker sends what the library
// calls to open, map, look at and write files, and to open databases, through fuzz.c (FUZZ_WRAP in
// rules.mk); the library itself is the one of the product.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/sq_status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

// The file mem/NAME holds these bytes until it is set again or fuzz_forget; the bytes are the
// caller's and stay valid. A mapping of it is a copy of exactly n bytes: what reads beyond the end,
// or after unmapping, is seen.
#define FUZZ_FILE "mem/file"
void fuzz_file(const char *path, const void *bytes, size_t n);
void fuzz_forget(void); // every file but those written through sq_outfile_*
// What was written to `path` and committed last, owned here; NULL where nothing was.
const uint8_t *fuzz_written(const char *path, size_t *n);
void fuzz_forget_written(void);

// Gives SQLite memory of its own, which is faster than the sanitizers' and unchecked; before any
// use.
void fuzz_sqlite_memory(void);

// Whether it succeeded. A refusal has a code and a sentence; that one line of it reaches the terminal, blackbox.c asks.
bool fuzz_ok(enum sq_status status, const struct sq_error *err);
// Outputs that no compiler may leave out.
extern volatile uint64_t fuzz_sink;

// What must hold, in words of the source.
#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

// Takes the next bytes of an input; zeros behind its end.
struct fuzz_reader {
    const uint8_t *data;
    size_t n;
};
unsigned fuzz_byte(struct fuzz_reader *r);
unsigned fuzz_u16(struct fuzz_reader *r);
// At most n bytes of what is left, as a pointer into the input.
const uint8_t *fuzz_bytes(struct fuzz_reader *r, size_t n, size_t *got);
// What is left as a text on the heap.
char *fuzz_text(struct fuzz_reader *r);

// Renames the metadata key of a safetensors file under which its digest is, where it has one: what
// is altered afterwards gets as far as a file that somebody forged.
void fuzz_drop_digest(uint8_t *file, size_t n);

// Alters bytes[n] by a list: three bytes give the place (modulo n) and, in their top bit, whether
// the fourth is written or xored; the list ends with r.
void fuzz_alter(uint8_t *bytes, size_t n, struct fuzz_reader *r);
