// SPDX-License-Identifier: Apache-2.0
// Computes the last hidden states of a model, or reads them from the cache (sq_reference.h).
#include "sim/llm/sq_reference.h"

#include <cblas.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/io/sq_cache.h"
#include "sim/io/sq_checked.h"
#include "sim/io/sq_digest.h"
#include "sim/io/sq_file.h"

#ifndef SQ_CODE
#define SQ_CODE "" // the digest of the sources, which the build gives
#endif
static const char *const files[] = {"states", NULL};

static enum sq_status compute(const struct sq_checkpoint *ck, const struct sq_tokens *tokens,
                              const struct sq_eval_watch *watch, float **x, struct sq_error *err)
{
    SQ_CLOSED(sq_llama_free) struct sq_llama s = {0};
    const size_t count = sq_tokens_count(tokens), nbytes = ck->config.hidden_size * sizeof **x;
    SQ_TRY(sq_llama_init(&s, ck, tokens, err));
    for (size_t i = 0; i < ck->config.n_layers; i++) {
        if (watch)
            watch->begins(watch->context, SQ_EVAL_REFERENCE, i, ck->config.n_layers);
        SQ_TRY(sq_llama_block(&s, i, NULL, NULL, err));
    }
    SQ_TRY(sq_llama_norm(&s, err));
    // s.x may be wider; s.h has the size of the states
    memcpy(s.h, s.x, count * nbytes);
    *x = s.h;
    s.h = NULL;
    return SQ_OK;
}

// ---- kept --------------------------------------------------------------------------------------

static void add_tensor(struct sq_digest *d, const struct sq_checkpoint *ck,
                       const struct sq_tensor *t)
{
    sq_digest_add(d, t->name, strlen(t->name));
    sq_digest_add(d, &t->dtype, sizeof t->dtype);
    sq_digest_add(d, t->data, t->nbytes);
    sq_checkpoint_forget(ck, t);
}

static void add_number(struct sq_digest *d, double v)
{
    sq_digest_add(d, &v, sizeof v);
}

static void add_rope(struct sq_digest *d, const struct sq_rope *r)
{
    const double number[] = {
        r->theta,  r->linear,          r->attention_factor, r->is_llama3,
        r->factor, r->low_freq_factor, r->high_freq_factor, (double)r->original_max_position};
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
        add_number(d, number[i]);
}

// A digest of all that decides on a bit of the states.
static struct sq_digest key_of(const struct sq_checkpoint *ck, const struct sq_tokens *tokens)
{
    const struct sq_model_config *c = &ck->config;
    struct sq_digest d = {0};
    const char *const text[] = {"sqsim reference " SQ_CODE, openblas_get_config(),
                                openblas_get_corename()};
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++)
        sq_digest_add(&d, text[i], strlen(text[i]));
    const double number[] = {(double)c->n_layers,
                             (double)c->hidden_size,
                             (double)c->intermediate_size,
                             (double)c->n_heads,
                             (double)c->n_kv_heads,
                             (double)c->head_dim,
                             (double)c->vocab_size,
                             c->rms_norm_eps,
                             c->has_qkv_bias,
                             c->has_qk_norm,
                             c->has_post_norm,
                             c->has_offset_gain,
                             c->is_geglu,
                             c->embedding_scale,
                             c->query_scale,
                             c->attention_cap,
                             (double)c->local_window,
                             ck->n_layers ? (double)ck->layer[0].n_interleaved_heads : 0};
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
        add_number(&d, number[i]);
    add_rope(&d, &c->rope);
    add_rope(&d, &c->local_rope);
    sq_digest_add(&d, c->is_local, sizeof c->is_local);
    sq_digest_add(&d, tokens->offset, (tokens->n_sequences + 1) * sizeof *tokens->offset);
    sq_digest_add(&d, tokens->id, sq_tokens_count(tokens) * sizeof *tokens->id);
    for (size_t i = 0; ck->tensor && i < ck->gguf.n_tensors; i++)
        add_tensor(&d, ck, &ck->tensor[i]);
    for (size_t s = 0; s < ck->n_shards; s++)
        for (size_t i = 0; i < ck->shard[s].n_tensors; i++)
            add_tensor(&d, ck, &ck->shard[s].tensor[i]);
    return d;
}

// Without the weights that no product has: an upper bound is all that is asked for.
static double products(const struct sq_checkpoint *ck, const struct sq_tokens *tokens)
{
    double weights = 0;
    for (size_t i = 0; i < ck->n_layers; i++)
        weights += (double)ck->layer[i].n * (double)ck->layer[i].k;
    return weights * (double)sq_tokens_count(tokens);
}

struct fill {
    const struct sq_checkpoint *ck;
    const struct sq_tokens *tokens;
    const struct sq_eval_watch *watch;
    size_t nbytes;
    float *x;
    enum sq_status status; // of the pass itself
};

static enum sq_status fill(void *context, const char *work, struct sq_error *err)
{
    struct fill *f = context;
    char path[2048];
    struct sq_outfile out;
    f->status = compute(f->ck, f->tokens, f->watch, &f->x, err);
    SQ_TRY(f->status);
    snprintf(path, sizeof path, "%.1900s/%s", work, files[0]);
    SQ_TRY(sq_outfile_open(&out, path, err));
    if (fwrite(f->x, 1, f->nbytes, out.stream) == f->nbytes)
        return sq_outfile_commit(&out, err);
    sq_outfile_abort(&out);
    return SQ_FAIL(err, SQ_ERR_IO, "cannot write '%s'", sq_path_tail(path));
}

// The entry that was used longest ago, of more than there may be.
static void remove_oldest(const char *dir)
{
    char path[2048], oldest[2048] = "";
    struct timespec when = {0};
    size_t n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        if (strlen(e->d_name) != SQ_DIGEST_SIZE - 1) // not an entry
            continue;
        snprintf(path, sizeof path, "%.1700s/%.255s", dir, e->d_name);
        if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
            continue;
        if (n++ == 0 || st.st_mtim.tv_sec < when.tv_sec ||
            (st.st_mtim.tv_sec == when.tv_sec && st.st_mtim.tv_nsec < when.tv_nsec)) {
            when = st.st_mtim;
            snprintf(oldest, sizeof oldest, "%s", path);
        }
    }
    if (d)
        closedir(d);
    if (n > SQ_REFERENCE_ENTRIES)
        sq_cache_remove(oldest);
}

static enum sq_status read_states(const char *entry, size_t nbytes, float **x, struct sq_error *err)
{
    char path[2048];
    SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
    snprintf(path, sizeof path, "%.1900s/%s", entry, files[0]);
    SQ_TRY(sq_file_map(path, &map, err));
    *x = map.nbytes == nbytes ? malloc(nbytes) : NULL;
    SQ_FAIL_IF(!*x, err, map.nbytes == nbytes ? SQ_ERR_MEMORY : SQ_ERR_DAMAGED,
               "'%s' has %zu bytes, need %zu in memory", sq_path_tail(path), map.nbytes, nbytes);
    memcpy(*x, map.data, nbytes);
    return SQ_OK;
}

enum sq_status sq_reference_states(const struct sq_checkpoint *ck, const struct sq_tokens *tokens,
                                   const struct sq_reference_cache *cache,
                                   const struct sq_eval_watch *watch, float **x,
                                   struct sq_error *err)
{
    const size_t nbytes = sq_tokens_count(tokens) * ck->config.hidden_size * sizeof **x;
    char hex[SQ_DIGEST_SIZE], entry[2048];
    bool is_filled;
    *x = NULL;
    if (!cache || nbytes > SQ_REFERENCE_NBYTES || products(ck, tokens) < cache->least)
        return compute(ck, tokens, watch, x, err);
    struct fill f = {.ck = ck, .tokens = tokens, .watch = watch, .nbytes = nbytes};
    sq_digest_hex(key_of(ck, tokens), hex);
    snprintf(entry, sizeof entry, "%.1500s/%s", cache->dir, hex);
    struct sq_error why;
    const enum sq_status status = sq_cache_get(entry, files, fill, &f, &is_filled, &why);
    SQ_FAIL_IF(f.status != SQ_OK, err, f.status, "%s", why.text);
    if (status == SQ_OK && is_filled)
        remove_oldest(cache->dir);
    if (f.x) { // kept or not
        *x = f.x;
        return SQ_OK;
    }
    if (status == SQ_OK && read_states(entry, nbytes, x, NULL) == SQ_OK) {
        (void)utimensat(AT_FDCWD, entry, NULL, 0); // used now
        return SQ_OK;
    }
    return compute(ck, tokens, watch, x, err);
}
