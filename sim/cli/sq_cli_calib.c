// SPDX-License-Identifier: Apache-2.0
// Takes RTN instead of GPTQ where a model has no calibration tokens, and says so; finds layers by name
// (sq_cli_calib.h).
#include "sim/cli/sq_cli_calib.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/format/sq_route.h"
#include "sim/llm/text/sq_tokens.h"

static bool has_tokens(const struct sq_checkpoint *ck, const char *model)
{
    char beside[1024];
    sq_tokens_beside(model, "tokens_calib.safetensors", beside, sizeof beside);
    return ck->is_model && access(beside, F_OK) == 0;
}

enum sq_status sq_cli_recipe_calibrated(struct sq_cli_options *in, const struct sq_checkpoint *ck,
                                        const char *model, bool is_calib, struct sq_recipe *r,
                                        bool *is_rtn, struct sq_error *err)
{
    struct sq_cli_options plain = *in;
    struct sq_recipe other;
    *is_rtn = false;
    SQ_TRY(sq_cli_recipe(in, r, err));
    if (is_calib || sq_given_text(&in->given, "algorithm") || !sq_recipe_needs_calibration(r) ||
        has_tokens(ck, model) || in->given.n == SQ_OPTIONS_MAX)
        return SQ_OK;
    plain.given.option[plain.given.n].name = "algorithm";
    plain.given.option[plain.given.n++].text = "rtn";
    if (sq_cli_recipe(&plain, &other, NULL) != SQ_OK || sq_recipe_needs_calibration(&other))
        return SQ_OK; // it is refused with what would need none
    *in = plain;
    *r = other;
    *is_rtn = true;
    return SQ_OK;
}

void sq_cli_note_rtn(const char *command)
{
    sq_cli_settle();
    sq_cli_progress_end();
    fprintf(stderr,
            "sqsim %.40s: note: no calibration tokens here, weights by --algorithm rtn (gptq where "
            "there are)\n",
            command);
}

static void note(const char *command, const char *text)
{
    sq_cli_settle();
    sq_cli_progress_end();
    fprintf(stderr, "sqsim %.40s: note: %s\n", command, sq_cli_text(text));
}

static void note_all(const char *command, const struct sq_checkpoint *ck)
{
    for (size_t i = 0; i < ck->notes.n; i++)
        note(command, ck->notes.text[i]);
}

// The first layer that is quantized, as people call it.
static const char *kind_of(const struct sq_checkpoint *ck)
{
    for (size_t i = 0; i < ck->n_layers; i++)
        if (ck->layer[i].foreign)
            return ck->layer[i].foreign->what;
    return "plain weights";
}

void sq_cli_note_weights(const char *command, const struct sq_layer_file *f)
{
    char text[480], format[96];
    if (!f->is_checkpoint)
        return;
    note_all(command, &f->ck);
    const size_t n = f->ck.n_layers - f->n_as_stored;
    sq_recipe_heading(&f->recipe, format);
    if (n > 0) {
        snprintf(text, sizeof text, "%s: %zu of %zu layers are held code by code, by %s (%s)",
                 kind_of(&f->ck), n, f->ck.n_layers, format,
                 f->recipe.operand == SQ_OPERAND_BOTH ? "both operands" : "weights alone");
        note(command, text);
    }
    if (f->n_as_stored == 0)
        return;
    snprintf(text, sizeof text,
             "%s: %zu of %zu layers are multiplied as the values they stand for; %s",
             kind_of(&f->ck), f->n_as_stored, f->ck.n_layers, f->why);
    note(command, text);
}

void sq_cli_note_quantized(const char *command, const struct sq_checkpoint *ck)
{
    char text[200];
    if (!sq_checkpoint_is_quantized(ck))
        return;
    note_all(command, ck);
    snprintf(text, sizeof text,
             "the weights are quantized already (%s): their values are encoded again", kind_of(ck));
    note(command, text);
}

// Whether the options leave the format to a file: none, or what becomes of activations.
static bool leaves_format(const struct sq_cli_options *in)
{
    bool is_free = !in->is_format_given && !in->is_all;
    for (size_t i = 0; i < in->given.n; i++)
        is_free = is_free && (strcmp(in->given.option[i].name, "act-bits") == 0 ||
                              strcmp(in->given.option[i].name, "operand") == 0);
    return is_free;
}

bool sq_cli_has_own_weights(const struct sq_cli_options *in, const char *model)
{
    return model && leaves_format(in) && sq_layer_file_is_checkpoint(model);
}

enum sq_status sq_cli_weights_open(const struct sq_cli_options *in, const char *weights,
                                   bool is_calib, struct sq_layer_file *f, struct sq_error *err)
{
    struct sq_error why;
    *f = (struct sq_layer_file){0};
    if (!leaves_format(in) || is_calib)
        return SQ_FAIL(
            err, SQ_ERR_ARG,
            "--weights FILE says the format and was calibrated; only --act-bits is free, and "
            "--operand beside a checkpoint");
    const enum sq_status status = sq_layer_file_open(f, weights, &in->given, &why);
    return status == SQ_OK ? SQ_OK
                           : SQ_FAIL(err, status, "%s%.280s",
                                     strncmp(why.text, "act-bits", 8) ? "" : "--", why.text);
}

enum sq_status sq_cli_layers(const struct sq_checkpoint *ck, const char *pattern,
                             uint8_t **is_wanted, size_t *n, struct sq_error *err)
{
    *n = 0;
    *is_wanted = calloc(ck->n_layers + 1, 1);
    SQ_NEED(*is_wanted, err, "%zu layers", ck->n_layers);
    for (size_t i = 0; i < ck->n_layers; i++)
        *n += (*is_wanted)[i] = !pattern || fnmatch(pattern, ck->layer[i].name, 0) == 0;
    if (*n > 0)
        return SQ_OK;
    free(*is_wanted);
    *is_wanted = NULL;
    return SQ_FAIL(err, SQ_ERR_ARG, "--layer = %.80s, none of %zu layers, such as %.80s",
                   pattern ? pattern : "", ck->n_layers, ck->n_layers ? ck->layer[0].name : "");
}

enum sq_status sq_cli_routes_check(const struct sq_recipe *r, struct sq_error *err)
{
    const struct sq_format_routes *routes = r->format->routes;
    struct sq_error inner;
    const enum sq_status status = routes->check ? routes->check(r, &inner) : SQ_OK;
    return status == SQ_OK ? SQ_OK : SQ_FAIL(err, status, "--%.220s", inner.text);
}
