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

const struct sq_recipe *sq_eval_recipe(const struct sq_eval_format *f)
{
    return sq_recipe_is_reference(&f->r) ? NULL : &f->r;
}

// As sq_cli_json_line.
static void put_json(const struct sq_eval_format *f, json_t *object)
{
    char *line = sq_cli_json_dump(object);
    if (line)
        fprintf(f->out, "%s\n", line);
    free(line);
}

static void print_name(const struct sq_eval_format *f)
{
    const struct sq_recipe *r = sq_eval_recipe(f);
    char text[96] = "the model as it is";
    if (r && r->format->text)
        r->format->text(r, text);
    else if (r)
        snprintf(text, sizeof text, "%s", r->format->name);
    fprintf(f->out, "%s%s\n", f == f->in->format ? "" : "\n", text);
}

void sq_eval_print_head(const struct sq_eval_format *f)
{
    const struct sq_recipe *r = sq_eval_recipe(f);
    if (f->in->is_json)
        return;
    sq_cli_progress_end();
    if (f->in->n_formats > 1)
        print_name(f);
    if (r && !f->in->is_summary)
        fprintf(f->out, "%-36s %15s %7s %8s %10s %8s%s\n", "layer", "N x K     ", "A bits",
                "W bits", "rel. error", "SQNR dB", r->format->values->mask ? "   recall" : "");
}

void sq_eval_print_layer(void *context, const struct sq_layer_metrics *m)
{
    const struct sq_eval_format *f = context;
    FILE *out = f->out;
    char text[32];
    if (f->in->mask)
        keep_mask((struct sq_eval_args *)(uintptr_t)f->in, m);
    if (!f->in->is_json) {
        sq_cli_progress_end();
        fprintf(out, "%-36s %6zu x %-6zu %7.5g", m->name, m->n, m->k, m->act_bits);
        fprintf(out, " %8s", sq_cli_number_text(m->stored_bits, 4, text));
        fprintf(out, " %10s", sq_cli_number_text(m->relative_error, 6, text));
        fprintf(out, " %8s", sq_cli_number_text(m->sqnr_db, 3, text));
        if (!isnan(m->mask_recall))
            fprintf(out, " %8.4f", m->mask_recall);
        fprintf(out, m->is_dense ? " dense\n" : "\n");
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
    put_json(f, o);
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

void sq_eval_print_summary(const struct sq_eval_format *f, const struct sq_eval_job *job,
                           const struct sq_tokens *tokens)
{
    const struct sq_eval_args *in = f->in;
    const struct sq_eval_result *e = &job->result;
    const struct sq_recipe *r = sq_eval_recipe(f);
    char cuts[160];
    sq_cli_text_of(&in->source, tokens, cuts);
    if (!in->is_json) {
        if (r)
            print_bits(f->out, r, e);
        fprintf(f->out, "loss %.6f nats per token, perplexity %.4f, %zu tokens, %s\n", e->loss,
                e->perplexity, e->n_tokens, cuts);
        if (r)
            print_divergence(f->out, &job->divergence);
        return;
    }
    json_t *o = json_object();
    json_object_set_new(o, "summary", json_true());
    json_object_set_new(o, "activation_bits", sq_cli_json_number(e->act_bits));
    json_object_set_new(o, "stored_bits_per_weight", sq_cli_json_number(e->stored_bits));
    json_object_set_new(o, "payload_bits_per_weight", sq_cli_json_number(e->payload_bits));
    json_object_set_new(o, "loss", json_real(e->loss));
    json_object_set_new(o, "perplexity", json_real(e->perplexity));
    divergence_json(&job->divergence, o);
    json_object_set_new(o, "tokens", json_integer((json_int_t)e->n_tokens));
    sq_cli_text_json(&in->source, tokens, o);
    json_object_set_new(o, "dense_layers", json_integer((json_int_t)e->n_dense_layers));
    if (r)
        sq_cli_recipe_json(r, f->weights ? SQ_IN_FILE : SQ_IN_EVAL, o);
    if (r)
        json_object_set_new(o, "sequential", json_boolean(r->is_sequential));
    if (r)
        json_object_set_new(o, "layer_format",
                            f->layer_format ? json_string(f->layer_format) : json_null());
    else
        json_object_set_new(o, "format", json_string("reference"));
    json_object_set_new(o, "provenance",
                        sq_cli_provenance("real", r ? "golden model" : "binary32 model", 0));
    put_json(f, o);
}
