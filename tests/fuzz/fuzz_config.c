// SPDX-License-Identifier: Apache-2.0
// config.json of a model: for the forward pass and as a workload. Input: phase, routing, batch
// and the number of tokens in the first byte, then the file.
#include "sim/io/sq_json.h"
#include "sim/llm/sq_model_config.h"
#include "sim/machine/sq_workload.h"
#include "tests/fuzz/fuzz.h"

static void read_config(void)
{
    struct sq_model_config c;
    struct sq_error err;
    json_auto_t *root = NULL;
    if (fuzz_ok(sq_json_load(FUZZ_FILE, 1u << 24, &root, &err), &err) &&
        fuzz_ok(sq_model_config_of(root, "config", &c, &err), &err))
        FUZZ_CHECK(c.n_heads % c.n_kv_heads == 0 && c.head_dim % 2 == 0 && c.rope.theta >= 1);
}

static void read_workload(unsigned options)
{
    struct sq_workload w, again;
    struct sq_error err;
    char *text;
    size_t nbytes;
    const struct sq_workload_options o = {
        .is_decode = options & 1,
        .batch = options & 4 ? 32 : 1,
        .seq = options & 4 ? 2048 : UINT64_C(1) << (options >> 3) % 25,
        .routing = options & 2 ? SQ_ROUTING_SKEWED : SQ_ROUTING_BALANCED,
        .is_whole = options & 128,
        .context = options & 64 ? 1 << 24 : 1};
    if (!fuzz_ok(sq_workload_from_config(FUZZ_FILE, &o, &w, &err), &err))
        return;
    FILE *out = open_memstream(&text, &nbytes);
    FUZZ_CHECK(out && w.n > 0);
    sq_workload_write(&w, out);
    fclose(out);
    FUZZ_CHECK(sq_workload_parse(text, nbytes, "copy", &again, &err) == SQ_OK && again.n == w.n);
    sq_workload_free(&again);
    sq_workload_free(&w);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fuzz_reader r = {data, n};
    const unsigned options = fuzz_byte(&r);
    fuzz_file(FUZZ_FILE, r.data, r.n);
    read_config();
    read_workload(options);
    return 0;
}
