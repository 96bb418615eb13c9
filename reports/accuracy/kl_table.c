// SPDX-License-Identifier: Apache-2.0
// A page of what kl_grid measured: tables and verdicts.
//
//   kl_table VARIANTS CSV VERDICTS COMMAND
//
// COMMAND is what measures them, for the page.
// VARIANTS as kl_grid reads it; "## title | variant" begins a table, in which every row is compared
// with that variant. VERDICTS: lines "claim | a | b | f": the claim holds where KL of variant a is
// at most f times that of variant b. What is said of a claim depends on the numbers alone: it holds
// or not where the whole interval of the ratio says so, and is open otherwise. What is not measured
// is left out and counted.
//
// Intervals: 95 %, percentiles of 2000 resamples of the sequences, the same ones for both variants.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/sq_rng.h"
#include "sim/io/sq_order.h"

enum { LINE = 2048, ROWS = 512, SEQUENCES = 64, RESAMPLES = 2000, COLUMNS = 15 };

struct row {
    char *variant, *act_bits, *weight_bits;
    double loss_difference, se, kl, kl_low, kl_high, top1;
    double by_sequence[SEQUENCES];
    size_t n;
};

static struct row rows[ROWS];
static size_t n_rows;

static void die(const char *what, const char *which)
{
    fprintf(stderr, "kl_table: %s %s\n", what, which);
    exit(2);
}

// ---- reading ----------------------------------------------------------------------------------

static void read_row(char *line)
{
    char *cell[COLUMNS];
    struct row *r = &rows[n_rows];
    if (n_rows == ROWS)
        die("too many rows in", "the CSV file");
    for (size_t i = 0; i < COLUMNS; i++)
        if (!(cell[i] = strsep(&line, ",")))
            die("a row is short:", cell[0]);
    *r = (struct row){.variant = strdup(cell[0]),
                      .act_bits = strdup(cell[1]),
                      .weight_bits = strdup(cell[2]),
                      .loss_difference = atof(cell[4]),
                      .se = atof(cell[5]),
                      .kl = atof(cell[6]),
                      .kl_low = atof(cell[7]),
                      .kl_high = atof(cell[8]),
                      .top1 = atof(cell[11])};
    for (char *s = cell[14], *end;
         r->n < SEQUENCES && (r->by_sequence[r->n] = strtod(s, &end), end != s); s = end)
        r->n++;
    if (r->n == 0)
        die("no KL by sequence:", cell[0]);
    n_rows++;
}

// Rows into `rows`; the first line, which says of what they are, into header.
static void read_csv(const char *path, char header[LINE])
{
    char line[LINE];
    FILE *f = fopen(path, "r");
    if (!f || !fgets(header, LINE, f) || !fgets(line, sizeof line, f))
        die("cannot read", path);
    while (fgets(line, sizeof line, f))
        read_row(line);
    fclose(f);
}

static const struct row *find(const char *variant)
{
    for (size_t i = 0; i < n_rows; i++)
        if (strcmp(rows[i].variant, variant) == 0)
            return &rows[i];
    return NULL;
}

// The next of `n` fields between " | ".
static bool cut(char *line, char *field[], size_t n)
{
    line[strcspn(line, "\n")] = '\0';
    for (size_t i = 0; i < n; i++) {
        field[i] = line;
        char *end = line ? strstr(line, " | ") : NULL;
        line = end ? end + 3 : NULL;
        if (end)
            *end = '\0';
    }
    return field[n - 1];
}

// ---- ratios -----------------------------------------------------------------------------------

struct ratio {
    double value, low, high;
};

static struct ratio ratio_of(const struct row *a, const struct row *b)
{
    static double drawn[RESAMPLES];
    struct sq_rng rng = {0};
    const size_t n = a->n < b->n ? a->n : b->n;
    double sum_a = 0, sum_b = 0;
    for (size_t i = 0; i < n; i++) {
        sum_a += a->by_sequence[i];
        sum_b += b->by_sequence[i];
    }
    for (size_t i = 0; i < RESAMPLES; i++) {
        double x = 0, y = 0;
        for (size_t j = 0; j < n; j++) {
            const size_t s = sq_rng_below(&rng, (uint32_t)n);
            x += a->by_sequence[s];
            y += b->by_sequence[s];
        }
        drawn[i] = x / y;
    }
    qsort(drawn, RESAMPLES, sizeof *drawn, sq_by_number);
    return (struct ratio){sum_a / sum_b, drawn[RESAMPLES / 40],
                          drawn[RESAMPLES - RESAMPLES / 40 - 1]};
}

// ---- writing ----------------------------------------------------------------------------------

static void table_row(const char *label, const struct row *r, const struct row *base)
{
    printf("| %s | %s | %s | %.4f [%.4f, %.4f] | ", label, r->act_bits, r->weight_bits, r->kl,
           r->kl_low, r->kl_high);
    if (base && base != r) {
        const struct ratio q = ratio_of(r, base);
        printf("%.3f [%.3f, %.3f]", q.value, q.low, q.high);
    } else if (base) {
        printf("1");
    }
    printf(" | %+.4f, %.4f | %.3f |\n", r->loss_difference, r->se, r->top1);
}

static void tables(const char *path, const char *command)
{
    char line[LINE], title[2 * LINE] = "", *field[2];
    const struct row *base = NULL;
    FILE *f = fopen(path, "r");
    size_t n_missing = 0;
    if (!f)
        die("cannot read", path);
    while (fgets(line, sizeof line, f)) {
        const bool is_title = strncmp(line, "## ", 3) == 0;
        if ((*line == '#' && !is_title) || !cut(line, field, 2))
            continue;
        if (is_title) {
            base = find(field[1]);
            snprintf(title, sizeof title, "\n## %s\n\nRatios are to `%s`.", field[0] + 3, field[1]);
        } else if (find(field[1])) {
            if (*title) // with its first row
                printf(
                    "%s\n\n| format | bits of an activation | stored bits of a weight | KL, nats a "
                    "token | ratio of KL | loss more, standard error | same top token "
                    "|\n|---|---|---|---|---|---|---|\n",
                    title);
            *title = '\0';
            table_row(field[0], find(field[1]), base);
        } else {
            n_missing++;
        }
    }
    fclose(f);
    if (n_missing)
        printf("\n%zu variants of %s are not measured yet: `%s` goes on.\n", n_missing,
               strrchr(path, '/') ? strrchr(path, '/') + 1 : path, command);
}

// Whether both variants are measured.
static bool verdict(char *const field[4])
{
    const struct row *a = find(field[1]), *b = find(field[2]);
    const double most = atof(field[3]);
    if (!a || !b)
        return false;
    printf("| %s | ", field[0]);
    const struct ratio q = ratio_of(a, b);
    printf("%.4f | %.4f | %.3f [%.3f, %.3f], claimed <= %g | %s |\n", a->kl, b->kl, q.value, q.low,
           q.high, most,
           q.high <= most ? "confirmed"
           : q.low > most ? "**withdrawn**"
                          : "open: the interval holds both");
    return true;
}

static void verdicts(const char *path)
{
    char line[LINE], *field[4];
    size_t n_open = 0;
    FILE *f = fopen(path, "r");
    if (!f)
        die("cannot read", path);
    printf("\n## Verdicts\n\n| claim | KL of the first | of the second | ratio | here |\n"
           "|---|---|---|---|---|\n");
    while (fgets(line, sizeof line, f))
        if (*line != '#' && cut(line, field, 4))
            n_open += !verdict(field);
    fclose(f);
    if (n_open)
        printf("\n%zu more claims wait for variants that are not measured yet.\n", n_open);
}

int main(int argc, char **argv)
{
    char header[LINE];
    if (argc != 5)
        die("need", "VARIANTS CSV VERDICTS COMMAND");
    read_csv(argv[2], header);
    header[strcspn(header, "\n")] = '\0';
    printf("<!-- %s: kl_table of %s -->\n", argv[4], header + 2);
    verdicts(argv[3]);
    tables(argv[1], argv[4]);
    return 0;
}
