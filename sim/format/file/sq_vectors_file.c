// SPDX-License-Identifier: Apache-2.0
// Writes a suite as JSON lines and as tensors, and judges the answers of a unit
// (sq_vectors_file.h).
#include "sim/format/file/sq_vectors_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_json.h"
#include "sim/io/sq_quote.h"
#include "sim/io/sq_safetensors.h"

enum { PATH_LEN = 4096, NAME_LEN = 40, TENSORS = SQ_VECTOR_RULES * SQ_VECTOR_FIELDS };

// ---- writing --------------------------------------------------------------------------------

static void put_fields(FILE *out, const struct sq_vector_rule *r, size_t from, size_t to, size_t at)
{
    fputc('{', out);
    for (size_t f = from; f < to; f++) {
        fprintf(out, "%s\"%s\":[", f > from ? "," : "", r->field[f].name);
        for (size_t i = 0; i < r->field[f].count; i++)
            fprintf(out, "%s%u", i ? "," : "", sq_vector_get(&r->field[f], at, i));
        fputc(']', out);
    }
    fputc('}', out);
}

static void put_lines(FILE *out, const struct sq_vectors *v)
{
    for (size_t i = 0; i < v->n_rules; i++) {
        const struct sq_vector_rule *r = &v->rule[i];
        for (size_t at = 0; at < r->n; at++) {
            fprintf(out, "{\"rule\":\"%s\",\"case\":%zu,\"in\":", r->name, at);
            put_fields(out, r, 0, r->n_in, at);
            fputs(",\"out\":", out);
            put_fields(out, r, r->n_in, r->n_fields, at);
            fputs("}\n", out);
        }
    }
}

// Those of one dtype, so that the wider ones come first and all are aligned.
static size_t tensors_of(const struct sq_vectors *v, enum sq_dtype dtype, struct sq_tensor *tensor,
                         char name[][NAME_LEN])
{
    size_t n = 0;
    for (size_t i = 0; i < v->n_rules; i++)
        for (size_t f = 0; f < v->rule[i].n_fields; f++) {
            const struct sq_vector_field *field = &v->rule[i].field[f];
            if (field->dtype != dtype)
                continue;
            snprintf(name[n], NAME_LEN, "%s.%s", v->rule[i].name, field->name);
            tensor[n] = (struct sq_tensor){.name = name[n],
                                           .dtype = dtype,
                                           .n_dims = field->count > 1 ? 2 : 1,
                                           .dim = {v->rule[i].n, field->count},
                                           .data = field->data};
            n++;
        }
    return n;
}

enum sq_status sq_vectors_write(const struct sq_vectors *v, const char *dir, const char *name,
                                struct sq_error *err)
{
    char path[PATH_LEN], names[TENSORS][NAME_LEN];
    struct sq_tensor tensor[TENSORS];
    const struct sq_metadata metadata[] = {{"format", name}, {"kind", "conformance vectors"}};
    SQ_FAIL_IF((size_t)snprintf(path, sizeof path, "%s/%s.safetensors", dir, name) >= sizeof path,
               err, SQ_ERR_RANGE, "--out: a path of %d bytes at most", PATH_LEN);
    size_t n = tensors_of(v, SQ_F32, tensor, names);
    n += tensors_of(v, SQ_U8, tensor + n, names + n);
    SQ_CLOSED(sq_safetensors_abort) struct sq_safetensors_writer w = {0};
    SQ_CLOSED(sq_outfile_abort) struct sq_outfile lines = {0};
    SQ_TRY(sq_safetensors_begin(&w, path, tensor, n, metadata, 2, err));
    for (size_t i = 0; i < n; i++)
        SQ_TRY(sq_safetensors_put(&w, i, tensor[i].data, err));
    snprintf(path, sizeof path, "%s/%s.jsonl", dir, name);
    SQ_TRY(sq_outfile_open(&lines, path, err));
    put_lines(lines.stream, v);
    SQ_TRY(sq_outfile_flush(&lines, err)); // both fit before the first has its name
    SQ_TRY(sq_safetensors_commit(&w, err));
    return sq_outfile_commit(&lines, err);
}

// ---- answers --------------------------------------------------------------------------------

void sq_answers_free(struct sq_answers *a)
{
    for (size_t r = 0; r < a->n_rules; r++) {
        free(a->rule[r].is_answered);
        for (size_t f = 0; f < SQ_VECTOR_FIELDS; f++)
            free(a->rule[r].answer[f].data);
    }
    memset(a, 0, sizeof *a);
}

static enum sq_status open_answers(struct sq_answers *a, const struct sq_vectors *v,
                                   struct sq_error *err)
{
    memset(a, 0, sizeof *a);
    a->n_rules = v->n_rules;
    for (size_t i = 0; i < v->n_rules; i++) {
        const struct sq_vector_rule *r = &v->rule[i];
        bool ok = (a->rule[i].is_answered = calloc(r->n, 1)) != NULL;
        for (size_t f = r->n_in; f < r->n_fields; f++) {
            struct sq_vector_field *to = &a->rule[i].answer[f];
            *to = r->field[f];
            to->data = calloc(r->n * to->count, sq_dtype_nbytes(to->dtype));
            ok = ok && to->data;
        }
        SQ_NEED(ok, err, "the answers");
    }
    return SQ_OK;
}

static size_t find_rule(const struct sq_vectors *v, const char *name)
{
    size_t i = 0;
    while (i < v->n_rules && strcmp(v->rule[i].name, name) != 0)
        i++;
    return i;
}

static enum sq_status read_field(const struct sq_vector_rule *r, size_t at, const json_t *out,
                                 struct sq_vector_field *to, struct sq_error *err)
{
    const json_t *list = json_object_get(out, to->name);
    const json_int_t most = to->dtype == SQ_U8 ? 255 : (json_int_t)UINT32_MAX;
    SQ_FAIL_IF(json_array_size(list) != to->count, err, SQ_ERR_SHAPE,
               "rule %s, case %zu: %s needs %zu integers, got %zu", r->name, at, to->name,
               to->count, json_array_size(list));
    for (size_t i = 0; i < to->count; i++) {
        const json_t *x = json_array_get(list, i);
        SQ_FAIL_IF(!json_is_integer(x) || json_integer_value(x) < 0 || json_integer_value(x) > most,
                   err, SQ_ERR_RANGE, "rule %s, case %zu: %s[%zu] is no integer in 0..%lld",
                   r->name, at, to->name, i, (long long)most);
        sq_vector_put(to, at, i, (uint32_t)json_integer_value(x));
    }
    return SQ_OK;
}

static enum sq_status read_line(struct sq_answers *a, const struct sq_vectors *v, const char *what,
                                const json_t *line, struct sq_error *err)
{
    const char *name = NULL;
    uint64_t at = 0;
    SQ_TRY(sq_json_string(line, what, "rule", &name, err));
    const size_t i = name ? find_rule(v, name) : v->n_rules;
    SQ_FAIL_IF(i == v->n_rules, err, SQ_ERR_RANGE, "%s: rule \"%.40s\" is none of this suite", what,
               name ? name : "");
    const struct sq_vector_rule *r = &v->rule[i];
    SQ_TRY(sq_json_uint(line, what, "case", 0, r->n - 1, UINT64_MAX, &at, err));
    const json_t *out = json_object_get(line, "out");
    SQ_FAIL_IF(!json_is_object(out), err, SQ_ERR_SHAPE,
               "%s: rule %s, case %zu has no object \"out\"", what, r->name, (size_t)at);
    for (size_t f = r->n_in; f < r->n_fields; f++)
        SQ_TRY(read_field(r, at, out, &a->rule[i].answer[f], err));
    a->rule[i].is_answered[at] = 1;
    return SQ_OK;
}

enum { ANSWERS_MAX_NBYTES = 1 << 30 }; // a thousand times those of the largest suite

static enum sq_status read_lines(struct sq_answers *a, const struct sq_vectors *v, const char *path,
                                 struct sq_error *err)
{
    SQ_CLOSED(sq_file_unmap) struct sq_file_view map = {0};
    char what[64];
    size_t number = 0;
    SQ_TRY(sq_file_map_text(path, ANSWERS_MAX_NBYTES, &map, err));
    const char *at = map.data ? (const char *)map.data : "", *const end = at + map.nbytes;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t n = (size_t)((stop ? stop : end) - at);
        json_auto_t *line = NULL;
        snprintf(what, sizeof what, "answers, line %zu", ++number);
        if (n > 0) {
            SQ_TRY(sq_json_parse(what, at, n, &line, err));
            SQ_TRY(read_line(a, v, what, line, err));
        }
        at += n + 1;
    }
    return SQ_OK;
}

static enum sq_status read_tensors(struct sq_answers *a, const struct sq_vectors *v,
                                   const struct sq_safetensors *st, struct sq_error *err)
{
    for (size_t i = 0; i < v->n_rules; i++) {
        const struct sq_vector_rule *r = &v->rule[i];
        size_t n_found = 0;
        for (size_t f = r->n_in; f < r->n_fields; f++) {
            struct sq_vector_field *to = &a->rule[i].answer[f];
            char name[NAME_LEN];
            snprintf(name, sizeof name, "%s.%s", r->name, to->name);
            const struct sq_tensor *t = sq_safetensors_find(st, name);
            if (!t)
                continue;
            const size_t nbytes = r->n * to->count * sq_dtype_nbytes(to->dtype);
            SQ_FAIL_IF(t->dtype != to->dtype || t->nbytes != nbytes, err, SQ_ERR_SHAPE,
                       "answers: tensor %s needs %s [%zu][%zu]", name, sq_dtype_name(to->dtype),
                       r->n, to->count);
            memcpy(to->data, t->data, nbytes);
            n_found++;
        }
        memset(a->rule[i].is_answered, n_found == r->n_fields - r->n_in, r->n);
    }
    return SQ_OK;
}

static void judge(const struct sq_vector_rule *r, struct sq_vector_verdict *d)
{
    for (size_t at = 0; at < r->n; at++) {
        bool is_wrong = false;
        for (size_t f = r->n_in; f < r->n_fields; f++)
            for (size_t i = 0; i < r->field[f].count; i++)
                is_wrong |= !sq_vector_same(&r->field[f], sq_vector_get(&r->field[f], at, i),
                                            sq_vector_get(&d->answer[f], at, i));
        d->n_answered += d->is_answered[at];
        if (!d->is_answered[at] || !is_wrong)
            continue;
        if (d->n_wrong++ == 0)
            d->first = at;
    }
}

static enum sq_status read_all(struct sq_answers *a, const struct sq_vectors *v, const char *path,
                               struct sq_error *err)
{
    const size_t len = strlen(path);
    SQ_CLOSED(sq_safetensors_close) struct sq_safetensors st = {0};
    SQ_TRY(open_answers(a, v, err));
    if (len <= 12 || strcmp(path + len - 12, ".safetensors") != 0)
        return read_lines(a, v, path, err);
    SQ_TRY(sq_safetensors_open(&st, path, err));
    return read_tensors(a, v, &st, err);
}

enum sq_status sq_answers_read(struct sq_answers *a, const struct sq_vectors *v, const char *path,
                               struct sq_error *err)
{
    const enum sq_status status = read_all(a, v, path, err);
    SQ_TRY(SQ_ELSE(status, sq_answers_free(a)));
    for (size_t i = 0; i < v->n_rules; i++)
        judge(&v->rule[i], &a->rule[i]);
    return SQ_OK;
}
