// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sim/cli/sq_cmd_compare.h"
#include "sim/io/sq_process.h"

// gnuplot reads the script and writes the picture through descriptors that it inherits: neither has
// a name, and no shell sees one.
enum sq_status sq_compare_plot_open(struct sq_compare_plot *p, const char *path,
                                    struct sq_error *err)
{
    const size_t len = strlen(path);
    const bool is_svg = len > 4 && strcmp(path + len - 4, ".svg") == 0;
    p->path = path;
    if (!is_svg && !(len > 4 && strcmp(path + len - 4, ".png") == 0))
        return SQ_FAIL(err, SQ_ERR_ARG, "--plot %.80s, need a name that ends in .svg or .png",
                       sq_path_tail(path));
    SQ_TRY(sq_outfile_open(&p->out, path, err));
    p->fd = dup(fileno(p->out.stream)); // a duplicate survives exec
    p->script = p->fd >= 0 ? tmpfile() : NULL;
    if (!p->script) {
        const int reason = errno;
        if (p->fd >= 0)
            close(p->fd);
        sq_outfile_abort(&p->out);
        return SQ_FAIL(err, SQ_ERR_IO, "cannot make a script for gnuplot: %s", strerror(reason));
    }
    fprintf(p->script, "set terminal %s\nset output '/dev/fd/%d'\n",
            is_svg ? "svg size 1000,480" : "pngcairo size 1000,480", p->fd);
    return SQ_OK;
}

static enum sq_status draw(const struct sq_compare_plot *p, struct sq_error *err)
{
    char gnuplot[] = "gnuplot", script[32];
    char *const argv[] = {gnuplot, script, NULL};
    int code;
    if (fflush(p->script) != 0)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot write a script for gnuplot: %s", strerror(errno));
    snprintf(script, sizeof script, "/dev/fd/%d", fileno(p->script));
    const enum sq_status status = sq_process_run(NULL, argv, "/dev/null", &code, err);
    if (status == SQ_ERR_TOOL)
        return SQ_FAIL(err, SQ_ERR_TOOL, "gnuplot is missing (Debian: gnuplot-nox)");
    SQ_TRY(status);
    return code == 0 ? SQ_OK
                     : SQ_FAIL(err, SQ_ERR_TOOL, "gnuplot failed on %.80s", sq_path_tail(p->path));
}

enum sq_status sq_compare_plot_close(struct sq_compare_plot *p, struct sq_error *err)
{
    const enum sq_status status = draw(p, err);
    fclose(p->script);
    close(p->fd);
    if (status == SQ_OK)
        return sq_outfile_commit(&p->out, err);
    sq_outfile_abort(&p->out);
    return status;
}
