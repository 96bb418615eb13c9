// SPDX-License-Identifier: Apache-2.0
// Parses numbers and names, finds files, and prints errors, progress and JSON (sq_cli.h).
#include "sim/cli/sq_cli.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/io/sq_cache.h"
#include "sim/io/sq_home.h"
#include "sim/io/sq_process.h"
#include "sim/io/sq_quote.h"
#include "sim/io/sq_suggest.h"
#include "sim/io/sq_version.h"

#ifndef SQ_REVISION
#define SQ_REVISION "unknown"
#endif

// ---- foreign text -----------------------------------------------------------------------------

static int write_errno; // of the first write that failed, 0: none

static ssize_t write_quoted(void *cookie, const char *data, size_t n)
{
    enum { PIECE = 1024 };
    char out[SQ_QUOTE_GROWTH * (PIECE + 4)];
    for (size_t at = 0; at < n; at += PIECE) {
        const size_t n_out =
            sq_quote_stream(cookie, data + at, n - at < PIECE ? n - at : PIECE, out);
        for (size_t done = 0; done < n_out;) {
            const ssize_t some = write(STDOUT_FILENO, out + done, n_out - done);
            if (some < 0 && errno != EINTR) {
                write_errno = write_errno ? write_errno : errno;
                return 0; // an error, says fopencookie
            }
            done += some > 0 ? (size_t)some : 0;
        }
    }
    return (ssize_t)n;
}

void sq_cli_guard_stdout(void)
{
    static struct sq_quote_stream state;
    FILE *guard = fopencookie(&state, "w", (cookie_io_functions_t){.write = write_quoted});
    if (!guard)
        return; // out of memory: whatever runs next says so
    setvbuf(guard, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
    stdout = guard;
}

const char *sq_cli_text(const char *text)
{
    static char *copy[8];
    static unsigned next;
    const size_t cap = SQ_QUOTE_GROWTH * strlen(text) + 1;
    char *grown = realloc(copy[next], cap);
    if (!grown)
        return "?";
    copy[next] = grown;
    next = (next + 1) % 8;
    sq_quote_text(grown, cap, text);
    return grown;
}

json_t *sq_cli_json_text(const char *text)
{
    json_t *string = json_string(text);
    if (string)
        return string;
    const size_t cap = SQ_QUOTE_GROWTH * strlen(text) + 1;
    SQ_FREED char *quoted = malloc(cap);
    if (!quoted)
        return NULL;
    sq_quote_text(quoted, cap, text);
    string = json_string(quoted);
    return string;
}

// ---- errors ---------------------------------------------------------------------------------

int sq_cli_fail(const char *command, const struct sq_error *err)
{
    char text[SQ_QUOTE_GROWTH * sizeof err->text];
    sq_quote_text(text, sizeof text, err->text); // one line, whatever a file was called
    sq_cli_settle();
    sq_cli_progress_end();
    fprintf(stderr, "sqsim%s%.40s: %s\n", *command ? " " : "", command, text);
    return err->code == SQ_ERR_TOOL    ? SQ_EXIT_MISSING
           : err->code == SQ_ERR_BUILD ? SQ_EXIT_CHECK_FAILED
                                       : SQ_EXIT_USAGE;
}

void sq_cli_note_calib(const char *command)
{
    sq_cli_settle();
    sq_cli_progress_end();
    fprintf(stderr, "sqsim %.40s: note: calibration tokens are not used, nothing here needs them\n",
            command);
}

int sq_cli_finish(const char *command, int code)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    sq_cli_settle();
    errno = EIO;
    if (!ferror(stdout) && fflush(stdout) == 0)
        return code;
    if (poll(&out, 1, 0) == 1 && (out.revents & POLLERR)) { // a pipe that nobody reads any more
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE); // what every other tool does, only now, when all is tidied up
    }
    if (code == SQ_EXIT_USAGE)
        return code; // one line is enough
    struct sq_error err;
    (void)SQ_FAIL(&err, SQ_ERR_IO, "cannot write standard output: %s",
                  strerror(write_errno ? write_errno : errno));
    return sq_cli_fail(command, &err);
}

// ---- numbers --------------------------------------------------------------------------------

enum sq_status sq_cli_uint(const char *option, const char *text, uint64_t min, uint64_t max,
                           uint64_t *value, struct sq_error *err)
{
    char *end = NULL;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    bool is_number = text[0] >= '0' && text[0] <= '9' && *end == '\0'; // no sign, no blanks
    if (!is_number || errno == ERANGE || v < min || v > max)
        return SQ_FAIL(err, SQ_ERR_ARG, "%s = %.40s, need %" PRIu64 "..%" PRIu64, option, text, min,
                       max);
    *value = v;
    return SQ_OK;
}

enum sq_status sq_cli_double(const char *option, const char *text, double min, double max,
                             double *value, struct sq_error *err)
{
    char *end = NULL;
    double v = strtod(text, &end);
    bool is_number = text[0] != '\0' && strchr("+-.0123456789", text[0]) && *end == '\0';
    if (!is_number || !(v >= min && v <= max))
        return SQ_FAIL(err, SQ_ERR_ARG, "%s = %.40s, need %g..%g", option, text, min, max);
    *value = v;
    return SQ_OK;
}

// ---- names ----------------------------------------------------------------------------------

const char *sq_cli_suggest(const char *text, const char *const *names, size_t n)
{
    return sq_suggest(text, names, n);
}

const char *sq_cli_join(const char *const *names, size_t n, char *text, size_t nbytes)
{
    *text = '\0';
    for (size_t i = 0, at = 0; i < n && at < nbytes; i++)
        at += (size_t)snprintf(text + at, nbytes - at, "%s%s",
                               i == 0       ? ""
                               : i + 1 == n ? " or "
                                            : ", ",
                               names[i]);
    return text;
}

enum sq_status sq_cli_name(const char *option, const char *text, const char *const *names, size_t n,
                           size_t *index, struct sq_error *err)
{
    char list[232];
    for (*index = 0; *index < n; ++*index)
        if (strcmp(text, names[*index]) == 0)
            return SQ_OK;
    const char *nearest = n > 1 ? sq_cli_suggest(text, names, n) : NULL;
    return SQ_FAIL(err, SQ_ERR_ARG, "%s = %.40s, need %s%s%s%s", option, text,
                   sq_cli_join(names, n, list, sizeof list), nearest ? " (did you mean " : "",
                   nearest ? nearest : "", nearest ? "?)" : "");
}

// ---- progress, JSON, provenance -------------------------------------------------------------

// How progress is said: a terminal has one line for it, a pipe as many as there are.
static struct {
    bool everywhere, is_open;
} shown;

void sq_cli_progress_everywhere(void)
{
    shown.everywhere = true;
}

static bool is_terminal(void)
{
    return isatty(STDERR_FILENO);
}

static bool is_shown(void)
{
    return shown.everywhere || is_terminal();
}

static void end_line(bool is_last)
{
    fputs(!is_terminal() ? "\n" : is_last ? "\033[K\n" : "\033[K", stderr);
    shown.is_open = is_terminal() && !is_last;
}

void sq_cli_progress_end(void)
{
    if (shown.is_open)
        fputs("\r\033[K", stderr);
    shown.is_open = false;
}

void sq_cli_progress_resumed(const char *label, uint64_t done, uint64_t total, uint64_t n_run)
{
    static double start, last;
    static uint64_t n_before;
    static char before[64];
    if (!is_shown())
        return;
    const double now = sq_process_clock();
    if (start == 0) {
        start = now;
        n_before = n_run;
    } else if (done < total && now - last < 0.25 &&
               strncmp(before, label, sizeof before - 1) == 0) {
        return;
    }
    last = now;
    snprintf(before, sizeof before, "%s", label);
    fprintf(stderr, "%s%s %" PRIu64 "/%" PRIu64, is_terminal() ? "\r" : "", label, done, total);
    const double rate = now > start ? (double)(n_run - n_before) / (now - start) : 0;
    if (rate > 0)
        fprintf(stderr, " (%.3g/s, ETA %.0f s)", rate, (double)(total - done) / rate);
    end_line(done == total);
    if (done == total)
        start = last = 0;
}

void sq_cli_progress(const char *label, uint64_t done, uint64_t total)
{
    sq_cli_progress_resumed(label, done, total, done);
}

void sq_cli_stage(const char *label, const char *text)
{
    if (!is_shown())
        return;
    fprintf(stderr, "%s%s: %s", is_terminal() ? "\r" : "", label, text);
    end_line(false);
}

json_t *sq_cli_json_number(double v)
{
    if (fabs(v) >= 1e12 && fabs(v) < 0x1p63 && v == floor(v)) // a real has twelve digits
        return json_integer((json_int_t)v);
    return isnan(v) ? json_null() : isinf(v) ? json_string("inf") : json_real(v);
}

const char *sq_cli_number_text(double v, int decimals, char text[32])
{
    if (isnan(v))
        snprintf(text, 32, "-");
    else
        snprintf(text, 32, "%.*f", decimals, v);
    return text;
}

char *sq_cli_json_dump(json_t *object)
{
    char *line = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(12)); // one write, not 100
    json_decref(object);
    return line;
}

void sq_cli_json_line(json_t *object)
{
    SQ_FREED char *line = sq_cli_json_dump(object);
    if (line)
        puts(line);
}

const char *sq_cli_revision(void)
{
    return SQ_REVISION;
}

json_t *sq_cli_provenance(const char *data, const char *basis, uint64_t seed)
{
    json_t *p = json_object();
    json_object_set_new(p, "tool", json_string("sqsim " SQ_VERSION));
    json_object_set_new(p, "revision", json_string(SQ_REVISION));
    json_object_set_new(p, "data", data ? json_string(data) : json_null());
    json_object_set_new(p, "basis", basis ? json_string(basis) : json_null());
    json_object_set_new(p, "seed", json_integer((json_int_t)seed));
    return p;
}

// ---- home -----------------------------------------------------------------------------------

const char *sq_cli_home(void)
{
    static char home[SQ_HOME_SIZE];
    char self[PATH_MAX] = "";
    if (!home[0] && readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        self[0] = '\0';
    if (!home[0])
        sq_home_around(self, home);
    return home;
}

// What is cut is longer than the system's paths.
static const char *join(const char *folder, const char *relative)
{
    static char path[8][PATH_MAX + 256];
    static unsigned next;
    next = (next + 1) % 8;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, relative);
    return path[next];
}

const char *sq_cli_home_path(const char *relative)
{
    return join(sq_cli_home(), relative);
}

const char *sq_cli_cache_path(const char *relative)
{
    char root[4096 + 64];
    sq_cache_root(sq_cli_home(), root, sizeof root);
    return join(root, relative);
}

// Found files keep their paths until the program ends.
const char *sq_cli_found(const char *name, const char *pattern)
{
    static struct found {
        struct found *next;
        char path[PATH_MAX];
    } * all;
    struct found *const f = malloc(sizeof *f);
    if (!f)
        return name;
    f->next = all;
    all = f;
    sq_home_find(sq_cli_home(), name, pattern, f->path, sizeof f->path);
    return strcmp(f->path, name) == 0 ? name : f->path;
}

enum sq_status sq_cli_check_found(const char *option, const char *name, const char *pattern,
                                  struct sq_error *err)
{
    char meant[SQ_HOME_NAME];
    if (!strchr(pattern, '*') || strpbrk(name, "/.") || name[0] == '\0' ||
        access(sq_cli_found(name, pattern), F_OK) == 0)
        return SQ_OK;
    const bool is_near = sq_home_suggest(sq_cli_home(), name, pattern, meant);
    return SQ_FAIL(err, SQ_ERR_ARG, "%s = %.40s: no such file, and no such name in %.*s%s%s%s",
                   option, name, (int)(strrchr(pattern, '/') - pattern), pattern,
                   is_near ? " (did you mean " : "", is_near ? meant : "", is_near ? "?)" : "");
}

const char *sq_cli_model(const char *given)
{
    static char embedded[PATH_MAX + 256];
    snprintf(embedded, sizeof embedded, "%s/traces/tiny-llama", sq_cli_home());
    return given ? given : embedded;
}
