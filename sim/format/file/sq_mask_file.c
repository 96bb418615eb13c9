// SPDX-License-Identifier: Apache-2.0
// Writes files of static activation masks (sq_mask_file.h).
#include "sim/format/file/sq_mask_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/quant/sq_algorithm2.h"
#include "sim/format/file/sq_content.h"
#include "sim/io/sq_version.h"

enum { PER_LAYER = 3 };

static enum sq_status check_counts(const char *name, const uint8_t *mask, size_t k, unsigned bank,
                                   unsigned high_per_bank, struct sq_error *err)
{
    SQ_FAIL_IF(bank == 0 || k % bank != 0, err, SQ_ERR_SHAPE, "%.80s: %zu channels in banks of %u",
               name, k, bank);
    for (size_t first = 0; first < k; first += bank) {
        unsigned count = 0;
        for (size_t i = first; i < first + bank; i++)
            count += mask[i];
        SQ_FAIL_IF(count != high_per_bank, err, SQ_ERR_MASK_COUNT,
                   "%.80s bank %zu: %u channels masked, need %u", name, first / bank, count,
                   high_per_bank);
    }
    return SQ_OK;
}

// Everything a file is made of, in memory at once: a few bytes a channel.
struct output {
    struct sq_content c; // tensors: all perm_hi, perm_lo, then all masks: falling element size
    uint8_t **data;      // [n] perm_hi, perm_lo and bits of a layer
    size_t n;
};

static void output_free(struct output *o)
{
    for (size_t i = 0; o->data && i < o->n; i++)
        free(o->data[i]);
    free(o->data);
    sq_content_free(&o->c);
}

static void put_tensor(struct output *o, size_t at, const char *layer, const char *part,
                       enum sq_dtype dtype, size_t count, const uint8_t *data)
{
    o->c.tensor[at] = (struct sq_tensor){.name = sq_content_name(layer, part),
                                         .dtype = dtype,
                                         .n_dims = 1,
                                         .dim = {count},
                                         .data = data};
    o->c.has_failed = o->c.has_failed || !o->c.tensor[at].name;
}

static void put_layer(struct output *o, size_t i, const struct sq_mask *m)
{
    uint8_t *data = o->data[i] = calloc(m->k, 2 * sizeof(uint32_t));
    o->c.has_failed = o->c.has_failed || !data;
    if (!data)
        return;
    uint32_t *hi = (uint32_t *)(void *)data;
    const size_t n_hi = sq_static_order(m->mask, m->k, hi, hi + m->k);
    // perm_lo moves up to follow perm_hi; the bits follow. Indices are stored little-endian.
    memmove(hi + n_hi, hi + m->k, (m->k - n_hi) * sizeof *hi);
    for (size_t j = 0; j < m->k; j++) {
        const uint32_t v = hi[j];
        for (unsigned b = 0; b < 4; b++)
            data[4 * j + b] = (uint8_t)(v >> 8 * b);
    }
    uint8_t *bits = data + 4 * m->k;
    memset(bits, 0, 4 * m->k);
    for (size_t j = 0; j < m->k; j++)
        bits[j / 8] |= (uint8_t)(m->mask[j] << j % 8);
    put_tensor(o, 2 * i, m->name, "perm_hi", SQ_I32, n_hi, data);
    put_tensor(o, 2 * i + 1, m->name, "perm_lo", SQ_I32, m->k - n_hi, data + 4 * n_hi);
    put_tensor(o, 2 * o->n + i, m->name, "mask", SQ_U8, (m->k + 7) / 8, bits);
}

static void fill_metadata(struct sq_content *c, const struct sq_mask *mask, size_t n, unsigned bank,
                          unsigned high_per_bank, const char *source)
{
    sq_content_text(c, "", "system", SQ_MASK_SYSTEM);
    sq_content_text(c, "", "version", "1");
    sq_content_number(c, "", "bank", bank);
    sq_content_number(c, "", "k", high_per_bank);
    sq_content_text(c, "", "producer", "golden");
    sq_content_text(c, "", "source", source);
    sq_content_text(c, "", "tool", "sqsim " SQ_VERSION);
    for (size_t i = 0; i < n; i++) {
        sq_content_number(c, mask[i].name, "K", mask[i].k);
        sq_content_number(c, mask[i].name, "k_orig", mask[i].k_orig);
    }
}

enum sq_status sq_masks_write(const char *path, const struct sq_mask *mask, size_t n, unsigned bank,
                              unsigned high_per_bank, const char *source, struct sq_error *err)
{
    SQ_CLOSED(output_free) struct output o = {.n = n};
    for (size_t i = 0; i < n; i++)
        SQ_TRY(check_counts(mask[i].name, mask[i].mask, mask[i].k, bank, high_per_bank, err));
    sq_content_init(&o.c, 8 + 2 * n, PER_LAYER * n);
    o.data = calloc(n, sizeof *o.data);
    SQ_NEED(!o.c.has_failed && o.data, err, "%zu masks", n);
    o.c.n_tensors = PER_LAYER * n;
    for (size_t i = 0; i < n; i++)
        put_layer(&o, i, &mask[i]);
    fill_metadata(&o.c, mask, n, bank, high_per_bank, source);
    SQ_NEED(!o.c.has_failed, err, "%zu masks", n);
    return sq_safetensors_write(path, o.c.tensor, o.c.n_tensors, o.c.pair, o.c.n_pairs, err);
}
