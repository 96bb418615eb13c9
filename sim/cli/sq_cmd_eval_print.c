// SPDX-License-Identifier: Apache-2.0
// What `sqsim eval` says: bits first, then what they cost.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/sq_cli_table.h"
#include "sim/cli/sq_cmd_eval.h"

// Keeps the mask of a layer for --output; without memory the file is refused at the end.
static void keep_mask(struct sq_eval_args *in, const struct sq_layer_metrics *m)
{
    struct sq_mask *keep = &in->mask[in->n_masks++];
    snprintf(keep->name, sizeof keep->name, "%s", m->name);
    keep->k_orig = m->k;
    keep->mask = malloc(m->k_padded);
    keep->k = keep->mask ? m->k_padded : 0;
    if (keep->mask)
        memcpy(keep->mask, m->mask, m->k_padded);
}

const struct sq_recipe *sq_eval_recipe(const struct sq_eval_format *f)
{
    return sq_recipe_is_reference(&f->r) ? NULL : &f->r;
}

const struct sq_recipe *sq_eval_cache(const struct sq_eval_format *f)
{
    return f->kv_format && !sq_recipe_is_reference(&f->cache) ? &f->cache : NULL;
}

// Stored bits of an element of the KV cache.
static double cache_bits(const struct sq_eval_format *f, const struct sq_checkpoint *ck)
{
    const size_t width = ck->config.head_dim;
    return f->kv_format ? sq_cache_row_nbits(&f->cache, width) / (double)width : NAN;
}

static void print_name(const struct sq_eval_format *f)
{
    const struct sq_recipe *r = sq_eval_recipe(f);
    char text[96] = "the model as it is";
    if (r && r->format->text)
        r->format->text(r, text);
    else if (r)
        snprintf(text, sizeof text, "%s", r->format->name);
    fprintf(f->table.out, "%s%s\n", f == f->in->format ? "" : "\n", text);
}

void sq_eval_print_head(const struct sq_eval_format *f)
{
    if (f->in->is_json || f->in->n_formats < 2)
        return;
    sq_cli_progress_end();
    print_name(f);
}

void sq_eval_print_layer(void *context, const struct sq_layer_metrics *m)
{
    struct sq_eval_format *f = context;
    const bool has_mask = f->r.format->values->mask;
    char shape[48];
    if (f->in->mask)
        keep_mask((struct sq_eval_args *)(uintptr_t)f->in, m);
    if (!f->in->is_json)
        sq_cli_progress_end();
    snprintf(shape, sizeof shape, "%6zu x %-6zu", m->n, m->k);
    const struct sq_cli_column row[] = {
        SQ_COLUMN("layer", m->name, "layer", -36),
        SQ_KEYS("n", m->n, "k", m->k),
        SQ_COLUMN(NULL, shape, "N x K     ", 15),
        SQ_COLUMN("activation_bits", m->act_bits, "A bits", 7, .as = "%.5g"),
        SQ_COLUMN("stored_bits_per_weight", m->stored_bits, "W bits", 8, .as = "%.4f"),
        SQ_COLUMN("relative_error", m->relative_error, "rel. error", 10, .as = "%.6f"),
        SQ_COLUMN("sqnr_db", m->sqnr_db, "SQNR", 8, .unit = "dB", .as = "%.3f"),
        SQ_COLUMN("mask_recall", m->mask_recall, has_mask ? "recall" : NULL, 8, .as = "%.4f"),
        SQ_KEYS("dense", m->is_dense),
        SQ_COLUMN(NULL, m->is_dense ? "dense" : "", "", 0),
        SQ_COLUMNS_END};
    sq_cli_put(&f->table, row);
}

static void print_divergence(FILE *out, const struct sq_divergence *d)
{
    fprintf(out, "against the model as it is: loss %.6f %+.6f", d->loss_reference,
            d->loss_difference);
    if (!isnan(d->loss_difference_se))
        fprintf(out, ", standard error %.6f, 95 %% %+.6f..%+.6f", d->loss_difference_se,
                d->loss_difference_95.low, d->loss_difference_95.high);
    fprintf(out, "; KL mean %.6f", d->kl_mean);
    if (!isnan(d->kl_mean_95.low))
        fprintf(out, ", 95 %% %.6f..%.6f", d->kl_mean_95.low, d->kl_mean_95.high);
    fprintf(out, ", median %.6f, 99 %% of tokens below %.6f; top-1 agreement %.4f\n", d->kl_median,
            d->kl_p99, d->top1_agreement);
}

static json_t *json_interval(const struct sq_interval *i)
{
    return isnan(i->low) ? json_null() : json_pack("[f,f]", i->low, i->high);
}

static json_t *divergence_json(const struct sq_divergence *d)
{
    const struct sq_cli_column row[] = {
        SQ_KEYS("loss_reference", d->loss_reference, "loss_difference", d->loss_difference),
        SQ_KEYS("loss_difference_se", d->loss_difference_se),
        SQ_KEYS("loss_difference_95", json_interval(&d->loss_difference_95)),
        SQ_KEYS("kl_mean", d->kl_mean, "kl_mean_95", json_interval(&d->kl_mean_95)),
        SQ_KEYS("kl_median", d->kl_median, "kl_p99", d->kl_p99),
        SQ_KEYS("top1_agreement", d->top1_agreement),
        SQ_COLUMNS_END};
    return sq_cli_object(row);
}

static void print_bits(FILE *out, const struct sq_recipe *r, const struct sq_eval_result *e)
{
    fprintf(out, "activations of %.5g bits", e->act_bits);
    if (isnan(e->stored_bits))
        fprintf(out, r->operand == SQ_OPERAND_ACT ? ", weights as they are" : ", mixed weights");
    else
        fprintf(out, ", %.4f stored bits per weight", e->stored_bits);
    if (e->payload_bits < e->stored_bits) // false of NaN
        fprintf(out, " (%.4f but for the padding of rows)", e->payload_bits);
    if (r->format->padding)
        fprintf(out, ", %s", r->format->padding);
    if (e->n_dense_layers)
        fprintf(out, ", %zu layers dense", e->n_dense_layers);
    fprintf(out, "\n");
}

static void print_pair(FILE *out, const struct sq_divergence_pair *p)
{
    if (isnan(p->ratio))
        return;
    fprintf(out, "against the first format: KL times %.4f", p->ratio);
    if (!isnan(p->ratio_95.low))
        fprintf(out, ", 95 %% %.4f..%.4f", p->ratio_95.low, p->ratio_95.high);
    fprintf(out, "; %+.6f", p->difference);
    if (!isnan(p->difference_95.low))
        fprintf(out, ", 95 %% %+.6f..%+.6f", p->difference_95.low, p->difference_95.high);
    fprintf(out, " (in pairs over the same sequences)\n");
}

void sq_eval_print_summary(struct sq_eval_format *f, const struct sq_eval_job *job,
                           const struct sq_checkpoint *ck, const struct sq_tokens *tokens)
{
    const struct sq_eval_args *in = f->in;
    const struct sq_eval_result *e = &job->result;
    const struct sq_recipe *r = sq_eval_recipe(f);
    char cuts[160];
    sq_cli_text_of(&in->source, tokens, cuts);
    if (!in->is_json) {
        if (r)
            print_bits(f->table.out, r, e);
        fprintf(f->table.out, "loss %.6f nats per token, perplexity %.4f, %zu tokens, %s\n",
                e->loss, e->perplexity, e->n_tokens, cuts);
        if (f->kv_format)
            fprintf(f->table.out, "KV cache in %s, %.4f stored bits an element, keys %s rotation\n",
                    sq_cli_text(f->kv_format), cache_bits(f, ck),
                    f->is_before ? "before" : "after");
        if (f->softmax_lanes == SQ_LLAMA_ATTEND)
            fputs("attention by the attention unit\n", f->table.out);
        else if (f->softmax_lanes)
            fprintf(f->table.out, "softmax of attention by the vector unit, %u lanes\n",
                    f->softmax_lanes);
        if (r || sq_eval_cache(f) || f->softmax_lanes)
            print_divergence(f->table.out, &job->divergence);
        print_pair(f->table.out, &job->pair);
        return;
    }
    const struct sq_cli_column row[] = {
        SQ_KEYS("summary", json_true(), "activation_bits", e->act_bits),
        SQ_KEYS("stored_bits_per_weight", e->stored_bits),
        SQ_KEYS("payload_bits_per_weight", e->payload_bits),
        SQ_KEYS("loss", e->loss, "perplexity", e->perplexity),
        SQ_MEMBERS(divergence_json(&job->divergence)),
        SQ_KEYS("tokens", e->n_tokens),
        SQ_MEMBERS(sq_cli_text_json(&in->source, tokens)),
        SQ_KEYS("dense_layers", e->n_dense_layers),
        SQ_MEMBERS(r ? sq_recipe_json(r, f->weights ? SQ_IN_FILE : SQ_IN_EVAL)
                     : json_pack("{s:s}", "format", "reference")),
        SQ_KEY_IF(r, "sequential", f->r.is_sequential),
        SQ_KEY_IF(r, "layer_format", f->layer_format),
        SQ_KEYS("kv_format", f->kv_format, "kv_stored_bits", cache_bits(f, ck), "kv_keys",
                f->kv_format ? (f->is_before ? "before" : "after") : NULL),
        SQ_KEY_IF(f->softmax_lanes == SQ_LLAMA_ATTEND, "attention", "unit"),
        SQ_KEY_IF(f->softmax_lanes && f->softmax_lanes != SQ_LLAMA_ATTEND, "softmax_lanes",
                  f->softmax_lanes),
        SQ_KEYS("kl_ratio", job->pair.ratio, "kl_ratio_95", json_interval(&job->pair.ratio_95)),
        SQ_KEYS("kl_difference", job->pair.difference, "kl_difference_95",
                json_interval(&job->pair.difference_95)),
        SQ_KEYS("provenance", sq_cli_provenance("real", r ? "golden model" : "binary32 model", 0)),
        SQ_COLUMNS_END};
    sq_cli_put(&f->table, row);
}
