// SPDX-License-Identifier: Apache-2.0
// The part of a format's table that files read (SPEC O.1): the tensors of an encoded layer and
// their sizes, how a layer is made of them again, and the numbers of the recipe that a file must
// carry.
#pragma once

#include "sim/format/sq_recipe.h"
#include "sim/io/sq_safetensors.h"

// One tensor of a layer's encoding: "values" becomes "<layer>.values" in a file.
struct sq_part {
    const char *name;
    enum sq_dtype dtype;
    unsigned n_dims;
    uint64_t dim[3];
    const void *data;
};
#define SQ_PARTS_MAX 8u   // of one layer
#define SQ_VALUES_MAX 12u // numbers of a recipe in the metadata of a file

// A layer in a file on its way in.
struct sq_part_source {
    const struct sq_safetensors *file; // NULL: `part` has all of it, under the names of parts
    const char *layer;
    size_t n, k_orig;
    const struct sq_tensor *part;
    size_t n_parts;
};

// "<layer>.<part>" of a source with this dtype and shape (SQ_ERR_DAMAGED where it is missing,
// SQ_ERR_STREAM_LEN for another shape); a dimension of SIZE_MAX may have any length.
enum sq_status sq_part_find(const struct sq_part_source *s, const char *part, enum sq_dtype dtype,
                            unsigned n_dims, const size_t *dim, const struct sq_tensor **t,
                            struct sq_error *err);
// Copies all parts of a layer that has memory for them from a source; refuses what sq_part_find refuses.
typedef size_t sq_parts(const void *state, struct sq_part part[SQ_PARTS_MAX]);
enum sq_status sq_parts_read(sq_parts *parts, const void *state, const struct sq_part_source *s,
                             struct sq_error *err);

// A whole number of the recipe under its name in the metadata.
struct sq_metadata_value {
    const char *key;
    unsigned *number;
    unsigned min, max;
};

// What the one format has whose files also have a form of their own, the packed SQ-format.
struct sq_operand;
struct sq_operand_file;
struct sq_format_packed {
    bool (*takes)(const struct sq_recipe *r); // whether quantize writes its layers so
    // Bits, banks and group of such a file into *r.
    void (*recipe)(const struct sq_format *f, struct sq_recipe *r);
    // Operand i of a file as a layer, validated; free it with sq_quant_layer_free, after a failure
    // it is empty.
    enum sq_status (*load)(const struct sq_operand_file *file, size_t i,
                           struct sq_quant_layer *layer, struct sq_error *err);
    const struct sq_operand *(*operand)(const void *state); // what is written
};

// How weights that another program encoded become the parts of a format (sq_adopted.h).
struct sq_adopted;
struct sq_format_adopts {
    // Whether layers of this kind are layers of the format, code by code; sets the format's numbers in *r.
    // Looks at the kind alone and not at the data.
    bool (*takes)(const struct sq_adopted *a, struct sq_recipe *r);
    // The way back: the kind of layers of a recipe, n and k left out; false where some have more than that. act_global:
    // 1 where the layers have one.
    bool (*kind)(const struct sq_recipe *r, struct sq_adopted *a);
    const char *code, *scale, *global, *act_global, *zero; // names of parts; NULL: it has none
};

struct sq_format_file {
    // The tensors, valid as long as the state; returns how many.
    sq_parts *parts;
    const char *const *derived; // names of those that follow from the others, so that they store
                                // nothing and are not counted, up to a NULL; NULL: none
    // A layer of w[n][k] without its data, of which parts() says name, dtype and shape, and free()
    // is asked: what sizes are counted from. Where the weights decide how much is kept, as much as
    // the shares of the recipe say, and `sized_by` names it ("outliers"); NULL: the shape decides
    // all. NULL without memory.
    void *(*outline)(const struct sq_recipe *r, size_t n, size_t k);
    const char *(*sized_by)(const struct sq_recipe *r); // may be NULL
    // Back from a file, copied and validated: what apply() relies on. *state is NULL; after a failure the caller frees
    // what is there.
    enum sq_status (*load)(void **state, const struct sq_recipe *r, const struct sq_part_source *s,
                           struct sq_error *err);
    // Numbers of the recipe that a file must carry so that it can be read and multiplied, as
    // metadata keys. They are stored and set through `value`; NULL where there are none.
    size_t (*numbers)(struct sq_recipe *r, struct sq_metadata_value value[SQ_VALUES_MAX]);
    // The same of numbers that a file lacks where they are as they are in a recipe without options, as this
    // call leaves it.
    size_t (*optional)(struct sq_recipe *r, struct sq_metadata_value value[SQ_VALUES_MAX]);
    const struct sq_format_packed *packed; // NULL: no file of another form
    // Bits of a layer in the file of the program that encoded it, 0: those of its parts; may be NULL.
    double (*file_nbits)(const void *state);
    const struct sq_format_adopts *adopts; // NULL: weights are encoded here alone
};
