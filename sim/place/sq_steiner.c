// SPDX-License-Identifier: Apache-2.0
// Trees of wires (sq_steiner.h).
#include "sim/place/sq_steiner.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static double apart(const struct sq_steiner_node *a, const struct sq_steiner_node *b)
{
    return fabs(a->x - b->x) + fabs(a->y - b->y);
}

enum sq_status sq_steiner_reserve(struct sq_steiner *s, size_t n_pins, struct sq_error *err)
{
    if (2 * n_pins > s->cap) { // a tree has fewer points than pins
        void *const node = realloc(s->node, 2 * n_pins * sizeof *s->node);
        SQ_NEED(node, err, "a net");
        s->node = node;
        void *const left = realloc(s->left, 2 * n_pins * sizeof *s->left);
        SQ_NEED(left, err, "a net");
        s->left = left;
        s->cap = 2 * n_pins;
    }
    s->n = s->n_pins = n_pins;
    return SQ_OK;
}

void sq_steiner_free(struct sq_steiner *s)
{
    free(s->node);
    free(s->left);
    *s = (struct sq_steiner){0};
}

double sq_steiner_wire(const struct sq_steiner *s, size_t node)
{
    return apart(&s->node[node], &s->node[s->node[node].parent]);
}

double sq_steiner_length(const struct sq_steiner *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++)
        sum += sq_steiner_wire(s, i);
    return sum;
}

// Prim from node 0: s->left lists the nodes that are not in the tree yet, each with the nearest one of it as its parent.
static void span(struct sq_steiner *s)
{
    uint32_t *const left = s->left;
    size_t n = s->n - 1;
    s->node[0].parent = 0;
    for (uint32_t i = 0; i < n; i++) {
        left[i] = i + 1;
        s->node[i + 1].parent = 0;
    }
    while (n > 0) {
        size_t best = 0;
        for (size_t i = 1; i < n; i++)
            if (sq_steiner_wire(s, left[i]) < sq_steiner_wire(s, left[best]))
                best = i;
        const uint32_t taken = left[best];
        left[best] = left[--n];
        for (size_t i = 0; i < n; i++)
            if (apart(&s->node[left[i]], &s->node[taken]) < sq_steiner_wire(s, left[i]))
                s->node[left[i]].parent = taken;
    }
}

static double median(double a, double b, double c)
{
    return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

// Where three wires to these nodes would meet.
static struct sq_steiner_node meeting(const struct sq_steiner *s, uint32_t a, uint32_t b,
                                      uint32_t c)
{
    const struct sq_steiner_node *const n = s->node;
    return (struct sq_steiner_node){median(n[a].x, n[b].x, n[c].x), median(n[a].y, n[b].y, n[c].y),
                                    0};
}

// Joins the wires of `node` to its neighbours a and b, of which b may be its parent, at their meeting point, a node
// that is there already or a new one.
static void join(struct sq_steiner *s, uint32_t node, uint32_t a, uint32_t b)
{
    const struct sq_steiner_node m = meeting(s, node, a, b);
    const bool is_up = s->node[node].parent == b;
    uint32_t at = apart(&m, &s->node[a]) == 0   ? a
                  : apart(&m, &s->node[b]) == 0 ? b
                                                : (uint32_t)s->n;
    if (at == s->n)
        s->node[s->n++] = m;
    if (at != b) {
        s->node[at].parent = is_up ? b : node;
        s->node[is_up ? node : b].parent = at;
    }
    if (at != a)
        s->node[a].parent = at;
}

// Whether two wires of the node could be joined; the ones that save most are.
static bool shorten(struct sq_steiner *s, uint32_t node)
{
    uint32_t *const near = s->left;
    size_t n = 0;
    for (uint32_t i = 1; i < s->n; i++)
        if (i != node && s->node[i].parent == node)
            near[n++] = i;
    if (node > 0)
        near[n++] = s->node[node].parent; // the last one, so that it is always b
    double most = 1e-9;
    uint32_t best[2] = {0, 0};
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) {
            const struct sq_steiner_node m = meeting(s, node, near[i], near[k]);
            const double gain = apart(&m, &s->node[node]);
            if (gain > most) {
                most = gain;
                best[0] = near[i];
                best[1] = near[k];
            }
        }
    if (most <= 1e-9 || s->n == s->cap)
        return false;
    join(s, node, best[0], best[1]);
    return true;
}

void sq_steiner_make(struct sq_steiner *s)
{
    if (s->n == 0)
        return;
    span(s);
    for (bool is_shorter = true; is_shorter;) {
        is_shorter = false;
        for (uint32_t i = 0; i < s->n; i++)
            while (shorten(s, i))
                is_shorter = true;
    }
}
