// SPDX-License-Identifier: Apache-2.0
// Cuts a text into the pieces that byte-level BPE works on, by the regular expressions of a
// tokenizer, one after the other: each cuts every piece of the one before into its matches and what
// lies between them.
//
// The expressions are written for Oniguruma, as Hugging Face's tokenizers uses it; PCRE2 runs them.
// Both know letters and numbers of their own version of Unicode: characters younger than PCRE2 are
// cut otherwise.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sq_status.h"

// The expressions of common tokenizers. ByteLevel's own is that of GPT-2.
#define SQ_REGEX_GPT2                                                                              \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define SQ_REGEX_LLAMA3                                                                            \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"                      \
    " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define SQ_REGEX_QWEN2                                                                             \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"                           \
    " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define SQ_REGEX_DIGIT "\\p{N}"
#define SQ_REGEX_DIGITS "\\p{N}+"

enum { SQ_PRETOKENIZER_MAX = 8 };

struct sq_pretokenizer {
    unsigned n;                      // steps; 0: the whole text is one piece
    void *step[SQ_PRETOKENIZER_MAX]; // private: pcre2_code
};

// Adds a step; NULL-terminated UTF-8, a literal text where is_literal. SQ_ERR_UNSUPPORTED for what
// means something else to PCRE2 than to Oniguruma (\w, \b, nested classes), for an illegal
// expression and for a ninth step.
enum sq_status sq_pretokenizer_add(struct sq_pretokenizer *p, const char *regex, bool is_literal,
                                   struct sq_error *err);
void sq_pretokenizer_free(struct sq_pretokenizer *p);

// Called for each piece in order; what it returns ends the walk unless SQ_OK.
typedef enum sq_status sq_piece_visit(void *context, const char *piece, size_t n,
                                      struct sq_error *err);
// The time that the steps may take for a text, in all calls for its parts: 2 s and 2 us a byte; the
// common ones take less than a hundredth of that.
struct sq_cut_time {
    int64_t most_ns, spent_ns;
    int64_t begin_ns; // processor time of the thread at the begin
};
struct sq_cut_time sq_cut_time_of(size_t nbytes);

// The text is valid UTF-8. SQ_ERR_RANGE where a step gives up on it or the time is over.
enum sq_status sq_pretokenizer_cut(const struct sq_pretokenizer *p, const char *text, size_t n,
                                   struct sq_cut_time *time, sq_piece_visit *visit, void *context,
                                   struct sq_error *err);
