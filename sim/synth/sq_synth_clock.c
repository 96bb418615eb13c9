// SPDX-License-Identifier: Apache-2.0
// Which port clocks a module of somebody else (sq_synth_run.h). A path that is found with another
// port as the clock, or none, is a number without a meaning: the flip-flops' own paths are not in it.
//
// Yosys lists, before mapping, the nets at the clock pins of the flip-flops, in front of inverters,
// and the inputs of one bit. What is behind other gates or flip-flops is left to OpenSTA, which says
// what the clock does not reach.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_quote.h"
#include "sim/io/sq_suggest.h"
#include "sim/synth/sq_synth_run.h"

#define CLOCKS "clocks.txt"
#define INPUTS "inputs.txt"

void sq_synth_print_clocks(FILE *out)
{
    // The types of Yosys: $_DFF_P_, $_DFFE_NP_, $_SDFFCE_PN0P_ and so on.
    fprintf(out, "tee -q -o " CLOCKS " select -list t:$_*DFF*_* %%x:+[C] w:* %%i %%ci*:+$_NOT_ "
                 "w:* %%i t:$_NOT_ %%x:+[Y] w:* %%i %%d\n"
                 "tee -q -o " INPUTS " select -list i:* s:1 %%i\n");
}

// ---- lists of names -----------------------------------------------------------------------------

struct names {
    char *text; // owned
    const char **name;
    size_t n;
};

static void free_names(struct names *l)
{
    free(l->text);
    free(l->name);
    *l = (struct names){0};
}

// "top/name" a line.
static enum sq_status read_names(struct names *l, const char *work, const char *file,
                                 const char *top, struct sq_error *err)
{
    char path[SQ_SYNTH_PATH_LEN + 32], *save = NULL;
    struct sq_file_view map;
    *l = (struct names){0};
    snprintf(path, sizeof path, "%s/%s", work, file);
    SQ_TRY(sq_file_map(path, &map, err));
    l->text = map.nbytes ? strndup((const char *)map.data, map.nbytes) : strdup("");
    l->name = calloc(map.nbytes / 2 + 1, sizeof *l->name); // a name and a line end at least
    sq_file_unmap(&map);
    SQ_NEED(l->text && l->name, err, "'%s'", sq_path_tail(path));
    const size_t n = strlen(top);
    for (char *line = strtok_r(l->text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        if (strncmp(line, top, n) == 0 && line[n] == '/' && line[n + 1])
            l->name[l->n++] = line + n + 1;
    return SQ_OK;
}

static bool has(const struct names *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->name[i], name) == 0)
            return true;
    return false;
}

// "a, b, c", as many as there is room for.
static void join(const struct names *l, char text[120])
{
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < l->n && at < 100; i++)
        at += (size_t)snprintf(text + at, 120 - at, "%s%.30s", i ? ", " : "", l->name[i]);
}

// ---- the choice ---------------------------------------------------------------------------------

static enum sq_status check_given(const struct sq_synth_block *b, const struct names *inputs,
                                  struct sq_error *err)
{
    if (has(inputs, b->clock))
        return SQ_OK;
    const char *nearest = sq_suggest(b->clock, inputs->name, inputs->n);
    char list[120];
    join(inputs, list);
    return SQ_FAIL(err, SQ_ERR_ARG,
                   "--clock = %.40s: %.40s has no such input of one bit, %s%.40s%s", b->clock,
                   b->top, nearest ? "did you mean " : "need one of ", nearest ? nearest : list,
                   nearest ? "?" : "");
}

static enum sq_status choose(const struct sq_synth_block *b, const struct names *clocks,
                             const struct names *inputs, const char **clock, struct sq_error *err)
{
    char list[120];
    *clock = b->clock;
    join(clocks, list);
    if (b->clock)
        SQ_TRY(check_given(b, inputs, err));
    else if (clocks->n == 1 && has(inputs, clocks->name[0]) && sq_name_is_verilog(clocks->name[0]))
        *clock = clocks->name[0];
    else
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "%.40s has flip-flops clocked by %s: name the port that clocks them all, "
                       "--clock PORT",
                       b->top, list);
    for (size_t i = 0; i < clocks->n; i++)
        if (strcmp(clocks->name[i], *clock) != 0 && has(inputs, clocks->name[i]))
            return SQ_FAIL(
                err, SQ_ERR_ARG,
                "--clock = %.40s: %.40s has flip-flops clocked by %s, need one clock for all",
                *clock, b->top, list);
    return SQ_OK;
}

enum sq_status sq_synth_find_clock(const struct sq_synth_block *b, const char *work,
                                   char clock[SQ_LIB_NAME_LEN], struct sq_error *err)
{
    struct names clocks = {0}, inputs = {0};
    const char *chosen = NULL;
    enum sq_status status = read_names(&clocks, work, CLOCKS, b->top, err);
    SQ_THEN(status, read_names(&inputs, work, INPUTS, b->top, err));
    if (status == SQ_OK && clocks.n > 0)
        status = choose(b, &clocks, &inputs, &chosen, err);
    else if (status == SQ_OK && b->clock)
        status = check_given(b, &inputs, err); // no flip-flops: the name is wrong or not needed
    if (status == SQ_OK && chosen &&
        (strlen(chosen) >= SQ_LIB_NAME_LEN || !sq_name_is_verilog(chosen)))
        status =
            SQ_FAIL(err, SQ_ERR_ARG, "the clock port '%.60s', need letters, digits and _", chosen);
    if (status == SQ_OK)
        snprintf(clock, SQ_LIB_NAME_LEN, "%s", chosen ? chosen : "");
    free_names(&clocks);
    free_names(&inputs);
    return status;
}
