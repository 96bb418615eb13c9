// SPDX-License-Identifier: Apache-2.0
// How far formats take a model from itself: KL and loss of a list of variants, a CSV row each.
//
//   kl_grid MODEL EVAL_TOKENS CALIB_TOKENS SEQUENCES VARIANTS CSV REVISION
//
// VARIANTS: lines "label | format option=value ...", options as --options of sqsim eval,
// layer-format among them (one rule: commas end a cell); empty lines and lines with # are passed
// over. Rows are appended as they are measured, and what the file already holds is not measured
// again: a run that was stopped goes on where it was. The file's first line says of which model,
// tokens and sequences it is; a file of others is refused.
//
// Columns: variant,act_bits,weight_bits,loss_reference,loss_difference,difference_se,kl,kl_low,
// kl_high,kl_median,kl_p99,top1,seconds,revision,kl_by_sequence. `kl_by_sequence` is what paired
// intervals need: means over the predicted tokens, separated by blanks. Bits are of what is encoded
// and empty for the other side: of activations as sqsim run counts them, masks and scales of blocks
// included; of weights as stored.
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/format/sq_cost.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_layer_rule.h"
#include "sim/io/sq_digest.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_gguf.h"
#include "sim/llm/sq_eval.h"

enum { LINE = 512, HEADER = 256 };

static struct sq_error err;

static void must(enum sq_status status)
{
    if (status == SQ_OK)
        return;
    fprintf(stderr, "kl_grid: %s\n", err.text);
    exit(2);
}

static void *some(size_t n, size_t nbytes)
{
    void *p = calloc(n, nbytes);
    if (!p)
        must(SQ_FAIL(&err, SQ_ERR_MEMORY, "out of memory for %zu x %zu bytes", n, nbytes));
    return p;
}

struct grid {
    struct sq_checkpoint ck;
    struct sq_tokens tokens, calib;
    float *reference;          // last hidden states of the model as it is
    struct sq_eval_inputs *in; // [blocks], NULL before the first recipe that needs them
    const char *csv, *revision;
};

// ---- the model --------------------------------------------------------------------------------

// Last hidden states under a recipe; r NULL: as it is. *bits are stored bits of a weight.
static float *states(struct grid *g, const struct sq_recipe *r, double *bits)
{
    struct sq_llama s;
    double nbits = 0, n_weights = 0;
    must(sq_llama_init(&s, &g->ck, &g->tokens, &err));
    for (size_t b = 0; b < g->ck.config.n_layers; b++) {
        struct sq_quant_layer layer[SQ_BLOCK_LAYERS] = {0};
        if (!r) {
            must(sq_llama_block(&s, b, NULL, NULL, &err));
            continue;
        }
        must(sq_eval_encode(&g->ck, b, r, g->in ? &g->in[b] : NULL, NULL, layer, &err));
        must(sq_eval_block(&s, b, r, layer, NULL, NULL, NULL, &err));
        for (size_t i = 0; i < SQ_BLOCK_LAYERS; i++) {
            nbits += sq_quant_layer_nbits(&layer[i]);
            n_weights += (double)layer[i].n * (double)layer[i].k_orig;
            sq_quant_layer_free(&layer[i]);
        }
    }
    must(sq_llama_norm(&s, &err));
    const size_t count = sq_tokens_count(&g->tokens), width = g->ck.config.hidden_size;
    float *x = some(count, width * sizeof *x);
    memcpy(x, s.x, count * width * sizeof *x);
    sq_llama_free(&s);
    *bits = nbits / n_weights;
    return x;
}

// Once for all recipes: sums, Hessian and sample of every input.
static void calibrate(struct grid *g)
{
    struct sq_llama s;
    fprintf(stderr, "calibrating on %zu tokens\n", sq_tokens_count(&g->calib));
    g->in = some(g->ck.config.n_layers, sizeof *g->in);
    must(sq_llama_init(&s, &g->ck, &g->calib, &err));
    for (size_t b = 0; b < g->ck.config.n_layers; b++)
        must(sq_eval_collect(&s, b, SQ_NEED_HESSIAN | SQ_NEED_SAMPLE, &g->in[b], &err));
    sq_llama_free(&s);
}

// ---- a variant --------------------------------------------------------------------------------

// "format option=value ..."; the rules of layers are those of the last call.
static struct sq_recipe recipe_of(const char *variant)
{
    static struct sq_layer_rule rule[SQ_LAYER_RULES_MAX];
    char text[LINE];
    const char *rules = NULL;
    struct sq_given given = {0};
    struct sq_recipe r;
    snprintf(text, sizeof text, "%s", variant);
    const char *name = strtok(text, " ");
    const struct sq_format_ops *f = name ? sq_format_find(name) : NULL;
    if (!f)
        must(SQ_FAIL(&err, SQ_ERR_ARG, "variant '%s': no such format", variant));
    for (char *o; (o = strtok(NULL, " ")) && given.n < SQ_OPTIONS_MAX;) {
        char *value = strchr(o, '=');
        if (value)
            *value++ = '\0';
        if (value && strcmp(o, "layer-format") == 0) {
            rules = value;
            continue;
        }
        given.option[given.n].name = o;
        given.option[given.n++].text = value ? value : "1";
    }
    must(sq_format_recipe(f, SQ_IN_EVAL, &given, &r, &err));
    if (rules)
        must(sq_layer_rules_read(rules, &given, rule, &r.n_rules, &err));
    r.rule = rule;
    return r;
}

static double act_bits(const struct sq_recipe *r)
{
    return r->operand == SQ_OPERAND_WEIGHTS ? NAN : sq_cost_act_nbits(r);
}

// KL of each sequence, a mean over its predicted tokens, as text.
static void by_sequence(const struct sq_tokens *t, const struct sq_token_score *score, FILE *out)
{
    for (size_t i = 0; i < t->n_sequences; i++) {
        const size_t first = t->offset[i] + sq_tokens_first_predicted(t, i) - 1;
        double sum = 0;
        for (size_t j = first; j + 1 < t->offset[i + 1]; j++)
            sum += score[j].kl;
        fprintf(out, "%s%.9g", i ? " " : "", sum / (double)(t->offset[i + 1] - 1 - first));
    }
}

static void number(FILE *out, const char *format, double v)
{
    if (!isnan(v))
        fprintf(out, format, v);
    fputc(',', out);
}

static void measure(struct grid *g, const char *variant)
{
    const struct sq_recipe r = recipe_of(variant);
    const double start = omp_get_wtime();
    struct sq_divergence d;
    double bits;
    struct sq_token_score *score = some(sq_tokens_count(&g->tokens), sizeof *score);
    if (sq_recipe_needs_calibration(&r) && !g->in)
        calibrate(g);
    float *x = states(g, &r, &bits);
    must(sq_logits_score(&g->ck, &g->tokens, x, g->reference, score, &err));
    must(sq_divergence_of(&g->tokens, score, &d, &err));
    FILE *out = fopen(g->csv, "a");
    if (!out)
        must(SQ_FAIL(&err, SQ_ERR_IO, "cannot append to %s", g->csv));
    fprintf(out, "%s,", variant);
    number(out, "%.6g", act_bits(&r));
    number(out, "%.6g", bits);
    fprintf(out, "%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.1f,%s,", d.loss_reference,
            d.loss_difference, d.loss_difference_se, d.kl_mean, d.kl_mean_95.low, d.kl_mean_95.high,
            d.kl_median, d.kl_p99, d.top1_agreement, omp_get_wtime() - start, g->revision);
    by_sequence(&g->tokens, score, out);
    fputc('\n', out);
    if (fclose(out) != 0)
        must(SQ_FAIL(&err, SQ_ERR_IO, "cannot write %s", g->csv));
    fprintf(stderr, "KL %.4f  %5.1f s  %s\n", d.kl_mean, omp_get_wtime() - start, variant);
    free(score);
    free(x);
}

// ---- the file ---------------------------------------------------------------------------------

static void digest(struct sq_digest *d, const char *path)
{
    struct sq_file_view view;
    must(sq_file_map(path, &view, &err));
    sq_digest_add(d, view.data, view.nbytes);
    sq_file_unmap(&view);
}

// The first line: of what the rows are.
static void header_of(const struct grid *g, char **argv, char header[HEADER])
{
    struct sq_digest d = {0};
    char hex[SQ_DIGEST_SIZE], model[LINE];
    snprintf(model, sizeof model, "%s%s", argv[1], sq_gguf_is(argv[1]) ? "" : "/model.safetensors");
    digest(&d, model);
    digest(&d, argv[2]);
    digest(&d, argv[3]);
    sq_digest_hex(d, hex);
    snprintf(header, HEADER, "# kl_grid: %zu sequences, %zu predicted tokens, inputs xxh3-128:%s\n",
             g->tokens.n_sequences, sq_tokens_predicted(&g->tokens), hex);
}

// Begins the file, or checks its header and cuts off a row that was not finished.
static void open_csv(const struct grid *g, const char *header)
{
    char line[4 * LINE];
    FILE *f = fopen(g->csv, "r+");
    long whole = 0;
    if (!f) {
        f = fopen(g->csv, "w");
        if (!f)
            must(SQ_FAIL(&err, SQ_ERR_IO, "cannot write %s", g->csv));
        fprintf(f,
                "%svariant,act_bits,weight_bits,loss_reference,loss_difference,difference_se,kl,"
                "kl_low,kl_high,kl_median,kl_p99,top1,seconds,revision,kl_by_sequence\n",
                header);
        fclose(f);
        return;
    }
    while (fgets(line, sizeof line, f)) {
        if (whole == 0 && strcmp(line, header) != 0)
            must(SQ_FAIL(&err, SQ_ERR_ARG, "%s is of other inputs; remove it to measure anew",
                         sq_path_tail(g->csv)));
        if (strchr(line, '\n'))
            whole = ftell(f);
    }
    fclose(f);
    char path[LINE];
    snprintf(path, sizeof path, "%s", g->csv);
    if (truncate(path, whole) != 0)
        must(SQ_FAIL(&err, SQ_ERR_IO, "cannot write %s", g->csv));
}

static bool is_measured(const struct grid *g, const char *variant)
{
    char line[4 * LINE];
    const size_t n = strlen(variant);
    bool is_found = false;
    FILE *f = fopen(g->csv, "r");
    while (f && !is_found && fgets(line, sizeof line, f))
        is_found = strncmp(line, variant, n) == 0 && line[n] == ',';
    if (f)
        fclose(f);
    return is_found;
}

int main(int argc, char **argv)
{
    struct grid g = {0};
    char header[HEADER], line[LINE];
    double bits;
    if (argc != 8)
        must(SQ_FAIL(&err, SQ_ERR_ARG,
                     "need MODEL EVAL_TOKENS CALIB_TOKENS SEQUENCES VARIANTS CSV REVISION"));
    g.csv = argv[6];
    g.revision = argv[7];
    must(sq_checkpoint_open(&g.ck, argv[1], &err));
    const struct sq_model_config *c = &g.ck.config;
    must(sq_tokens_read(&g.tokens, argv[2], c->vocab_size, c->max_position, &err));
    must(sq_tokens_read(&g.calib, argv[3], c->vocab_size, c->max_position, &err));
    const size_t n = (size_t)strtoul(argv[4], NULL, 10);
    if (n < 1 || n > g.tokens.n_sequences)
        must(SQ_FAIL(&err, SQ_ERR_RANGE, "SEQUENCES = %zu, need 1..%zu", n, g.tokens.n_sequences));
    g.tokens.n_sequences = n;
    header_of(&g, argv, header);
    open_csv(&g, header);
    FILE *list = fopen(argv[5], "r");
    if (!list)
        must(SQ_FAIL(&err, SQ_ERR_IO, "cannot read %s", argv[5]));
    while (fgets(line, sizeof line, list)) {
        const char *variant = strstr(line, "| ");
        line[strcspn(line, "\n")] = '\0';
        if (*line == '#' || !variant || is_measured(&g, variant + 2))
            continue;
        if (!g.reference)
            g.reference = states(&g, NULL, &bits);
        measure(&g, variant + 2);
    }
    fclose(list);
    for (size_t b = 0; g.in && b < c->n_layers; b++)
        sq_eval_inputs_free(&g.in[b]);
    free(g.in);
    free(g.reference);
    sq_tokens_free(&g.tokens);
    sq_tokens_free(&g.calib);
    sq_checkpoint_close(&g.ck);
    return 0;
}
