// SPDX-License-Identifier: Apache-2.0
// A model with encoded layers as the directory that another program writes and loads (docs/files.md): the tensors
// of compressed-tensors or modelopt, and config.json with their quantization_config. No bit of a code changes.
#pragma once

#include "sim/llm/sq_checkpoint.h"

enum sq_foreign_as {
    SQ_FOREIGN_AS_NONE,
    SQ_FOREIGN_AS_COMPRESSED_TENSORS,
    SQ_FOREIGN_AS_MODELOPT,
    SQ_FOREIGN_AS_GGUF
};
extern const char
    *const sq_foreign_as_choice[]; // "none", "compressed-tensors", "modelopt", "gguf", NULL

// Whether the other program has a place for layers of the recipe: SQ_ERR_UNSUPPORTED with what is in the way.
enum sq_status sq_foreign_write_check(enum sq_foreign_as as, const struct sq_recipe *r,
                                      struct sq_error *err);

struct sq_foreign_written {
    size_t
        n_rounded; // layers whose scale above the blocks is one unit in the last place off, since its
                   // reciprocal is what the file holds (compressed-tensors)
    char links[256]; // files of the model that are links and were not copied, "A, B"; "": none
};

// DIR/model.safetensors, DIR/config.json and copies of the tokenizer and token files that DIR lacks, all of them
// or none; the folder is there. layer[ck->n_layers] by the recipe; *ck was opened at `model`, a directory. A link
// is followed only from a snapshot of huggingface_hub into its blobs; a config.json that is another is refused.
enum sq_status sq_foreign_write(enum sq_foreign_as as, const char *dir, const char *model,
                                const struct sq_checkpoint *ck, const struct sq_recipe *r,
                                const struct sq_quant_layer *layer,
                                struct sq_foreign_written *written, struct sq_error *err);

// The same as a GGUF file (SQ_FOREIGN_AS_GGUF): MXFP4, NVFP4 or Q8_0 for the layers, all else as it is, vectors
// in F32. Of a GGUF file the metadata are its own; of a directory they follow from the config, without a tokenizer
// (*has_tokenizer). Q8_0 needs scales that binary16 holds: SQ_ERR_RANGE.
enum sq_status sq_foreign_write_gguf(const char *path, const struct sq_checkpoint *ck,
                                     const struct sq_recipe *r, const struct sq_quant_layer *layer,
                                     bool *has_tokenizer, struct sq_error *err);
enum sq_status sq_foreign_check_gguf(const struct sq_recipe *r, struct sq_error *err);

// Whether the tensor holds weights of a layer, or a part of them where another program quantized it.
bool sq_foreign_is_of_layer(const struct sq_checkpoint *ck, const struct sq_tensor *t);
// A part of a layer as its file has it; NULL where there is none, or `name` is NULL.
const void *sq_foreign_part(const struct sq_quant_layer *q, const char *name);
// What kind of weights a recipe makes: SQ_ERR_UNSUPPORTED where these are not codes and scales alone.
enum sq_status sq_foreign_kind(enum sq_foreign_as as, const struct sq_recipe *r,
                               struct sq_adopted *a, struct sq_error *err);
