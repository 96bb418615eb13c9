// SPDX-License-Identifier: Apache-2.0
// The memories of a library that rtl/top/sq_sram.sv names (sq_synth.h).
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/io/sq_file.h"
#include "sim/synth/sq_synth.h"

static const unsigned words[SQ_SYNTH_MACROS] = {64, 256, 512, 1024, 2048};

// The Liberty file of a cell in the folder, the first by name; "" where there is none.
static enum sq_status find_file(const char *dir, const char *cell, char path[512],
                                struct sq_error *err)
{
    char best[256] = "";
    DIR *d = opendir(dir);
    if (!d)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot read '%s': %s", sq_path_tail(dir), strerror(errno));
    for (struct dirent *e; (e = readdir(d));) {
        const size_t n = strlen(e->d_name);
        if (strncmp(e->d_name, cell, strlen(cell)) == 0 && n > 4 && n < sizeof best &&
            strcmp(e->d_name + n - 4, ".lib") == 0 && (!*best || strcmp(e->d_name, best) < 0))
            memcpy(best, e->d_name, n + 1);
    }
    closedir(d);
    path[0] = '\0';
    if (*best && snprintf(path, 512, "%s/%s", dir, best) >= 512)
        return SQ_FAIL(err, SQ_ERR_ARG, "the path '%s' is too long", sq_path_tail(path));
    return SQ_OK;
}

enum sq_status sq_synth_macros_read(struct sq_synth_macro macro[SQ_SYNTH_MACROS], const char *dir,
                                    struct sq_error *err)
{
    size_t n = 0;
    memset(macro, 0, SQ_SYNTH_MACROS * sizeof *macro);
    for (size_t i = 0; i < SQ_SYNTH_MACROS; i++) {
        char cell[SQ_LIB_NAME_LEN], path[512];
        snprintf(cell, sizeof cell, "RM_IHPSG13_1P_%ux64_c2_bm_bist", words[i]);
        SQ_TRY(find_file(dir, cell, path, err));
        if (!path[0])
            continue;
        SQ_TRY(sq_liberty_read_macros(&macro[n].lib, path, err));
        const struct sq_lib_cell *found = sq_liberty_find(&macro[n].lib, cell);
        if (!found || found->area <= 0)
            return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "'%s' gives no area of a cell %s",
                           sq_path_tail(path), cell);
        macro[n++].words = words[i];
    }
    if (n == 0)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "'%s' holds no memory of sq_sram, need RM_IHPSG13_1P_<words>x64_c2_bm_bist*"
                       ".lib of 64, 256, 512, 1024 or 2048 words",
                       sq_path_tail(dir));
    return SQ_OK;
}

void sq_synth_macros_free(struct sq_synth_macro macro[SQ_SYNTH_MACROS])
{
    for (size_t i = 0; i < SQ_SYNTH_MACROS; i++)
        sq_liberty_free(&macro[i].lib);
}

const struct sq_synth_macro *sq_synth_macro_for(const struct sq_synth_macro macro[SQ_SYNTH_MACROS],
                                                unsigned n)
{
    size_t i = 0;
    while (i + 1 < SQ_SYNTH_MACROS && macro[i + 1].words > 0 && macro[i].words < n)
        i++;
    return &macro[i];
}
