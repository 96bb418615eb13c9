// SPDX-License-Identifier: Apache-2.0
// Sets the parameters of a block, makes room for its case, and compares integers (sq_route.h).
#include "sim/format/sq_route.h"

#include "sim/format/sq_format_ops.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define INTEGERS_MAX (UINT64_C(1) << 28) // 1 GiB of input beats

static bool is_on_chip(const struct sq_format_ops *f)
{
    return f->routes && f->routes->chip;
}

enum sq_status sq_route_on_chip(const struct sq_format_ops *f, struct sq_error *err)
{
    if (is_on_chip(f))
        return SQ_OK;
    char others[160] = "";
    for (size_t i = 0, at = 0; i < sq_n_formats() && at < sizeof others; i++)
        if (!is_on_chip(sq_formats[i]))
            at += (size_t)snprintf(others + at, sizeof others - at, "%s%s", at > 0 ? ", " : "",
                                   sq_formats[i]->name);
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED,
                   "format %s: the chip does not run its layers; it runs all formats but %s",
                   f->name, others);
}

static size_t parameter(const struct sq_route_work *w, const char *name)
{
    size_t i = 0;
    while (strcmp(w->stream->block->param[i], name) != 0)
        i++;
    return i;
}

bool sq_route_has(const struct sq_route_work *w, const char *name)
{
    const char *const *param = w->stream->block->param;
    while (*param && strcmp(*param, name) != 0)
        param++;
    return *param;
}

void sq_route_set(struct sq_route_work *w, const char *name, unsigned value)
{
    w->point->value[parameter(w, name)] = value;
}

unsigned sq_route_get(const struct sq_route_work *w, const char *name)
{
    return w->point->value[parameter(w, name)];
}

enum sq_status sq_route_begin(struct sq_route_work *w, size_t n_groups, size_t n_beats,
                              struct sq_error *err)
{
    struct sq_case *c = w->stream;
    w->shape = sq_ports_of(c->block, c->point->value);
    w->len = sq_field_offset(w->shape.in, w->shape.n_in);
    w->out_len = sq_field_offset(w->shape.out, w->shape.n_out);
    SQ_FAIL_IF(n_groups == 0 || n_beats > INTEGERS_MAX / w->len, err, SQ_ERR_RANGE,
               "%s: %zu beats for %s, need 1..%llu", sq_path_tail(w->p->source), n_beats,
               c->block->name, (unsigned long long)(INTEGERS_MAX / w->len));
    c->n_groups = n_groups;
    c->n_beats = n_beats;
    w->n_golden = w->shape.outputs > c->max_outputs ? w->shape.outputs : c->max_outputs;
    SQ_PRODUCT_KEEP(w->p, w->golden, w->n_golden * w->out_len);
    return sq_case_alloc(c, err);
}

size_t sq_route_field(const struct sq_route_work *w, const char *name)
{
    size_t f = 0;
    while (strcmp(w->shape.in[f].name, name) != 0) {
        f++;
        assert(f < w->shape.n_in);
    }
    return sq_field_offset(w->shape.in, f);
}

size_t sq_route_golden(struct sq_route_work *w, size_t group, size_t first)
{
    const struct sq_case *c = w->stream;
    const struct sq_group in = {c->beats + first * w->len, c->len[group], c->wrap, 0};
    memset(w->golden, 0, w->n_golden * w->out_len * sizeof *w->golden);
    return c->block->golden(c->point->value, &in, w->golden);
}

void sq_route_expect(struct sq_route_work *w, const char *tensor, size_t at, int64_t got,
                     int64_t want)
{
    w->values++;
    if (got == want)
        return;
    if (w->value_mismatches++ == 0)
        snprintf(w->difference, sizeof w->difference,
                 "%s[%zu] = %" PRId64 ", the block gives %" PRId64, tensor, at, got, want);
}
