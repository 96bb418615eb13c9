// SPDX-License-Identifier: Apache-2.0
// Lines are handed to libcsv one at a time, so that every row has its line and its limit; libcsv
// says where cells and rows end.
#include "sim/io/sq_csv_read.h"

#include <csv.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/io/sq_file.h"

struct sq_csv_state {
    struct csv_parser parser;
    const char *at, *end, *what;
    unsigned line; // of the one read last
    size_t max_row, used;
    bool is_complete;
    size_t cell_at[SQ_CSV_CELLS_MAX];
    unsigned n;
    char text[]; // cells of the row, each terminated
};

// Only '\n' ends a row: a carriage return before it is a blank.
static int is_end(unsigned char c)
{
    return c == '\n';
}

static int is_blank(unsigned char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void end_cell(void *cell, size_t nbytes, void *context)
{
    struct sq_csv_state *s = context;
    if (s->n < SQ_CSV_CELLS_MAX) { // a cell is no longer than the row, and one byte more for each
        s->cell_at[s->n] = s->used;
        if (nbytes > 0)
            memcpy(s->text + s->used, cell, nbytes);
        s->text[s->used + nbytes] = '\0';
        s->used += nbytes + 1;
    }
    s->n++;
}

static void end_row(int c, void *context)
{
    (void)c;
    ((struct sq_csv_state *)context)->is_complete = true;
}

enum sq_status sq_csv_reader_init(struct sq_csv_reader *r, const char *text, size_t nbytes,
                                  const char *what, size_t max_row, struct sq_error *err)
{
    *r = (struct sq_csv_reader){0};
    struct sq_csv_state *s = calloc(1, sizeof *s + max_row + SQ_CSV_CELLS_MAX);
    if (!s || csv_init(&s->parser, CSV_STRICT | CSV_STRICT_FINI) != 0) {
        free(s);
        return SQ_NO_MEMORY(err, "rows of %zu bytes", max_row);
    }
    csv_set_term_func(&s->parser, is_end);
    csv_set_space_func(&s->parser, is_blank);
    if (nbytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        nbytes -= 3;
    }
    s->at = text;
    s->end = text + nbytes;
    s->what = what;
    s->max_row = max_row;
    r->state = s;
    return SQ_OK;
}

void sq_csv_reader_free(struct sq_csv_reader *r)
{
    if (r->state)
        csv_free(&r->state->parser);
    free(r->state);
    *r = (struct sq_csv_reader){0};
}

static enum sq_status fail(const struct sq_csv_state *s, const char *sentence, struct sq_error *err)
{
    return SQ_FAIL(err, SQ_ERR_DAMAGED, "'%s' line %u: %.100s", sq_path_tail(s->what), s->line,
                   sentence);
}

// One line to libcsv.
static enum sq_status feed(struct sq_csv_state *s, size_t *row_nbytes, struct sq_error *err)
{
    const char *stop = memchr(s->at, '\n', (size_t)(s->end - s->at));
    const size_t n = (size_t)((stop ? stop + 1 : s->end) - s->at);
    char sentence[64];
    s->line++;
    *row_nbytes += n;
    if (*row_nbytes - (stop != NULL) > s->max_row) {
        snprintf(sentence, sizeof sentence, "longer than %zu characters", s->max_row);
        return fail(s, sentence, err);
    }
    if (memchr(s->at, '\0', n))
        return fail(s, "holds a zero byte, no text", err);
    const size_t taken = csv_parse(&s->parser, s->at, n, end_cell, end_row, s);
    s->at += n;
    if (taken == n)
        return SQ_OK;
    return csv_error(&s->parser) == CSV_EPARSE ? fail(s, "a quote in the middle of a cell", err)
                                               : SQ_NO_MEMORY(err, "a row");
}

enum sq_status sq_csv_next(struct sq_csv_reader *r, bool *more, struct sq_error *err)
{
    struct sq_csv_state *s = r->state;
    size_t row_nbytes = 0;
    s->is_complete = false;
    s->used = s->n = 0;
    while (!s->is_complete && s->at < s->end) {
        const bool is_first = row_nbytes == 0;
        const char *at = s->at;
        r->line = is_first ? s->line + 1 : r->line;
        SQ_TRY(feed(s, &row_nbytes, err));
        while (at < s->at && (is_blank((unsigned char)*at) || is_end((unsigned char)*at)))
            at++;
        if (is_first && at == s->at) // no row
            row_nbytes = 0;
    }
    if (!s->is_complete && csv_fini(&s->parser, end_cell, end_row, s) != 0)
        return fail(s, "a quote does not end", err);
    *more = s->is_complete;
    r->n = s->n;
    for (unsigned i = 0; i < SQ_CSV_CELLS_MAX; i++)
        r->cell[i] = i < s->n ? s->text + s->cell_at[i] : NULL;
    return SQ_OK;
}

bool sq_csv_column(const struct sq_csv_reader *r, const char *name, unsigned *at)
{
    const unsigned n = r->n < SQ_CSV_CELLS_MAX ? r->n : SQ_CSV_CELLS_MAX;
    for (*at = 0; *at < n; ++*at)
        if (strcasecmp(r->cell[*at], name) == 0)
            return true;
    return false;
}
