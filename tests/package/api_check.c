// SPDX-License-Identifier: Apache-2.0
// Everything that sqsim.h promises, from outside: linked with the installed libsqsim and nothing
// else. Judged by arithmetic of its own (the product of what sqsim_decode gives), by files against
// what was encoded, and, through what it prints, by `sqsim` itself (install.t).
//
//   api_check MODEL MACHINE SCRATCH WEIGHTS
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <sq_driver.h>
#include <sq_regs.h>
#include <sqsim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 48, K = 256, M = 6 };
static float w[N * K], x[512 * K], y[M * N], decoded[N * K], again[N * K], z[M * N];
static struct sqsim_error err;
static const char *const rtn[] = {"algorithm", "rtn", NULL};

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("# %s:%d: %s: ", __FILE__, __LINE__, #condition);                               \
            printf(__VA_ARGS__);                                                                   \
            printf(" (%s)\n", err.text);                                                           \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

// Deterministic, roughly normal.
static float noise(void)
{
    static uint32_t s = 1;
    float sum = 0;
    for (int i = 0; i < 6; i++) {
        s = s * 1664525u + 1013904223u;
        sum += (float)(s >> 8) / (float)(1 << 24) - 0.5f;
    }
    return sum;
}

static double relative(const float *got, const float *want, size_t n)
{
    double signal = 0, error = 0;
    for (size_t i = 0; i < n; i++) {
        signal += (double)want[i] * (double)want[i];
        error += ((double)got[i] - (double)want[i]) * ((double)got[i] - (double)want[i]);
    }
    return sqrt(error / signal);
}

static void multiply(const float *a, const float *b, float *out)
{
    for (size_t m = 0; m < M; m++)
        for (size_t n = 0; n < N; n++) {
            double sum = 0;
            for (size_t k = 0; k < K; k++)
                sum += (double)a[m * K + k] * (double)b[n * K + k];
            out[m * N + n] = (float)sum;
        }
}

// Written, validated, read back: the same values; a flipped byte is found.
static void check_file(const sqsim_layer *layer, const char *format, const char *scratch)
{
    char path[4096];
    const char *const names[] = {"a", "b"};
    const sqsim_layer *const both[] = {layer, layer};
    sqsim_file *file;
    sqsim_layer *loaded;
    snprintf(path, sizeof path, "%s/%s.sq.safetensors", scratch, format);
    CHECK(sqsim_file_write(path, names, both, 2, &err) == SQSIM_OK, "%s", format);
    CHECK(sqsim_validate(path, &err) == SQSIM_OK, "%s", format);
    CHECK(sqsim_file_open(path, NULL, &file, &err) == SQSIM_OK, "%s", format);
    CHECK(sqsim_file_n_layers(file) == 2 && strcmp(sqsim_file_format(file), format) == 0, "%s",
          format);
    CHECK(strcmp(sqsim_file_name(file, 1), "b") == 0 && !sqsim_file_name(file, 2), "names");
    CHECK(sqsim_file_load(file, 2, &loaded, &err) == SQSIM_ERR_RANGE && !loaded, "past the end");
    CHECK(sqsim_file_load(file, 1, &loaded, &err) == SQSIM_OK, "%s", format);
    sqsim_file_close(file);
    CHECK(sqsim_layer_n(loaded) == N && sqsim_layer_k(loaded) == K, "shape of %s", format);
    CHECK(sqsim_decode(loaded, again, &err) == SQSIM_OK, "%s", format);
    CHECK(memcmp(again, decoded, sizeof decoded) == 0, "%s decodes to something else", format);
    CHECK(sqsim_product(loaded, x, M, z, &err) == SQSIM_OK, "%s", format);
    CHECK(memcmp(y, z, sizeof y) == 0, "%s multiplies to something else", format);
    sqsim_layer_free(loaded);

    FILE *f = fopen(path, "r+b");
    CHECK(f && fseek(f, -5, SEEK_END) == 0, "%s", path);
    const int byte = fgetc(f);
    CHECK(fseek(f, -5, SEEK_END) == 0 && fputc(byte ^ 4, f) != EOF && fclose(f) == 0, "%s", path);
    CHECK(sqsim_validate(path, &err) == SQSIM_ERR_DAMAGED, "a flipped bit of %s", format);
}

static void check_format(const char *name, const char *scratch)
{
    sqsim_format *format;
    sqsim_layer *layer;
    CHECK(sqsim_format_new(name, SQSIM_VALUES, NULL, &format, &err) == SQSIM_OK, "%s", name);
    if (sqsim_format_needs_calibration(format))
        CHECK(sqsim_encode(format, w, N, K, NULL, 0, &layer, &err) == SQSIM_ERR_ARG && !layer,
              "%s without tokens", name);
    CHECK(sqsim_encode(format, w, N, K, x, 512, &layer, &err) == SQSIM_OK, "%s", name);
    sqsim_format_free(format);
    CHECK(sqsim_product(layer, x, M, y, &err) == SQSIM_OK, "%s", name);
    CHECK(sqsim_decode(layer, decoded, &err) == SQSIM_OK, "%s", name);
    multiply(x, decoded, z); // differs by the activations' quantization alone
    const double product = relative(y, z, (size_t)M * N),
                 weights = relative(decoded, w, (size_t)N * K);
    printf("# %-12s bits %7.4f, weights %.4f, product %.4f\n", name, sqsim_layer_bits(layer),
           weights, product);
    // spqt skips half of the activations; sq_a_* and the block-scaled formats have them in 4 bits.
    const double most = strcmp(name, "spqt") == 0                                    ? 0.6
                        : strncmp(name, "sq_", 3) == 0 && name[3] != 'w'             ? 0.15
                        : strncmp(name, "mx", 2) == 0 || strncmp(name, "nv", 2) == 0 ? 0.15
                        : strcmp(name, "if4") == 0 || strcmp(name, "razer") == 0     ? 0.15
                                                                                     : 0.02;
    CHECK(product <= most, "product of %s: %g", name, product);
    CHECK(weights > 0 && weights < 0.7, "weights of %s: %g", name, weights);
    check_file(layer, name, scratch);
    sqsim_layer_free(layer);
}

// Smoothed layers have files, weights that stay as they are have none.
static void check_smooth_file(const char *scratch)
{
    const char *const smooth[] = {"smooth", "0.5", NULL}, *const act[] = {"operand", "act", NULL};
    const char *const name = "dense";
    sqsim_format *format;
    sqsim_layer *layer;
    CHECK(sqsim_format_new("sq_w", SQSIM_VALUES, smooth, &format, &err) == SQSIM_OK, "smooth");
    CHECK(sqsim_encode(format, w, N, K, x, 512, &layer, &err) == SQSIM_OK, "smooth");
    sqsim_format_free(format);
    CHECK(sqsim_product(layer, x, M, y, &err) == SQSIM_OK, "smooth");
    CHECK(sqsim_decode(layer, decoded, &err) == SQSIM_OK, "smooth");
    check_file(layer, "sq_w", scratch);
    sqsim_layer_free(layer);
    CHECK(sqsim_format_new("dense", SQSIM_VALUES, act, &format, &err) == SQSIM_OK, "act");
    CHECK(sqsim_encode(format, w, N, K, x, 512, &layer, &err) == SQSIM_OK, "act");
    sqsim_format_free(format);
    CHECK(sqsim_file_write("x", &name, (const sqsim_layer *const *)&layer, 1, &err) ==
              SQSIM_ERR_UNSUPPORTED,
          "a file of weights as they are");
    sqsim_layer_free(layer);
}

// A bus without a memory behind it: every read is answered at once, with an error.
struct empty {
    int beats;
};

static void drive_empty(void *ctx, struct sqsim_bus_cycle *c)
{
    const struct empty *const e = ctx;
    c->ar_ready = e->beats == 0;
    c->r_valid = e->beats > 0;
    c->r_last = e->beats == 1;
    c->r_resp = SQSIM_SLVERR;
}

static void clock_empty(void *ctx, const struct sqsim_bus_cycle *c)
{
    struct empty *const e = ctx;
    e->beats -= c->r_valid && c->r_ready;
    if (c->ar_valid && c->ar_ready)
        e->beats = c->ar_len + 1;
}

// Accesses, whole and in parts, memory and bus of the caller's.
static void check_device(const sqsim_image *image, size_t nbytes)
{
    struct empty none = {0};
    struct sqsim_flat flat = {1 << 20, malloc(nbytes), nbytes};
    const struct sqsim_memory memory = {&flat, sqsim_flat_read, sqsim_flat_write};
    const struct sqsim_bus bus = {&none, drive_empty, clock_empty};
    sqsim_device *d;
    uint32_t value = 1;
    enum sqsim_answer answer;
    CHECK(sqsim_device_new(image, SQSIM_CHIP_FAST, NULL, NULL, &d, &err) == SQSIM_ERR_ARG && !d,
          "neither");
    CHECK(sqsim_device_new(image, SQSIM_CHIP_FAST, NULL, &bus, &d, &err) == SQSIM_ERR_ARG,
          "fast by a bus");
    CHECK(sqsim_device_new(image, (enum sqsim_chip_body)3, &memory, NULL, &d, &err) ==
              SQSIM_ERR_ARG,
          "body 3");
    memcpy(flat.bytes, sqsim_image_bytes(image, &nbytes), nbytes);
    CHECK(sqsim_flat_read(&flat, (1 << 20) - 4, &value, 4) == SQSIM_DECERR, "below");
    CHECK(sqsim_flat_write(&flat, (uint32_t)((1 << 20) + nbytes - 2), &value, 4) == SQSIM_DECERR,
          "beyond");
    CHECK(sqsim_device_new(image, SQSIM_CHIP_STEPPING, &memory, NULL, &d, &err) == SQSIM_OK, "%s",
          err.text);
    CHECK(sqsim_device_beat(d) == 8 && sqsim_device_read(d, 0) != 0 && sqsim_device_cycles(d) > 0,
          "ID");
    CHECK(sqsim_device_access(d, 0, 1, &value) == SQSIM_SLVERR, "an odd address");
    sqsim_device_write(d, SQ_REG_DESCRIPTOR_OFFSET, sqsim_image_descriptor(image));
    sqsim_device_write(d, SQ_REG_IRQ_ENABLE_OFFSET, 1);
    sqsim_device_write(d, SQ_REG_CONTROL_OFFSET, 1);
    CHECK(sqsim_device_wait(d) && sqsim_device_irq(d), "the interrupt");
    CHECK(sqsim_image_check(image, flat.bytes, NULL, &err) == SQSIM_OK, "%s", err.text);
    sqsim_device_free(d);
    CHECK(sqsim_device_new(image, SQSIM_CHIP_STEPPING, NULL, &bus, &d, &err) == SQSIM_OK, "%s",
          err.text);
    sqsim_device_begin(d, 0, 0, 0);
    while (!sqsim_device_end(d, &value, &answer))
        sqsim_device_cycle(d);
    CHECK(answer == SQSIM_OKAY && value == sqsim_device_read(d, 0), "in parts");
    CHECK(!sqsim_device_is_running(d) && sqsim_device_moves(d) == 0, "nothing has moved");
    value = 1;
    CHECK(sqsim_device_access(d, 1, SQ_REG_CONTROL_OFFSET, &value) == SQSIM_OKAY &&
              sqsim_device_is_running(d),
          "runs");
    for (int i = 0; i < 100; i++)
        sqsim_device_cycle(d);
    CHECK(sqsim_device_moves(d) != 0 && !sqsim_device_irq(d), "a descriptor that cannot be read");
    CHECK(sqsim_device_read(d, SQ_REG_STATUS_OFFSET) >> SQ_REG_STATUS_READ_SHIFT == SQSIM_SLVERR,
          "an error of the bus");
    sqsim_device_free(d);
    free(flat.bytes);
}

// The image of a layer runs on both bodies of the chip and holds the product.
static void check_chip(void)
{
    sqsim_format *format;
    sqsim_layer *layer;
    sqsim_image *image;
    sqsim_figures *figures;
    double cycles[2];
    size_t nbytes;
    CHECK(sqsim_format_new("nvfp4", SQSIM_VALUES, NULL, &format, &err) == SQSIM_OK, "chip");
    CHECK(sqsim_encode(format, w, N, K, NULL, 0, &layer, &err) == SQSIM_OK, "chip");
    sqsim_format_free(format);
    CHECK(sqsim_product(layer, x, M, y, &err) == SQSIM_OK, "chip");
    CHECK(sqsim_image_new(layer, x, M, NULL, 1, &image, &err) == SQSIM_ERR_ARG && !image, "base");
    CHECK(sqsim_image_new(layer, x, M, "edge4", 0, &image, &err) == SQSIM_ERR_ARG, "no chip");
    CHECK(sqsim_image_new(layer, x, M, NULL, 1 << 20, &image, &err) == SQSIM_OK, "image");
    sqsim_layer_free(layer);
    CHECK(sqsim_image_descriptor(image) == 1 << 20, "descriptor");
    const void *const before = sqsim_image_bytes(image, &nbytes);
    void *const memory = malloc(nbytes);
    float *const out = malloc(sizeof(float) * M * N);
    CHECK(sqsim_image_check(image, before, NULL, &err) == SQSIM_ERR_DAMAGED, "nothing ran");
    for (int body = SQSIM_CHIP_FAST; body <= SQSIM_CHIP_STEPPING; body++) {
        memcpy(memory, before, nbytes);
        CHECK(sqsim_chip_run(image, (enum sqsim_chip_body)body, memory, &figures, &err) == SQSIM_OK,
              "%s", err.text);
        cycles[body] = sqsim_figures_get(figures, "cycles");
        sqsim_figures_free(figures);
        CHECK(sqsim_image_check(image, memory, out, &err) == SQSIM_OK, "%s", err.text);
        CHECK(memcmp(out, y, sizeof(float) * M * N) == 0, "outputs of body %d", body);
        for (int fill = 0; fill < 256; fill += 85) {
            memset(memory, fill, nbytes);
            CHECK(sqsim_chip_run(image, (enum sqsim_chip_body)body, memory, &figures, &err) ==
                          SQSIM_ERR_DAMAGED &&
                      !figures,
                  "memory of 0x%02x", fill);
        }
    }
    CHECK(cycles[0] > 0 && cycles[0] == cycles[1], "%g and %g cycles", cycles[0], cycles[1]);
    check_device(image, nbytes);
    sqsim_image_free(image);
    free(memory);
    free(out);
}

// A chip with an encoder and a vector unit, of a machine that says so: a ring of the layer, a pass that squares its outputs,
// and an encoder of them, judged by arithmetic of its own.
static void check_units(const char *scratch)
{
    enum { BASE = 1 << 20, BEYOND = 1 << 16, TILES = N / 4 };
    const char *const eight[] = {"weight-bits", "8", "act-bits", "8", "algorithm", "rtn", NULL};
    static uint32_t word[3][SQ_DRIVER_DESCRIPTOR_WORDS];
    struct sqsim_flat flat = {.base = BASE};
    struct sq_driver_done done;
    sqsim_format *format;
    sqsim_layer *layer;
    sqsim_image *image;
    sqsim_device *d;
    size_t nbytes;
    char path[4096];
    snprintf(path, sizeof path, "%s/units.yaml", scratch);
    FILE *const yaml = fopen(path, "w");
    fputs("name: units\nclock: 1 GHz\ncores: 1\ncore:\n  rows: 2\n  cols: 4\n"
          "buffers:\n  activation: 16 KiB\n  weight: 32 KiB\n  output: 4 KiB\n"
          "dram:\n  bandwidth: 8 GB/s\n  latency: 40 ns\n  burst: 64 B\n"
          "chip:\n  bus: 8 B\n  burst: 32\n  outstanding: 4\n  encoder: yes\n  vector: yes\n",
          yaml);
    fclose(yaml);
    CHECK(sqsim_format_new("dense", SQSIM_VALUES, eight, &format, &err) == SQSIM_OK, "units");
    CHECK(sqsim_encode(format, w, N, K, NULL, 0, &layer, &err) == SQSIM_OK, "units");
    sqsim_format_free(format);
    CHECK(sqsim_image_new(layer, x, 1, path, BASE, &image, &err) == SQSIM_OK, "units");
    sqsim_layer_free(layer);
    const void *const before = sqsim_image_bytes(image, &nbytes);
    flat.nbytes = nbytes + BEYOND;
    flat.bytes = calloc(1, flat.nbytes);
    memcpy(flat.bytes, before, nbytes);
    memcpy(word[0], before, sizeof word[0]);
    const uint64_t out = word[0][SQ_DESC_OUT_OFFSET / 4],
                   beyond = BASE + (nbytes + 4095) / 4096 * 4096;
    const struct sq_driver_vector squares = {.a = out,
                                             .a_half = 1,
                                             .b_from = 3,
                                             .y = beyond,
                                             .y_kind = 1,
                                             .rows = TILES,
                                             .n = 4,
                                             .a_stride = 2,
                                             .y_stride = 2};
    const struct sq_driver_encoder encoder = {.out = out,
                                              .act = beyond + 1024,
                                              .row_scale = beyond + 4096,
                                              .rows = 1,
                                              .cols = TILES,
                                              .beats = (N + 15) / 16};
    sq_driver_describe_vector(&squares, word[1]);
    sq_driver_describe_encoder(&encoder, word[2]);
    const struct sqsim_memory memory = {&flat, sqsim_flat_read, sqsim_flat_write};
    CHECK(sqsim_device_new(image, SQSIM_CHIP_FAST, &memory, NULL, &d, &err) == SQSIM_OK, "%s",
          err.text);
    const struct sq_driver driver = {d, sqsim_device_read, sqsim_device_write, sqsim_device_wait};
    struct sq_driver_chip chip;
    CHECK(sq_driver_probe(&driver, &chip) == SQ_DRIVER_OK && chip.out_kind == 1 && chip.bank == 16,
          "probe, bank %u", chip.bank);
    const uint64_t slots = (beyond + 8192) / SQ_SLOT_NBYTES * SQ_SLOT_NBYTES;
    struct sq_driver_ring ring = {slots, 4, (uint32_t *)((char *)flat.bytes + (slots - BASE)), 0,
                                  0};
    CHECK(sq_driver_ring_open(&driver, &ring, 0) == SQ_DRIVER_OK, "ring");
    for (int i = 0; i < 3; i++)
        CHECK(sq_driver_ring_add(&ring, word[i], 0) == i, "slot %d", i);
    sq_driver_ring_start(&driver, &ring);
    CHECK(sq_driver_ring_finish(&driver, &ring) == SQ_DRIVER_OK, "ring");
    CHECK(sqsim_image_check(image, flat.bytes, z, &err) == SQSIM_OK, "%s", err.text);
    const float *const square = (float *)((char *)flat.bytes + (beyond - BASE));
    const int8_t *const code = (int8_t *)square + 1024;
    float amax = 0, scale = ((float *)code)[(4096 - 1024) / 4];
    for (int i = 0; i < N; i++)
        amax = fabsf(z[i]) > amax ? fabsf(z[i]) : amax;
    CHECK(scale == amax / 127, "scale %g, want %g", scale, amax / 127);
    for (int i = 0; i < N; i++) {
        CHECK(square[i] == z[i] * z[i], "square %d: %g, want %g", i, square[i], z[i] * z[i]);
        CHECK(code[i / 16 * 32 + i % 16] == (int)rintf(z[i] / scale), "code %d: %d, want %g", i,
              code[i / 16 * 32 + i % 16], z[i] / scale);
    }
    for (uint32_t i = 0; i < 3; i++)
        CHECK(sq_driver_ring_done(&ring, i, &done) == SQ_DRIVER_OK && done.cycles > 0, "record %u",
              i);
    sqsim_device_free(d);
    sqsim_image_free(image);
    free(flat.bytes);
}

static void check_refusals(const char *scratch)
{
    const char *const bank[] = {"bank", "33", NULL}, *const alone[] = {"bank", NULL};
    const char *const nonsense[] = {"no-such", "1", NULL};
    sqsim_format *format, *timed;
    sqsim_layer *layer;
    sqsim_file *file;
    sqsim_figures *figures;
    CHECK(sqsim_format_new("toy", SQSIM_VALUES, NULL, &format, &err) == SQSIM_ERR_ARG, "toy");
    CHECK(sqsim_format_new("sq_w", SQSIM_VALUES, bank, &format, &err) != SQSIM_OK && !format, "33");
    CHECK(strstr(err.text, "bank = 33"), "the field");
    CHECK(sqsim_format_new("sq_w", SQSIM_VALUES, alone, &format, NULL) == SQSIM_ERR_ARG, "alone");
    CHECK(sqsim_format_new("sq_w", SQSIM_VALUES, nonsense, &format, &err) == SQSIM_ERR_ARG,
          "no-such");
    CHECK(sqsim_format_new("sq_w", SQSIM_VALUES, rtn, &format, &err) == SQSIM_OK, "rtn");
    CHECK(sqsim_format_new("sq_w", SQSIM_TIME, NULL, &timed, &err) == SQSIM_OK, "timed");
    for (int purpose = -1; purpose < 100; purpose += purpose < 1 ? 3 : 97) {
        sqsim_format *none;
        CHECK(sqsim_format_new("sq_w", (enum sqsim_purpose)purpose, NULL, &none, &err) ==
                      SQSIM_ERR_ARG &&
                  !none,
              "purpose %d", purpose);
    }
    CHECK(sqsim_encode(timed, w, N, K, x, 512, &layer, &err) == SQSIM_ERR_ARG, "purpose");
    CHECK(sqsim_cycles(format, NULL, 1, 1, 1, &figures, &err) == SQSIM_ERR_ARG && !figures,
          "purpose");
    CHECK(sqsim_cycles(timed, NULL, 0, 1, 1, &figures, &err) == SQSIM_ERR_RANGE, "m = 0");
    CHECK(sqsim_cycles(timed, NULL, 1, 1, UINT64_MAX, &figures, &err) == SQSIM_ERR_RANGE, "k");
    CHECK(sqsim_cycles(timed, "/nowhere", 1, 1, 1, &figures, &err) == SQSIM_ERR_IO, "machine");
    CHECK(sqsim_encode(format, w, 0, K, NULL, 0, &layer, &err) == SQSIM_ERR_RANGE, "n = 0");
    const float kept = w[7];
    w[7] = NAN;
    CHECK(sqsim_encode(format, w, N, K, NULL, 0, &layer, &err) == SQSIM_ERR_NON_FINITE, "NaN in w");
    w[7] = kept;
    CHECK(sqsim_encode(format, w, N, K, NULL, 0, &layer, &err) == SQSIM_OK, "rtn");
    const float was = x[3];
    x[3] = INFINITY;
    CHECK(sqsim_product(layer, x, M, y, &err) == SQSIM_ERR_NON_FINITE, "infinity in x");
    x[3] = was;
    const sqsim_layer *const two[] = {layer, layer};
    const char *const same[] = {"a", "a"};
    CHECK(sqsim_file_write("x", same, two, 2, &err) == SQSIM_ERR_ARG, "two of a name");
    const char *const control[] = {"a", "b\001"}, *const deleted[] = {"\177"};
    CHECK(sqsim_file_write("x", control, two, 2, &err) == SQSIM_ERR_ARG &&
              strstr(err.text, "name 1 has a control character"),
          "a name that no reader opens");
    CHECK(sqsim_file_write("x", deleted, two, 1, &err) == SQSIM_ERR_ARG, "DEL in a name");
    CHECK(sqsim_file_write("x", same, two, 0, &err) == SQSIM_ERR_RANGE, "none");
    CHECK(sqsim_file_write("/nowhere/x", same, two, 1, &err) == SQSIM_ERR_IO, "nowhere");
    CHECK(sqsim_file_open(scratch, NULL, &file, &err) != SQSIM_OK && !file, "a folder");
    sqsim_points *points;
    CHECK(sqsim_points_read("/nowhere", &points, &err) == SQSIM_ERR_IO && !points, "no database");
    sqsim_points_free(NULL);
    sqsim_layer_free(layer);
    sqsim_format_free(format);
    sqsim_format_free(timed);
    sqsim_layer_free(NULL);
    sqsim_format_free(NULL);
    sqsim_figures_free(NULL);
    sqsim_file_close(NULL);
}

// "KEY VALUE" for the script, which compares them with those of the program.
static void print_figures(const char *what, const sqsim_figures *f)
{
    for (size_t i = 0; i < sqsim_figures_n(f); i++)
        printf("%s %s %.15g\n", what, sqsim_figures_name(f, i), sqsim_figures_value(f, i));
    CHECK(!sqsim_figures_name(f, sqsim_figures_n(f)), "past the last");
    CHECK(isnan(sqsim_figures_get(f, "no such")), "no such figure");
}

static void check_sum(const sqsim_figures *f, const char *path, size_t n_memory)
{
    double sum = n_memory ? sqsim_figures_get(f, "index") + sqsim_figures_get(f, "memory") : 0;
    for (size_t i = 0; i < sqsim_figures_n(f); i++)
        if (strncmp(sqsim_figures_name(f, i), path, strlen(path)) == 0)
            sum += sqsim_figures_value(f, i);
    CHECK(sum == sqsim_figures_get(f, "cycles"), "causes of %s: %g", path, sum);
}

static void print_cycles(const char *name, const char *machine)
{
    sqsim_format *format;
    sqsim_figures *f;
    CHECK(sqsim_format_new(name, SQSIM_TIME, NULL, &format, &err) == SQSIM_OK, "%s", name);
    CHECK(sqsim_cycles(format, machine, 40, 300, 1000, &f, &err) == SQSIM_OK, "%s", name);
    print_figures(machine ? name : "core", f);
    check_sum(f, "low.", machine != NULL);
    if (!machine)
        check_sum(f, "high.", 0);
    sqsim_figures_free(f);
    sqsim_format_free(format);
}

static void print_evaluation(const char *model, const char *weights)
{
    sqsim_format *format;
    sqsim_figures *f;
    sqsim_file *file;
    CHECK(sqsim_evaluate(model, NULL, NULL, NULL, 4, &f, &err) == SQSIM_OK, "as it is");
    print_figures("reference", f);
    sqsim_figures_free(f);
    CHECK(sqsim_format_new("sq_w", SQSIM_VALUES, rtn, &format, &err) == SQSIM_OK, "sq_w");
    CHECK(sqsim_evaluate(model, format, NULL, NULL, 4, &f, &err) == SQSIM_OK, "sq_w");
    print_figures("rtn", f);
    sqsim_figures_free(f);
    sqsim_format_free(format);
    CHECK(sqsim_file_open(weights, NULL, &file, &err) == SQSIM_OK, "%s", weights);
    CHECK(sqsim_evaluate_file(model, file, NULL, 4, &f, &err) == SQSIM_OK, "%s", weights);
    print_figures("file", f);
    sqsim_figures_free(f);
    sqsim_file_close(file);
    CHECK(sqsim_evaluate("/nowhere", NULL, NULL, NULL, 0, &f, &err) == SQSIM_ERR_IO && !f,
          "nowhere");
}

// An A100 keeps multiples of 2^0 beside 2^24, an H100 of 2^-1 (docs/sums.md).
static void check_sums(void)
{
    const char *const a = "4b80 3f40 3f40 3f40 3f40", *const b = "3f80 3f80 3f80 3f80 3f80";
    float a100 = 0, h100 = 0;
    CHECK(sqsim_dot("a100", "bf16", a, b, "0", &a100, &err) == SQSIM_OK, "%s", err.text);
    CHECK(sqsim_dot("h100", "bf16", a, b, "0", &h100, &err) == SQSIM_OK, "%s", err.text);
    CHECK(a100 == 0x1p24F && h100 == 0x1p24F + 2, "%g and %g", (double)a100, (double)h100);
    CHECK(sqsim_dot("h100", "int9", a, b, "0", &h100, &err) == SQSIM_ERR_ARG, "a type");
    CHECK(sqsim_dot("h1000", "bf16", a, b, "0", &h100, &err) == SQSIM_ERR_ARG, "a device");
    CHECK(sqsim_dot("h100", "bf16", a, "1", "0", &h100, &err) == SQSIM_ERR_ARG, "a length");
}

static void *check_all(void *arguments)
{
    char **const argv = arguments;
    for (size_t i = 0; sqsim_format_name(i); i++)
        check_format(sqsim_format_name(i), argv[3]);
    check_smooth_file(argv[3]);
    check_chip();
    check_units(argv[3]);
    check_sums();
    check_refusals(argv[3]);
    print_cycles("sq_w", NULL);
    for (size_t i = 0; sqsim_format_name(i); i++)
        print_cycles(sqsim_format_name(i), argv[2]);
    print_evaluation(argv[1], argv[4]);
    printf("version %s\n", sqsim_version());
    return NULL;
}

// Once as a program is by itself, and once more as callers can be: a small stack, and the locale that
// the environment names, say one with a decimal comma.
int main(int argc, char **argv)
{
    pthread_attr_t small;
    pthread_t thread;
    if (argc != 5)
        return 2;
    for (size_t i = 0; i < N * K; i++)
        w[i] = noise();
    for (size_t i = 0; i < 512 * K; i++)
        x[i] = noise();
    if (!setlocale(LC_ALL, ""))
        return 3;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 512 << 10);
    if (pthread_create(&thread, getenv("API_CHECK_SMALL") ? &small : NULL, check_all, argv) != 0)
        return 4;
    pthread_join(thread, NULL);
    return 0;
}
