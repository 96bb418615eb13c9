// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/cli/sq_cmd_compare.h"

enum sq_status sq_compare_plot_open(struct sq_compare_plot *p, const char *path,
                                    struct sq_error *err)
{
    const size_t len = strlen(path);
    const bool is_svg = len > 4 && strcmp(path + len - 4, ".svg") == 0;
    char command[64];
    p->path = path;
    if (!is_svg && !(len > 4 && strcmp(path + len - 4, ".png") == 0))
        return SQ_FAIL(err, SQ_ERR_ARG, "--plot %.80s, need a name that ends in .svg or .png",
                       sq_path_tail(path));
    if (system("command -v gnuplot > /dev/null 2>&1") != 0)
        return SQ_FAIL(err, SQ_ERR_TOOL, "gnuplot is missing (Debian: gnuplot-nox)");
    SQ_TRY(sq_outfile_open(&p->out, path, err));
    fflush(p->out.stream);
    // gnuplot writes into our file through its standard output; a duplicate survives exec.
    p->fd = dup(fileno(p->out.stream));
    snprintf(command, sizeof command, "gnuplot >/dev/fd/%d 2>/dev/null", p->fd);
    p->gnuplot = p->fd >= 0 ? popen(command, "w") : NULL;
    if (!p->gnuplot) {
        if (p->fd >= 0)
            close(p->fd);
        sq_outfile_abort(&p->out);
        return SQ_FAIL(err, SQ_ERR_TOOL, "cannot start gnuplot");
    }
    fprintf(p->gnuplot, "set terminal %s\nset output\n",
            is_svg ? "svg size 1000,480" : "pngcairo size 1000,480");
    return SQ_OK;
}

enum sq_status sq_compare_plot_close(struct sq_compare_plot *p, struct sq_error *err)
{
    const bool done = pclose(p->gnuplot) == 0;
    close(p->fd);
    if (!done) {
        sq_outfile_abort(&p->out);
        return SQ_FAIL(err, SQ_ERR_TOOL, "gnuplot failed on %.80s", sq_path_tail(p->path));
    }
    return sq_outfile_commit(&p->out, err);
}
