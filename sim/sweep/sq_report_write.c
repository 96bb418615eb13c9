// SPDX-License-Identifier: Apache-2.0
// The files of a report: page, CSV, JSON (sq_report.h).
#include <errno.h>
#include <jansson.h>
#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_quote.h"
#include "sim/sweep/sq_report.h"
#include "sim/sweep/sq_sweep.h"
#include "sim/sweep/sq_sweep_export.h"

// D3 of Debian's libjs-d3, made a C array by sim/rules.mk.
extern const unsigned char sq_d3[];
extern const size_t sq_d3_nbytes;

// A text as a string of the page's data, without memory of its own: it cannot be lost.
static void put_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (const char *c = text ? text : ""; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == '"' || *c == '\\' || *c == '<')
            fprintf(out, "\\u%04x", (unsigned)(unsigned char)*c);
        else
            fputc(*c, out);
    fputc('"', out);
}

static void put_row(FILE *out, const struct sq_report_row *row, size_t pair,
                    unsigned long provenance)
{
    char key[SQ_DIGEST_SIZE];
    sq_digest_hex(row->key, key);
    fprintf(out, "\n{\"key\":\"%s\",\"pair\":%zu,\"from\":%lu,\"p\":", key, pair, provenance);
    sq_put_script_json(out, row->parameters);
    fputs(",\"m\":", out);
    sq_put_script_json(out, row->measures);
    fputc('}', out);
}

// The pairs that rows are on the page of; a pair has all its points even where the page has fewer.
static void put_pairs(FILE *out, const struct sq_report_sweep *s, size_t n_rows)
{
    fputs(",\"pairs\":[", out);
    for (size_t i = 0; i < s->n_pairs && s->pair[i].first < n_rows; i++) {
        fputs(i ? ",\n{\"of\":" : "\n{\"of\":", out);
        sq_put_script_json(out, s->pair[i].of);
        fprintf(out, ",\"points\":%zu}", s->pair[i].n_rows);
    }
    fputs("]", out);
}

// Rows, then the different provenances that they refer to by index.
static void put_sweep(FILE *out, const struct sq_report_sweep *s)
{
    const size_t n = s->n_rows < SQ_REPORT_PAGE_ROWS ? s->n_rows : SQ_REPORT_PAGE_ROWS;
    const char *text[64];
    unsigned long n_texts = 0;
    size_t pair = 0;
    fputs("{\"name\":", out);
    put_string(out, s->name);
    fputs(",\"title\":", out);
    put_string(out, s->title);
    fputs(",\"spec\":", out);
    put_string(out, s->spec);
    fprintf(out, ",\"points\":%zu,\"stale\":%zu,\"unchecked\":", s->n_rows, s->n_stale);
    put_string(out, s->unchecked);
    put_pairs(out, s, n);
    fputs(",\"rows\":[", out);
    for (size_t i = 0; i < n; i++) {
        unsigned long t = 0;
        while (t < n_texts && strcmp(text[t], s->row[i].provenance) != 0)
            t++;
        if (t == n_texts && n_texts < 64)
            text[n_texts++] = s->row[i].provenance;
        if (i)
            fputc(',', out);
        while (i >= s->pair[pair].first + s->pair[pair].n_rows)
            pair++;
        put_row(out, &s->row[i], pair, t);
    }
    fputs("],\"provenance\":[", out);
    for (unsigned long t = 0; t < n_texts; t++) {
        fputs(t ? ",\n" : "\n", out);
        sq_put_script_json(out, text[t]);
    }
    fputs("]}", out);
}

static void put_data(FILE *out, const struct sq_report *r)
{
    fputs("{\"measures\":{", out);
    for (size_t i = 0; i < sq_n_measures; i++)
        fprintf(out, "%s\n\"%s\":{\"unit\":\"%s\",\"basis\":\"%s\"}", i ? "," : "",
                sq_measures[i].name, sq_measures[i].unit, sq_measures[i].basis);
    fputs("},\n\"pair_axes\":[", out);
    for (unsigned a = 0, n = 0; a < SQ_N_AXES; a++)
        if (sq_report_is_of_pair(sq_axes[a].name))
            fprintf(out, "%s\"%s\"", n++ ? "," : "", sq_axes[a].name);
    fputs("],\n\"fair\":{", out);
    for (size_t i = 0; sq_fair_names[i]; i++)
        fprintf(out, "%s\"%s\":\"%s\"", i ? "," : "", sq_fair_names[i], sq_fair_texts[i]);
    fputs("},\n\"sweeps\":[", out);
    for (size_t i = 0; i < r->n_sweeps; i++) {
        if (i)
            fputs(",\n", out);
        put_sweep(out, &r->sweep[i]);
    }
    fputs("]}", out);
}

// ---- the page -----------------------------------------------------------------------------------

struct text {
    const char *at;
    size_t nbytes;
};

// What stands before `mark` in *rest, which then begins after it; at = NULL where there is none.
static struct text cut(struct text *rest, const char *mark)
{
    const char *found = rest->at ? memmem(rest->at, rest->nbytes, mark, strlen(mark)) : NULL;
    if (!found) {
        *rest = (struct text){0};
        return *rest;
    }
    const struct text before = {rest->at, (size_t)(found - rest->at)};
    const size_t used = before.nbytes + strlen(mark);
    *rest = (struct text){rest->at + used, rest->nbytes - used};
    return before;
}

static void put_text(FILE *out, struct text t)
{
    fwrite(t.at, 1, t.nbytes, out);
}

// 'sha256-BASE64', as a Content-Security-Policy names an inline script or style.
static void put_hash(FILE *out, struct text t)
{
    struct sha256_ctx sha;
    uint8_t digest[SHA256_DIGEST_SIZE];
    char base64[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) + 1] = "";
    sha256_init(&sha);
    sha256_update(&sha, t.nbytes, (const uint8_t *)t.at);
    sha256_digest(&sha, sizeof digest, digest);
    base64_encode_raw(base64, sizeof digest, digest);
    fprintf(out, "'sha256-%s'", base64);
}

// The template's parts, in their order: head @POLICY@ .. <style> .. </style> .. @DATA@ .. @D3@ ..
// <script> .. </script> .. end.
struct page {
    struct text head, to_style, style, to_data, to_library, to_script, script, end;
};

static enum sq_status split_page(const char *name, struct text all, struct page *p,
                                 struct sq_error *err)
{
    struct text rest = all;
    p->head = cut(&rest, "@POLICY@");
    p->to_style = cut(&rest, "<style>");
    p->style = cut(&rest, "</style>");
    p->to_data = cut(&rest, "@DATA@");
    p->to_library = cut(&rest, "@D3@");
    p->to_script = cut(&rest, "<script>");
    p->script = cut(&rest, "</script>");
    p->end = rest;
    return rest.at ? SQ_OK
                   : SQ_FAIL(err, SQ_ERR_DAMAGED,
                             "'%s' has no place for policy, style, data, library and script in "
                             "this order",
                             sq_path_tail(name));
}

// No network, no eval, and of scripts and styles only the very ones written here. The icon is an
// empty data: address. Elements get colours by the style object, which a policy leaves alone.
static void put_policy(FILE *out, const struct page *p, struct text library)
{
    fputs("default-src 'none'; script-src ", out);
    put_hash(out, library);
    fputc(' ', out);
    put_hash(out, p->script);
    fputs("; style-src ", out);
    put_hash(out, p->style);
    fputs("; img-src data:; base-uri 'none'; form-action 'none'", out);
}

static enum sq_status write_page(FILE *out, const struct sq_report *r, const char *page,
                                 struct sq_error *err)
{
    const struct text library = {(const char *)sq_d3, sq_d3_nbytes};
    SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
    struct page p;
    SQ_TRY(sq_file_map(page, &map, err));
    SQ_TRY(split_page(page, (struct text){(const char *)map.data, map.nbytes}, &p, err));
    put_text(out, p.head);
    put_policy(out, &p, library);
    put_text(out, p.to_style);
    fputs("<style>", out);
    put_text(out, p.style);
    fputs("</style>", out);
    put_text(out, p.to_data);
    put_data(out, r);
    put_text(out, p.to_library);
    put_text(out, library);
    put_text(out, p.to_script);
    fputs("<script>", out);
    put_text(out, p.script);
    fputs("</script>", out);
    put_text(out, p.end);
    return SQ_OK;
}

// ---- the others, and all of them ----------------------------------------------------------------

static struct sq_sweep_row row_of(const struct sq_report_sweep *s, size_t i)
{
    const struct sq_report_row *r = &s->row[i];
    return (struct sq_sweep_row){s->name, r->parameters, r->key, r->measures, r->provenance};
}

static enum sq_status write_csv(FILE *out, const struct sq_report_sweep *s, struct sq_error *err)
{
    SQ_CLOSED(sq_csv_free) struct sq_csv csv = {.out = out};
    for (size_t i = 0; i < s->n_rows; i++) {
        const struct sq_sweep_row row = row_of(s, i);
        SQ_TRY(sq_csv_row(&csv, &row, err));
    }
    return SQ_OK;
}

static void write_json(FILE *out, const struct sq_report *r)
{
    const char *comma = "";
    fputs("[", out);
    for (size_t i = 0; i < r->n_sweeps; i++)
        for (size_t j = 0; j < r->sweep[i].n_rows; j++) {
            const struct sq_report_row *row = &r->sweep[i].row[j];
            char key[SQ_DIGEST_SIZE];
            sq_digest_hex(row->key, key);
            fprintf(out,
                    "%s\n{\"sweep\":\"%s\",\"key\":\"%s\",\"parameters\":%s,\"measures\":%s,"
                    "\"provenance\":%s}",
                    comma, r->sweep[i].name, key, row->parameters, row->measures, row->provenance);
            comma = ",";
        }
    fputs("\n]\n", out);
}

enum file { PAGE, JSON, CSV };

// All of a file but its name; *out is the caller's to commit or abort.
static enum sq_status write_file(const struct sq_report *r, const char *dir, const char *name,
                                 enum file kind, const struct sq_report_sweep *s, const char *page,
                                 struct sq_outfile *out, struct sq_error *err)
{
    char path[2048];
    snprintf(path, sizeof path, "%.1900s/%.100s", dir, name);
    SQ_TRY(sq_outfile_open(out, path, err));
    if (kind == PAGE)
        SQ_TRY(write_page(out->stream, r, page, err));
    else if (kind == JSON)
        write_json(out->stream, r);
    else
        SQ_TRY(write_csv(out->stream, s, err));
    return sq_outfile_flush(out, err);
}

static enum sq_status write_files(const struct sq_report *r, const char *dir, const char *page,
                                  struct sq_outfile *out, struct sq_error *err)
{
    for (size_t i = 0; i < r->n_sweeps; i++) {
        char name[80];
        snprintf(name, sizeof name, "%.70s.csv", r->sweep[i].name);
        SQ_TRY(write_file(r, dir, name, CSV, &r->sweep[i], page, &out[i], err));
    }
    SQ_TRY(write_file(r, dir, "results.json", JSON, NULL, page, &out[r->n_sweeps], err));
    return write_file(r, dir, "index.html", PAGE, NULL, page, &out[r->n_sweeps + 1], err);
}

enum sq_status sq_report_write(const struct sq_report *r, const char *dir, const char *page,
                               struct sq_error *err)
{
    const bool is_new = mkdir(dir, 0777) == 0;
    if (!is_new && errno != EEXIST)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot make '%s': %s", sq_path_tail(dir), strerror(errno));
    const size_t n = r->n_sweeps + 2;
    struct sq_outfile *out = calloc(n, sizeof *out);
    enum sq_status status =
        out ? write_files(r, dir, page, out, err) : SQ_NO_MEMORY(err, "a report");
    // All are on disk before the first has its name; the page, last, links to the others.
    for (size_t i = 0; i < n && status == SQ_OK; i++)
        status = sq_outfile_commit(&out[i], err);
    for (size_t i = 0; out && i < n; i++)
        sq_outfile_abort(&out[i]);
    free(out);
    if (status != SQ_OK && is_new)
        rmdir(dir); // where nothing is in it
    return status;
}
