// SPDX-License-Identifier: Apache-2.0
// Reads traces of requests from CSV (sq_requests.h).
#include "sim/serve/sq_requests.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "sim/io/sq_csv_read.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_grow.h"

enum { MAX_ROW = 4096 };

enum column { ARRIVED, PROMPT, OUTPUTS, N_COLUMNS };
static const char *const names[N_COLUMNS][2] = {{"arrived_at", "TIMESTAMP"},
                                                {"num_prefill_tokens", "ContextTokens"},
                                                {"num_decode_tokens", "GeneratedTokens"}};

struct reader {
    const char *what;
    struct sq_csv_reader csv;
    unsigned place[N_COLUMNS];
    double start; // of the first request
    struct sq_requests *q;
    struct sq_error *err;
};

static enum sq_status refuse(struct reader *r, enum column c, const char *cell, const char *need)
{
    return SQ_FAIL(r->err, SQ_ERR_DAMAGED, "'%s' line %u: %s = '%.32s', need %s",
                   sq_path_tail(r->what), r->csv.line, names[c][0], cell, need);
}

static enum sq_status read_head(struct reader *r)
{
    bool more;
    SQ_TRY(sq_csv_next(&r->csv, &more, r->err));
    for (unsigned c = 0; c < N_COLUMNS; c++)
        if (!more || !(sq_csv_column(&r->csv, names[c][0], &r->place[c]) ||
                       sq_csv_column(&r->csv, names[c][1], &r->place[c])))
            return SQ_FAIL(r->err, SQ_ERR_DAMAGED, "'%s' has no column %s (or %s)",
                           sq_path_tail(r->what), names[c][0], names[c][1]);
    return SQ_OK;
}

// Seconds, or a date and a time of day, which count from 1970.
static bool read_time(const char *cell, double *seconds)
{
    struct tm t = {0};
    char *end;
    int used = 0;
    double s;
    if (sscanf(cell, "%4d-%2d-%2d%*[ T]%2d:%2d:%n", &t.tm_year, &t.tm_mon, &t.tm_mday, &t.tm_hour,
               &t.tm_min, &used) == 5 &&
        used > 0) {
        t.tm_year -= 1900;
        t.tm_mon--;
        s = strtod(cell + used, &end);
        const bool is_clock = t.tm_mon >= 0 && t.tm_mon < 12 && t.tm_mday >= 1 && t.tm_mday <= 31 &&
                              t.tm_hour >= 0 && t.tm_hour < 24 && t.tm_min >= 0 && t.tm_min < 60;
        *seconds = (double)timegm(&t) + s;
        return is_clock && end != cell + used && *end == '\0' && s >= 0 && s < 61;
    }
    *seconds = strtod(cell, &end);
    return end != cell && *end == '\0' && isfinite(*seconds) && fabs(*seconds) < 1e12;
}

static enum sq_status read_count(struct reader *r, enum column c, uint64_t *tokens)
{
    const char *cell = r->csv.cell[r->place[c]];
    char *end;
    errno = 0;
    const unsigned long long v = strtoull(cell, &end, 10);
    if (*cell < '0' || *cell > '9' || *end || errno || v < 1 || v > SQ_REQUEST_TOKENS_MAX)
        return refuse(r, c, cell, "1..1048576");
    *tokens = v;
    return SQ_OK;
}

static enum sq_status add(struct reader *r, const struct sq_request *one)
{
    struct sq_requests *q = r->q;
    if (q->n == SQ_REQUESTS_MAX)
        return SQ_FAIL(r->err, SQ_ERR_RANGE, "'%s' has more than %u requests",
                       sq_path_tail(r->what), SQ_REQUESTS_MAX);
    SQ_TRY(SQ_GROW(q->request, q->n, r->err, "%zu requests", q->n));
    q->request[q->n++] = *one;
    return SQ_OK;
}

static enum sq_status read_row(struct reader *r)
{
    struct sq_request one;
    double at;
    for (unsigned c = 0; c < N_COLUMNS; c++)
        if (r->place[c] >= r->csv.n)
            return refuse(r, (enum column)c, "", "a cell");
    const char *cell = r->csv.cell[r->place[ARRIVED]];
    if (!read_time(cell, &at))
        return refuse(r, ARRIVED, cell, "seconds, or a date with a time");
    if (r->q->n == 0)
        r->start = at;
    one.arrived_s = at - r->start;
    if (one.arrived_s < (r->q->n ? r->q->request[r->q->n - 1].arrived_s : 0))
        return refuse(r, ARRIVED, cell, "a time that is not before that of the line above");
    SQ_TRY(read_count(r, PROMPT, &one.prompt));
    SQ_TRY(read_count(r, OUTPUTS, &one.outputs));
    return add(r, &one);
}

static enum sq_status read_all(struct reader *r)
{
    bool more = true;
    SQ_TRY(read_head(r));
    while (more) {
        SQ_TRY(sq_csv_next(&r->csv, &more, r->err));
        if (more)
            SQ_TRY(read_row(r));
    }
    if (r->q->n == 0)
        return SQ_FAIL(r->err, SQ_ERR_DAMAGED, "'%s' has no requests", sq_path_tail(r->what));
    return SQ_OK;
}

enum sq_status sq_requests_parse(const char *text, size_t nbytes, const char *what,
                                 struct sq_requests *q, struct sq_error *err)
{
    struct reader r = {.what = what, .q = q, .err = err};
    *q = (struct sq_requests){0};
    SQ_TRY(sq_csv_reader_init(&r.csv, text, nbytes, what, MAX_ROW, err));
    const enum sq_status status = read_all(&r);
    sq_csv_reader_free(&r.csv);
    return SQ_ELSE(status, sq_requests_free(q));
}

enum sq_status sq_requests_read(const char *path, struct sq_requests *q, struct sq_error *err)
{
    SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
    SQ_TRY(sq_file_map(path, &map, err));
    return sq_requests_parse(map.data ? (const char *)map.data : "", map.nbytes, path, q, err);
}

void sq_requests_free(struct sq_requests *q)
{
    free(q->request);
    *q = (struct sq_requests){0};
}
