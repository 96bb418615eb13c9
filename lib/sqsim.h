/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sqsim.h: libsqsim, the golden models and the cycle model of sqsim as a library. C99 and C++.
 *
 *     cc mine.c $(pkg-config --cflags --libs sqsim)
 *
 * A format, by its name and options, encodes a matrix of weights; the encoded layer gives the
 * product of its bit-exact integers, what its weights stand for, and a file. The same format on a
 * machine gives cycles and bytes; on a Hugging Face model, loss and perplexity.
 *
 * Conventions
 *   Matrices are row-major and binary32: weights w[n][k] (n output channels, k contiguous), tokens
 *   x[m][k], product y[m][n] = x w^T.
 *   Whatever can fail returns enum sqsim_status and takes a struct sqsim_error last, which may be
 *   NULL. Results go through pointers; after a failure a handle is NULL and y[] and w[] hold
 *   nothing of use. Handles are freed by their _free function, which takes NULL too.
 *   Nothing prints, exits or keeps state. Handles may be read by several threads at a time. Results
 *   do not depend on the number of threads (OpenMP's). Arguments that are pointers must not be NULL
 *   unless it says so. Strings are the caller's and copied where they are kept; those returned
 *   belong to the handle they come from.
 *
 * The names of formats, options and figures are those of `sqsim eval`, `quantize` and `run --json`
 * (docs/json.md); what a format is, to the bit, is in docs/SPEC.md.
 *
 * Binary interface: handles are opaque, structs below do not change; the soname does where a
 * function changes its meaning or goes.
 */
#ifndef SQSIM_H
#define SQSIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors --------------------------------------------------------------------------------- */

/* By tens: 1x argument, 2x stored data, 3x range, 4x resource, 5x file system, 9x a bug. Further
 * values may come; 0 is success. */
enum sqsim_status {
    SQSIM_OK = 0,
    SQSIM_ERR_ARG = 10,         /* no such format, option or word; calibration tokens are missing */
    SQSIM_ERR_SHAPE = 11,       /* a size that the format does not have */
    SQSIM_ERR_UNSUPPORTED = 12, /* outside the supported set */
    SQSIM_ERR_STREAM_LEN = 20,  /* 20..27: what is wrong with a file (SPEC O.2) */
    SQSIM_ERR_PADDING = 21,
    SQSIM_ERR_MASK_COUNT = 22,
    SQSIM_ERR_CODE = 23,
    SQSIM_ERR_SCALE = 24,
    SQSIM_ERR_INDEX = 25,
    SQSIM_ERR_OFFSETS = 26,
    SQSIM_ERR_DAMAGED = 27,
    SQSIM_ERR_NON_FINITE = 30, /* NaN or infinity in w or x */
    SQSIM_ERR_OVERFLOW = 31,   /* a value does not fit binary16 or FP8 */
    SQSIM_ERR_SINGULAR = 32,   /* a Hessian that stays singular */
    SQSIM_ERR_RANGE = 33,      /* a value outside its range, which the text names */
    SQSIM_ERR_MEMORY = 40,
    SQSIM_ERR_IO = 50,
    SQSIM_ERR_INTERNAL = 90
};

struct sqsim_error {
    int status;     /* enum sqsim_status */
    char text[332]; /* one sentence with the field, its value and its range; terminated */
};

/* "0.3.0 (abcdef0)": version and revision of the library. */
const char *sqsim_version(void);

/* ---- formats -------------------------------------------------------------------------------- */

typedef struct sqsim_format sqsim_format;

/* Names of all formats; NULL where i is past the last. */
const char *sqsim_format_name(size_t i);

/* For what a format is: the options of `sqsim eval`, or those of `sqsim run`. */
enum sqsim_purpose {
    SQSIM_VALUES = 0, /* sqsim_encode, sqsim_evaluate */
    SQSIM_TIME = 1    /* sqsim_cycles */
};

/* option: names and values in turn, then NULL, {"bank", "64", "sparsity", "0.875", NULL}; NULL for
 * none. A flag has the value "". Options of no effect are refused, as are values outside their
 * range (SQSIM_ERR_ARG, _RANGE, _SHAPE, _UNSUPPORTED). At most 48. Another purpose: SQSIM_ERR_ARG. */
enum sqsim_status sqsim_format_new(const char *name, enum sqsim_purpose purpose,
                                   const char *const *option, sqsim_format **format,
                                   struct sqsim_error *err);
void sqsim_format_free(sqsim_format *format);

/* 1 where sqsim_encode and sqsim_evaluate need calibration tokens, else 0. By default sq_w, dense,
 * sp24 and gqsa compensate by GPTQ and do; {"algorithm", "rtn"} rounds to nearest and does not. */
int sqsim_format_needs_calibration(const sqsim_format *format);

/* ---- layers --------------------------------------------------------------------------------- */

typedef struct sqsim_layer sqsim_layer;

/* Encodes w[n][k], which is not changed; n, k 1..2^24. x[m][k] are calibration tokens, NULL and 0
 * where the format needs none. SQSIM_ERR_ARG, _SHAPE, _NON_FINITE, _SINGULAR, _OVERFLOW, _MEMORY.
 */
enum sqsim_status sqsim_encode(const sqsim_format *format, const float *w, size_t n, size_t k,
                               const float *x, size_t m, sqsim_layer **layer,
                               struct sqsim_error *err);
void sqsim_layer_free(sqsim_layer *layer);

size_t sqsim_layer_n(const sqsim_layer *layer);
size_t sqsim_layer_k(const sqsim_layer *layer); /* as given, without padding */
/* Stored bits per weight, scales, masks, indices and padding included; NaN of operand = act, whose
 * weights are as they were. */
double sqsim_layer_bits(const sqsim_layer *layer);

const char *sqsim_layer_format(const sqsim_layer *layer); /* "sq_w" */

/* The stored tensors of a layer, as a file of it has them (docs/files.md says of each format which
 * they are): codes, scales, masks, indices. dtype is "F32", "F16", "U8", "I8", "I32" or "I64",
 * shape[] takes the lengths of its dimensions, whose number is returned; data is little-endian and
 * belongs to the layer. NULL and 0 past the last; a layer of operand = act has none. */
size_t sqsim_layer_n_parts(const sqsim_layer *layer);
const char *sqsim_layer_part_name(const sqsim_layer *layer, size_t i);
const char *sqsim_layer_part_dtype(const sqsim_layer *layer, size_t i);
size_t sqsim_layer_part_shape(const sqsim_layer *layer, size_t i, size_t shape[3]);
const void *sqsim_layer_part_data(const sqsim_layer *layer, size_t i);

/* The golden product: y[m][n] of x[m][k], activations quantized as the format says, m 1..2^24. Bit
 * for bit what the hardware computes. SQSIM_ERR_NON_FINITE, _OVERFLOW, _MEMORY. */
enum sqsim_status sqsim_product(const sqsim_layer *layer, const float *x, size_t m, float *y,
                                struct sqsim_error *err);

/* The weights that the codes stand for, w[n][k] in the units of what was encoded. */
enum sqsim_status sqsim_decode(const sqsim_layer *layer, float *w, struct sqsim_error *err);

/* ---- files (.sq.safetensors, docs/files.md) ---------------------------------------------------
 */

typedef struct sqsim_file sqsim_file;

/* The file appears complete or not at all. All layers are of one format and its options, are named
 * differently (1..255 bytes of UTF-8 without control characters) and have a packed form
 * (SQSIM_ERR_UNSUPPORTED: operand = act).
 */
enum sqsim_status sqsim_file_write(const char *path, const char *const *name,
                                   const sqsim_layer *const *layer, size_t n_layers,
                                   struct sqsim_error *err);

/* Opens a file of sqsim_file_write or `sqsim quantize -o`: its names, shapes, lengths and digest
 * are checked here, its contents by sqsim_file_load. option: as sqsim_format_new; only "act-bits"
 * is free, the file says the rest. */
enum sqsim_status sqsim_file_open(const char *path, const char *const *option, sqsim_file **file,
                                  struct sqsim_error *err);
void sqsim_file_close(sqsim_file *file);
size_t sqsim_file_n_layers(const sqsim_file *file);
const char *sqsim_file_format(const sqsim_file *file);         /* "sq_w" */
const char *sqsim_file_name(const sqsim_file *file, size_t i); /* NULL past the last layer */
/* A layer, copied and validated; it may outlive the file. */
enum sqsim_status sqsim_file_load(const sqsim_file *file, size_t i, sqsim_layer **layer,
                                  struct sqsim_error *err);

/* Every check of SPEC O.2 on every layer of a file: SQSIM_OK or what is wrong first. */
enum sqsim_status sqsim_validate(const char *path, struct sqsim_error *err);
/* Whether any safetensors file is sound: its header, each tensor's shape, type and bytes, no gap, no
 * overlap, no byte behind the last. SQSIM_ERR_DAMAGED and a sentence where it is not. */
enum sqsim_status sqsim_safetensors_check(const char *path, struct sqsim_error *err);

/* ---- figures -------------------------------------------------------------------------------- */

/* Names and numbers. Counts are exact up to 2^53. */
typedef struct sqsim_figures sqsim_figures;
size_t sqsim_figures_n(const sqsim_figures *figures);
const char *sqsim_figures_name(const sqsim_figures *figures, size_t i); /* NULL past the last */
double sqsim_figures_value(const sqsim_figures *figures, size_t i);     /* NaN past the last */
/* NaN where there is none of that name. */
double sqsim_figures_get(const sqsim_figures *figures, const char *name);
void sqsim_figures_free(sqsim_figures *figures);

/* The cycle model: y[m][n] = x[m][k] w[n][k]^T on a machine, a YAML file as in sim/machines/, or,
 * where NULL, on the default core with streams that never stall (sq_w only). Sizes 1..2^24.
 * Files that come with sqsim are found below $SQSIM_HOME, or around the library where it is unset, by their path in
 * the sources and by a short name: "sim/machines/edge4.yaml", "edge4"; models "traces/tiny-llama", "tiny-llama".
 *
 *   cycles             what the RTL takes (core), buffers and DRAM modelled (machine)
 *   bound_cycles       below every plan: all products, or each operand from DRAM once
 *   low.busy, ...      cycles of each path by cause; they sum to `cycles`, on a machine with
 *   high.busy, ...     `index` and `memory`; high.* of sq_w only
 *   seconds, bytes, bytes.lo, ...   machine only
 */
enum sqsim_status sqsim_cycles(const sqsim_format *format, const char *machine, uint64_t m,
                               uint64_t n, uint64_t k, sqsim_figures **figures,
                               struct sqsim_error *err);

/* A Llama-type model, a Hugging Face directory or a GGUF file, every linear layer of its decoder in the integers
 * of the format. tokens, calib: token files (docs/files.md), NULL: tokens_eval.safetensors and
 * tokens_calib.safetensors beside the model. sequences: the first so many of `tokens`, 0: all.
 *
 *   loss               nats per predicted token
 *   perplexity         its exponential
 *   tokens             predicted tokens
 *   bits               stored, per weight; NaN where they are the model's
 *
 * format NULL: the model as it is. */
enum sqsim_status sqsim_evaluate(const char *model, const sqsim_format *format, const char *tokens,
                                 const char *calib, size_t sequences, sqsim_figures **figures,
                                 struct sqsim_error *err);
/* The same with the weights of a file, which holds every linear layer of the model. */
enum sqsim_status sqsim_evaluate_file(const char *model, const sqsim_file *file, const char *tokens,
                                      size_t sequences, sqsim_figures **figures,
                                      struct sqsim_error *err);

/* ---- the chip -------------------------------------------------------------------------------- */

/* A layer and x[m][k] as the chip sq_top reads them from memory, and what a driver (sq_driver.h) makes
 * of it. machine: a YAML with the key `chip`, NULL: sim/machines/chip.yaml; base: a multiple of
 * 4096 below 2^48. With its keys chip.encoder, chip.vector, chip.attend a device of the image runs descriptors of these kinds, too
 * (sq_driver_describe_encoder, _vector, _attend). SQSIM_ERR_UNSUPPORTED where the chip does not run the format, SQSIM_ERR_RANGE where the layer
 * is too large. The image does not need the layer any longer. */
typedef struct sqsim_image sqsim_image;
enum sqsim_status sqsim_image_new(const sqsim_layer *layer, const float *x, size_t m,
                                  const char *machine, uint64_t base, sqsim_image **image,
                                  struct sqsim_error *err);
void sqsim_image_free(sqsim_image *image);
/* The memory from base on, before a run; it belongs to the image. */
const void *sqsim_image_bytes(const sqsim_image *image, size_t *nbytes);
uint64_t sqsim_image_descriptor(const sqsim_image *image); /* its address, for the chip */

enum sqsim_chip_body {
    SQSIM_CHIP_FAST = 0,     /* a layer at once */
    SQSIM_CHIP_STEPPING = 1, /* cycle by cycle; the same memory and figures */
    SQSIM_CHIP_RTL = 2 /* the same by rtl/top/sq_top.sv, compiled by Verilator at the first use */
};
/* Runs the layer by the driver in memory[], which begins as sqsim_image_bytes and holds the outputs
 * afterwards. Figures are the chip's counters: cycles, busy, wait, blocked, read_bytes, write_bytes.
 * A run of one image at a time. SQSIM_ERR_DAMAGED: memory is not the image, so that the layer ends with an error. */
enum sqsim_status sqsim_chip_run(const sqsim_image *image, enum sqsim_chip_body body, void *memory,
                                 sqsim_figures **figures, struct sqsim_error *err);
/* Whether memory[], which a chip has written, holds the outputs of the layer: SQSIM_ERR_DAMAGED with
 * the first word that differs. y[m][n] takes the outputs that are there; NULL: nobody wants them. */
enum sqsim_status sqsim_image_check(const sqsim_image *image, const void *memory, float *y,
                                    struct sqsim_error *err);

/* ---- the chip as a device --------------------------------------------------------------------- */

/* The registers of sq_regs.h with a chip behind them, and a memory that is the caller's: what a driver (sq_driver.h) and a
 * platform (sq_chip.h) need. One thread at a time has a device and its memory.
 *
 *     struct sq_driver driver = {device, sqsim_device_read, sqsim_device_write, sqsim_device_wait};
 */
typedef struct sqsim_device sqsim_device;

/* How memory answers, as AXI4 does. */
enum sqsim_answer { SQSIM_OKAY = 0, SQSIM_SLVERR = 2, SQSIM_DECERR = 3 };

/* What is in memory: a beat of the chip's bus at a time, of zeros where a read fails. ctx is the caller's. */
struct sqsim_memory {
    void *ctx;
    enum sqsim_answer (*read)(void *ctx, uint64_t address, void *bytes, size_t nbytes);
    enum sqsim_answer (*write)(void *ctx, uint64_t address, const void *bytes, size_t nbytes);
};

/* A memory that is bytes[], the first of them at address base; SQSIM_DECERR beyond. struct sqsim_memory m = {&flat,
 * sqsim_flat_read, sqsim_flat_write}. */
struct sqsim_flat {
    uint64_t base;
    void *bytes;
    size_t nbytes;
};
enum sqsim_answer sqsim_flat_read(void *flat, uint64_t address, void *bytes, size_t nbytes);
enum sqsim_answer sqsim_flat_write(void *flat, uint64_t address, const void *bytes, size_t nbytes);

enum { SQSIM_BEAT_MAX = 64 };
/* The bus of memory in one cycle: signals of AXI4 without those that never change (docs/registers.md). len: beats - 1. */
struct sqsim_bus_cycle {
    uint8_t ar_ready, aw_ready, w_ready, r_valid, r_resp, r_last, b_valid, b_resp; /* memory's */
    uint8_t ar_valid, ar_len, aw_valid, aw_len, w_valid, w_last, r_ready, b_ready; /* chip's */
    uint8_t
        w_strobe; /* the bytes of the beat count; 0: none, in a burst of a layer that was aborted */
    uint64_t ar_address, aw_address;
    uint8_t r_data[SQSIM_BEAT_MAX], w_data[SQSIM_BEAT_MAX];
};
/* In place of a memory: who answers, and when. */
struct sqsim_bus {
    void *ctx;
    void (*drive)(void *ctx,
                  struct sqsim_bus_cycle *cycle); /* sets memory's signals, of its state alone */
    void (*clock)(void *ctx, const struct sqsim_bus_cycle *cycle); /* the edge: all are there */
};

/* The chip that the image is for, behind a reset; the image lives longer. One of memory and bus is NULL:
 * with a memory, the machine of the image says how long it takes; a bus is not for SQSIM_CHIP_FAST (SQSIM_ERR_ARG). What
 * they point to is copied. SQSIM_CHIP_RTL: SQSIM_ERR_IO and others where Verilator is missing or fails. */
enum sqsim_status sqsim_device_new(const sqsim_image *image, enum sqsim_chip_body body,
                                   const struct sqsim_memory *memory, const struct sqsim_bus *bus,
                                   sqsim_device **device, struct sqsim_error *err);
void sqsim_device_free(sqsim_device *device);
size_t sqsim_device_beat(const sqsim_device *device); /* bytes of a beat of the bus, 4..64 */

/* Accesses of 4 bytes; `device` is a sqsim_device, as struct sq_driver has it. Each lets as many cycles pass as the chip takes. */
uint32_t sqsim_device_read(void *device, uint32_t offset);
void sqsim_device_write(void *device, uint32_t offset, uint32_t value);
/* Lets cycles pass until the interrupt. 0: no beat moved for longer than any layer waits. */
int sqsim_device_wait(void *device);
/* The same accesses in parts: begin, cycles, and end, which returns 1 once the access is over. No access begins before
 * the last is over. */
void sqsim_device_begin(sqsim_device *device, int is_write, uint32_t offset, uint32_t value);
void sqsim_device_cycle(sqsim_device *device);
int sqsim_device_end(sqsim_device *device, uint32_t *value, enum sqsim_answer *answer);
/* Begin, cycles, end. FAST: the whole layer, where it starts one. */
enum sqsim_answer sqsim_device_access(sqsim_device *device, int is_write, uint32_t offset,
                                      uint32_t *value);

int sqsim_device_irq(const sqsim_device *device);
int sqsim_device_is_running(const sqsim_device *device);  /* a layer: and has no interrupt */
uint64_t sqsim_device_cycles(const sqsim_device *device); /* since the reset */
/* A digest of all that has moved on the bus of memory since the last start, beat by beat with its cycle. Equal: two
 * chips have done the same in every cycle. FAST moves nothing. */
uint64_t sqsim_device_moves(const sqsim_device *device);

/* ---- models ---------------------------------------------------------------------------------- */

/* A GGUF file, read as the Hugging Face model it was made from (SQSIM_ERR_UNSUPPORTED: anything
 * else; a Hugging Face directory has these tensors and files in itself). */
typedef struct sqsim_model sqsim_model;
enum sqsim_status sqsim_model_open(const char *path, sqsim_model **model, struct sqsim_error *err);
void sqsim_model_close(sqsim_model *model);
/* Tensors under the names of Hugging Face, ascending; NULL and 0 past the last. */
size_t sqsim_model_n_tensors(const sqsim_model *model);
const char *sqsim_model_tensor_name(const sqsim_model *model, size_t i);
/* Returns how many dimensions it has, the last of which varies fastest. */
size_t sqsim_model_tensor_shape(const sqsim_model *model, size_t i, size_t shape[8]);
/* As binary32, rows in the order of Hugging Face, into out[], which has room for its elements. */
enum sqsim_status sqsim_model_tensor_read(const sqsim_model *model, size_t i, float *out,
                                          struct sqsim_error *err);
/* "config.json", "generation_config.json", "tokenizer.json" or "tokenizer_config.json", as far as
 * GGUF holds it; the text is valid until the next call. SQSIM_ERR_UNSUPPORTED where it does not (a
 * SentencePiece vocabulary), SQSIM_ERR_ARG for another name. By one thread at a time. */
enum sqsim_status sqsim_model_file(sqsim_model *model, const char *name, const char **text,
                                   struct sqsim_error *err);

/* A text in UTF-8 by the tokenizer of a model, a Hugging Face directory or a GGUF file, as a token
 * file for sqsim_evaluate: windows of so many tokens one after the other, 0: 2048 or, where that is
 * shorter, the model's context. What is left behind the last whole window is not used. */
enum sqsim_status sqsim_tokenize(const char *model, const char *text, size_t window,
                                 const char *path, struct sqsim_error *err);

/* ---- sums ------------------------------------------------------------------------------------ */

/* The dot product of a and b, onto c, as a device sums it (SPEC Q.11, `sqsim explain sum`): rule, its
 * name ("h100") or a YAML file; type of the operands ("bf16", "e4m3"); codes in hex with blanks
 * between them, c a binary32 in hex. Into *sum, infinite or NaN where the device has that. */
enum sqsim_status sqsim_dot(const char *rule, const char *type, const char *a, const char *b,
                            const char *c, float *sum, struct sqsim_error *err);

/* ---- sweeps ---------------------------------------------------------------------------------- */

/* The points of a database of `sqsim sweep --db`, by sweep and parameters. Every row and every
 * specification is checked against its digest as it is read: SQSIM_ERR_DAMAGED, never a wrong
 * number. parameters, measures and provenance are JSON objects (docs/json.md); NULL past the last.
 */
typedef struct sqsim_points sqsim_points;
enum sqsim_status sqsim_points_read(const char *path, sqsim_points **points,
                                    struct sqsim_error *err);
size_t sqsim_points_n(const sqsim_points *points);
const char *sqsim_points_sweep(const sqsim_points *points, size_t i);
const char *sqsim_points_parameters(const sqsim_points *points, size_t i);
const char *sqsim_points_measures(const sqsim_points *points, size_t i);
const char *sqsim_points_provenance(const sqsim_points *points, size_t i);
void sqsim_points_free(sqsim_points *points);

#ifdef __cplusplus
}
#endif

#endif
