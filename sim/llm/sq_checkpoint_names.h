// SPDX-License-Identifier: Apache-2.0
// What the names of a checkpoint's tensors say: which a Llama-type model has, and which mean that the
// weights beside them are not whole.
#ifndef SQ_CHECKPOINT_NAMES_H
#define SQ_CHECKPOINT_NAMES_H

#include "sim/llm/sq_model_config.h"

// SQ_ERR_UNSUPPORTED with the name of a tensor that the forward pass would leave out. The frequencies
// of the rotary embedding may be there. is_gguf: the names of a GGUF file (sq_gguf_model.h).
enum sq_status sq_checkpoint_check_name(const struct sq_model_config *c, bool is_gguf,
                                        const char *name, struct sq_error *err);

// Whether a name says that the tensor belongs to quantized weights ("w.weight_scale", "w.scales",
// "w.qzeros") or to an adapter beside them ("w.lora_A.weight").
bool sq_is_beside_weights(const char *name);

#endif
