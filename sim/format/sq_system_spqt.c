// SPDX-License-Identifier: Apache-2.0
// SpQt (SPEC G) as a system of recipes: Q4_K superblocks down the columns, and one threshold per
// input, the quantile of |x| over the calibration sample, or one per layer (sq_spqt_greedy.h). Rows
// are padded to superblocks of 256.
//
// SpQt is a decode format. Here every token is thresholded, as if each were decoded on its own;
// with is_prefill_dense, or a sparsity of 0, none is, as in prefill. Activations are binary32.
//
// Files: `theta` F32 [1], `superblocks` U8 [ceil(N / 256)][K][144].
#include <stdlib.h>
#include <string.h>

#include "models/quant/sq_spqt_calib.h"
#include "models/sq_spqt.h"
#include "sim/format/sq_system.h"
#include "sim/llm/sq_spqt_greedy.h"

struct state {
    struct sq_spqt m;
    float theta;
    float *plane; // decoded
};

static void spqt_free(void *context)
{
    struct state *s = context;
    if (!s)
        return;
    free(s->m.block);
    free(s->plane);
    free(s);
}

static enum sq_status check(const struct sq_recipe *r, struct sq_error *err)
{
    if (!(r->sparsity >= 0 && r->sparsity <= 0.95))
        return SQ_FAIL(err, SQ_ERR_RANGE, "sparsity = %g, need 0..0.95 for spqt", r->sparsity);
    if (r->workers > 1024)
        return SQ_FAIL(err, SQ_ERR_RANGE, "workers = %u, need 1..1024", r->workers);
    return SQ_OK;
}

static unsigned needs(const struct sq_recipe *r)
{
    return r->sparsity > 0 ? SQ_NEED_SAMPLE : 0u;
}

static enum sq_status no_memory(size_t n, size_t k, struct sq_error *err)
{
    return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for a layer of %zu x %zu", n, k);
}

static struct state *state_new(size_t n, size_t k)
{
    const size_t n_blocks = sq_spqt_n_blocks(n, k);
    struct state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->m = (struct sq_spqt){n, k, malloc(n_blocks * SQ_Q4K_NBYTES)};
    s->plane = malloc(n_blocks * SQ_Q4K_LEN * sizeof *s->plane);
    if (s->m.block && s->plane)
        return s;
    spqt_free(s);
    return NULL;
}

void sq_spqt_set_theta(void *state, float theta)
{
    ((struct state *)state)->theta = theta;
}

static enum sq_status fill_theta(struct state *s, const struct sq_recipe *r,
                                 const struct sq_quant_input *in, struct sq_error *err)
{
    const double sparsity = r->layer_sparsity ? r->layer_sparsity[in->layer] : r->sparsity;
    struct sq_spqt_histogram h;
    if (sparsity == 0)
        return SQ_OK;
    if (!in->sample)
        return SQ_FAIL(err, SQ_ERR_ARG, "spqt needs a calibration sample for its threshold");
    SQ_TRY(sq_spqt_histogram_init(&h, err));
    enum sq_status status = sq_spqt_histogram_add(&h, in->sample, in->n_sample * s->m.k, err);
    if (status == SQ_OK)
        status = sq_spqt_threshold(&h, sparsity, &s->theta, err);
    sq_spqt_histogram_free(&h);
    return status;
}

static enum sq_status init(void **state, const struct sq_recipe *r, const float *w, size_t n,
                           size_t k, const struct sq_quant_input *in, struct sq_error *err)
{
    struct state *s = state_new(n, k);
    *state = NULL;
    enum sq_status status = s ? sq_spqt_encode(w, &s->m, err) : no_memory(n, k, err);
    if (status == SQ_OK)
        status = fill_theta(s, r, in, err);
    if (status != SQ_OK) {
        spqt_free(s);
        return status;
    }
    sq_spqt_decode(&s->m, s->plane);
    *state = s;
    return SQ_OK;
}

static enum sq_status apply(const void *state, const struct sq_recipe *r, const float *x, size_t m,
                            float *y, struct sq_error *err)
{
    const struct state *s = state;
    const size_t n = s->m.n, k = s->m.k;
    const unsigned workers = r->workers ? r->workers : SQ_SPQT_WORKERS;
    uint32_t *idx = malloc(k * sizeof *idx);
    enum sq_status status = idx ? SQ_OK : no_memory(n, k, err);
    for (size_t t = 0; status == SQ_OK && t < m; t++)
        status = sq_spqt_check(x + t * k, k, s->theta, err);
    if (status == SQ_OK && (r->is_prefill_dense || s->theta == 0))
        sq_spqt_gemm_dense(&s->m, s->plane, x, m, workers, y);
    else
        for (size_t t = 0; status == SQ_OK && t < m; t++) {
            const size_t n_idx = sq_spqt_active(x + t * k, k, s->theta, SQ_SPQT_SEGMENT, idx);
            sq_spqt_gemv(&s->m, s->plane, x + t * k, idx, n_idx, workers, SQ_SPQT_BALANCED,
                         y + t * n);
        }
    free(idx);
    return status;
}

static size_t padded(const struct sq_recipe *r, size_t k_orig)
{
    (void)r;
    return k_orig;
}

static double stored_nbits(const void *state)
{
    const struct state *s = state;
    return 8.0 * SQ_Q4K_NBYTES * (double)sq_spqt_n_blocks(s->m.n, s->m.k) + 32;
}

static void decode_row(const void *state, size_t row, float *out)
{
    const struct state *s = state;
    const size_t k = s->m.k;
    for (size_t c = 0; c < k; c++)
        out[c] = s->plane[(row / SQ_Q4K_LEN * k + c) * SQ_Q4K_LEN + row % SQ_Q4K_LEN];
}

// ---- files ----------------------------------------------------------------------------------

static size_t parts(const void *state, struct sq_system_part part[SQ_SYSTEM_PARTS])
{
    const struct state *s = state;
    const size_t n_rows = sq_spqt_n_rows(s->m.n);
    part[0] = (struct sq_system_part){"theta", SQ_F32, 1, {1}, &s->theta};
    part[1] = (struct sq_system_part){
        "superblocks", SQ_U8, 3, {n_rows, s->m.k, SQ_Q4K_NBYTES}, s->m.block};
    return 2;
}

static enum sq_status load(void **state, const struct sq_recipe *r,
                           const struct sq_system_source *from, struct sq_error *err)
{
    const size_t n = from->n, k = from->k_orig;
    const struct sq_tensor *theta, *blocks;
    (void)r;
    *state = NULL;
    SQ_TRY(sq_system_part_find(from, "theta", SQ_F32, 1, (size_t[]){1}, &theta, err));
    SQ_TRY(sq_system_part_find(from, "superblocks", SQ_U8, 3,
                               (size_t[]){sq_spqt_n_rows(n), k, SQ_Q4K_NBYTES}, &blocks, err));
    struct state *s = state_new(n, k);
    if (!s)
        return no_memory(n, k, err);
    memcpy(&s->theta, theta->data, sizeof s->theta);
    memcpy(s->m.block, blocks->data, blocks->nbytes);
    enum sq_status status = sq_spqt_validate(&s->m, blocks->nbytes, err);
    if (status == SQ_OK)
        status = sq_spqt_check(NULL, 0, s->theta, err);
    if (status != SQ_OK) {
        spqt_free(s);
        return status;
    }
    sq_spqt_decode(&s->m, s->plane);
    *state = s;
    return SQ_OK;
}

static size_t values(struct sq_recipe *r, struct sq_system_value value[SQ_SYSTEM_VALUES])
{
    r->workers = r->workers ? r->workers : SQ_SPQT_WORKERS;
    value[0] = (struct sq_system_value){"workers", &r->workers, 1, 1024};
    return 1;
}

const struct sq_system_ops sq_system_spqt = {.name = "spqt",
                                             .check = check,
                                             .needs = needs,
                                             .init = init,
                                             .free = spqt_free,
                                             .apply = apply,
                                             .padded = padded,
                                             .stored_nbits = stored_nbits,
                                             .decode_row = decode_row,
                                             .parts = parts,
                                             .load = load,
                                             .values = values};
