// SPDX-License-Identifier: Apache-2.0
// The safetensors container: header, tensors, floats, metadata.
#include "sim/io/sq_safetensors.h"
#include "tests/fuzz/fuzz.h"

static void read_tensor(const struct sq_safetensors *st, const struct sq_tensor *t)
{
    struct sq_error err;
    for (size_t i = 0; i < t->nbytes; i++)
        fuzz_sink += t->data[i];
    FUZZ_CHECK(sq_safetensors_find(st, t->name) == t);
    FUZZ_CHECK(t->nbytes == t->n_elements * sq_dtype_nbytes(t->dtype));
    float *values = malloc(t->n_elements * sizeof *values + 1);
    FUZZ_CHECK(values);
    fuzz_ok(sq_tensor_read_f32(t, values, &err), &err);
    free(values);
}

// Writing what was read gives a file that reads the same.
static void round_trip(const struct sq_safetensors *st)
{
    struct sq_safetensors again;
    struct sq_error err;
    if (!fuzz_ok(sq_safetensors_write("mem/copy", st->tensor, st->n_tensors, st->metadata,
                                      st->n_metadata, &err),
                 &err))
        return;
    FUZZ_CHECK(sq_safetensors_open(&again, "mem/copy", &err) == SQ_OK);
    FUZZ_CHECK(again.n_tensors == st->n_tensors && again.n_metadata >= st->n_metadata);
    for (size_t i = 0; i < st->n_tensors; i++) {
        const struct sq_tensor *a = &st->tensor[i];
        const struct sq_tensor *b = sq_safetensors_find(&again, a->name);
        FUZZ_CHECK(b && b->dtype == a->dtype && b->n_elements == a->n_elements);
        FUZZ_CHECK(a->nbytes == 0 || memcmp(a->data, b->data, a->nbytes) == 0);
    }
    sq_safetensors_close(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sq_safetensors st;
    struct sq_error err;
    fuzz_file(FUZZ_FILE, data, n);
    if (!fuzz_ok(sq_safetensors_open(&st, FUZZ_FILE, &err), &err))
        return 0;
    size_t nbytes = 0;
    for (size_t i = 0; i < st.n_tensors; i++) {
        read_tensor(&st, &st.tensor[i]);
        nbytes += st.tensor[i].nbytes;
    }
    FUZZ_CHECK(st.buffer + nbytes == st.map.data + st.map.nbytes);
    for (size_t i = 0; i < st.n_metadata; i++)
        FUZZ_CHECK(sq_safetensors_metadata(&st, st.metadata[i].key) == st.metadata[i].value);
    round_trip(&st);
    sq_safetensors_close(&st);
    return 0;
}
