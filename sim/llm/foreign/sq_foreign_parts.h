// SPDX-License-Identifier: Apache-2.0
// Single numbers of a layer that another program quantized. Internal to sim/llm/foreign/.
#pragma once

#include "sim/llm/foreign/sq_foreign.h"

// Block j of a row of a GGUF file whose blocks are integers.
void sq_foreign_block(const struct sq_foreign_layer *l, size_t row, size_t j,
                      struct sq_ggml_block *b);
// Codes of a row into code[k]: bits, or integers in two's complement without their zero point, or with it.
void sq_foreign_codes(const struct sq_foreign_layer *l, size_t row, uint8_t *code);
// The zero point of an unsigned code.
unsigned sq_foreign_zero(const struct sq_foreign_layer *l, size_t row, size_t group);
size_t sq_foreign_groups(const struct sq_foreign_layer *l); // of a row
size_t sq_foreign_n_scales(const struct sq_foreign_layer *l);
// A scale, where it is a number; without the scale above it.
float sq_foreign_scale(const struct sq_foreign_layer *l, size_t row, size_t group);
// Its place in the tensor of scales, which blocks of GGUF have none of.
size_t sq_foreign_scale_place(const struct sq_foreign_layer *l, size_t row, size_t group);
// The code of a scale, where it is one.
uint8_t sq_foreign_scale_byte(const struct sq_foreign_layer *l, size_t row, size_t group);
// Element i of a float tensor, of E4M3 or of E8M0 in bytes.
float sq_foreign_number(const struct sq_tensor *t, size_t i);
uint32_t sq_foreign_word(const uint8_t *data, size_t i);
