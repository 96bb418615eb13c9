// SPDX-License-Identifier: Apache-2.0
// How every library function of sqsim reports failure.
//
// A function that can fail returns enum sq_status (0 = done); results travel through pointers. The
// last argument, struct sq_error *err, may be NULL; otherwise it receives the code, the place that
// raised it and one sentence with the offending values ("bank = 0, need 4..128"). Library code
// never prints, never exits and keeps no globals: only the programs in sim/ do.
#pragma once

#include <stddef.h>

// Grouped by tens: 1x argument, 2x stored format, 3x range, 4x resource, 5x I/O, 9x internal.
enum sq_status {
    SQ_OK = 0,
    SQ_ERR_ARG = 10,         // an argument that no caller may pass (usage)
    SQ_ERR_SHAPE = 11,       // O.2-1: shape or divisibility
    SQ_ERR_UNSUPPORTED = 12, // O.2-12: a parameter outside the supported set
    SQ_ERR_STREAM_LEN = 20,  // O.2-2: a packed stream has the wrong length
    SQ_ERR_PADDING = 21,     // O.2-3: padding bits are not zero
    SQ_ERR_MASK_COUNT = 22,  // O.2-4: a bank does not hold exactly k mask codes
    SQ_ERR_CODE = 23,        // O.2-5: an illegal code value
    SQ_ERR_SCALE = 24,       // O.2-6: a scale that is not finite and positive
    SQ_ERR_INDEX = 25,       // O.2-8: an index out of range or not ascending
    SQ_ERR_OFFSETS = 26,     // O.2-9: offsets not monotone
    SQ_ERR_DAMAGED = 27,     // O.2-13: a damaged or lying file
    SQ_ERR_NON_FINITE = 30,  // O.2-7: NaN or infinity in the input
    SQ_ERR_OVERFLOW = 31,    // O.2-10: FP16 or FP8 conversion overflows
    SQ_ERR_SINGULAR = 32,    // O.2-11: a Hessian that stays singular
    SQ_ERR_RANGE = 33,       // a value outside its stated range
    SQ_ERR_MEMORY = 40,      // out of memory
    SQ_ERR_TOOL = 41,        // an external tool or device is missing
    SQ_ERR_BUILD = 42,       // a tool refuses the sources that it was given
    SQ_ERR_IO = 50,          // the operating system refused a file operation
    SQ_ERR_INTERNAL = 90,    // a bug in sqsim
};

struct sq_error {
    enum sq_status code;
    const char *file; // static string, the source file that raised it
    int line;
    char text[320]; // one sentence, terminated; names in it are as the file or the user had them
};

// A short constant name, e.g. "mask count"; "unknown" for a value outside the enum.
const char *sq_status_str(enum sq_status status);

// Fills *err (if not NULL) and returns `status`; used through SQ_FAIL.
enum sq_status sq_error_set(struct sq_error *err, enum sq_status status, const char *file, int line,
                            const char *format, ...) __attribute__((format(printf, 5, 6)));

// return SQ_FAIL(err, SQ_ERR_RANGE, "bank = %u, need 4..128", bank);
#define SQ_FAIL(err, status, ...) sq_error_set((err), (status), __FILE__, __LINE__, __VA_ARGS__)
// The same as a statement: SQ_FAIL_IF(bank == 0, err, SQ_ERR_RANGE, "bank = 0, need 4..128");
#define SQ_FAIL_IF(is, err, status, ...)                                                           \
    do {                                                                                           \
        if (is)                                                                                    \
            return SQ_FAIL(err, status, __VA_ARGS__);                                              \
    } while (0)

// Says what could not be allocated: return SQ_NO_MEMORY(err, "%zu layers", n);
#define SQ_NO_MEMORY(err, ...) SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for " __VA_ARGS__)
// SQ_OK where it could: status = SQ_HAVE(x && w, err, "layer %zu", i);
#define SQ_HAVE(is, err, ...) ((is) ? SQ_OK : SQ_NO_MEMORY(err, __VA_ARGS__))

// Forwards a failure to the caller.
#define SQ_TRY(expr)                                                                               \
    do {                                                                                           \
        enum sq_status sq_try_ = (expr);                                                           \
        if (sq_try_ != SQ_OK)                                                                      \
            return sq_try_;                                                                        \
    } while (0)
// The next step where all before it succeeded, in a function that has something to free at its end:
// SQ_THEN(status, read(f, err));
#define SQ_THEN(status, expr)                                                                      \
    do {                                                                                           \
        if ((status) == SQ_OK)                                                                     \
            (status) = (expr);                                                                     \
    } while (0)
// The same of an allocation: SQ_NEED(x && w, err, "layer %zu", i);
#define SQ_NEED(is, err, ...)                                                                      \
    do {                                                                                           \
        if (!(is))                                                                                 \
            return SQ_NO_MEMORY(err, __VA_ARGS__);                                                 \
    } while (0)

// What a function has for itself alone is given back where its block ends, by SQ_TRY too. Memory:
//     SQ_FREED float *x = malloc(n * sizeof *x);
// and whatever else has a function of its address that closes it, also when nothing was opened:
//     SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
#define SQ_CLOSED(close) __attribute__((cleanup(close)))
#define SQ_FREED SQ_CLOSED(sq_free_at)
void sq_free_at(const void *pointer); // frees what the pointer there points to
// Several at once: SQ_FREE(s->codes, s->scale, s);
#define SQ_FREE(...)                                                                               \
    do {                                                                                           \
        void *const each_[] = {__VA_ARGS__};                                                       \
        for (size_t i_ = 0; i_ < sizeof each_ / sizeof each_[0]; i_++)                             \
            sq_free_at(&each_[i_]);                                                                \
    } while (0)
// Undoes what a function began where a later step failed: return SQ_ELSE(status, sq_file_close(f));
#define SQ_ELSE(status, undo) ((status) == SQ_OK ? SQ_OK : ((undo), (status)))
