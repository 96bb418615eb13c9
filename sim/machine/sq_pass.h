// SPDX-License-Identifier: Apache-2.0
// A whole pass of a model over tokens on a machine: its linear layers in their format, lm_head in its own, attention on
// the same arrays in the format of the KV cache, what a vector unit computes, and what crosses the DRAM
// besides. The parts follow one another, so that they add up.
//
//   part        what takes the time
//   linear      products of the linear layers (sq_machine_run.h)
//   head        product with the vocabulary
//   attention   scores and values: K and V come from the DRAM in the format of the cache; scores stay on the
//               chip, where the vector unit makes probabilities of them
//   vector      element by element, on units of sq_vector that make the lanes of the machine: its cycle model
//               (sq_vector_time.h), operands that never wait, nothing else meanwhile
//   memory      rows of the embedding (16 bits), queries, and what is written into the cache
//   link        ring all-reduces between chips, two a layer and one of the embedding, of the hidden state of every token in 16 bits: with C
//               chips 2 (C - 1) steps, each the latency and 1 / C of the bytes. Modelled; nothing else meanwhile
//
// What lies between DRAM and buffers passes the vector unit, which has no bytes of its own.
#pragma once

#include "sim/machine/sq_machine_energy.h"
#include "sim/machine/sq_workload.h"

enum sq_pass_part {
    SQ_PASS_LINEAR,
    SQ_PASS_HEAD,
    SQ_PASS_ATTENTION,
    SQ_PASS_VECTOR,
    SQ_PASS_MEMORY,
    SQ_PASS_LINK,
    SQ_N_PASS_PARTS
};
const char *sq_pass_part_name(enum sq_pass_part part);

// Seconds of an operation of the machine's vector units on rows of n elements (sq_vector_cycles).
double sq_pass_vector_seconds(const struct sq_machine *machine, enum sq_vector_op op, double rows,
                              double n);

struct sq_pass_request {
    const struct sq_machine *machine;
    const struct sq_machine *cache_machine,
        *head_machine;                     // what multiplies attention, lm_head; NULL: machine
    const struct sq_recipe *recipe;        // of the linear layers
    const struct sq_recipe *head;          // of lm_head; may be `recipe`
    const struct sq_recipe *cache;         // of the KV cache and of what it is multiplied by
    const struct sq_mac_energy *mac;       // of `recipe`; NULL: no joules
    const struct sq_mac_energy *head_mac;  // of `head`; NULL: lm_head has joules of memory alone
    const struct sq_mac_energy *cache_mac; // of `cache`; NULL: attention has joules of memory alone
    const struct sq_energy_memory *memory;
    const struct sq_energy_chip *chip;     // of a machine that is one; else NULL
    const struct sq_vector_energy *vector; // NULL: vector units have no joules
};

// One row of the workload, which the workload has Count times.
struct sq_pass_row {
    double cycles, compute, dram; // the whole; least of the multipliers, of the DRAM
    double nbytes, macs;
};

struct sq_pass_result {
    struct sq_pass_row *row; // owned: as many as the workload has
    double seconds[SQ_N_PASS_PARTS], nbytes[SQ_N_PASS_PARTS], macs[SQ_N_PASS_PARTS];
    double op_seconds[SQ_N_VECTOR_OPS];
    double compute, dram; // seconds of the products if either alone took time
    double total_seconds, total_nbytes;
    double cache_row_nbits; // stored, with its scales
    double cache_nbytes;    // of all that is held
    double weights_nbytes;  // of linear layers, lm_head and embedding, with experts that do no work
    double weights, nbits;  // of the linear layers: their number, and stored bits
    struct sq_machine_energy energy;
};

// SQ_ERR_UNSUPPORTED: a chip that computes tokens by itself. SQ_ERR_RANGE, by how much, where weights and cache do not
// fit the machine's capacity. Frees nothing of the request; free the result with sq_pass_free.
enum sq_status sq_pass_run(const struct sq_pass_request *request, const struct sq_workload *w,
                           struct sq_pass_result *result, struct sq_error *err);
void sq_pass_free(struct sq_pass_result *result);
