// SPDX-License-Identifier: Apache-2.0
// Text to token ids by one of two kinds of BPE.
//
// Byte-level BPE is the tokenizer of GPT-2, Llama 3, Qwen and SmolLM: from tokenizer.json of Hugging
// Face or from the vocabulary in a GGUF file. Ids are those of the Python package tokenizers, without
// what its post-processor puts around the text.
//
// Added tokens ("<|endoftext|>") are found in the text first, the longest at the leftmost place;
// what is between them is brought to NFC where the tokenizer says so, cut into pieces
// (sq_pretokenizer.h), and each piece becomes the bytes of its UTF-8, of which the pair with the
// lowest rank among the merges, and of those the leftmost, is joined until there is none.
//
// SentencePiece BPE is the tokenizer of Llama 2 and Gemma: from a GGUF file, ids of llama.cpp. A space
// becomes U+2581, the whole text between added tokens is one piece of characters, and the neighbours
// whose joined text is the token of the highest score are joined, whatever the type of that token. A
// character that is no token becomes the tokens of its bytes. Of added tokens that overlap in the
// text the longest is found, wherever it begins.
#pragma once

#include "sim/io/sq_gguf.h"
#include "sim/llm/text/sq_pretokenizer.h"

struct sq_token { // bytes and id
    const char *at;
    size_t n;
    int32_t id;
};

struct sq_merge {
    int32_t left, right; // ids
    uint32_t rank;       // lowest first
    int32_t id;          // of what they become
};

enum { SQ_TOKEN_NONE = -1 };

struct sq_tokenizer {
    int32_t bos;   // SQ_TOKEN_NONE where the file names none
    bool adds_bos; // its own package puts bos before a text
    // What its own package puts around a text, bos among them; owned, NULL: bos alone where adds_bos says so.
    int32_t *around;
    size_t n_front, n_back; // the first n_front stand before the text, n_back behind it
    // private
    bool is_nfc, ignores_merges;
    // SentencePiece: rank[id], lowest first, of each token by its score; NULL: byte-level
    uint32_t *rank;
    bool is_space_first; // a space is put before the text and behind added tokens
    size_t n_tokens, n_merges;
    size_t n_added[2];         // before and after NFC
    struct sq_token *token;    // by ascending bytes
    struct sq_token *added[2]; // by ascending bytes
    size_t first[2][257];      // of added, by first byte
    struct sq_merge *merge;    // by ascending left, right
    int32_t of_byte[256];      // SQ_TOKEN_NONE: dropped, as tokenizers does
    struct sq_pretokenizer pretokenizer;
    char *text;     // of the tokens
    char *nfc_text; // of added tokens, brought to NFC as the text is where they are looked for
};

// DIR/tokenizer.json. SQ_ERR_UNSUPPORTED for a tokenizer of another kind, one sentence that says
// which part: SentencePiece (byte fallback), WordPiece, a normalizer other than NFC. After a
// failure *t is empty.
enum sq_status sq_tokenizer_read(struct sq_tokenizer *t, const char *path, struct sq_error *err);
// tokenizer.ggml.* of a GGUF file: SentencePiece ("llama"), or byte-level ("gpt2") with one of the
// pre-tokenizers gpt-2, llama-bpe, qwen2, smollm.
enum sq_status sq_tokenizer_of_gguf(struct sq_tokenizer *t, const struct sq_gguf *g,
                                    const char *what, struct sq_error *err);
void sq_tokenizer_free(struct sq_tokenizer *t);

// *id, [*n] with room for one more, is the caller's to free. SQ_ERR_DAMAGED where the text is no
// UTF-8, with the byte.
enum sq_status sq_tokenizer_encode(const struct sq_tokenizer *t, const char *text, size_t nbytes,
                                   int32_t **id, size_t *n, struct sq_error *err);

// ---- for the readers (sq_tokenizer_file.c) ------------------------------------------------------

// After all tokens and added tokens are there: puts them in order.
void sq_tokenizer_sort(struct sq_tokenizer *t);
// The id of these bytes, SQ_TOKEN_NONE where there is none; after sq_tokenizer_sort.
int32_t sq_tokenizer_find(const struct sq_tokenizer *t, const char *at, size_t n);
// After all merges are there.
void sq_tokenizer_sort_merges(struct sq_tokenizer *t);
