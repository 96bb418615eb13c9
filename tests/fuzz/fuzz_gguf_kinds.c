// SPDX-License-Identifier: Apache-2.0
// A GGUF file with one tensor of each kind of block in turn, and blocks of any bits. The header is
// made here and honest, so that every input gets as far as the blocks. Input: kind, rows and blocks
// a row (a byte each), the rest is data, over and over.
#include "sim/io/sq_gguf.h"
#include "tests/fuzz/fuzz.h"

// The numbers of the format; block in elements and bytes. The last is one that nobody has.
static const struct {
    uint32_t type;
    size_t elements, nbytes;
} kinds[] = {{0, 1, 4},      {1, 1, 2},      {30, 1, 2},     {2, 32, 18},    {3, 32, 20},
             {6, 32, 22},    {7, 32, 24},    {8, 32, 34},    {12, 256, 144}, {13, 256, 176},
             {14, 256, 210}, {10, 256, 84},  {11, 256, 110}, {34, 256, 54},  {35, 256, 66},
             {20, 32, 18},   {23, 256, 136}, {39, 32, 17},   {40, 64, 36},   {99, 32, 34}};
enum { N_KINDS = sizeof kinds / sizeof kinds[0], ALIGNMENT = 32, HEAD_MAX = 128 };

struct bytes {
    uint8_t *at;
    size_t n;
};

static void put(struct bytes *b, uint64_t v, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        b->at[b->n++] = (uint8_t)(v >> 8 * i);
}

static void put_head(struct bytes *b, uint32_t type, uint64_t columns, uint64_t rows)
{
    static const char name[] = "blk.0.attn_q.weight";
    memcpy(b->at, "GGUF", 4);
    b->n = 4;
    put(b, 3, 4); // version
    put(b, 1, 8); // tensors
    put(b, 0, 8); // values
    put(b, sizeof name - 1, 8);
    memcpy(b->at + b->n, name, sizeof name - 1);
    b->n += sizeof name - 1;
    put(b, 2, 4);
    put(b, columns, 8);
    put(b, rows, 8);
    put(b, type, 4);
    put(b, 0, 8); // offset
    while (b->n % ALIGNMENT != 0)
        put(b, 0, 1);
}

static void read_twice(const struct sq_gguf *g)
{
    const struct sq_tensor *t = &g->tensor[0];
    struct sq_error err;
    float *a = malloc(t->n_elements * sizeof *a), *b = malloc(t->n_elements * sizeof *b);
    FUZZ_CHECK(a && b);
    const enum sq_status status = sq_tensor_read_f32(t, a, &err);
    fuzz_ok(status, &err);
    FUZZ_CHECK(sq_tensor_read_f32(t, b, &err) == status);
    FUZZ_CHECK(status != SQ_OK || memcmp(a, b, t->n_elements * sizeof *a) == 0);
    free(a);
    free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fuzz_reader r = {data, n};
    const size_t kind = fuzz_byte(&r) % N_KINDS, rows = 1 + fuzz_byte(&r) % 4;
    const size_t blocks = 1 + fuzz_byte(&r) % 4, nbytes = rows * blocks * kinds[kind].nbytes;
    struct bytes b = {malloc(HEAD_MAX + nbytes), 0};
    struct sq_gguf g;
    struct sq_error err;
    FUZZ_CHECK(b.at);
    put_head(&b, kinds[kind].type, blocks * kinds[kind].elements, rows);
    FUZZ_CHECK(b.n <= HEAD_MAX);
    for (size_t i = 0; i < nbytes; i++)
        b.at[b.n++] = r.n > 0 ? r.data[i % r.n] : 0;
    fuzz_file(FUZZ_FILE, b.at, b.n);
    const enum sq_status status = sq_gguf_open(&g, FUZZ_FILE, &err);
    fuzz_ok(status, &err);
    FUZZ_CHECK((status == SQ_OK) == (kind < N_KINDS - 1));
    if (status == SQ_OK) {
        FUZZ_CHECK(g.n_tensors == 1 && g.tensor[0].nbytes == nbytes);
        read_twice(&g);
        sq_gguf_close(&g);
    }
    fuzz_forget();
    free(b.at);
    return 0;
}
