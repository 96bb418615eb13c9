// SPDX-License-Identifier: Apache-2.0
// Keeps a gnuplot script in memory, runs gnuplot on it, and keeps the picture if it succeeds
// (sq_cmd_compare.h).
#include <string.h>
#include <sys/mman.h>

#include "sim/cli/compare/sq_cmd_compare.h"
#include "sim/io/sq_process.h"

// gnuplot reads the script as its input and writes the picture as its output: neither has a name,
// and no shell sees one.
enum sq_status sq_compare_plot_open(struct sq_compare_plot *p, const char *path, unsigned height,
                                    struct sq_error *err)
{
    const size_t len = strlen(path);
    const bool is_svg = len > 4 && strcmp(path + len - 4, ".svg") == 0;
    char version[64];
    p->path = path;
    if (!is_svg && !(len > 4 && strcmp(path + len - 4, ".png") == 0))
        return SQ_FAIL(err, SQ_ERR_ARG, "--plot %.80s, need a name that ends in .svg or .png",
                       sq_path_tail(path));
    if (sq_process_version("gnuplot", "--version", version, sizeof version, NULL) != SQ_OK)
        return SQ_FAIL(err, SQ_ERR_TOOL, "gnuplot is missing (Debian: gnuplot-nox)");
    SQ_TRY(sq_outfile_open(&p->out, path, err));
    p->script = open_memstream(&p->text, &p->nbytes);
    if (!p->script) {
        sq_outfile_abort(&p->out);
        return SQ_NO_MEMORY(err, "a plot");
    }
    fprintf(p->script, "set terminal %s size 1000,%u\n", is_svg ? "svg" : "pngcairo", height);
    return SQ_OK;
}

// The picture is gnuplot's standard output.
static enum sq_status run_gnuplot(const struct sq_compare_plot *p, int *code, struct sq_error *err)
{
    char gnuplot[] = "gnuplot";
    char *const argv[] = {gnuplot, NULL};
    FILE *script = fdopen(memfd_create("plot", MFD_CLOEXEC), "w+");
    SQ_NEED(script, err, "a plot");
    enum sq_status status = SQ_OK;
    if (fwrite(p->text, 1, p->nbytes, script) != p->nbytes || fflush(script) != 0)
        status = SQ_NO_MEMORY(err, "a plot");
    rewind(script);
    SQ_THEN(status,
            sq_process_run_on(NULL, argv, fileno(script), fileno(p->out.stream), -1, code, err));
    fclose(script);
    return status;
}

enum sq_status sq_compare_plot_close(struct sq_compare_plot *p, struct sq_error *err)
{
    int code = 0;
    fclose(p->script);
    enum sq_status status = run_gnuplot(p, &code, err);
    free(p->text);
    if (status == SQ_OK && code != 0)
        status = SQ_FAIL(err, SQ_ERR_TOOL, "gnuplot failed on %.80s", sq_path_tail(p->path));
    if (status == SQ_OK)
        return sq_outfile_commit(&p->out, err);
    sq_outfile_abort(&p->out);
    return status;
}
