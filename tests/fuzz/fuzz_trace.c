// SPDX-License-Identifier: Apache-2.0
// Kernel traces, up to and through the golden model: a trace of one system with small inputs,
// altered. First byte: the system, bit 7: the list of changes is for the header, else for the data.
// An output that differs does not end a replay here, so that everything behind it runs as well;
// outputs of the traces are zeros.
#include "models/sq_rng.h"
#include "sim/format/file/sq_trace.h"
#include "tests/fuzz/fuzz.h"

enum {
    N_SYSTEMS = 8,
    M = 2,
    N = 16,
    K = 32,
    GROUP = 32,
    BANK = 16,
    HIGH = 4,
    PARTS_MAX = 16,
    SPQT_K = 2
};

// ---- templates ------------------------------------------------------------------------------

struct part {
    const char *name;
    enum sq_dtype dtype;
    size_t n;
};

static const struct system {
    const char *name, *flags;
    struct part part[PARTS_MAX];
} systems[N_SYSTEMS] = {
    {"sq_w",
     "",
     {{"w", SQ_F32, N *K},
      {"s_x", SQ_F32, M},
      {"s_lo", SQ_F32, N *K / GROUP},
      {"s_hi", SQ_F32, N *K / GROUP},
      {"p_lo", SQ_I32, M *N *K / GROUP},
      {"p_hi", SQ_I32, M *N *K / GROUP},
      {"y", SQ_F32, M *N},
      {"x", SQ_I8, M *K},
      {"lo", SQ_U8, N *K / 2},
      {"hi", SQ_U8, N *K / BANK *HIGH}}},
    {"sq_a",
     "static",
     {{"x", SQ_F32, M *K},
      {"s_w", SQ_F32, N},
      {"s_lo", SQ_F32, M},
      {"s_hi", SQ_F32, M},
      {"p_lo", SQ_I32, M *N},
      {"p_hi", SQ_I32, M *N},
      {"y", SQ_F32, M *N},
      {"w", SQ_I8, N *K},
      {"code", SQ_I8, M *K},
      {"mask", SQ_U8, K}}},
    {"sq_a",
     "dynamic",
     {{"x", SQ_F32, M *K},
      {"s_w", SQ_F32, N},
      {"s_lo", SQ_F32, M},
      {"s_hi", SQ_F32, M},
      {"p_lo", SQ_I32, M *N},
      {"p_hi", SQ_I32, M *N},
      {"y", SQ_F32, M *N},
      {"w", SQ_I8, N *K},
      {"code", SQ_I8, M *K},
      {"mask", SQ_U8, M *K}}},
    {"dense",
     "",
     {{"x", SQ_F32, M *K},
      {"s_w", SQ_F32, N},
      {"s_x", SQ_F32, M},
      {"p_lo", SQ_I32, M *N},
      {"y", SQ_F32, M *N},
      {"w", SQ_I8, N *K},
      {"code", SQ_I8, M *K}}},
    {"sp24",
     "",
     {{"s_x", SQ_F32, M},
      {"s_w", SQ_F32, N},
      {"p_lo", SQ_I32, M *N},
      {"y", SQ_F32, M *N},
      {"w", SQ_I8, N *K},
      {"x", SQ_I8, M *K},
      {"values", SQ_I8, N *K / 2},
      {"meta", SQ_U8, N *K / 8}}},
    {"gqsa",
     "",
     {{"w", SQ_F32, N *K},
      {"row_index", SQ_I32, N + 1},
      {"p_lo", SQ_I32, M *N},
      {"s_w", SQ_F16, N},
      {"x", SQ_I8, M *K},
      {"groups", SQ_U8, 2 * N},
      {"values", SQ_U8, 8 * N},
      {"zero", SQ_U8, N / 2}}},
    {"spqt",
     "",
     {{"w", SQ_F32, 256 * SPQT_K},
      {"theta", SQ_F32, 1},
      {"n_active", SQ_I32, M},
      {"index", SQ_I32, M *K},
      {"x", SQ_F16, M *K},
      {"superblocks", SQ_U8, SPQT_K * 144}}},
    {"spqr",
     "",
     {{"dense64", SQ_I64, N *K / 16},
      {"words", SQ_I64, N *K / 16},
      {"row_offsets", SQ_I32, N + 1},
      {"col_val", SQ_I32, N},
      {"x", SQ_F16, M *K},
      {"y", SQ_F16, M *N}}},
};

// Legal values by name: small numbers, one outlier and one group a row, two nonzeros of four.
static void fill(const struct system *s, const struct part *p, uint8_t *out)
{
    struct sq_rng rng = {p->n};
    for (size_t i = 0; i < p->n; i++) {
        const float value = (float)sq_rng_unit(&rng) - 0.5f;
        uint64_t bits = 0;
        if (p->dtype == SQ_F32)
            memcpy(&bits, &(float){*p->name == 'w' || *p->name == 'x' ? value : 0.5f}, 4);
        else if (p->dtype == SQ_F16)
            bits = (strcmp(p->name, "x") == 0 ? 0x3800 : 0x2c00) + i % 64;
        else if (strcmp(p->name, "row_index") == 0 || strcmp(p->name, "row_offsets") == 0)
            bits = i;
        else if (strcmp(p->name, "col_val") == 0)
            bits = 0x3c000000 + i % K;
        else if (strcmp(p->name, "dense64") == 0)
            bits = UINT64_C(0x0123456789abcdc9) & ~(UINT64_C(0xff) << 54);
        else if (strcmp(p->name, "mask") == 0)
            bits = i % BANK < HIGH;
        else if (strcmp(p->name, "groups") == 0)
            bits = 0;
        else if (p->dtype == SQ_I8 && *p->name == 'w')
            bits = *s->name == 's' && s->name[1] == 'p' && i % 4 > 1 ? 0 : (uint64_t)(i % 7);
        else if (p->dtype == SQ_I8)
            bits = i % 100;
        memcpy(out + i * sq_dtype_nbytes(p->dtype), &bits, sq_dtype_nbytes(p->dtype));
    }
}

// SpQt, whose encoder is slow, has whole superblocks of rows and few columns.
static void write_template(const struct system *s, const char *path)
{
    struct sq_tensor tensor[PARTS_MAX];
    struct sq_error err;
    size_t n = 0;
    const bool is_spqt = strcmp(s->name, "spqt") == 0;
    const struct sq_metadata metadata[] = {{"system", s->name},
                                           {"flags", s->flags},
                                           {"version", "1"},
                                           {"scale_type", "f32"},
                                           {"producer", "cuda"},
                                           {"M", "2"},
                                           {"N", is_spqt ? "256" : "16"},
                                           {"K", is_spqt ? "2" : "32"},
                                           {"bank", "16"},
                                           {"k", "4"},
                                           {"group", "32"},
                                           {"act_bits", "8"},
                                           {"weight_bits", "4"},
                                           {"input_digest", "fnv1a64:0"}};
    for (; n < PARTS_MAX && s->part[n].name; n++) {
        const struct part *p = &s->part[n];
        uint8_t *data = malloc(p->n * 8);
        FUZZ_CHECK(data);
        fill(s, p, data);
        tensor[n] = (struct sq_tensor){
            .name = p->name, .dtype = p->dtype, .n_dims = 1, .dim = {p->n}, .data = data};
    }
    FUZZ_CHECK(sq_safetensors_write(path, tensor, n, metadata, sizeof metadata / sizeof *metadata,
                                    &err) == SQ_OK);
    for (size_t i = 0; i < n; i++)
        free((void *)(uintptr_t)tensor[i].data);
}

// ---- runs -----------------------------------------------------------------------------------

#define PATH "mem/file.safetensors"

// The whole way, from a file whose header is altered.
static void run_header(const uint8_t *bytes, size_t n, struct fuzz_reader *list)
{
    static uint8_t file[1 << 14];
    struct sq_error err;
    size_t n_values;
    FUZZ_CHECK(n <= sizeof file);
    memcpy(file, bytes, n);
    fuzz_drop_digest(file, n);
    fuzz_alter(file + 8, (size_t)(file[0] | file[1] << 8), list);
    fuzz_file(PATH, file, n);
    fuzz_ok(sq_trace_check(PATH, &n_values, &err), &err);
    if (list->n > 0) // what fuzz_alter leaves of a list: less than a change
        fuzz_sink += sq_trace_is(PATH);
}

// The golden model on altered data; the header is read only once.
static void run_data(struct sq_trace *r, const uint8_t *bytes, size_t n, struct fuzz_reader *list)
{
    struct sq_error err;
    if (!r->p.source) {
        fuzz_file(PATH, bytes, n);
        FUZZ_CHECK(sq_trace_open(r, PATH, &err) == SQ_OK);
    }
    const size_t start = (size_t)(r->st.buffer - r->st.map.data);
    uint8_t *data = (uint8_t *)(uintptr_t)r->st.buffer; // the mapping's copy
    memcpy(data, bytes + start, n - start);
    fuzz_alter(data, n - start, list);
    fuzz_ok(sq_trace_values(r, &err), &err);
    sq_product_free(&r->p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct sq_trace open[N_SYSTEMS];
    struct fuzz_reader r = {data, n};
    const unsigned mode = fuzz_byte(&r), system = mode % N_SYSTEMS;
    char path[32];
    size_t n_file;
    snprintf(path, sizeof path, "mem/template-%u", system);
    if (!fuzz_written(path, &n_file))
        write_template(&systems[system], path);
    const uint8_t *bytes = fuzz_written(path, &n_file);
    if (mode & 128)
        run_header(bytes, n_file, &r);
    else
        run_data(&open[system], bytes, n_file, &r);
    return 0;
}
