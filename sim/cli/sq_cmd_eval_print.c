// SPDX-License-Identifier: Apache-2.0
// What `sqsim eval` says: bits first, then what they cost.
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

void sq_eval_print_head(const struct sq_recipe *r)
{
    sq_cli_progress_end();
    printf("%-36s %15s %7s %8s %10s %8s%s\n", "layer", "N x K     ", "A bits", "W bits",
           "rel. error", "SQNR dB", r->format->has_mask ? "   recall" : "");
}

void sq_eval_print_layer(void *context, const struct sq_layer_metrics *m)
{
    struct sq_eval_args *in = context;
    char text[32];
    if (in->mask)
        keep_mask(in, m);
    if (!in->is_json) {
        sq_cli_progress_end();
        printf("%-36s %6zu x %-6zu %7.5g", m->name, m->n, m->k, m->act_bits);
        printf(" %8s", sq_cli_number_text(m->stored_bits, 4, text));
        printf(" %10s", sq_cli_number_text(m->relative_error, 6, text));
        printf(" %8s", sq_cli_number_text(m->sqnr_db, 3, text));
        if (!isnan(m->mask_recall))
            printf(" %8.4f", m->mask_recall);
        printf(m->is_dense ? " dense\n" : "\n");
        return;
    }
    json_t *o = json_object();
    json_object_set_new(o, "layer", json_string(m->name));
    json_object_set_new(o, "n", json_integer((json_int_t)m->n));
    json_object_set_new(o, "k", json_integer((json_int_t)m->k));
    json_object_set_new(o, "activation_bits", json_real(m->act_bits));
    json_object_set_new(o, "stored_bits_per_weight", sq_cli_json_number(m->stored_bits));
    json_object_set_new(o, "relative_error", sq_cli_json_number(m->relative_error));
    json_object_set_new(o, "sqnr_db", sq_cli_json_number(m->sqnr_db));
    json_object_set_new(o, "mask_recall", sq_cli_json_number(m->mask_recall));
    json_object_set_new(o, "dense", json_boolean(m->is_dense));
    sq_cli_json_line(o);
}

static void print_divergence(const struct sq_divergence *d)
{
    printf("against the model as it is: loss %.6f %+.6f", d->loss_reference, d->loss_difference);
    if (!isnan(d->loss_difference_se))
        printf(", standard error %.6f, 95 %% %+.6f..%+.6f", d->loss_difference_se,
               d->loss_difference_95.low, d->loss_difference_95.high);
    printf("; KL mean %.6f", d->kl_mean);
    if (!isnan(d->kl_mean_95.low))
        printf(", 95 %% %.6f..%.6f", d->kl_mean_95.low, d->kl_mean_95.high);
    printf(", median %.6f, 99 %% of tokens below %.6f; top-1 agreement %.4f\n", d->kl_median,
           d->kl_p99, d->top1_agreement);
}

static json_t *json_interval(const struct sq_interval *i)
{
    return isnan(i->low) ? json_null() : json_pack("[f,f]", i->low, i->high);
}

static void divergence_json(const struct sq_divergence *d, json_t *o)
{
    json_object_set_new(o, "loss_reference", sq_cli_json_number(d->loss_reference));
    json_object_set_new(o, "loss_difference", sq_cli_json_number(d->loss_difference));
    json_object_set_new(o, "loss_difference_se", sq_cli_json_number(d->loss_difference_se));
    json_object_set_new(o, "loss_difference_95", json_interval(&d->loss_difference_95));
    json_object_set_new(o, "kl_mean", sq_cli_json_number(d->kl_mean));
    json_object_set_new(o, "kl_mean_95", json_interval(&d->kl_mean_95));
    json_object_set_new(o, "kl_median", sq_cli_json_number(d->kl_median));
    json_object_set_new(o, "kl_p99", sq_cli_json_number(d->kl_p99));
    json_object_set_new(o, "top1_agreement", sq_cli_json_number(d->top1_agreement));
}

static void print_bits(const struct sq_recipe *r, const struct sq_eval_result *e)
{
    printf("activations of %.5g bits", e->act_bits);
    if (isnan(e->stored_bits))
        printf(r->bs.operand == SQ_OPERAND_ACT ? ", weights as they are" : ", mixed weights");
    else
        printf(", %.4f stored bits per weight", e->stored_bits);
    if (e->payload_bits < e->stored_bits) // false of NaN
        printf(" (%.4f but for the padding of rows)", e->payload_bits);
    if (r->format->padding)
        printf(", %s", r->format->padding);
    if (e->n_dense_layers)
        printf(", %zu layers dense", e->n_dense_layers);
    printf("\n");
}

void sq_eval_print_summary(const struct sq_eval_args *in, const struct sq_recipe *r,
                           const struct sq_eval_result *e, const struct sq_divergence *d,
                           const struct sq_tokens *tokens)
{
    char cuts[160];
    sq_cli_text_of(&in->text.source, tokens, cuts);
    if (!in->is_json) {
        if (r)
            print_bits(r, e);
        printf("loss %.6f nats per token, perplexity %.4f, %zu tokens, %s\n", e->loss,
               e->perplexity, e->n_tokens, cuts);
        if (r)
            print_divergence(d);
        return;
    }
    json_t *o = json_object();
    json_object_set_new(o, "summary", json_true());
    json_object_set_new(o, "activation_bits", sq_cli_json_number(e->act_bits));
    json_object_set_new(o, "stored_bits_per_weight", sq_cli_json_number(e->stored_bits));
    json_object_set_new(o, "payload_bits_per_weight", sq_cli_json_number(e->payload_bits));
    json_object_set_new(o, "loss", json_real(e->loss));
    json_object_set_new(o, "perplexity", json_real(e->perplexity));
    divergence_json(d, o);
    json_object_set_new(o, "tokens", json_integer((json_int_t)e->n_tokens));
    sq_cli_text_json(&in->text.source, tokens, o);
    json_object_set_new(o, "dense_layers", json_integer((json_int_t)e->n_dense_layers));
    if (r)
        sq_cli_recipe_json(r, in->weights ? SQ_IN_FILE : SQ_IN_EVAL, o);
    if (r)
        json_object_set_new(o, "sequential", json_boolean(r->is_sequential));
    if (r)
        json_object_set_new(o, "layer_format",
                            in->layer_format ? json_string(in->layer_format) : json_null());
    else
        json_object_set_new(o, "format", json_string("reference"));
    json_object_set_new(o, "provenance",
                        sq_cli_provenance("real", r ? "golden model" : "binary32 model", 0));
    sq_cli_json_line(o);
}
