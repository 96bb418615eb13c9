// SPDX-License-Identifier: Apache-2.0
// What a format is, from its options to its bytes and cycles: one table per format, in
// sim/format/sq_<name>_format.c. Commands, evaluation, files, machines, GPUs and sweeps ask the
// table; nothing else knows one format from another. To add a format, define its table and name it
// in sq_formats.c (README.md has an example).
//
// A layer's encoding is an opaque state that its format makes, multiplies, measures, writes and
// reads back; sq_recipe.h is how it is used.
#ifndef SQ_FORMAT_OPS_H
#define SQ_FORMAT_OPS_H

#include "sim/format/sq_cost.h"
#include "sim/format/sq_format_option.h"
#include "sim/format/sq_recipe.h"
#include "sim/io/sq_safetensors.h"

struct sq_format_routes;

// What of a layer's input init() wants in struct sq_quant_input.
enum sq_need {
    SQ_NEED_INPUTS = 1,      // calibration: abs_max, abs_sum, n_tokens
    SQ_NEED_HESSIAN = 1 | 2, // calibration->xtx as well
    SQ_NEED_FACTOR = 3 | 4,  // factor as well
    SQ_NEED_SAMPLE = 8,      // sample[n_sample][k]: the first tokens of the calibration
};

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
    const struct sq_safetensors *file;
    const char *layer;
    size_t n, k_orig;
};

// A whole number of the recipe under its name in the metadata.
struct sq_metadata_value {
    const char *key;
    unsigned *number;
    unsigned min, max;
};

// A figure of one layer's encoding that only this format has.
struct sq_figure {
    const char *key;
    double value;
};
#define SQ_FIGURES_MAX 6u

enum sq_gpu_product { SQ_GPU_PRODUCT_BF16, SQ_GPU_PRODUCT_INT8 };
// Of formats that always take the one or the other.
enum sq_gpu_product sq_gpu_product_bf16(const struct sq_recipe *r);
enum sq_gpu_product sq_gpu_product_int8(const struct sq_recipe *r);

// A measured kernel of gpu/, as far as a format recognizes its own by it.
struct sq_gpu_sample {
    const char *dtype_a, *dtype_w;
    double sparsity;
};

bool sq_gpu_is_f16(const struct sq_gpu_sample *s); // its activations
// Whether its sparsity is this share; a record has the one that whole banks and columns gave.
bool sq_gpu_is_share(const struct sq_gpu_sample *s, double share);

// How the work of a layer is shared out (sqsim schedule).
struct sq_sharing {
    size_t workers, tile_rows;
    const float *x; // [m][k] tokens, where the format asks for them
    size_t m;
};

struct sq_format_ops {
    const char *name; // fixed: --format, files, records, sweeps, "sp24"
    // What the recipe's fields are called and may be (sq_format_option.h), up to a NULL name.
    const struct sq_format_option *option;
    const char *padding;      // of what beside K, for people; NULL: nothing
    const char *uncalibrated; // the options that need no calibration; NULL: none

    // After the options of `scope` were read: fields that follow from others, and refusals of
    // combinations. Sentences begin with the option. May be NULL.
    enum sq_status (*settle)(struct sq_recipe *r, unsigned scope, const struct sq_given *given,
                             struct sq_error *err);
    // One phrase for people, of at most 95 characters; NULL: name and activation bits.
    void (*text)(const struct sq_recipe *r, char text[96]);

    // ---- values: NULL check, the format is only timed -------------------------------------------
    // The recipe's fields that the format uses; SQ_ERR_UNSUPPORTED, SQ_ERR_RANGE with the field.
    enum sq_status (*check)(const struct sq_recipe *r, struct sq_error *err);
    unsigned (*needs)(const struct sq_recipe *r); // of enum sq_need, 0: nothing
    bool has_smoothing;
    bool (*is_smoothed)(const struct sq_recipe *r); // where --smooth is not given; NULL: never
    bool has_mask;                                  // one static mask of channels a layer

    // *state of w[n][k]; NULL after a failure. Refuses shapes
    // the format does not have (SQ_ERR_SHAPE) and what is not finite.
    enum sq_status (*init)(void **state, const struct sq_recipe *r, const float *w, size_t n,
                           size_t k, const struct sq_quant_input *in, struct sq_error *err);
    void (*free)(void *state); // NULL is harmless

    // y[m][n] of x[m][k], bit-exact and independent of how tokens are split into calls; 1..128
    // tokens, called from several threads at once.
    enum sq_status (*apply)(const void *state, const struct sq_recipe *r, const float *x, size_t m,
                            float *y, struct sq_error *err);
    // The same of any number of tokens, on threads of its own; *is_done = false leaves them to
    // apply(). May be NULL.
    enum sq_status (*apply_all)(const void *state, const struct sq_recipe *r, const float *x,
                                size_t m, float *y, bool *is_done, struct sq_error *err);

    // K as stored, of a layer of k_orig columns.
    size_t (*padded)(const struct sq_recipe *r, size_t k_orig);
    // A layer of w[n][k] without its data, of which parts() says name, dtype and shape, and free()
    // is asked: what sizes are counted from. Where the weights decide how much is kept, as much as
    // the shares of the recipe say, and `sized_by` names it ("outliers"); NULL: the shape decides
    // all. NULL without memory.
    void *(*outline)(const struct sq_recipe *r, size_t n, size_t k);
    const char *(*sized_by)(const struct sq_recipe *r); // may be NULL
    // Row `row` as the values it stands for, out[k]: for weight errors.
    void (*decode_row)(const void *state, size_t row, float *out);
    // The static channel mask, [k] as stored; NULL: the format has none.
    const uint8_t *(*mask)(const void *state);
    // Figures that quantize prints per layer; returns how many. NULL where there are none.
    size_t (*figures)(const void *state, struct sq_figure figure[SQ_FIGURES_MAX]);

    // What the slowest worker has to do, the ideal first, summed over tokens; returns through *n
    // how many figures. NULL: every row has the same work.
    enum sq_status (*share)(const void *state, const struct sq_sharing *s,
                            struct sq_figure figure[SQ_FIGURES_MAX], size_t *n,
                            struct sq_error *err);
    const char *share_unit; // "groups"
    bool needs_share_tokens;
    const char
        *share_text; // what the columns are, where they are no loads of workers; NULL: they are

    // ---- files (SPEC O.1) -----------------------------------------------------------------------
    bool has_file; // quantize writes it
    // The tensors, valid as long as the state; returns how many.
    size_t (*parts)(const void *state, struct sq_part part[SQ_PARTS_MAX]);
    const char *const *derived; // names of those that follow from the others, so that they store
                                // nothing and are not counted, up to a NULL; NULL: none
    // Back from a file, copied and validated: what apply() relies on.
    enum sq_status (*load)(void **state, const struct sq_recipe *r, const struct sq_part_source *s,
                           struct sq_error *err);
    // Numbers of the recipe that a file must carry so that it can be read and multiplied, as
    // metadata keys. They are stored and set through `value`; NULL where there are none.
    size_t (*values)(struct sq_recipe *r, struct sq_metadata_value value[SQ_VALUES_MAX]);

    // ---- time and traffic (sq_cost.h) -----------------------------------------------------------
    // Fields outside what can be timed, by the name of the option.
    enum sq_status (*check_cost)(const struct sq_recipe *r, struct sq_error *err);
    bool is_core; // a core alone can run it: both paths of sq_core
    // What multiplies it for m tokens and rows of k, on a core that has `has`: into *u, which is an
    // array of plain operands that flushes at the end of every group, but has no span and lanes.
    void (*unit)(const struct sq_recipe *r, const struct sq_core_config *has, uint64_t m,
                 uint64_t k, struct sq_cost_unit *u);
    // The work of one tile of columns over `elements` of K, and in *kept the share of its products
    // that is made: a random draw, or the mean where rng is NULL. NULL: every tile is the same.
    void (*draw)(const struct sq_recipe *r, const struct sq_cost_unit *u, uint64_t m,
                 uint64_t elements, struct sq_rng *rng, struct sq_tile_work *tile, double *kept);
    const char *law; // by which it is drawn
    // The work of an encoded layer instead of a draw. own() counts what each row has (kept groups,
    // outliers) into *own, whose `before` the caller frees, and sets the shares of *r. own_tile()
    // makes the work of a tile whose columns have count[u->lines] of it. NULL: all layers of a
    // shape take the same time, or what differs does not come from the weights.
    enum sq_status (*own)(const void *state, struct sq_own *own, struct sq_recipe *r,
                          struct sq_error *err);
    void (*own_tile)(const struct sq_recipe *r, const struct sq_cost_unit *u, uint64_t elements,
                     const uint32_t *count, struct sq_tile_work *tile, double *kept);
    const char *own_text; // what own() counts, for people
    // The work that the tokens decide: from the activations x[m][k] of the layer, one row of *own
    // for each tile of `rows` tokens, one piece per element of K. NULL: no token decides anything.
    enum sq_status (*own_tokens)(const void *state, const float *x, size_t m, unsigned rows,
                                 struct sq_own *own, struct sq_recipe *r, struct sq_error *err);
    // The work of the tile of tokens in row `row` of *own, over `elements` of K from `first` on; all
    // of them exist.
    void (*own_tokens_tile)(const struct sq_recipe *r, const struct sq_cost_unit *u,
                            const struct sq_own *own, uint64_t row, uint64_t first,
                            uint64_t elements, struct sq_tile_work *tile, double *kept);
    // Cycles that a unit needs to find the active columns of a tile of tokens. NULL: the format has
    // no such unit.
    uint64_t (*scan)(const struct sq_recipe *r, uint64_t elements);
    // Cycles before anything can be fetched; NULL: none.
    uint64_t (*lead_in)(const struct sq_recipe *r, uint64_t k);
    // The i-th recipe, of two at most, whose jobs and transfers are never shorter than those of r,
    // whatever the blocks: r takes its plans as well. False: there are no more. May be NULL.
    bool (*slower)(const struct sq_recipe *r, unsigned i, struct sq_recipe *other);
    // Bytes of n output channels over the stretch, SQ_STREAM_LO to SQ_STREAM_SCALE, which are 0.
    void (*weight_nbytes)(const struct sq_recipe *r, uint64_t n, uint64_t m_all,
                          const struct sq_stretch *t, uint64_t nbytes[SQ_N_STREAMS]);
    // Bytes that a buffer holds of weights which the DRAM moves as nbytes, where a decoder stands in
    // front of the buffer; NULL: as many.
    uint64_t (*held_nbytes)(const uint64_t nbytes[SQ_N_STREAMS]);
    // The RTL that multiplies with the lanes of *u, a PE, into *pe, which is all 0; no parts: there
    // is none of so many lanes. NULL: none at all.
    void (*pe)(const struct sq_recipe *r, const struct sq_cost_unit *u, struct sq_cost_pe *pe);
    double (*act_nbits)(const struct sq_recipe *r);       // of an activation; NULL: act bits
    unsigned act_scales;                                  // FP32 a token; 0: one
    unsigned (*n_act_scales)(const struct sq_recipe *r);  // the same by options; NULL: act_scales
    double (*equivalent_bits)(const struct sq_recipe *r); // of a weight, no scales (SPEC A.5)

    // ---- hardware (sq_route.h) ------------------------------------------------------------------
    const struct sq_format_routes *routes; // to RTL blocks, and kernel traces; NULL: none

    // ---- GPU (sim/gpu/sq_gpu_predict.h) ---------------------------------------------------------
    // The tensor core product that a decoded tile goes to; NULL: no kernel in gpu/ multiplies this
    // format, and a GPU has no time for it ("not modelled").
    enum sq_gpu_product (*gpu_product)(const struct sq_recipe *r);
    bool is_gpu_sparse;                                // 2:4
    bool (*is_gpu_library)(const struct sq_recipe *r); // a library's product counts; NULL: not
    const char *gpu_name;                              // of its records; NULL: `name`
    bool (*is_gpu_record)(const struct sq_recipe *r, const struct sq_gpu_sample *s); // NULL: any
};

// Every format, in the order in which commands name them; a NULL follows. The first is the default.
extern const struct sq_format_ops *const sq_formats[];
extern const char *const sq_format_names[];
size_t sq_n_formats(void);
// NULL where there is none of that name.
const struct sq_format_ops *sq_format_find(const char *name);

// For code that means one of them.
extern const struct sq_format_ops sq_format_sq_w, sq_format_dense, sq_format_sq_a_static,
    sq_format_sq_a_dynamic, sq_format_sp24, sq_format_gqsa, sq_format_spqt, sq_format_spqr,
    sq_format_mxfp4, sq_format_nvfp4, sq_format_nvint4, sq_format_sq_b;

// "<layer>.<part>" of a source with this dtype and shape (SQ_ERR_DAMAGED where it is missing,
// SQ_ERR_STREAM_LEN for another shape); a dimension of SIZE_MAX may have any length.
enum sq_status sq_part_find(const struct sq_part_source *s, const char *part, enum sq_dtype dtype,
                            unsigned n_dims, const size_t *dim, const struct sq_tensor **t,
                            struct sq_error *err);

#endif
