// SPDX-License-Identifier: Apache-2.0
// Lists of GEMMs: SCALE-Sim topology files as they are, tables of our own, and the linear layers of
// a Hugging Face config.json.
//
// Our tables are SCALE-Sim GEMM files with one more column:
//   Layer,M,N,K,Count,
//   q_proj,2048,8192,8192,80,
// Y[M][N] = X[M][K] W[N][K]^T, Count times. Such a table has the linear layers alone; a whole pass over a
// model has lm_head, attention and what no product computes as well (is_whole).
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "sim/block/vector/sq_vector_time.h"
#include "sim/machine/sq_mapping.h"

#define SQ_WORKLOAD_ROWS_MAX 1000000u
#define SQ_WORKLOAD_COUNT_MAX 1000000u

// What a row multiplies by: weights, those of lm_head, or what the KV cache holds.
enum sq_workload_part { SQ_ROW_LINEAR, SQ_ROW_HEAD, SQ_ROW_SCORES, SQ_ROW_VALUES };

struct sq_workload_row {
    char name[64];
    struct sq_gemm gemm;
    uint64_t count;
    enum sq_workload_part part;
    uint64_t idle; // further weights of this shape that lie in memory without work (experts)
};

// What is computed element by element: an operation on `rows` rows of n elements side by side, `calls` times one
// after the other (sq_vector_time.h).
struct sq_workload_call {
    enum sq_vector_op op;
    double calls, rows, n;
};
enum { SQ_WORKLOAD_CALLS_MAX = 32 };

// What a whole pass has besides its rows. Counts of elements are doubles: exact up to 2^53.
struct sq_workload_rest {
    struct sq_workload_call call[SQ_WORKLOAD_CALLS_MAX];
    size_t n_calls;
    double embedding;             // elements of its rows that are read
    double query;                 // elements of queries that attention reads
    uint64_t cache_width;         // elements of a row of the KV cache: a head of a token
    double cache_new, cache_held; // rows that are written; that are held afterwards
    double embedding_held;        // elements of the embedding that lie in memory
    uint64_t tokens, sequences, layers, hidden, chips; // all counts are those of one chip
};

struct sq_workload {
    size_t n;
    struct sq_workload_row *row;  // owned
    struct sq_workload_rest rest; // zeros unless is_whole
};

// Reads a CSV file: the GEMM form (columns named M, N, K, maybe Count; the first is the name), or
// SCALE-Sim's convolution form (IFMAP Height, ..., Strides, maybe Batch Size), each layer as the
// GEMM that im2col makes of it: M = output pixels x batch, N = filters, K = filter h x w x
// channels; output pixels of a side are ceil((ifmap - filter) / stride) + 1, as SCALE-Sim has them.
// Cells may be in quotes (sq_csv_read.h). Byte order mark, CRLF, blanks, trailing commas and empty
// lines are taken; in the convolution form a line with nothing but a name is a heading. Everything
// else is refused with its line: missing or surplus columns (Sparsity too), what is no number,
// sizes outside 1..2^24, no rows at all.
enum sq_status sq_workload_read(const char *path, struct sq_workload *w, struct sq_error *err);
// The same on text; `what` names it.
enum sq_status sq_workload_parse(const char *text, size_t nbytes, const char *what,
                                 struct sq_workload *w, struct sq_error *err);
void sq_workload_free(struct sq_workload *w);

// The row's name. Of one longer than 63 characters the end is kept, behind "..": names of layers
// differ there.
void sq_workload_name(struct sq_workload_row *row, const char *name);

void sq_workload_write(const struct sq_workload *w, FILE *out);

// Whether a row is the product with the vocabulary, which sq_workload_from_config leaves out.
bool sq_workload_has_lm_head(const struct sq_workload *w);
#define SQ_WITHOUT_LM_HEAD "without lm_head, the product with the vocabulary (docs/limits.md)"

// ---- from a model ---------------------------------------------------------------------------

enum sq_routing {
    SQ_ROUTING_BALANCED, // every expert gets the same number of tokens, up to one
    SQ_ROUTING_SKEWED,   // expert r gets a share proportional to 1 / (r + 1), at most every token
};

extern const char *const sq_routing_names[]; // "balanced", "skewed", NULL

struct sq_workload_options {
    bool is_decode;          // one token per sequence, else `seq` tokens
    uint64_t batch;          // sequences, >= 1
    uint64_t seq;            // prefill: tokens of a sequence, >= 1
    enum sq_routing routing; // of experts
    bool is_whole;           // lm_head of a sequence's last token, attention and the rest as well
    uint64_t chips;          // is_whole: that share the model by heads and columns, 0 and 1: one
    uint64_t context;        // is_whole: tokens in the cache; decode: with the new one, >= 1
};

// The queries of a prompt come in so many steps, each with the keys that its queries see on average: attention
// multiplies the triangle below the diagonal, and no masked product.
enum { SQ_CAUSAL_STEPS = 4 };

// The linear layers of a decoder by its config.json: Llama, Mistral, Qwen2, Qwen3, Gemma 2 and 3, Phi-3, Granite, OLMo 2, SmolLM3,
// GLM-4, Mixtral, Qwen2-MoE, Qwen3-MoE, gpt-oss, GLM-4-MoE, DeepSeek-V2 and V3, Kimi K2 (latent attention, shared and routed
// experts) and OPT. Experts with the
// same number of tokens share a row; experts without tokens do no work. Refuses other model types
// by name, fields out of range, more than 2^24 tokens, and rows that sq_workload_parse would
// refuse.
//
// Attention of a layer is two products. The heads and sequences lie side by side in N: scores of the
// queries of a group of heads, N = keys of all of them, K = a head; values, N = a head of all of them, K =
// keys. Decode of latent attention multiplies the latent rows themselves, which all heads share (kv_b_proj
// is then that of the queries and of the outputs); its prefill multiplies heads that kv_b_proj has made.
//
// Chips share a model by tensor parallelism: each has some of the heads, of the columns of the MLP or of every
// expert, and of the vocabulary, that of the embedding too; the latent cache is on all. SQ_ERR_RANGE unless they divide the heads, and the KV
// heads or are a multiple of them.
enum sq_status sq_workload_from_config(const char *path, const struct sq_workload_options *o,
                                       struct sq_workload *w, struct sq_error *err);
// The same on an object in memory, which stays the caller's; `what` names it in sentences.
enum sq_status sq_workload_of_config(const json_t *root, const char *what,
                                     const struct sq_workload_options *o, struct sq_workload *w,
                                     struct sq_error *err);
